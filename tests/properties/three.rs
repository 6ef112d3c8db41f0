//! Three sessions that each edit lines of their own in a few files, and go back and forward in any order: each line is as its
//! session's position says, whatever the others did. What an undo takes back, another undo brings again.

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::RedoRequest;
use proptest::prelude::*;

use crate::hold::hold;
use testing::scenario::{World, wait_ms};

const SESSIONS: [&str; 3] = ["A", "B", "C"];
const FILES: [&str; 3] = ["f", "g", "d/h"];
/// The lines of a file, and of them those of a session.
const LINES: usize = 15;
const OWN: usize = 3;

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A message of a session, in which it edits one of its lines.
    Edit {
        session: usize,
        file: usize,
        line: usize,
        to: u8,
    },
    /// Back or forward to one of the session's messages, counted round and round; the last is the end.
    Go { session: usize, message: usize },
    /// One message forward.
    Redo { session: usize },
    /// Takes back the last operation, and that undo, too.
    UndoTwice,
}

fn act() -> impl Strategy<Value = Act> {
    let session = 0..SESSIONS.len();
    let edit = (session.clone(), 0..FILES.len(), 0..OWN, 0..5u8);
    prop_oneof![
        6 => edit.prop_map(|(session, file, line, to)| Act::Edit { session, file, line, to }),
        5 => (session.clone(), 0..6usize).prop_map(|(session, message)| Act::Go { session, message }),
        1 => session.prop_map(|session| Act::Redo { session }),
        2 => Just(Act::UndoTwice),
    ]
}

/// A session's edits: the message, and the file, line and text that it wrote.
#[derive(Clone, Debug, Default)]
struct Session {
    edits: Vec<(String, usize, usize, u8)>,
    /// How many of them are in force.
    position: usize,
}

struct Model {
    world: World,
    sessions: Vec<Session>,
    sent: usize,
    last: Option<String>,
}

impl Model {
    fn new() -> Self {
        let mut world = World::new();
        let text: String = (0..LINES).map(|line| format!("{line}\n")).collect();
        for file in FILES {
            world.write(file, &text);
        }
        world.capture();
        let sessions = vec![Session::default(); SESSIONS.len()];
        Self {
            world,
            sessions,
            sent: 0,
            last: None,
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Edit {
                session,
                file,
                line,
                to,
            } => self.edit(session, file, line, to),
            Act::Go { session, message } => self.go(session, message),
            Act::Redo { session } => self.redo(session),
            Act::UndoTwice => self.undo_twice(),
        }
    }

    /// The lines of a file, as the positions of all sessions say.
    fn wanted(&self, file: usize) -> Vec<String> {
        let mut lines: Vec<String> = (0..LINES).map(|line| line.to_string()).collect();
        for session in &self.sessions {
            for (_, edited, line, to) in &session.edits[..session.position] {
                if *edited == file {
                    lines[*line] = format!("{line} {to}");
                }
            }
        }
        lines
    }

    fn assert(&self, what: &str) {
        for (file, name) in FILES.iter().enumerate() {
            let found = self.world.read(name);
            let found: Vec<&str> = found.lines().collect();
            assert_eq!(found, self.wanted(file), "{what}: {name}");
        }
    }

    fn edit(&mut self, session: usize, file: usize, line: usize, to: u8) {
        let own = &mut self.sessions[session];
        // A message makes the session's reverts permanent.
        own.edits.truncate(own.position);
        self.sent += 1;
        let message = format!("m{}", self.sent);
        // Two lines between those of any two sessions.
        let line = session * (OWN + 3) + line;
        own.edits.push((message.clone(), file, line, to));
        own.position = own.edits.len();
        let text: String = self
            .wanted(file)
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        self.world.turn_in(SESSIONS[session], &message, |world| {
            world.write(FILES[file], text)
        });
        wait_ms(60_000);
        self.assert("after an edit");
    }

    fn go(&mut self, session: usize, message: usize) {
        let own = &self.sessions[session];
        if own.edits.is_empty() {
            return;
        }
        let position = message % (own.edits.len() + 1);
        let report = match own.edits.get(position) {
            Some((message, ..)) => self.world.revert(&message.clone()),
            None => self.forward(session, true),
        };
        self.sessions[session].position = position;
        self.done(&report);
    }

    fn redo(&mut self, session: usize) {
        let own = &self.sessions[session];
        if own.position == own.edits.len() {
            return;
        }
        let report = self.forward(session, false);
        self.sessions[session].position += 1;
        self.done(&report);
    }

    fn forward(&mut self, session: usize, all: bool) -> OperationReport {
        let request = RedoRequest {
            session: Some(SESSIONS[session].to_owned()),
            all,
            ..RedoRequest::default()
        };
        let cwd = self.world.cwd.clone();
        self.world
            .store
            .redo(&cwd, &request)
            .expect("it can be asked for")
    }

    fn done(&mut self, report: &OperationReport) {
        let is_whole = matches!(report.outcome, Outcome::Restored | Outcome::Nothing);
        assert!(
            is_whole,
            "lines of different sessions never conflict: {report:#?}"
        );
        self.assert("after a move");
        self.last = report.operation.clone();
    }

    fn undo_twice(&mut self) {
        let Some(last) = self.last.clone() else {
            return;
        };
        let before = self.world.tree();
        let undone = self.world.undo(&last);
        // A move that changed no file and no point is none.
        let Some(id) = undone.operation.clone() else {
            return;
        };
        let again = self.world.undo(&id);
        assert!(
            self.world.tree() == before,
            "an undo of an undo: {undone:#?} {again:#?}"
        );
        self.assert("after an undo of an undo");
        self.last = again.operation;
    }
}

/// Invariant `truth/order-of-sessions`: The order in which sessions go back does not matter
/// where they changed different lines.
#[test]
fn the_order_of_sessions_does_not_matter() {
    hold(100, prop::collection::vec(act(), 1..14), |acts, script| {
        let mut model = Model::new();
        for act in acts {
            script.line(format_args!("{act:?}"));
            model.act(*act);
        }
    });
}
