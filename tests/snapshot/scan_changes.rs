//! The stat cache's file of changes: a few edits do not write all of it again, and no snapshot is another one for it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ckpt_store::snapshot::{Snapshots, StoredSnapshot};

use testing::clock::await_tick;
use testing::snapshot::CapturedWorkspace;

/// A world with so many files that their cache is much larger than a few changes.
fn large() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    for number in 0..2000 {
        world.write(
            &format!("d{}/e{}/f{number}", number % 20, number % 100),
            number.to_string(),
        );
    }
    await_tick();
    world.take();
    world
}

fn whole(world: &CapturedWorkspace) -> PathBuf {
    world.store.join("snapshots/key/cache")
}

fn changes(world: &CapturedWorkspace) -> PathBuf {
    world.store.join("snapshots/key/cache.changes")
}

/// Takes a snapshot, and compares it with one that remembers nothing.
fn check(world: &CapturedWorkspace, why: &str) -> StoredSnapshot {
    let taken = world.take();
    let fresh = tempfile::tempdir().unwrap();
    let fresh = Snapshots::open(fresh.path())
        .unwrap()
        .take(&world.request())
        .unwrap();
    assert_eq!(taken, fresh, "{why}: as without a cache");
    assert_eq!(
        world.take(),
        taken,
        "{why}: and once more, from what is remembered now"
    );
    taken
}

/// Files come of age 35 s after they were written: each is looked at once more then, which is remembered and is no edit.
const YOUTH: Duration = Duration::from_secs(30);

/// A few edits do not write the whole cache again.
#[test]
fn few_edits_do_not_rewrite_the_cache() {
    let measured = (0..5).find_map(|_| {
        let begin = Instant::now();
        let world = large();
        let before = fs::metadata(whole(&world)).unwrap();
        for round in 0..5 {
            world.write("d3/e3/f3", format!("round {round}"));
            check(&world, "one edit");
        }
        let after = fs::metadata(whole(&world)).unwrap();
        let beside = fs::metadata(changes(&world)).map(|changes| changes.len());
        // On a machine that took so long, the files' age was remembered beside the edits.
        (begin.elapsed() < YOUTH).then_some((before, after, beside))
    });
    let (before, after, beside) =
        measured.expect("a thousand files are written and read within 30 s");
    assert_eq!(
        (before.ino(), before.len()),
        (after.ino(), after.len()),
        "it is the file that it was"
    );
    assert!(
        beside.unwrap() < before.len() / 4,
        "the changes stand beside it, and are few"
    );
}

/// Many edits write the whole cache and no changes stay.
#[test]
fn many_edits_rewrite_the_cache() {
    let world = large();
    world.write("d3/e3/f3", "one");
    check(&world, "one edit");
    let before = fs::metadata(whole(&world)).unwrap();
    for number in 0..2000 {
        world.write(
            &format!("d{}/e{}/f{number}", number % 20, number % 100),
            format!("again {number}"),
        );
    }
    // Else the next look reads once more what was written within its tick, and remembers it beside the cache.
    await_tick();
    check(&world, "all edited");
    assert_ne!(
        before.ino(),
        fs::metadata(whole(&world)).unwrap().ino(),
        "it is a new file"
    );
    assert!(
        !changes(&world).exists(),
        "the changes belonged to the one before"
    );
}

/// Directories that come and go are remembered as they are.
#[test]
fn directories_that_come_and_go_are_remembered() {
    let world = large();
    fs::remove_dir_all(world.root.join("d7")).unwrap();
    check(&world, "a directory of the whole cache is gone");
    world.write("d7/new/file", "new");
    world.write("d77/deep/er/file", "new");
    check(
        &world,
        "it is there again, with other contents, and another one is new",
    );
    fs::remove_dir_all(world.root.join("d77/deep")).unwrap();
    check(&world, "one that only the changes knew is gone");
    fs::remove_dir_all(world.root.join("d7")).unwrap();
    world.write("d7", "a file now");
    check(&world, "a file where a directory was");
    fs::remove_file(world.root.join("d7")).unwrap();
    world.write("d7/e7/f7", "7");
    check(&world, "and back");
}

#[test]
fn changes_of_another_cache_are_passed_over() {
    let world = large();
    world.write("d3/e3/f3", "edited");
    check(&world, "an edit");
    let old = fs::read(changes(&world)).unwrap();
    fs::remove_file(whole(&world)).unwrap();
    world.write("d3/e3/f3", "edited again");
    check(&world, "a new cache");
    fs::write(changes(&world), old).unwrap();
    check(&world, "the changes are those of the old one");
}

#[test]
fn damaged_changes_are_no_matter() {
    let world = large();
    world.write("d3/e3/f3", "edited");
    check(&world, "an edit");
    let good = fs::read(changes(&world)).unwrap();
    for length in [0, 7, 30, 60, good.len() / 2, good.len() - 1] {
        fs::write(changes(&world), &good[..length]).unwrap();
        check(&world, &format!("cut off at {length}"));
    }
    fs::write(changes(&world), [7; 4096]).unwrap();
    check(&world, "nonsense");
}
