//! Two sessions and a user in one workspace: what a command must not do, and the way back from it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ckpt_schema::report::{OperationKind, OperationReport};
use ckpt_store::model::request::OnConflict;
use ckpt_store::{Error, ErrorKind, RedoRequest, RestoreRequest, RevertRequest};
use proptest::prelude::*;

use crate::edit::{self, At, Edit, GitEdit};
use crate::hold::hold;
use crate::kill::killed_after;
use crate::laws::{self, Sight};
use crate::script::Script;
use testing::scenario::{World, explained, wait_ms};
use testing::tree::Tree;

const SESSIONS: [&str; 2] = ["s1", "s2"];

/// What happens; sessions by number.
#[derive(Clone, Debug)]
enum Action {
    Message(usize),
    Start(usize),
    Edit(Vec<Edit>),
    /// In a repository.
    Git(GitEdit),
    Finish(usize),
    /// To one of the session's messages, counted from the oldest, round and round.
    Revert(usize, usize, Part, Manner),
    Redo(usize),
    Unrevert(usize),
    /// To one of the operations, counted from the oldest, round and round; a path alone, maybe; what the user changed
    /// since as well, maybe.
    Restore(usize, Option<At>, bool),
}

#[derive(Clone, Copy, Debug)]
struct Manner {
    on_conflict: OnConflict,
    /// Asked for where it makes sense.
    git: bool,
    /// Killed before that when so much is done.
    kill: Option<usize>,
}

#[derive(Clone, Debug)]
enum Part {
    All,
    Only(At),
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

fn manner() -> impl Strategy<Value = Manner> {
    let on_conflict = prop_oneof![4 => Just(OnConflict::Merge), 1 => Just(OnConflict::Keep), 1 => Just(OnConflict::Overwrite)];
    (
        on_conflict,
        any::<bool>(),
        prop::option::weighted(0.15, 0..6usize),
    )
        .prop_map(|(on_conflict, git, kill)| Manner {
            on_conflict,
            git,
            kill,
        })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let session = || prop_oneof![4 => Just(0usize), 1 => Just(1usize)];
    let turn = (
        session(),
        prop::bool::weighted(0.8),
        edit::edits(),
        any::<bool>(),
    );
    let turn = turn.prop_map(|(session, is_new, edits, finishes)| {
        let message = is_new.then_some(Action::Message(session));
        let finish = finishes.then_some(Action::Finish(session));
        message
            .into_iter()
            .chain([Action::Start(session), Action::Edit(edits)])
            .chain(finish)
            .collect::<Vec<_>>()
    });
    let turn = turn.boxed();
    let files = edit::edits().prop_map(|edits| vec![Action::Edit(edits)]);
    let git = edit::git_edit().prop_map(|edit| vec![Action::Git(edit)]);
    let users = prop_oneof![3 => files, 1 => git].boxed();
    let revert = (session(), 0..8usize, part(), manner())
        .prop_map(|(session, number, part, manner)| Action::Revert(session, number, part, manner));
    let command = prop_oneof![
        8 => revert,
        2 => session().prop_map(Action::Redo),
        4 => session().prop_map(Action::Unrevert),
        2 => session().prop_map(Action::Finish),
        1 => (0..8usize, prop::option::of(edit::at()), any::<bool>()).prop_map(|(number, only, mine)| Action::Restore(number, only, mine)),
    ];
    let command = command.prop_map(|action| vec![action]);
    let past = prop_oneof![3 => turn.clone(), 1 => users.clone()];
    let then = prop_oneof![1 => turn, 1 => users, 5 => command];
    (
        prop::collection::vec(past, 1..6),
        prop::collection::vec(then, 1..6),
    )
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
    /// Whatever changed since the last of them ended: a finish that comes again may take it into the session.
    since: BTreeSet<PathBuf>,
    /// The tree from before the first revert, while nobody did anything else since.
    top: Option<Tree>,
}

struct Model<'a> {
    world: World,
    is_git: bool,
    script: &'a Script,
    sessions: [Session; 2],
    /// Each with the tree from just before it.
    operations: Vec<(String, Tree)>,
    messages: usize,
    branches: usize,
    actions: usize,
}

impl<'a> Model<'a> {
    fn new(is_git: bool, script: &'a Script) -> Self {
        let mut world = World::new();
        edit::begin(&mut world, is_git, script);
        let sessions = Default::default();
        Self {
            world,
            is_git,
            script,
            sessions,
            operations: Vec::new(),
            messages: 0,
            branches: 0,
            actions: 0,
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Message(at) => self.message(*at),
            Action::Start(at) => self.start(*at),
            Action::Finish(at) => self.finish(*at),
            Action::Edit(edits) => self.edit(|world, script| edit::apply_all(edits, world, script)),
            Action::Git(edit) if self.is_git => {
                self.branches += 1;
                let number = self.branches;
                self.edit(|world, script| edit.apply(number, world, script));
            }
            Action::Git(_) => {}
            Action::Revert(at, number, part, manner) => self.revert(*at, *number, part, *manner),
            Action::Redo(at) => self.redo(*at, false),
            Action::Unrevert(at) => self.redo(*at, true),
            Action::Restore(number, only, mine) => self.restore(*number, *only, *mine),
        }
        self.actions += 1;
        if self.actions.is_multiple_of(3) {
            self.world.assert_totals();
        }
    }

    fn message(&mut self, at: usize) {
        self.messages += 1;
        let (name, session) = (format!("m{}", self.messages), SESSIONS[at]);
        self.script.line(format_args!(
            "ckpt-hook message --session {session} --message {name}"
        ));
        self.world.message_in(session, &name);
        let session = &mut self.sessions[at];
        session.messages.push(name);
        (session.is_open, session.top) = (false, None);
    }

    fn start(&mut self, at: usize) {
        self.script.line(format_args!("start {}", SESSIONS[at]));
        let report = self.world.start_in(SESSIONS[at]);
        let session = &mut self.sessions[at];
        session.steps.extend(report.step);
        session.is_open = true;
    }

    fn finish(&mut self, at: usize) {
        self.script.line(format_args!(
            "ckpt-hook step-finish --session {}",
            SESSIONS[at]
        ));
        self.world.finish_in(SESSIONS[at]);
        let session = &mut self.sessions[at];
        let since = std::mem::take(&mut session.since);
        if !session.is_open {
            session.touched.extend(since);
            session.top = None;
        }
        session.is_open = false;
    }

    fn edit(&mut self, edit: impl FnOnce(&World, &Script)) {
        let before = self.world.tree();
        edit(&self.world, self.script);
        self.note_changes(&before);
        wait_ms(60_000);
    }

    /// What changed since a tree may be any open session's.
    fn note_changes(&mut self, before: &Tree) {
        let changed = laws::differences(before, &self.world.tree());
        for session in &mut self.sessions {
            let seen_by = if session.is_open {
                &mut session.touched
            } else {
                &mut session.since
            };
            seen_by.extend(changed.iter().cloned());
            if !changed.is_empty() {
                session.top = None;
            }
        }
    }

    fn revert(&mut self, at: usize, number: usize, part: &Part, manner: Manner) {
        let session = &self.sessions[at];
        let Some(message) = pick(&session.messages, number) else {
            return;
        };
        let on_conflict = manner.on_conflict;
        let mut request = RevertRequest {
            session: Some(SESSIONS[at].to_owned()),
            message,
            on_conflict,
            // The other one may be at work.
            force: ckpt_store::Force::Yes,
            ..RevertRequest::default()
        };
        let words = match part {
            Part::All => {
                request.git = self.is_git && manner.git;
                let git = if request.git { " --git" } else { "" };
                format!("--message {}{git}", request.message)
            }
            Part::Only(path) => {
                request.only = vec![path.as_ref().to_owned()];
                format!("--message {} --only {}", request.message, path.word())
            }
            Part::Step(number) => {
                let Some(step) = pick(&session.steps, *number) else {
                    return;
                };
                request.step = Some(step);
                format!(
                    "--step $(step {} {})",
                    SESSIONS[at],
                    number % session.steps.len() + 1
                )
            }
        };
        let line = format!(
            "ckpt-hook --json revert {words} --session {} --on-conflict {} --force | note",
            SESSIONS[at],
            on_conflict.name()
        );
        let is_first = self.is_unreverted(at);
        let top = self.world.tree();
        let run = |world: &mut World| world.try_revert(&request);
        if let Some(pieces) = manner.kill {
            killed_after(pieces, &mut self.world, self.script, |world| _ = run(world));
            self.tell_the_other(at, &top);
        }
        let is_whole = manner.kill.is_none();
        if !self.command(at, &line, (request.git, is_whole), run) {
            return;
        }
        if is_first {
            self.sessions[at].top = Some(top);
        }
        let sight = Sight::of(&self.world);
        self.script.line(line);
        let again = self
            .world
            .try_revert(&request)
            .expect("what could be done can be done again");
        laws::assert_unchanged(&sight, &self.world, &format!("the second time {again:#?}"));
    }

    fn is_unreverted(&mut self, at: usize) -> bool {
        let cwd = self.world.cwd.clone();
        !self
            .world
            .store
            .status(&cwd, Some(SESSIONS[at]))
            .expect("the session is known")
            .redo
    }

    fn redo(&mut self, at: usize, all: bool) {
        let request = RedoRequest {
            session: Some(SESSIONS[at].to_owned()),
            all,
            force: ckpt_store::Force::Yes,
            ..RedoRequest::default()
        };
        let name = if all { "unrevert" } else { "redo" };
        let line = format!(
            "ckpt-hook --json {name} --session {} --force | note",
            SESSIONS[at]
        );
        let run = |world: &mut World| {
            let cwd = world.cwd.clone();
            world.store.redo(&cwd, &request).map(explained)
        };
        // What a revert took along of git, going forward takes along, too.
        if self.command(at, &line, (true, true), run)
            && all
            && let Some(top) = self.sessions[at].top.take()
        {
            let found = self.world.tree();
            assert!(
                found == top,
                "the way back: found {found:#?}\nwanted {top:#?}"
            );
        }
    }

    fn restore(&mut self, number: usize, only: Option<At>, overwrite_mine: bool) {
        let Some(index) = number.checked_rem(self.operations.len()) else {
            return;
        };
        let (id, then) = self.operations[index].clone();
        let before = Sight::of(&self.world);
        let request = RestoreRequest {
            id,
            paths: only.iter().map(|path| path.as_ref().to_owned()).collect(),
            overwrite_mine,
            force: ckpt_store::Force::Yes,
            ..RestoreRequest::default()
        };
        let path = only.map_or_else(String::new, |path| format!(" {}", path.word()));
        let mine = if overwrite_mine {
            " --on-conflict overwrite"
        } else {
            ""
        };
        self.script.line(format_args!(
            "ckpt-hook --json restore $(operation {}){path}{mine} --force | note",
            index + 1
        ));
        let cwd = self.world.cwd.clone();
        let report = match self.world.store.restore(&cwd, &request).map(explained) {
            Ok(report) => report,
            Err(error) if only.is_some() => {
                assert_eq!(
                    error.kind,
                    ErrorKind::Unavailable,
                    "nothing is known there: {error}"
                );
                return laws::assert_unchanged(&before, &self.world, "an error");
            }
            Err(error) => panic!(
                "every operation has its snapshot: {error}: {:?}",
                error.causes()
            ),
        };
        laws::assert_only_the_report(&before, &self.world, &report);
        laws::assert_nothing_lost(&before, &mut self.world, &report);
        if only.is_none() {
            let (found, _) = edit::apart(&self.world.tree());
            let kept = laws::kept_as_yours(&report);
            assert!(
                laws::differences(&found, &then).is_subset(&kept),
                "restored: found {found:#?}\nwanted {then:#?}\n{report:#?}"
            );
            assert!(
                kept.is_empty() || !overwrite_mine,
                "nothing is kept as the user's: {report:#?}"
            );
        }
        self.note_operation(&before, &report);
        self.note_changes(&before.tree);
    }

    fn note_operation(&mut self, before: &Sight, report: &OperationReport) {
        let (captured, _) = edit::apart(&before.tree);
        self.operations
            .extend(report.operation.clone().map(|id| (id, captured)));
    }

    /// Runs a command and holds it against the laws. Returns whether there was something to do it with.
    fn command(
        &mut self,
        at: usize,
        line: &str,
        (moves_git, is_whole): (bool, bool),
        run: impl FnOnce(&mut World) -> Result<OperationReport, Error>,
    ) -> bool {
        self.script.line(line);
        let before = Sight::of(&self.world);
        let below = laws::below_git(&self.world);
        let report = match run(&mut self.world) {
            Ok(report) => report,
            Err(error) => {
                if is_whole {
                    laws::assert_unchanged(&before, &self.world, "an error");
                }
                assert_eq!(
                    error.kind,
                    ErrorKind::Unavailable,
                    "no other is to be expected: {error}: {:?}",
                    error.causes()
                );
                return false;
            }
        };
        // What a killed command still has to do is in its own report.
        if is_whole {
            laws::assert_only_the_report(&before, &self.world, &report);
        }
        if !moves_git {
            laws::assert_git_untouched(&below, &self.world, &report);
        }
        laws::assert_nothing_left(&self.world);
        laws::assert_nothing_lost(&before, &mut self.world, &report);
        if is_whole {
            self.note_operation(&before, &report);
        }
        // A redo that finds nothing reverted does not look at the workspace either.
        self.sessions[at].is_open &= report.kind != OperationKind::Revert;
        laws::assert_spared(&before, &self.world, &self.sessions[at].touched, &report);
        self.tell_the_other(at, &before.tree);
        true
    }

    /// What a session's command changed since a tree, the other one sees.
    fn tell_the_other(&mut self, at: usize, before: &Tree) {
        let changed = laws::differences(before, &self.world.tree());
        let other = &mut self.sessions[1 - at];
        if !changed.is_empty() {
            other.top = None;
        }
        let seen_by = if other.is_open {
            &mut other.touched
        } else {
            &mut other.since
        };
        seen_by.extend(changed);
    }
}

fn pick(names: &[String], number: usize) -> Option<String> {
    names.get(number.checked_rem(names.len())?).cloned()
}

/// A command touches what it names loses nothing and has a way back.
///
/// Invariant `truth/counts-kept`.
#[test]
fn command_touches_only_what_it_names() {
    hold(
        150,
        (prop::bool::weighted(0.3), actions()),
        |(is_git, actions), script| {
            let mut model = Model::new(*is_git, script);
            for action in actions
                .iter()
                .chain(&[Action::Unrevert(1), Action::Unrevert(0)])
            {
                model.act(action);
            }
        },
    );
}
