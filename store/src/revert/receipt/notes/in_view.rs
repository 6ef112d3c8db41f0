//! Paths of which the state that a revert goes to tells only that something was there, or not even that, and that are in
//! view since. This module does IO, but only reads.

use std::collections::BTreeSet;

use ckpt_schema::report::FileAction;

use crate::error::Result;
use crate::model::gap::GapReason;
use crate::model::path::WorkspacePath;
use crate::revert::plan::Plan;
use crate::snapshot::{Presence, Snapshot, Snapshots};

/// Returns the paths that are in view now, and of which the state that a revert goes to only tells that something was
/// there, or not even that.
pub(super) fn came_into_view(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    now: &Snapshot,
) -> Result<Vec<WorkspacePath>> {
    let Some(then) = then else {
        return Ok(Vec::new());
    };
    let came = snapshots.difference(then, now)?.into_iter();
    let came = came.filter(|change| change.old.is_none());
    let came = came.filter(|change| !change.new.is_some_and(|entry| entry.is_empty_directory()));
    let came: Vec<WorkspacePath> = came.map(|change| change.path).collect();
    let presences = snapshots.presences(then, &came)?;
    let came = came.into_iter().zip(presences);
    let came = came.filter(|(_, presence)| is_not_known(presence));
    Ok(came.map(|(path, _)| path).collect())
}

/// Returns the folders in view now that were hidden in the state that a revert goes to.
pub(super) fn folders_in_view(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    now: &Snapshot,
) -> Result<BTreeSet<WorkspacePath>> {
    let Some(then) = then else {
        return Ok(BTreeSet::new());
    };
    let hidden = snapshots.seen(then.seen)?.into_iter();
    let hidden = hidden.filter(|entry| entry.is_directory && entry.reason == GapReason::Ignored);
    let hidden: Vec<WorkspacePath> = hidden
        .filter_map(|entry| WorkspacePath::new(entry.path).ok())
        .collect();
    let presences = snapshots.presences(now, &hidden)?;
    let shown = hidden.into_iter().zip(presences);
    let shown = shown.filter(|(_, presence)| *presence == Presence::Stored);
    Ok(shown.map(|(path, _)| path).collect())
}

/// Returns the paths that an earlier operation moved and that stay, where the state that a revert goes to does not tell
/// what was there. That operation's time is theirs, so nothing shows whether they had changed before.
pub(super) fn moved_before(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    plan: &Plan,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<BTreeSet<WorkspacePath>> {
    let Some(then) = then else {
        return Ok(BTreeSet::new());
    };
    let items = plan.items.iter();
    let items = items.filter(|item| item.action == FileAction::None);
    let paths: Vec<WorkspacePath> = items
        .map(|item| item.path.clone())
        .filter(|path| paths.contains(path))
        .collect();
    let presences = snapshots.presences(then, &paths)?;
    let unknown = paths.into_iter().zip(presences);
    let unknown = unknown.filter(|(_, presence)| is_not_known(presence));
    Ok(unknown.map(|(path, _)| path).collect())
}

/// Returns whether a state does not tell what a file at a path was.
pub(super) fn is_not_known(presence: &Presence) -> bool {
    matches!(presence, Presence::Seen | Presence::Unknown)
}
