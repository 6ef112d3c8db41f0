//! One session, and nobody else: a revert gives exactly the tree from just before the message, whichever way one came.

use ckpt_schema::report::{OperationReport, Outcome};
use proptest::prelude::*;

use crate::cases;
use crate::edit::{self, Edit};
use crate::laws::{Sight, assert_unchanged};
use crate::world::{Tree, World, wait_ms};

/// What happens.
#[derive(Clone, Debug)]
enum Action {
    /// A new message with its steps.
    Message(Vec<Step>),
    /// To one of the live messages, counted from the oldest, round and round.
    Revert(usize),
    Redo,
    Unrevert,
}

#[derive(Clone, Debug)]
struct Step {
    edits: Vec<Edit>,
    /// Whether the agent says when it is done.
    finishes: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (edit::edits(), prop::bool::weighted(0.8)).prop_map(|(edits, finishes)| Step { edits, finishes })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        5 => prop::collection::vec(step(), 0..3).prop_map(Action::Message),
        4 => (0..8usize).prop_map(Action::Revert),
        1 => Just(Action::Redo),
        1 => Just(Action::Unrevert),
    ]
}

/// What the store should know, in memory.
struct Model {
    world: World,
    /// The live messages, each with the tree from just before it.
    messages: Vec<(String, Tree)>,
    /// Which of them the session is reverted to, with the tree from before the first revert.
    reverted: Option<(usize, Tree)>,
    count: usize,
}

impl Model {
    fn new() -> Self {
        let mut world = World::new();
        edit::begin(&mut world);
        Self { world, messages: Vec::new(), reverted: None, count: 0 }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Message(steps) => self.message(steps),
            Action::Revert(_) if self.messages.is_empty() => {}
            Action::Revert(number) => self.revert(number % self.messages.len()),
            Action::Redo => self.redo(),
            Action::Unrevert => {
                let report = self.world.unrevert();
                if let Some((_, top)) = self.reverted.take() {
                    self.assert_is(&top, &report);
                }
            }
        }
    }

    fn message(&mut self, steps: &[Step]) {
        if let Some((point, _)) = self.reverted.take() {
            self.messages.truncate(point);
        }
        self.count += 1;
        let name = format!("m{}", self.count);
        self.messages.push((name.clone(), self.world.tree()));
        self.world.message(&name);
        for step in steps {
            self.world.start();
            edit::apply_all(&step.edits, &self.world);
            if step.finishes {
                self.world.finish();
            }
        }
        // An agent of which nothing was heard for so long is not at work.
        wait_ms(60_000);
    }

    fn revert(&mut self, number: usize) {
        let now = self.world.tree();
        let (name, before) = self.messages[number].clone();
        let report = self.world.revert(&name);
        self.assert_is(&before, &report);
        let top = self.reverted.take().map_or(now, |(_, top)| top);
        self.reverted = Some((number, top));
        let sight = Sight::of(&self.world);
        let again = self.world.revert(&name);
        assert_eq!(again.outcome, Outcome::Nothing, "the second time there is nothing to do: {again:?}");
        assert_unchanged(&sight, &self.world, "the second time");
    }

    fn redo(&mut self) {
        let report = self.world.redo();
        let Some((point, top)) = self.reverted.take() else { return };
        match self.messages.get(point + 1).cloned() {
            Some((_, before)) => {
                self.assert_is(&before, &report);
                self.reverted = Some((point + 1, top));
            }
            None => self.assert_is(&top, &report),
        }
    }

    fn assert_is(&self, wanted: &Tree, report: &OperationReport) {
        let found = self.world.tree();
        assert!(&found == wanted, "found {found:#?}\nwanted {wanted:#?}\n{report:#?}");
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_revert_gives_the_tree_from_just_before_the_message(actions in prop::collection::vec(action(), 1..10)) {
        let mut model = Model::new();
        for action in &actions {
            model.act(action);
        }
    }
}
