//! What is known before a look at the workspace. It only reads the database.

use rusqlite::Connection;

use super::Place;
use super::deferred_files::LatePaths;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::sessions;
use crate::snapshot::{Gap, Snapshot, Snapshots};

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
    pub fn is_whole(&self, place: &Place) -> Result<bool> {
        let Some(last) = &self.last else {
            return Ok(false);
        };
        Ok(LatePaths::of(&last.gaps(&place.snapshots()?)?).is_empty())
    }
}

/// The newest snapshot of a workspace.
pub(super) struct Last {
    pub id: i64,
    pub snapshot: Snapshot,
    /// How many of its seen entries reports list.
    gaps: u64,
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
            snapshot: row.snapshot,
            taken_at: row.taken_at,
            gaps: row.gaps,
        }))
    }

    /// Reads the seen entries that reports list. Most snapshots have none.
    pub fn gaps(&self, snapshots: &Snapshots) -> Result<Vec<Gap>> {
        match self.gaps {
            0 => Ok(Vec::new()),
            _ => snapshots.gaps(&self.snapshot),
        }
    }
}
