//! Finds the directories that may go with what is undone. This module does IO, but only reads.

use std::collections::BTreeSet;

use ckpt_schema::report::OperationKind;

use crate::error::Result;
use crate::fs::times;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::revert::plan::operation::Operation;
use crate::revert::request::chain::chain;
use crate::revert::request::movement::Movement;
use crate::sessions;
use crate::snapshot::{Presence, Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::Place;
use crate::timeline::evidence::TICK;

/// Returns the directories that may go if they are empty afterwards: those that did not exist before what is undone.
pub(crate) fn directories_that_may_go(
    store: &Store,
    place: &Place,
    operation: &Operation<'_>,
) -> Result<Vec<WorkspacePath>> {
    let leaving = operation.plan.items.iter().filter(|item| item.empties());
    let parents = WorkspacePath::all_above(leaving.map(|item| &item.path));
    let (Some(reference), false) = (operation.reference, parents.is_empty()) else {
        return Ok(Vec::new());
    };
    let connection = store.database.connection();
    let snapshots = place.snapshots()?;
    // A directory that was there before stays, even if only what the agent put into it kept it from being empty: an
    // empty directory is the user's, too.
    let (kept, mut may_go) =
        snapshots.part_directories(&reference, parents.into_iter().collect())?;
    let Some(movement) = operation.movement else {
        return Ok(may_go);
    };
    let operations = match operation.base {
        Some(base) => chain(connection, &movement.session.id, base)?,
        None => Vec::new(),
    };
    let made: BTreeSet<WorkspacePath> = operations
        .iter()
        .flat_map(|operation| operation.row.directories.made.keys().cloned())
        .collect();
    if !may_go.is_empty() {
        // One in an ignored directory may have existed, empty.
        let mut presences = snapshots.presences(&reference, &may_go)?.into_iter();
        let came_since = came_since(store, place, movement)?;
        may_go.retain(|path| {
            presences.next() == Some(Presence::Absent) || made.contains(path) || came_since(path)
        });
    }
    if let Some(base) = operation.base {
        let base = sessions::snapshot(connection, base)?.snapshot;
        may_go.extend(made_again(&snapshots, (&reference, &base), kept, &made)?);
        may_go.sort_unstable();
    }
    Ok(may_go)
}

/// Returns a check whether a hidden directory may have come since the message that a revert goes back to, by the time
/// of its creation. Where that is not known, it may. Any other movement asks only for what the reverts made.
fn came_since<'a>(
    store: &'a Store,
    place: &'a Place,
    movement: &Movement,
) -> Result<impl Fn(&WorkspacePath) -> bool + 'a> {
    let sent_at = match (movement.kind, movement.since) {
        (OperationKind::Revert, Some(since)) => {
            let connection = store.database.connection();
            Some(sessions::work_since(connection, &movement.session.id, since)?.sent_at)
        }
        (OperationKind::Revert, None) => Some(Milliseconds::MIN),
        (OperationKind::Redo | OperationKind::Unrevert | OperationKind::Restore, _) => None,
    };
    let told = store.surroundings.file_times;
    Ok(move |path: &WorkspacePath| {
        let path = path.on_disk(&place.root);
        let made = times::created_at(&path).map(told);
        sent_at.is_some_and(|sent_at| made.is_none_or(|made| made + TICK >= sent_at))
    })
}

/// Returns the directories that an earlier revert made and that did not exist before the first: they go with what they
/// were made for, unless they were there without that.
fn made_again(
    snapshots: &Snapshots,
    (reference, base): (&Snapshot, &Snapshot),
    kept: Vec<WorkspacePath>,
    made: &BTreeSet<WorkspacePath>,
) -> Result<Vec<WorkspacePath>> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let was_empty = snapshots.states(reference, &kept)?;
    let made = kept
        .into_iter()
        .zip(was_empty)
        .filter(|(path, state)| made.contains(path) && state.is_none())
        .map(|(path, _)| path)
        .collect();
    Ok(snapshots.part_directories(base, made)?.1)
}
