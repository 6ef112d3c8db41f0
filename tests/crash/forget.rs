//! `forget` killed on its way: the next one, or `gc`, ends it, and the bytes are nowhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use testing::binary::Sandbox;
use testing::rows;
use testing::skip::has_strace;
use testing::strace::{at_each, kill_at, points, sample};
use testing::tree::files_below;

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

fn has_secret(bytes: &[u8]) -> bool {
    bytes
        .windows(SECRET.len())
        .any(|window| window == SECRET.as_bytes())
}

pub fn is_anywhere(world: &Sandbox) -> bool {
    let is_raw = files_below(&world.store())
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

/// Puts the session store of before in the place of the one that is there, with a page of it damaged.
fn put_back_damaged(world: &Sandbox, before: &Path) {
    let database = world.store().join("sessions.db");
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(world.store().join(format!("sessions.db{ending}")));
    }
    let root = "SELECT CAST(rootpage AS TEXT) FROM sqlite_schema WHERE name = 'hook_runs'";
    let page: usize = rows::texts(before, root)[0].parse().expect("a number");
    let mut bytes = fs::read(before).expect("ours");
    bytes[(page - 1) * 4096..page * 4096].fill(0xa5);
    fs::write(database, bytes).expect("ours");
}

fn is_in_a_file(world: &Sandbox, text: &str) -> bool {
    let has_text = |path: &PathBuf| {
        let bytes = fs::read(path).expect("ours");
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    files_below(&world.store()).iter().any(has_text)
}

/// Whether a killed command left a note in the folder of its workspace. One in which nothing stands yet says nothing, and
/// no row was changed before it was written; that a workspace goes is said by the file alone.
fn is_noted(world: &Sandbox, name: &str) -> bool {
    let folders = fs::read_dir(world.store().join("snapshots")).into_iter();
    let mut folders = folders.flatten().flatten();
    folders.any(|folder| {
        let note = folder.path().join(name).metadata();
        note.is_ok_and(|note| name == "going" || note.len() > 0)
    })
}

#[test]
fn what_a_killed_forget_began_to_take_does_not_come_back_with_the_rows_of_a_damaged_session_store()
{
    if !has_strace() {
        return;
    }
    let message = ["forget", "--message", "m1", "--yes"];
    let workspace = ["forget", "--workspace", "--yes"];
    let cases: [(&[&str], &str); 3] = [
        (&FORGET, "forgetting"),
        (&message, "forgetting"),
        (&workspace, "going"),
    ];
    for (command, note) in cases {
        let begun = AtomicUsize::new(0);
        let all = points(&ready(), command, b"");
        at_each(sample(all, 16), |point| {
            let world = ready();
            let before = world.path("before.db");
            let copy = format!("VACUUM INTO '{}'", before.display());
            rows::execute(&world.store().join("sessions.db"), &copy);
            kill_at(&world, &point, command, b"");
            let is_begun = is_noted(&world, note);
            if !is_begun && !is_anywhere(&world) {
                // It had ended: the former rows are nowhere, and cannot come back.
                return;
            }
            put_back_damaged(&world, &before);
            let what = format!("{command:?} killed at {point:?}");
            let run = world.run(&["doctor", "--repair"], b"").exits(0);
            assert!(
                run.stdout.contains("session store was damaged"),
                "{what}: {run}"
            );
            assert_eq!(
                run.stdout.contains("a killed `forget` or `gc` had begun"),
                is_begun,
                "{what}: it is said: {run}"
            );
            if !is_begun {
                return;
            }
            begun.fetch_add(1, Ordering::SeqCst);
            let log = world.run(&["log"], b"");
            assert!(
                command[1] == "--path" || !log.stdout.contains("make it work"),
                "{what}: no prompt is back: {log}"
            );
            // What is damaged is not removed with a workspace alone: it is the only copy of others' rows.
            fs::remove_file(world.store().join("sessions.db.damaged-1")).expect("it is aside");
            world.run(&["gc"], b"").exits(0);
            assert!(!is_anywhere(&world), "{what}: the bytes are nowhere");
            assert!(
                command[1] == "--path" || !is_in_a_file(&world, "make it work"),
                "{what}: nor is the prompt"
            );
            super::assert_sound(&world, &what);
        });
        assert!(begun.into_inner() > 0, "some had begun: {command:?}");
    }
}
