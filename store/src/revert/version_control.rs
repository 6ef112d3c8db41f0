//! Names version control that moved since and stays: systems other than git, and repositories in subdirectories.
//! Nothing is recorded of either, so the times of their files have to show it. This module does IO, but only reads.

use std::path::Path;

use ckpt_schema::report::NoteCode;
use rusqlite::Connection;

use super::git::has_moved;
use super::movement::Movement;
use super::surroundings::is_submodule;
use super::warnings::first_quoted;
use crate::error::Result;
use crate::fs::times;
use crate::git::Location;
use crate::model::Milliseconds;
use crate::model::gap::Uncaptured;
use crate::model::note::Note;
use crate::sessions;
use crate::timeline::Place;

/// How many repositories a line names.
const NAMED: usize = 4;

/// The files that version control systems other than git write when the working copy moves.
const SYSTEMS: [(&str, &[&str]); 9] = [
    (
        ".hg",
        &["dirstate", "store/00changelog.i", "bookmarks.current"],
    ),
    (".jj", &["repo/op_heads/heads", "working_copy/checkout"]),
    (".svn", &["wc.db"]),
    (".bzr", &["branch/last-revision", "checkout/dirstate"]),
    ("_darcs", &["hashed_inventory", "inventory"]),
    (".pijul", &["pristine/db"]),
    ("CVS", &["Entries"]),
    (".fslckout", &[""]),
    ("_FOSSIL_", &[""]),
];

/// Names what moved at the workspace's root. Only git can be moved along.
pub(super) fn moved_here(
    connection: &Connection,
    place: &Place,
    movement: &Movement,
) -> Result<Option<Note>> {
    let Some(revert) = movement.whole_revert() else {
        return Ok(None);
    };
    let since = sessions::message_time(connection, &revert.to.id)?;
    let moved = SYSTEMS
        .iter()
        .filter(|(name, files)| is_one_written_since(&place.root.join(name), files, since));
    let about: Vec<String> = moved.map(|(name, _)| (*name).to_owned()).collect();
    let names: Vec<String> = about.iter().map(|name| format!("`{name}`")).collect();
    Ok((!names.is_empty()).then(|| {
        let text = format!(
            "{} changed since: only files are reverted, version control stays as it is",
            names.join(" and ")
        );
        Note::about(NoteCode::VersionControl, text, about)
    }))
}

/// Names the repositories in subdirectories that moved since a moment, of those that are known. Submodules have a note
/// of their own.
pub(super) fn moved_below<'a>(
    place: &Place,
    since: Milliseconds,
    known: impl Iterator<Item = &'a Uncaptured>,
) -> Option<Note> {
    let moved = known.filter_map(|what| match what {
        Uncaptured::Repository { folder, name } => {
            let at = folder.on_disk(&place.root);
            has_moved_since(&at, name, since).then_some(folder)
        }
        Uncaptured::Ignored(_) => None,
    });
    let mut about: Vec<String> = moved
        .filter(|folder| !is_submodule(&place.root, folder))
        .map(|folder| folder.to_text())
        .collect();
    about.sort();
    about.dedup();
    (!about.is_empty()).then(|| {
        let text = format!(
            "repositories in subdirectories moved since: only files are reverted, their commits and branches stay: {}",
            first_quoted(&about, NAMED)
        );
        Note::about(NoteCode::VersionControl, text, about)
    })
}

/// Returns whether the repository of a directory moved since a moment, by the name of its metadata.
fn has_moved_since(directory: &Path, name: &[u8], since: Milliseconds) -> bool {
    let mut systems = SYSTEMS.iter();
    match systems.find(|(system, _)| system.as_bytes() == name) {
        Some((system, files)) => is_one_written_since(&directory.join(system), files, since),
        None => Location::of(directory).is_some_and(|location| has_moved(&location, since)),
    }
}

/// Returns whether one of the files in a folder was written since a moment. An empty name stands for the folder itself,
/// which may be a file.
fn is_one_written_since(folder: &Path, files: &[&str], since: Milliseconds) -> bool {
    // Most of them do not exist.
    let is_there = files.len() == 1 || folder.symlink_metadata().is_ok();
    is_there
        && files.iter().any(|file| match *file {
            "" => is_written_since(folder, since),
            file => is_written_since(&folder.join(file), since),
        })
}

fn is_written_since(file: &Path, since: Milliseconds) -> bool {
    file.symlink_metadata()
        .is_ok_and(|found| times::written(&found) >= since)
}
