//! The power goes on a disk that writes in any order what it was not told to sync: of an operation, of a step, and of upkeep.
//!
//! Unlike `power`, which needs a file system of its own, this is a model of one ([`testing::disk`]), and it knows less than any.

use serde_json::json;

use testing::binary::{Sandbox, finish};
use testing::disk::Record;
use testing::skip::has_strace;
use testing::strace;
use testing::tree::Tree;

use super::forward::{CASES, Case};
use super::{assert_sound, assert_whole, played};

/// What of what was not synced is on the disk, in 256ths: nothing, some, most, all.
const CHANCES: [u64; 4] = [0, 128, 230, 256];

/// How many cuts are tried of each command.
fn cuts() -> usize {
    if std::env::var_os("CKPT_FULL").is_some() {
        400
    } else {
        12
    }
}

/// Runs a command, and returns what it did to the workspace and the store.
fn record(world: &Sandbox, command: &[&str], stdin: &[u8]) -> Record {
    let mut record = Record::begin(&[world.workspace(), world.store()]);
    let trace = world.path("trace");
    let calls = "trace=%file,%desc,sync";
    let options = ["-y", "-xx", "-s", "4194304", "-e", calls, "-o"];
    let options = [&options[..], &[trace.to_str().expect("a plain path")]].concat();
    finish(&mut strace::command(world, &options, command), stdin).exits(0);
    let trace = std::fs::read_to_string(trace).expect("the trace");
    record.read(&trace);
    record
}

/// Does something after each of some cuts.
fn each_cut(record: &Record, act: impl Fn(&str)) {
    let step = (record.cuts() / cuts()).max(1);
    for (number, after) in (0..record.cuts()).rev().step_by(step).enumerate() {
        let chance = CHANCES[number % CHANCES.len()];
        record.cut(after, chance, number as u64);
        act(&format!(
            "cut after {after} of {}, with {chance} of 256 of what was not synced",
            record.cuts()
        ));
    }
}

fn assert_operation_survives(case: &Case) {
    let (before, after) = case.trees();
    let world = (case.ready)();
    let record = record(&world, case.command, b"");
    each_cut(&record, |what| {
        let what = format!("{}: {what}", case.name);
        assert_whole(&world, &before, &after, &what);
        world.run(case.again, b"").exits(0);
        case.assert_ended(&world, &before, &after, &what);
    });
}

/// An operation on a disk that writes in any order is ended by the next command.
///
/// Invariant `work/crash-power`.
#[test]
fn reordered_operation_is_ended_next() {
    if has_strace() {
        for case in &CASES {
            assert_operation_survives(case);
        }
    }
}

/// Everything goes back, as far as it was recorded, and comes again.
fn assert_recorded(world: &Sandbox, agent: &Tree, what: &str) {
    assert_sound(world, what);
    let found = world.tree();
    assert_eq!(
        &found, agent,
        "{what}: a hook does not act on the workspace"
    );
    let revert = world.json(&["revert", "m1"]);
    let outcome = revert["outcome"].as_str();
    assert!(
        matches!(outcome, Some("restored" | "partial" | "nothing")),
        "{what}: no row names what is not there: {revert}"
    );
    world.run(&["unrevert"], b"");
    assert_eq!(&world.tree(), agent, "{what}: and back to the byte");
}

/// A step on a disk that writes in any order leaves no row without its objects.
///
/// Invariant `work/crash-power`.
#[test]
fn reordered_step_has_all_its_objects() {
    if !has_strace() {
        return;
    }
    let world = played();
    let event = |event: &str| {
        json!({"event": event, "session_id": "s", "message_id": "m2", "cwd": world.workspace()})
            .to_string()
    };
    for name in ["user_message", "step_start"] {
        world
            .run(&["event"], event(name).as_bytes())
            .ends_silently();
    }
    world.write("edited", "second\n");
    world.write("new", "of the second message\n");
    let agent = world.tree();
    let record = record(&world, &["event"], event("step_finish").as_bytes());
    each_cut(&record, |what| {
        world
            .event(json!({"event": "turn_end", "session_id": "s"}))
            .ends_silently();
        assert_recorded(&world, &agent, what);
    });
}

/// Gc on a disk that writes in any order loses nothing that is needed.
///
/// Invariant `work/crash-power`.
#[test]
fn reordered_gc_loses_nothing() {
    if !has_strace() {
        return;
    }
    let world = played();
    let agent = world.tree();
    let record = record(&world, &["gc"], b"");
    each_cut(&record, |what| {
        assert_recorded(&world, &agent, what);
        world.run(&["gc"], b"").exits(0);
        assert_sound(&world, what);
    });
}
