//! Rows of `operation_git`, and the states in which a workspace's repository was seen.

use ckpt_schema::report::FileResult;
use rusqlite::{Connection, params};

use super::read::{self, row};
use super::words::{WordTable, word};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::git_item::{GitItem, GitReason, GitStateRow};

/// A snapshot with the state of the user's repository at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenGit {
    /// `None` stands for the present look.
    pub snapshot_id: Option<i64>,
    /// When it was taken: now, for the present look.
    pub taken_at: Milliseconds,
    /// `None` if there was no repository.
    pub state: Option<GitStateRow>,
}

row! {
    /// The part of the line of snapshots in which a step was at work.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct StepSpan {
        pub step_id: String,
        /// The session of its message: the root of its own session's parents.
        pub session_id: String,
        pub agent: String,
        pub message_seq: i64,
        pub start: i64,
        /// `None` while it is open.
        pub finish: Option<i64>,
        pub started_at: Milliseconds,
        /// `None` while it is open.
        pub finished_at: Option<Milliseconds>,
        /// Whether a permanent revert has undone it in git, too.
        pub is_undone: bool,
    }
}

/// Returns the states from one snapshot of a workspace up to another, or to the newest, oldest first.
pub(crate) fn git_line(
    connection: &Connection,
    workspace_id: i64,
    from: i64,
    to: Option<i64>,
) -> Result<Vec<SeenGit>> {
    let sql = "SELECT snapshots.id AS snapshot_id, snapshots.taken_at, git_states.id AS state_id, head, branch, index_blob, doing
               FROM snapshots LEFT JOIN git_states ON git_states.id = snapshots.git_state_id
              WHERE snapshots.workspace_id = ?1 AND snapshots.id >= ?2 AND (?3 IS NULL OR snapshots.id <= ?3) ORDER BY snapshots.id";
    read::all_or(
        connection,
        "cannot read git states",
        sql,
        params![workspace_id, from, to],
        |row| {
            // Not by its values: all may be NULL in a repository without a commit.
            let is_there = row.get::<_, Option<i64>>("state_id")?.is_some();
            let state = if is_there {
                Some(GitStateRow::read(row)?)
            } else {
                None
            };
            Ok(SeenGit {
                snapshot_id: row.get("snapshot_id")?,
                taken_at: row.get("taken_at")?,
                state,
            })
        },
    )
}

/// The steps of a workspace since a snapshot. `CROSS JOIN` and `+`: from the few steps since then, by their indexes.
/// SQLite would read all steps of the workspace.
const STEP_SPANS: &str = "SELECT steps.id AS step_id, messages.session_id, sessions.agent, messages.seq AS message_seq, steps.start_snapshot_id AS start,
                    steps.finish_snapshot_id AS finish, steps.started_at, steps.finished_at,
                    messages.state = 'discarded' AND EXISTS (
                      SELECT 1 FROM operations
                        JOIN messages AS point ON point.id = operations.message_id
                        JOIN operation_git ON operation_git.operation_id = operations.id
                       WHERE operations.session_id = messages.session_id AND operations.kind = 'revert'
                         AND operation_git.result = 'done' AND operation_git.part <> 'index'
                         AND point.seq <= messages.seq AND operations.started_at >= messages.created_at) AS is_undone
               FROM steps
               CROSS JOIN messages ON messages.id = steps.message_id
               CROSS JOIN sessions ON sessions.id = messages.session_id
              WHERE sessions.workspace_id = ?1 AND steps.start_snapshot_id IS NOT NULL
                AND (steps.finish_snapshot_id >= ?2 OR steps.state = 'open')
              ORDER BY +steps.seq";

/// Returns the steps of a workspace that ended at or after a snapshot, or are open: a step that changed neither files
/// nor HEAD ends with the snapshot that it began with.
pub(crate) fn step_spans(
    connection: &Connection,
    workspace_id: i64,
    from: i64,
) -> Result<Vec<StepSpan>> {
    read::all_or(
        connection,
        "cannot read steps",
        STEP_SPANS,
        [workspace_id, from],
        StepSpan::read,
    )
}

/// Writes the plan for git, or notes the result of each of its parts.
pub(crate) fn put_git_items(
    connection: &Connection,
    operation: &str,
    items: &[GitItem],
) -> Result<()> {
    for (position, item) in (0_i64..).zip(items) {
        let sql = "INSERT INTO operation_git (operation_id, position, part, name, expected, target, result, reason, unclear)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT DO UPDATE SET result = excluded.result, reason = excluded.reason, unclear = excluded.unclear";
        let values = params![
            operation,
            position,
            item.part.name(),
            item.name,
            item.expected,
            item.target,
            item.result.name(),
            item.reason.as_ref().map(|reason| &reason.text),
            item.reason.as_ref().is_some_and(|reason| reason.is_unclear),
        ];
        super::execute(connection, "cannot write the operation's rows", sql, values)?;
    }
    Ok(())
}

/// Returns an operation's plan for git, in order, with the results that are known.
pub(crate) fn git_items(connection: &Connection, operation: &str) -> Result<Vec<GitItem>> {
    let sql = "SELECT operation_id, position, part, name, expected, target, result, reason, unclear FROM operation_git
              WHERE operation_id = ?1 ORDER BY position";
    read::all_or(
        connection,
        "cannot read an operation",
        sql,
        [operation],
        |row| {
            Ok(GitItem {
                part: word(row, WordTable::OperationGit, "part")?,
                name: row.get("name")?,
                expected: row.get("expected")?,
                target: row.get("target")?,
                result: word(row, WordTable::OperationGit, "result")?,
                reason: match row.get("reason")? {
                    Some(text) => Some(GitReason {
                        text,
                        is_unclear: row.get("unclear")?,
                    }),
                    None => None,
                },
            })
        },
    )
}

/// An operation that moved git's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitOperation {
    /// Its place in the order.
    pub seq: i64,
    /// Whether it is a restore, and no move of a revert point.
    pub is_restore: bool,
    /// The snapshot before it.
    pub before: Option<i64>,
    /// The snapshot after it.
    pub after: Option<i64>,
    /// What it moved.
    pub done: Vec<GitItem>,
}

/// Returns the closed operations of a workspace that moved git's state since a snapshot, oldest first.
pub(crate) fn git_operations_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
) -> Result<Vec<GitOperation>> {
    let sql = "SELECT id, seq, kind = 'restore' AS is_restore, before_snapshot_id, after_snapshot_id FROM operations
                WHERE workspace_id = ?1 AND before_snapshot_id >= ?2 AND state = 'done'
                  AND EXISTS (SELECT 1 FROM operation_git WHERE operation_id = operations.id AND result = 'done')
                ORDER BY seq";
    let values = params![workspace_id, snapshot_id];
    let mut operations = read::all(connection, sql, values, |row| {
        let operation = GitOperation {
            seq: row.get("seq")?,
            is_restore: row.get("is_restore")?,
            before: row.get("before_snapshot_id")?,
            after: row.get("after_snapshot_id")?,
            done: Vec::new(),
        };
        Ok((row.get::<_, String>("id")?, operation))
    })?;
    for (id, operation) in &mut operations {
        operation.done = git_items(connection, id)?;
        operation
            .done
            .retain(|item| item.result == FileResult::Done);
    }
    Ok(operations
        .into_iter()
        .map(|(_, operation)| operation)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Database;
    use crate::settings::Durability;

    /// The steps since a snapshot are found however many came before.
    #[test]
    fn steps_since_a_snapshot_are_found() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let database = Database::open(folder.path(), Durability::Objects).expect("a fresh folder");
        let sql = format!("EXPLAIN QUERY PLAN {STEP_SPANS}");
        let plan = |row: &rusqlite::Row<'_>| row.get::<_, String>("detail");
        let plan = read::all(database.connection(), &sql, [1, 1], plan).expect("a plan");
        let plan = plan.join("\n");
        assert!(plan.contains("steps_by_finish"), "{plan}");
        assert!(!plan.contains("SCAN"), "{plan}");
    }
}
