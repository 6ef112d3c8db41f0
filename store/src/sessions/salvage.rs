//! Makes a new session store from what can still be read of a damaged one. This module does IO.
//!
//! SQLite's own recovery is a program, not a function of the library. A table is read in the order of its rows. If a
//! page cannot be read, the rows after it are searched for in growing steps. A reference to a lost row becomes NULL, or
//! its row goes, too. Nothing is deleted: the damaged file is set aside.

use std::ops::Range;
use std::path::{Path, PathBuf};

use ckpt_schema::migration::ONE_OPEN_STEP;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::damaged::{has_our_tables, set_aside};
use super::database::{configure, with_suffix};
use super::first_page;
use super::journal::Journal;
use super::mend::is_of_this_version;
use super::migrate::{beside, migrate};
use super::new_file::make_file;
use super::version::version;
use crate::error::{Context, Error, Result};
use crate::fs::names::{DAMAGED, DATABASE, REPLACED};
use crate::fs::{layout, presence};
use crate::settings::Durability;

/// The result of saving a damaged session store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Salvaged {
    /// The new name of the damaged file.
    pub set_aside: PathBuf,
    /// How many rows could be read.
    pub rows: u64,
    /// The tables with pages that could not be read.
    pub damaged: Vec<String>,
    /// Whether something was taken out of the rows.
    pub is_cut: bool,
}

/// How far after a damaged page rows are searched for, in row numbers.
const FARTHEST: i64 = 1 << 32;

/// Comes after the database's name in the name of a new one that is being filled.
pub(super) const UNFINISHED: &str = ".repaired";

/// The same for a copy of the damaged one with a new first page, which the rows are read from.
const MENDED: &str = ".repaired.source";

/// How both are opened: a link that somebody planted is refused.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Returns the files of a new session store that a killed repair left. They hold prompts and file names, but every row
/// in them is also in the file that it was read from. While a repair is at work, the list is empty.
pub(crate) fn unfinished(directory: &Path) -> Result<Vec<PathBuf>> {
    if layout::is_locked(directory) {
        return Ok(Vec::new());
    }
    beside(directory, &[UNFINISHED])
}

/// Removes them, and returns their names. The lock keeps a running repair from losing its own.
pub(crate) fn remove_unfinished(directory: &Path) -> Result<Vec<PathBuf>> {
    let _lock = layout::lock_store(directory, super::database::BUSY_TIMEOUT)?;
    remove_locked(directory)
}

fn remove_locked(directory: &Path) -> Result<Vec<PathBuf>> {
    let unfinished = beside(directory, &[UNFINISHED])?;
    for path in &unfinished {
        presence::remove_file(path)?;
    }
    Ok(unfinished)
}

/// Builds a new session store from what can be read of `source`, which is the current file or one that was set aside,
/// and replaces the current one. `take_out` removes from the new rows what must not come back, and returns whether
/// there was anything.
///
/// # Errors
///
/// Fails, with nothing changed, if nothing of the source can be read or the disk cannot be written to.
pub(crate) fn salvage(
    directory: &Path,
    source: &Path,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<Salvaged> {
    let _lock = layout::lock_store(directory, super::database::BUSY_TIMEOUT)?;
    remove_locked(directory)?;
    let salvaged = salvage_locked(directory, source, take_out);
    if salvaged.is_err() {
        // The error says more than this one would. The next repair removes what stays.
        let _ = remove_locked(directory);
    }
    salvaged
}

fn salvage_locked(
    directory: &Path,
    source: &Path,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<Salvaged> {
    let what = || format!("cannot save what `{}` holds", source.display());
    let path = directory.join(DATABASE);
    let unfinished = with_suffix(&path, UNFINISHED);
    make_file(&unfinished)?;
    let damaged = open_damaged(source).context(what)?;
    // Other processes that have the file open must not write to it any more. A file that is too damaged to be locked is
    // only read.
    let _ = damaged.execute_batch("BEGIN IMMEDIATE");
    let mended = with_suffix(&path, MENDED);
    let copy = match is_better(&damaged, source, &mended) {
        true => Some(open_damaged(&mended).context(what)?),
        false => None,
    };
    let old = copy.as_ref().unwrap_or(&damaged);
    let filled = fill(&unfinished, old, what, take_out)?;
    drop(copy);
    presence::remove_file(&mended)?;
    layout::sync(&unfinished)?;
    // Named apart, so that the next attempt does not take the whole store that makes way here for the damaged one.
    let ending = match source == path {
        true => DAMAGED,
        false => REPLACED,
    };
    // A kill between this line and the next leaves a store without a session store, which the next command makes
    // anew. Nothing is lost: the rows are in the file that was set aside, and `doctor` lists it.
    let set_aside = set_aside(&path, ending)?;
    std::fs::rename(&unfinished, &path).context(what)?;
    layout::sync(directory)?;
    Ok(Salvaged {
        set_aside,
        ..filled
    })
}

/// Fills a new session store with the rows that can be read of a damaged one. Returns what became of them.
fn fill(
    unfinished: &Path,
    old: &Connection,
    what: impl Fn() -> String + Copy,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<Salvaged> {
    let mut new = Connection::open_with_flags(unfinished, FLAGS).context(what)?;
    // The caller renames one file: nothing may be left in a log beside it.
    configure(&new, Durability::Full, Journal::Rollback).context(what)?;
    migrate(&mut new, unfinished)?;
    // What `take_out` removes was forgotten: its bytes must not stay in free pages.
    new.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))
        .context(what)?;
    // Rows come table by table, before those that they refer to. `mend_references` looks at them at the end.
    // The order counts, too: within a transaction, the pragma does nothing.
    new.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
        .context(what)?;
    // An older store may hold several open steps of a session, and an index of this one would refuse all but the first.
    new.execute_batch("DROP INDEX steps_open; CREATE INDEX steps_open ON steps (state)")
        .context(what)?;
    let (rows, mut damaged) = copy_rows(old, &new)?;
    new.execute_batch(ONE_OPEN_STEP).context(what)?;
    damaged.extend(lost_tables(old, &new)?);
    if rows == 0 {
        return Err(Error::failed(what())
            .because("nothing of it can be read")
            .hint("it is left as it is"));
    }
    let is_cut = take_out(&new)?;
    new.execute_batch("COMMIT").context(what)?;
    Ok(Salvaged {
        set_aside: PathBuf::new(),
        rows,
        damaged,
        is_cut,
    })
}

/// Opens a damaged file. Nothing is written to it.
fn open_damaged(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, FLAGS)?;
    connection.busy_timeout(super::database::BUSY_TIMEOUT)?;
    // One definition that cannot be read, of a view perhaps, would otherwise keep SQLite from every table.
    connection.execute_batch("PRAGMA writable_schema = ON")?;
    Ok(connection)
}

/// Returns whether more can be read of a copy with a new first page, which is then there, than of the damaged file.
fn is_better(damaged: &Connection, source: &Path, mended: &Path) -> bool {
    if is_of_this_version(damaged).unwrap_or_default() {
        return false;
    }
    let is_made = first_page::copy_with_new(source, mended).unwrap_or_default();
    is_made && (first_page::is_whole(mended) || !has_our_tables(damaged).unwrap_or_default())
}

/// Copies every row that can be read. Returns how many, and the damaged tables.
fn copy_rows(old: &Connection, new: &Connection) -> Result<(u64, Vec<String>)> {
    let mut sum = 0;
    let mut damaged = Vec::new();
    for table in tables(new)? {
        let known = columns(old, &table).unwrap_or_default();
        // Only columns that both know: the damaged file may be of an older version, and a new column has a default.
        let shared: Vec<String> = columns(new, &table)?
            .into_iter()
            .filter(|column| known.contains(column))
            .collect();
        if shared.is_empty() {
            continue;
        }
        let (rows, is_whole) = copy_table(old, new, &table, &shared.join(", "), shared.len())?;
        sum += rows;
        if !is_whole {
            damaged.push(table);
        }
    }
    // After all tables: a row that could be read may refer to one that could not.
    mend_references(new)?;
    super::totals::outdate_all(new)?;
    Ok((sum, damaged))
}

/// Returns the tables whose definitions cannot be read any more. A store of an older version never had some of them.
fn lost_tables(old: &Connection, new: &Connection) -> Result<Vec<String>> {
    let found: rusqlite::Result<u32> =
        old.pragma_query_value(None, "user_version", |row| row.get(0));
    if found.is_ok_and(|found| found != version()) {
        return Ok(Vec::new());
    }
    let mut lost = tables(new)?;
    lost.retain(|table| columns(old, table).map_or(true, |columns| columns.is_empty()));
    Ok(lost)
}

fn tables(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema
                WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'meta' ORDER BY rowid";
    super::read::all(connection, sql, [], |row| row.get(0))
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1)";
    super::read::all(connection, sql, [table], |row| row.get(0))
}

/// Copies a table. Returns how many rows, and whether all of them could be read.
fn copy_table(
    old: &Connection,
    new: &Connection,
    table: &str,
    columns: &str,
    number: usize,
) -> Result<(u64, bool)> {
    let places = vec!["?"; number].join(", ");
    let what = || format!("cannot write rows of `{table}`");
    let mut insert = new
        .prepare(&format!(
            // Some rows come twice: a table without row numbers is read from both ends.
            "INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})"
        ))
        .context(what)?;
    let mut put = |row: &rusqlite::Row<'_>, first: usize| -> Result<u64> {
        copy_row(&mut insert, row, first..first + number).context(what)
    };
    copy_by_numbers(old, table, columns, &mut put)
}

/// Copies the columns of a row. Returns how many rows were written: a row with a damaged value is left out.
fn copy_row(
    insert: &mut rusqlite::Statement<'_>,
    row: &rusqlite::Row<'_>,
    columns: Range<usize>,
) -> rusqlite::Result<u64> {
    let values: rusqlite::Result<Vec<ValueRef<'_>>> = columns.map(|at| row.get_ref(at)).collect();
    let Ok(values) = values else { return Ok(0) };
    let values = values.into_iter().map(ToSqlOutput::Borrowed);
    match insert.execute(params_from_iter(values)) {
        Ok(rows) => Ok(rows as u64),
        Err(error) if is_refused(&error) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Returns whether a table rejected a row because of its values.
fn is_refused(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::ConstraintViolation | rusqlite::ErrorCode::TypeMismatch)
    )
}

/// Copies rows in the order of their numbers. A page that cannot be read ends a query. The next query begins after it,
/// in steps that double, because nothing says how many numbers the page held. Returns how many rows were written, and
/// whether these are all.
fn copy_by_numbers(
    old: &Connection,
    table: &str,
    columns: &str,
    put: &mut dyn FnMut(&rusqlite::Row<'_>, usize) -> Result<u64>,
) -> Result<(u64, bool)> {
    let Ok(mut select) = old.prepare(&format!(
        "SELECT rowid, {columns} FROM {table} WHERE rowid > ?1 ORDER BY rowid"
    )) else {
        // The definition says `WITHOUT ROWID`, or cannot be read. The other way fails for the second of these.
        return copy_without_numbers(old, table, columns, |row| put(row, 0));
    };
    let mut sum = 0;
    // SQLite numbers rows from 1.
    let (mut last, mut step, mut is_whole) = (0_i64, 0_i64, true);
    loop {
        let from = last.saturating_add(step);
        let Ok(mut rows) = select.query([from]) else {
            return Ok((sum, false));
        };
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    sum += put(row, 1)?;
                    // From a damaged row number, the next query would begin anywhere.
                    if let Ok(number) = row.get(0) {
                        last = number;
                    }
                    step = 0;
                }
                Ok(None) => return Ok((sum, is_whole)),
                Err(_) => break,
            }
        }
        is_whole = false;
        // There may be more unreadable pages.
        step = (step * 2).max(1);
        if step > FARTHEST {
            return Ok((sum, false));
        }
    }
}

/// Copies a table whose rows have no numbers: from both ends, as far as they can be read.
fn copy_without_numbers(
    old: &Connection,
    table: &str,
    columns: &str,
    mut put: impl FnMut(&rusqlite::Row<'_>) -> Result<u64>,
) -> Result<(u64, bool)> {
    let mut sum = 0;
    for order in ["ASC", "DESC"] {
        // Such a table is in the order of its key, which is its first column. From the end, SQLite reaches the rows
        // behind the damaged page without going through it.
        let key = columns.split(", ").next().unwrap_or(columns);
        let sql = format!("SELECT {columns} FROM {table} ORDER BY {key} {order}");
        let Ok(mut select) = old.prepare(&sql) else {
            return Ok((sum, false));
        };
        let Ok(mut rows) = select.query([]) else {
            return Ok((sum, false));
        };
        loop {
            match rows.next() {
                Ok(Some(row)) => sum += put(row)?,
                Ok(None) if order == "ASC" => return Ok((sum, true)),
                Ok(None) | Err(_) => break,
            }
        }
    }
    Ok((sum, false))
}

/// Mends references to lost rows. A reference becomes NULL if its table allows that. Otherwise its row is deleted, too,
/// and references to that one are mended in turn.
fn mend_references(new: &Connection) -> Result<()> {
    let what = || "cannot mend references to lost rows";
    let mut references = Vec::new();
    for table in tables(new)? {
        let sql = "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1)";
        let of_table = super::read::all(new, sql, [&table], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        let of_table: Vec<(String, String, String)> = of_table;
        references.extend(of_table.into_iter().map(|to| (table.clone(), to)));
    }
    loop {
        let mut changed = 0;
        for (table, (from, other, to)) in &references {
            let is_lost =
                format!("{from} IS NOT NULL AND {from} NOT IN (SELECT {to} FROM {other})");
            // `OR IGNORE` passes over rows whose column must not be NULL. The next statement removes them.
            changed += new
                .execute(
                    &format!("UPDATE OR IGNORE {table} SET {from} = NULL WHERE {is_lost}"),
                    [],
                )
                .unwrap_or_default();
            changed += new
                .execute(&format!("DELETE FROM {table} WHERE {is_lost}"), [])
                .context(what)?;
        }
        if changed == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Database;

    /// A store with this many sessions, each with a message and a diagnostic.
    fn filled(directory: &Path, sessions: u32) {
        let database = Database::open(directory, Durability::Full).expect("a fresh directory");
        database
            .connection()
            .execute_batch(&format!(
                "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at) VALUES (1, 'k', '/w', 1, 2, 0, 0);
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions})
                 INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at)
                   SELECT 'S' || i, 1, 'generic', 's' || i, 0, 0 FROM n;
                 INSERT INTO messages (id, session_id, prompt, created_at)
                   SELECT 'M' || agent_id, id, 'please ' || hex(zeroblob(100)), 0 FROM sessions;
                 PRAGMA wal_checkpoint(TRUNCATE)"
            ))
            .expect("rows that the tables take");
    }

    fn count(directory: &Path, table: &str) -> u32 {
        let database = Database::open(directory, Durability::Full).expect("a database");
        database
            .connection()
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .expect("readable")
    }

    #[test]
    fn what_can_be_read_around_a_damaged_page_is_in_the_new_store_and_the_old_one_is_set_aside() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 2000);
        let path = directory.path().join(DATABASE);
        let mut bytes = std::fs::read(&path).expect("ours");
        // A page of messages in the middle of the table.
        let at = bytes
            .windows(12)
            .position(|window| window == b"MS1000S1000p" || window == b"Ms1000S1000p")
            .expect("the row is there");
        let page = at / 4096 * 4096;
        bytes[page..page + 4096].fill(0xa5);
        std::fs::write(&path, &bytes).expect("ours");
        let salvaged =
            salvage(directory.path(), &path, |_| Ok(false)).expect("most of it is readable");
        assert!(
            salvaged.damaged.contains(&"messages".to_owned()),
            "it is reported: {salvaged:?}"
        );
        assert_eq!(count(directory.path(), "sessions"), 2000, "another table");
        let messages = count(directory.path(), "messages");
        assert!(
            (1900..2000).contains(&messages),
            "all but those of one page: {messages}"
        );
        assert_eq!(
            std::fs::read(&salvaged.set_aside).expect("it is there"),
            bytes,
            "every byte of the old one"
        );
    }

    #[test]
    fn what_was_added_up_is_not_taken_over_because_rows_may_be_lost() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 3);
        let path = directory.path().join(DATABASE);
        let sql = Connection::open(&path).expect("a database");
        sql.execute_batch("UPDATE messages SET totals = '1 1 0 1 0 5 1 0'")
            .expect("writable");
        drop(sql);
        salvage(directory.path(), &path, |_| Ok(false)).expect("it is whole");
        assert_eq!(count(directory.path(), "messages"), 3, "they are there");
        assert_eq!(
            count(directory.path(), "messages WHERE totals IS NOT NULL"),
            0,
            "a list adds up what is left"
        );
    }

    #[test]
    fn what_refers_to_a_lost_row_goes_with_it() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 3);
        let path = directory.path().join(DATABASE);
        let sql = Connection::open(&path).expect("the database");
        sql.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM sessions WHERE id = 'S2'")
            .expect("writable");
        drop(sql);
        salvage(directory.path(), &path, |_| Ok(false)).expect("all of it is readable");
        assert_eq!(
            count(directory.path(), "messages"),
            2,
            "not the one of a lost session"
        );
    }

    #[test]
    fn a_file_of_which_nothing_can_be_read_is_left_as_it_is() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        filled(directory.path(), 3);
        let garbage = directory.path().join("sessions.db.damaged-1");
        std::fs::write(&garbage, "no database".repeat(1000)).expect("writable");
        salvage(directory.path(), &garbage, |_| Ok(false)).expect_err("nothing is in it");
        assert_eq!(
            count(directory.path(), "sessions"),
            3,
            "and so is the store"
        );
    }
}
