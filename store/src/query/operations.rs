//! `log --operations`: one statement, however long the history is.

use std::path::Path;

use ckpt_schema::report::{OperationEntry, OperationsReport, VERSION};
use rusqlite::types::Null;
use rusqlite::{Connection, Row, ToSql};

use super::history::{HistoryRange, Loss, loss, root};
use super::{LogFilter, choose, roots};
use crate::error::Result;
use crate::sessions::HAS_MOVED;
use crate::sessions::read::{OperationState, WordTable, all, count, optional_word, word};
use crate::store::Store;
use crate::timeline::{self, Place};

/// Lists the operations of a workspace, or of all, newest first.
pub(crate) fn operations(
    store: &Store,
    cwd: &Path,
    filter: &LogFilter,
) -> Result<OperationsReport> {
    let connection = store.database.connection();
    let place = match filter.everywhere {
        true => None,
        false => Place::find(store, cwd)?,
    };
    let place = place.as_ref();
    let mut operations = match place {
        None if !filter.everywhere => Vec::new(),
        None => read_operations(connection, HistoryRange::All)?,
        Some(place) => read_operations(connection, HistoryRange::Workspace(place.row.id))?,
    };
    if place.is_some() || filter.everywhere {
        let workspace_id = place.map(|place| place.row.id);
        let session = filter.session.as_deref();
        let session = session.map(|id| root(connection, workspace_id, id));
        let session = session.transpose()?;
        let session = session.as_deref();
        choose::operations(connection, place, session, filter, &mut operations)?;
    }
    // Only now: SQL's `LIMIT` would count what the filter leaves out.
    if let Some(limit) = filter.limit {
        operations.truncate(limit);
    }
    let names = operations.iter_mut().map(|it| &mut it.workspace);
    timeline::name_present_paths(connection, Some(cwd), names)?;
    let Loss {
        set_aside,
        unknown_workspaces,
    } = loss(store, operations.is_empty())?;
    Ok(OperationsReport {
        version: VERSION,
        operations,
        set_aside,
        unknown_workspaces,
    })
}

/// How many files an operation only moves: each is written and removed, and is one file. Empty ones are all alike.
const ONLY_MOVED: &str = "(
    SELECT ifnull(sum(min(gone, come)), 0)
      FROM (SELECT count(*) FILTER (WHERE action = 'delete') AS gone,
                   count(*) FILTER (WHERE action = 'write' AND expected_mode IS NULL) AS come
              FROM operation_files
             WHERE operation_id = operations.id AND result = 'done' AND reason IS NULL
               AND iif(action = 'delete', expected_blob, target_blob) <> 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
             GROUP BY iif(action = 'delete', expected_blob, target_blob)))";

/// Reads operations, newest first, with what they did in all roots of their sessions.
pub(super) fn read_operations(
    connection: &Connection,
    range: HistoryRange<'_>,
) -> Result<Vec<OperationEntry>> {
    let rows = match &range {
        HistoryRange::All => read_rows(
            connection,
            "?1 IS NULL AND operations.part_of IS NULL",
            &Null,
        ),
        HistoryRange::Workspace(id) => read_rows(connection, "operations.workspace_id = ?1", id),
        HistoryRange::Only(id) => read_rows(connection, "operations.id = ?1", id),
    };
    Ok(roots::of_operations(
        rows?,
        read_rows(connection, IN_ROOTS, &Null)?,
    ))
}

/// Chooses the operations of which there are parts in several roots.
const IN_ROOTS: &str = "?1 IS NULL AND (operations.part_of IS NOT NULL
    OR operations.id IN (SELECT part_of FROM operations))";

/// Whether one moved no point of a session, and whether it put everything back to a state.
const IS_RESTORE: &str = "session_id IS NULL";
const IS_WHOLE: &str = "(goal_snapshot_id IS NOT NULL AND only_paths = '[]')";

/// Reads operations, newest first, each with the one that it is a part of.
fn read_rows(
    connection: &Connection,
    chosen: &str,
    value: &dyn ToSql,
) -> Result<Vec<(OperationEntry, Option<String>)>> {
    let sql = format!(
        "SELECT operations.id, operations.part_of, workspaces.path AS workspace, kind, session_id, undoes, started_at, state, outcome, git,
                ifnull(message_id, iif({IS_RESTORE} AND {IS_WHOLE}, asked_message_id, NULL)) AS message_id,
                iif(alone, part_message_id, NULL) AS alone,
                CASE WHEN alone THEN NULL WHEN {IS_RESTORE} AND NOT {IS_WHOLE} THEN asked_message_id
                     ELSE ifnull(part_message_id, (SELECT steps.message_id FROM steps WHERE steps.id = operations.step_id)) END AS part,
                operations.conversation IS NOT NULL AS conversation,
                before.tree AS before_tree, after.tree AS after_tree,
                count(*) FILTER (WHERE {HAS_MOVED}) - {ONLY_MOVED} AS files,
                count(*) FILTER (WHERE result = 'conflict') AS conflicts
           FROM operations JOIN workspaces ON workspaces.id = operations.workspace_id
           LEFT JOIN snapshots AS before ON before.id = before_snapshot_id
           LEFT JOIN snapshots AS after ON after.id = after_snapshot_id
           LEFT JOIN operation_files ON operation_id = operations.id
          WHERE {chosen} GROUP BY operations.seq ORDER BY operations.seq DESC"
    );
    all(connection, &sql, [value], |row| {
        Ok((read_operation(row)?, row.get("part_of")?))
    })
}

fn read_operation(row: &Row<'_>) -> rusqlite::Result<OperationEntry> {
    Ok(OperationEntry {
        id: row.get("id")?,
        kind: word(row, WordTable::Operations, "kind")?,
        session: row.get("session_id")?,
        message: row.get("message_id")?,
        alone: row.get("alone")?,
        part: row.get("part")?,
        undoes: row.get("undoes")?,
        time: row.get("started_at")?,
        state: word::<OperationState>(row, WordTable::Operations, "state")?
            .name()
            .to_owned(),
        outcome: optional_word(row, WordTable::Operations, "outcome")?,
        before: row.get("before_tree")?,
        after: row.get("after_tree")?,
        files: count(row, "files")?,
        conflicts: count(row, "conflicts")?,
        git: row.get("git")?,
        conversation: row.get("conversation")?,
        workspace: row.get("workspace")?,
        roots: Vec::new(),
    })
}
