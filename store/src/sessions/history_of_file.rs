//! The history of one path: the rows of `changes` and `operation_files` that name it, with their steps and operations.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileResult, MessageState, OperationKind};
use rusqlite::{Connection, Row, params};

use super::operations::HAS_MOVED;
use super::read::{all, row};
use super::words::{WordTable, optional_word, word};
use super::{path, state};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::{Change, State};
use crate::model::path::WorkspacePath;

/// A step that changed, or may have changed, a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangingStep {
    pub step_id: String,
    pub message_id: String,
    pub session_id: String,
    /// The session of the message: the root, for a sub-agent.
    pub root_session_id: String,
    pub message_seq: i64,
    pub agent: String,
    pub prompt: Option<String>,
    pub state: MessageState,
}

row! {
    /// A change of a path.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct FileChange {
        pub id: i64,
        pub path: WorkspacePath = path,
        pub attribution: Attribution = |row| word(row, WordTable::Changes, "attribution"),
        pub reason: Option<String>,
        pub from_snapshot_id: Option<i64>,
        pub to_snapshot_id: Option<i64>,
        pub old: State = |row| state(row, "old_mode", "old_blob"),
        pub new: State = |row| state(row, "new_mode", "new_blob"),
        /// Whether it was undone for good.
        pub is_undone: bool,
        pub time: Milliseconds,
        /// `None` for a change from outside.
        pub author: Option<ChangingStep> = ChangingStep::of_change,
    }
}

row! {
    /// What an operation did to a path.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct FileOperation {
        pub id: String,
        pub seq: i64,
        pub kind: OperationKind = |row| word(row, WordTable::Operations, "kind"),
        pub session_id: Option<String>,
        /// The `seq` of the first message that is reverted after it, if any.
        pub reverted_from: Option<i64>,
        /// The message that was reverted alone, if any.
        pub alone: Option<String>,
        /// The step that was reverted alone, if any.
        pub step_id: Option<String>,
        pub before_snapshot_id: Option<i64>,
        pub expected: State = |row| state(row, "expected_mode", "expected_blob"),
        pub target: State = |row| state(row, "target_mode", "target_blob"),
        pub time: Milliseconds,
    }
}

const CHANGES: &str = "SELECT changes.id, changes.path, changes.path_raw, changes.attribution, changes.reason,
              changes.from_snapshot_id, changes.to_snapshot_id, changes.old_mode, changes.old_blob, changes.new_mode,
              changes.new_blob, changes.undone_by IS NOT NULL AS is_undone, changes.happened_at AS time, steps.id AS step_id,
              steps.message_id, steps.session_id, messages.session_id AS root_session_id, messages.seq AS message_seq,
              messages.prompt, messages.state, sessions.agent
         FROM changes
         LEFT JOIN steps ON steps.id = changes.step_id
         LEFT JOIN messages ON messages.id = steps.message_id
         LEFT JOIN sessions ON sessions.id = steps.session_id";

impl ChangingStep {
    /// Reads it from the row of a change; `None` for one from outside.
    fn of_change(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let step_id: Option<String> = row.get("step_id")?;
        let state = optional_word(row, WordTable::Messages, "state")?;
        let (Some(step_id), Some(state)) = (step_id, state) else {
            return Ok(None);
        };
        Ok(Some(Self {
            step_id,
            message_id: row.get("message_id")?,
            session_id: row.get("session_id")?,
            root_session_id: row.get("root_session_id")?,
            message_seq: row.get("message_seq")?,
            agent: row.get("agent")?,
            prompt: row.get("prompt")?,
            state,
        }))
    }
}

/// Returns the changes of a path, oldest first.
pub(crate) fn changes_of_path(
    connection: &Connection,
    workspace_id: i64,
    path: &WorkspacePath,
) -> Result<Vec<FileChange>> {
    let sql = format!(
        "{CHANGES} WHERE changes.workspace_id = ?1 AND changes.path = ?2 AND changes.path_raw IS ?3 ORDER BY changes.id"
    );
    all(
        connection,
        &sql,
        params![workspace_id, path.to_text(), path.raw()],
        FileChange::read,
    )
}

/// How far from one change of a snapshot the others are searched for. They are next to each other.
const SEARCH_DISTANCE: i64 = 5_000;

/// Returns the deletions that were seen in the same snapshot as a change: one may be the other half of a rename.
pub(crate) fn deleted_with(
    connection: &Connection,
    workspace_id: i64,
    change: &FileChange,
) -> Result<Vec<FileChange>> {
    let sql = format!(
        "{CHANGES} WHERE changes.id BETWEEN ?1 - {SEARCH_DISTANCE} AND ?1 + {SEARCH_DISTANCE} AND changes.workspace_id = ?2
            AND changes.to_snapshot_id IS ?3 AND changes.kind = 'deleted' ORDER BY changes.id"
    );
    all(
        connection,
        &sql,
        params![change.id, workspace_id, change.to_snapshot_id],
        FileChange::read,
    )
}

/// Returns the additions of a workspace that were seen in one of some snapshots, by snapshot.
pub(crate) fn additions_in(
    connection: &Connection,
    workspace_id: i64,
    snapshots: &BTreeSet<i64>,
) -> Result<BTreeMap<i64, Vec<Change>>> {
    // The unary `+` is there as in `deletions`.
    let sql = "SELECT to_snapshot_id, path, path_raw, new_mode, new_blob FROM changes
                WHERE +workspace_id = ?1 AND kind = 'added' ORDER BY id";
    let mut found: BTreeMap<i64, Vec<Change>> = BTreeMap::new();
    all(connection, sql, [workspace_id], |row| {
        let snapshot: Option<i64> = row.get("to_snapshot_id")?;
        if let Some(snapshot) = snapshot.filter(|snapshot| snapshots.contains(snapshot)) {
            found.entry(snapshot).or_default().push(Change {
                path: super::path(row)?,
                old: None,
                new: super::state(row, "new_mode", "new_blob")?,
            });
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the recorded deletions in a workspace, newest first. The unary `+` keeps SQLite from the index of paths, by
/// which it would look up every row by itself.
pub(crate) fn deletions(connection: &Connection, workspace_id: i64) -> Result<Vec<FileChange>> {
    let sql = format!(
        "{CHANGES} WHERE +changes.workspace_id = ?1 AND changes.old_mode IS NOT NULL
            AND (changes.new_mode IS NULL OR changes.kind = 'type') ORDER BY changes.id DESC"
    );
    all(connection, &sql, [workspace_id], FileChange::read)
}

row! {
    /// A file that an operation removed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct TakenFile {
        pub path: WorkspacePath = path,
        /// The state before.
        pub state: State = |row| state(row, "expected_mode", "expected_blob"),
        pub operation: String,
        pub time: Milliseconds,
    }
}

/// Returns the deletions of operations in a workspace, newest first.
pub(crate) fn taken_by_operations(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<TakenFile>> {
    let sql = "SELECT operation_files.path, operation_files.path_raw, operation_files.expected_mode,
                      operation_files.expected_blob, operations.id AS operation, operations.started_at AS time
                 FROM operations JOIN operation_files ON operation_files.operation_id = operations.id
                WHERE operations.workspace_id = ?1 AND operation_files.result = ?2 AND operation_files.action = 'delete'
                ORDER BY operations.seq DESC";
    let done = FileResult::Done.name();
    all(
        connection,
        sql,
        params![workspace_id, done],
        TakenFile::read,
    )
}

/// Returns the acts of operations on a path, oldest first.
pub(crate) fn operations_on_path(
    connection: &Connection,
    workspace_id: i64,
    path: &WorkspacePath,
) -> Result<Vec<FileOperation>> {
    // `min` of two values is NULL if either is, hence the `ifnull` in both.
    let sql = format!(
        "SELECT operations.id, operations.seq, operations.kind, operations.session_id, operations.step_id,
                      iif(operations.alone, operations.part_message_id, NULL) AS alone,
                      min(ifnull(moved.seq, part.seq), ifnull(part.seq, moved.seq)) AS reverted_from,
                      operations.before_snapshot_id, operations.started_at AS time, operation_files.result,
                      operation_files.expected_mode, operation_files.expected_blob,
                      operation_files.target_mode, operation_files.target_blob
                 FROM operation_files
                 JOIN operations ON operations.id = operation_files.operation_id
                 LEFT JOIN messages AS moved ON moved.id = operations.message_id AND operations.kind <> 'restore'
                 LEFT JOIN messages AS part ON part.id = operations.part_message_id AND NOT operations.alone
                WHERE operations.workspace_id = ?1 AND operation_files.path = ?2 AND operation_files.path_raw IS ?3
                  AND {HAS_MOVED}
                ORDER BY operations.seq"
    );
    all(
        connection,
        &sql,
        params![workspace_id, path.to_text(), path.raw()],
        FileOperation::read,
    )
}
