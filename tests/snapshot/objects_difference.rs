//! What differs between two snapshots, and what stands at a path.

use std::collections::BTreeMap;

use ckpt_store::model::entry::{Entry, ObjectId};
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::snapshot::Snapshot;
use proptest::prelude::*;

use testing::objects::{SnapshotFolder, listing, path};

#[test]
fn equal_snapshots_do_not_differ() {
    let world = SnapshotFolder::new();
    let snapshot = world.snapshot(&[("a", "1"), ("b/c", "2")]);
    assert_eq!(
        world.difference(&snapshot, &snapshot),
        [""; 0],
        "it is the same snapshot"
    );
    assert_eq!(
        world.snapshot(&[("b/c", "2"), ("a", "1")]),
        snapshot,
        "the order of making is of no matter"
    );
}

#[test]
fn every_kind_of_change_is_listed_by_path() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[
        ("a", "1"),
        ("b/gone", "2"),
        ("b/same", "3"),
        ("link", "@to"),
        ("run", "4"),
        ("t", "5"),
    ]);
    let new = world.snapshot(&[
        ("a", "changed"),
        ("b/same", "3"),
        ("c/d/new", "6"),
        ("link", "@on"),
        ("run", "+4"),
        ("t", "@5"),
    ]);
    let expected = [
        "a 100644 -> 100644",
        "b/gone 100644 -> -",
        "c/d/new - -> 100644",
        "link 120000 -> 120000",
        "run 100644 -> 100755",
        "t 100644 -> 120000",
    ];
    assert_eq!(world.difference(&old, &new), expected, "one line a path");
}

/// A file that becomes a directory is two changes.
#[test]
fn file_becoming_a_directory_is_two_changes() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[("foo", "1"), ("foo-bar", "2")]);
    let new = world.snapshot(&[("foo/bar", "3"), ("foo-bar", "2")]);
    assert_eq!(
        world.difference(&old, &new),
        ["foo 100644 -> -", "foo/bar - -> 100644"],
        "forth"
    );
    assert_eq!(
        world.difference(&new, &old),
        ["foo - -> 100644", "foo/bar 100644 -> -"],
        "and back"
    );
}

#[test]
fn full_permissions_and_empty_directories_differ() {
    let world = SnapshotFolder::new();
    let files = [("a", "1"), ("b", "+2"), ("c", "3")];
    let old = world.snapshot_with(&files, "e 700 dir\0e 755 same\0");
    let new = world.snapshot_with(
        &files,
        "f 600 a\0x 700 b\0e 755 dir\0e 755 made\0e 755 same\0",
    );
    let expected = [
        "a 100644 -> 100600",
        "b 100755 -> 100700",
        "dir 040700 -> 040755",
        "made - -> 040755",
    ];
    assert_eq!(
        world.difference(&old, &new),
        expected,
        "though the trees are the same"
    );
    let back = [
        "a 100600 -> 100644",
        "b 100700 -> 100755",
        "dir 040755 -> 040700",
        "made 040755 -> -",
    ];
    assert_eq!(world.difference(&new, &old), back, "and back");
}

#[test]
fn other_defaults_alone_are_no_difference() {
    let world = SnapshotFolder::new();
    let files = [("a", "1"), ("d/b", "2"), ("d/c", "3")];
    let plain = world.snapshot_with(&files, "f 664 a\0f 664 d/b\0");
    let blob = world.blob(b"ckpt-hook attributes 1\n664 755 755\nf 644 d/c\0");
    let folded = Snapshot {
        attributes: Some(blob),
        ..plain
    };
    assert_eq!(
        world.difference(&plain, &folded),
        [""; 0],
        "every file has the same permissions"
    );
    let all = Snapshot {
        attributes: Some(world.blob(b"ckpt-hook attributes 1\n664 755 755\n")),
        ..plain
    };
    assert_eq!(
        world.difference(&plain, &all),
        ["d/c 100644 -> 100664"],
        "this one has not"
    );
}

/// Directories with other permissions are found whatever is usual.
#[test]
fn directories_with_other_permissions_are_found() {
    let world = SnapshotFolder::new();
    let files = [("a/b/x", "1"), ("a/y", "2"), ("c/z", "3")];
    let plain = world.snapshot(&files);
    let differing = |old, new| {
        let found = world
            .snapshots
            .directories_that_differ(old, new)
            .expect("sound snapshots");
        found
            .iter()
            .map(|(path, then, now)| format!("{} {then:o} {now:o}", path.to_text()))
            .collect::<Vec<_>>()
    };
    let noted = world.snapshot_with(&files, "d 700 a/b\0f 600 a/y\0");
    assert_eq!(
        differing(&plain, &noted),
        ["a/b 755 700"],
        "the file is none"
    );
    assert_eq!(differing(&noted, &plain), ["a/b 700 755"], "and back");
    let usual = Snapshot {
        attributes: Some(world.blob(b"ckpt-hook attributes 1\n644 755 700\nd 755 c\0")),
        ..plain
    };
    assert_eq!(
        differing(&plain, &usual),
        ["a 755 700", "a/b 755 700"],
        "where most have them"
    );
    assert_eq!(differing(&noted, &usual), ["a 755 700"], "all the same");
    let other = world.snapshot_with(&[("a/y", "2")], "e 700 c\0");
    assert_eq!(
        differing(&plain, &other),
        [""; 0],
        "what is there once, or empty, is a change like any other"
    );
}

/// An empty directory takes the place of a file.
#[test]
fn empty_directory_replaces_a_file() {
    let world = SnapshotFolder::new();
    let old = world.snapshot(&[("a", "1"), ("b", "2")]);
    let new = world.snapshot_with(&[("b", "2")], "e 755 a\0");
    assert_eq!(
        world.difference(&old, &new),
        ["a 100644 -> 040755"],
        "one path, one change"
    );
}

#[test]
fn a_state_is_what_stands_at_the_path() {
    let world = SnapshotFolder::new();
    let snapshot = world.snapshot_with(
        &[("a", "1"), ("d/b", "+2"), ("d/e/l", "@x")],
        "f 600 a\0e 700 empty\0",
    );
    let paths = [
        "d/b", "a", "nothing", "d", "a/below", "empty", "d/e/l", "empty/x",
    ]
    .map(path);
    let states = world
        .snapshots
        .states(&snapshot, &paths)
        .expect("a sound snapshot");
    let shown: Vec<_> = states
        .iter()
        .map(|state| state.map(|entry| entry.mode.to_string()))
        .collect();
    let expected = [
        Some("100755"),
        Some("100600"),
        None,
        None,
        None,
        Some("040700"),
        Some("120000"),
        None,
    ]
    .map(|s| s.map(str::to_owned));
    assert_eq!(
        shown, expected,
        "in the order asked for; a directory with entries is no entry"
    );
    assert_eq!(
        states[5],
        Some(Entry::directory(0o700)),
        "an empty directory's id is the empty tree's"
    );
}

#[test]
fn a_directory_keeps_its_permissions() {
    let world = SnapshotFolder::new();
    let snapshot =
        world.snapshot_with(&[("a", "1"), ("d/e/f", "2")], "d 20770 d/e\0e 1711 empty\0");
    let paths = ["d", "d/e", "a", "empty", "d/e/f", "none"].map(path);
    let permissions = world
        .snapshots
        .permissions_to_make(&snapshot, &paths)
        .expect("sound");
    assert_eq!(
        permissions,
        [Some(0o755), Some(0o750), None, Some(0o1711), None, None],
        "without what the ACL of one takes from its group"
    );
}

#[test]
fn an_empty_snapshot_has_nothing() {
    let world = SnapshotFolder::new();
    let empty = Snapshot {
        tree: ObjectId::EMPTY_TREE,
        attributes: None,
        rules: None,
        seen: None,
    };
    assert!(
        listing(&world.snapshots, &empty).is_empty(),
        "though its tree was never stored"
    );
    let full = world.snapshot(&[("a", "1")]);
    assert_eq!(
        world.difference(&empty, &full),
        ["a - -> 100644"],
        "all came"
    );
}

type Files = BTreeMap<String, String>;

/// Paths that clash now and then: the last one wins.
fn files() -> impl Strategy<Value = Files> {
    let path = "[ab-]{1,2}(/[ab.]x?){0,2}";
    let text = prop::sample::select(vec!["1", "2", "+1", "@1"]).prop_map(str::to_owned);
    prop::collection::vec((path, text), 0..12).prop_map(|list| {
        let mut files = Files::new();
        for (path, text) in list
            .into_iter()
            .filter(|(path, _)| WorkspacePath::new(path.as_bytes()).is_ok())
        {
            let clashes = |other: &String| {
                other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/"))
            };
            if !files.keys().any(clashes) {
                files.insert(path, text);
            }
        }
        files
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_difference_is_what_the_entries_say(old in files(), new in files()) {
        let world = SnapshotFolder::new();
        let [old, new] = [&old, &new].map(|files| {
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            world.snapshot(&files)
        });
        let entries = [&old, &new].map(|snapshot| -> BTreeMap<_, _> {
            world.snapshots.entries(snapshot).expect("sound").into_iter().collect()
        });
        let mut expected: Vec<_> = entries[0].keys().chain(entries[1].keys()).cloned().collect();
        expected.sort();
        expected.dedup();
        expected.retain(|path| entries[0].get(path) != entries[1].get(path));
        let changes = world.snapshots.difference(&old, &new).expect("sound");
        prop_assert_eq!(changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), expected);
        for change in changes {
            prop_assert_eq!(change.old, entries[0].get(&change.path).copied());
            prop_assert_eq!(change.new, entries[1].get(&change.path).copied());
        }
    }
}
