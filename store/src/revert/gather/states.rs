//! Reads the states of a movement's paths, now and before the first revert. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::FileResult;
use rusqlite::Connection;

use super::PathStates;
use crate::error::Result;
use crate::model::entry::{Entry, EntryKind, Mode, State, is_unstored};
use crate::model::path::WorkspacePath;
use crate::sessions::{self, ChainOperation};
use crate::snapshot::{Snapshot, Snapshots};
use crate::timeline::{Place, snapshot_of};

/// Returns the present states at, above and below the paths. A file that no snapshot holds, because an ignore rule
/// hides it or because it is too large, is captured by itself: nothing is ever replaced that is not stored.
pub(crate) fn current_states(
    place: &Place,
    snapshots: &Snapshots,
    now: &Snapshot,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<PathStates> {
    let wanted: Vec<WorkspacePath> = paths.iter().cloned().collect();
    let mut current: PathStates = snapshots
        .around(now, &wanted)?
        .into_iter()
        .map(|(path, entry)| (path, Some(entry)))
        .collect();
    // The look has just shown most paths. Only the others are asked of the disk, one by one.
    let is_unknown = |path: &WorkspacePath| {
        current.get(path).copied().flatten().is_none() && !has_below(&current, path)
    };
    let unknown: Vec<WorkspacePath> = wanted.into_iter().filter(is_unknown).collect();
    let may_be_there = snapshots.may_be_there(&place.root, &unknown)?;
    let (there, gone): (Vec<_>, Vec<_>) = unknown
        .into_iter()
        .zip(may_be_there)
        .partition(|(_, may_be)| *may_be);
    current.extend(gone.into_iter().map(|(path, _)| (path, None)));
    let there: Vec<WorkspacePath> = there.into_iter().map(|(path, _)| path).collect();
    let captured = snapshots.capture_all(&place.root, &there)?;
    for (path, state) in there.into_iter().zip(captured) {
        // Something is there, so taking it for absent would let a file be put over it.
        current.insert(path, state.unwrap_or(Some(unreadable())));
    }
    // A directory with known contents is not an entry. Unknown contents keep it from going.
    let is_occupied = |path: &WorkspacePath, state: &State| {
        state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory && !entry.is_stored())
            && something_below(&current, path)
    };
    let occupied: Vec<WorkspacePath> = current
        .iter()
        .filter(|(path, state)| is_occupied(path, state))
        .map(|(path, _)| path.clone())
        .collect();
    for path in occupied {
        current.insert(path, None);
    }
    Ok(current)
}

/// Returns whether something is known to exist below a directory.
fn something_below(states: &PathStates, directory: &WorkspacePath) -> bool {
    states
        .range(directory.first_below()..)
        .take_while(|(path, _)| path.is_below(directory))
        .any(|(_, state)| state.is_some())
}

/// Returns the entry for something that exists and cannot be read.
fn unreadable() -> Entry {
    Entry {
        mode: Mode::file(0o600),
        blob: None,
    }
}

/// Returns whether there is a path below a directory, if only one at which nothing is.
fn has_below(states: &PathStates, directory: &WorkspacePath) -> bool {
    states
        .range(directory.first_below()..)
        .next()
        .is_some_and(|(path, _)| path.is_below(directory))
}

/// Returns paths with the directories above them: anything in a path's way is at the path or above it.
pub(super) fn with_directories_above(paths: &BTreeSet<WorkspacePath>) -> BTreeSet<WorkspacePath> {
    let above = paths.iter().flat_map(|path| path.directories_above());
    above.chain(paths.iter().cloned()).collect()
}

/// Returns the states before the first revert of a chain. What the snapshot did not hold comes from the operations'
/// rows.
pub(super) fn base_states(
    connection: &Connection,
    snapshots: &Snapshots,
    chain: &[ChainOperation],
    base: i64,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<PathStates> {
    let snapshot = snapshot_of(&sessions::snapshot(connection, base)?);
    let wanted: Vec<WorkspacePath> = paths.iter().cloned().collect();
    let states = snapshots.states(&snapshot, &wanted)?;
    let mut base_states: PathStates = wanted.into_iter().zip(states).collect();
    // What ignore rules hid, or what was too large, is in no snapshot; the first operation read it by itself.
    if let Some(first) = chain
        .first()
        .filter(|first| first.row.before_snapshot_id == Some(base))
    {
        base_states.extend(
            first
                .items
                .iter()
                .filter(|item| paths.contains(&item.path))
                .map(|item| (item.path.clone(), item.expected)),
        );
    }
    Ok(base_states)
}

/// Returns the paths that are not in a snapshot because ignore rules hid them. `is_folder` returns whether a path is an
/// empty directory, for which there are rules of its own.
pub(super) fn hidden_then(
    connection: &Connection,
    snapshots: &Snapshots,
    snapshot: i64,
    states: &PathStates,
    paths: &BTreeSet<WorkspacePath>,
    is_folder: impl Fn(&WorkspacePath) -> bool,
) -> Result<BTreeSet<WorkspacePath>> {
    let absent: Vec<WorkspacePath> = paths
        .iter()
        .filter(|path| states.get(path).copied().flatten().is_none())
        .cloned()
        .collect();
    if absent.is_empty() {
        return Ok(BTreeSet::new());
    }
    let snapshot = snapshot_of(&sessions::snapshot(connection, snapshot)?);
    let are_hidden = snapshots.are_hidden(&snapshot, &absent)?;
    let are_folders_hidden = snapshots.are_directories_hidden(&snapshot, &absent)?;
    let hidden = absent
        .into_iter()
        .zip(are_hidden.into_iter().zip(are_folders_hidden));
    Ok(hidden
        .filter(|(path, (is_hidden, is_folder_hidden))| {
            *is_hidden || *is_folder_hidden && is_folder(path)
        })
        .map(|(path, _)| path)
        .collect())
}

/// Returns a check whether a path is an empty directory, or was one when it was first moved.
pub(super) fn empty_when_moved<'a>(
    chain: &'a [ChainOperation],
    current: &'a PathStates,
) -> impl Fn(&WorkspacePath) -> bool + 'a {
    let mut first = BTreeMap::new();
    for item in chain.iter().flat_map(|operation| &operation.items) {
        first.entry(&item.path).or_insert(item.expected);
    }
    move |path| {
        let now = || current.get(path).copied().flatten();
        let state = first.get(path).copied().unwrap_or_else(now);
        state.as_ref().is_some_and(Entry::is_empty_directory)
    }
}

/// Returns the directories that are empty, or were when they were first moved, but that held something in a snapshot.
/// There they are not entries.
pub(super) fn emptied_since(
    connection: &Connection,
    snapshots: &Snapshots,
    snapshot: i64,
    chain: &[ChainOperation],
    states: &PathStates,
    current: &PathStates,
) -> Result<Vec<WorkspacePath>> {
    let is_empty = empty_when_moved(chain, current);
    let empty: Vec<WorkspacePath> = states
        .iter()
        .filter(|(path, state)| state.is_none() && is_empty(path))
        .map(|(path, _)| path.clone())
        .collect();
    if empty.is_empty() {
        return Ok(Vec::new());
    }
    let snapshot = snapshot_of(&sessions::snapshot(connection, snapshot)?);
    let were_there = snapshots.are_directories(&snapshot, &empty)?;
    let emptied = empty.into_iter().zip(were_there);
    Ok(emptied
        .filter(|(_, was_there)| *was_there)
        .map(|(path, _)| path)
        .collect())
}

/// A path that could not be read before the first revert was left alone as long as it stayed unreadable. Its base is
/// what was there when it was moved at last, or what is there now.
pub(super) fn read_since(
    base_states: &mut PathStates,
    chain: &[ChainOperation],
    current: &PathStates,
) {
    let mut first_moved = BTreeMap::new();
    for item in chain
        .iter()
        .flat_map(|operation| &operation.items)
        .filter(|item| item.result == FileResult::Done)
    {
        first_moved.entry(&item.path).or_insert(item.expected);
    }
    for (path, state) in base_states
        .iter_mut()
        .filter(|(_, state)| is_unstored(**state))
    {
        *state = first_moved
            .get(path)
            .copied()
            .unwrap_or_else(|| current.get(path).copied().flatten());
    }
}
