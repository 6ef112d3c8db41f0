use std::fs;

use ckpt_schema::report::{ChangeKind, ChangeReport, DiffReport};
use ckpt_store::query::DiffRequest;

use testing::rows::{RowStore, dump};

/// A workspace with two snapshots, `before` and `after`, and a message and a step between them.
fn world() -> RowStore {
    let mut world = RowStore::blank();
    let cwd = world.cwd();
    let write = |name: &str, text: &str| fs::write(cwd.join(name), text).expect("writable");
    write("changed", "one\ntwo\n");
    write("src/removed", "one\n");
    write("same", "same\n");
    world
        .store
        .snapshot(&cwd, Some("before"), None)
        .expect("a snapshot");
    write("changed", "one\n2\nthree\n");
    write("src/made", "new\n");
    fs::remove_file(cwd.join("src/removed")).expect("it is there");
    world
        .store
        .snapshot(&cwd, Some("after"), None)
        .expect("a snapshot");
    world.session("one", None, 10);
    world.message("m1", "one", "live");
    world.step("s1", "one", "m1", "closed");
    world.rows(
        "UPDATE messages SET snapshot_id = (SELECT snapshot_id FROM labels WHERE text = 'before');
         UPDATE steps SET start_snapshot_id = (SELECT snapshot_id FROM labels WHERE text = 'before'),
                          finish_snapshot_id = (SELECT snapshot_id FROM labels WHERE text = 'after')",
    );
    world
}

fn diff(world: &mut RowStore, from: Option<&str>, to: Option<&str>, paths: &[&str]) -> DiffReport {
    let cwd = world.cwd();
    let (from, to) = (from.map(str::to_owned), to.map(str::to_owned));
    let request = DiffRequest {
        from,
        to,
        paths: paths.iter().map(Into::into).collect(),
    };
    world.store.diff(&cwd, &request).expect("a diff")
}

type Line = (String, ChangeKind, Option<u64>, Option<u64>);

fn lines(report: DiffReport) -> Vec<Line> {
    let line = |file: ChangeReport| (file.path.path, file.kind, file.additions, file.deletions);
    report.files.into_iter().map(line).collect()
}

/// What the agent did between the two snapshots.
fn forward() -> Vec<Line> {
    vec![
        ("changed".to_owned(), ChangeKind::Modified, Some(2), Some(1)),
        ("src/made".to_owned(), ChangeKind::Added, Some(1), Some(0)),
        (
            "src/removed".to_owned(),
            ChangeKind::Deleted,
            Some(0),
            Some(1),
        ),
    ]
}

#[test]
fn states_are_named_by_every_kind_of_id() {
    let mut world = world();
    for (from, to) in [
        (Some("before"), Some("after")),
        (Some("m1"), Some("s1")),
        (Some("s1"), Some("after")),
        (Some("last"), Some("current")),
        (None, None),
        (Some("before"), None),
    ] {
        assert_eq!(
            lines(diff(&mut world, from, to, &[])),
            forward(),
            "{from:?} to {to:?}"
        );
    }
    let back: Vec<_> = lines(diff(&mut world, Some("current"), Some("before"), &[]));
    assert_eq!(
        (back[0].2, back[0].3),
        (Some(1), Some(2)),
        "the other way round, lines change sides"
    );
    assert_eq!(
        back[2].1,
        ChangeKind::Added,
        "and what was removed comes back"
    );
}

#[test]
fn equal_states_do_not_differ() {
    let mut world = world();
    for (from, to) in [
        ("after", "current"),
        ("current", "current"),
        ("before", "m1"),
    ] {
        let report = diff(&mut world, Some(from), Some(to), &[]);
        assert_eq!(
            (report.files.len(), report.from == report.to),
            (0, true),
            "{from} is {to}"
        );
    }
}

/// A diff is limited to paths below the current directory.
#[test]
fn diff_is_limited_below_the_current_directory() {
    let mut world = world();
    assert_eq!(
        lines(diff(&mut world, None, None, &["src"])),
        forward()[1..],
        "a directory"
    );
    assert_eq!(
        lines(diff(&mut world, None, None, &["src/made", "changed"])),
        forward()[..2],
        "two files"
    );
    assert!(
        lines(diff(&mut world, None, None, &["sr"])).is_empty(),
        "no file is called so"
    );
}

#[test]
fn comparing_with_the_current_state_writes_no_row() {
    let mut world = world();
    let directory = world.directory("");
    let before = dump(&directory);
    fs::write(world.cwd().join("later"), "later\n").expect("writable");
    assert_eq!(
        lines(diff(&mut world, Some("after"), None, &[]))[0].0,
        "later",
        "it sees what is there now"
    );
    assert_eq!(
        dump(&directory),
        before,
        "and leaves no trace in the history"
    );
}

/// A file that an ignore rule hides is not deleted.
#[test]
fn file_hidden_by_a_rule_is_not_deleted() {
    let mut world = world();
    fs::write(world.cwd().join(".gitignore"), "same\n").expect("writable");
    let paths: Vec<_> = lines(diff(&mut world, Some("after"), None, &[]))
        .into_iter()
        .map(|line| line.0)
        .collect();
    assert_eq!(paths, [".gitignore"], "`same` is still there");
}

#[test]
fn blobs_of_a_diff_can_be_read() {
    let mut world = world();
    let cwd = world.cwd();
    let report = diff(&mut world, None, None, &["changed"]);
    let (old, new) = (
        report.files[0].old_blob.clone().unwrap(),
        report.files[0].new_blob.clone().unwrap(),
    );
    assert_eq!(
        world.store.blob(&cwd, &old).unwrap(),
        b"one\ntwo\n",
        "the left side"
    );
    assert_eq!(
        world.store.blob(&cwd, &new).unwrap(),
        b"one\n2\nthree\n",
        "the right side"
    );
}
