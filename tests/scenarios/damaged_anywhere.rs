//! A byte of a small store is damaged, wherever it stands: what is asked for then gives the right bytes, or says what it does not.
//!
//! Every few bytes of every file by default, every byte with `CKPT_FULL` (`just crash`).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use ckpt_store::Settings;

use testing::scenario::{World, to};

/// How many bytes of a file are damaged by default.
const FEW: usize = 5;
/// How many with `CKPT_FULL`: every byte of all but the database, of which most bytes are zeroes that nothing stands in.
const MANY: usize = 4096;

/// A workspace in which one message changed a file, made one and removed one, and a second one edited the first again.
fn story() -> World {
    let mut world = World::new();
    world.write("edited", "0\n");
    world.write("removed", "0\n");
    world.write("d/same", "0\n");
    world.turn("m1", |world| {
        world.write("edited", "1\n");
        world.write("made", "1\n");
        world.remove("removed");
    });
    world.turn("m2", |world| world.write("edited", "2\n"));
    world
}

/// The files of the store that hold something, below its directory.
fn files(store: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut rest = vec![store.to_owned()];
    while let Some(directory) = rest.pop() {
        for entry in fs::read_dir(directory).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                rest.push(path);
            } else if path.metadata().expect("there").len() > 0 {
                files.push(path.strip_prefix(store).expect("below").to_owned());
            }
        }
    }
    files.sort();
    files
}

/// Names of files hold checksums and ids: what stays of one is its kind and its place among those of that kind.
fn by_kind(store: &Path) -> BTreeMap<(String, usize), PathBuf> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_kind = BTreeMap::new();
    for file in files(store) {
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let kind = match name.strip_prefix("pack-") {
            Some(name) => name.rsplit('.').next().unwrap_or_default().to_owned(),
            None => name,
        };
        let number = kinds.entry(kind.clone()).or_default();
        by_kind.insert((kind, *number), file);
        *number += 1;
    }
    by_kind
}

/// Flips bits of a byte in place, so that no directory tells of it.
fn damage(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("ours");
    let at = at.min(bytes.len() - 1);
    bytes[at] ^= 0x55;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("ours");
    fs::write(path, bytes).expect("ours");
}

type Tree = BTreeMap<String, String>;

fn tree(world: &World) -> Tree {
    let names = ["edited", "removed", "made", "d/same", "third"];
    let there = names.into_iter().filter(|name| world.exists(name));
    there
        .map(|name| (name.to_owned(), world.read(name)))
        .collect()
}

/// Checks a revert: all is as expected, or what is not is named; an error has changed nothing.
fn check(
    world: &mut World,
    message: &str,
    expected: &Tree,
    what: &dyn std::fmt::Debug,
) -> Option<OperationReport> {
    let before = tree(world);
    // What was recorded of a step may be lost with its objects, so a difference may have no reason that anybody knows.
    let cwd = world.cwd.clone();
    match world.store.revert(&cwd, &to(message)) {
        Err(error) => {
            let says = error.with_causes();
            assert!(!says.is_empty(), "{what:?}: it says what is lost");
            assert_eq!(tree(world), before, "{what:?}: {says}: nothing is changed");
            None
        }
        Ok(report) => {
            let after = tree(world);
            let names = after.keys().chain(expected.keys());
            let in_receipt = |name: &String| {
                let mut differences = report
                    .receipt
                    .iter()
                    .flat_map(|receipt| &receipt.differences);
                report.outcome == Outcome::Partial
                    && differences.any(|difference| difference.path.path == *name)
            };
            for name in names.filter(|name| after.get(*name) != expected.get(*name)) {
                let is_named = report
                    .files
                    .iter()
                    .any(|file| file.path.path == *name && file.result != FileResult::Done);
                assert!(
                    is_named || in_receipt(name) || !report.notes.is_empty(),
                    "{what:?}: `{name}` did not go back, and nothing is said of it: {report:?}"
                );
                // Whoever's it is, it is what it was: nothing that the store made up.
                assert_eq!(
                    after.get(name),
                    before.get(name),
                    "{what:?}: `{name}` is something else: {report:?}"
                );
            }
            Some(report)
        }
    }
}

/// Damages one byte; the next message works or fails with an error, and a revert to it and to the first one is right or says why.
fn one(kind: &(String, usize), at: usize, is_warm: bool) {
    let what = (kind, at, if is_warm { "warm" } else { "cold" });
    let world = story();
    let store = world.base().join("store");
    let files = by_kind(&store);
    let Some(file) = files.get(kind) else {
        return;
    };
    damage(&store.join(file), at);
    if !is_warm {
        let is_cache = |file: &&PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("cache") && *file != files.get(kind).expect("it is there")
        };
        for cache in files.values().filter(is_cache) {
            fs::remove_file(store.join(cache)).expect("ours");
        }
    }
    let Some(mut world) = reopened(world) else {
        return;
    };
    let before_m3 = tree(&world);
    let message = Event {
        message_id: Some("m3".to_owned()),
        prompt: Some("please".to_owned()),
        ..world.event(EventKind::UserMessage, "s1")
    };
    let is_recorded = world.store.record(&message).is_ok();
    let start = world.event(EventKind::StepStart, "s1");
    let is_recorded = world.store.record(&start).is_ok() && is_recorded;
    world.write("edited", "3\n");
    world.write("third", "3\n");
    let finish = world.event(EventKind::StepFinish, "s1");
    let is_recorded = world.store.record(&finish).is_ok() && is_recorded;
    let reverted = check(&mut world, "m3", &before_m3, &what);
    if kind.0.starts_with("cache") {
        assert!(
            is_recorded && reverted.is_some(),
            "{what:?}: a cache is a hint and no more"
        );
    }
    let first = [("edited", "0\n"), ("removed", "0\n"), ("d/same", "0\n")];
    let first = first.map(|(name, text)| (name.to_owned(), text.to_owned()));
    check(&mut world, "m1", &first.into(), &what);
}

/// Opens the store as the next process does; `None` if it is refused, which changes nothing.
fn reopened(mut world: World) -> Option<World> {
    world
        .try_reopen(Settings::default())
        .is_ok()
        .then_some(world)
}

/// Damages files of such kinds at every few bytes, or at every one.
fn everywhere(is_meant: impl Fn(&str) -> bool) {
    let sample = story();
    let store = sample.base().join("store");
    let mut tried = 0;
    for (kind, file) in by_kind(&store) {
        if !is_meant(&kind.0) {
            continue;
        }
        let length = fs::metadata(store.join(file)).expect("there").len();
        let length = usize::try_from(length).expect("small");
        #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
        let is_full = std::env::var_os("CKPT_FULL").is_some();
        let stride = length.div_ceil(if is_full { MANY } else { FEW });
        for (number, at) in (0..length).step_by(stride).enumerate() {
            one(&kind, at, number % 2 == 0);
            if is_full {
                one(&kind, at, number % 2 == 1);
            }
            tried += 1;
        }
    }
    assert!(tried >= FEW, "files of this kind are there: {tried}");
}

/// A pack or an index damaged anywhere gives the right bytes or says what is lost.
///
/// Invariant `truth/damaged-store`: With any byte of a store damaged, reading gives the right
/// bytes, or an error that says what is lost.
#[test]
fn damaged_pack_or_index_is_never_wrong() {
    everywhere(|kind| matches!(kind, "pack" | "idx" | "multi-pack-index"));
}

/// Invariant `truth/damaged-store`.
#[test]
fn a_cache_damaged_anywhere_gives_the_right_bytes() {
    everywhere(|kind| kind.starts_with("cache"));
}

/// A database or a log damaged anywhere gives the right bytes or says what is lost.
///
/// Invariant `truth/damaged-store`.
#[test]
fn damaged_database_or_log_is_never_wrong() {
    everywhere(|kind| kind.starts_with("sessions.db"));
}

/// What flipped bits may make of a row; SQLite finds none of it. They do not make the id of another object: that is somebody who
/// tampers, and only the receipt tells of it.
const PAYLOADS: [&str; 15] = [
    "UPDATE changes SET path = 'edised' WHERE path = 'edited'",
    "UPDATE changes SET path = 'd/same' WHERE path = 'edited'",
    "UPDATE changes SET path_raw = x'6564ff' WHERE path = 'edited'",
    "UPDATE changes SET old_mode = '100755' WHERE path = 'edited'",
    "UPDATE changes SET new_mode = '100755' WHERE path = 'edited'",
    "UPDATE changes SET old_mode = '100664' WHERE path = 'removed'",
    "UPDATE changes SET new_mode = '1006t4' WHERE path = 'edited'",
    "UPDATE changes SET old_blob = replace(old_blob, '1', '3') WHERE path = 'edited'",
    "UPDATE changes SET new_blob = replace(new_blob, '1', '3') WHERE path = 'edited'",
    "UPDATE changes SET old_blob = new_blob WHERE path = 'edited'",
    "UPDATE changes SET to_snapshot_id = 1",
    "UPDATE changes SET id = id + 100 WHERE path = 'edited'",
    "UPDATE snapshots SET tree = replace(tree, '1', '3')",
    "UPDATE messages SET snapshot_id = (SELECT max(id) FROM snapshots)",
    "UPDATE steps SET finish_snapshot_id = start_snapshot_id",
];

/// A flipped bit in a row is refused or named and nothing is made up.
///
/// Invariant `truth/damaged-store`.
///
/// Invariant `truth/doctor-rows`: `doctor` compares the changes in the session store with the
/// snapshots that they are between: a row that a flipped bit turned into another path, mode or
/// id is an error that names the path.
#[test]
fn flipped_bit_in_a_row_invents_nothing() {
    let original = tree(&story());
    assert_eq!(original["edited"], "2\n");
    for damage in PAYLOADS {
        let world = story();
        testing::rows::execute(&world.base().join("store/sessions.db"), damage);
        let Some(mut world) = reopened(world) else {
            continue;
        };
        let findings = world.store.check(None);
        let is_found = findings.iter().any(|found| found.level == "error");
        let is_in_a_change = damage.starts_with("UPDATE changes") && !damage.contains("SET id");
        let must_be_found = is_in_a_change || damage.contains("tree =");
        assert!(is_found || !must_be_found, "{damage}: {findings:?}");
        let first = [("edited", "0\n"), ("removed", "0\n"), ("d/same", "0\n")];
        let first = first.map(|(name, text)| (name.to_owned(), text.to_owned()));
        if check(&mut world, "m1", &first.into(), &damage).is_some() {
            let cwd = world.cwd.clone();
            let back = world.store.redo(
                &cwd,
                &ckpt_store::RedoRequest {
                    all: true,
                    ..ckpt_store::RedoRequest::default()
                },
            );
            assert!(back.is_ok(), "{damage}: {back:?}");
            assert_eq!(tree(&world), original, "{damage}: and there is a way back");
        }
    }
}
