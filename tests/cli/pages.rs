//! Pages of the session store that are damaged: what can be read of the others is in a new one, and the event that meets them is recorded.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use testing::binary::Sandbox;

use super::rebuilt::{lose_the_session_store, played};

/// SQLite's page size, which is also ours.
const PAGE: usize = 4096;

/// Removes what repairs left, and puts the session store back.
pub fn put_back(world: &Sandbox, bytes: &[u8]) {
    lose_the_session_store(world);
    let database = world.store().join("sessions.db");
    fs::write(&database, bytes).expect("ours");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o600)).expect("ours");
}

/// Whatever page of the session store is lost every table that is whole is saved or offered.
///
/// Invariant `work/rows-damaged`.
#[test]
fn lost_page_costs_no_whole_table() {
    let world = played();
    // A person's first command adds the views.
    world.run(&["log"], b"").exits(0);
    let database = world.store().join("sessions.db");
    testing::rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = fs::read(&database).expect("ours");
    let pages = whole.len() / PAGE;
    let (mut saved, mut definitions) = (0, 0);
    for page in 0..pages {
        let lost = String::from_utf8_lossy(&whole[page * PAGE..][..PAGE]);
        let has_definitions = page == 0 || lost.contains("CREATE ");
        definitions += usize::from(has_definitions);
        let mut bytes = whole.clone();
        bytes[page * PAGE..][..PAGE].fill(0);
        put_back(&world, &bytes);
        let repair = world.run(&["doctor", "--repair"], b"");
        let log = world.run(&["log"], b"").exits(0);
        let unfinished = world.store().join("sessions.db.repaired");
        assert!(!unfinished.exists(), "page {page}: {repair}");
        if log.stdout.contains("first-prompt") && log.stdout.contains("second-prompt") {
            saved += 1;
            continue;
        }
        assert!(
            !has_definitions,
            "page {page}: the tables are whole: {repair}"
        );
        let told = ["are lost", "can be read", "is lost"];
        assert!(
            told.iter().any(|text| repair.stdout.contains(text)),
            "page {page} is lost, and nobody says so: {repair} {log}"
        );
        // Messages whose rows are lost, but of which others tell, are there without their prompts.
        let shown = ["sessions.db.damaged-1", "-prompt", "2 messages"];
        assert!(
            shown.iter().any(|text| log.stdout.contains(text)),
            "page {page}: {repair} {log}"
        );
        let aside = fs::read(world.store().join("sessions.db.damaged-1"));
        let aside = aside.expect("nothing is deleted");
        assert_eq!(
            aside[PAGE..],
            bytes[PAGE..],
            "page {page}: every byte of it"
        );
    }
    assert!(
        definitions > 5 && saved > pages / 2,
        "{saved} of {pages} pages cost no message"
    );
}

/// An event that meets a damaged page is recorded once by the same call.
///
/// It may meet it before a look, in it, or where it writes.
///
/// Invariant `truth/event-once`: An event that meets a damaged page is recorded once, by the
/// same call, after the session store was replaced.
#[test]
fn event_at_a_damaged_page_is_recorded_once() {
    let world = played();
    let database = world.store().join("sessions.db");
    testing::rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = fs::read(&database).expect("ours");
    let mut replaced = 0;
    for page in 0..whole.len() / PAGE {
        let mut bytes = whole.clone();
        bytes[page * PAGE..][..PAGE].fill(0);
        put_back(&world, &bytes);
        let message = serde_json::json!({"event": "user_message", "session_id": "s", "prompt": "third-prompt"});
        world.event(message).ends_silently();
        replaced += usize::from(world.store().join("sessions.db.damaged-1").exists());
        // A page that this event had no need of stays damaged until then.
        world.run(&["doctor", "--repair"], b"");
        let log = world.run(&["log"], b"").exits(0);
        let found = log.stdout.matches("third-prompt").count();
        assert_eq!(found, 1, "page {page}: {log}");
        let doctor = world.run(&["doctor"], b"");
        for text in ["could not be recorded", "a hook was killed"] {
            assert!(!doctor.stdout.contains(text), "page {page}: {doctor}");
        }
    }
    assert!(replaced > 10, "many pages are read: {replaced}");
}

/// What does harm to the bytes of a session store.
type Harm = fn(&mut [u8]);

/// What does harm to the first page, and where.
const HARMS: [(&str, Harm); 9] = [
    ("nothing of it is left", |page| page[..PAGE].fill(0xa5)),
    ("the first bytes", |page| page[..16].fill(0)),
    ("the size of what is reserved", |page| page[20] ^= 1),
    ("the format of the tables", |page| page[47] ^= 0x55),
    ("the encoding", |page| page[59] ^= 3),
    ("the version, negative", |page| page[60] ^= 0x80),
    ("the version, none", |page| page[60..64].fill(0)),
    ("the name of the program", |page| page[68] ^= 1),
    ("the node", |page| page[100..112].fill(0)),
];

/// A damaged first page of the session store costs nothing whoever comes first.
///
/// Invariant `work/rows-first-page`: Damaged definitions of the session store, its first page
/// among them, cost no row: a copy is read with those of a backup or of a new store, if what is
/// left of its own, or its indexes, show that they are the same.
#[test]
fn damaged_first_page_costs_nothing() {
    for (what, harm) in HARMS {
        for (is_hook, has_log) in [(true, true), (true, false), (false, false)] {
            first_page_harmed(what, harm, is_hook, has_log);
        }
    }
}

fn first_page_harmed(what: &str, harm: Harm, is_hook: bool, has_log: bool) {
    let what = format!("{what}, a hook first: {is_hook}, a log: {has_log}");
    let world = played();
    let database = world.store().join("sessions.db");
    if !has_log {
        testing::rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    }
    let mut bytes = fs::read(&database).expect("ours");
    harm(&mut bytes);
    fs::write(&database, &bytes).expect("ours");
    if is_hook {
        let message = serde_json::json!({"event": "user_message", "session_id": "s", "prompt": "third-prompt"});
        world.event(message).ends_silently();
    }
    let repair = world.run(&["doctor", "--repair"], b"").exits(0);
    let log = world.run(&["log"], b"").exits(0);
    for prompt in ["first-prompt", "second-prompt"] {
        assert!(log.stdout.contains(prompt), "{what}: {repair} {log}");
    }
    let is_recorded = log.stdout.contains("third-prompt");
    assert_eq!(is_recorded, is_hook, "{what}: by the call that met it");
    let doctor = world.run(&["doctor"], b"").exits(0);
    assert!(
        doctor
            .stdout
            .contains("the session store was damaged and is set aside")
            || repair.stdout.contains("the session store was damaged: "),
        "{what}: {repair} {doctor}"
    );
    let aside = fs::read(world.store().join("sessions.db.damaged-1"));
    let aside = aside.expect("nothing is deleted");
    assert_eq!(aside.len(), bytes.len(), "{what}");
    let revert = world.run(&["revert", "m2"], b"").exits(0);
    assert!(!revert.stdout.contains("lost"), "{what}: {revert}");
    assert_eq!(world.read("private"), b"0\n", "{what}");
}
