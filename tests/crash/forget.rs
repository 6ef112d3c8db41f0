//! `forget` killed on its way: the next one, or `gc`, ends it, and the bytes are nowhere.

use std::fs;
use std::path::{Path, PathBuf};

use testing::binary::Sandbox;
use testing::skip::has_strace;
use testing::strace::{at_each, kill_at, points, sample};

pub const SECRET: &str = "hunter2-hunter2";
const FORGET: [&str; 4] = ["forget", "--path", "key", "--yes"];

fn ready() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| {
        world.write("a", "1\n");
        world.write("key", format!("{SECRET}\n"));
    });
    world.play("m2", "once more", |world| {
        world.write("a", "2\n");
        world.remove("key");
    });
    world
}

pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn has_secret(bytes: &[u8]) -> bool {
    bytes
        .windows(SECRET.len())
        .any(|window| window == SECRET.as_bytes())
}

pub fn is_anywhere(world: &Sandbox) -> bool {
    let is_raw = files(&world.store())
        .iter()
        .any(|path| has_secret(&fs::read(path).expect("ours")));
    let folders = fs::read_dir(world.store().join("snapshots")).expect("it is there");
    is_raw
        || folders.flatten().any(|folder| {
            let repository = folder.path().join("repository.git");
            let directory = format!("--git-dir={}", repository.display());
            let all = ["cat-file", "--batch-all-objects", "--batch"];
            let output = world
                .git_command(&[&[&*directory][..], &all].concat())
                .output();
            let output = output.expect("git starts");
            assert!(output.status.success(), "every object is whole");
            has_secret(&output.stdout)
        })
}

#[test]
fn a_forget_that_is_killed_is_ended_by_the_next_command() {
    if !has_strace() {
        return;
    }
    let all = points(&ready(), &FORGET, b"");
    let points = sample(all, 24).into_iter().enumerate().collect();
    at_each(points, |(number, point)| {
        let world = ready();
        assert!(is_anywhere(&world), "it was stored");
        kill_at(&world, &point, &FORGET, b"");
        let what = format!("killed at {point:?}");
        super::assert_sound(&world, &what);
        // Where rows were forgotten already, there is nothing left to be named, and `gc` ends it.
        let plan = world.run(&["forget", "--path", "key", "--dry-run"], b"");
        let is_forgotten = !plan.stdout.contains("  key\n");
        if is_forgotten && number % 2 == 0 {
            world.run(&["gc"], b"").exits(0);
        } else {
            let run = world.run(&FORGET, b"");
            assert!(matches!(run.code, Some(0 | 4)), "{what}: {run}");
        }
        assert!(!is_anywhere(&world), "{what}: the bytes are nowhere");
        super::assert_sound(&world, &what);
        world.run(&["revert", "m2"], b"");
        assert_eq!(world.read("a"), b"1\n", "{what}: the rest goes back");
    });
}

#[test]
fn what_a_killed_forget_began_to_take_is_not_known_again_where_the_session_store_is_lost_then() {
    if !has_strace() {
        return;
    }
    let all = points(&ready(), &FORGET, b"");
    at_each(sample(all, 30), |point| {
        let world = ready();
        kill_at(&world, &point, &FORGET, b"");
        let plan = world.run(&["forget", "--path", "key", "--dry-run"], b"");
        let is_forgotten = !plan.stdout.contains("  key\n");
        for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
            let _ = fs::remove_file(world.store().join(name));
        }
        world.run(&["doctor", "--repair"], b"").exits(0);
        world.run(&["gc"], b"").exits(0);
        let what = format!("killed at {point:?}");
        assert!(
            !is_forgotten || !is_anywhere(&world),
            "{what}: nothing is back"
        );
        super::assert_sound(&world, &what);
        let report = world.json(&["log", "--snapshots"]);
        let known = report["snapshots"].as_array().expect("a list");
        let oldest = known.last().expect("it is known again")["snapshot"].as_str();
        world
            .run(&["restore", oldest.expect("an id")], b"")
            .exits(0);
        assert_eq!(world.read("a"), b"0\n", "{what}: and the rest is there");
    });
}
