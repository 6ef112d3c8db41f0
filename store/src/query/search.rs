//! Searches what messages changed, in portions: typing never waits for all of it.

use std::path::Path;

use rusqlite::params;

use super::choose::{any_differs, changes_of_message, differs_whatever_the_case};
use crate::error::Result;
use crate::sessions::read::all;
use crate::store::Store;
use crate::timeline::Place;

/// A portion of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The messages that changed how often the text occurs in a file.
    pub found: Vec<String>,
    /// How many messages were looked at.
    pub messages: usize,
    /// Where to go on from, or `None` if there are no more.
    pub next: Option<i64>,
}

/// Searches `count` messages of the workspace that holds a directory, newest first: those with a lower `seq`, or the
/// newest. The case of ASCII letters does not matter.
pub(crate) fn search(
    store: &Store,
    cwd: &Path,
    text: &str,
    before: Option<i64>,
    count: usize,
) -> Result<Searched> {
    let Some(place) = Place::find(store, cwd)? else {
        return Ok(Searched::default());
    };
    let connection = store.database.connection();
    let sql = "
        SELECT messages.seq, messages.id FROM messages JOIN sessions ON sessions.id = messages.session_id
         WHERE sessions.workspace_id = ?1 AND (?2 IS NULL OR messages.seq < ?2)
         ORDER BY messages.seq DESC LIMIT ?3";
    let limit = i64::try_from(count).unwrap_or(i64::MAX);
    let messages: Vec<(i64, String)> = all(
        connection,
        sql,
        params![place.row.id, before, limit],
        |row| Ok((row.get("seq")?, row.get("id")?)),
    )?;
    let mut searched = Searched {
        messages: messages.len(),
        next: messages
            .last()
            .map(|(seq, _)| *seq)
            .filter(|_| messages.len() == count),
        ..Searched::default()
    };
    let (snapshots, text) = (place.snapshots()?, text.to_ascii_lowercase());
    for (_, id) in messages {
        let changes = changes_of_message(connection, &id)?;
        let differs = |change: &_| differs_whatever_the_case(&snapshots, change, &text);
        if any_differs(&snapshots, changes, differs) {
            searched.found.push(id);
        }
    }
    Ok(searched)
}
