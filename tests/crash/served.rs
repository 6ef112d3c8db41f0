//! A store on a file server, which has a rollback journal instead of a log: killed at system calls, the next command finds every row.

use testing::binary::Sandbox;
use testing::skip::has_strace;
use testing::strace::{at_each, fail_at, kill_at, points, sample};

use super::assert_whole;
use super::errors::{ERRORS, touches_files};
use super::forward::cases;
use super::hook::{assert_recorded, assert_recorded_or_told, at_work, finish_of, send};

/// The same workspace, whose store comes to be on a file server: what opens it next moves its log into it. If `is_moved`, that is
/// done.
fn served(ready: impl FnOnce() -> Sandbox, is_moved: bool) -> Sandbox {
    let world = ready();
    world.serve();
    if is_moved {
        world.run(&["status"], b"").exits(0);
    }
    world
}

/// An operation that is killed on a file server is ended by the next command.
///
/// Invariant `work/network-file-system`.
#[test]
fn killed_operation_on_a_file_server_is_ended() {
    if !has_strace() {
        return;
    }
    for case in cases().filter(|case| ["revert", "undo"].contains(&case.name)) {
        let (before, after) = case.trees();
        for is_moved in [false, true] {
            let ready = || served(case.ready, is_moved);
            let all = points(&ready(), case.command, b"");
            at_each(sample(all, 12), |point| {
                let world = ready();
                kill_at(&world, &point, case.command, b"");
                let what = format!("{} killed at {point:?}, {is_moved}", case.name);
                assert_whole(&world, &before, &after, &what);
                world.run(case.again, b"").exits(0);
                case.assert_ended(&world, &before, &after, &what);
            });
        }
    }
}

/// After a hook that is killed on a file server the next one records.
///
/// Invariant `work/network-file-system`.
#[test]
fn killed_hook_on_a_file_server_is_followed() {
    if !has_strace() {
        return;
    }
    for is_moved in [false, true] {
        let ready = || served(at_work, is_moved);
        let first = ready();
        let all = points(&first, &["event"], finish_of(&first).as_bytes());
        at_each(sample(all, 20), |point| {
            let world = ready();
            kill_at(&world, &point, &["event"], finish_of(&world).as_bytes());
            assert_recorded(&world, &format!("killed at {point:?}, {is_moved}"));
        });
    }
}

/// A hook in which a call fails on a file server is silent and the step is recorded or told of.
#[test]
fn failing_hook_on_a_file_server_is_silent() {
    if !has_strace() {
        return;
    }
    for is_moved in [false, true] {
        let ready = || served(at_work, is_moved);
        let first = ready();
        let mut all = points(&first, &["event"], finish_of(&first).as_bytes());
        all.retain(touches_files);
        let tasks = sample(all, 20).into_iter().enumerate().collect();
        at_each(tasks, |(number, point)| {
            let world = ready();
            let error = ERRORS[number % ERRORS.len()];
            let payload = finish_of(&world);
            let run = fail_at(&world, &point, error, &["event"], payload.as_bytes());
            let what = format!("{error} at {point:?}, {is_moved}");
            // The loader could not read a library: it never began.
            let is_begun = !run.stderr.contains("shared libraries");
            assert!(
                !is_begun || (run.code == Some(0) && run.stderr.is_empty()),
                "{what}: {run}"
            );
            send(&world, "turn_end");
            assert_recorded_or_told(&world, &what);
        });
    }
}
