//! Stores of older and of newer binaries: the one is migrated once and whole, the other is left alone. The migration is one
//! that only a test's binary has.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ckpt_schema::migration::VERSION;
use serde_json::json;

use testing::binary::{Sandbox, finish, next_binary};
use testing::rows::{damage, execute, put_older_build, texts, values, version, while_open};
use testing::skip::is_debug_build;

const READ: [&str; 2] = ["sessions", "--everywhere"];

/// A store of this version, and a world in which the next version takes it over.
fn old() -> (Sandbox, PathBuf) {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "of the older one", |world| world.write("a", "1\n"));
    world.upgrade(next_binary(&world.path("")));
    let database = world.store().join("sessions.db");
    (world, database)
}

/// A store of an older version is migrated with every row.
#[test]
fn older_versions_store_is_migrated_with_every_row() {
    if !is_debug_build() {
        return;
    }
    let (world, database) = old();
    let before = values(&database);
    let sessions = world.json(&READ);
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "it reads as it did: {sessions}"
    );
    assert_eq!(version(&database), VERSION + 1, "it is this binary's now");
    assert_eq!(values(&database), before, "every value is there");
    assert_eq!(damage(&database), [] as [&str; 0], "and it is sound");
    let copy = world.store().join(format!("sessions.db.version-{VERSION}"));
    let mode = copy.metadata().expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it has the prompts in it");
    assert_eq!(
        version(&copy),
        VERSION,
        "an older binary could go on with it"
    );
    assert_eq!(values(&copy), before, "every value");
    assert_eq!(damage(&copy), [] as [&str; 0], "it is whole");
}

/// Processes that meet an old store at once migrate it once.
///
/// Invariant `work/migration`.
#[test]
fn processes_migrate_an_old_store_once() {
    if !is_debug_build() {
        return;
    }
    let (world, database) = old();
    let before = values(&database);
    run_at_once(&world);
    assert_eq!(version(&database), VERSION + 1, "it is migrated");
    assert_eq!(values(&database), before, "and nothing twice");
    let copy = world.store().join(format!("sessions.db.version-{VERSION}"));
    assert_eq!(
        version(&copy),
        VERSION,
        "nobody copied what another had migrated"
    );
}

/// Runs eight readers at once, each of which succeeds.
fn run_at_once(world: &Sandbox) {
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
}

/// A store of an unreleased build is set aside.
///
/// The builds before the first release counted other migrations.
///
/// Invariant `work/older-build`: A session store of a build before the first release is set aside whole, and said so.
#[test]
fn unreleased_builds_store_is_set_aside() {
    let world = Sandbox::new();
    put_older_build(&world.store());
    let store = std::fs::canonicalize(world.store()).expect("it is there");
    let database = store.join("sessions.db");
    let before = values(&database);
    let run = world.run(&READ, b"").exits(0);
    let place = store.join("sessions.db.older-1");
    let said = format!(
        "an older build of ckpt-hook, which this one does not read, is set aside as `{}`",
        place.display()
    );
    assert!(run.stderr.contains(&said), "it is said: {run}");
    let doctor = world.run(&["doctor", "--all"], b"");
    assert!(
        doctor.stdout.contains("older-1"),
        "and can be found: {doctor}"
    );
    for kept in [place, store.join("sessions.db.older-1.backup-3")] {
        assert_eq!(values(&kept), before, "not a row is lost");
        let mode = kept.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "nor is a prompt shown");
    }
    assert_eq!(version(&database), VERSION, "a new one is begun");
    for beside in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(store.join(format!("sessions.db{beside}")));
    }
    std::fs::write(&database, "no database").expect("ours");
    let log = world.run(&["log"], b"").exits(0);
    for both in ["sessions.db.older-1`", "sessions.db.damaged-1`"] {
        assert!(log.stdout.contains(both), "each has its way out: {log}");
    }
    world.write("a", "0\n");
    world.play("m1", "of this build", |world| world.write("a", "1\n"));
    world
        .run(&["-q", "revert", "--message", "m1"], b"")
        .exits(0);
    assert_eq!(world.read("a"), b"0\n", "and it records");
}

/// Hooks that meet an unreleased build's store at once set it aside once.
#[test]
fn hooks_set_an_unreleased_store_aside_once() {
    let world = Sandbox::new();
    put_older_build(&world.store());
    run_at_once(&world);
    assert!(!world.store().join("sessions.db.older-2").exists());
    assert_eq!(values(&world.store().join("sessions.db.older-1")).len(), 1);
}

/// An unreleased build's store that is in use stays.
///
/// What is not in the file yet would be lost with a rename.
///
/// Invariant `work/older-build`.
#[test]
fn unreleased_store_in_use_stays() {
    let world = Sandbox::new();
    put_older_build(&world.store());
    let database = world.store().join("sessions.db");
    while_open(&database, || {
        execute(&database, "INSERT INTO messages VALUES ('in the log')");
        let run = world.run(&READ, b"").exits(1);
        assert!(
            run.stderr.contains("end the programs of the older build"),
            "it says what to do: {run}"
        );
    });
    world.run(&READ, b"").exits(0);
    assert_eq!(values(&world.store().join("sessions.db.older-1")).len(), 2);
}

/// Sends the events of a turn, which a hook of any version ends in silence.
fn turn(world: &Sandbox, session: &str, round: usize) {
    let message = format!("{session}-{round}");
    for event in ["user_message", "step_start", "step_finish", "turn_end"] {
        let event = json!({"event": event, "session_id": session, "message_id": message, "prompt": message});
        world.event(event).ends_silently();
        if message.len() % 2 == 0 {
            world.write(session, &message);
        }
    }
}

/// The rows that this version writes, in words.
fn rows_of(database: &Path) -> Vec<String> {
    let tables = ["messages", "steps", "snapshots", "changes"];
    let count = |table: &str| texts(database, &format!("SELECT CAST(id AS TEXT) FROM {table}"));
    tables.iter().flat_map(|table| count(table)).collect()
}

/// Hooks of an older binary go on in silence while a newer one migrates the store.
///
/// Invariant `truth/older-binary`.
#[test]
fn older_hooks_are_silent_beside_a_migration() {
    if !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    let newer = next_binary(&world.path(""));
    turn(&world, "first", 0);
    let database = world.store().join("sessions.db");
    let written = std::thread::scope(|scope| {
        for number in 0..4 {
            let world = &world;
            scope.spawn(move || (0..6).for_each(|round| turn(world, &format!("s{number}"), round)));
        }
        let at_work = "SELECT id FROM messages WHERE agent_id LIKE 's%'";
        while texts(&database, at_work).len() < 4 {
            std::thread::yield_now();
        }
        finish(&mut world.command_by(&newer, &READ), b"").exits(0);
        assert_eq!(version(&database), VERSION + 1, "it is the newer one's");
        rows_of(&database)
    });
    assert_eq!(
        rows_of(&database),
        written,
        "no row of an older kind comes after it"
    );
    assert_eq!(damage(&database), [] as [&str; 0], "it is sound");
    let log = std::fs::read_to_string(world.store().join("log")).expect("what it could not do");
    assert!(log.contains("newer ckpt-hook"), "the hooks say why: {log}");
    // They are upgraded, too.
    world.upgrade(newer);
    turn(&world, "last", 0);
    world.run(&["doctor", "--all"], b"").exits(0);
    let log = world.json(&["log", "--limit", "100"]);
    assert!(
        log["messages"].as_array().is_some_and(|all| all.len() > 2),
        "what was recorded stays, and it goes on: {log}"
    );
}

/// The older of two binaries refuses what the newer one migrated and changes nothing.
///
/// Invariant `truth/older-binary`.
#[test]
fn older_binary_changes_nothing_after_a_migration() {
    if !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    let newer = next_binary(&world.path(""));
    let by_newer =
        |arguments: &[&str]| finish(&mut world.command_by(&newer, arguments), b"").exits(0);
    world.write("a", "0\n");
    world.play("m1", "of the older one", |world| world.write("a", "1\n"));
    let database = world.store().join("sessions.db");
    let before = rows_of(&database);
    by_newer(&READ);
    assert_eq!(version(&database), VERSION + 1, "it is migrated");
    assert_eq!(rows_of(&database), before, "with every row");
    let copy = world.store().join(format!("sessions.db.version-{VERSION}"));
    assert_eq!(version(&copy), VERSION, "the older one could go on with it");
    let bytes = || {
        let read = |name| std::fs::read(world.store().join(name)).unwrap_or_default();
        ["sessions.db", "sessions.db-wal"].map(read)
    };
    let migrated = bytes();
    for command in [
        &READ[..],
        &["log"],
        &["status"],
        &["gc"],
        &["forget", "--message", "m1", "--yes"],
        &["revert", "--message", "m1"],
    ] {
        let run = world.run(command, b"").exits(1);
        assert!(
            run.stderr.contains("was written by a newer ckpt-hook")
                && run.stderr.contains("hint: upgrade this ckpt-hook"),
            "it says why, and what to do: {run}"
        );
    }
    turn(&world, "of-the-older-one", 0);
    assert!(bytes() == migrated, "not a byte is another one");
    assert_eq!(world.read("a"), b"1\n", "nor is a file");
    by_newer(&["-q", "revert", "--message", "m1"]);
    assert_eq!(world.read("a"), b"0\n", "the newer one goes back");
    by_newer(&["-q", "unrevert"]);
    assert_eq!(world.read("a"), b"1\n", "and forward");
}

/// An older binary refuses a newer store politely and changes nothing.
#[test]
fn older_binary_refuses_a_newer_store() {
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
