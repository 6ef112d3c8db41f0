//! Finds who made a change, according to rows. This module does IO: it reads.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::history::{Author, SessionRelation, Source};
use crate::error::Result;
use crate::sessions::{self, ChangeRow, LiveChange, SessionRow};

/// Finds the authors of changes of a workspace. A change that belongs to no step is the user's; but if an unrecorded
/// step was at work when it was seen, it may have been that one.
pub(crate) struct Authors<'a> {
    connection: &'a Connection,
    workspace_id: i64,
    /// The session that asks, if one does.
    own: Option<&'a SessionRow>,
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
            own: None,
            unrecorded: BTreeMap::new(),
        }
    }

    /// Returns it for a session that asks, from which other sessions of the same agent are told apart.
    pub fn beside(self, session: &'a SessionRow) -> Self {
        Self {
            own: Some(session),
            ..self
        }
    }

    /// Returns who made a change.
    pub fn of(&mut self, change: &LiveChange) -> Result<Author> {
        match change.row.step_id {
            Some(_) => Ok(Author::Agent(self.source(change))),
            None => self.of_no_step(&change.row),
        }
    }

    /// Returns who made a change that belongs to no step.
    pub fn of_no_step(&mut self, row: &ChangeRow) -> Result<Author> {
        let (from, to) = (row.from_snapshot_id, row.to_snapshot_id);
        let is_unrecorded = match self.unrecorded.get(&(from, to)) {
            Some(known) => *known,
            None => sessions::was_unrecorded(self.connection, self.workspace_id, from, to)?,
        };
        self.unrecorded.insert((from, to), is_unrecorded);
        Ok(Author::without_step(is_unrecorded))
    }

    fn relation(&self, change: &LiveChange) -> SessionRelation {
        match self.own {
            Some(own) if own.id == change.session_id => SessionRelation::Same,
            Some(own) if own.agent == change.agent => SessionRelation::OfSameAgent,
            _ => SessionRelation::Other,
        }
    }

    /// Returns the step that a change belongs to. What is not known of it, such as a session that was forgotten, is
    /// empty.
    pub fn source(&self, change: &LiveChange) -> Source {
        Source {
            relation: self.relation(change),
            step: change.row.step_id.clone().unwrap_or_default(),
            session: change.session_id.clone(),
            message: change.message_id.clone(),
            agent: change.agent.clone(),
        }
    }
}
