//! A damaged session store, and a second fault at the same time: an error of one call, of every call of a kind, a kill, or a full
//! disk. No row that can still be read is given up, and nothing is set aside that was not proven to be damaged.

use std::fs;
use std::path::PathBuf;

use testing::binary::Sandbox;
use testing::skip::has_strace;
use testing::strace::{Point, at_each, fail_all, fail_at, kill_at, points, sample};

use super::errors::{ERRORS, takes_room, touches_files};

const PAGE: usize = 4096;

/// What is done to the bytes of a session store.
pub type Harm = fn(&mut Vec<u8>);

/// What does harm to a session store without costing a message.
pub const HARMS: [(&str, Harm); 5] = [
    ("the first page", |bytes| bytes[..PAGE].fill(0xa5)),
    ("the first bytes", |bytes| bytes[..16].fill(0)),
    ("the version", |bytes| bytes[60] ^= 0x80),
    ("the node", |bytes| bytes[100..112].fill(0)),
    ("a page of definitions", |bytes| {
        let is_such = |page: &&mut [u8]| page.windows(13).any(|part| part == b"CREATE TABLE ");
        let page = bytes.chunks_mut(PAGE).skip(1).find(is_such);
        page.expect("they take several").fill(0);
    }),
];

fn played() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "first-prompt", |world| world.write("a", "1\n"));
    world.play("m2", "second-prompt", |world| world.write("a", "2\n"));
    // It adds the views.
    world.run(&["log"], b"").exits(0);
    world
}

pub fn harmed(harm: Harm) -> Sandbox {
    let world = played();
    let database = world.store().join("sessions.db");
    testing::rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = fs::read(&database).expect("ours");
    harm(&mut bytes);
    fs::write(&database, bytes).expect("ours");
    world
}

fn set_aside(world: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.store()).expect("ours").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".damaged-"));
    paths
}

/// After the second fault is over, the next commands have every message, in one session store.
pub fn assert_whole(world: &Sandbox, what: &str) {
    let log = world.run(&["log"], b"").exits(0);
    for prompt in ["first-prompt", "second-prompt"] {
        assert!(log.stdout.contains(prompt), "{what}: {log}");
    }
    super::assert_sound(world, what);
    let status = world.run(&["status"], b"").exits(0);
    assert!(status.stdout.contains("was damaged"), "{what}: {status}");
    let aside = set_aside(world).into_iter();
    let of_file = |path: &PathBuf| {
        !["-wal", "-shm"]
            .iter()
            .any(|end| path.to_string_lossy().ends_with(end))
    };
    assert_eq!(aside.filter(of_file).count(), 1, "{what}: it is kept, once");
    world.run(&["revert", "m2"], b"").exits(0);
    assert_eq!(world.read("a"), b"1\n", "{what}");
}

/// The calls of a command in a harmed world, for one error or kill each.
fn tasks(harm: Harm, command: &[&str], quick: usize) -> Vec<(Point, &'static str)> {
    let calls = points(&harmed(harm), command, b"").into_iter();
    let calls = calls.filter(touches_files).enumerate();
    let tasks = calls.map(|(number, point)| (point, ERRORS[number % ERRORS.len()]));
    sample(tasks.collect(), quick)
}

/// Invariant `work/rows-not-given-up`.
#[test]
fn a_second_fault_costs_no_row() {
    if !has_strace() {
        return;
    }
    for (name, harm) in HARMS {
        for command in [&["status"][..], &["doctor", "--repair"]] {
            at_each(tasks(harm, command, 6), |(point, error)| {
                let world = harmed(harm);
                let run = fail_at(&world, &point, error, command, b"");
                let what =
                    format!("{name} with {error} at {point:?} of {command:?}, which said:\n{run}");
                assert_whole(&world, &what);
            });
        }
    }
}

/// A kill while a damaged store is replaced costs no row.
///
/// Invariant `work/rows-not-given-up`.
#[test]
fn kill_during_replacement_costs_no_row() {
    if !has_strace() {
        return;
    }
    let (name, harm) = HARMS[0];
    let calls = points(&harmed(harm), &["status"], b"");
    at_each(sample(calls, 32), |point| {
        let world = harmed(harm);
        kill_at(&world, &point, &["status"], b"");
        // Who is killed after the new one is there, and before it is told, says nothing.
        let log = world.run(&["log"], b"").exits(0);
        let what = format!("{name}, killed at {point:?}: {log}");
        for prompt in ["first-prompt", "second-prompt"] {
            assert!(log.stdout.contains(prompt), "{what}");
        }
        super::assert_sound(&world, &what);
    });
}

/// Invariant `work/rows-not-given-up`.
#[test]
fn errors_that_persist_set_nothing_aside() {
    if !has_strace() {
        return;
    }
    let (name, harm) = HARMS[0];
    let calls = points(&harmed(harm), &["status"], b"");
    let mut names: Vec<String> = calls
        .into_iter()
        .filter(|point| takes_room(point) || point.0 == "pread64")
        .map(|(call, _)| call)
        .collect();
    names.sort();
    names.dedup();
    names.retain(|call| !call.starts_with("open"));
    let pairs = names.into_iter().flat_map(|call| {
        let errors = ["ENOSPC", "EIO"].into_iter();
        errors.map(move |error| (call.clone(), error))
    });
    at_each(pairs.collect(), |(call, error)| {
        let world = harmed(harm);
        let run = fail_all(&world, &call, error, &["status"]);
        let what = format!("{name} with {error} at every {call}, which said:\n{run}");
        if run.code == Some(1) && call != "write" {
            assert_eq!(set_aside(&world), [] as [PathBuf; 0], "{what}");
        }
        assert_whole(&world, &what);
    });
}

/// Invariant `work/rows-not-given-up`.
#[test]
fn error_in_a_sound_store_sets_nothing_aside() {
    if !has_strace() {
        return;
    }
    for command in [&["status"][..], &["log"], &["doctor", "--repair"]] {
        let calls = points(&played(), command, b"").into_iter();
        let calls: Vec<Point> = calls.filter(|(call, _)| call == "pread64").collect();
        at_each(sample(calls, 12), |point| {
            let world = played();
            let run = fail_at(&world, &point, "EIO", command, b"");
            let what = format!("EIO at {point:?} of {command:?}: {run}");
            assert_eq!(set_aside(&world), [] as [PathBuf; 0], "{what}");
            let log = world.run(&["log"], b"").exits(0);
            assert!(log.stdout.contains("second-prompt"), "{what}: {log}");
        });
    }
}
