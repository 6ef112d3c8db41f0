//! Two agents and a user at one table: every order of what they do, and then a command. Nobody's work goes without its name.

use ckpt_schema::report::{FileResult, NoteCode, OperationReport};
use ckpt_store::{Error, ErrorKind, RestoreRequest, UndoRequest};

use testing::scenario::{World, to};

/// What happens at the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happens {
    /// A session gets a message, and its step begins.
    Begins(usize),
    /// A session writes, and its step ends.
    Ends(usize),
    /// The user writes.
    User,
}

use Happens::{Begins, Ends, User};

const SESSIONS: [&str; 2] = ["A", "B"];
const USER: usize = 2;
const NAMES: [&str; 3] = ["A", "B", "user"];

/// Returns every order of the events, in which a step begins before it ends.
fn orders() -> Vec<Vec<Happens>> {
    let mut all = vec![Vec::new()];
    for _ in 0..5 {
        let longer = |order: &Vec<Happens>| {
            let next = [Begins(0), Ends(0), Begins(1), Ends(1), User].into_iter();
            let order = order.clone();
            let may_follow = move |next: &Happens| {
                let has_begun = match next {
                    Ends(session) => order.contains(&Begins(*session)),
                    Begins(_) | User => true,
                };
                has_begun && !order.contains(next)
            };
            next.filter(may_follow).collect::<Vec<_>>()
        };
        all = all
            .iter()
            .flat_map(|order| {
                let with = |next| [order.clone(), vec![next]].concat();
                longer(order).into_iter().map(with).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// Writes a file of one's own, and a line of one's own in the file of all.
fn write(world: &World, who: usize) {
    world.write(NAMES[who], "work\n");
    let all = world.read("shared");
    let lines = all.lines().enumerate().map(|(number, line)| {
        let own = number == who * 4 + 1;
        format!("{}\n", if own { NAMES[who] } else { line })
    });
    world.write("shared", lines.collect::<String>());
}

/// Returns whose work is there: in the files of their own, and in the file of all.
fn work(world: &World) -> Vec<(usize, &'static str)> {
    let shared = match world.exists("shared") {
        true => world.read("shared"),
        false => String::new(),
    };
    let has_line = |name: &str| shared.lines().any(|line| line == name);
    let mut all = Vec::new();
    for (who, name) in NAMES.into_iter().enumerate() {
        all.extend(world.exists(name).then_some((who, name)));
        all.extend(has_line(name).then_some((who, "shared")));
    }
    all
}

/// Returns whether anything of one happened while a step of another session was open.
fn overlaps(order: &[Happens], who: usize, session: usize) -> bool {
    let at = |what: Happens| order.iter().position(|it| *it == what);
    let end_of = |session: usize| at(Ends(session)).unwrap_or(order.len());
    let begin_of = |session: usize| at(Begins(session)).unwrap_or(order.len());
    match who {
        USER => at(User).is_some_and(|at| begin_of(session) < at && at < end_of(session)),
        who => begin_of(session) < end_of(who) && begin_of(who) < end_of(session),
    }
}

/// A command of the user's.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// Goes back to just before the message of a session.
    Revert(usize),
    /// Puts everything back to just before the message of a session.
    Restore(usize),
}

fn carry_out(world: &mut World, asked: Asked) -> Result<OperationReport, Error> {
    let cwd = world.cwd.clone();
    match asked {
        Asked::Revert(session) => world.try_revert(&to(SESSIONS[session])),
        Asked::Restore(session) => {
            let request = RestoreRequest {
                id: SESSIONS[session].to_owned(),
                ..RestoreRequest::default()
            };
            world.store.restore(&cwd, &request)
        }
    }
}

fn table(order: &[Happens]) -> World {
    let mut world = World::new();
    world.write("shared", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    for happens in order {
        match *happens {
            Begins(session) => {
                world.message_in(SESSIONS[session], SESSIONS[session]);
                world.start_in(SESSIONS[session]);
            }
            Ends(session) => {
                write(&world, session);
                world.finish_in(SESSIONS[session]);
            }
            User => write(&world, USER),
        }
    }
    world
}

/// Holds what the user is promised of one command after one order of events.
fn hold(order: &[Happens], asked: Asked) {
    let mut world = table(order);
    let (before, tree) = (work(&world), world.tree());
    let open: Vec<usize> = (0..SESSIONS.len())
        .filter(|session| order.contains(&Begins(*session)) && !order.contains(&Ends(*session)))
        .collect();
    let (Asked::Revert(of) | Asked::Restore(of)) = asked;
    let report = match carry_out(&mut world, asked) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Busy, "{order:?} {asked:?}: {error}");
            assert!(!open.is_empty(), "{order:?} {asked:?}: no agent is at work");
            assert_eq!(world.tree(), tree, "{order:?} {asked:?}: nothing changed");
            return;
        }
    };
    let told = || format!("{order:?} {asked:?}: {before:?}: {report:#?}");
    let is_at_work = report.remarks.iter().any(|it| it.code == NoteCode::AtWork);
    let has_changed = world.tree() != tree;
    assert!(!has_changed || open.is_empty() || is_at_work, "{}", told());
    let after = work(&world);
    for (who, path) in before.iter().filter(|it| !after.contains(it)) {
        let mut files = report.files.iter();
        let named = files.any(|it| it.path.path == *path && it.result == FileResult::Done);
        assert!(named, "what goes is named: {}", told());
        // A restore goes to one state, whoever changed what since. Only what is surely the user's stays.
        let is_unsure = (0..SESSIONS.len()).any(|session| overlaps(order, USER, session));
        let may_go = match asked {
            Asked::Revert(_) => *who == of || overlaps(order, *who, of),
            Asked::Restore(_) => *who != USER || is_unsure,
        };
        assert!(may_go, "{} loses {path}: {}", NAMES[*who], told());
    }
    if let Some(operation) = report.operation.as_deref() {
        let cwd = world.cwd.clone();
        let request = UndoRequest {
            operation: operation.to_owned(),
            ..UndoRequest::default()
        };
        match world.store.undo(&cwd, &request) {
            Ok(_) => assert_eq!(world.tree(), tree, "and comes back: {order:?} {asked:?}"),
            Err(error) => assert_eq!(error.kind, ErrorKind::Busy, "{order:?} {asked:?}: {error}"),
        }
    }
}

/// In each order of events, a command takes what it is asked for, names it, and brings it back.
#[test]
fn every_order_keeps_what_was_not_asked_for() {
    let orders = orders();
    assert_eq!(orders.len(), 30);
    for order in &orders {
        for session in 0..SESSIONS.len() {
            for asked in [Asked::Revert(session), Asked::Restore(session)] {
                hold(order, asked);
            }
        }
        // The last one is still at work.
        if let Some((Ends(open), begun)) = order.split_last() {
            hold(begun, Asked::Revert(1 - open));
            hold(begun, Asked::Restore(1 - open));
        }
    }
}
