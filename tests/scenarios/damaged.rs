//! A store whose bytes were damaged: what goes is stored whole before it goes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use ckpt_schema::report::Outcome;
use testing::rows;
use testing::scenario::{World, to};

fn put(path: &PathBuf, bytes: &[u8]) {
    fs::remove_file(path).expect("it is ours");
    fs::write(path, bytes).expect("it is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o400)).expect("it is ours");
}

/// What the agent made of the file.
fn text() -> String {
    (0..40)
        .map(|line| format!("the agent's line {line}\n"))
        .collect()
}

fn after_a_step() -> World {
    let mut world = World::new();
    world.write("file", "before\n");
    world.message("m1");
    world.start_in("s1");
    world.write("file", text());
    world.finish_in("s1");
    world
}

/// What goes is stored anew where its stored bytes are damaged.
///
/// Invariant `work/way-back-first`: Whatever an operation removes or replaces is stored whole
/// first.
#[test]
fn replaced_content_is_stored_anew_if_damaged() {
    let mut world = after_a_step();
    let pack = world.packs().pop().expect("the step's");
    let sound = fs::read(&pack).expect("ours");
    // The blob of the file is the first entry: behind the header of the pack, and its own.
    for at in [15, 20, 30, 50] {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x55;
        for newer in world
            .packs()
            .iter()
            .skip_while(|other| **other != pack)
            .skip(1)
        {
            fs::remove_file(newer.with_extension("idx")).expect("it is ours");
            fs::remove_file(newer).expect("it is ours");
        }
        put(&pack, &damaged);
        world.reopen(ckpt_store::Settings::default());
        world.revert("m1");
        assert_eq!(world.read("file"), "before\n", "byte {at}: it went back");
        world.reopen(ckpt_store::Settings::default());
        world.unrevert();
        assert_eq!(world.read("file"), text(), "byte {at}: and forward again");
    }
}

/// An operation with damage anywhere gives the right bytes or changes nothing.
///
/// Invariant `work/way-back-first`.
#[test]
fn operation_with_damage_is_right_or_nothing() {
    let mut world = after_a_step();
    let pack = world.packs().pop().expect("the step's");
    let sound = fs::read(&pack).expect("ours");
    let mut reverted = 0;
    for at in (12..sound.len()).step_by(5) {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x55;
        put(&pack, &damaged);
        world.reopen(ckpt_store::Settings::default());
        if world.try_revert(&to("m1")).is_err() {
            assert_eq!(world.read("file"), text(), "byte {at}: nothing was changed");
            put(&pack, &sound);
            continue;
        }
        reverted += 1;
        assert_eq!(world.read("file"), "before\n", "byte {at}: it went back");
        world.reopen(ckpt_store::Settings::default());
        world.unrevert();
        assert_eq!(world.read("file"), text(), "byte {at}: and forward again");
    }
    assert!(reverted > 0, "what is still on the disk heals the store");
}

/// An ignore pattern out of all bounds costs no step and is told once.
#[test]
fn boundless_ignore_pattern_costs_no_step() {
    let mut world = World::git(&[("kept", "1\n")]);
    // A debug build on a busy machine takes seconds until the limit of all matches.
    world.reopen(ckpt_store::Settings {
        hook_deadline: Duration::from_secs(120),
        ..ckpt_store::Settings::default()
    });
    let deep = "some-name/".repeat(250);
    world.write(".gitignore", format!("{}\n", "**/?*".repeat(400)));
    world.write(format!("{deep}file"), "deep\n");
    world.message("m1");
    world.start_in("s1");
    world.write(format!("{deep}file"), "the agent's\n");
    world.finish_in("s1");
    world.message("m2");
    let told = world.status().latest_diagnostics;
    let told = told
        .iter()
        .filter(|told| told.message.contains("too complicated"))
        .count();
    assert_eq!(told, 1, "once, however often it is met");
    world.revert("m1");
    assert!(
        world.exists(format!("{deep}file")),
        "what cannot be decided is captured"
    );
}

/// An event goes on where the last snapshot is lost beyond healing.
///
/// Invariant `truth/damaged-last-snapshot`: If the last snapshot is lost, events are still
/// recorded, and the loss is reported.
#[test]
fn event_goes_on_without_the_last_snapshot() {
    for is_in_a_step in [false, true] {
        let mut world = World::new();
        for name in ["a/same", "b/edited", "c/lost"] {
            world.write(name, "0\n");
        }
        world.turn("m1", |world| world.write("b/edited", "1\n"));
        if is_in_a_step {
            world.start();
        }
        for pack in world.packs() {
            put(&pack, b"");
        }
        world.reopen(ckpt_store::Settings::default());
        world.write("c/lost", "1\n");
        if is_in_a_step {
            world.finish();
        }
        let report = world.message("m2");
        assert!(report.message.is_some(), "it is recorded");
        let told = world.status().latest_diagnostics;
        assert!(
            told.iter().any(|told| told.message.contains("is lost")),
            "and the loss is reported: {told:?}"
        );
        world.step(|world| {
            world.write("a/same", "2\n");
            world.write("b/edited", "2\n");
        });
        world.revert("m2");
        let read = |name| world.read(name);
        assert_eq!(
            (read("a/same"), read("b/edited"), read("c/lost")),
            ("0\n".to_owned(), "1\n".to_owned(), "1\n".to_owned()),
            "what was recorded since goes back, in whole (in a step: {is_in_a_step})"
        );
        world.unrevert();
        let before = world.tree();
        match world.try_revert(&to("m1")) {
            Err(error) => assert_eq!(world.tree(), before, "refused, and nothing done: {error}"),
            Ok(report) => {
                assert_eq!(world.read("c/lost"), "1\n", "nobody's: {report:?}");
                assert_eq!(report.outcome, Outcome::Partial, "and said: {report:?}");
            }
        }
    }
}

/// An event heals what of the last snapshot still stands in the workspace.
///
/// Invariant `truth/damaged-last-snapshot`.
#[test]
fn event_heals_the_last_snapshot() {
    let mut world = World::new();
    world.write("a/same", "0\n");
    world.write("b/edited", "0\n");
    world.turn("m1", |world| world.write("b/edited", "1\n"));
    for pack in world.packs() {
        put(&pack, b"");
    }
    world.reopen(ckpt_store::Settings::default());
    // Another look at the same finds the same; what comes next is compared with it.
    world.message("m2");
    world.step(|world| world.write("b/edited", "2\n"));
    world.revert("m2");
    assert_eq!(world.read("b/edited"), "1\n", "it is whole again");
    assert_eq!(world.read("a/same"), "0\n", "and so is the rest");
}

/// A table that is missing is damage as any other: the next event replaces the session store.
///
/// Invariant `work/rows-damaged`.
#[test]
fn next_event_heals_a_missing_table() {
    let all =
        "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA writable_schema = ON; DELETE FROM sqlite_schema";
    for (damage, is_whole) in [
        (all.to_owned(), true),
        (format!("{all} WHERE name = 'sessions'"), true),
        (format!("{all} WHERE type = 'table'"), false),
        (format!("{all} WHERE tbl_name = 'sessions'"), true),
        (format!("{all} WHERE tbl_name = 'messages'"), true),
        ("DROP TABLE steps".to_owned(), false),
        ("DROP TABLE workspaces".to_owned(), false),
    ] {
        let mut world = World::new();
        world.write("file", "0\n");
        world.turn("m1", |world| world.write("file", "1\n"));
        let database = world.base().join("store/sessions.db");
        rows::execute(&database, &damage);
        world.reopen(ckpt_store::Settings::default());
        world.turn("m2", |world| world.write("file", "2\n"));
        let aside = world.base().join("store/sessions.db.damaged-1");
        assert!(aside.exists(), "{damage}: what was there is kept");
        world.revert("m2");
        assert_eq!(world.read("file"), "1\n", "{damage}: it is recorded");
        let told = world.status().latest_diagnostics;
        let is_told = told.iter().any(|told| {
            let detail = told.detail.as_deref().unwrap_or_default();
            let is_lost = detail.contains("are lost") || detail.contains("does not show");
            told.message.contains("was damaged") && is_lost
        });
        assert_eq!(is_told, !is_whole, "{damage}: {told:#?}");
        if is_whole {
            world.revert("m1");
            assert_eq!(world.read("file"), "0\n", "{damage}: no row is lost");
        }
    }
}
