//! Rows that were there and are gone: a log of the database that was damaged, or did not reach the disk, ends early, and nothing
//! in the database says so.
//!
//! The rows written last for a workspace are noted in its lock file, which every writer has open anyway. If the
//! database does not have them any more, rows between its newest one and now are missing. The changes they held belong
//! to nobody: neither to the user nor to an agent.

use rusqlite::Connection;

use crate::error::Result;
use crate::fs::layout::Lock;
use crate::model::entry::ObjectId;
use crate::sessions::{self, Diagnostic, LastRows};
use crate::store::Store;

use super::Place;

const WHY: &str = "rows of the session store were lost: it was damaged, or the power failed";

/// Returns whether the rows that were written last are gone.
pub(crate) fn has_lost_rows(connection: &Connection, lock: &Lock) -> Result<bool> {
    match lock.note().as_deref().and_then(read) {
        Some(last) => Ok(!sessions::has_rows(connection, &last)?),
        None => Ok(false),
    }
}

/// Marks what is not known where the rows that were written last are gone.
pub(crate) fn notice(store: &mut Store, place: &Place, lock: &Lock) -> Result<()> {
    if !has_lost_rows(store.database.connection(), lock)? {
        return Ok(());
    }
    let now = store.now();
    store
        .database
        .write(|connection| sessions::mark_lost(connection, place.row.id, WHY, now))?;
    lock.set_note("");
    let workspace = place.root.to_string_lossy();
    store.diagnose(&Diagnostic {
        level: "error",
        workspace: Some(&workspace),
        message: "rows of the session store were lost",
        detail: Some(
            "the latest records are gone, so nobody can tell whose the changes since then are",
        ),
        ..Diagnostic::default()
    })
}

/// Notes the rows that were just written. That it cannot be noted is no reason to fail.
pub(crate) fn note(lock: &Lock, last: &LastRows) {
    let text = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_owned());
    lock.set_note(&format!(
        "{} {} {}\n",
        last.tree,
        text(&last.message),
        text(&last.step)
    ));
}

fn read(note: &str) -> Option<LastRows> {
    let mut words = note.strip_suffix('\n')?.split(' ');
    let tree = ObjectId::from_hex(words.next()?)?;
    let mut id = || Some(Some(words.next()?.to_owned()).filter(|id| id != "-"));
    Some(LastRows {
        tree,
        message: id()?,
        step: id()?,
    })
}
