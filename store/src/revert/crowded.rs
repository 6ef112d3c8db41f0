//! Names directories with more ignored names than a look remembers. Which of the others came or went, nobody knows.
//! This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_schema::report::NoteCode;

use super::movement::WholeRevert;
use super::warnings::first_quoted;
use crate::error::Result;
use crate::fs::times;
use crate::model::FileTime;
use crate::model::gap::Uncaptured;
use crate::model::note::Note;
use crate::model::path::{WorkspacePath, join, parent};
use crate::sessions;
use crate::snapshot::{IGNORED_NAMES, Snapshots};
use crate::store::Store;
use crate::timeline::evidence::TICK;
use crate::timeline::{Observation, Place};

/// How many directories a line names.
const NAMED: usize = 4;

/// Names the directories in which names came or went since the message, and that have more ignored ones than are
/// remembered. While no command ran, nothing was made that no tool named.
pub(super) fn told(
    store: &Store,
    place: &Place,
    (snapshots, seen): (&Snapshots, &Observation),
    revert: WholeRevert<'_>,
    remembered: &[(Uncaptured, FileTime)],
) -> Result<Option<Note>> {
    let mut known: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for path in remembered.iter().map(|(what, _)| what.to_bytes()) {
        let directory = parent(&path).unwrap_or_default().to_vec();
        known.entry(directory).or_default().insert(path);
    }
    known.retain(|_, paths| paths.len() >= IGNORED_NAMES);
    if known.is_empty() {
        return Ok(None);
    }
    let connection = store.database.connection();
    let work = sessions::free_work_since(connection, &revert.session.id, revert.since)?;
    if work.steps.is_empty() {
        return Ok(None);
    }
    let mut about = Vec::new();
    for (directory, paths) in known {
        let at = place.root.join(OsStr::from_bytes(&directory));
        let changed = at.symlink_metadata().ok().as_ref().map(times::written);
        let changed = changed.map(store.surroundings.file_times);
        if changed.is_some_and(|changed| changed + TICK >= work.sent_at)
            && has_others(snapshots, seen, &at, &directory, &paths)?
        {
            about.push(format!("{}/", text(&directory)));
        }
    }
    Ok(note(about))
}

/// Returns whether ignore rules hide more in a directory than what is known.
fn has_others(
    snapshots: &Snapshots,
    seen: &Observation,
    at: &Path,
    directory: &[u8],
    known: &BTreeSet<Vec<u8>>,
) -> Result<bool> {
    let entries = std::fs::read_dir(at).into_iter().flatten().flatten();
    let paths = entries.map(|entry| join(directory, entry.file_name().as_bytes()));
    let others = paths.filter(|path| !known.contains(path));
    let others: Vec<WorkspacePath> = others
        .filter_map(|path| WorkspacePath::new(path).ok())
        .collect();
    let are_hidden = snapshots.are_hidden(&seen.snapshot, &others)?;
    Ok(are_hidden.contains(&true))
}

/// Returns how a directory is shown; the workspace itself is `.`.
fn text(directory: &[u8]) -> String {
    WorkspacePath::new(directory.to_vec()).map_or_else(|_| ".".to_owned(), |path| path.to_text())
}

fn note(about: Vec<String>) -> Option<Note> {
    let named = first_quoted(&about, NAMED);
    let text = format!(
        "of more than {IGNORED_NAMES} ignored names in a folder, only the first are remembered, so which others came or went since is not known: {named}"
    );
    (!about.is_empty()).then(|| Note::about(NoteCode::IgnoredChanged, text, about))
}
