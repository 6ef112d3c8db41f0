//! What is known before a look at the workspace. It only reads the database.

use rusqlite::Connection;

use super::late::LatePaths;
use super::observe::snapshot_of;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::sessions;
use crate::snapshot::{Gap, Snapshot};

/// What is known before a look at the workspace, read under its lock, so that no other process looks meanwhile.
pub(crate) struct Baseline {
    /// The paths that tools named: they are captured even if ignored.
    pub(super) named: Vec<WorkspacePath>,
    pub(super) last: Option<Last>,
}

impl Baseline {
    /// Reads it. Call this in a transaction: otherwise each statement takes SQLite's locks anew.
    pub fn of(connection: &Connection, workspace_id: i64) -> Result<Self> {
        Ok(Self {
            named: sessions::forced_paths(connection, workspace_id)?,
            last: Last::of(connection, workspace_id)?,
        })
    }

    /// Returns whether there was a look, and none of it was stopped by its deadline.
    pub fn is_whole(&self) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| LatePaths::of(last.gaps.iter()).is_empty())
    }
}

/// The newest snapshot of a workspace.
pub(super) struct Last {
    pub id: i64,
    pub snapshot: Snapshot,
    pub gaps: Vec<Gap>,
    pub taken_at: Milliseconds,
}

impl Last {
    fn of(connection: &Connection, workspace_id: i64) -> Result<Option<Self>> {
        let Some(id) = sessions::workspace(connection, workspace_id)?.last_snapshot_id else {
            return Ok(None);
        };
        let row = sessions::snapshot(connection, id)?;
        Ok(Some(Self {
            id,
            snapshot: snapshot_of(&row),
            taken_at: row.taken_at,
            gaps: sessions::gaps_of(connection, id)?,
        }))
    }
}
