//! What operations took away that earlier ones had brought or taken, by the newest rows of `operation_files` of a path.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::FileAction;
use rusqlite::{Connection, params};

use super::operations::HAS_MOVED;
use super::read;
use super::words::{WordTable, word};
use crate::error::Result;
use crate::model::path::WorkspacePath;

/// Returns the paths that are gone only because an operation took back a revert that had brought them back. That
/// revert was sure of them: it kept what was unclear.
pub(crate) fn brought_back_and_taken_away(
    connection: &Connection,
    workspace_id: i64,
) -> Result<BTreeSet<WorkspacePath>> {
    let sql = format!(
        "SELECT path, path_raw,
                kind = 'revert' AND unclear = 'keep' AND reason IS NULL AND expected_mode IS NULL AS is_back
           FROM operations JOIN operation_files ON operation_files.operation_id = operations.id
          WHERE workspace_id = ?1 AND state = 'done' AND {HAS_MOVED}
          ORDER BY seq"
    );
    let moves = read::all(connection, &sql, [workspace_id], |row| {
        Ok((super::path(row)?, row.get::<_, bool>("is_back")?))
    })?;
    let mut brought = BTreeMap::new();
    for (path, is_back) in moves {
        let was_back = brought.get(&path) == Some(&BroughtBack::Now);
        let state = match (is_back, was_back) {
            (true, _) => BroughtBack::Now,
            (false, true) => BroughtBack::Before,
            (false, false) => BroughtBack::Never,
        };
        brought.insert(path, state);
    }
    brought.retain(|_, state| *state == BroughtBack::Before);
    Ok(brought.into_keys().collect())
}

/// Returns the message, by `seq`, to which a revert took away a folder, if that was the newest operation on it, or the
/// one before that and the newest brought it back.
pub(crate) fn taken_away_to(
    connection: &Connection,
    workspace_id: i64,
    path: &WorkspacePath,
) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT operation_id, position, path, path_raw, action, messages.seq AS message
           FROM operation_files
           JOIN operations ON operations.id = operation_id
           LEFT JOIN messages ON messages.id = operations.message_id AND kind = 'revert'
          WHERE path = ?2 AND operations.workspace_id = ?1 AND operations.state = 'done' AND {HAS_MOVED}
          ORDER BY operations.seq DESC"
    );
    let rows = read::all(
        connection,
        &sql,
        params![workspace_id, path.to_text()],
        |row| {
            let action: FileAction = word(row, WordTable::OperationFiles, "action")?;
            Ok((
                super::path(row)?,
                action == FileAction::Delete,
                row.get::<_, Option<i64>>("message")?,
            ))
        },
    )?;
    let mut moves = rows.into_iter().filter(|(moved, ..)| moved == path);
    Ok(match (moves.next(), moves.next()) {
        (Some((_, true, message)), _) | (Some(_), Some((_, true, message))) => message,
        _ => None,
    })
}

/// Whether the last operation on a path brought it back, or the one before that.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BroughtBack {
    Now,
    Before,
    Never,
}
