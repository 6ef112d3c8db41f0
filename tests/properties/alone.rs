//! One session, and nobody else: a revert gives exactly the tree from just before the message, whichever way one came, and
//! with `--git` exactly HEAD, branches and the index.

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::{RedoRequest, RevertRequest};
use proptest::prelude::*;

use crate::edit::{self, Edit, GitEdit};
use crate::hold::hold;
use crate::kill::killed_after;
use crate::laws::{Sight, assert_git_untouched, assert_unchanged, below_git};
use crate::script::Script;
use testing::scenario::{World, to, wait_ms};
use testing::tree::{Node, Tree};

/// What is there besides files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Git {
    Nothing,
    /// A repository, which every command leaves alone.
    Kept,
    /// A repository, and every command has `--git`.
    Moved,
}

/// What happens.
#[derive(Clone, Debug)]
enum Action {
    /// A new message with its steps.
    Message(Vec<Step>),
    /// To one of the live messages, counted from the oldest, round and round; killed before that, maybe.
    Revert(usize, Option<usize>),
    Redo,
    Unrevert(Option<usize>),
    /// One of the operations, counted from the oldest, and back from there.
    RestoreAndBack(usize),
}

#[derive(Clone, Debug)]
struct Step {
    edits: Vec<Edit>,
    git: Option<GitEdit>,
    /// How often the agent says that it is done.
    finishes: usize,
}

fn step() -> impl Strategy<Value = Step> {
    let finishes = prop_oneof![2 => Just(0usize), 7 => Just(1), 1 => Just(2)];
    (
        edit::edits(),
        prop::option::weighted(0.3, edit::git_edit()),
        finishes,
    )
        .prop_map(|(edits, git, finishes)| Step {
            edits,
            git,
            finishes,
        })
}

fn action() -> impl Strategy<Value = Action> {
    let kill = || prop::option::weighted(0.2, 0..6usize);
    prop_oneof![
        10 => prop::collection::vec(step(), 0..3).prop_map(Action::Message),
        8 => (0..8usize, kill()).prop_map(|(number, kill)| Action::Revert(number, kill)),
        2 => Just(Action::Redo),
        2 => kill().prop_map(Action::Unrevert),
        1 => (0..8usize).prop_map(Action::RestoreAndBack),
    ]
}

fn history() -> impl Strategy<Value = (Git, Vec<Action>)> {
    let git = prop_oneof![2 => Just(Git::Nothing), 1 => Just(Git::Kept), 1 => Just(Git::Moved)];
    (git, prop::collection::vec(action(), 1..10))
}

/// What is to come back: what is captured of the tree, and where `--git` is asked for, HEAD, branches and the index.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    captured: Tree,
    git: String,
}

/// What the store should know, in memory.
struct Model<'a> {
    world: World,
    git: Git,
    script: &'a Script,
    /// The live messages, each with the state from just before it.
    messages: Vec<(String, State)>,
    /// Which of them the session is reverted to, with the state from before the first revert.
    reverted: Option<(usize, State)>,
    /// Each with the tree from just before it.
    operations: Vec<(String, Tree)>,
    messages_sent: usize,
    branches: usize,
}

impl<'a> Model<'a> {
    fn new(git: Git, script: &'a Script) -> Self {
        let mut world = World::new();
        edit::begin(&mut world, git != Git::Nothing, script);
        let (messages, operations) = (Vec::new(), Vec::new());
        Self {
            world,
            git,
            script,
            messages,
            reverted: None,
            operations,
            messages_sent: 0,
            branches: 0,
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Message(steps) => self.message(steps),
            Action::Revert(number, kill) if !self.messages.is_empty() => {
                self.revert(number % self.messages.len(), *kill);
            }
            Action::Redo => self.redo(),
            Action::Unrevert(kill) => self.unrevert(*kill),
            Action::RestoreAndBack(number) if !self.operations.is_empty() => {
                self.restore_and_back(number % self.operations.len());
            }
            Action::Revert(..) | Action::RestoreAndBack(_) => {}
        }
    }

    fn message(&mut self, steps: &[Step]) {
        if let Some((point, _)) = self.reverted.take() {
            self.messages.truncate(point);
        }
        self.messages_sent += 1;
        let name = format!("m{}", self.messages_sent);
        let state = self.state();
        self.messages.push((name.clone(), state));
        self.script.line(format_args!(
            "ckpt-hook message --session s1 --message {name}"
        ));
        self.world.message(&name);
        steps.iter().for_each(|step| self.step(step));
        // An agent of which nothing was heard for so long is not at work.
        wait_ms(60_000);
    }

    fn step(&mut self, step: &Step) {
        self.script.line("start s1");
        self.world.start();
        edit::apply_all(&step.edits, &self.world, self.script);
        if let Some(git) = step.git.filter(|_| self.git != Git::Nothing) {
            self.branches += 1;
            git.apply(self.branches, &self.world, self.script);
        }
        for _ in 0..step.finishes {
            self.script.line("ckpt-hook step-finish --session s1");
            self.world.finish();
        }
    }

    fn state(&self) -> State {
        let git = match self.git {
            Git::Nothing | Git::Kept => String::new(),
            Git::Moved => {
                let asked = [
                    &["symbolic-ref", "HEAD"][..],
                    &["rev-parse", "HEAD"],
                    &["ls-files", "--stage"],
                ];
                asked
                    .map(|arguments| self.world.run_git(arguments))
                    .join("\n")
            }
        };
        State {
            captured: edit::apart(&self.world.tree()).0,
            git,
        }
    }

    fn words(&self) -> &'static str {
        if self.git == Git::Moved {
            " --git --force"
        } else {
            " --force"
        }
    }

    fn revert(&mut self, number: usize, kill: Option<usize>) {
        let now = self.state();
        let (name, before) = self.messages[number].clone();
        let request = RevertRequest {
            git: self.git == Git::Moved,
            ..to(&name)
        };
        let line = format!(
            "ckpt-hook --json revert --message {name}{} | note",
            self.words()
        );
        let run = |world: &mut World| world.try_revert(&request).expect("the message is known");
        self.command(&line, kill, run, &before);
        let top = self.reverted.take().map_or(now, |(_, top)| top);
        self.reverted = Some((number, top));
        let sight = Sight::of(&self.world);
        self.script.line(line);
        let again = run(&mut self.world);
        // What does not come back is named again.
        let is_named = again.outcome == Outcome::Partial && !again.remarks.is_empty();
        assert!(
            again.operation.is_none() && (again.outcome == Outcome::Nothing || is_named),
            "the second time there is nothing to do: {again:?}"
        );
        assert_unchanged(&sight, &self.world, "the second time");
    }

    fn unrevert(&mut self, kill: Option<usize>) {
        let wanted = self
            .reverted
            .take()
            .map_or_else(|| self.state(), |(_, top)| top);
        let request = RedoRequest {
            all: true,
            git: self.git == Git::Moved,
            ..RedoRequest::default()
        };
        let run = |world: &mut World| {
            let cwd = world.cwd.clone();
            world
                .store
                .redo(&cwd, &request)
                .expect("it can always be asked for")
        };
        self.command(
            &format!("ckpt-hook --json unrevert{} | note", self.words()),
            kill,
            run,
            &wanted,
        );
    }

    fn redo(&mut self) {
        let Some((point, top)) = self.reverted.take() else {
            return;
        };
        let wanted = self
            .messages
            .get(point + 1)
            .map_or_else(|| top.clone(), |(_, before)| before.clone());
        let request = RedoRequest {
            git: self.git == Git::Moved,
            ..RedoRequest::default()
        };
        let run = |world: &mut World| {
            let cwd = world.cwd.clone();
            world
                .store
                .redo(&cwd, &request)
                .expect("something is reverted")
        };
        self.command(
            &format!("ckpt-hook --json redo{} | note", self.words()),
            None,
            run,
            &wanted,
        );
        if point + 1 < self.messages.len() {
            self.reverted = Some((point + 1, top));
        }
    }

    /// Runs a command, after one like it that was killed, if one is to be, and looks at what became of everything.
    fn command(
        &mut self,
        line: &str,
        kill: Option<usize>,
        run: impl Fn(&mut World) -> OperationReport,
        wanted: &State,
    ) {
        let (before, ignored) = edit::apart(&self.world.tree());
        let below = below_git(&self.world);
        if let Some(pieces) = kill {
            killed_after(pieces, &mut self.world, self.script, |world| _ = run(world));
        }
        self.script.line(line);
        let report = run(&mut self.world);
        let found = self.state();
        assert!(
            &found == wanted,
            "found {found:#?}\nwanted {wanted:#?}\n{report:#?}"
        );
        // A directory without files that a step made goes and comes, ignored or not.
        let files = |mut tree: Tree| {
            tree.retain(|_, node| !matches!(node, Node::Directory(_)));
            tree
        };
        assert_eq!(
            files(edit::apart(&self.world.tree()).1),
            files(ignored),
            "what is ignored stays: {report:#?}"
        );
        if self.git != Git::Moved {
            assert_git_untouched(&below, &self.world, &report);
        }
        if kill.is_none() {
            self.operations
                .extend(report.operation.map(|id| (id, before)));
        }
    }

    /// What `restore` does is nobody's, and what it did and took back leaves no trace in what comes after.
    fn restore_and_back(&mut self, number: usize) {
        let (id, then) = self.operations[number].clone();
        let (now, _) = edit::apart(&self.world.tree());
        self.script.line(format_args!(
            "back=$(ckpt-hook --json restore $(operation {}) --force | id)",
            number + 1
        ));
        let there = self.world.restore(&id, &[]);
        let (found, _) = edit::apart(&self.world.tree());
        assert!(
            found == then,
            "restored: found {found:#?}\nwanted {then:#?}\n{there:#?}"
        );
        let Some(operation) = there.operation else {
            return;
        };
        self.script.line("ckpt-hook restore $back --force");
        let back = self.world.restore(&operation, &[]);
        let (found, _) = edit::apart(&self.world.tree());
        assert!(
            found == now,
            "and back: found {found:#?}\nwanted {now:#?}\n{back:#?}"
        );
    }
}

/// A revert gives the state from just before the message.
#[test]
fn revert_gives_the_state_before_the_message() {
    hold(100, history(), |(git, actions), script| {
        let mut model = Model::new(*git, script);
        actions.iter().for_each(|action| model.act(action));
    });
}
