//! The rows behind `bisect`: which states there are, and whose changes lie between two of them.

use ckpt_schema::report::BisectStep;
use rusqlite::{Connection, Row};

use crate::error::Result;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, SnapshotRow, read};

/// The states just before the messages, and around the steps, of a workspace from one on, in their order.
const STATES: &str = "
    WITH known (id) AS (
        SELECT messages.snapshot_id FROM messages JOIN sessions ON sessions.id = messages.session_id
         WHERE sessions.workspace_id = ?1
        UNION
        SELECT steps.start_snapshot_id FROM steps JOIN sessions ON sessions.id = steps.session_id
         WHERE sessions.workspace_id = ?1
        UNION
        SELECT steps.finish_snapshot_id FROM steps JOIN sessions ON sessions.id = steps.session_id
         WHERE sessions.workspace_id = ?1)
    SELECT id FROM snapshots WHERE id IN known AND id >= ?2 AND pruned_at IS NULL ORDER BY id";

/// The changes between two states, with what each belongs to.
const CHANGES: &str = "
    SELECT changes.path, changes.path_raw, steps.id AS step, messages.id AS message, messages.prompt
      FROM changes
      LEFT JOIN steps ON steps.id = changes.step_id
      LEFT JOIN messages ON messages.id = steps.message_id
     WHERE changes.workspace_id = ?1 AND changes.to_snapshot_id > ?2 AND changes.to_snapshot_id <= ?3
     ORDER BY changes.id";

/// Returns the recorded states of a workspace from a snapshot on. Those that are equal to the one before are left out.
pub(super) fn states(
    connection: &Connection,
    workspace_id: i64,
    from: i64,
) -> Result<Vec<SnapshotRow>> {
    let what = "cannot list the recorded states";
    let ids = read::all_or(connection, what, STATES, (workspace_id, from), |row| {
        row.get(0)
    })?;
    let mut states: Vec<SnapshotRow> = Vec::new();
    for id in ids {
        let row = sessions::snapshot_row(connection, id)?;
        let is_equal = |last: &SnapshotRow| {
            (last.snapshot.tree, last.snapshot.attributes)
                == (row.snapshot.tree, row.snapshot.attributes)
        };
        if !states.last().is_some_and(is_equal) {
            states.push(row);
        }
    }
    Ok(states)
}

/// A change between two states.
pub(super) struct Made {
    pub path: WorkspacePath,
    /// The step that made it.
    pub by: Option<BisectStep>,
}

/// Returns the changes after one state, up to another.
pub(super) fn made_between(
    connection: &Connection,
    workspace_id: i64,
    from: i64,
    to: i64,
) -> Result<Vec<Made>> {
    let what = "cannot read the changes between two states";
    let rows = read::all_or(connection, what, CHANGES, (workspace_id, from, to), made)?;
    Ok(rows.into_iter().flatten().collect())
}

fn made(row: &Row<'_>) -> rusqlite::Result<Option<Made>> {
    let raw: Option<Vec<u8>> = row.get("path_raw")?;
    let bytes = match raw {
        Some(raw) => raw,
        None => row.get::<_, String>("path")?.into_bytes(),
    };
    let step: Option<String> = row.get("step")?;
    let message: Option<String> = row.get("message")?;
    let prompt = row.get("prompt")?;
    Ok(WorkspacePath::new(bytes).ok().map(|path| Made {
        path,
        by: step.zip(message).map(|(step, message)| BisectStep {
            message,
            prompt,
            step,
        }),
    }))
}
