//! A system call that is refused each time, as by a filter for system calls or a quota: what the product does then is
//! right, or it says the truth.

use std::collections::BTreeSet;

use testing::binary::Run;
use testing::skip::has_strace;
use testing::strace::{Point, at_each, fail_from, points, sample};

use super::errors::{assert_honest, touches_files};
use super::forget::{self, FORGET};
use super::forward::cases;
use super::{REVERT, Sandbox, assert_sound, played};

const ERRORS: [&str; 3] = ["EPERM", "ENOSYS", "EDQUOT"];

/// The first call of each name, once the program has begun, with each of the errors.
fn refusals(world: &Sandbox, command: &[&str], stdin: &[u8]) -> Vec<(Point, &'static str)> {
    let all = points(world, command, stdin);
    let begun = all.len() / 5;
    let mut seen = BTreeSet::new();
    let calls = all.into_iter().skip(begun).filter(touches_files);
    // A `write` that is refused each time is refused to the report as well, and nothing can be said.
    let calls = calls.filter(|(name, _)| name != "write");
    let first: Vec<Point> = calls
        .filter(|(name, _)| seen.insert(name.clone()))
        .collect();
    let all = first.into_iter();
    all.flat_map(|point| ERRORS.map(|error| (point.clone(), error)))
        .collect()
}

#[test]
fn a_system_call_refused_each_time_is_told() {
    if !has_strace() {
        return;
    }
    for case in cases() {
        let (before, after) = case.trees();
        let tasks = refusals(&(case.ready)(), case.command, b"");
        at_each(sample(tasks, 30), |(point, error)| {
            let world = (case.ready)();
            let run = fail_from(&world, &point, error, case.command, b"");
            let what = format!("{} with {error} from {point:?} on", case.name);
            assert_honest(&world, &run, &before, &after, &what);
            let again = world.run(case.again, b"");
            let what = format!("{what}, which said\n{run}\nand then\n{again}");
            assert_eq!(again.code, Some(0), "{what}");
            case.assert_ended(&world, &before, &after, &what);
        });
    }
}

/// A command that changes no file of the workspace ends at once when system calls are refused, and says why; the next
/// one does what it could not.
#[test]
fn upkeep_with_refused_system_calls_says_so() {
    if !has_strace() {
        return;
    }
    let commands = [&["snapshot"][..], &["gc"], &FORGET];
    for command in commands {
        let tasks = refusals(&forget::ready(), command, b"");
        at_each(sample(tasks, 30), |(point, error)| {
            let world = forget::ready();
            let before = world.tree();
            let run = fail_from(&world, &point, error, command, b"");
            let what = format!("{command:?} with {error} from {point:?} on");
            assert_eq!(world.tree(), before, "{what}\n{run}");
            let is_told = run.stdout.len() + run.stderr.len() > 0;
            assert!(
                matches!(run.code, Some(0 | 1 | 3)) && is_told,
                "{what}\n{run}"
            );
            let again = world.run(command, b"");
            // What is forgotten already is not found again.
            assert!(matches!(again.code, Some(0 | 4)), "{what}: then\n{again}");
            let is_forgotten = !forget::is_anywhere(&world);
            assert_eq!(is_forgotten, command == FORGET, "{what}, which said\n{run}");
            assert_sound(&world, &what);
            world.run(&["revert", "--message", "m1"], b"").exits(0);
            assert_eq!(world.read("a"), b"0\n", "{what}, which said\n{run}");
        });
    }
}

/// An event of a turn in which a file is edited by the agent's shell, of which all before are told.
fn until(event: &str) -> Sandbox {
    let world = played();
    for before in EVENTS {
        if before == event {
            break;
        }
        let run = world.run(&["event", "--strict"], payload(&world, before).as_bytes());
        run.exits(0);
        if before == "tool_start" {
            world.write("edited", "by the agent\n");
        }
    }
    world
}

/// The events of a turn.
const EVENTS: [&str; 6] = [
    "user_message",
    "step_start",
    "tool_start",
    "tool_finish",
    "step_finish",
    "turn_end",
];

fn payload(world: &Sandbox, event: &str) -> String {
    let cwd = world.workspace();
    serde_json::json!({
        "event": event,
        "session_id": "s",
        "cwd": cwd,
        "message_id": "m2",
        "tool_name": "Bash",
        "tool_use_id": "t1",
    })
    .to_string()
}

/// A hook whose system calls are refused says so.
#[test]
fn hook_with_refused_system_calls_says_so() {
    if !has_strace() {
        return;
    }
    let strict = ["event", "--strict"];
    for event in EVENTS {
        let world = until(event);
        let tasks = refusals(&world, &strict, payload(&world, event).as_bytes());
        at_each(sample(tasks, 18), |(point, error)| {
            let world = until(event);
            let stdin = payload(&world, event);
            let before = world.tree();
            let run = fail_from(&world, &point, error, &strict, stdin.as_bytes());
            let what = format!("`{event}` with {error} from {point:?} on");
            assert_eq!(world.tree(), before, "{what}\n{run}");
            assert!(
                run.code == Some(0) || run.code == Some(1) && !run.stderr.is_empty(),
                "{what}: a failure says why\n{run}"
            );
            // The agent goes on, and its later events arrive.
            let rest = EVENTS.into_iter().skip_while(|one| *one != event).skip(1);
            for one in rest.filter(|_| event != "step_finish") {
                if one == "tool_finish" {
                    world.write("edited", "by the agent\n");
                }
                let stdin = payload(&world, one);
                world.run(&["event"], stdin.as_bytes()).exits(0);
            }
            // What was not seen is not taken for the user's: the file goes back, or is named.
            let back = world.run(&["revert", "--message", "last"], b"");
            let is_back = world.read("edited") != b"by the agent\n";
            // The end of the step was lost, so the agent counts as at work, and the lost event is told.
            let is_told = back.code == Some(5) && back.stderr.contains("could not be recorded");
            assert!(
                is_back || is_told || back.stdout.contains("edited") || back.code == Some(4),
                "{what}: then\n{back}\nand had said\n{run}"
            );
            assert_sound(&world, &what);
        });
    }
}

/// Returns what a revert says in which every call of a name is refused.
fn refused(name: &str, error: &str) -> (Sandbox, Run) {
    let world = played();
    let point = (name.to_owned(), 1);
    let run = fail_from(&world, &point, error, &REVERT, b"");
    (world, run)
}

/// A call that a filter does not know is done without.
///
/// As a filter of an old container runtime does, which does not know the call.
#[test]
fn unknown_system_call_is_done_without() {
    if !has_strace() {
        return;
    }
    let done = played();
    done.run(&REVERT, b"").exits(0);
    for name in ["faccessat2", "renameat2", "openat2"] {
        for error in ["EPERM", "ENOSYS"] {
            let (world, run) = refused(name, error);
            assert_eq!(run.code, Some(0), "{name} with {error}: {run}");
            assert_eq!(world.tree(), done.tree(), "{name} with {error}: {run}");
        }
    }
}

#[test]
fn an_exceeded_quota_is_called_one() {
    if !has_strace() {
        return;
    }
    let (world, run) = refused("pwrite64", "EDQUOT");
    assert_eq!(run.code, Some(1), "nothing was changed: {run}");
    assert!(run.stderr.contains("quota"), "{run}");
    world.run(&REVERT, b"").exits(0);
}
