//! What the operations of a workspace did since a snapshot, or at a moment.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::operations::HAS_MOVED;
use super::read;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::Change;
use crate::model::path::WorkspacePath;

/// Returns the newest operation on a session that began since a moment and is done.
pub(crate) fn newest_operation_since(
    connection: &Connection,
    session: &str,
    since: Milliseconds,
) -> Result<Option<String>> {
    let sql =
        "SELECT id FROM operations WHERE session_id = ?1 AND started_at >= ?2 AND state = 'done'
                ORDER BY seq DESC LIMIT 1";
    let what = "cannot read the operations";
    read::value_or_none(connection, what, sql, params![session, since])
}

/// Returns the paths that operations wrote or removed since a snapshot, leaving out the whole moves of one chain of
/// reverts, given by its session and the state before it.
///
/// A step or a message that was undone alone stays undone afterwards. So a path that it had to keep, because a later
/// step had edited it, counts, too: once that later step is undone, the path goes.
pub(crate) fn moved_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
    without: Option<(&str, Option<i64>)>,
) -> Result<BTreeSet<WorkspacePath>> {
    let (session, base) = without.unzip();
    // `IS NOT`, because `<>` is NULL for an operation without a session, and would leave it out.
    let sql = format!(
        "SELECT DISTINCT path, path_raw
           FROM operations JOIN operation_files ON operation_files.operation_id = operations.id
          WHERE workspace_id = ?1 AND before_snapshot_id >= ?2 AND state = 'done'
            AND ({HAS_MOVED} OR result = 'conflict' AND (part_message_id IS NOT NULL OR step_id IS NOT NULL))
            AND (?3 IS NULL OR session_id IS NOT ?3 OR base_snapshot_id IS NOT ?4
                 OR part_message_id IS NOT NULL OR step_id IS NOT NULL)"
    );
    let paths = read::all(
        connection,
        &sql,
        params![workspace_id, snapshot_id, session, base.flatten()],
        super::path,
    )?;
    Ok(paths.into_iter().collect())
}

/// What an operation did to a path.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    /// The snapshot before the operation.
    pub before: i64,
    /// From what it found to what it left.
    pub change: Change,
}

/// Returns the changes of paths by operations since a snapshot, in their order.
pub(crate) fn put_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
) -> Result<Vec<Put>> {
    let sql = format!(
        "SELECT path, path_raw, before_snapshot_id, expected_mode, expected_blob, target_mode, target_blob
           FROM operations JOIN operation_files ON operation_files.operation_id = operations.id
          WHERE workspace_id = ?1 AND before_snapshot_id >= ?2 AND state = 'done' AND {HAS_MOVED}
          ORDER BY operations.seq"
    );
    let what = "cannot read what operations wrote";
    let parameters = params![workspace_id, snapshot_id];
    read::all_or(connection, what, &sql, parameters, |row| {
        let change = Change {
            path: super::path(row)?,
            old: super::state(row, "expected_mode", "expected_blob")?,
            new: super::state(row, "target_mode", "target_blob")?,
        };
        let before = row.get("before_snapshot_id")?;
        Ok(Put { before, change })
    })
}

/// Returns whether an operation of a workspace was at work at a moment.
pub(crate) fn was_operation_at_work(
    connection: &Connection,
    workspace_id: i64,
    between: (Milliseconds, Milliseconds),
) -> Result<bool> {
    let sql = "SELECT 1 FROM operations WHERE workspace_id = ?1 AND started_at <= ?3 AND finished_at >= ?2";
    let what = "cannot read when an operation was at work";
    read::any(
        connection,
        what,
        sql,
        params![workspace_id, between.0, between.1],
    )
}
