//! Finds who made a change, according to rows. This module does IO: it reads.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::history::{Author, Source};
use crate::error::Result;
use crate::sessions::{self, ChangeRow, LiveChange};

/// Finds the authors of changes of a workspace. A change that belongs to no step is the user's; but if an unrecorded
/// step was at work when it was seen, it may have been that one.
pub(crate) struct Authors<'a> {
    connection: &'a Connection,
    workspace_id: i64,
    /// Whether an unrecorded step was at work between two snapshots. For all changes between them, the answer is the
    /// same.
    unrecorded: BTreeMap<(Option<i64>, Option<i64>), bool>,
}

impl<'a> Authors<'a> {
    /// Returns one that knows nothing yet.
    pub fn new(connection: &'a Connection, workspace_id: i64) -> Self {
        Self {
            connection,
            workspace_id,
            unrecorded: BTreeMap::new(),
        }
    }

    /// Returns who made a change.
    pub fn of(&mut self, change: &LiveChange) -> Result<Author> {
        match change.row.step_id {
            Some(_) => Ok(Author::Agent(Source::of(change))),
            None => self.of_nobody(&change.row),
        }
    }

    /// Returns who made a change that belongs to no step.
    pub fn of_nobody(&mut self, row: &ChangeRow) -> Result<Author> {
        let (from, to) = (row.from_snapshot_id, row.to_snapshot_id);
        let is_unrecorded = match self.unrecorded.get(&(from, to)) {
            Some(known) => *known,
            None => sessions::was_unrecorded(self.connection, self.workspace_id, from, to)?,
        };
        self.unrecorded.insert((from, to), is_unrecorded);
        Ok(Author::nobody(is_unrecorded))
    }
}

impl Source {
    /// Returns the step that a change belongs to. What is not known of it, such as a session that was forgotten, is
    /// empty.
    pub(crate) fn of(change: &LiveChange) -> Self {
        Self {
            step: change.row.step_id.clone().unwrap_or_default(),
            session: change.session_id.clone(),
            message: change.message_id.clone(),
            agent: change.agent.clone(),
        }
    }
}
