//! The pure plan, made with the bytes of the store: the way from material to [`Plan`].

use std::collections::BTreeMap;

use ckpt_schema::report::FileResult;

use super::OnConflict;
use super::gather::{Material, States};
use super::history::History;
use super::merge::Contents;
use super::plan::{Move, Plan, plan};
use super::target::{Target, target};
use crate::entry::{Change, ObjectId};
use crate::error::Result;
use crate::path::WorkspacePath;
use crate::record::count_with;
use crate::snapshot::Snapshots;
use crate::threads;

pub(super) fn plan_for(snapshots: &Snapshots, material: &Material, on_conflict: OnConflict) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = Contents::new(&read);
    let history = History::new(&material.changes);
    let targets = target(&material.base, &history, &mut contents, on_conflict)?;
    plan_targets(&targets, &material.goals, &material.current, &history, &mut contents, on_conflict)
}

fn plan_targets(
    targets: &BTreeMap<WorkspacePath, Target>,
    goals: &States,
    current: &States,
    history: &History<'_>,
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<Plan> {
    plan(Move { goals, targets, current, history }, contents, on_conflict)
}

/// Plans to make paths exactly what they were, whoever changed them: `restore`.
pub(crate) fn plan_exactly(snapshots: &Snapshots, wanted: &States, current: &States) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = Contents::new(&read);
    let state_now = |path: &WorkspacePath| current.get(path).copied().flatten();
    let targets: BTreeMap<_, _> =
        wanted.iter().map(|(path, state)| (path.clone(), Target::exactly(state_now(path), *state))).collect();
    plan_targets(&targets, &States::new(), current, &History::default(), &mut contents, OnConflict::Overwrite)
}

pub(super) fn count_lines(snapshots: &Snapshots, plan: &mut Plan) {
    let read = |blob| match plan.blobs.get(&blob) {
        Some(bytes) => Some(bytes.clone()),
        None => snapshots.read_blob_up_to(blob, crate::record::MAX_COUNTED).ok().flatten(),
    };
    let lines = threads::map(&plan.items, |item| {
        let change = Change { path: item.path.clone(), old: item.expected, new: item.target };
        if item.result == FileResult::Planned { count_with(&change, read) } else { item.lines }
    });
    plan.items.iter_mut().zip(lines).for_each(|(item, lines)| item.lines = lines);
}
