//! What somebody changed: the difference without what only looks like a change.

use std::fs;

use ckpt_store::snapshot::{GapReason, Snapshot, SpecialFile};

use testing::objects::{SnapshotFolder, gap, unreadable};

const NOTHING: [&str; 0] = [];

fn with_rules(world: &SnapshotFolder, snapshot: Snapshot, section: &str, lines: &str) -> Snapshot {
    let text = format!("ckpt-hook rules 1\n{section} {}\n{lines}\n", lines.len());
    Snapshot {
        rules: Some(world.blob(text.as_bytes())),
        ..snapshot
    }
}

/// Without gaps and with the same rules it is the difference.
#[test]
fn without_gaps_patch_is_the_difference() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[("a", "1"), ("b", "2"), (".gitignore", "*.log\n")]);
    let new = world.snapshot(&[("a", "x"), ("c", "3"), (".gitignore", "*.log\n")]);
    let expected = ["a 100644 -> 100644", "b 100644 -> -", "c - -> 100644"];
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        expected,
        "a change is a change"
    );
}

/// A file that comes into view is not created.
#[test]
fn file_coming_into_view_is_not_created() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[(".gitignore", "*.log\nout/\n"), ("a", "1")]);
    let old = world.with_ignored(old, &["out/", "x.log"]);
    let new = world.snapshot(&[
        (".gitignore", ""),
        ("a", "1"),
        ("x.log", "2"),
        ("out/y", "3"),
        ("made", "4"),
        ("made.log", "5"),
    ]);
    let expected = [
        ".gitignore 100644 -> 100644",
        "made - -> 100644",
        "made.log - -> 100644",
    ];
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        expected,
        "what was there, ignored, is not new"
    );
}

/// A file that goes out of view is not deleted.
#[test]
fn file_going_out_of_view_is_not_deleted() {
    let world = SnapshotFolder::new();
    fs::write(world.root.path().join("x.log"), "2").expect("a file of the workspace");
    let old = world.snapshot(&[("a", "1"), ("x.log", "2"), ("y.log", "3")]);
    let new = world.snapshot(&[(".gitignore", "*.log\n"), ("a", "1")]);
    let new = world.with_ignored(new, &["x.log"]);
    let expected = [".gitignore - -> 100644", "y.log 100644 -> -"];
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        expected,
        "what is not on the disk any more was deleted"
    );
}

#[test]
fn a_file_behind_a_symlink_is_not_there() {
    let world = SnapshotFolder::new();
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    fs::write(elsewhere.path().join("x.log"), "2").expect("a file");
    std::os::unix::fs::symlink(elsewhere.path(), world.root.path().join("d")).expect("a link");
    let old = world.snapshot(&[("d/x.log", "2")]);
    let new = world.snapshot(&[(".gitignore", "*.log\n"), ("d", "@elsewhere")]);
    let expected = [
        ".gitignore - -> 100644",
        "d - -> 120000",
        "d/x.log 100644 -> -",
    ];
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        expected,
        "the link leads out of the workspace"
    );
}

#[test]
fn nested_ignore_files_and_outer_rules_count() {
    let world = SnapshotFolder::new();
    let files = [("d/.gitignore", "secret\n"), ("d/e/plain", "1")];
    let old = with_rules(&world, world.snapshot(&files), "info", "*.tmp\n");
    let old = world.with_ignored(old, &["d/e/secret", "q.tmp"]);
    let new = world.snapshot(&[
        ("d/e/plain", "1"),
        ("d/e/secret", "2"),
        ("q.tmp", "3"),
        ("d/new", "4"),
    ]);
    let expected = ["d/.gitignore 100644 -> -", "d/new - -> 100644"];
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        expected,
        "either kept something out of view"
    );
}

/// A change of an ignored file that is captured is a change.
#[test]
fn captured_ignored_files_change_counts() {
    let world = SnapshotFolder::new();
    let old = with_rules(
        &world,
        world.snapshot(&[(".gitignore", "*.log\n"), ("kept.log", "1")]),
        "forced",
        "kept.log\0",
    );
    let new = with_rules(
        &world,
        world.snapshot(&[(".gitignore", "*.lo?\n"), ("kept.log", "2")]),
        "forced",
        "kept.log\0",
    );
    let expected = [".gitignore 100644 -> 100644", "kept.log 100644 -> 100644"];
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        expected,
        "both sides hold it"
    );
}

/// A file that cannot be stored any more is changed not deleted.
#[test]
fn unstorable_file_is_changed_not_deleted() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[("big", "+1"), ("a", "1")]);
    let new = world.snapshot(&[("a", "1")]);
    for reason in [GapReason::TooLarge, GapReason::Changing, unreadable()] {
        let gaps = [gap("big", reason, Some(9))];
        assert_eq!(
            world.patch((&old, &[]), (&new, &gaps)),
            ["big 100755 -> 100755?"],
            "{gaps:?}"
        );
        assert_eq!(
            world.patch((&new, &gaps), (&old, &[])),
            ["big 100755? -> 100755"],
            "and back"
        );
    }
}

/// A file that was never stored comes goes and changes.
#[test]
fn unstored_file_comes_goes_and_changes() {
    let world = SnapshotFolder::new();
    let snapshot = world.snapshot(&[("a", "1")]);
    let (small, large) = (
        [gap("big", GapReason::TooLarge, Some(8))],
        [gap("big", GapReason::TooLarge, Some(9))],
    );
    assert_eq!(
        world.patch((&snapshot, &[]), (&snapshot, &small)),
        ["big - -> 100644?"],
        "it came"
    );
    assert_eq!(
        world.patch((&snapshot, &small), (&snapshot, &[])),
        ["big 100644? -> -"],
        "it went"
    );
    assert_eq!(
        world.patch((&snapshot, &small), (&snapshot, &large)),
        ["big 100644? -> 100644?"],
        "it grew"
    );
    assert_eq!(
        world.patch((&snapshot, &small), (&snapshot, &small)),
        NOTHING,
        "nobody can tell"
    );
}

/// A directory that could not be read is a gap of everything below it.
///
/// Invariant `truth/unreadable-directory`: Everything below an unreadable directory is a gap in
/// both snapshots, and is not reverted.
#[test]
fn unreadable_directory_is_a_gap_below() {
    let world = SnapshotFolder::new();
    let old = world.snapshot_with(
        &[("a", "1"), ("d/b", "2"), ("d/e/c", "3"), ("d-x", "4")],
        "e 755 d/empty\0",
    );
    let new = world.snapshot(&[("a", "2")]);
    for reason in [unreadable(), GapReason::Mount, GapReason::TooDeep] {
        let gaps = [gap("d", reason, None)];
        let expected = [
            "a 100644 -> 100644",
            "d-x 100644 -> -",
            "d/b 100644 -> 100644?",
            "d/e/c 100644 -> 100644?",
        ];
        assert_eq!(
            world.patch((&old, &[]), (&new, &gaps)),
            expected,
            "its files may all be there, and be others: {gaps:?}"
        );
        let expected = [
            "a 100644 -> 100644",
            "d-x - -> 100644",
            "d/b 100644? -> 100644",
            "d/e/c 100644? -> 100644",
        ];
        assert_eq!(
            world.patch((&new, &gaps), (&old, &[])),
            expected,
            "and may have been"
        );
    }
}

#[test]
fn a_file_replaced_by_a_pipe_is_deleted() {
    let world = SnapshotFolder::new();
    let (old, new) = (
        world.snapshot(&[("a", "1"), ("b", "2")]),
        world.snapshot(&[("b", "2")]),
    );
    let gaps = [gap("a", GapReason::Special(SpecialFile::Pipe), None)];
    assert_eq!(
        world.patch((&old, &[]), (&new, &gaps)),
        ["a 100644 -> -"],
        "a pipe holds no bytes"
    );
}

/// A large file that was ignored is not created.
#[test]
fn formerly_ignored_large_file_is_not_created() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[(".gitignore", "*.iso\n")]);
    let old = world.with_ignored(old, &["x.iso"]);
    let new = world.snapshot(&[(".gitignore", "")]);
    let gaps = [gap("x.iso", GapReason::TooLarge, Some(9))];
    assert_eq!(
        world.patch((&old, &[]), (&new, &gaps)),
        [".gitignore 100644 -> 100644"],
        "it came into view"
    );
}

#[test]
fn an_empty_directory_comes_and_goes() {
    let world = SnapshotFolder::new();
    let (without, with) = (
        world.snapshot(&[("a", "1")]),
        world.snapshot_with(&[("a", "1")], "e 755 d\0"),
    );
    assert_eq!(
        world.patch((&without, &[]), (&with, &[])),
        ["d - -> 040755"],
        "somebody made it"
    );
    assert_eq!(
        world.patch((&with, &[]), (&without, &[])),
        ["d 040755 -> -"],
        "somebody removed it"
    );
}

/// A directory that is filled or emptied is not changed.
#[test]
fn filled_or_emptied_directory_is_unchanged() {
    let world = SnapshotFolder::new();
    let (empty, full) = (
        world.snapshot_with(&[("a", "1")], "e 755 d\0"),
        world.snapshot(&[("a", "1"), ("d/x", "2")]),
    );
    assert_eq!(
        world.patch((&empty, &[]), (&full, &[])),
        ["d/x - -> 100644"],
        "the directory was there before"
    );
    assert_eq!(
        world.patch((&full, &[]), (&empty, &[])),
        ["d/x 100644 -> -"],
        "and is there still"
    );
    let deeper = world.snapshot_with(&[("a", "1")], "e 755 d/e\0");
    assert_eq!(
        world.patch((&empty, &[]), (&deeper, &[])),
        ["d/e - -> 040755"],
        "filled by a directory"
    );
    let gaps = [gap("d/big", GapReason::TooLarge, Some(9))];
    let bare = world.snapshot(&[("a", "1")]);
    assert_eq!(
        world.patch((&empty, &[]), (&bare, &gaps)),
        ["d/big - -> 100644?"],
        "filled by what is not stored"
    );
}

/// An empty directory that holds ignored files now is not removed.
#[test]
fn directory_of_ignored_files_is_not_removed() {
    let world = SnapshotFolder::new();
    fs::create_dir(world.root.path().join("build")).expect("a directory of the workspace");
    let old = world.snapshot_with(&[(".gitignore", "*.o\n")], "e 755 build\0");
    let new = world.snapshot(&[(".gitignore", "*.o\n")]);
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        NOTHING,
        "it is there, and no snapshot knows what is in it"
    );
}

/// A directory that held only ignored files is not made by whoever empties it.
///
/// Invariant `truth/empty-directories`: Filling or emptying a directory in which everything is
/// ignored is nobody's change.
#[test]
fn emptying_makes_no_directory() {
    let world = SnapshotFolder::new();
    let [nothing, occupied, empty, below] =
        ["", "o 755 logs\0", "e 755 logs\0", "o 755 logs/old\0"]
            .map(|text| world.snapshot_with(&[("a", "1")], text));
    let patch = |old, new| world.patch((old, &[]), (new, &[]));
    assert_eq!(patch(&occupied, &empty), NOTHING, "it was there before");
    assert_eq!(
        patch(&below, &empty),
        NOTHING,
        "so it was where a directory in it was"
    );
    assert_eq!(patch(&empty, &occupied), NOTHING, "it is there still");
    assert_eq!(patch(&empty, &below), NOTHING, "and so it is, deeper");
    assert_eq!(
        patch(&nothing, &occupied),
        NOTHING,
        "a build made it: there is nothing to put back"
    );
    assert_eq!(
        patch(&occupied, &nothing),
        NOTHING,
        "nothing of it could be put back"
    );
    assert_eq!(
        patch(&nothing, &empty),
        ["logs - -> 040755"],
        "while this one somebody made"
    );
    assert_eq!(
        world.snapshots.entries(&occupied).expect("readable").len(),
        1,
        "it is no entry"
    );
}

/// A file that becomes an empty directory is one change.
#[test]
fn file_becoming_an_empty_directory_is_one_change() {
    let world = SnapshotFolder::new();
    let (old, new) = (
        world.snapshot(&[("a", "1")]),
        world.snapshot_with(&[], "e 755 a\0"),
    );
    assert_eq!(
        world.patch((&old, &[]), (&new, &[])),
        ["a 100644 -> 040755"],
        "another kind of thing"
    );
    assert_eq!(
        world.patch((&new, &[]), (&old, &[])),
        ["a 040755 -> 100644"],
        "and back"
    );
}
