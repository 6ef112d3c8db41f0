//! What the operations of a workspace did since a snapshot, or at a moment.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::operations::HAS_MOVED;
use super::read;
use crate::error::{Context, Result};
use crate::model::Milliseconds;
use crate::model::entry::State;
use crate::model::path::WorkspacePath;

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

/// Returns the states that operations gave to paths since a snapshot, each with the snapshot before the operation.
pub(crate) fn put_since(
    connection: &Connection,
    workspace_id: i64,
    snapshot_id: i64,
) -> Result<BTreeMap<WorkspacePath, Vec<(i64, State)>>> {
    let sql = format!(
        "SELECT path, path_raw, before_snapshot_id, target_mode, target_blob
           FROM operations JOIN operation_files ON operation_files.operation_id = operations.id
          WHERE workspace_id = ?1 AND before_snapshot_id >= ?2 AND state = 'done' AND {HAS_MOVED}"
    );
    let what = "cannot read what operations wrote";
    let parameters = params![workspace_id, snapshot_id];
    let all = read::all_or(connection, what, &sql, parameters, |row| {
        let state = super::state(row, "target_mode", "target_blob")?;
        Ok((super::path(row)?, (row.get("before_snapshot_id")?, state)))
    })?;
    let mut put = BTreeMap::<_, Vec<_>>::new();
    for (path, state) in all {
        put.entry(path).or_default().push(state);
    }
    Ok(put)
}

/// Returns whether an operation of a workspace was at work at a moment.
pub(crate) fn was_operation_at_work(
    connection: &Connection,
    workspace_id: i64,
    between: (Milliseconds, Milliseconds),
) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM operations
                               WHERE workspace_id = ?1 AND started_at <= ?3 AND finished_at >= ?2)";
    let named = params![workspace_id, between.0, between.1];
    connection
        .query_row(sql, named, |row| row.get(0))
        .context(|| "cannot read when an operation was at work")
}
