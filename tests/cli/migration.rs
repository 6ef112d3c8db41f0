//! Stores of older and of newer binaries: the one is migrated once and whole, the other is left alone.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use ckpt_schema::migration::VERSION;
use serde_json::json;

use testing::binary::Sandbox;
use testing::rows::{damage, execute, put_version_2, texts, values_of_version_2, version};

fn old() -> (Sandbox, PathBuf) {
    let world = Sandbox::new();
    put_version_2(&world.store());
    let database = world.store().join("sessions.db");
    (world, database)
}

const READ: [&str; 2] = ["sessions", "--everywhere"];

#[test]
fn a_store_of_an_older_binary_is_migrated_with_every_row() {
    let (world, database) = old();
    let before = values_of_version_2(&database);
    let sessions = world.json(&READ);
    let ids: Vec<_> = sessions["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|session| &session["agent_id"])
        .collect();
    assert_eq!(ids, ["s2", "s1"], "it reads as it did: {sessions}");
    assert_eq!(version(&database), VERSION, "it is this binary's now");
    assert_eq!(
        values_of_version_2(&database),
        before,
        "every value is there"
    );
    assert_eq!(damage(&database), [] as [&str; 0], "and it is sound");
    let labels = texts(&database, "SELECT text FROM labels");
    assert_eq!(labels, ["before the release"], "what has moved, too");
}

#[test]
fn the_store_as_it_was_is_kept_beside_it_for_its_owner_alone() {
    let (world, database) = old();
    let before = values_of_version_2(&database);
    world.run(&READ, b"").exits(0);
    let copy = world.store().join("sessions.db.version-2");
    let mode = copy.metadata().expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it has the prompts in it");
    assert_eq!(version(&copy), 2, "an older binary could go on with it");
    assert_eq!(values_of_version_2(&copy), before, "every value");
    assert_eq!(damage(&copy), [] as [&str; 0], "it is whole");
}

#[test]
fn processes_that_meet_an_old_store_at_once_migrate_it_once() {
    let (world, database) = old();
    let before = values_of_version_2(&database);
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = world.command(&READ);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(
            output.status.success(),
            "each waits for the one: {output:?}"
        );
    }
    assert_eq!(version(&database), VERSION, "it is migrated");
    assert_eq!(values_of_version_2(&database), before, "and nothing twice");
    let copy = world.store().join("sessions.db.version-2");
    assert_eq!(version(&copy), 2, "nobody copied what another had migrated");
}

#[test]
fn an_older_binary_refuses_a_newer_store_politely_and_changes_nothing() {
    let world = Sandbox::new();
    world
        .event(json!({"event": "user_message", "session_id": "s", "message_id": "m"}))
        .ends_silently();
    let database = world.store().join("sessions.db");
    // As a binary of the next version leaves it: what this one does not know is in it, and it says so.
    let future = format!(
        "CREATE TABLE of_the_future (x);
         UPDATE meta SET value = {0}; PRAGMA user_version = {0}; PRAGMA wal_checkpoint(TRUNCATE)",
        VERSION + 1
    );
    execute(&database, &future);
    let before = std::fs::read(&database).expect("readable");
    for command in [
        &READ[..],
        &["log"],
        &["status"],
        &["revert", "--message", "m"],
    ] {
        let run = world.run(command, b"").exits(1);
        assert!(
            run.stderr.contains("was written by a newer ckpt-hook")
                && run.stderr.contains("hint: upgrade this ckpt-hook"),
            "it says why, and what to do: {run}"
        );
    }
    world
        .event(json!({"event": "step_start", "session_id": "s"}))
        .ends_silently();
    assert_eq!(
        std::fs::read(&database).expect("readable"),
        before,
        "not a byte is another one"
    );
    let log = std::fs::read_to_string(world.store().join("log")).expect("what it could not do");
    assert!(
        log.contains("newer ckpt-hook"),
        "the hook tells the log: {log}"
    );
}
