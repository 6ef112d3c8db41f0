//! Two sessions and a user in one workspace: what a command must not do, and the way back from it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ckpt_schema::report::{OperationKind, OperationReport};
use ckpt_store::revert::OnConflict;
use ckpt_store::{Error, ErrorKind, RedoRequest, RevertRequest};
use proptest::prelude::*;

use crate::cases;
use crate::edit::{self, Edit};
use crate::laws::{self, Sight};
use crate::world::{Tree, World, wait_ms};

const SESSIONS: [&str; 2] = ["s1", "s2"];

/// What happens; sessions by number.
#[derive(Clone, Debug)]
enum Action {
    Message(usize),
    Start(usize),
    Edit(Vec<Edit>),
    Finish(usize),
    /// To one of the session's messages, counted from the oldest, round and round.
    Revert(usize, usize, Part, OnConflict),
    Redo(usize),
    Unrevert(usize),
}

#[derive(Clone, Debug)]
enum Part {
    All,
    Only(&'static str),
    /// A step of the session, counted from the oldest, round and round.
    Step(usize),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => Just(Part::All),
        1 => edit::at().prop_map(Part::Only),
        1 => (0..6usize).prop_map(Part::Step),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let on_conflict =
        prop_oneof![4 => Just(OnConflict::Merge), 1 => Just(OnConflict::Keep), 1 => Just(OnConflict::Overwrite)];
    let session = || prop_oneof![4 => Just(0usize), 1 => Just(1usize)];
    let turn = (session(), prop::bool::weighted(0.8), edit::edits(), any::<bool>());
    let turn = turn.prop_map(|(session, is_new, edits, finishes)| {
        let message = is_new.then_some(Action::Message(session));
        let finish = finishes.then_some(Action::Finish(session));
        message.into_iter().chain([Action::Start(session), Action::Edit(edits)]).chain(finish).collect::<Vec<_>>()
    });
    let turn = turn.boxed();
    let users = edit::edits().prop_map(|edits| vec![Action::Edit(edits)]).boxed();
    let revert = (session(), 0..8usize, part(), on_conflict)
        .prop_map(|(session, number, part, on_conflict)| Action::Revert(session, number, part, on_conflict));
    let command = prop_oneof![
        4 => revert,
        1 => session().prop_map(Action::Redo),
        2 => session().prop_map(Action::Unrevert),
        1 => session().prop_map(Action::Finish),
    ];
    let command = command.prop_map(|action| vec![action]);
    let past = prop_oneof![3 => turn.clone(), 1 => users.clone()];
    let then = prop_oneof![1 => turn, 1 => users, 5 => command];
    (prop::collection::vec(past, 1..6), prop::collection::vec(then, 1..6))
        .prop_map(|(past, then)| past.into_iter().chain(then).flatten().collect())
}

/// What is known of a session.
#[derive(Default)]
struct Session {
    messages: Vec<String>,
    steps: Vec<String>,
    is_open: bool,
    /// Whatever changed while one of its steps was open.
    touched: BTreeSet<PathBuf>,
    /// The tree from before the first revert, while nobody did anything else since.
    top: Option<Tree>,
}

struct Model {
    world: World,
    sessions: [Session; 2],
    count: usize,
}

impl Model {
    fn new() -> Self {
        let mut world = World::new();
        edit::begin(&mut world);
        Self { world, sessions: Default::default(), count: 0 }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Message(at) => {
                self.count += 1;
                let name = format!("m{}", self.count);
                self.world.message_in(SESSIONS[*at], &name);
                let session = &mut self.sessions[*at];
                session.messages.push(name);
                (session.is_open, session.top) = (false, None);
            }
            Action::Start(at) => {
                let report = self.world.start_in(SESSIONS[*at]);
                let session = &mut self.sessions[*at];
                session.steps.extend(report.step);
                session.is_open = true;
            }
            // A second finish says that the step went on, and takes what changed since into it.
            Action::Finish(at) if !self.sessions[*at].is_open => {}
            Action::Finish(at) => {
                self.world.finish_in(SESSIONS[*at]);
                self.sessions[*at].is_open = false;
            }
            Action::Edit(edits) => self.edit(edits),
            Action::Revert(at, number, part, on_conflict) => self.revert(*at, *number, part, *on_conflict),
            Action::Redo(at) => self.redo(*at, false),
            Action::Unrevert(at) => self.redo(*at, true),
        }
    }

    fn edit(&mut self, edits: &[Edit]) {
        let before = self.world.tree();
        edit::apply_all(edits, &self.world);
        let changed = laws::differences(&before, &self.world.tree());
        for session in &mut self.sessions {
            if session.is_open {
                session.touched.extend(changed.iter().cloned());
            }
            if !changed.is_empty() {
                session.top = None;
            }
        }
        wait_ms(60_000);
    }

    fn revert(&mut self, at: usize, number: usize, part: &Part, on_conflict: OnConflict) {
        let session = &self.sessions[at];
        let Some(message) = pick(&session.messages, number) else { return };
        let mut request =
            RevertRequest { session: Some(SESSIONS[at].to_owned()), message, on_conflict, ..RevertRequest::default() };
        match part {
            Part::All => {}
            Part::Only(path) => request.only = vec![PathBuf::from(path)],
            Part::Step(number) => match pick(&session.steps, *number) {
                Some(step) => request.step = Some(step),
                None => return,
            },
        }
        let is_first = self.is_unreverted(at);
        let top = self.world.tree();
        if !self.command(at, |world| world.try_revert(&request)) {
            return;
        }
        let session = &mut self.sessions[at];
        if is_first {
            session.top = Some(top);
        }
        let sight = Sight::of(&self.world);
        let again = self.world.try_revert(&request).expect("what could be done can be done again");
        laws::assert_unchanged(&sight, &self.world, &format!("the second time {again:#?}"));
    }

    fn is_unreverted(&mut self, at: usize) -> bool {
        let cwd = self.world.cwd.clone();
        !self.world.store.status(&cwd, Some(SESSIONS[at])).expect("the session is known").redo
    }

    fn redo(&mut self, at: usize, all: bool) {
        let request = RedoRequest { session: Some(SESSIONS[at].to_owned()), all, ..RedoRequest::default() };
        if self.command(at, |world| {
            let cwd = world.cwd.clone();
            world.store.redo(&cwd, &request)
        }) && all
            && let Some(top) = self.sessions[at].top.take()
        {
            let found = self.world.tree();
            assert!(found == top, "the way back: found {found:#?}\nwanted {top:#?}");
        }
    }

    /// Runs a command and holds it against the laws. Returns whether there was something to do it with.
    fn command(&mut self, at: usize, run: impl FnOnce(&mut World) -> Result<OperationReport, Error>) -> bool {
        let before = Sight::of(&self.world);
        let report = match run(&mut self.world) {
            Ok(report) => report,
            Err(error) => {
                laws::assert_unchanged(&before, &self.world, "an error");
                assert_eq!(
                    error.kind,
                    ErrorKind::Unavailable,
                    "no other is to be expected: {error}: {:?}",
                    error.causes()
                );
                return false;
            }
        };
        laws::assert_only_the_report(&before, &self.world, &report);
        laws::assert_nothing_lost(&before, &mut self.world, &report);
        // A redo that finds nothing reverted does not look at the workspace either.
        self.sessions[at].is_open &= report.kind != OperationKind::Revert;
        laws::assert_spared(&before, &self.world, &self.sessions[at].touched, &report);
        let changed = laws::differences(&before.tree, &self.world.tree());
        let other = &mut self.sessions[1 - at];
        if !changed.is_empty() {
            other.top = None;
        }
        if other.is_open {
            other.touched.extend(changed);
        }
        true
    }
}

fn pick(names: &[String], number: usize) -> Option<String> {
    names.get(number.checked_rem(names.len())?).cloned()
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_command_touches_what_it_names_loses_nothing_and_has_a_way_back(actions in actions()) {
        let mut model = Model::new();
        for action in actions.iter().chain(&[Action::Unrevert(1), Action::Unrevert(0)]) {
            model.act(action);
        }
    }
}
