use ckpt_schema::report::{LabelAction, LabelledKind, LabelsReport};
use ckpt_store::ErrorKind;
use ckpt_store::query::LogFilter;

use testing::rows::{RowStore, tree};

fn world() -> RowStore {
    let world = RowStore::new();
    world.session("one", None, 10);
    world.snapshot(1);
    world.snapshot(2);
    for id in ["m1", "m2"] {
        world.message(id, "one", "live");
    }
    world.rows("UPDATE messages SET snapshot_id = 1 WHERE id = 'm1'");
    world.step("step1", "one", "m1", "closed");
    world
}

fn listed(report: &LabelsReport) -> Vec<(&str, LabelledKind, &str)> {
    report
        .labels
        .iter()
        .map(|entry| (entry.label.as_str(), entry.kind, entry.id.as_str()))
        .collect()
}

/// A label is on a message or a snapshot and is listed.
#[test]
fn label_is_on_a_message_or_snapshot() {
    let mut world = world();
    let cwd = world.cwd();
    let added = world.store.label(&cwd, "m1", "tests pass").unwrap();
    assert_eq!(added.action, LabelAction::Added, "it is new");
    world.store.label(&cwd, &tree(2), "before lunch").unwrap();
    world.store.label(&cwd, "tests pass", "green").unwrap();
    let all = world.store.labels(&cwd, None).unwrap();
    assert_eq!(
        listed(&all),
        [
            ("green", LabelledKind::Message, "m1"),
            ("before lunch", LabelledKind::Snapshot, tree(2).as_str()),
            ("tests pass", LabelledKind::Message, "m1"),
        ],
        "newest first; one thing may have several"
    );
    for (pattern, expected) in [
        ("PASS", vec!["tests pass"]),
        ("do m1", vec!["green", "tests pass"]),
        ("x", vec![]),
    ] {
        let found = world.store.labels(&cwd, Some(pattern)).unwrap();
        let found: Vec<_> = found.labels.iter().map(|entry| &entry.label).collect();
        assert_eq!(found, expected, "{pattern}: by its text or its prompt");
    }
}

/// A label is unique in its workspace and free once deleted.
#[test]
fn label_is_unique_in_its_workspace() {
    let mut world = world();
    let cwd = world.cwd();
    world.store.label(&cwd, "m1", "here").unwrap();
    let again = world.store.label(&cwd, "m1", "here").unwrap();
    assert_eq!(again.action, LabelAction::Unchanged, "the same once more");
    let error = world.store.label(&cwd, "m2", "here").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    let deleted = world.store.delete_label(&cwd, "here").unwrap();
    assert_eq!(
        listed(&deleted),
        [("here", LabelledKind::Message, "m1")],
        "what it was on"
    );
    let error = world.store.delete_label(&cwd, "here").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unknown, "it is gone: {error}");
    world.store.label(&cwd, "m2", "here").unwrap();
    world.workspace(2, "other");
    world.rows(
        "INSERT INTO labels (workspace_id, text, snapshot_id, created_at) VALUES (2, 'here', 1, 1)",
    );
    let other = world.directory("other");
    assert_eq!(
        world.store.labels(&other, None).unwrap().labels.len(),
        1,
        "another workspace has labels of its own"
    );
}

/// What is or looks like an id is refused as a label.
#[test]
fn label_that_looks_like_an_id_is_refused() {
    let mut world = world();
    let cwd = world.cwd();
    for text in [
        "7c1e", "last", "last~2", "current", "12", "", "agent-m2", "step1",
    ] {
        let error = world.store.label(&cwd, "m1", text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed, "{text:?}: {error}");
    }
    assert_eq!(
        world.store.labels(&cwd, None).unwrap().labels,
        [],
        "nothing was written"
    );
}

#[test]
fn only_messages_and_snapshots_are_labelled() {
    let mut world = world();
    let cwd = world.cwd();
    for id in ["step1", "one"] {
        let error = world.store.label(&cwd, id, "here").unwrap_err();
        assert!(
            error.to_string().contains("labels are for messages"),
            "{id}: {error}"
        );
    }
    let error = world.store.label(&cwd, "nothing", "here").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
}

/// A snapshot by hand takes its label from an older one and says so.
#[test]
fn snapshot_takes_its_label_from_an_older_one() {
    let mut world = RowStore::blank();
    let cwd = world.cwd();
    std::fs::write(cwd.join("a"), "1\n").unwrap();
    let first = world.store.snapshot(&cwd, Some("nightly"), None).unwrap();
    assert_eq!(first.notes, Vec::<String>::new(), "the label is new");
    std::fs::write(cwd.join("a"), "2\n").unwrap();
    let second = world.store.snapshot(&cwd, Some("nightly"), None).unwrap();
    let was = format!(
        "the label `nightly` was on snapshot `{}` before",
        first.snapshot
    );
    assert_eq!(second.notes, [was], "one label, one meaning");
    let labels = world.store.labels(&cwd, None).unwrap();
    assert_eq!(
        listed(&labels),
        [("nightly", LabelledKind::Snapshot, second.snapshot.as_str())],
        "the newest"
    );
    let error = world.store.snapshot(&cwd, Some("7c1e"), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
}

/// A label of a forgotten message goes with it.
#[test]
fn forgotten_messages_label_goes_with_it() {
    let mut world = world();
    let cwd = world.cwd();
    world.store.label(&cwd, "m2", "here").unwrap();
    world.rows("PRAGMA foreign_keys = ON; DELETE FROM messages WHERE id = 'm2'");
    assert_eq!(
        world.store.labels(&cwd, None).unwrap().labels,
        [],
        "no row is left behind"
    );
    let log = world.store.log(&cwd, &LogFilter::default()).unwrap();
    assert_eq!(log.messages.len(), 1, "the other message stays");
}
