//! Reads the present states of a movement's paths. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::model::entry::{Entry, EntryKind, Mode, State};
use crate::model::path::WorkspacePath;
use crate::revert::goal::present::Scene;

/// States by path.
pub(crate) type PathStates = BTreeMap<WorkspacePath, State>;

/// Returns the present states at, above and below the paths. A file that no snapshot holds, because an ignore rule
/// hides it or because it is too large, is captured by itself: nothing is ever replaced that is not stored.
pub(crate) fn current_states(
    scene: Scene<'_>,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<PathStates> {
    let Scene {
        place, snapshots, ..
    } = scene;
    let wanted: Vec<WorkspacePath> = paths.iter().cloned().collect();
    let mut current: PathStates = snapshots
        .around(&scene.seen.snapshot, &wanted)?
        .into_iter()
        .map(|(path, entry)| (path, Some(entry)))
        .collect();
    // The look has just shown most paths. Only the others are asked of the disk, one by one.
    let is_unknown = |path: &WorkspacePath| {
        current.get(path).copied().flatten().is_none() && !has_below(&current, path)
    };
    let mut unknown: Vec<WorkspacePath> = wanted.into_iter().filter(is_unknown).collect();
    unknown.extend(in_the_way(scene, &unknown, &current)?);
    let may_be_there = snapshots.may_be_there(&place.root, &unknown)?;
    let (there, gone): (Vec<_>, Vec<_>) = unknown
        .into_iter()
        .zip(may_be_there)
        .partition(|(_, may_be)| *may_be);
    current.extend(gone.into_iter().map(|(path, _)| (path, None)));
    let there: Vec<WorkspacePath> = there.into_iter().map(|(path, _)| path).collect();
    let captured = snapshots.store_paths(&place.root, &there)?;
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

/// Returns the files and links that stand where the paths have a directory above them, as far as the look did not show them.
fn in_the_way(
    scene: Scene<'_>,
    paths: &[WorkspacePath],
    current: &PathStates,
) -> Result<Vec<WorkspacePath>> {
    let mut above = WorkspacePath::all_above(paths);
    above.retain(|path| !current.contains_key(path));
    let above: Vec<WorkspacePath> = above.into_iter().collect();
    let kinds = scene.snapshots.kinds_now(&scene.place.root, &above)?;
    let is_in_the_way =
        |kind: Option<EntryKind>| kind.is_some_and(|kind| kind != EntryKind::Directory);
    let all = above.into_iter().zip(kinds);
    Ok(all
        .filter_map(|(path, kind)| is_in_the_way(kind).then_some(path))
        .collect())
}

/// Returns whether something is known to exist below a directory.
pub(crate) fn something_below(states: &PathStates, directory: &WorkspacePath) -> bool {
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
pub(crate) fn with_directories_above(paths: &BTreeSet<WorkspacePath>) -> BTreeSet<WorkspacePath> {
    let mut above = WorkspacePath::all_above(paths);
    above.extend(paths.iter().cloned());
    above
}
