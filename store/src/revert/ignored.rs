//! Names ignored files that came since a message or changed, and the metadata of repositories below the workspace.
//! They were never captured, so no revert removes them. This module does IO, but only reads.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{NoteCode, OperationKind};

use super::crowded;
use super::movement::Movement;
use super::plan::Plan;
use super::surroundings::is_submodule;
use super::touched;
use super::version_control;
use super::warnings::{first_quoted, naming};
use crate::error::Result;
use crate::fs::times;
use crate::model::gap::Uncaptured;
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::model::{FileTime, Milliseconds, millisecond_of};
use crate::sessions::{self, WorkTimes};
use crate::snapshot::{Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::evidence::TICK;
use crate::timeline::{Observation, Place};

/// How many paths a line names.
const NAMED: usize = 4;

/// Names what is ignored and came while a step of the message, or of a later one, was open, and the ignore files that
/// ignore themselves and differ from `then`, the snapshot that the revert goes back to. It leaves out what is in
/// folders that are `leaving`: if such a folder cannot go because of that, it is named itself. Nobody can say who made
/// these files. Ignored paths that merely changed are named as well, unless the plan is about them.
pub(super) fn told(
    store: &Store,
    place: &Place,
    (snapshots, seen): (&Snapshots, &Observation),
    movement: &Movement,
    (then, plan, leaving): (Option<&Snapshot>, &Plan, &[WorkspacePath]),
) -> Result<Vec<Note>> {
    let Some(revert) = movement.whole_revert() else {
        return Ok(Vec::new());
    };
    let connection = store.database.connection();
    let work = sessions::work_since(connection, &revert.session.id, revert.since)?;
    let told = store.surroundings.file_times;
    let made = |what: &Uncaptured| made_at(&path_of(place, what)).map(told);
    let mut all = snapshots.uncaptured();
    let crowded = crowded::told(store, place, (snapshots, seen), revert, &all)?;
    all.retain(|(what, _)| !what.path().is_at_or_below(leaving));
    let is_seen_in_step = |known_at: &FileTime| came_in(&work, told(millisecond_of(*known_at)));
    let seen_in_step = those_there(place, &all, is_seen_in_step);
    let was_absent = absent(snapshots, then, &seen_in_step)?;
    let seen_in_step: BTreeSet<Vec<u8>> = seen_in_step.iter().map(|what| what.to_bytes()).collect();
    let has_come = |what: &Uncaptured| {
        let made = made(what);
        let is_new = || made.is_none_or(|made| made + TICK >= work.sent_at);
        // A look may be late to see it, because rules hid the folder that it is in.
        made.is_some_and(|made| came_in(&work, made))
            || seen_in_step.contains(&what.to_bytes())
                && (was_absent.contains(what.path()) || is_new())
    };
    // What was seen before the first step and is new on the disk took its own place, so it changed.
    let first = work.steps.iter().map(|(began, _)| *began).min();
    let was_there = |at: FileTime| first.is_some_and(|first| told(millisecond_of(at)) < first);
    let came = all.iter().filter(|(_, known_at)| !was_there(*known_at));
    let came = came.filter(|(what, _)| has_come(what) && !goes(plan, what.path()));
    let (ignored, mut repositories) = apart(came.map(|(what, _)| what.clone()));
    repositories.retain(|folder| !is_submodule(&place.root, folder));
    let files = ignore_files(snapshots, (then, &seen.snapshot), leaving)?;
    let planned = plan.items.iter().map(|item| &item.path);
    let known: BTreeSet<&WorkspacePath> = planned.chain(&ignored).collect();
    let all = all.iter().map(|(what, _)| what);
    let is_old = |what: &&Uncaptured| !repositories.contains(what.path());
    let old = all.clone().filter(is_old);
    let moved = version_control::moved_below(place, work.sent_at, old);
    let others = all.filter(|what| !known.contains(what.path()));
    let changed = touched::told(store, place, revert, others)?;
    let came = (!repositories.is_empty()).then(|| repositories_stay(texts(&repositories)));
    let notes = [
        of_ignored(texts(&ignored)),
        of_ignore_files(files),
        came,
        moved,
    ];
    let notes = notes.into_iter().flatten();
    Ok(notes.chain(changed).chain(crowded).collect())
}

/// Returns what is there of what was first seen at such a time.
fn those_there<'a>(
    place: &Place,
    all: &'a [(Uncaptured, FileTime)],
    is_asked: impl Fn(&FileTime) -> bool,
) -> Vec<&'a Uncaptured> {
    let asked = all.iter().filter(|(_, known_at)| is_asked(known_at));
    asked
        .map(|(what, _)| what)
        .filter(|what| path_of(place, what).symlink_metadata().is_ok())
        .collect()
}

/// Returns the ignore files that ignore themselves and differ between two snapshots, except those in folders that are
/// `leaving`.
fn ignore_files(
    snapshots: &Snapshots,
    (then, now): (Option<&Snapshot>, &Snapshot),
    leaving: &[WorkspacePath],
) -> Result<Vec<WorkspacePath>> {
    let mut files = match then {
        Some(then) => snapshots.own_ignore_files_changed(then, now)?,
        None => Vec::new(),
    };
    files.retain(|path| !path.is_at_or_below(leaving));
    Ok(files)
}

/// Returns whether a plan removes a path.
fn goes(plan: &Plan, path: &WorkspacePath) -> bool {
    let mut items = plan.items.iter();
    items.any(|item| item.empties() && item.path == *path)
}

/// Returns the paths that were neither in a snapshot nor hidden from it. They did not exist then, however old they are:
/// somebody moved them there.
fn absent(
    snapshots: &Snapshots,
    then: Option<&Snapshot>,
    found: &[&Uncaptured],
) -> Result<BTreeSet<WorkspacePath>> {
    let Some(then) = then.filter(|_| !found.is_empty()) else {
        return Ok(BTreeSet::new());
    };
    let paths: Vec<WorkspacePath> = found.iter().map(|what| what.path().clone()).collect();
    let states = snapshots.states(then, &paths)?;
    let are_directories = snapshots.are_directories(then, &paths)?;
    let are_hidden = snapshots.are_hidden(then, &paths)?;
    // A rule for directories only hides what is in them.
    let inside = |path: &WorkspacePath| path.join(b"x").unwrap_or_else(|_| path.clone());
    let inside: Vec<WorkspacePath> = paths.iter().map(inside).collect();
    let insides = snapshots.are_hidden(then, &inside)?;
    let is_known = states
        .into_iter()
        .zip(are_directories)
        .zip(are_hidden.into_iter().zip(insides))
        .map(|((state, is_directory), (is_hidden, is_inside))| {
            state.is_some() || is_directory || is_hidden || is_inside
        });
    let absent = paths
        .into_iter()
        .zip(is_known)
        .filter(|(_, is_known)| !is_known);
    Ok(absent.map(|(path, _)| path).collect())
}

/// Returns the note on ignore files that ignore themselves. Only their lines are remembered.
fn of_ignore_files(files: Vec<WorkspacePath>) -> Option<Note> {
    let about = texts(&files);
    let what = match about.len() {
        0 => return None,
        1 => "an ignore file that ignores itself differs from then, and stays as it is".to_owned(),
        count => format!(
            "{count} ignore files that ignore themselves differ from then, and stay as they are"
        ),
    };
    Some(naming(NoteCode::IgnoredMade, &what, about, NAMED))
}

/// Returns ignored paths, and the directories of repositories, sorted.
pub(super) fn apart(
    all: impl Iterator<Item = Uncaptured>,
) -> (Vec<WorkspacePath>, Vec<WorkspacePath>) {
    let (mut ignored, mut repositories) = (BTreeSet::new(), BTreeSet::new());
    for what in all {
        match what {
            Uncaptured::Ignored(path) => ignored.insert(path),
            Uncaptured::Repository { folder, .. } => repositories.insert(folder),
        };
    }
    (
        ignored.into_iter().collect(),
        repositories.into_iter().collect(),
    )
}

/// Returns the note on repositories that came since. No revert removes their metadata.
pub(super) fn repositories_stay(folders: Vec<String>) -> Note {
    let text = format!(
        "repositories that were cloned or made since stay with their metadata: {}",
        first_quoted(&folders, NAMED)
    );
    Note::about(NoteCode::RepositoriesBelow, text, folders)
}

/// Returns whether a moment is after the message, and a step was open then.
fn came_in(work: &WorkTimes, at: Milliseconds) -> bool {
    at > work.sent_at && work.covers(at)
}

fn of_ignored(about: Vec<String>) -> Option<Note> {
    let what = match about.len() {
        0 => return None,
        1 => "an ignored path that came since stays".to_owned(),
        count => format!("{count} ignored paths that came since stay"),
    };
    Some(naming(NoteCode::IgnoredMade, &what, about, NAMED))
}

fn texts(paths: &[WorkspacePath]) -> Vec<String> {
    paths.iter().map(WorkspacePath::to_text).collect()
}

/// Returns where something is.
pub(super) fn path_of(place: &Place, what: &Uncaptured) -> PathBuf {
    place.root.join(OsStr::from_bytes(&what.to_bytes()))
}

/// Returns a check whether a hidden directory may have come since the message that a revert goes back to, by the time
/// of its creation. Where that is not known, it may. Any other movement asks only for what the reverts made.
pub(super) fn came_since<'a>(
    store: &'a Store,
    place: &'a Place,
    movement: &Movement,
) -> Result<impl Fn(&WorkspacePath) -> bool + 'a> {
    let sent_at = match (movement.kind, movement.since) {
        (OperationKind::Revert, Some(since)) => {
            let connection = store.database.connection();
            Some(sessions::work_since(connection, &movement.session.id, since)?.sent_at)
        }
        (OperationKind::Revert, None) => Some(Milliseconds::MIN),
        (OperationKind::Redo | OperationKind::Unrevert | OperationKind::Restore, _) => None,
    };
    let told = store.surroundings.file_times;
    Ok(move |path: &WorkspacePath| {
        let path = path.on_disk(&place.root);
        let made = made_at(&path).map(told);
        sent_at.is_some_and(|sent_at| made.is_none_or(|made| made + TICK >= sent_at))
    })
}

/// Returns when something was created, in milliseconds, if the file system knows. A look may be the first to see what
/// has long been there.
pub(super) fn made_at(path: &Path) -> Option<Milliseconds> {
    times::created(&path.symlink_metadata().ok()?)
}
