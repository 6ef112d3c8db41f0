//! Names ignored files that came since a message. They were never captured, so no revert removes them. This module does
//! IO, but only reads.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::UNIX_EPOCH;

use ckpt_schema::report::{NoteCode, OperationKind};

use super::movement::Movement;
use super::warnings::first_of;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, WorkTimes};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;
use crate::timeline::evidence::TICK;

/// How many paths a line names.
const NAMED: usize = 4;

/// Nanoseconds, the unit of a file's time, per millisecond.
const NANOSECONDS: i64 = 1_000_000;

/// Names what is ignored and came while a step of the message, or of a later one, was open. It leaves out what is in
/// folders that are `leaving`: if such a folder cannot go because of that, it is named itself. Nobody can say who made
/// these files.
pub(super) fn told(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    movement: &Movement,
    leaving: &[WorkspacePath],
) -> Result<Option<Note>> {
    let is_whole = movement.part.is_none() && movement.kind == OperationKind::Revert;
    if !is_whole || movement.to.is_none() {
        return Ok(None);
    }
    let connection = store.database.connection();
    let since = movement.since.unwrap_or_default();
    let work = sessions::work_since(connection, &movement.session.id, since)?;
    let told = store.surroundings.file_times;
    let is_made = |path: &WorkspacePath| {
        made_at(place, path).is_none_or(|made| told(made) + TICK >= work.sent_at)
    };
    let came = snapshots.ignored().into_iter();
    let came = came.filter(|(_, known_at)| came_in(&work, told(known_at / NANOSECONDS)));
    let came = came.map(|(path, _)| path);
    let came = came.filter(|path| is_there(place, path) && is_made(path));
    let came = came.filter(|path| !path.is_at_or_below(leaving));
    let mut about: Vec<String> = came.map(|path| path.to_text()).collect();
    about.sort_unstable();
    Ok(note(about))
}

/// Returns whether something that was first seen at a moment came while a step was open.
fn came_in(work: &WorkTimes, known_at: Milliseconds) -> bool {
    let mut steps = work.steps.iter();
    known_at > work.sent_at
        && steps
            .any(|(began, ended)| *began <= known_at && ended.is_none_or(|ended| known_at <= ended))
}

fn note(about: Vec<String>) -> Option<Note> {
    let what = match about.len() {
        0 => return None,
        1 => "an ignored path that came since stays".to_owned(),
        count => format!("{count} ignored paths that came since stay"),
    };
    let named = first_of(about.iter().map(|path| format!("`{path}`")), NAMED);
    Some(Note::about(
        NoteCode::IgnoredMade,
        format!("{what}: {named}"),
        about,
    ))
}

fn is_there(place: &Place, path: &WorkspacePath) -> bool {
    let path = place.root.join(OsStr::from_bytes(path.as_bytes()));
    path.symlink_metadata().is_ok()
}

/// Returns when something was created, in milliseconds, if the file system knows. A look may be the first to see what
/// has long been there.
fn made_at(place: &Place, path: &WorkspacePath) -> Option<Milliseconds> {
    let path = place.root.join(OsStr::from_bytes(path.as_bytes()));
    let made = path.symlink_metadata().ok()?.created().ok()?;
    i64::try_from(made.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
