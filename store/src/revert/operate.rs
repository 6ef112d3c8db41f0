//! The line from a movement to its outcome: look, plan, check, write the plan down, apply, look again, close.

use ckpt_schema::report::{OperationKind, OperationReport, Outcome};
use rusqlite::Connection;

use super::apply::Root;
use super::chain::{chain, newest_of_chain};
use super::gather::gather;
use super::git::{self, GitSide};
use super::journal::{Finished, finish_first, keep_what_was_seen, write_down};
use super::movement::Movement;
use super::operation::{Manner, Operation};
use super::outcome::report;
use super::plan::Plan;
use super::planning::{count_lines, plan_for};
use super::{databases, notes, refuse};
use crate::error::Result;
use crate::model::git_item::GitItem;
use crate::model::progress::OperationProgress;
use crate::model::request::OnConflict;
use crate::sessions::{self, ChainOperation, OpenStep};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::evidence;
use crate::timeline::{How, Looking, Observation, Place, snapshot_of};

/// Moves the revert point of a session, or a part of it. The caller holds the workspace's lock, and nothing of an operation
/// before it is left to be done: where the point is now says only a closed one.
pub(crate) fn carry_out(
    store: &mut Store,
    place: &Place,
    movement: &Movement,
    manner: Manner,
    mut notes: Vec<String>,
) -> Result<OperationReport> {
    let connection = store.database.connection();
    let open = sessions::open_steps(connection, place.row.id)?;
    let own: Vec<&OpenStep> = open
        .iter()
        .filter(|step| step.root_session_id == movement.session.id)
        .collect();
    let who = "the agent is at work in this session";
    let busy = refuse::while_busy(who, own.iter().copied(), store.now(), manner)?;
    let snapshots = place.snapshots()?;
    let closing: Vec<_> = own
        .iter()
        .map(|step| (*step, evidence::Standing::Cut))
        .collect();
    let looking = Looking {
        open: &open,
        closing: &closing,
        ..Looking::default()
    };
    let seen = observe(store, place, &snapshots, looking)?;
    let base = movement.session.revert_base_id;
    notes.extend(notes::unprotected_message(movement));
    notes.extend(notes::permissions_of_directories(
        store, &snapshots, movement, &seen,
    ));
    notes.extend(notes::version_control_moved(connection, place, movement)?);
    if !manner.git && is_there(connection, movement, &seen)? {
        let side = GitSide {
            connection,
            place,
            snapshots: &snapshots,
            now: seen.git.as_ref(),
        };
        notes.extend(notes::head_moved(&side, movement, base)?);
        notes.extend(notes::not_captured(movement, &Plan::default(), &seen));
        let operation = Operation::nothing(movement, notes);
        let report = execute(store, place, &snapshots, operation, &seen, &own, manner)?;
        return Ok(OperationReport { busy, ..report });
    }
    let chain = match base {
        Some(base) => chain(connection, &movement.session.id, base)?,
        None => Vec::new(),
    };
    let unclear = movement
        .unclear
        .or_else(|| newest_revert(&chain).map(|operation| operation.unclear))
        .unwrap_or(place.settings.unclear);
    let material = gather(store, place, &snapshots, movement, &chain, &seen, unclear)?;
    refuse::unavailable(movement, &material)?;
    notes.extend(notes::unknown_paths(movement, &material)?);
    let side = GitSide {
        connection,
        place,
        snapshots: &snapshots,
        now: seen.git.as_ref(),
    };
    let moves_git = manner.git
        || (movement.kind != OperationKind::Revert && git::was_moved(connection, &chain)?);
    let git = if moves_git {
        Some(side.plan(movement, &chain, base)?)
    } else {
        None
    };
    // What stayed when it was reverted stays, and is no news, when one goes forward.
    let is_revert = movement.kind == OperationKind::Revert;
    if is_revert {
        notes.extend(notes::unprotected_notes(&material));
    }
    notes.extend(notes::unread_directories(&material));
    notes.extend(match &git {
        Some(_) => git::why_nothing(&place.root),
        None => notes::head_moved(&side, movement, base)?,
    });
    // What is said holds. Else a movement forward merges edits made while reverted, whatever the reverts did about older ones.
    let on_conflict = movement.on_conflict.unwrap_or_default();
    let undoing = movement.on_conflict.unwrap_or_else(|| policy(&chain));
    let plan = plan_for(&snapshots, &material, undoing, on_conflict)?;
    notes.extend(notes::not_captured(movement, &plan, &seen));
    let reference = movement.reference_snapshot(base);
    notes.extend(notes::without_a_step(
        store, place, &snapshots, movement, &plan, &seen,
    )?);
    let is_incomplete =
        is_revert && !material.unprotected.is_empty() || !material.unread.is_empty();
    let operation = Operation {
        kind: movement.kind,
        movement: Some(movement),
        plan,
        lines: material.lines,
        git,
        on_conflict,
        unclear,
        base,
        reference,
        notes,
        is_incomplete,
    };
    let report = execute(store, place, &snapshots, operation, &seen, &own, manner)?;
    Ok(OperationReport { busy, ..report })
}

/// Looks at the workspace, and tells whoever watches.
pub(crate) fn observe(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    looking: Looking<'_>,
) -> Result<Observation> {
    let watcher = store.watcher.as_deref();
    let tell = |progress| {
        watcher
            .iter()
            .for_each(|watcher| watcher(OperationProgress::Looking(progress)))
    };
    let how = How {
        progress: Some(&tell),
        ..looking.how
    };
    Observation::make(store, place, snapshots, Looking { how, ..looking })
}

/// Carries a plan out, or only tells it.
pub(crate) fn execute(
    store: &mut Store,
    place: &Place,
    snapshots: &Snapshots,
    mut operation: Operation<'_>,
    seen: &Observation,
    closing: &[&OpenStep],
    manner: Manner,
) -> Result<OperationReport> {
    let then = match operation.reference {
        Some(id) => {
            let row = sessions::snapshot(store.database.connection(), id)?;
            Some(snapshot_of(&row))
        }
        None => None,
    };
    let scene = databases::Scene {
        root: &place.root,
        snapshots,
        now: &seen.snapshot,
        then,
        force: manner.force,
    };
    scene.keep_whole(&mut operation.plan)?;
    count_lines(snapshots, &mut operation.plan, &operation.lines);
    refuse::damaged_objects(snapshots, &operation.plan)?;
    if !manner.dry_run {
        refuse::no_way_back(store, place, snapshots, &operation.plan, seen)?;
    }
    let root = Root::open(&place.root, place.device()?, place.row.inode)?;
    refuse::what_must_fail(&root, snapshots, &operation.plan, manner)?;
    if manner.dry_run {
        let git = operation.git.clone().unwrap_or_default();
        return Ok(report(
            store,
            &operation,
            None,
            (&operation.plan.items, &git),
            true,
        ));
    }
    let moves_git = operation.git.iter().flatten().any(GitItem::is_planned);
    let is_move = operation
        .movement
        .is_some_and(|movement| movement.part.is_none() && !is_same_point(movement));
    if !operation.plan.has_work() && !is_move && !moves_git {
        keep_what_was_seen(store, place, seen, closing)?;
        let git = operation.git.clone().unwrap_or_default();
        return Ok(report(
            store,
            &operation,
            None,
            (&operation.plan.items, &git),
            false,
        ));
    }
    let merged: Vec<&[u8]> = operation.plan.blobs.values().map(Vec::as_slice).collect();
    snapshots.write_blobs(&merged)?;
    let id = crate::sessions::new_id();
    write_down(store, place, &id, &mut operation, seen, closing)
        .map_err(|error| take_back_what_was_written(store, &operation, error))?;
    let Finished {
        items,
        git,
        unfinished,
    } = finish_first(store, place, snapshots, &root, &id, &operation);
    if let Some(error) = unfinished {
        operation.is_incomplete = true;
        operation.notes.push(notes::unfinished(&error));
    }
    Ok(report(store, &operation, Some(id), (&items, &git), false))
}

/// Rows whose sync failed may stand in the log of the database, whole, and count for whoever opens it next. The next rows take their
/// place; where these cannot be written either, it is not known whether the plan counts.
fn take_back_what_was_written(
    store: &mut Store,
    operation: &Operation<'_>,
    error: crate::error::Error,
) -> crate::error::Error {
    let causes = error.causes().join(": ");
    let noted = store.diagnose(&sessions::Diagnostic {
        level: "error",
        message: "an operation could not be written down, and was not begun",
        detail: Some(&causes),
        ..sessions::Diagnostic::default()
    });
    match noted {
        Ok(()) => error,
        Err(_) => error.after([format!(
            "whether the plan of the {} is on the disk is not known: if it is, the next command or message carries it out",
            operation.kind.name()
        )]),
    }
}

/// Whether the last thing that happened was this very revert, and it left nothing undone: then no file has to be asked.
fn is_there(connection: &Connection, movement: &Movement, seen: &Observation) -> Result<bool> {
    let (Some(base), Some(to), None) = (
        movement.session.revert_base_id,
        &movement.to,
        &movement.part,
    ) else {
        return Ok(false);
    };
    let Some(newest) = newest_of_chain(connection, &movement.session.id, base)? else {
        return Ok(false);
    };
    let last = &newest.row;
    let is_same = last.kind == movement.kind
        && last.message_id.as_ref() == Some(&to.id)
        && last.part_message_id.is_none()
        && last.step_id.is_none()
        && movement.since == Some(to.seq)
        && movement.on_conflict == Some(newest.on_conflict);
    let is_whole = matches!(newest.outcome, Some(Outcome::Restored | Outcome::Nothing));
    Ok(is_same && is_whole && seen.is_as_after(connection, last.after_snapshot_id)?)
}

/// What the last revert decided about changes that cannot be undone, so that one redo of several does not bring back what
/// was overwritten.
fn policy(chain: &[ChainOperation]) -> OnConflict {
    newest_revert(chain)
        .map(|operation| operation.on_conflict)
        .unwrap_or_default()
}

fn newest_revert(chain: &[ChainOperation]) -> Option<&ChainOperation> {
    chain
        .iter()
        .rfind(|operation| operation.row.kind == OperationKind::Revert)
}

fn is_same_point(movement: &Movement) -> bool {
    let id =
        |message: &Option<sessions::MessageRow>| message.as_ref().map(|message| message.id.clone());
    id(&movement.from) == id(&movement.to) && !movement.takes_all_back()
}
