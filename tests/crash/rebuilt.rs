//! A `doctor --repair` that is killed, or fails, while it makes the snapshots of a lost session store known again: the next one does it.

use std::fs;

use testing::binary::Sandbox;
use testing::skip::has_strace;
use testing::strace::{Point, at_each, fail_at, kill_at, points, sample};

use crate::{played, points_that_write};

const REPAIR: [&str; 2] = ["doctor", "--repair"];

/// The store of a session of which the session store is gone, with the trees of its snapshots, the newest first.
fn lost() -> (Sandbox, Vec<String>) {
    let world = played();
    let trees = trees(&world);
    for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
        let _ = fs::remove_file(world.store().join(name));
    }
    (world, trees)
}

fn trees(world: &Sandbox) -> Vec<String> {
    let report = world.json(&["log", "--snapshots"]);
    let all = report["snapshots"].as_array().expect("a list").iter();
    all.map(|one| one["snapshot"].as_str().expect("a text").to_owned())
        .collect()
}

/// Breaks the repair at each of some points: the next one ends it, with every snapshot once.
fn broken_at_each(points: Vec<Point>, act: impl Fn(&Sandbox, &Point) + Sync) {
    at_each(points, |point| {
        let (world, expected) = lost();
        act(&world, &point);
        let run = world.run(&REPAIR, b"").exits(0);
        assert_eq!(trees(&world), expected, "at {point:?}: {run}");
        let oldest = expected.last().expect("one");
        // Whose each state is went with the rows.
        let all = ["restore", oldest, "--on-conflict", "overwrite"];
        world.run(&all, b"").exits(0);
        assert_eq!(world.read("edited"), b"one\ntwo\n", "at {point:?}");
    });
}

/// A repair of a lost session store that is killed is ended by the next one.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn killed_recovery_of_rows_is_ended_next() {
    if !has_strace() {
        return;
    }
    let all = points(&lost().0, &REPAIR, b"");
    broken_at_each(sample(all, 40), |world, point| {
        kill_at(world, point, &REPAIR, b"")
    });
}

/// A repair of a lost session store in which a call fails is ended by the next one.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn failing_recovery_of_rows_is_ended_next() {
    if !has_strace() {
        return;
    }
    let all = points_that_write(&lost().0, &REPAIR);
    broken_at_each(sample(all, 40), |world, point| {
        let _ = fail_at(world, point, "ENOSPC", &REPAIR, b"");
    });
}
