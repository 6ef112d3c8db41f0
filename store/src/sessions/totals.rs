//! What the steps of messages did, summed up by message, and the column of `messages` that keeps the sums.
//!
//! SQLite would sort all changes again for each of these numbers, so they are added up here, from the rows of each step.
//! The sums of a message are kept until a row of its steps is written, changed or removed: without them, a `log` of 4,000
//! messages takes three to five times as long, because it also reads contents to find what was renamed and edited
//! (`bench/targets.md` has the figures), and the views for people could not count such a file once.
//!
//! A process that writes such a row takes the sums away in the same transaction, which costs one search for the message;
//! no writer adds anything up. The background process and `gc` keep the sums of those that have none
//! (`upkeep::totals`). A reader adds up what is not kept.

use ckpt_schema::Word;
use rusqlite::{Connection, Row, params};

use super::read::{all, row, unsigned};
use crate::error::{Context, Result};
use crate::model::Milliseconds;

/// The steps of messages.
const STEPS: &str = "SELECT id, message_id, state = 'open', finished_at FROM steps";

/// The changes of steps. With so many rows, each column counts: bit 0 means unclear, bit 1 live; a path that is not
/// UTF-8 is a blob.
const CHANGES: &str = "
    SELECT step_id, (attribution = 'unclear') + 2 * (undone_by IS NULL), ifnull(path_raw, path), additions, deletions,
           old_blob, new_blob
      FROM changes";

/// What the steps of one message did. Unclear changes are not in the sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub steps: u64,
    pub files: u64,
    pub unclear: u64,
    pub additions: u64,
    pub deletions: u64,
    /// When the last step ended, or `None` if one is open.
    pub finished: Option<Milliseconds>,
    /// Whether anything that it did is not undone for good.
    pub has_live_changes: bool,
    /// Whether there may be fewer files than paths: something went and something came, or a path is as it was before.
    pub contents: Contents,
}

ckpt_schema::words! {
    /// What the contents of files have to say on how many there are.
    #[derive(Default)]
    pub(crate) enum Contents {
        /// Rows are enough.
        #[default]
        Irrelevant = "0",
        /// They were not asked yet.
        Needed = "1",
        /// They were asked.
        Counted = "2",
    }
}

impl Totals {
    /// Returns the text that is kept: the numbers in the order of the fields, `-` for none.
    fn to_text(&self) -> String {
        let finished = self.finished.map_or("-".to_owned(), |at| at.to_string());
        format!(
            "{} {} {} {} {} {finished} {} {}",
            self.steps,
            self.files,
            self.unclear,
            self.additions,
            self.deletions,
            u8::from(self.has_live_changes),
            self.contents.name()
        )
    }

    /// Reads what [`Totals::to_text`] wrote. Anything else was not kept by this program.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut word = || words.next();
        let totals = Self {
            steps: word()?.parse().ok()?,
            files: word()?.parse().ok()?,
            unclear: word()?.parse().ok()?,
            additions: word()?.parse().ok()?,
            deletions: word()?.parse().ok()?,
            finished: match word()? {
                "-" => None,
                at => Some(at.parse().ok()?),
            },
            has_live_changes: match word()? {
                "0" => false,
                "1" => true,
                _ => return None,
            },
            contents: Contents::from_name(word()?)?,
        };
        word().is_none().then_some(totals)
    }
}

/// Takes away the sums of the messages of these steps: a row of the steps is about to be written or was just written.
pub(super) fn outdate<'a>(
    connection: &Connection,
    steps: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    let sql = "UPDATE messages SET totals = NULL
              WHERE totals IS NOT NULL AND id = (SELECT message_id FROM steps WHERE id = ?1)";
    let what = "cannot note that a step changed";
    steps
        .into_iter()
        .try_for_each(|step| super::execute(connection, what, sql, [step]))
}

/// Takes away the sums of these messages.
pub(crate) fn forget_totals(connection: &Connection, messages: &[String]) -> Result<()> {
    for id in messages {
        let sql = "UPDATE messages SET totals = NULL WHERE id = ?1";
        super::execute(connection, "cannot note that steps changed", sql, [id])?;
    }
    Ok(())
}

/// Takes away the sums for which contents were asked: some go now.
pub(super) fn outdate_counted(connection: &Connection) -> Result<()> {
    let sql = "UPDATE messages SET totals = NULL WHERE totals LIKE '% 2'";
    super::execute(connection, "cannot note that contents go", sql, [])
}

/// Takes away the sums of all messages, of which any may be meant.
pub(super) fn outdate_all(connection: &Connection) -> Result<()> {
    let sql = "UPDATE messages SET totals = NULL WHERE totals IS NOT NULL";
    super::execute(connection, "cannot note that steps changed", sql, [])
}

row! {
    /// A message whose sums are not kept.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Unsummed {
        pub id: String,
        pub seq: i64,
        pub workspace_key: String,
        /// Whether contents are left to the reader: the snapshot before it was pruned, and so is, or soon will be, what
        /// its files contained.
        pub is_pruned: bool,
    }
}

/// Returns the next messages after a `seq` whose sums are not kept.
pub(crate) fn unsummed(connection: &Connection, after: i64, count: u32) -> Result<Vec<Unsummed>> {
    let sql = "SELECT messages.id, messages.seq, workspaces.key AS workspace_key, snapshots.pruned_at IS NOT NULL AS is_pruned
                 FROM messages JOIN sessions ON sessions.id = messages.session_id
                 JOIN workspaces ON workspaces.id = sessions.workspace_id
                 LEFT JOIN snapshots ON snapshots.id = messages.snapshot_id
                WHERE totals IS NULL AND messages.seq > ?1 ORDER BY messages.seq LIMIT ?2";
    all(connection, sql, params![after, count], Unsummed::read)
}

/// What is kept of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptTotals {
    pub message: String,
    /// `None` for what is not our text.
    pub totals: Option<Totals>,
    /// How many files each step changed, if contents were asked; in the order of the steps.
    pub steps: Vec<(String, Option<u64>)>,
}

/// Returns the steps of a message, with what is kept of their files.
pub(crate) fn files_of_steps(
    connection: &Connection,
    message: &str,
) -> Result<Vec<(String, Option<u64>)>> {
    let sql = "SELECT id, file_count FROM steps WHERE message_id = ?1 ORDER BY seq";
    all(connection, sql, [message], |row| {
        let files: Option<i64> = row.get(1)?;
        Ok((row.get(0)?, files.map(i64::unsigned_abs)))
    })
}

/// Keeps sums if no other process has written since [`super::Database::data_version`] had a value. Returns whether it did.
pub(crate) fn keep_totals(
    connection: &Connection,
    sums: &[KeptTotals],
    version: i64,
) -> Result<bool> {
    let what = || "cannot keep what steps did";
    let now: i64 = connection
        .pragma_query_value(None, "data_version", |row| row.get(0))
        .context(what)?;
    // A hook may have taken these very sums away since they were added up, and they would come back as they
    // were.
    if now != version {
        return Ok(false);
    }
    let mut statement = connection
        .prepare_cached("UPDATE messages SET totals = ?2 WHERE id = ?1")
        .context(what)?;
    let mut of_step = connection
        .prepare_cached("UPDATE steps SET file_count = ?2 WHERE id = ?1 AND file_count IS NOT ?2")
        .context(what)?;
    for kept in sums {
        let text = kept.totals.as_ref().map(Totals::to_text);
        statement
            .execute(params![kept.message, text])
            .context(what)?;
        for (id, files) in &kept.steps {
            let files = files.map(u64::cast_signed);
            of_step.execute(params![id, files]).context(what)?;
        }
    }
    Ok(true)
}

/// Returns all messages whose sums are kept, with the sums; `None` for what is not our text.
pub(crate) fn kept_totals(connection: &Connection) -> Result<Vec<(Unsummed, Option<Totals>)>> {
    let sql = "SELECT messages.id, messages.seq, workspaces.key, totals
                 FROM messages JOIN sessions ON sessions.id = messages.session_id
                 JOIN workspaces ON workspaces.id = sessions.workspace_id
                WHERE totals IS NOT NULL ORDER BY messages.seq";
    all(connection, sql, [], |row| {
        let text: String = row.get(3)?;
        let totals = Totals::from_text(&text);
        let is_left = |totals: &Totals| totals.contents == Contents::Needed;
        let message = Unsummed {
            id: row.get(0)?,
            seq: row.get(1)?,
            workspace_key: row.get(2)?,
            is_pruned: totals.as_ref().is_some_and(is_left),
        };
        Ok((message, totals))
    })
}

/// A message while its rows are read.
#[derive(Default)]
struct MessageTotals {
    totals: Totals,
    is_open: bool,
    changes: Vec<CountedChange>,
}

/// One change of a path, as much of it as tells whether rows are enough to count files.
struct CountedChange {
    path: Vec<u8>,
    is_unclear: bool,
    /// The beginnings of the blobs: 0 for none.
    old: u64,
    new: u64,
}

/// Returns the totals of these messages, in their order.
pub(crate) fn totals(connection: &Connection, messages: &[&str]) -> Result<Vec<Totals>> {
    one_by_one(connection, messages).context(|| "cannot read the session store")
}

/// Searches the rows of each message.
fn one_by_one(connection: &Connection, messages: &[&str]) -> rusqlite::Result<Vec<Totals>> {
    let mut steps = connection.prepare(&format!("{STEPS} WHERE message_id = ?1"))?;
    let mut changes = connection.prepare(&format!("{CHANGES} WHERE step_id = ?1"))?;
    let mut totals = Vec::with_capacity(messages.len());
    for id in messages {
        let mut sum = MessageTotals::default();
        let mut rows = steps.query(params![id])?;
        while let Some(row) = rows.next()? {
            sum.add_step(row)?;
            let mut of_step = changes.query([row.get_ref(0)?.as_str()?])?;
            while let Some(row) = of_step.next()? {
                sum.add_change(row)?;
            }
        }
        totals.push(sum.end());
    }
    Ok(totals)
}

impl MessageTotals {
    fn add_step(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        self.totals.steps += 1;
        self.is_open |= row.get::<_, bool>(2)?;
        self.totals.finished = self.totals.finished.max(row.get(3)?);
        Ok(())
    }

    fn add_change(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let flags: i64 = row.get(1)?;
        self.totals.has_live_changes |= flags & 2 != 0;
        let is_unclear = flags & 1 != 0;
        self.changes.push(CountedChange {
            path: row.get_ref(2)?.as_bytes()?.to_owned(),
            is_unclear,
            old: beginning(row.get_ref(5)?.as_bytes_or_null()?),
            new: beginning(row.get_ref(6)?.as_bytes_or_null()?),
        });
        if is_unclear {
            return Ok(());
        }
        let number = |column| {
            let number: Option<i64> = row.get(column)?;
            Ok::<_, rusqlite::Error>(number.map_or(0, unsigned))
        };
        self.totals.additions += number(3)?;
        self.totals.deletions += number(4)?;
        Ok(())
    }

    fn end(mut self) -> Totals {
        // Stable: those of one path stay in their order.
        self.changes.sort_by(|one, other| one.path.cmp(&other.path));
        let mut totals = Totals {
            finished: self.totals.finished.filter(|_| !self.is_open),
            ..self.totals
        };
        let (mut has_gone, mut has_come, mut is_back) = (false, false, false);
        for path in self.changes.chunk_by(|one, next| one.path == next.path) {
            totals.files += u64::from(path.iter().any(|change| !change.is_unclear));
            totals.unclear += u64::from(path.iter().any(|change| change.is_unclear));
            let ([first, ..], [.., last]) = (path, path) else {
                continue;
            };
            has_gone |= first.old != 0 && last.new == 0;
            has_come |= first.old == 0 && last.new != 0;
            is_back |= path.len() > 1
                && (first.old == last.new
                    || path
                        .iter()
                        .any(|change| change.is_unclear != first.is_unclear));
        }
        if (has_gone && has_come) || is_back {
            totals.contents = Contents::Needed;
        }
        totals
    }
}

/// Returns the first bytes of a blob's id as a number, 0 for none.
fn beginning(blob: Option<&[u8]>) -> u64 {
    let bytes = blob.and_then(|blob| blob.first_chunk::<8>());
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum is read as it was kept and a text with an unknown word is no sum.
    #[test]
    fn sum_with_an_unknown_word_is_none() {
        let totals = Totals {
            steps: 2,
            files: 3,
            unclear: 1,
            additions: 40,
            deletions: 5,
            finished: Some(1_700_000_000_000),
            has_live_changes: true,
            contents: Contents::Needed,
        };
        let text = totals.to_text();
        assert_eq!(text, "2 3 1 40 5 1700000000000 1 1");
        assert_eq!(Totals::from_text(&text), Some(totals));
        for wrong in [
            "",
            "2 3 1 40 5 1700000000000 1",
            "2 3 1 40 5 1700000000000 1 1 1",
            "2 3 1 40 5 1700000000000 true 1",
            "2 3 1 40 5 1700000000000 1 3",
            "-2 3 1 40 5 - 1 1",
        ] {
            assert_eq!(Totals::from_text(wrong), None, "{wrong:?}");
        }
    }
}
