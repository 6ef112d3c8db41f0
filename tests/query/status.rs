use ckpt_schema::report::{FileAction, FileResult, StatusReport};
use ckpt_store::ErrorKind;

use testing::rows::{NOW, RowStore};

fn status(world: &mut RowStore) -> StatusReport {
    let cwd = world.cwd();
    world.store.status(&cwd, None).expect("a status")
}

/// A session with messages m1 to m3, reverted to m2; snapshots 1 to 3.
fn reverted() -> RowStore {
    let world = RowStore::new();
    for id in 1..=3 {
        world.snapshot(id);
    }
    world.session("one", None, 10);
    world.message("m1", "one", "live");
    world.message("m2", "one", "hidden");
    world.message("m3", "one", "hidden");
    world.rows("UPDATE sessions SET revert_message_id = 'm2', revert_base_id = 1");
    world
}

fn operation(
    world: &RowStore,
    id: &str,
    kind: &str,
    state: &str,
    base: i64,
    message: Option<&str>,
) {
    world.execute(
        "INSERT INTO operations (id, workspace_id, session_id, kind, state, message_id, base_snapshot_id, on_conflict, started_at)
         VALUES (?1, 1, 'one', ?2, ?3, ?4, ?5, 'merge', 5)",
        (id, kind, state, message, base),
    );
}

/// A file of an operation: blobs are given by one digit, and nothing stands for absent.
fn file(
    world: &RowStore,
    operation: &str,
    path: &str,
    action: &str,
    result: &str,
    expected: &str,
    goal: &str,
) {
    let mode = |blob: &str| (!blob.is_empty()).then_some("100644");
    let id = |blob: &str| (!blob.is_empty()).then(|| format!("{blob:0>40}"));
    world.execute(
        "INSERT INTO operation_files (operation_id, position, path, action, result, expected_mode, expected_blob, goal_mode,
                                      goal_blob, additions, deletions)
         SELECT ?1, count(*), ?2, ?3, ?4, ?5, ?6, ?7, ?8, count(*), 0
           FROM operation_files WHERE operation_id = ?1",
        (operation, path, action, result, mode(expected), id(expected), mode(goal), id(goal)),
    );
}

fn files(world: &mut RowStore) -> Vec<(String, FileAction, FileResult)> {
    status(world)
        .files
        .into_iter()
        .map(|file| (file.path.path, file.action, file.result))
        .collect()
}

/// Where nothing was recorded status says nothing of a session.
#[test]
fn status_without_records_names_no_session() {
    let mut world = RowStore::blank();
    let report = status(&mut world);
    assert_eq!(
        report.workspace,
        world.cwd().display().to_string(),
        "the workspace is known all the same"
    );
    assert_eq!(
        (report.session, report.revert_point, report.redo),
        (None, None, false),
        "nothing to undo or redo"
    );
    let cwd = world.cwd();
    let error = world.store.status(&cwd, Some("one")).unwrap_err();
    assert_eq!(
        error.kind,
        ErrorKind::Unavailable,
        "a session that is asked for is not there"
    );
}

/// Status speaks of the newest session or of the one asked for.
#[test]
fn status_is_of_the_newest_or_named_session() {
    let mut world = RowStore::new();
    world.session("old", None, 10);
    world.session("new", None, 20);
    world.session("sub", Some("old"), 30);
    assert_eq!(
        status(&mut world).session.as_deref(),
        Some("new"),
        "a sub-agent's is not a conversation of the user's"
    );
    let cwd = world.cwd();
    let report = world.store.status(&cwd, Some("agent-old")).unwrap();
    assert_eq!(report.session.as_deref(), Some("old"), "by the agent's id");
}

/// Status speaks of the session that redo would move.
#[test]
fn status_is_of_the_session_redo_moves() {
    let mut world = reverted();
    world.session("newer", None, 99);
    assert_eq!(
        status(&mut world).session.as_deref(),
        Some("one"),
        "its revert waits, whoever else is at work"
    );
}

/// The banner names the revert point and what is hidden.
#[test]
fn banner_names_the_revert_point() {
    let mut world = reverted();
    let report = status(&mut world);
    assert_eq!(
        report.revert_point.as_deref(),
        Some("m2"),
        "where it is reverted to"
    );
    assert_eq!(report.messages_hidden, ["m2", "m3"], "oldest first");
    assert!(report.redo, "there is a way back");
}

/// The banner shows each file by its newest operation.
#[test]
fn banner_shows_files_by_their_newest_operation() {
    let mut world = reverted();
    operation(&world, "op1", "revert", "done", 1, Some("m3"));
    file(&world, "op1", "twice", "write", "done", "3", "2");
    file(&world, "op1", "settled", "delete", "done", "1", "");
    file(&world, "op1", "taken back", "write", "done", "5", "4");
    file(&world, "op1", "quarrel", "keep", "conflict", "7", "7");
    operation(&world, "op2", "revert", "done", 1, Some("m2"));
    file(&world, "op2", "twice", "delete", "done", "2", "");
    file(&world, "op2", "settled", "none", "done", "", "");
    file(&world, "op2", "taken back", "write", "done", "4", "5");
    file(&world, "op2", "never touched", "none", "done", "6", "6");
    operation(&world, "op3", "revert", "rolled_back", 1, Some("m1"));
    file(&world, "op3", "not done", "write", "done", "8", "9");
    let expected = [
        ("quarrel".to_owned(), FileAction::Keep, FileResult::Conflict),
        ("settled".to_owned(), FileAction::Delete, FileResult::Done),
        ("twice".to_owned(), FileAction::Delete, FileResult::Done),
    ];
    assert_eq!(
        files(&mut world),
        expected,
        "and leaves out what is as it was before the first revert"
    );
}

#[test]
fn the_banner_forgets_earlier_chains() {
    let mut world = reverted();
    operation(&world, "op1", "revert", "done", 1, Some("m3"));
    file(&world, "op1", "earlier", "keep", "conflict", "1", "1");
    operation(&world, "op2", "unrevert", "done", 1, None);
    operation(&world, "op3", "revert", "done", 2, Some("m3"));
    file(&world, "op3", "of another base", "write", "done", "1", "2");
    operation(&world, "op4", "revert", "done", 1, Some("m2"));
    file(&world, "op4", "now", "write", "done", "1", "2");
    assert_eq!(
        files(&mut world).len(),
        1,
        "an unrevert ended the chain that began at the same snapshot"
    );
    assert_eq!(
        files(&mut world)[0].0,
        "now",
        "the chain of now began at snapshot 1, after it"
    );
    world.rows("UPDATE sessions SET revert_base_id = NULL, revert_message_id = NULL");
    assert!(files(&mut world).is_empty(), "nothing is reverted");
    assert!(!status(&mut world).redo, "and there is nothing to redo");
}

#[test]
fn agent_is_at_work_while_its_tool_runs() {
    let mut world = RowStore::new();
    world.session("0123456789abcdef", None, 0);
    world.message("m1", "0123456789abcdef", "live");
    world.step("s1", "0123456789abcdef", "m1", "open");
    let report = status(&mut world);
    assert_eq!(
        (report.open_steps, report.agents_at_work),
        (1, vec![]),
        "an open step alone is not busy"
    );
    world.rows(
        "INSERT INTO tools (step_id, started_at, finished_at) VALUES ('s1', 1, 2), ('s1', 3, NULL)",
    );
    assert_eq!(
        status(&mut world).agents_at_work,
        ["generic 01234567"],
        "the second tool has not finished"
    );
    world.rows("UPDATE steps SET state = 'closed'");
    assert!(
        status(&mut world).agents_at_work.is_empty(),
        "a closed step's tool was killed with it"
    );
}

/// An agent without tool events is at work for a while after each event.
#[test]
fn agent_without_tool_events_works_a_while() {
    let mut world = RowStore::new();
    world.session("one", None, NOW - 29_999);
    world.message("m1", "one", "live");
    world.step("s1", "one", "m1", "open");
    assert!(
        status(&mut world).agents_at_work.is_empty(),
        "an agent with tool events would have told"
    );
    world.rows("UPDATE sessions SET tool_events = 0");
    assert_eq!(
        status(&mut world).agents_at_work,
        ["generic one"],
        "29.999 seconds ago"
    );
    world.execute("UPDATE sessions SET last_event_at = ?1", [NOW - 30_000]);
    assert!(
        status(&mut world).agents_at_work.is_empty(),
        "30 seconds ago"
    );
}

/// Status names what is unprotected.
#[test]
fn status_names_unprotected() {
    let mut world = reverted();
    world.step("s1", "one", "m1", "closed");
    world.rows(
        "UPDATE steps SET unprotected = 'the disk was full', started_at = 50;
         UPDATE messages SET unprotected = 'the hook was killed', created_at = 60 WHERE id = 'm3'",
    );
    let report = status(&mut world);
    assert_eq!(
        report.unprotected,
        [
            "message m3: the hook was killed",
            "step s1 of message m1: the disk was full"
        ],
        "newest first, with reasons"
    );
}

#[test]
fn status_shows_the_newest_diagnostics() {
    let mut world = RowStore::blank();
    for number in 1..=7 {
        world.execute(
            "INSERT INTO diagnostics (level, event, message, at) VALUES ('error', 'step_finish', 'trouble ' || ?1, ?1)",
            [number],
        );
    }
    let report = status(&mut world);
    assert_eq!(
        report.diagnostics, 7,
        "all are counted, though nothing else was recorded"
    );
    let messages: Vec<_> = report
        .latest_diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "trouble 7",
            "trouble 6",
            "trouble 5",
            "trouble 4",
            "trouble 3"
        ],
        "the newest five"
    );
}

/// Damaged paths and codes of an operation are named.
#[test]
fn operations_damaged_paths_are_named() {
    let mut world = reverted();
    operation(&world, "o1", "revert", "done", 1, Some("m2"));
    file(&world, "o1", "a", "write", "done", "1", "2");
    operation(&world, "o2", "revert", "done", 1, Some("m2"));
    world.rows(
        "UPDATE operation_files SET reason_code = 'sideways';
         UPDATE operations SET only_paths = '[\"a' WHERE id = 'o1';
         UPDATE operations SET directories = '[7]' WHERE id = 'o2'",
    );
    let findings = world.store.check(Some(ckpt_store::CHECK_TIME));
    for row in [
        "the row `o1, 0` of `operation_files` is damaged: `sideways` is not a value of its column `reason_code`",
        "the row `o1` of `operations` is damaged: `[\"a` is not a value of its column `only_paths`",
        "the row `o2` of `operations` is damaged: `[7]` is not a value of its column `directories`",
    ] {
        assert!(
            findings.iter().any(|finding| finding.message.contains(row)),
            "{row}: {findings:?}"
        );
    }
    let told = status(&mut world).latest_diagnostics;
    let names_it = |text: &str| text.contains("the row `o1` of `operations` is damaged");
    assert!(
        told.iter()
            .any(|diagnostic| diagnostic.detail.as_deref().is_some_and(names_it)),
        "a revert of some paths does not count as one of all: {told:?}"
    );
}

/// A damaged row is named and hides nothing else.
#[test]
fn damaged_row_hides_nothing_else() {
    let mut world = reverted();
    operation(&world, "o1", "revert", "done", 1, Some("m2"));
    file(&world, "o1", "a", "write", "done", "1", "2");
    operation(&world, "o2", "revert", "open", 1, Some("m2"));
    world.rows(
        "PRAGMA ignore_check_constraints = ON;
         UPDATE operation_files SET result = 'sideways';
         UPDATE operations SET kind = 'sideways' WHERE id = 'o2'",
    );
    let status = status(&mut world);
    assert_eq!(
        (status.revert_point.as_deref(), status.messages_hidden.len()),
        (Some("m2"), 2),
        "what can be read is reported"
    );
    let told: Vec<String> = status
        .latest_diagnostics
        .iter()
        .filter_map(|diagnostic| diagnostic.detail.clone())
        .collect();
    for row in [
        "the row `o1, 0` of `operation_files` is damaged: `sideways` is not a value of its column `result`",
        "the row `o2` of `operations` is damaged: `sideways` is not a value of its column `kind`",
    ] {
        assert!(
            told.iter().any(|text| text.contains(row)),
            "{row}: {told:?}"
        );
        let findings = world.store.check(Some(ckpt_store::CHECK_TIME));
        assert!(
            findings.iter().any(|finding| finding.message.contains(row)),
            "{row}: {findings:?}"
        );
    }
}
