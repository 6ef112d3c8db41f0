//! Reasons to refuse an operation: a busy agent, nothing recorded, damaged objects, a full disk, a directory that
//! cannot be written.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use ckpt_schema::report::{FileAction, OperationKind};
use rustix::io::Errno;

use super::apply::{self, Problem, Root};
use super::closed_directories::{ClosedDirectories, closed_by_steps};
use crate::error::{Error, Result};
use crate::model::Milliseconds;
use crate::model::entry::{ObjectId, is_unstored};
use crate::model::gap::{Gap, GapReason, ReadFailure};
use crate::model::git_item::GitItem;
use crate::model::id::name_beside;
use crate::model::instruction::Instruction;
use crate::model::item::Item;
use crate::model::note::{self, Note};
use crate::model::number::first_of;
use crate::model::path::WorkspacePath;
use crate::revert::goal::material::Material;
use crate::revert::goal::present::Scene;
use crate::revert::plan::Plan;
use crate::revert::plan::operation::Operation;
use crate::revert::request::history::Claim;
use crate::revert::request::movement::Movement;
use crate::revert::request::options::Options;
use crate::sessions::{self, ChangeRow, OpenStep};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::life::{busy, may_write};
use crate::timeline::{Look, SnapshotOptions};

/// Refuses to go on while an agent works on one of the steps; `who` says where. A dry run goes on, and learns whether
/// the real call would be refused.
pub(crate) fn while_busy<'a>(
    who: &str,
    steps: impl IntoIterator<Item = &'a OpenStep>,
    now: Milliseconds,
    options: Options,
) -> Result<bool> {
    if options.force.goes_on() {
        return Ok(false);
    }
    match busy(who, steps, now) {
        None => Ok(false),
        Some(_) if options.dry_run.is_dry() => Ok(true),
        Some(error) => Err(error.hint(format!(
            "wait until it is done, or use {}",
            Instruction::Force
        ))),
    }
}

/// Refuses what would move git's state or a file that a session changed whose agent may be writing here. A dry run goes
/// on, and learns that. What touches nothing of theirs goes ahead, with a note that says who is at work.
pub(crate) fn beside_others<'a>(
    store: &Store,
    seen: &Look,
    others: impl IntoIterator<Item = &'a OpenStep>,
    operation: &Operation<'_>,
    options: Options,
) -> Result<(bool, Option<Note>)> {
    let (connection, now) = (store.database.connection(), store.now());
    let others = others.into_iter().filter(|step| may_write(step, now));
    let others: Vec<&OpenStep> = others.collect();
    if others.is_empty() || options.force.goes_on() {
        return Ok((false, None));
    }
    let mut theirs = BTreeSet::new();
    let mut agents = BTreeSet::new();
    for step in &others {
        theirs.extend(sessions::paths_of_session(
            connection,
            &step.root_session_id,
        )?);
        let session = sessions::session(connection, &step.row.session_id)?;
        let own = operation.movement.map(|movement| &*movement.session.agent);
        let own = own.unwrap_or_default();
        agents.extend(session.map(|it| name_beside(own, &it.agent, &it.id)));
    }
    let is_theirs = |row: &&ChangeRow| {
        let step = row.step_id.as_ref();
        step.is_some_and(|id| others.iter().any(|other| other.row.id == *id))
    };
    let unwritten = seen.changes.iter().filter(is_theirs);
    theirs.extend(unwritten.map(|row| row.change.path.clone()));
    let agents: Vec<String> = agents.into_iter().collect();
    let planned = operation.plan.items.iter().filter(|item| item.is_planned());
    let touched = planned.filter(|item| theirs.contains(&item.path));
    let mut touched: Vec<String> = touched
        .map(|item| format!("`{}`", item.path.to_text()))
        .collect();
    let moves_git = operation.git.iter().flatten().any(GitItem::is_planned);
    touched.extend(moves_git.then(|| "git's own state".to_owned()));
    if touched.is_empty() {
        let has_work = operation.plan.has_work();
        return Ok((false, has_work.then_some(Note::AtWork { agents })));
    }
    if options.dry_run.is_dry() {
        return Ok((true, None));
    }
    let touched = first_of(touched.into_iter(), NAMED);
    let agents = note::at_work(&agents);
    Err(
        Error::busy(format!("{agents}, and this touches {touched}")).hint(format!(
            "wait until it is done, or use {}",
            Instruction::Force
        )),
    )
}

/// Adds to the error of a plan that it would be refused anyway because an agent is at work.
pub(crate) fn also_busy(error: Error, who: &str, busy: bool) -> Error {
    if busy { error.and(who) } else { error }
}

/// Refuses a revert of which nothing was recorded: it would change nothing, and look as if all were undone.
pub(crate) fn unavailable(movement: &Movement, material: &Material) -> Result<()> {
    let has_changes = material
        .changes
        .iter()
        .any(|past| past.claim != Claim::Keep);
    if has_changes || material.unprotected.is_empty() || movement.kind != OperationKind::Revert {
        return Ok(());
    }
    let reasons: Vec<&str> = material
        .unprotected
        .iter()
        .map(|(_, why)| why.as_str())
        .collect();
    Err(Error::unavailable(format!(
        "what the agent changed was not recorded: {}",
        reasons.join("; ")
    ))
    .hint(format!("{} shows what went wrong", Instruction::Status)))
}

/// Refuses to leave alone what the system failed to read just now: the next try may read it, and what went past it would
/// not come back for it. What its owner closed stays so, and is named. `left` is what a plan leaves for want of reading.
pub(crate) fn failed_reads<'g>(
    left: impl IntoIterator<Item = &'g Gap>,
    options: Options,
) -> Result<()> {
    let has_failed = |gap: &&Gap| matches!(gap.reason, GapReason::Unreadable(ReadFailure::System(number)) if number != Errno::ACCESS.raw_os_error());
    let failed = left.into_iter().find(has_failed);
    failed.map_or(Ok(()), |gap| {
        let path = sessions::read::gap_report(gap).path.path;
        unread(&format!("`{path}` ({})", gap.reason), options)
    })
}

fn unread(what: &str, options: Options) -> Result<()> {
    if options.force.goes_on() {
        return Ok(());
    }
    let what = format!("nothing was changed: cannot read {what}");
    Err(Error::failed(what).hint(format!(
        "try again; {} goes on and leaves it alone",
        Instruction::Force
    )))
}

/// Refuses a plan that leaves alone what the system failed to read, or what seemed to be there and is not.
pub(crate) fn unread_files(scene: Scene<'_>, plan: &Plan, options: Options) -> Result<()> {
    let stays = |item: &&Item| item.action == FileAction::Keep && is_unstored(item.expected);
    let left: Vec<&Item> = plan.items.iter().filter(stays).collect();
    let is_left = |gap: &&Gap| left.iter().any(|item| gap.covers(&item.path));
    failed_reads(scene.seen.gaps.iter().filter(is_left), options)?;
    let is_gone = |item: &&&Item| {
        let found = item.path.on_disk(&scene.place.root).symlink_metadata();
        found.is_err_and(|error| error.kind() != ErrorKind::PermissionDenied)
    };
    let gone = left.iter().find(is_gone);
    gone.map_or(Ok(()), |item| {
        unread(&format!("`{}`", item.path.to_text()), options)
    })
}

/// How many directories a refusal names.
const NAMED: usize = 3;

/// Refuses the whole operation if anything is known to go wrong, before the first write. A workspace of another user
/// may be intended, so `--force` allows that.
/// Returns the directories that are opened meanwhile.
pub(crate) fn check_before_writing(
    scene: Scene<'_>,
    root: &Root,
    (plan, leaving): (&Plan, &[WorkspacePath]),
    options: Options,
) -> Result<ClosedDirectories> {
    // What a merge made is not in the store yet. It is stored only once nothing speaks against the plan.
    let size = |blob: ObjectId| match plan.blobs.get(&blob) {
        Some(merged) => Ok(merged.len() as u64),
        None => scene.snapshots.blob_size(blob),
    };
    let problems = apply::preflight(root, &plan.items, leaving, &size)?;
    let directories = problems.iter().filter_map(|problem| match problem {
        Problem::Closed(directory, _) => directory.clone(),
        _ => None,
    });
    let opened = closed_by_steps(scene, root, directories.collect())?;
    let mut reasons = Vec::new();
    // Closed directories are collected into one sentence: a plan may have hundreds of them, and one hint helps with
    // all.
    let mut closed = Vec::new();
    let mut hint = None;
    for problem in problems {
        match problem {
            Problem::ReadOnly => {
                reasons.push("the workspace's file system is read-only".to_owned())
            }
            Problem::OtherUser if options.force.goes_on() => {}
            Problem::OtherUser => {
                reasons.push("the workspace belongs to another user".to_owned());
                hint = Some(format!("{} goes ahead anyway", Instruction::Force));
            }
            Problem::NoRoom(reason) => reasons.push(reason),
            Problem::Unreadable(path, reason) => {
                reasons.push(format!(
                    "the new content of `{}` cannot be read: {reason}",
                    path.to_text()
                ));
            }
            Problem::Closed(Some(directory), _) if opened.contains_key(&directory) => {}
            Problem::Closed(directory, reason) => {
                let name = directory.map_or_else(|| ".".into(), |directory| directory.to_text());
                closed.push(format!("`{name}` ({reason})"));
            }
        }
    }
    if !closed.is_empty() {
        reasons.push(format!(
            "cannot write to {}",
            first_of(closed.into_iter(), NAMED)
        ));
        hint = Some(format!(
            "make the directories writable, or leave them out: {}",
            Instruction::OtherFiles
        ));
    }
    if reasons.is_empty() {
        return Ok(opened);
    }
    let error = Error::failed(format!("nothing was changed: {}", reasons.join("; ")));
    Err(match hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// Checks that everything that is removed or replaced is stored intact, because the way back needs it. Damaged objects
/// are stored again from the files, which still exist.
pub(crate) fn no_way_back(scene: Scene<'_>, plan: &Plan) -> Result<()> {
    let Scene {
        store,
        place,
        snapshots,
        seen,
    } = scene;
    let going: Vec<&Item> = plan.items.iter().filter(|item| item.takes_away()).collect();
    let Err(error) = check_going(snapshots, &going, seen) else {
        return Ok(());
    };
    let how = SnapshotOptions {
        anew: true,
        ..SnapshotOptions::default()
    };
    place.take(store, snapshots, how)?;
    check_going(&place.snapshots()?, &going, seen).map_err(|_| error)
}

/// Returns the error for paths whose present content is damaged in the store.
fn damaged(items: &[&Item]) -> Error {
    let names = items
        .iter()
        .map(|item| format!("`{}`", item.path.to_text()));
    Error::damaged(format!(
        "nothing was changed: what is at {} is damaged in the store, and could not be brought back",
        first_of(names, NAMED)
    ))
    .hint(format!(
        "`ckpt-hook doctor` checks the store; {} reverts other files",
        Instruction::Only
    ))
}

/// Returns the blob that bringing back an item's present state needs.
fn blob_of(item: &Item) -> Option<ObjectId> {
    item.expected?.file_blob()
}

fn check_going(snapshots: &Snapshots, going: &[&Item], seen: &Look) -> Result<()> {
    let mut blobs: Vec<ObjectId> = going.iter().filter_map(|item| blob_of(item)).collect();
    blobs.extend(seen.git.as_ref().and_then(|git| git.index));
    blobs.sort_unstable();
    blobs.dedup();
    let broken = snapshots.check_blobs(&blobs)?;
    if let Some((id, what)) = broken.first() {
        let is_broken = |item: &&Item| {
            blob_of(item).is_some_and(|blob| broken.iter().any(|(id, _)| *id == blob))
        };
        let paths: Vec<&Item> = going.iter().copied().filter(is_broken).collect();
        return Err(damaged(&paths).because(format!("object {id}: {what}")));
    }
    // Bytes alone bring no file back: the snapshot's trees lead to them, and its attributes hold the modes.
    let paths: Vec<WorkspacePath> = going.iter().map(|item| item.path.clone()).collect();
    snapshots
        .check_paths(&seen.snapshot, &paths)
        .map_err(|error| damaged(going).because(error))
}

/// Checks before the first write that every new content is in the store, and intact.
pub(crate) fn damaged_objects(snapshots: &Snapshots, plan: &Plan) -> Result<()> {
    let planned = || plan.items.iter().filter(|item| item.is_planned());
    let wanted: BTreeSet<ObjectId> = planned()
        .filter_map(|item| item.target?.file_blob())
        .filter(|blob| !plan.blobs.contains_key(blob))
        .collect();
    let wanted: Vec<ObjectId> = wanted.into_iter().collect();
    let broken = snapshots.check_blobs(&wanted)?;
    let Some((blob, what)) = broken.first() else {
        return Ok(());
    };
    let paths: Vec<String> = planned()
        .filter(|item| {
            item.target
                .and_then(|entry| entry.blob)
                .is_some_and(|blob| broken.iter().any(|(id, _)| *id == blob))
        })
        .map(|item| format!("`{}`", item.path.to_text()))
        .collect();
    Err(Error::damaged(format!(
        "nothing was changed: the stored content of {} is damaged",
        paths.join(", ")
    ))
    .because(format!("object {blob}: {what}"))
    .hint(format!(
        "`ckpt-hook doctor` checks the store; {} reverts other files",
        Instruction::Only
    )))
}
