//! `restore`: paths become exactly what a captured state holds, whoever changed them since. The present is in the operation's
//! snapshot, so this has a way back like every operation.

use std::collections::BTreeMap;

use ckpt_schema::report::{FileResult, OperationKind, OperationReport};

use super::gather::States;
use super::git::GitSide;
use super::operate;
use super::operation::{Manner, Operation};
use super::recover::Recovered;
use super::refuse;
use crate::error::{Error, Result};
use crate::ids::{self, Any};
use crate::model::git_item::GitItem;
use crate::model::path::WorkspacePath;
use crate::model::request::{OnConflict, RestoreRequest, Unclear};
use crate::sessions::{self, GapRow};
use crate::snapshot::{Budget, Gap, Side, Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::{Looking, Observation, Place, gaps_of_snapshot, snapshot_of};

pub(crate) fn restore(
    store: &mut Store,
    place: &Place,
    request: &RestoreRequest,
) -> Result<OperationReport> {
    if request.git && !request.paths.is_empty() {
        return Err(Error::failed(
            "`--git` goes with a whole restore: HEAD and the index are of no path",
        ));
    }
    let only = place.paths_asked_for(&request.paths)?;
    let (_lock, Recovered { notes, done }) = super::enter(store, place, request.dry_run)?;
    restore_under_lock(store, place, request, only, notes).map_err(|error| error.after(done))
}

fn restore_under_lock(
    store: &mut Store,
    place: &Place,
    request: &RestoreRequest,
    only: Vec<WorkspacePath>,
    notes: Vec<String>,
) -> Result<OperationReport> {
    let connection = store.database.connection();
    let wanted_id = snapshot_named(store, place, &request.id)?;
    let open = sessions::open_steps(connection, place.row.id)?;
    let manner = Manner {
        dry_run: request.dry_run,
        force: request.force,
        git: request.git,
    };
    let who = "an agent is at work in this workspace";
    let busy = refuse::while_busy(who, &open, store.now(), manner)?;
    let snapshots = place.snapshots()?;
    let seen = operate::observe(
        store,
        place,
        &snapshots,
        Looking {
            open: &open,
            ..Looking::default()
        },
    )?;
    let (wanted, current) = differing(
        store,
        place,
        &snapshots,
        wanted_id,
        operation_named(store, place, &request.id)?.as_deref(),
        &seen,
        &only,
    )?;
    let git = if request.git {
        Some(git_plan(store, place, &snapshots, &seen, wanted_id)?)
    } else {
        None
    };
    let mut notes = notes;
    let differs = |path: &WorkspacePath| {
        wanted
            .keys()
            .any(|differing| differing.is_at_or_below(std::slice::from_ref(path)))
    };
    let unclear: Vec<WorkspacePath> = only.iter().filter(|path| !differs(path)).cloned().collect();
    notes.extend(unknown_paths(
        store,
        &snapshots,
        wanted_id,
        &seen,
        &unclear,
        only.len(),
    )?);
    notes.extend(super::notes::directories_stay(
        store,
        &snapshots,
        wanted_id,
        &seen,
        |path| path.is_asked_for(&only),
    ));
    notes.extend(
        git.as_ref()
            .and_then(|_| super::git::why_nothing(&place.root)),
    );
    let plan = super::planning::plan_exactly(&snapshots, &wanted, &current)?;
    let unseen = super::notes::left_alone(&plan, unseen(store, wanted_id, &seen, &only)?.iter());
    let is_incomplete = unseen.is_some();
    notes.extend(unseen);
    let operation = Operation {
        kind: OperationKind::Restore,
        movement: None,
        plan,
        lines: super::planning::Lines::new(),
        git,
        on_conflict: OnConflict::Overwrite,
        unclear: Unclear::default(),
        base: None,
        reference: Some(wanted_id),
        notes,
        is_incomplete,
    };
    let report = operate::execute(store, place, &snapshots, operation, &seen, &[], manner)?;
    Ok(OperationReport { busy, ..report })
}

fn git_plan(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    seen: &Observation,
    wanted_id: i64,
) -> Result<Vec<GitItem>> {
    let connection = store.database.connection();
    GitSide {
        connection,
        place,
        snapshots,
        now: seen.git.as_ref(),
    }
    .plan_exactly(wanted_id)
}

/// Returns the row of the state that an id stands for: a snapshot; just before a message, a step or an operation.
fn snapshot_named(store: &Store, place: &Place, id: &str) -> Result<i64> {
    let (snapshot_id, what) = match ids::any(store.database.connection(), place.row.id, id)? {
        Any::Snapshot(snapshot) => (Some(snapshot.id), "snapshot"),
        Any::Message(message) => (message.snapshot_id, "message"),
        Any::Step(step) => (step.start_snapshot_id, "step"),
        Any::Operation(operation) => (operation.before_snapshot_id, "operation"),
        Any::Session(_) => {
            return Err(
                Error::failed(format!("`{id}` is a session: it has no state of its own"))
                    .hint("give one of its messages; `ckpt-hook log` lists them"),
            );
        }
    };
    snapshot_id.ok_or_else(|| {
        Error::unavailable(format!(
            "the workspace was not captured at the {what} `{id}`"
        ))
    })
}

/// A path of which neither the state nor the present has anything is a mistake of whoever named it. `only` are those of the
/// `named` ones at which nothing differs.
fn unknown_paths(
    store: &Store,
    snapshots: &Snapshots,
    wanted_id: i64,
    seen: &Observation,
    only: &[WorkspacePath],
    named: usize,
) -> Result<Option<String>> {
    let wanted = snapshot_of(&sessions::snapshot(store.database.connection(), wanted_id)?);
    let mut unknown = Vec::new();
    for path in only {
        let named = std::slice::from_ref(path);
        let is_in = |snapshot| -> Result<bool> {
            let around = snapshots.around(snapshot, named)?;
            Ok(around.iter().any(|(found, _)| found.is_at_or_below(named)))
        };
        if !is_in(&wanted)? && !is_in(&seen.snapshot)? {
            unknown.push(format!("`{}`", path.to_text()));
        }
    }
    let what = format!(
        "nothing was captured at {}, neither then nor now",
        unknown.join(" or ")
    );
    match unknown.len() {
        0 => Ok(None),
        number if number == named => Err(Error::unavailable(what)),
        _ => Ok(Some(what)),
    }
}

/// Returns what, among the paths that are asked for, only one side could not hold: the wanted state, or what is there now.
/// Nobody knows whether it is as it was.
fn unseen(
    store: &Store,
    wanted_id: i64,
    seen: &Observation,
    only: &[WorkspacePath],
) -> Result<Vec<GapRow>> {
    let (then, then_rows) = with_rows(sessions::gaps_of(store.database.connection(), wanted_id)?);
    let (now, now_rows) = with_rows(seen.gaps.clone());
    let is_of_interest = |gap: &Gap| match WorkspacePath::new(gap.path.clone()) {
        Ok(path) => path.is_asked_for(only) || only.iter().any(|named| named.is_below(&path)),
        Err(_) => only.is_empty(),
    };
    let has = |gaps: &[Gap], gap: &Gap| gaps.iter().any(|other| other.path == gap.path);
    let one_sided = |gap: &Gap| has(&then, gap) != has(&now, gap);
    let all = then.iter().zip(then_rows).chain(now.iter().zip(now_rows));
    let unseen =
        all.filter(|(gap, _)| gap.reason.hides_content() && one_sided(gap) && is_of_interest(gap));
    Ok(unseen.map(|(_, row)| row).collect())
}

fn with_rows(rows: Vec<GapRow>) -> (Vec<Gap>, Vec<GapRow>) {
    (crate::timeline::gaps_of_rows(&rows), rows)
}

/// What the state holds, and what is there now, where the two differ. What came into view only because ignore rules changed
/// is nobody's to remove.
fn differing(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    wanted_id: i64,
    written_by: Option<&str>,
    seen: &Observation,
    only: &[WorkspacePath],
) -> Result<(States, States)> {
    let connection = store.database.connection();
    let wanted = snapshot_of(&sessions::snapshot(connection, wanted_id)?);
    let old_gaps = gaps_of_snapshot(connection, wanted_id)?;
    let new_gaps = seen.gaps_now();
    let old = Side {
        snapshot: wanted,
        gaps: &old_gaps,
    };
    let new = Side {
        snapshot: seen.snapshot,
        gaps: &new_gaps,
    };
    // What is ignored today is looked at whenever it was touched: it is asked for.
    let changes = snapshots.patch_with_hidden(&place.root, old, new, Budget::ALL)?;
    let changes: Vec<_> = changes
        .into_iter()
        .filter(|change| change.path.is_asked_for(only))
        .collect();
    let mut states = BTreeMap::new();
    for change in &changes {
        states.insert(change.path.clone(), change.old);
    }
    states.extend(
        written_down(connection, snapshots, written_by, &wanted, &old_gaps)?
            .into_iter()
            .filter(|(path, _)| path.is_asked_for(only)),
    );
    let current = super::gather::current_states(
        place,
        snapshots,
        &seen.snapshot,
        &states.keys().cloned().collect(),
    )?;
    Ok((states, current))
}

/// Returns the operation that an id stands for.
fn operation_named(store: &Store, place: &Place, id: &str) -> Result<Option<String>> {
    Ok(
        match ids::any(store.database.connection(), place.row.id, id)? {
            Any::Operation(operation) => Some(operation.id),
            _ => None,
        },
    )
}

/// What the snapshot before an operation did not hold, the operation wrote down of the files that it changed.
fn written_down(
    connection: &rusqlite::Connection,
    snapshots: &Snapshots,
    operation: Option<&str>,
    before: &Snapshot,
    gaps: &[Gap],
) -> Result<States> {
    let Some(operation) = operation else {
        return Ok(States::new());
    };
    let gaps: Vec<&Gap> = gaps
        .iter()
        .filter(|gap| gap.reason.hides_content())
        .collect();
    let is_in_gap = |path: &WorkspacePath| {
        let is_at = |gap: &&Gap| {
            path.as_bytes() == gap.path || crate::snapshot::is_below(path.as_bytes(), &gap.path)
        };
        gaps.iter().any(is_at)
    };
    let mut items = sessions::operation_items(connection, operation)?;
    items.retain(|item| item.result == FileResult::Done);
    let paths: Vec<WorkspacePath> = items.iter().map(|item| item.path.clone()).collect();
    let are_hidden = snapshots.are_hidden(before, &paths)?;
    let unseen = items
        .into_iter()
        .zip(are_hidden)
        .filter(|(item, is_hidden)| *is_hidden || is_in_gap(&item.path));
    Ok(unseen.map(|(item, _)| (item.path, item.expected)).collect())
}
