//! A store on a file server: without what processes can share only on one machine, and all else as on a disk.

use std::process::Stdio;

use serde_json::json;
use testing::binary::Sandbox;
use testing::rows;
use testing::skip::has_strace;
use testing::tree::files_below;

/// What `doctor` and `status` say of it.
const SERVED: &str = "the store is on a network file system";

/// How the session store keeps a transaction whole.
fn journal(world: &Sandbox) -> String {
    rows::texts(&world.store().join("sessions.db"), "PRAGMA journal_mode").remove(0)
}

/// Whether anything is beside the session store.
fn has_beside(world: &Sandbox) -> bool {
    ["-wal", "-shm", "-journal"]
        .iter()
        .any(|ending| world.store().join(format!("sessions.db{ending}")).exists())
}

fn is_in_a_file(world: &Sandbox, text: &str) -> bool {
    files_below(&world.store()).iter().any(|path| {
        let bytes = std::fs::read(path).expect("ours");
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    })
}

/// A store on a file server has no log and does what any other does.
///
/// Invariant `work/network-file-system`: On a network file system, the session store shares no
/// memory between processes, loses no row on the way there and back, and is said to be there.
#[test]
fn store_on_a_file_server_has_no_log() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.serve();
    world.write("a", "0\n");
    for number in 1..4 {
        world.play(&format!("m{number}"), "it says hunter2", |world| {
            world.write("a", format!("{number}\n"));
            assert_eq!(journal(world), "delete", "from the first event on");
            assert!(!has_beside(world), "nothing is shared, nothing is left");
        });
    }
    for (command, expected) in [
        (&["revert", "m2"][..], "1\n"),
        (&["redo"], "2\n"),
        (&["unrevert"], "3\n"),
        (&["revert", "m3"], "2\n"),
        (&["undo"], "3\n"),
        (&["label", "m2", "tests pass"], "3\n"),
        (&["gc"], "3\n"),
        (&["restore", "m1"], "0\n"),
        (&["undo"], "3\n"),
        (&["forget", "--message", "m1", "--yes"], "3\n"),
        (&["revert", "m3"], "2\n"),
    ] {
        world.run(command, b"").exits(0);
        let found = String::from_utf8(world.read("a")).expect("text");
        assert_eq!(found, expected, "{command:?}");
        assert!(!has_beside(&world), "{command:?}");
    }
    let log = world.run(&["log"], b"").exits(0);
    assert!(log.stdout.contains("tests pass"), "{log}");
    world
        .run(&["forget", "--session", "s", "--yes"], b"")
        .exits(0);
    assert!(!is_in_a_file(&world, "hunter2"), "no prompt is left");
    let doctor = world.run(&["doctor", "--all"], b"").exits(0);
    assert_eq!(doctor.stdout.matches(SERVED).count(), 1, "{doctor}");
    let status = world.run(&["status"], b"").exits(0);
    assert_eq!(status.stdout.matches(SERVED).count(), 1, "{status}");
    assert!(!status.stdout.contains("went wrong"), "{status}");
}

/// A store that is moved to a file server and back keeps every row.
///
/// Invariant `work/network-file-system`.
#[test]
fn store_keeps_every_row_across_file_servers() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("a", "1\n"));
    let log = world.store().join("sessions.db-wal");
    assert!(
        log.metadata().is_ok_and(|log| log.len() > 0),
        "rows are in the log alone"
    );
    let status = world.run(&["status"], b"").exits(0);
    assert!(!status.stdout.contains(SERVED), "not yet: {status}");
    let doctor = world.run(&["doctor"], b"").exits(0);
    assert!(!doctor.stdout.contains(SERVED), "not yet: {doctor}");
    let messages = || {
        let log = world.json(&["log"]);
        log["messages"].as_array().expect("a list").len()
    };
    world.serve();
    assert_eq!(messages(), 1, "who only reads finds all of them");
    assert_eq!(journal(&world), "delete");
    assert!(!has_beside(&world), "the log was moved into the file");
    world.play("m2", "second", |world| world.write("a", "2\n"));
    world.unserve();
    assert_eq!(messages(), 2);
    assert_eq!(journal(&world), "wal", "and back");
    world.run(&["revert", "m1"], b"").exits(0);
    assert!(!world.workspace().join("a").exists());
}

/// A log that a process still uses stays for all until that ends.
///
/// Invariant `work/network-file-system`.
#[test]
fn used_log_stays_until_its_process_ends() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("a", "1\n"));
    world.serve();
    rows::while_open(&world.store().join("sessions.db"), || {
        world.play("m2", "second", |world| world.write("a", "2\n"));
        assert_eq!(journal(&world), "wal");
    });
    world.play("m3", "third", |world| world.write("a", "3\n"));
    assert_eq!(journal(&world), "delete");
    let log = world.json(&["log"]);
    let log = log["messages"].as_array().expect("a list");
    assert_eq!(log.len(), 3, "each found what the others wrote: {log:?}");
    assert_eq!(world.json(&["status"])["diagnostics"], 1, "that it is so");
}

/// Many at once on a file server wait for each other and lose nothing.
///
/// Invariant `work/network-file-system`.
#[test]
fn many_on_a_file_server_lose_nothing() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.serve();
    let spawn = |number: usize| {
        let session = format!("s{number}");
        let message = [
            "message",
            "--strict",
            "--session",
            &session,
            "--message",
            "m",
            "--prompt",
            "go",
        ];
        let read = ["log"];
        let mut command = match number % 3 {
            2 => world.command(&read),
            _ => world.command(&message),
        };
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    };
    // The first ones make the store.
    for _ in 0..2 {
        let children: Vec<_> = (0..9).map(spawn).collect();
        for child in children {
            let output = child.wait_with_output().expect("it ends");
            assert!(
                output.status.success(),
                "all succeed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    let log = world.json(&["log"]);
    let sessions = log["messages"].as_array().expect("a list");
    assert_eq!(sessions.len(), 6, "no row is lost: {log}");
    world
        .event(json!({"event": "turn_end", "session_id": "s0"}))
        .ends_silently();
    world.run(&["doctor", "--all"], b"").exits(0);
}
