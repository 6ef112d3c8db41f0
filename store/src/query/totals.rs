//! What the steps of messages did, summed up by message.
//!
//! SQLite would sort all changes once more for each of these numbers, so they are added up here, from rows in the order in which
//! they stand in the file.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Row, params};

use crate::error::{Context, Result};
use crate::model::Milliseconds;

/// From this share of all messages on, one pass over everything takes less time than a search for each.
const SHARE: usize = 4;

/// The steps of messages, with their changes; a step without changes is a row, too.
const COLUMNS: &str = "
    SELECT steps.message_id, steps.seq, steps.state = 'open', steps.finished_at, changes.id, changes.attribution = 'unclear',
           changes.undone_by IS NULL, changes.path, changes.path_raw, changes.additions, changes.deletions
      FROM steps LEFT JOIN changes ON changes.step_id = steps.id";

/// What the steps of one message did. Sums are of changes that are not unclear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub steps: u64,
    pub files: u64,
    pub unclear: u64,
    pub additions: u64,
    pub deletions: u64,
    /// When the last step ended, or `None` if one is open.
    pub finished: Option<Milliseconds>,
    /// Whether something that it did was not undone for good.
    pub has_live_changes: bool,
}

/// A message while its rows are read.
#[derive(Default)]
struct MessageTotals {
    totals: Totals,
    last_step: Option<i64>,
    is_open: bool,
    files: HashSet<u32>,
    unclear: HashSet<u32>,
}

/// The numbers of the paths that were read: the same few thousand names recur in every message.
#[derive(Default)]
struct Names(HashMap<Box<[u8]>, u32>);

impl Names {
    fn number(&mut self, path: &[u8]) -> u32 {
        if let Some(number) = self.0.get(path) {
            return *number;
        }
        let number = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.insert(path.into(), number);
        number
    }
}

/// Returns what the steps of these messages did, by the message's id.
pub(super) fn totals(
    connection: &Connection,
    messages: &[&str],
) -> Result<HashMap<String, Totals>> {
    let read = || {
        let mut sums: HashMap<String, MessageTotals> = messages
            .iter()
            .map(|id| ((*id).to_owned(), MessageTotals::default()))
            .collect();
        let mut names = Names::default();
        let all: i64 =
            connection.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))?;
        if messages.len().saturating_mul(SHARE) > usize::try_from(all).unwrap_or(usize::MAX) {
            let mut statement = connection.prepare(COLUMNS)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if let Some(sum) = sums.get_mut(row.get_ref(0)?.as_str()?) {
                    sum.add(row, &mut names)?;
                }
            }
        } else {
            let mut statement =
                connection.prepare(&format!("{COLUMNS} WHERE steps.message_id = ?1"))?;
            for (id, sum) in &mut sums {
                let mut rows = statement.query(params![id])?;
                while let Some(row) = rows.next()? {
                    sum.add(row, &mut names)?;
                }
            }
        }
        Ok::<_, rusqlite::Error>(sums)
    };
    let sums = read().context(|| "cannot read the session store")?;
    Ok(sums.into_iter().map(|(id, sum)| (id, sum.end())).collect())
}

impl MessageTotals {
    fn add(&mut self, row: &Row<'_>, names: &mut Names) -> rusqlite::Result<()> {
        let totals = &mut self.totals;
        // The rows of one step follow each other.
        let step = Some(row.get(1)?);
        if step != self.last_step {
            self.last_step = step;
            totals.steps += 1;
            self.is_open |= row.get::<_, bool>(2)?;
            totals.finished = totals.finished.max(row.get(3)?);
        }
        if row.get_ref(4)?.as_i64_or_null()?.is_none() {
            return Ok(());
        }
        totals.has_live_changes |= row.get::<_, bool>(6)?;
        let path = match row.get_ref(8)?.as_blob_or_null()? {
            Some(raw) => names.number(raw),
            None => names.number(row.get_ref(7)?.as_str()?.as_bytes()),
        };
        if row.get(5)? {
            self.unclear.insert(path);
            return Ok(());
        }
        self.files.insert(path);
        let number = |column| {
            let number: Option<i64> = row.get(column)?;
            Ok::<_, rusqlite::Error>(number.map_or(0, i64::unsigned_abs))
        };
        totals.additions += number(9)?;
        totals.deletions += number(10)?;
        Ok(())
    }

    fn end(self) -> Totals {
        Totals {
            files: self.files.len() as u64,
            unclear: self.unclear.len() as u64,
            finished: self.totals.finished.filter(|_| !self.is_open),
            ..self.totals
        }
    }
}
