//! Copies what can still be read of a damaged session store by ordinary queries. This module does IO.
//!
//! A new file is filled, in this order, and a row that is there stays:
//!
//! ```text
//! the damaged file                     as SQLite reads it
//! a copy with other definitions        if its own cannot be read: those of a backup, or of a new store
//! the backups                          for the tables of which a row could not be read
//! ```
//!
//! A query that fails is tried again on the halves of its range, down to single rows. Nothing is deleted: the damaged
//! file is set aside, and `doctor --repair` takes over what an earlier one holds and the session store lacks.

mod filling;
mod graft;
mod references;

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use filling::{Filling, attach};
use graft::graft;

use super::backup::backups;
use super::database::{BESIDE, BUSY_TIMEOUT, configure, with_suffix};
use super::diagnostics::DiagnosticLevel;
use super::journal::Journal;
use super::migrate::{beside, migrate};
use super::new_file::{image, make_file};
use super::replacement::{free_place, put_in_place};
use crate::error::{Context, Error, Result};
use crate::fs::names::{DAMAGED, DATABASE};
use crate::fs::{layout, presence};
use crate::model::Milliseconds;
use crate::model::number::count;
use crate::settings::Durability;

/// What could be read of a damaged session store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Salvaged {
    /// The new name of the damaged file.
    pub set_aside: PathBuf,
    /// How many rows could be read of it.
    pub rows: u64,
    /// How many rows come from a backup.
    pub from_backup: u64,
    /// The tables with rows that could not be read.
    pub damaged: Vec<String>,
    /// Whether something was taken out of the rows.
    pub is_cut: bool,
}

impl Salvaged {
    /// Notes what became of a damaged session store, for `status` and `doctor`.
    fn note(&self, connection: &Connection) -> Result<()> {
        let level = match self.damaged.is_empty() {
            true => DiagnosticLevel::Warning,
            false => DiagnosticLevel::Error,
        };
        let place = self.set_aside.display();
        let message = format!("the session store was damaged and is set aside as `{place}`");
        let sql = "INSERT INTO diagnostics (level, message, detail, at)
                   VALUES (?1, ?2, ?3, CAST(unixepoch('subsec') * 1000 AS INTEGER))";
        connection
            .execute(sql, params![level.name(), message, self.outcome()])
            .context(|| "cannot note a diagnostic")?;
        super::feed::diagnostic(connection, connection.last_insert_rowid())
    }

    /// Describes the outcome for the rows.
    fn outcome(&self) -> String {
        if self.rows + self.from_backup == 0 {
            return "what was recorded before does not show here; the snapshots are still there: \
                    `ckpt-hook doctor --repair` recovers them"
                .to_owned();
        }
        let mut text = format!("{} of it are in a new one", count(self.rows, "row"));
        if self.from_backup > 0 {
            text += &format!(", and {} of a backup", count(self.from_backup, "row"));
        }
        if !self.damaged.is_empty() {
            text += &format!("; rows of {} are lost", self.lost());
        }
        text
    }

    /// Returns the names of the tables with rows that could not be read.
    pub fn lost(&self) -> String {
        let named = self.damaged.iter().map(|table| format!("`{table}`"));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// Comes after the database's name in the name of a new one that is being filled.
const UNFINISHED: &str = ".repaired";

/// The same for a new one that is whole, and waits for the damaged one to make way.
pub(super) const WHOLE: &str = ".repaired.whole";

/// The same for a copy of the damaged one with definitions of a sound one.
const GRAFTED: &str = ".repaired.source";

/// How all of them are opened: a planted link is refused.
pub(super) const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The same for a new one without rows.
const NEW: &str = ".repaired.new";

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
    let _lock = layout::lock_store(directory, BUSY_TIMEOUT)?;
    remove_locked(directory)
}

fn remove_locked(directory: &Path) -> Result<Vec<PathBuf>> {
    let unfinished = beside(directory, &[UNFINISHED])?;
    unfinished
        .iter()
        .try_for_each(|path| presence::remove_file(path))?;
    Ok(unfinished)
}

/// Builds a new session store from what can be read of the current one, and replaces it. `take_out` removes from the
/// rows what must not come back, and returns whether there was anything.
///
/// # Errors
///
/// Fails, with nothing changed, if anything but the damage itself keeps a row from being read or written.
pub(crate) fn salvage(
    directory: &Path,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<Salvaged> {
    let _lock = layout::lock_store(directory, BUSY_TIMEOUT)?;
    replace(directory, take_out)
}

/// Like `salvage`, for a caller that holds the store's lock.
pub(super) fn replace(
    directory: &Path,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<Salvaged> {
    let set_aside = free_place(directory)?;
    let source = directory.join(DATABASE);
    let salvaged = build(directory, &source, |new, salvaged| {
        // With the rows: a process that is killed as soon as the new file is there must not leave its user in the dark.
        salvaged.set_aside.clone_from(&set_aside);
        mark_read(new, &source, &set_aside)?;
        salvaged.is_cut = take_out(new)?;
        salvaged.note(new)
    })?;
    put_in_place(directory, &set_aside)?;
    Ok(salvaged)
}

/// Fills a new file that can take the place of the session store, beside it. The caller holds the store's lock.
fn build(
    directory: &Path,
    source: &Path,
    complete: impl FnOnce(&Connection, &mut Salvaged) -> Result<()>,
) -> Result<Salvaged> {
    remove_locked(directory)?;
    let filled = fill(directory, source, complete);
    if filled.is_err() {
        // The error says more than this one would. The next repair removes what stays.
        let _ = remove_locked(directory);
    }
    filled
}

fn fill(
    directory: &Path,
    source: &Path,
    complete: impl FnOnce(&Connection, &mut Salvaged) -> Result<()>,
) -> Result<Salvaged> {
    let what = || format!("cannot save what `{}` holds", source.display());
    let database = directory.join(DATABASE);
    let unfinished = with_suffix(&database, UNFINISHED);
    make_file(&unfinished)?;
    // Other processes that have the file open must not write to it any more. A file that is too damaged to be locked is
    // only read.
    let lock = Connection::open_with_flags(source, FLAGS).context(what)?;
    lock.busy_timeout(BUSY_TIMEOUT).context(what)?;
    // Nothing is written to it, not even when it is closed.
    lock.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .context(what)?;
    match lock.execute_batch("BEGIN IMMEDIATE") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            return Err(error).context(what);
        }
        _ => {}
    }
    make_tables(&unfinished)?;
    let mut filling = Filling::new(connect(&unfinished)?, &unfinished, None)?;
    // Another file's rows have other numbers than those of the backups.
    let backups = match source == database {
        true => backups(directory)?,
        false => Vec::new(),
    };
    if !filling.copy_from(source)? {
        copy_grafted(&database, source, &backups, &mut filling)?;
    }
    let mut salvaged = Salvaged {
        rows: filling.rows,
        ..Salvaged::default()
    };
    let damaged: Vec<String> = filling.damaged.iter().cloned().collect();
    if !damaged.is_empty() {
        for backup in &backups {
            filling.copy_damaged_from(backup)?;
        }
        // The newest one last.
        for backup in backups.iter().rev() {
            filling.complete_from(backup)?;
        }
    }
    salvaged.from_backup = filling.rows - salvaged.rows;
    salvaged.damaged = damaged;
    finish(&filling.new, |new| {
        new.execute_batch(ONE_OPEN_STEP).context(what)?;
        complete(new, &mut salvaged)
    })?;
    drop(filling);
    layout::sync(&unfinished)?;
    std::fs::rename(&unfinished, with_suffix(&database, WHOLE)).context(what)?;
    layout::sync(directory)?;
    Ok(salvaged)
}

/// Copies the rows of a damaged file with the definitions of a sound one: a backup, or a new store, as one is made, as a
/// repair makes it, and as `forget` leaves each of them. In each, tables begin at other pages.
fn copy_grafted(
    database: &Path,
    source: &Path,
    backups: &[PathBuf],
    filling: &mut Filling,
) -> Result<()> {
    let grafted = with_suffix(database, GRAFTED);
    let new = with_suffix(database, NEW);
    let mut copy_with = |sound: &Path| -> Result<bool> {
        let is_copied = match graft(source, sound, &grafted)? {
            Some(lost) => filling.copy_from_whole(&grafted, &lost)?,
            None => false,
        };
        remove(&grafted)?;
        Ok(is_copied)
    };
    for backup in backups {
        if copy_with(backup)? {
            return Ok(());
        }
    }
    let what = || format!("cannot make `{}`", new.display());
    for (is_repaired, is_scrubbed) in [(false, false), (false, true), (true, false), (true, true)] {
        make_file(&new)?;
        if is_repaired {
            make_tables(&new)?;
            let repaired = Connection::open_with_flags(&new, FLAGS).context(what)?;
            repaired.execute_batch(ONE_OPEN_STEP).context(what)?;
        } else {
            let image = image(Journal::Rollback).context(what)?;
            std::fs::write(&new, image).context(what)?;
        }
        if is_scrubbed {
            let scrubbed = Connection::open_with_flags(&new, FLAGS).context(what)?;
            scrubbed.execute_batch("VACUUM").context(what)?;
        }
        let is_copied = copy_with(&new)?;
        remove(&new)?;
        if is_copied {
            break;
        }
    }
    Ok(())
}

/// Removes a database with what is beside it.
fn remove(path: &Path) -> Result<()> {
    let mut endings = BESIDE.into_iter().chain([""]);
    endings.try_for_each(|ending| presence::remove_file(&with_suffix(path, ending)))
}

/// Makes the tables of a new session store.
fn make_tables(path: &Path) -> Result<()> {
    let what = || format!("cannot make `{}`", path.display());
    let mut new = Connection::open_with_flags(path, FLAGS).context(what)?;
    // The caller renames one file: nothing may be left in a log beside it.
    configure(&new, Durability::Full, Journal::Rollback).context(what)?;
    migrate(&mut new, path)?;
    // What is read may hold several open steps of a session, and the index would refuse all but the first.
    new.execute_batch("DROP INDEX steps_open; CREATE INDEX steps_open ON steps (state)")
        .context(what)
}

/// Ends all but the newest open step of a session where the next one begins.
const ONE_OPEN_STEP: &str = "
    DROP INDEX steps_open;
    UPDATE steps
       SET state = 'closed', recovered = 1,
           finished_at = (SELECT max(steps.started_at, next.started_at) FROM steps AS next
                           WHERE next.session_id = steps.session_id AND next.seq > steps.seq ORDER BY next.seq LIMIT 1),
           finish_snapshot_id = ifnull(
               (SELECT next.start_snapshot_id FROM steps AS next
                 WHERE next.session_id = steps.session_id AND next.seq > steps.seq ORDER BY next.seq LIMIT 1),
               start_snapshot_id)
     WHERE state = 'open'
       AND EXISTS (SELECT 1 FROM steps AS next WHERE next.session_id = steps.session_id AND next.seq > steps.seq);
    UPDATE tools SET finished_at = (SELECT max(tools.started_at, steps.finished_at) FROM steps WHERE steps.id = tools.step_id)
     WHERE finished_at IS NULL AND EXISTS (SELECT 1 FROM steps WHERE steps.id = tools.step_id AND steps.state = 'closed');
    CREATE UNIQUE INDEX steps_open ON steps (state, session_id) WHERE state = 'open';";

/// Opens a new session store that rows are copied into. It is synced once it is whole, and is of no use before.
fn connect(path: &Path) -> Result<Connection> {
    let what = || format!("cannot open `{}`", path.display());
    let new = Connection::open_with_flags(path, FLAGS).context(what)?;
    configure(&new, Durability::Objects, Journal::Rollback).context(what)?;
    new.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))
        .and_then(|()| new.pragma_update(None, "synchronous", "OFF"))
        .and_then(|()| for_copying(&new))
        .context(what)?;
    Ok(new)
}

/// Opens the session store, to add rows to it.
fn connect_to_current(path: &Path) -> Result<Connection> {
    let what = || format!("cannot open `{}`", path.display());
    let current = Connection::open_with_flags(path, FLAGS).context(what)?;
    // The file keeps the log that it has.
    configure(&current, Durability::Full, Journal::Rollback)
        .and_then(|()| for_copying(&current))
        .context(what)?;
    Ok(current)
}

/// Prepares a connection for reading a damaged file beside its own.
fn for_copying(connection: &Connection) -> rusqlite::Result<()> {
    // What is taken out was forgotten: its bytes must not stay in free pages.
    connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    // Rows come table by table, before those that they refer to. `references` looks at them at the end.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    // One definition that cannot be read, of a view perhaps, would otherwise keep SQLite from every table.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    connection.execute_batch("PRAGMA writable_schema = ON")
}

/// Returns the former session stores that were set aside, and were not read since they last changed. What any of them
/// holds may be nowhere else.
pub(crate) fn unread(connection: &Connection, directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in beside(directory, &[DAMAGED])? {
        let name = path.to_string_lossy();
        // What belongs to one is read with it.
        if BESIDE.iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let (key, state) = mark(&path)?;
        let sql = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?1 AND value = ?2)";
        let is_read: bool = connection
            .query_row(sql, params![key, state], |row| row.get(0))
            .context(|| "cannot read the session store")?;
        if !is_read {
            found.push(path);
        }
    }
    Ok(found)
}

/// Notes that all that can be read of a file is in the session store, under the name that it has, or is about to get.
fn mark_read(connection: &Connection, path: &Path, name: &Path) -> Result<()> {
    let ((key, _), (_, state)) = (mark(name)?, mark(path)?);
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
    connection
        .execute(sql, params![key, state])
        .context(|| "cannot note what was read")?;
    Ok(())
}

/// Returns a key and a checksum for the present state of a file and its log.
fn mark(path: &Path) -> Result<(String, i64)> {
    use std::os::unix::fs::MetadataExt;

    let mut state = 0_i64;
    for file in [path.to_owned(), with_suffix(path, "-wal")] {
        if let Some(metadata) = presence::metadata(&file)? {
            let written = metadata.mtime().wrapping_mul(1_000_000_000) + metadata.mtime_nsec();
            state = state.wrapping_mul(31).wrapping_add(written) ^ metadata.len().cast_signed();
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Another version may read more of it.
    let version = env!("CARGO_PKG_VERSION");
    Ok((format!("read {name} by {version}"), state))
}

/// Adds to the session store what a former one holds and it lacks, and notes that. Returns the number of rows. What is
/// there already stays as it is, and so do its numbers: those of the rows that are added come before them.
pub(crate) fn add_former(
    directory: &Path,
    source: &Path,
    now: Milliseconds,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<Salvaged> {
    let _lock = layout::lock_store(directory, BUSY_TIMEOUT)?;
    let what = || format!("cannot take over what `{}` holds", source.display());
    let database = directory.join(DATABASE);
    remove_locked(directory)?;
    // As a file of its own first: only one whose tables are known, and are whole, is compared with the session store.
    let built = build(directory, source, |_, _| Ok(()))?;
    let whole = with_suffix(&database, WHOLE);
    let added = add(&database, &whole, now, |connection| {
        mark_read(connection, source, source)?;
        take_out(connection)
    })
    .map_err(|error| Error::failed(what()).because(error));
    remove_locked(directory)?;
    let (rows, is_cut) = added?;
    Ok(Salvaged {
        set_aside: source.to_owned(),
        rows,
        from_backup: 0,
        damaged: built.damaged,
        is_cut,
    })
}

fn add(
    database: &Path,
    whole: &Path,
    now: Milliseconds,
    take_out: impl FnOnce(&Connection) -> Result<bool>,
) -> Result<(u64, bool)> {
    let mut filling = Filling::new(connect_to_current(database)?, database, Some(now))?;
    attach(&filling.new, whole)?;
    let what = || "cannot add rows to the session store";
    filling.new.execute_batch("BEGIN IMMEDIATE").context(what)?;
    filling.copy_tables(|_| true)?;
    let is_cut = finish(&filling.new, take_out)?;
    Ok((filling.rows, is_cut))
}

/// Mends what the rows say of each other, completes them, and commits.
fn finish<T>(
    connection: &Connection,
    complete: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let what = || "cannot write the session store";
    if connection.is_autocommit() {
        connection.execute_batch("BEGIN IMMEDIATE").context(what)?;
    }
    references::mend(connection)?;
    super::totals::outdate_all(connection)?;
    let completed = complete(connection)?;
    connection.execute_batch("COMMIT").context(what)?;
    Ok(completed)
}

#[cfg(test)]
mod tests;
