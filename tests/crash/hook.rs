//! A hook that is killed, or in which a system call fails: the workspace is untouched, the agent hears nothing of it, and the next
//! event records what it should have, or it is told that it was not.

use serde_json::json;

use testing::skip::has_strace;

use super::errors::{ERRORS, takes_room, touches_files};
use super::{Sandbox, assert_sound, played};
use testing::strace::{Point, at_each, fail_at, kill_at, points, sample};

/// The events of a turn. The step changes something before its end.
const TURN: [&str; 4] = ["user_message", "step_start", "step_finish", "turn_end"];

/// A message of which the events before one came.
fn before(event: &str) -> Sandbox {
    let world = played();
    for done in TURN.iter().take_while(|done| **done != event) {
        send(&world, done);
    }
    world
}

/// Sends an event of the turn, after what happens before it.
pub fn send(world: &Sandbox, event: &str) {
    works(world, event);
    world
        .event(json!({"event": event, "session_id": "s", "message_id": "m2"}))
        .ends_silently();
}

/// Does what the agent does before an event.
fn works(world: &Sandbox, event: &str) {
    if event == "step_finish" {
        world.write("edited", "second\n");
        world.write("new", "second\n");
    }
}

/// A message whose step changed something, and is not finished.
pub fn at_work() -> Sandbox {
    let world = before("step_finish");
    works(&world, "step_finish");
    world
}

fn payload(world: &Sandbox, event: &str) -> String {
    let cwd = world.workspace();
    json!({"event": event, "session_id": "s", "message_id": "m2", "cwd": cwd}).to_string()
}

/// The event that finishes it.
pub fn finish_of(world: &Sandbox) -> String {
    payload(world, "step_finish")
}

/// What is so after the next event.
pub fn assert_recorded(world: &Sandbox, what: &str) {
    let before = world.tree();
    send(world, "turn_end");
    assert_sound(world, what);
    world.run(&["revert", "--message", "m2"], b"").exits(0);
    assert_eq!(
        world.read("edited"),
        b"one\n2\n",
        "{what}: the step was recorded all the same"
    );
    assert!(!world.workspace().join("new").exists(), "{what}: all of it");
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.tree(), before, "{what}: and there is a way back");
}

/// The same once the turn has ended, of which an event could not write its rows: then it is said what was not recorded, and what
/// the next look saw of it is kept as unclear. Where nobody knows what event it was, `doctor` says that a hook failed.
pub fn assert_recorded_or_told(world: &Sandbox, what: &str) {
    assert_sound(world, what);
    let run = world.run(&["revert", "--message", "m2"], b"");
    let is_told = format!("{}{}", run.stdout, run.stderr).contains("not recorded");
    // A later look saw what the step had changed, and nobody knows who changed it in between.
    let is_unclear = run.stdout.contains("edited (unclear whose");
    let expected: &[u8] = match run.code {
        Some(0) => b"one\n2\n",
        Some(3) if is_told && is_unclear => b"second\n",
        Some(3) if is_told => b"one\n2\n",
        Some(4) if is_told || is_told_by_doctor(world) => b"second\n",
        _ => panic!("{what}: {run}"),
    };
    assert_eq!(world.read("edited"), expected, "{what}: {run}");
}

fn is_told_by_doctor(world: &Sandbox) -> bool {
    let doctor = world.run(&["doctor"], b"");
    let mut lines = doctor.stdout.lines();
    lines.any(|line| line.starts_with("! hooks: ") || line.starts_with("! log file "))
}

#[test]
fn after_a_killed_hook_the_next_snapshot_works() {
    if !has_strace() {
        return;
    }
    let first = at_work();
    let all = points(&first, &["event"], finish_of(&first).as_bytes());
    at_each(sample(all, 60), |point| {
        let world = at_work();
        let before = world.tree();
        kill_at(&world, &point, &["event"], finish_of(&world).as_bytes());
        let what = format!("killed at {point:?}");
        assert_eq!(
            world.tree(),
            before,
            "{what}: a hook does not act on the workspace"
        );
        assert_recorded(&world, &what);
    });
}

/// The errors to try at each call of an event: those of a full disk where there can be one, the others in turns.
fn errors_at(points: Vec<Point>) -> Vec<(Point, &'static str)> {
    let mut tasks = Vec::new();
    for (number, point) in points.into_iter().filter(touches_files).enumerate() {
        let mut errors = vec![ERRORS[number % ERRORS.len()]];
        if takes_room(&point) {
            errors.extend(["ENOSPC", "EDQUOT"]);
        }
        errors.sort_unstable();
        errors.dedup();
        // A sample has some of each.
        let places = errors.len();
        errors.rotate_left(number % places);
        tasks.extend(errors.into_iter().map(|error| (point.clone(), error)));
    }
    tasks
}

/// A hook in which a call fails is silent and the step is recorded or told of.
///
/// Invariant `truth/lost-turn`.
#[test]
fn hook_with_a_failing_call_is_silent() {
    if !has_strace() {
        return;
    }
    for (number, event) in TURN.into_iter().enumerate() {
        let ready = || {
            let world = before(event);
            works(&world, event);
            world
        };
        let first = ready();
        let all = points(&first, &["event"], payload(&first, event).as_bytes());
        at_each(sample(errors_at(all), 16), |(point, error)| {
            let world = ready();
            let before = world.tree();
            let payload = payload(&world, event);
            let run = fail_at(&world, &point, error, &["event"], payload.as_bytes());
            let what = format!("{event} with {error} at {point:?}");
            assert_eq!(world.tree(), before, "{what}: it only reads");
            let rest = &TURN[number + 1..];
            rest.iter().for_each(|event| send(&world, event));
            // The loader could not read a library: it never began, and nobody knows of the event.
            if run.stderr.contains("shared libraries") {
                return assert_sound(&world, &what);
            }
            let is_silent = run.stdout.is_empty() && run.stderr.is_empty();
            assert!(run.code == Some(0) && is_silent, "{what}: {run}");
            assert_recorded_or_told(&world, &what);
        });
    }
}
