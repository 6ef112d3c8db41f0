//! Rows that were there and are gone: a log of the database that was damaged, or did not reach the disk, ends early, and nothing
//! in the database says so.
//!
//! What was written last for a workspace is noted in its lock file, which whoever writes has open anyway. Where the database does
//! not know it any more, rows are missing between its newest and now. What they knew is nobody's: neither the user's nor an
//! agent's.

use crate::error::Result;
use crate::fs::layout::Lock;
use crate::model::entry::ObjectId;
use crate::sessions::{self, Diagnostic, LastRows};
use crate::store::Store;

use super::Place;

const WHY: &str = "rows of the session store were lost: it was damaged, or the power failed";

/// Looks whether the rows that were written last are there, and marks what is not known where they are not.
pub(crate) fn notice(store: &mut Store, place: &Place, lock: &Lock) -> Result<()> {
    let Some(last) = lock.note().as_deref().and_then(read) else {
        return Ok(());
    };
    let connection = store.database.connection();
    if sessions::has_rows(connection, &last)? {
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
