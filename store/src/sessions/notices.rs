//! The failures of hooks for a reason of the store's own that no person was told of yet.

use rusqlite::{Connection, params};

use super::read;
use crate::error::Result;

/// How many different ones are told.
const TOLD_LIMIT: usize = 3;

/// What to tell a person, once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// One sentence each.
    pub sentences: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// The newest row that is told.
    newest: Option<i64>,
}

/// The id of the newest row with a sentence, how many rows have it, and the sentence.
type NoticeRow = (i64, i64, String);

/// Reads the failures that no person was told of yet, the newest first.
pub(crate) fn notice_rows(connection: &Connection) -> Result<Vec<NoticeRow>> {
    // The event is NULL where the message is a sentence on several of them.
    let sql = "
        SELECT max(id) AS newest, count(*) AS times, iif(event IS NULL, message,
               'an event of ' || ifnull(agent, 'an agent') || ' (`' || event || '`) could not be recorded: '
               || message || ifnull(': ' || detail, '')) AS sentence
          FROM diagnostics WHERE untold = 1 GROUP BY sentence ORDER BY newest DESC";
    read::all(connection, sql, [], |row| {
        Ok((
            row.get::<_, i64>("newest")?,
            row.get::<_, i64>("times")?,
            row.get::<_, String>("sentence")?,
        ))
    })
}

/// Returns the failures to be told: `lost`, which is in no row yet, and the rows. What cannot be read is told by what reads
/// them otherwise.
pub(crate) fn notices(rows: Vec<NoticeRow>, lost: Vec<String>) -> Notices {
    let newest = rows.first().map(|(newest, ..)| *newest);
    let told = rows.into_iter().map(|(_, times, sentence)| match times {
        1 => sentence,
        times => format!("{sentence} ({times} times)"),
    });
    let mut sentences: Vec<String> = lost.into_iter().chain(told).collect();
    let more = sentences.len().saturating_sub(TOLD_LIMIT);
    sentences.truncate(TOLD_LIMIT);
    Notices {
        sentences,
        more,
        newest,
    }
}

/// Notes that they were told.
pub(crate) fn mark_shown(connection: &Connection, told: &Notices) -> Result<()> {
    let Some(newest) = told.newest else {
        return Ok(());
    };
    let sql = "UPDATE diagnostics SET untold = 0 WHERE untold = 1 AND id <= ?1";
    let what = "cannot note what was told";
    super::execute(connection, what, sql, params![newest])
}
