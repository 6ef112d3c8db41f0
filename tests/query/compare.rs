use std::collections::BTreeMap;

use ckpt_schema::report::{ChangeReport, ShowReport, TimelineEntry};
use ckpt_store::ErrorKind;
use ckpt_store::model::entry::ObjectId;
use ckpt_store::query::LogFilter;
use ckpt_store::snapshot::Snapshots;

use testing::rows::RowStore;

/// A step `s1` of a message `m1`, to which changes are added.
fn world() -> RowStore {
    let world = RowStore::new();
    world.session("one", None, 10);
    world.message("m1", "one", "live");
    world.step("s1", "one", "m1", "closed");
    world
}

fn store(world: &RowStore, bytes: &[u8]) -> ObjectId {
    let snapshots = Snapshots::open(&world.directory("store/snapshots/key1")).unwrap();
    snapshots.write_blobs(&[bytes]).unwrap()[0]
}

/// A modified file, whose lines nobody counted.
fn modified(world: &RowStore, path: &str, old: &[u8], new: &[u8]) {
    let (old, new) = (store(world, old).to_string(), store(world, new).to_string());
    world.execute(
        "INSERT INTO changes (workspace_id, step_id, attribution, path, kind, old_mode, old_blob, new_mode, new_blob, happened_at)
         VALUES (1, 's1', 'agent', ?1, 'modified', '100644', ?2, '100644', ?3, 9)",
        (path, old, new),
    );
}

fn files(world: &mut RowStore) -> BTreeMap<String, ChangeReport> {
    let cwd = world.cwd();
    let ShowReport::Step { step, .. } = world.store.show(&cwd, "s1").unwrap() else {
        panic!("a step")
    };
    step.files
        .into_iter()
        .map(|file| (file.path.path.clone(), file))
        .collect()
}

/// A change says whether it is text and whether more than white space differs.
#[test]
fn change_says_whether_it_is_text() {
    let mut world = world();
    modified(&world, "text", b"a\nb\n", b"a\nc\nd\n");
    modified(&world, "indented", b"if x {\ny\n}\n", b"if x {\n    y\n}\n");
    modified(&world, "picture", b"\x89PNG\0", b"\x89PNG\0\0");
    let files = files(&mut world);
    let facts = |path: &str| {
        let file = &files[path];
        (
            file.additions,
            file.deletions,
            file.binary,
            file.whitespace_only,
        )
    };
    assert_eq!(facts("text"), (Some(2), Some(1), false, false), "lines");
    assert_eq!(
        facts("indented"),
        (Some(1), Some(1), false, true),
        "white space alone"
    );
    assert_eq!(
        facts("picture"),
        (None, None, true, false),
        "a picture has no lines"
    );
}

/// A file whose bytes are gone is still named.
#[test]
fn file_without_bytes_is_still_named() {
    let mut world = world();
    world.rows(
        "INSERT INTO changes (workspace_id, step_id, attribution, path, kind, old_mode, old_blob, new_mode, additions,
                              deletions, happened_at)
         VALUES (1, 's1', 'agent', 'lost', 'deleted', '100644', '1111111111111111111111111111111111111111', NULL, 0, 7, 9),
                (1, 's1', 'agent', 'gap', 'modified', '100644', '1111111111111111111111111111111111111111', '100644', NULL, NULL, 9)",
    );
    let files = files(&mut world);
    assert_eq!(
        (files["lost"].additions, files["lost"].deletions),
        (Some(0), Some(7)),
        "as it was recorded"
    );
    assert_eq!(
        (files["gap"].additions, files["gap"].new_blob.as_deref()),
        (None, None),
        "nobody knows its lines"
    );
}

#[test]
fn a_blob_is_given_as_it_is() {
    let mut world = world();
    let (cwd, bytes) = (world.cwd(), b"\xff\r\n\0 raw".to_vec());
    let id = store(&world, &bytes);
    assert_eq!(
        world.store.blob(&cwd, &id.to_string()).unwrap(),
        bytes,
        "byte for byte"
    );
    let missing = "1".repeat(40);
    assert_eq!(
        world.store.blob(&cwd, &missing).unwrap_err().kind,
        ErrorKind::Unavailable,
        "there is no such blob"
    );
}

/// A file that was moved as it is counts once, in a session and outside of every step.
#[test]
fn moved_file_counts_once_in_lists() {
    let mut world = world();
    for (step, attribution) in [("'s1'", "agent"), ("NULL", "outside")] {
        world.rows(&format!(
            "INSERT INTO changes (workspace_id, step_id, attribution, path, kind, old_mode, old_blob, new_mode, new_blob, happened_at)
             VALUES (1, {step}, '{attribution}', 'from/a', 'deleted', '100644', '{a}', NULL, NULL, 9),
                    (1, {step}, '{attribution}', 'to/a', 'added', NULL, NULL, '100644', '{a}', 9),
                    (1, {step}, '{attribution}', 'edited', 'modified', '100644', '{a}', '100644', '{b}', 9),
                    (1, {step}, '{attribution}', 'gone', 'deleted', '100644', '{b}', NULL, NULL, 9)",
            a = "a".repeat(40),
            b = "b".repeat(40),
        ));
    }
    let cwd = world.cwd();
    let sessions = world.store.sessions(Some(&cwd)).unwrap().sessions;
    let one = &sessions[0];
    assert_eq!(
        one.files, 3,
        "the moved one, the edited one, the one that went"
    );
    let all = world.store.timeline(&cwd, &LogFilter::default()).unwrap();
    let outside = all.entries.iter().find_map(|entry| match entry {
        TimelineEntry::Outside { files, .. } => Some(*files),
        _ => None,
    });
    assert_eq!(outside, Some(3), "and outside of every step");
}
