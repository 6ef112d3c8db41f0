//! The receipt of a plan that is only shown. Planned ignore files hide other paths than those on disk, so the workspace
//! is looked at once more, as it will be with them. This module does IO.

use std::collections::BTreeMap;

use ckpt_schema::report::Receipt;

use crate::error::Result;
use crate::git::SMALL;
use crate::model::entry::{EntryKind, State};
use crate::model::path::{IGNORE_FILE, WorkspacePath};
use crate::revert::goal::present::Scene;
use crate::revert::plan::Plan;
use crate::revert::plan::operation::Operation;
use crate::revert::receipt;
use crate::snapshot::Snapshots;
use crate::timeline::Look;

/// Compares what a plan will lead to with the state that it goes to.
pub(crate) fn receipt(scene: Scene<'_>, operation: &Operation<'_>) -> Result<Option<Receipt>> {
    let Scene {
        place,
        snapshots,
        seen,
        ..
    } = scene;
    let expectation = operation.expectation.as_ref();
    let plan = &operation.plan;
    let ignore_files = match expectation {
        Some(_) => planned_ignore_files(snapshots, plan)?,
        None => BTreeMap::new(),
    };
    let foreseen = match ignore_files.is_empty() {
        true => None,
        false => Some(foreseen(scene, &ignore_files)?),
    };
    let states = (&seen.snapshot, foreseen.as_ref().unwrap_or(seen));
    let connection = scene.connection();
    let items = &plan.items;
    receipt::receipt(connection, place, snapshots, expectation, items, states)
}

/// Returns the present snapshot, with the paths that will come into view.
fn foreseen(scene: Scene<'_>, ignore_files: &BTreeMap<WorkspacePath, Vec<u8>>) -> Result<Look> {
    let taken = scene
        .place
        .foresee(scene.store, scene.snapshots, ignore_files)?;
    Ok(Look {
        snapshot: taken.snapshot,
        gaps: taken.gaps(),
        ..scene.seen.clone()
    })
}

/// Returns the bytes of the ignore files that a plan changes, none for one that goes.
fn planned_ignore_files(
    snapshots: &Snapshots,
    plan: &Plan,
) -> Result<BTreeMap<WorkspacePath, Vec<u8>>> {
    let planned = plan.items.iter().filter(|item| {
        item.is_planned() && item.path.name() == IGNORE_FILE && item.target != item.expected
    });
    planned
        .map(|item| Ok((item.path.clone(), rules(snapshots, plan, item.target)?)))
        .collect()
}

/// Returns the rules of an ignore file. One that is no small file has none.
fn rules(snapshots: &Snapshots, plan: &Plan, target: State) -> Result<Vec<u8>> {
    let file = target.filter(|entry| entry.mode.kind() == EntryKind::File);
    let Some(blob) = file.and_then(|entry| entry.blob) else {
        return Ok(Vec::new());
    };
    match plan.blobs.get(&blob) {
        Some(merged) => Ok(merged.clone()),
        None => Ok(snapshots.read_blob_up_to(blob, SMALL)?.unwrap_or_default()),
    }
}
