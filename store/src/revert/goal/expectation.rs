//! The state that an operation leads to, with which its result is compared. This module does IO: it reads rows.

use crate::error::Result;
use crate::model::path::WorkspacePath;
use crate::revert::request::chain::chain;
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::{Part, RevertScope};
use crate::revert::request::unclear::UnclearPolicy;
use crate::sessions::OperationRow;
use crate::store::Store;

/// The state that an operation is compared with, and what was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    /// The row of the state that it goes to.
    pub snapshot: i64,
    /// The paths it is limited to; all if empty.
    pub only: Vec<WorkspacePath>,
    /// The parts of its session's history that are undone.
    pub scopes: Vec<RevertScope>,
    /// Where what is unclear is undone as well.
    pub taken: Vec<RevertScope>,
    /// The session that is moved, with the state before its first revert.
    pub session: Option<(String, Option<i64>)>,
    /// The row of the state at the revert point, if the state that it goes to is later, so that earlier reverts of the
    /// session have undone more.
    pub point: Option<i64>,
}

impl Expectation {
    /// Returns the state that the result of a movement is compared with. Undoing one message or step alone leads to a state that
    /// never existed, and a message that was not captured has nothing to compare with.
    pub fn of_movement(
        movement: &Movement,
        scopes: Vec<RevertScope>,
        taken: Vec<RevertScope>,
    ) -> Option<Self> {
        let base = movement.session.revert_base_id;
        let only = match &movement.part {
            Some(Part::Message { .. } | Part::Step { .. }) => return None,
            Some(Part::Paths { only, .. }) => only.clone(),
            None => Vec::new(),
        };
        Some(Self {
            snapshot: movement.goal_snapshot()?,
            only,
            scopes,
            taken,
            session: Some((movement.session.id.clone(), base)),
            point: movement
                .from
                .as_ref()
                .filter(|_| movement.is_behind_the_point())
                .and_then(|point| point.snapshot_id),
        })
    }

    /// Returns the same for a movement that takes an operation back: the state before that one.
    /// What else the message is not, was said when that was asked for.
    pub fn of_undo(movement: &Movement, scopes: Vec<RevertScope>, before: i64) -> Self {
        let session = &movement.session;
        Self {
            scopes,
            session: Some((session.id.clone(), session.revert_base_id)),
            ..Self::of_restore(before, &[])
        }
    }

    /// Returns the same for an operation that is finished later, according to its row. Rows of older versions
    /// do not say.
    pub fn of_row(store: &Store, row: &OperationRow) -> Result<Option<Self>> {
        let Some(goal) = row.goal_snapshot_id else {
            return Ok(None);
        };
        let connection = store.database.connection();
        let Some(movement) = Movement::of_row(connection, row)? else {
            return Ok(Some(Self::of_restore(goal, &row.only_paths)));
        };
        let mut chain = match row.base_snapshot_id {
            Some(base) => chain(connection, &movement.session.id, base)?,
            None => Vec::new(),
        };
        if let Some(undone) = &row.undoes {
            chain.retain(|operation| operation.row.id != *undone);
            let scopes = movement.scopes(store, &chain)?;
            return Ok(Some(Self::of_undo(&movement, scopes, goal)));
        }
        let scopes = movement.scopes(store, &chain)?;
        let taking = UnclearPolicy::of_row(connection, &movement, &chain, &scopes, row.unclear)?;
        let expectation = Self::of_movement(&movement, scopes, taking.scopes);
        Ok(expectation.map(|expectation| Self {
            snapshot: goal,
            ..expectation
        }))
    }

    /// Returns the same for a restore.
    pub fn of_restore(snapshot: i64, only: &[WorkspacePath]) -> Self {
        Self {
            snapshot,
            only: only.to_vec(),
            scopes: Vec::new(),
            taken: Vec::new(),
            session: None,
            point: None,
        }
    }
}
