//! The pure plan, made with the bytes of the store: the way from material to [`Plan`].

use std::collections::{BTreeMap, HashMap};

use ckpt_schema::report::FileResult;

use super::gather::{Material, States};
use super::history::History;
use super::merge::Contents;
use super::plan::{Move, Plan, plan};
use super::target::{Target, target};
use crate::error::Result;
use crate::fs::threads;
use crate::model::entry::{Change, ObjectId, State};
use crate::model::path::WorkspacePath;
use crate::model::request::OnConflict;
use crate::sessions::ChangeRow;
use crate::snapshot::Snapshots;
use crate::timeline::count_with;

/// Makes the plan: `undoing` says what to do about changes that cannot be undone, `moving` about edits made while reverted.
pub(super) fn plan_for(
    snapshots: &Snapshots,
    material: &Material,
    undoing: OnConflict,
    moving: OnConflict,
) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = Contents::new(&read);
    let history = History::new(&material.changes);
    let targets = target(&material.base, &history, &mut contents, undoing)?;
    plan_targets(
        &targets,
        &material.goals,
        &material.current,
        &history,
        &mut contents,
        moving,
    )
}

fn plan_targets(
    targets: &BTreeMap<WorkspacePath, Target>,
    goals: &States,
    current: &States,
    history: &History<'_>,
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<Plan> {
    plan(
        Move {
            goals,
            targets,
            current,
            history,
        },
        contents,
        on_conflict,
    )
}

/// Plans to make paths exactly what they were, whoever changed them: `restore`.
pub(crate) fn plan_exactly(
    snapshots: &Snapshots,
    wanted: &States,
    current: &States,
) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = Contents::new(&read);
    let state_now = |path: &WorkspacePath| current.get(path).copied().flatten();
    let targets: BTreeMap<_, _> = wanted
        .iter()
        .map(|(path, state)| (path.clone(), Target::exactly(state_now(path), *state)))
        .collect();
    plan_targets(
        &targets,
        &States::new(),
        current,
        &History::default(),
        &mut contents,
        OnConflict::Overwrite,
    )
}

/// Lines that changes were found to add and to take away, by what was before and after them.
pub(crate) type Lines = HashMap<(State, State), (u64, u64)>;

/// Returns what is known of the changes' lines when they were recorded, forth and back.
pub(super) fn known_lines<'a>(rows: impl Iterator<Item = &'a ChangeRow>) -> Lines {
    let both_ways = |row: &ChangeRow| {
        let (old, new) = (row.change.old, row.change.new);
        row.lines
            .map(|(added, taken)| [((old, new), (added, taken)), ((new, old), (taken, added))])
    };
    rows.filter_map(both_ways).flatten().collect()
}

pub(super) fn count_lines(snapshots: &Snapshots, plan: &mut Plan, known: &Lines) {
    let read = |blob| match plan.blobs.get(&blob) {
        Some(bytes) => Some(bytes.clone()),
        None => snapshots
            .read_blob_up_to(blob, crate::timeline::MAX_COUNTED)
            .ok()
            .flatten(),
    };
    let lines = threads::map(&plan.items, |item| {
        let change = Change {
            path: item.path.clone(),
            old: item.expected,
            new: item.target,
        };
        if item.result != FileResult::Planned {
            return item.lines;
        }
        known
            .get(&(change.old, change.new))
            .copied()
            .or_else(|| count_with(&change, read))
    });
    plan.items
        .iter_mut()
        .zip(lines)
        .for_each(|(item, lines)| item.lines = lines);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::attribution::Attribution;
    use crate::model::entry::{Entry, Mode};

    #[test]
    fn lines_are_known_forth_and_back_where_they_were_counted() {
        let state = |byte| {
            Some(Entry {
                mode: Mode::file(0o644),
                blob: Some(ObjectId::new([byte; 20])),
            })
        };
        let row = |old, new, lines| ChangeRow {
            id: 0,
            step_id: None,
            attribution: Attribution::Agent,
            reason: None,
            from_snapshot_id: None,
            to_snapshot_id: None,
            change: Change {
                path: WorkspacePath::new("a").expect("a name"),
                old,
                new,
            },
            lines,
        };
        let rows = [
            row(state(1), state(2), Some((5, 3))),
            row(None, state(1), Some((7, 0))),
            row(state(3), None, None),
        ];
        let known = known_lines(rows.iter());
        assert_eq!(known[&(state(1), state(2))], (5, 3));
        assert_eq!(known[&(state(2), state(1))], (3, 5), "the way back");
        assert_eq!(
            known[&(state(1), None)],
            (0, 7),
            "what was made is taken away"
        );
        assert_eq!(
            known.len(),
            4,
            "what has no lines is looked at when it is asked for"
        );
    }
}
