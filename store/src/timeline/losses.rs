//! Notices lost rows. A log of the database that was damaged, or did not reach the disk, ends early, and nothing in the
//! database says so.
//!
//! The rows that were written last for a workspace are noted in its lock file, which every writer has open anyway. If
//! the database does not have them any more, rows between its newest one and now are missing. The changes in them
//! belong neither to the user nor to an agent. If there is no note, what the repository says about its
//! newest snapshots is compared with the rows.
//!
//! The note also says when everything was last looked at: a new path with an older time came with its directory.

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::fs::layout::{self, Lock};
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;
use crate::sessions::{self, Diagnostic, DiagnosticLevel, LastRows};
use crate::snapshot::{Forgetting, Snapshots};
use crate::store::Store;

use super::Place;

/// How long a note is, in bytes, without its end of line. Notes are not synced. If their lengths differed, a power cut
/// could leave the length of one with the text of another; as they are, an older one is left, of which the database
/// has the rows.
const LENGTH: usize = 192;

const WHY: &str = "rows of the session store were lost: it was damaged, or the power failed";

/// Returns whether the rows that were written last are gone. If not, the place learns when everything was last looked
/// at.
pub(crate) fn has_lost_rows(connection: &Connection, place: &Place, lock: &Lock) -> Result<bool> {
    let Some((last, looked_at)) = lock.note().as_deref().and_then(read) else {
        // No note: it is from before there were any, or the folder was restored from a backup, or the last process
        // was killed before it wrote one. Only the repository can tell these from a loss.
        let is_lost = are_newest_gone(connection, place);
        if !is_lost {
            note_newest(connection, place, lock)?;
        }
        return Ok(is_lost);
    };
    // SQLite drops what it cannot read at the end of a log, and opens the older state as if nothing had been
    // there.
    let is_lost = !sessions::has_rows(connection, &last)?;
    // After a loss, that look is not the one that the newest snapshot is of.
    place.looked_at.set(looked_at.filter(|_| !is_lost));
    Ok(is_lost)
}

/// Fails if the rows that were written last for a workspace are gone and that was not noticed yet. For commands that only
/// tell: nothing is marked, and no lock is taken.
pub(crate) fn check(connection: &Connection, place: &Place) -> Result<()> {
    let note = layout::note_of(&place.folder);
    let is_lost = match note.as_deref().and_then(read) {
        Some((last, _)) => !sessions::has_rows(connection, &last)?,
        None => are_newest_gone(connection, place),
    };
    if !is_lost {
        return Ok(());
    }
    Err(Error::damaged(format!(
        "rows of the session store were lost: the latest records of `{}` are gone",
        place.root.display()
    ))
    .hint("it is unclear whose the changes since then are: a revert leaves them, and says so"))
}

/// Like [`has_unknown_snapshots`], where there is no note: whatever took it away may have put older rows in the place
/// of the newest. A repository that cannot be read is reported by others.
fn are_newest_gone(connection: &Connection, place: &Place) -> bool {
    place.has_objects().unwrap_or_default()
        && has_unknown_snapshots(connection, place).unwrap_or_default()
}

/// Returns whether the repository holds snapshots that are newer than the newest row, and that no row names. A killed
/// event leaves one, too, but the note of the event before it.
fn has_unknown_snapshots(connection: &Connection, place: &Place) -> Result<bool> {
    let Some(newest) = sessions::newest_snapshot_time(connection, place.row.id)? else {
        return Ok(false);
    };
    let mut since = Snapshots::open(&place.folder)?.noted_since(&place.row.key, newest)?;
    if !since.is_empty() {
        // Rows already name what takes the place of the trees that are being forgotten.
        let forgetting = Forgetting::read(&place.folder)?;
        since.retain(|noted| {
            !forgetting
                .in_trees()
                .any(|one| one.old.0 == noted.snapshot.tree)
        });
    }
    for snapshot in since {
        let (tree, message, step) = (snapshot.snapshot.tree, None, None);
        let last = LastRows {
            tree,
            message,
            step,
        };
        if !sessions::has_rows(connection, &last)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Marks what is unknown if the rows that were written last are gone.
pub(crate) fn notice(store: &mut Store, place: &Place, lock: &Lock) -> Result<()> {
    if !has_lost_rows(store.database.connection(), place, lock)? {
        return Ok(());
    }
    let now = store.now();
    store
        .database
        .write(|connection| sessions::mark_lost(connection, place.row.id, WHY, now))?;
    // After the commit: killed in between, the loss is noticed once more; the other way round, never.
    lock.set_note("");
    note_newest(store.database.connection(), place, lock)?;
    let workspace = place.root.to_string_lossy();
    store.diagnose(&Diagnostic {
        level: DiagnosticLevel::Error,
        workspace: Some(&workspace),
        message: "rows of the session store were lost",
        detail: Some(
            "the latest records are gone, so it is unclear whose the changes since then are",
        ),
        ..Diagnostic::default()
    })
}

/// Rewrites the note of a workspace if it is missing and no rows are. For a caller that is about to store objects
/// without a row: they would look like those of lost rows.
pub(crate) fn renew(connection: &Connection, place: &Place, lock: &Lock) -> Result<()> {
    match lock.note().as_deref().and_then(read) {
        Some(_) => Ok(()),
        None if are_newest_gone(connection, place) => Ok(()),
        None => note_newest(connection, place, lock),
    }
}

/// Notes the newest snapshot of a workspace, if there is one.
pub(crate) fn note_newest(connection: &Connection, place: &Place, lock: &Lock) -> Result<()> {
    let id = sessions::workspace(connection, place.row.id)?.last_snapshot_id;
    if let Some(id) = id {
        let last = LastRows {
            tree: sessions::snapshot(connection, id)?.snapshot.tree,
            message: None,
            step: None,
        };
        note(lock, &last, None);
    }
    Ok(())
}

/// Notes the rows that were just written, and when everything was last looked at. A failure to note it is ignored.
pub(crate) fn note(lock: &Lock, last: &LastRows, looked_at: Option<Milliseconds>) {
    let text = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_owned());
    let text = format!(
        "{} {} {} {}",
        last.tree,
        text(&last.message),
        text(&last.step),
        text(&looked_at.map(|at| at.to_string()))
    );
    // Not synced: this is written for every event, and a sync costs more than the event's rows. `LENGTH` says what
    // a power cut may leave.
    lock.set_note(&format!("{text:<LENGTH$}\n"));
}

/// Parses a note.
fn read(note: &str) -> Option<(LastRows, Option<Milliseconds>)> {
    let mut words = note.strip_suffix('\n')?.split(' ');
    let tree = ObjectId::from_hex(words.next()?)?;
    let mut id = || Some(Some(words.next()?.to_owned()).filter(|id| id != "-"));
    let last = LastRows {
        tree,
        message: id()?,
        step: id()?,
    };
    let looked_at = words.next().and_then(|at| at.parse().ok());
    Some((last, looked_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::layout::lock_workspace;
    use crate::objects::hash::blob_id;
    use std::time::Duration;

    /// Every note has the same length and says what it said.
    #[test]
    fn every_note_has_one_length() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let lock = lock_workspace(folder.path(), Duration::ZERO).expect("it is free");
        let mut lengths = std::collections::BTreeSet::new();
        for (id, looked_at) in [
            (None, None),
            (Some("0".repeat(36)), Some(1_764_000_000_000)),
        ] {
            let last = LastRows {
                tree: blob_id(b""),
                message: id.clone(),
                step: id,
            };
            note(&lock, &last, looked_at);
            let text = lock.note().expect("it was written");
            lengths.insert(text.len());
            assert_eq!(read(&text), Some((last, looked_at)));
        }
        assert_eq!(lengths.len(), 1, "{lengths:?}");
    }
}
