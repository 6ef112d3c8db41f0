//! Finds the directories that an agent's step closed, as `go mod download` closes those of its cache: they are opened for as long as
//! an operation makes and removes names in them. What a person closed stays closed. This module does IO, but only reads.

use std::collections::BTreeMap;

use super::apply::{Root, closed_permissions};
use crate::error::Result;
use crate::model::path::WorkspacePath;
use crate::revert::goal::present::Scene;
use crate::sessions;

/// Directories without write permission, with their permissions.
pub(crate) type ClosedDirectories = BTreeMap<WorkspacePath, u32>;

/// Returns those of some directories that are ours, and that a step left with the permissions that they have now. What
/// cannot be read of the history closes nothing.
pub(crate) fn closed_by_steps(
    scene: Scene<'_>,
    root: &Root,
    directories: Vec<WorkspacePath>,
) -> Result<ClosedDirectories> {
    let closed = directories.into_iter().filter_map(|path| {
        let permissions = closed_permissions(root, &path)?;
        Some((path, permissions))
    });
    let (mut paths, mut now): (Vec<WorkspacePath>, Vec<u32>) = closed.unzip();
    let mut found = ClosedDirectories::new();
    if paths.is_empty() {
        return Ok(found);
    }
    let connection = scene.connection();
    for (start, finish) in sessions::steps_with_attributes(connection, scene.place.row.id)? {
        let start = sessions::snapshot(connection, start)?.snapshot;
        let finish = match finish {
            Some(finish) => sessions::snapshot(connection, finish)?.snapshot,
            None => scene.seen.snapshot,
        };
        let permissions = |snapshot| scene.snapshots.permissions_to_make(snapshot, &paths);
        let (Ok(before), Ok(after)) = (permissions(&start), permissions(&finish)) else {
            continue;
        };
        let sides = before.into_iter().zip(after);
        let is_closed: Vec<bool> = sides
            .zip(&now)
            .map(|((before, after), now)| after == Some(*now) && before != after)
            .collect();
        for at in (0..paths.len()).rev().filter(|at| is_closed[*at]) {
            found.insert(paths.remove(at), now.remove(at));
        }
        if paths.is_empty() {
            break;
        }
    }
    Ok(found)
}
