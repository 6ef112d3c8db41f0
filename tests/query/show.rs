use ckpt_schema::report::ShowReport;
use ckpt_store::ErrorKind;
use ckpt_store::query::DiffRequest;

use testing::rows::{RowStore, tree};

/// A message before snapshot 2 with a step of its session and one of a sub-agent.
fn world() -> RowStore {
    let world = RowStore::new();
    for id in 1..=4 {
        world.snapshot(id);
    }
    world.session("one", None, 10);
    world.session("sub", Some("one"), 20);
    world.message("m1", "one", "live");
    world.message("m2", "one", "live");
    world.step("s1", "one", "m1", "closed");
    world.step("s2", "sub", "m1", "open");
    world.change("s1", "agent", "b.txt", Some((2, 1)));
    world.change("s1", "shared", "a.txt", None);
    world.rows(
        "UPDATE messages SET snapshot_id = 2 WHERE id = 'm1';
         UPDATE messages SET unprotected = 'the disk was full' WHERE id = 'm2';
         UPDATE steps SET start_snapshot_id = 2, finish_snapshot_id = 3, finished_at = 9, recovered = 1 WHERE id = 's1';
         INSERT INTO tools (step_id, name, started_at) VALUES ('s1', 'bash', 1), ('s1', NULL, 2), ('s1', 'edit', 3);
         INSERT INTO operations (id, workspace_id, kind, state, on_conflict, notes, started_at)
         VALUES ('op1', 1, 'revert', 'done', 'merge', '[{\"code\": \"head\", \"text\": \"first\", \"about\": []}, {\"code\": \"tags\", \"text\": \"second\", \"about\": []}]', 5);
         INSERT INTO operation_files (operation_id, position, path, action, result, reason)
         VALUES ('op1', 0, 'a', 'keep', 'conflict', 'it was edited')",
    );
    world
}

fn show(id: &str) -> ShowReport {
    let mut world = world();
    let cwd = world.cwd();
    world.store.show(&cwd, id).expect(id)
}

/// A message is shown with its steps and those of its sub-agents.
#[test]
fn message_is_shown_with_all_its_steps() {
    let ShowReport::Message {
        message,
        snapshot,
        steps,
        ..
    } = show("agent-m1")
    else {
        panic!("a message")
    };
    assert_eq!(
        (message.id.as_str(), message.steps, message.files),
        ("m1", 2, 2),
        "as the log counts"
    );
    assert_eq!(snapshot, Some(tree(2)), "the state just before it");
    let seen: Vec<_> = steps
        .iter()
        .map(|step| (step.id.as_str(), step.session.as_str(), step.open))
        .collect();
    assert_eq!(
        seen,
        [("s1", "one", false), ("s2", "sub", true)],
        "oldest first"
    );
}

/// A step is shown with its tools and files.
#[test]
fn step_is_shown_with_tools_and_files() {
    let ShowReport::Step { step, .. } = show("s1") else {
        panic!("a step")
    };
    assert_eq!(
        (step.start, step.finish),
        (Some(tree(2)), Some(tree(3))),
        "its two snapshots"
    );
    assert!(
        step.recovered && !step.open,
        "closed without its own finish"
    );
    assert_eq!(
        step.tools,
        ["bash", "unnamed", "edit"],
        "in the order in which they ran"
    );
    let files: Vec<_> = step
        .files
        .iter()
        .map(|file| (file.path.path.as_str(), file.additions, file.deletions))
        .collect();
    assert_eq!(
        files,
        [("a.txt", None, None), ("b.txt", Some(2), Some(1))],
        "by path, with the recorded counts"
    );
    assert_eq!(
        step.files[0].attribution.as_deref(),
        Some("shared"),
        "whose change it is"
    );
}

#[test]
fn a_session_is_shown_with_its_messages() {
    let ShowReport::Session {
        session, messages, ..
    } = show("agent-one")
    else {
        panic!("a session")
    };
    assert_eq!(
        (session.id.as_str(), session.messages),
        ("one", 2),
        "the session"
    );
    assert_eq!(
        messages
            .iter()
            .map(|message| message.id.as_str())
            .collect::<Vec<_>>(),
        ["m2", "m1"],
        "newest first"
    );
    assert_eq!(
        messages[0].unprotected.as_deref(),
        Some("the disk was full"),
        "and what is wrong with one"
    );
}

/// An operation is shown with its files and notes.
#[test]
fn operation_is_shown_with_files_and_notes() {
    let ShowReport::Operation {
        operation,
        files,
        notes,
        ..
    } = show("op1")
    else {
        panic!("an operation")
    };
    assert_eq!(
        (operation.id.as_str(), operation.conflicts),
        ("op1", 1),
        "the operation"
    );
    assert_eq!(
        files[0].reason.as_deref(),
        Some("it was edited"),
        "its files"
    );
    assert_eq!(notes, ["first", "second"], "what it noted, in order");
}

#[test]
fn a_snapshot_is_shown_with_its_repository() {
    let mut world = world();
    world.rows(&format!(
        "INSERT INTO snapshots (id, workspace_id, tree, taken_at) VALUES (9, 1, '{}', 99);
         INSERT INTO labels (workspace_id, text, snapshot_id, created_at) VALUES (1, 'lunch', 9, 100)",
        tree(2)
    ));
    let cwd = world.cwd();
    for id in ["lunch", "0002a", &tree(2)] {
        let ShowReport::Snapshot {
            snapshot,
            repository,
            time,
            label,
            ..
        } = world.store.show(&cwd, id).unwrap()
        else {
            panic!("{id} is a snapshot")
        };
        assert_eq!(
            (snapshot, time, label.as_deref()),
            (tree(2), 2, Some("lunch")),
            "{id}: as it was taken first"
        );
        let expected = world.directory("store/snapshots/key1/repository.git");
        assert_eq!(
            repository,
            expected.display().to_string(),
            "{id}: where git finds it"
        );
    }
}

fn refusal(from: Option<&str>, to: Option<&str>, path: Option<&str>) -> (ErrorKind, String) {
    let mut world = world();
    let cwd = world.cwd();
    let request = DiffRequest {
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
        paths: path.into_iter().map(Into::into).collect(),
    };
    let error = world.store.diff(&cwd, &request).unwrap_err();
    (error.kind, error.to_string())
}

/// A state that was not captured is unavailable with its reason.
#[test]
fn uncaptured_state_is_unavailable_with_its_reason() {
    let (kind, text) = refusal(None, None, None);
    assert_eq!(
        kind,
        ErrorKind::Unavailable,
        "the newest message has no snapshot"
    );
    assert_eq!(
        text, "the message `m2` has no snapshot: the disk was full",
        "and the user learns why"
    );
    assert_eq!(
        refusal(Some("op1"), None, None).0,
        ErrorKind::Unavailable,
        "an operation without one"
    );
    assert_eq!(
        refusal(Some("s2"), Some("m1"), None).0,
        ErrorKind::Unavailable,
        "a step without a start"
    );
    assert_eq!(
        refusal(Some("m1"), Some("s2"), None).0,
        ErrorKind::Unavailable,
        "or without a finish"
    );
    assert_eq!(
        refusal(Some("m9"), None, None).0,
        ErrorKind::Unknown,
        "an unknown id"
    );
}

#[test]
fn a_session_is_not_one_state() {
    assert_eq!(
        refusal(Some("m1"), Some("one"), None).0,
        ErrorKind::Failed,
        "it has many"
    );
}

#[test]
fn a_path_outside_of_the_workspace_is_refused() {
    for path in ["../other", "/etc/passwd", ".git/config"] {
        let (kind, text) = refusal(Some("s1"), None, Some(path));
        assert_eq!(kind, ErrorKind::Usage, "{path}");
        assert!(
            text.starts_with(&format!("`{path}` is not captured")),
            "{text}"
        );
    }
}

#[test]
fn a_step_alone_is_what_it_changed() {
    let mut world = world();
    let cwd = world.cwd();
    let mut diff = |paths: &[&str]| {
        let paths = paths.iter().map(Into::into).collect();
        let request = DiffRequest {
            from: Some("s1".to_owned()),
            to: None,
            paths,
        };
        let report = world.store.diff(&cwd, &request).unwrap();
        assert_eq!(
            (report.from, report.to),
            (tree(2), tree(3)),
            "from its start to its finish"
        );
        report
            .files
            .into_iter()
            .map(|file| file.path.path)
            .collect::<Vec<_>>()
    };
    assert_eq!(diff(&[]), ["a.txt", "b.txt"], "by path");
    assert_eq!(diff(&["b.txt"]), ["b.txt"], "limited to a path");
    assert_eq!(
        diff(&["src/../b.txt", "b"]),
        ["b.txt"],
        "b is no directory of b.txt"
    );
    assert_eq!(diff(&["."]), ["a.txt", "b.txt"], "the top is everything");
}

#[test]
fn a_blob_has_a_whole_id() {
    let mut world = world();
    let cwd = world.cwd();
    for id in ["", "4b82", "last", "\u{1b}[2J"] {
        let error = world.store.blob(&cwd, id).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed, "{id:?} is not 40 hex digits");
        assert!(
            !error.to_string().contains('\u{1b}'),
            "and reaches no terminal"
        );
    }
}
