//! Three sessions and a person write, delete and rename a few files, and the sessions go back, forward and back again in any
//! order, in whole and in part. An undo gives the state before, and so does an undo of it; further back is the same as at
//! once; no move back takes a text of the person's out of the workspace.

use std::collections::BTreeSet;
use std::fs;

use ckpt_schema::report::{MessageState, OperationReport};
use ckpt_store::{RedoRequest, RevertRequest};
use proptest::prelude::*;

use crate::hold::hold;
use crate::laws::{Sight, assert_nothing_lost};
use crate::script::Script;
use testing::scenario::{World, to, wait_ms};
use testing::tree::Node;

const SESSIONS: [&str; 3] = ["A", "B", "C"];
const PATHS: [&str; 5] = ["a", "b", "d/c", "d/e", "f"];

#[derive(Clone, Copy, Debug)]
enum Edit {
    /// A text that is nowhere else.
    Write(usize),
    /// One more line at the end of a file.
    Append(usize),
    Delete(usize),
    Rename(usize, usize),
}

#[derive(Clone, Debug)]
enum Act {
    Turn(usize, Vec<Edit>),
    Person(Edit),
    /// Back to one of a session's messages, or that message alone.
    Back {
        session: usize,
        message: usize,
        alone: bool,
    },
    /// A path back to one of a session's messages.
    Only {
        session: usize,
        message: usize,
        path: usize,
    },
    Forward {
        session: usize,
        all: bool,
    },
    /// To the first of two messages at once, and by way of the second.
    Further {
        session: usize,
        messages: (usize, usize),
    },
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || 0..PATHS.len();
    prop_oneof![
        3 => path().prop_map(Edit::Write),
        3 => path().prop_map(Edit::Append),
        1 => path().prop_map(Edit::Delete),
        3 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let session = || 0..SESSIONS.len();
    let message = || 0..4usize;
    prop_oneof![
        8 => (session(), prop::collection::vec(edit(), 1..4)).prop_map(|(session, edits)| Act::Turn(session, edits)),
        2 => edit().prop_map(Act::Person),
        4 => (session(), message(), prop::bool::weighted(0.3))
            .prop_map(|(session, message, alone)| Act::Back { session, message, alone }),
        1 => (session(), message(), 0..PATHS.len())
            .prop_map(|(session, message, path)| Act::Only { session, message, path }),
        2 => (session(), any::<bool>()).prop_map(|(session, all)| Act::Forward { session, all }),
        2 => (session(), (message(), message()))
            .prop_map(|(session, messages)| Act::Further { session, messages }),
    ]
}

struct Player {
    world: World,
    /// The messages of each session that are in force, or hidden.
    messages: Vec<Vec<String>>,
    number: usize,
    /// The texts of the person's.
    own: BTreeSet<Vec<u8>>,
}

impl Player {
    fn new() -> Self {
        let mut player = Self {
            world: World::new(),
            messages: vec![Vec::new(); SESSIONS.len()],
            number: 0,
            own: BTreeSet::new(),
        };
        for path in 0..3 {
            player.person(Edit::Write(path));
        }
        player.world.capture();
        player
    }

    fn edit(&mut self, edit: Edit) {
        self.number += 1;
        let text = format!("text {0}\nline {0}\nend {0}\n", self.number);
        let world = &self.world;
        match edit {
            Edit::Write(path) => world.write(PATHS[path], text),
            Edit::Append(path) if world.exists(PATHS[path]) => {
                let before = world.read(PATHS[path]);
                world.write(PATHS[path], format!("{before}more {}\n", self.number));
            }
            Edit::Delete(path) if world.exists(PATHS[path]) => world.remove(PATHS[path]),
            Edit::Rename(from, to) if world.exists(PATHS[from]) && from != to => {
                fs::create_dir_all(world.path("d")).expect("it is writable");
                fs::rename(world.path(PATHS[from]), world.path(PATHS[to])).expect("both are files");
            }
            Edit::Append(_) | Edit::Delete(_) | Edit::Rename(..) => {}
        }
    }

    fn person(&mut self, edit: Edit) {
        self.edit(edit);
        if let Edit::Write(path) = edit {
            self.own.insert(self.world.read(PATHS[path]).into_bytes());
        }
        wait_ms(60_000);
    }

    fn turn(&mut self, session: usize, edits: &[Edit]) {
        self.number += 1;
        let message = format!("m{}", self.number);
        self.world.message_in(SESSIONS[session], &message);
        for edit in edits {
            self.world.start_in(SESSIONS[session]);
            self.edit(*edit);
            self.world.finish_in(SESSIONS[session]);
        }
        // A message makes what is hidden permanent.
        let known = self.world.log().messages;
        let kept = known
            .iter()
            .filter(|one| one.state != MessageState::Discarded);
        let kept: BTreeSet<&String> = kept.filter_map(|one| one.agent_id.as_ref()).collect();
        let is_live = |id: &String| kept.contains(id);
        self.messages[session].retain(is_live);
        self.messages[session].push(message);
        wait_ms(60_000);
    }

    fn message(&self, session: usize, message: usize) -> Option<String> {
        let own = &self.messages[session];
        own.get(message % own.len().max(1)).cloned()
    }

    fn texts(&self) -> BTreeSet<Vec<u8>> {
        let tree = self.world.tree().into_values();
        tree.filter_map(|node| match node {
            Node::File(bytes, _) => Some(bytes),
            _ => None,
        })
        .collect()
    }

    /// Does it, takes it back, and does it again by taking that back.
    fn play(&mut self, moves: impl FnOnce(&mut World) -> OperationReport) -> OperationReport {
        let before = Sight::of(&self.world);
        let report = moves(&mut self.world);
        assert_nothing_lost(&before, &mut self.world, &report);
        let Some(operation) = &report.operation else {
            assert!(self.world.tree() == before.tree, "{report:#?}");
            return report;
        };
        let after = self.world.tree();
        let undone = self.world.undo(operation);
        let now = self.world.tree();
        assert!(
            now == before.tree,
            "an undo is the state before: {report:#?}\n{undone:#?}\n{now:#?}\nwas {:#?}",
            before.tree
        );
        if let Some(operation) = &undone.operation {
            let again = self.world.undo(operation);
            let now = self.world.tree();
            assert!(
                now == after,
                "an undo of an undo: {report:#?}\n{undone:#?}\n{again:#?}\n{now:#?}\nwas {after:#?}"
            );
        }
        report
    }

    fn back(&mut self, request: &RevertRequest) {
        let before = self.texts();
        let is_reverted = self.is_reverted();
        let report = self.play(|world| {
            world
                .try_revert(request)
                .unwrap_or_else(|error| panic!("{error:?}"))
        });
        if !is_reverted {
            let after = self.texts();
            for text in before.intersection(&self.own) {
                assert!(
                    after.contains(text),
                    "{:?} is in no file: {report:#?}",
                    String::from_utf8_lossy(text)
                );
            }
        }
    }

    /// Returns whether something is reverted, so that a revert may be a move forward.
    fn is_reverted(&mut self) -> bool {
        let status = self.world.status();
        status.redo || !status.also_reverted.is_empty()
    }

    fn further(&mut self, session: usize, (one, other): (usize, usize)) {
        let own = &self.messages[session];
        let count = own.len().max(1);
        let (first, second) = (
            (one % count).min(other % count),
            (one % count).max(other % count),
        );
        let (Some(first), Some(second)) = (own.get(first).cloned(), own.get(second).cloned())
        else {
            return;
        };
        let Some(report) = self.world.revert(&first).operation else {
            return;
        };
        let at_once = self.world.tree();
        self.world.undo(&report);
        let by_way = self.world.revert(&second);
        let then = self.world.revert(&first);
        let now = self.world.tree();
        assert!(
            now == at_once,
            "further back is the same as at once: {by_way:#?}\n{then:#?}\n{now:#?}\nat once {at_once:#?}"
        );
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Turn(session, edits) => self.turn(*session, edits),
            Act::Person(edit) => self.person(*edit),
            Act::Back {
                session,
                message,
                alone,
            } => {
                if let Some(message) = self.message(*session, *message) {
                    let alone = *alone;
                    self.back(&RevertRequest {
                        alone,
                        ..to(&message)
                    });
                }
            }
            Act::Only {
                session,
                message,
                path,
            } => {
                if let Some(message) = self.message(*session, *message) {
                    let only = vec![self.world.path(PATHS[*path])];
                    let request = RevertRequest {
                        only,
                        ..to(&message)
                    };
                    // What the message never changed cannot be asked for.
                    let dry_run = RevertRequest {
                        dry_run: true,
                        ..request.clone()
                    };
                    if self.world.try_revert(&dry_run).is_ok() {
                        self.back(&request);
                    }
                }
            }
            Act::Forward { session, all } => {
                let request = RedoRequest {
                    session: Some(SESSIONS[*session].to_owned()),
                    all: *all,
                    ..RedoRequest::default()
                };
                if !self.messages[*session].is_empty() {
                    self.play(|world| {
                        let cwd = world.cwd.clone();
                        world
                            .store
                            .redo(&cwd, &request)
                            .expect("it can be asked for")
                    });
                }
            }
            Act::Further { session, messages } => self.further(*session, *messages),
        }
    }
}

fn play(acts: &[Act], script: &Script) {
    let mut player = Player::new();
    for act in acts {
        script.line(format_args!("{act:?}"));
        player.act(act);
    }
}

#[test]
fn moves_of_three_sessions_have_a_way_back() {
    let days = prop::collection::vec(act(), 1..16);
    hold(60, days, |acts, script| play(acts, script));
}

/// A text that only a revert on the way brought is not held back.
#[test]
fn renamed_over_and_written_goes_further_back() {
    let acts = [
        Act::Turn(2, vec![Edit::Rename(2, 0)]),
        Act::Turn(2, vec![Edit::Write(0)]),
        Act::Turn(0, vec![Edit::Write(2)]),
        Act::Turn(2, vec![Edit::Write(0)]),
        Act::Further {
            session: 2,
            messages: (3, 1),
        },
    ];
    play(&acts, &Script::default());
}

/// A path that goes back to what another session made of it does so, though a file that was moved away from it stays.
#[test]
fn part_way_back_is_written_beside_a_rename() {
    let acts = [
        Act::Turn(1, vec![Edit::Rename(1, 4), Edit::Rename(2, 1)]),
        Act::Turn(2, vec![Edit::Append(1)]),
        Act::Turn(1, vec![Edit::Rename(1, 2)]),
        Act::Further {
            session: 1,
            messages: (1, 2),
        },
    ];
    play(&acts, &Script::default());
}

/// A text that a revert on the way brought back goes again, also where its path ends as it was before the first revert.
#[test]
fn text_brought_on_the_way_goes_again() {
    let acts = [
        Act::Turn(1, vec![Edit::Write(1)]),
        Act::Turn(1, vec![Edit::Rename(0, 3)]),
        Act::Turn(1, vec![Edit::Write(0)]),
        Act::Turn(1, vec![Edit::Delete(3)]),
        Act::Turn(2, vec![Edit::Rename(1, 0)]),
        Act::Further {
            session: 1,
            messages: (2, 0),
        },
    ];
    play(&acts, &Script::default());
}

/// A path that a session's own rename emptied, as it was before an older change, keeps what another session did in between.
#[test]
fn path_left_empty_keeps_what_came_between() {
    let acts = [
        Act::Turn(2, vec![Edit::Write(3)]),
        Act::Turn(0, vec![Edit::Rename(0, 3)]),
        Act::Turn(2, vec![Edit::Rename(3, 0)]),
        Act::Further {
            session: 2,
            messages: (2, 1),
        },
    ];
    play(&acts, &Script::default());
}

/// A revert that is asked for again, after an undo of its undo, names what it leaves.
#[test]
fn revert_done_again_names_what_stays() {
    let back = Act::Back {
        session: 0,
        message: 0,
        alone: false,
    };
    let acts = [
        Act::Turn(0, vec![Edit::Rename(2, 3)]),
        Act::Turn(1, vec![Edit::Write(2)]),
        back.clone(),
        back,
    ];
    play(&acts, &Script::default());
}

/// A revert that was asked for again at its own point is undone, and asked for once more.
#[test]
fn undone_second_try_is_tried_again() {
    let further = |session| Act::Further {
        session,
        messages: (0, 0),
    };
    let acts = [
        Act::Turn(0, vec![Edit::Write(3)]),
        Act::Turn(1, vec![Edit::Write(3)]),
        Act::Back {
            session: 0,
            message: 0,
            alone: false,
        },
        further(1),
        further(0),
    ];
    play(&acts, &Script::default());
}
