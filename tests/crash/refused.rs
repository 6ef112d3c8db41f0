//! A system call that is refused each time, as by a filter for system calls or a quota: what the product does then is
//! right, or it says the truth.

use std::collections::BTreeSet;

use testing::binary::Run;
use testing::skip::has_strace;
use testing::strace::{Point, at_each, fail_from, points, sample};

use super::errors::{assert_honest, touches_files};
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
    let world = played();
    let before = world.tree();
    let tasks = refusals(&world, &REVERT, b"");
    let done = played();
    done.run(&REVERT, b"").exits(0);
    let after = done.tree();
    at_each(sample(tasks, 30), |(point, error)| {
        let world = played();
        let run = fail_from(&world, &point, error, &REVERT, b"");
        let what = format!("a revert with {error} from {point:?} on");
        assert_honest(&world, &run, &before, &after, &what);
        world.run(&REVERT, b"").exits(0);
        assert_eq!(world.tree(), after, "{what}: the next one ends it\n{run}");
    });
}

/// A hook whose system calls are refused says so.
#[test]
fn hook_with_refused_system_calls_says_so() {
    if !has_strace() {
        return;
    }
    let event = ["event", "--strict"];
    let payload = |world: &Sandbox, event: &str| {
        let cwd = world.workspace();
        serde_json::json!({"event": event, "session_id": "s", "cwd": cwd}).to_string()
    };
    let ready = || {
        let world = played();
        world
            .run(&event, payload(&world, "step_start").as_bytes())
            .exits(0);
        world.write("edited", "by the agent\n");
        world
    };
    let world = ready();
    let stdin = payload(&world, "step_finish");
    let tasks = refusals(&world, &event, stdin.as_bytes());
    at_each(sample(tasks, 30), |(point, error)| {
        let world = ready();
        let before = world.tree();
        let stdin = payload(&world, "step_finish");
        let run = fail_from(&world, &point, error, &event, stdin.as_bytes());
        let what = format!("a hook with {error} from {point:?} on");
        assert_eq!(world.tree(), before, "{what}\n{run}");
        assert!(
            run.code == Some(0) || run.code == Some(1) && !run.stderr.is_empty(),
            "{what}: a failure says why\n{run}"
        );
        // What was not seen is not taken for the user's: the file goes back, or is named.
        let back = world.run(&["revert", "--message", "last"], b"");
        let is_back = world.read("edited") != b"by the agent\n";
        // The end of the step was lost, so the agent counts as at work, and the lost event is told.
        let is_told = back.code == Some(5) && back.stderr.contains("could not be recorded");
        assert!(
            is_back || is_told || back.stdout.contains("edited") || back.code == Some(4),
            "{what}: then\n{back}"
        );
        assert_sound(&world, &what);
    });
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
