//! Migrates a database of an older version to this one. A database of a newer version is left alone. This module does
//! IO.
//!
//! ```text
//! sessions.db            version 2 ──── write lock ─┬─ copy ─ sync ─ rename ─┬─ migrations ─ commit ──── version 5
//! sessions.db.version-2                             └────────────────────────┘ stays until the next migration is done
//! ```

use std::path::{Path, PathBuf};

use ckpt_schema::migration::{APPLICATION_ID, OLDER_APPLICATION_ID};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::database::{configure, empty_log, with_suffix};
use super::journal::Journal;
use super::new_file::make_file;
use super::older_store::older;
use super::replacement::{damaged_header, has_our_tables};
use super::version::{self, steps_from};
use super::views::drop_views;
use crate::error::{Context, Error, Result};
use crate::fs::names::{BACKUP, COPY, DAMAGED, DATABASE, OLDER};
use crate::fs::{layout, presence};
use crate::settings::Durability;

/// Migrates a database to this version. All migrations are one transaction, so that after a kill or a power cut it is
/// either the old one or the new one. Returns whether the database is new.
///
/// The write lock comes first. Only under it are the version and the completeness of the copy certain: no process writes
/// between the copy and the migrations.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<bool> {
    if is_current(connection, path)? {
        return Ok(false);
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .context(|| format!("cannot migrate `{}`", path.display()))?;
    // Another process may have migrated it in the meantime.
    let from = version_of(&transaction, path)?;
    // Before the number says anything: another program may use it, too.
    check_maker(&transaction, path, from)?;
    if from > version::version() {
        return refuse_newer(&transaction, path, from).map(|()| false);
    }
    if from == version::version() {
        return Ok(false);
    }
    let copy = match from {
        0 => None,
        // Nothing was written in this transaction yet, so the reader that makes the copy sees exactly what is about to
        // be migrated.
        _ => Some(keep_copy(path, from)?),
    };
    if from > 0 {
        drop_views(&transaction)?;
    }
    transaction
        .execute_batch(&steps_from(from))
        .context(|| format!("cannot migrate `{}`", path.display()))?;
    transaction
        // Both are pages of the file, so they are part of the transaction: a process that sees the version sees all
        // tables.
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| transaction.pragma_update(None, "user_version", version::version()))
        .and_then(|()| transaction.commit())
        .context(|| format!("cannot migrate `{}`", path.display()))?;
    // Only after the commit: until then, the last migration's copy is the only one that is known to be good.
    if let Some(copy) = copy {
        remove_other_copies(path, &copy);
    }
    // The tables fill half of the log, which every hook would have to read.
    empty_log(connection);
    Ok(from == 0)
}

/// Returns whether the file is a session store with all migrations. Every hook call asks this, so both queries are one
/// transaction: each by itself would take SQLite's locks.
fn is_current(connection: &Connection, path: &Path) -> Result<bool> {
    let transaction = connection
        .unchecked_transaction()
        .context(|| format!("cannot read `{}`", path.display()))?;
    if version_of(&transaction, path)? != version::version() {
        return Ok(false);
    }
    check_application(&transaction, path)?;
    check_encoding(&transaction, path).map(|()| true)
}

/// Fails if the header of a file is not one that this program writes.
pub(super) fn check_header(connection: &Connection, path: &Path) -> Result<()> {
    check_maker(connection, path, version_of(connection, path)?)?;
    check_encoding(connection, path)
}

/// Fails if another program made the file.
fn check_maker(connection: &Connection, path: &Path, version: u32) -> Result<()> {
    match version {
        0 => check_empty(connection, path),
        _ => check_application(connection, path),
    }
}

fn version_of(connection: &Connection, path: &Path) -> Result<u32> {
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .context(|| format!("cannot read `{}`", path.display()))?;
    u32::try_from(version).map_err(|_| damaged_header(path, "the version is negative"))
}

/// Fails if the texts of a session store would be read in another encoding: no row would be found any more, and those
/// that are added would be of that encoding.
fn check_encoding(connection: &Connection, path: &Path) -> Result<()> {
    let found: String = connection
        .pragma_query_value(None, "encoding", |row| row.get(0))
        .context(|| format!("cannot read `{}`", path.display()))?;
    match found.as_str() {
        "UTF-8" => Ok(()),
        found => Err(damaged_header(path, &format!("its texts are {found}"))),
    }
}

pub(super) fn check_application(connection: &Connection, path: &Path) -> Result<()> {
    let found: i32 = connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .context(|| format!("cannot read `{}`", path.display()))?;
    match found {
        APPLICATION_ID => Ok(()),
        OLDER_APPLICATION_ID => Err(older(path)),
        _ => Err(not_ours(connection, path)),
    }
}

/// Fails if a database without a version has tables: it is another program's, and must not get ours.
fn check_empty(connection: &Connection, path: &Path) -> Result<()> {
    let sql = "SELECT (SELECT application_id FROM pragma_application_id) = 0 AND NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    let is_empty: bool = connection
        .query_row(sql, [], |row| row.get(0))
        .context(|| format!("cannot read `{}`", path.display()))?;
    if is_empty {
        Ok(())
    } else {
        Err(not_ours(connection, path))
    }
}

/// Returns the error about a database that is another program's by its header. If it has our tables, the header is
/// damaged.
fn not_ours(connection: &Connection, path: &Path) -> Error {
    if has_our_tables(connection).unwrap_or_default() {
        return damaged_header(path, "it names another program");
    }
    Error::failed(format!("`{}` is not a session store", path.display()))
        .hint("another program made it, and it is left as it is: move it out of the store")
}

/// Fails if a newer file does not let this version write to it, as its `meta` table says.
fn refuse_newer(connection: &Connection, path: &Path, found: u32) -> Result<()> {
    let oldest_writer: u32 = connection
        .query_row(
            "SELECT value FROM meta WHERE key = 'min_writer'",
            [],
            |row| row.get(0),
        )
        .context(|| format!("cannot read `{}`", path.display()))?;
    if oldest_writer <= version::version() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "`{}` was written by a newer ckpt-hook (version {found} of the tables)",
        path.display()
    ))
    .hint("upgrade this ckpt-hook, or use another directory as --store"))
}

/// Fails in a transaction that writes if a newer version migrated the file since it was opened, and does not let this
/// one write to it. The pages that this reads are those that the transaction has read already.
pub(super) fn check_writer(connection: &Connection, path: &Path) -> Result<()> {
    let mut statement = connection
        .prepare_cached("PRAGMA user_version")
        .context(|| format!("cannot read `{}`", path.display()))?;
    let found: u32 = statement
        .query_row([], |row| row.get(0))
        .context(|| format!("cannot read `{}`", path.display()))?;
    match found == version::version() {
        true => Ok(()),
        false => refuse_newer(connection, path, found),
    }
}

/// Keeps a private copy of the database beside it, as it is before a migration. Returns its path.
///
/// The copy gets its name only once it is complete and synced.
fn keep_copy(path: &Path, version: u32) -> Result<PathBuf> {
    let copy = with_suffix(path, &format!("{COPY}{version}"));
    let what = || {
        format!(
            "cannot keep a copy of `{}` before its tables change",
            path.display()
        )
    };
    let unfinished = with_suffix(&copy, ".new");
    // A killed migration left it, and `VACUUM INTO` writes to no file that holds anything.
    presence::remove_file(&unfinished)?;
    make_file(&unfinished)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // `VACUUM` cannot run in a transaction, and the connection that holds the write lock is in one. A reader does not
    // have to wait for it.
    let reader = Connection::open_with_flags(path, flags).context(what)?;
    // The file keeps the log that it has.
    configure(&reader, Durability::Objects, Journal::Rollback).context(what)?;
    reader
        .execute(
            "VACUUM INTO ?1",
            [unfinished.to_str().ok_or_else(|| {
                Error::failed(what()).hint("a store whose path is UTF-8 can be migrated")
            })?],
        )
        .context(what)?;
    // Before the rename, since the name says that it is whole.
    layout::sync(&unfinished)?;
    std::fs::rename(&unfinished, &copy).context(what)?;
    layout::sync(path.parent().unwrap_or(Path::new(".")))?;
    Ok(copy)
}

/// Copies a session store, as it is at this moment, into another directory.
pub(crate) fn copy_into(connection: &Connection, directory: &Path) -> Result<()> {
    let copy = directory.join(DATABASE);
    let what = || format!("cannot copy the session store to `{}`", copy.display());
    make_file(&copy)?;
    let name = copy
        .to_str()
        .ok_or_else(|| Error::failed(what()).hint("a path that is UTF-8 can be copied to"))?;
    connection.execute("VACUUM INTO ?1", [name]).context(what)?;
    Ok(())
}

/// Removes the copies that earlier migrations kept. Those that cannot be removed stay, and `doctor` lists them.
fn remove_other_copies(path: &Path, kept: &Path) {
    let directory = path.parent().unwrap_or(Path::new("."));
    for copy in copies(directory).unwrap_or_default() {
        if copy != kept && is_named(&copy, COPY) {
            let _ = presence::remove_file(&copy);
        }
    }
}

/// Returns every former session store in a store's directory: backups, copies that migrations kept, including
/// unfinished ones, and those that were set aside. Like the session store, they hold prompts and file names.
pub(crate) fn copies(directory: &Path) -> Result<Vec<PathBuf>> {
    beside(directory, &[BACKUP, COPY, DAMAGED, OLDER])
}

/// Returns the files in a store's directory, sorted, whose name is the database's followed by one of these endings.
pub(super) fn beside(directory: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let what = || format!("cannot list `{}`", directory.display());
    let mut found = Vec::new();
    for entry in directory.read_dir().context(what)? {
        let path = entry.context(what)?.path();
        if endings.iter().any(|ending| is_named(&path, ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn is_named(path: &Path, ending: &str) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.strip_prefix(DATABASE.as_bytes())
        .is_some_and(|rest| rest.starts_with(ending.as_bytes()))
}

#[cfg(test)]
mod tests {
    use ckpt_schema::migration::VERSION;

    use super::*;
    use crate::sessions::Database;

    fn open(directory: &Path) -> Database {
        Database::open(directory, Durability::Objects).expect("a fresh directory")
    }

    /// A newer file is refused politely and left alone.
    ///
    /// Invariant `truth/older-binary`: An older binary refuses a newer store, also if it
    /// had opened it before.
    #[test]
    fn newer_file_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let database = open(directory.path());
        database
            .connection()
            .pragma_update(None, "user_version", VERSION + 1)
            .expect("writable");
        database
            .connection()
            .execute("UPDATE meta SET value = ?1", [VERSION + 1])
            .expect("writable");
        drop(database);
        let error = Database::open(directory.path(), Durability::Objects)
            .err()
            .expect("refused");
        assert!(
            error.to_string().contains("newer ckpt-hook"),
            "it says why: {error}"
        );
        let connection =
            Connection::open(directory.path().join("sessions.db")).expect("still a database");
        let found: u32 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .expect("readable");
        assert_eq!(found, VERSION + 1, "nothing was changed");
    }

    /// A process that opened the file before a newer one migrated it writes no more.
    ///
    /// Invariant `truth/older-binary`.
    #[test]
    fn older_process_writes_no_more_after_a_migration() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut database = open(directory.path());
        let other = Connection::open(directory.path().join("sessions.db")).expect("a database");
        let raise = |oldest_writer: u32| {
            let sql = format!(
                "UPDATE meta SET value = {oldest_writer} WHERE key = 'min_writer'; PRAGMA user_version = {}",
                VERSION + 1
            );
            other.execute_batch(&sql).expect("writable");
        };
        raise(VERSION);
        database
            .write(|_| Ok(()))
            .expect("the newer one says that this one may");
        raise(VERSION + 1);
        let error = database
            .write(|_| Ok(()))
            .expect_err("rows of an older kind would be in it");
        assert!(
            error.to_string().contains("newer ckpt-hook"),
            "it says why: {error}"
        );
    }

    #[test]
    fn a_database_of_another_application_is_refused() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let connection =
            Connection::open(directory.path().join("sessions.db")).expect("a fresh file");
        connection
            .execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 1")
            .expect("writable");
        drop(connection);
        let error = Database::open(directory.path(), Durability::Objects)
            .err()
            .expect("refused");
        assert!(
            error.to_string().contains("not a session store"),
            "it says why: {error}"
        );
    }

    /// Only the copy of the last migration is kept and all are listed.
    #[test]
    fn only_the_last_migrations_copy_is_kept() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join(DATABASE);
        drop(open(directory.path()));
        let names = |copies: Vec<PathBuf>| -> Vec<String> {
            let name = |copy: &PathBuf| {
                copy.file_name()
                    .map(|name| name.to_string_lossy().into_owned())
            };
            copies.iter().filter_map(name).collect()
        };
        for name in [
            "sessions.db.version-1",
            "sessions.db.version-2.new",
            "sessions.db.damaged-1",
        ] {
            std::fs::write(directory.path().join(name), "old").expect("writable");
        }
        let copy = keep_copy(&path, 2).expect("there is room");
        assert_eq!(
            names(copies(directory.path()).expect("readable")),
            [
                "sessions.db.damaged-1",
                "sessions.db.version-1",
                "sessions.db.version-2"
            ],
            "what holds prompts is found; what a kill had left unfinished was begun anew"
        );
        remove_other_copies(&path, &copy);
        assert_eq!(
            names(copies(directory.path()).expect("readable")),
            ["sessions.db.damaged-1", "sessions.db.version-2"],
            "a damaged one is for its owner to look at"
        );
        keep_copy(&path, 2).expect("a migration that was killed once is tried again");
    }
}
