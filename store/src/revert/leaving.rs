//! Finds the directories that may go with what is undone. This module does IO, but only reads.

use std::collections::BTreeSet;

use super::chain::chain;
use super::ignored;
use super::operation::Operation;
use crate::error::Result;
use crate::model::path::WorkspacePath;
use crate::sessions;
use crate::snapshot::{Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::{Place, snapshot_of};

/// Returns the directories that may go if they are empty afterwards: those that did not exist before what is undone.
pub(super) fn directories_that_may_go(
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
    let parents: Vec<WorkspacePath> = parents.into_iter().collect();
    let snapshots = place.snapshots()?;
    let were_there = snapshots.are_directories(&reference, &parents)?;
    // A directory that was there before stays, even if only what the agent put into it kept it from being empty: an
    // empty directory is the user's, too.
    let (kept, mut may_go) = parted(parents, &were_there);
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
        // A directory that ignore rules hid may have existed, empty.
        let are_hidden = snapshots.are_directories_hidden(&reference, &may_go)?;
        let mut are_hidden = are_hidden.into_iter();
        let came_since = ignored::came_since(store, place, movement)?;
        may_go.retain(|path| {
            !are_hidden.next().unwrap_or_default() || made.contains(path) || came_since(path)
        });
    }
    if let Some(base) = operation.base {
        let base = snapshot_of(&sessions::snapshot(connection, base)?);
        may_go.extend(made_again(&snapshots, (&reference, &base), kept, &made)?);
        may_go.sort_unstable();
    }
    Ok(may_go)
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
    let made: Vec<WorkspacePath> = kept
        .into_iter()
        .zip(was_empty)
        .filter(|(path, state)| made.contains(path) && state.is_none())
        .map(|(path, _)| path)
        .collect();
    let were_there = snapshots.are_directories(base, &made)?;
    Ok(parted(made, &were_there).1)
}

/// Splits paths into those for which `holds` is true, and the others.
fn parted(paths: Vec<WorkspacePath>, holds: &[bool]) -> (Vec<WorkspacePath>, Vec<WorkspacePath>) {
    let (mut those, mut others) = (Vec::new(), Vec::new());
    for (path, holds) in paths.into_iter().zip(holds) {
        if *holds {
            those.push(path);
        } else {
            others.push(path);
        }
    }
    (those, others)
}
