//! How the session store keeps a transaction whole: by a log beside it, or by a journal on a file server.
//!
//! A write-ahead log has an index in memory that all its readers and writers share. The machines that a file system is
//! mounted on share no memory, and some file servers have none for the processes of one machine (SQLite's `wal.html`).
//! There, the pages that a transaction changes are kept in a rollback journal until it is committed. Readers and
//! writers then wait for each other, by the locks of the file server. This module does IO.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use crate::fs::names::DATABASE;
use crate::fs::{layout, presence, system};
use crate::settings::Durability;

/// What is beside the database while a transaction is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Journal {
    /// A write-ahead log, which stays.
    Log,
    /// A rollback journal, which is deleted by each commit. A log that is there may stay.
    Rollback,
}

/// How long the log's other users are waited for. An older version, or a process that opened the store before its
/// directory came to be served, does without a log only once it ends.
const LOG_TIMEOUT: Duration = Duration::from_millis(250);

impl Journal {
    /// Returns the one for a database in this directory.
    pub(super) fn of(directory: &Path) -> Self {
        match system::is_on_server(directory) {
            true => Self::Rollback,
            false => Self::Log,
        }
    }

    /// Makes a connection use it, and sync as durably.
    pub(super) fn configure(
        self,
        connection: &Connection,
        durability: Durability,
    ) -> rusqlite::Result<()> {
        let mut has_log = has_log(connection)?;
        if self == Self::Log && !has_log {
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            has_log = true;
        }
        let synchronous = match (durability, has_log) {
            (Durability::Objects, true) => "NORMAL",
            // With a journal, a power cut could damage the file at any lower level.
            (Durability::Objects, false) => "FULL",
            (Durability::Full, _) => SYNCED,
        };
        connection.pragma_update(None, "synchronous", synchronous)
    }
}

/// The level at which a power cut takes nothing that was committed. With a log, it is the same as `FULL`; a journal
/// that is not known to be deleted would be rolled back.
pub(super) const SYNCED: &str = "EXTRA";

fn has_log(connection: &Connection) -> rusqlite::Result<bool> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    Ok(mode == "wal")
}

/// Moves the log of a database, if it has one, into it, and removes it. Returns the connection, or another one that
/// `open` made. While others use the log it stays, and all of them use it.
pub(super) fn without_log(
    connection: Connection,
    directory: &Path,
    open: impl Fn() -> rusqlite::Result<Connection>,
) -> rusqlite::Result<Connection> {
    match leave_log(&connection, directory) {
        Ok(()) => return Ok(connection),
        // What cannot be written to, or is damaged, is for the caller to find out.
        Err(error) if !is_busy(&error) => {
            drop(connection);
            return open();
        }
        Err(_) => {}
    }
    // It keeps a lock. Two that do would keep each other from the file.
    drop(connection);
    let end = Instant::now() + LOG_TIMEOUT;
    let _turn = layout::lock_store(directory, LOG_TIMEOUT);
    loop {
        let connection = open()?;
        match leave_log(&connection, directory) {
            Ok(()) => return Ok(connection),
            Err(error) if is_busy(&error) && Instant::now() < end => {
                drop(connection);
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(_) => {
                drop(connection);
                return open();
            }
        }
    }
}

/// Moves the log into the file, and removes it. Fails at once while another process has the file open. The file stays
/// locked until the next statement.
pub(super) fn leave_log(connection: &Connection, directory: &Path) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    // Who has the file alone has the index of the log in its own memory.
    lock_mode(connection, "EXCLUSIVE")?;
    if has_log(connection)? {
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        // The index in shared memory was not used, and SQLite leaves it. While it is locked, no other process has it open.
        let _ = presence::remove_file(&directory.join(format!("{DATABASE}-shm")));
    }
    // The lock goes with the next statement.
    lock_mode(connection, "NORMAL")
}

fn lock_mode(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "locking_mode", mode, |_| Ok(()))
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sessions::Database;
    use crate::sessions::database::{configure_patiently, is_held};
    use crate::sessions::{Diagnostic, DiagnosticLevel};

    /// A session store with a log in which the newest row is.
    fn with_log(directory: &Path) -> Database {
        let mut database =
            Database::open(directory, Durability::Objects).expect("a fresh directory");
        let diagnostic = Diagnostic {
            level: DiagnosticLevel::Info,
            message: "in the log",
            ..Diagnostic::default()
        };
        database.diagnose(&diagnostic, 1).expect("writable");
        assert!(is_there(directory, "-wal") && is_there(directory, "-shm"));
        database
    }

    fn is_there(directory: &Path, ending: &str) -> bool {
        let path = directory.join(format!("sessions.db{ending}"));
        path.metadata().is_ok_and(|file| file.len() > 0)
    }

    fn open(directory: &Path) -> rusqlite::Result<Connection> {
        Connection::open(directory.join("sessions.db"))
    }

    fn rows(connection: &Connection) -> u32 {
        let sql = "SELECT count(*) FROM diagnostics WHERE message = 'in the log'";
        let rows = connection.query_row(sql, [], |row| row.get(0));
        rows.expect("readable")
    }

    fn level(connection: &Connection) -> i64 {
        let level = connection.pragma_query_value(None, "synchronous", |row| row.get(0));
        level.expect("it answers")
    }

    /// A log is moved into the file and nothing beside it is left.
    #[test]
    fn log_is_moved_into_the_file() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let directory = directory.path();
        drop(with_log(directory));
        let opened = open(directory).expect("a database");
        let connection =
            without_log(opened, directory, || open(directory)).expect("nobody uses it");
        assert_eq!(rows(&connection), 1, "with what was in it");
        assert!(!is_there(directory, "-wal") && !is_there(directory, "-shm"));
        for (durability, expected) in [(Durability::Objects, 2), (Durability::Full, 3)] {
            Journal::Rollback
                .configure(&connection, durability)
                .expect("a database");
            assert_eq!(level(&connection), expected, "{durability:?}");
        }
        let other = open(directory).expect("a database");
        assert!(!has_log(&other).expect("readable"), "for everybody");
        other
            .execute("DELETE FROM diagnostics", [])
            .expect("it is not locked");
        assert!(!is_there(directory, "-wal") && !is_there(directory, "-journal"));
        drop((connection, other));
        let again = Database::open(directory, Durability::Objects).expect("a database");
        assert!(
            has_log(again.connection()).expect("readable"),
            "on a disk of this machine it has a log again"
        );
        assert_eq!(
            level(again.connection()),
            1,
            "and its rows wait for no disk"
        );
    }

    /// A log that others use stays and is used by all.
    #[test]
    fn shared_log_stays_for_all() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let directory = directory.path();
        let other = with_log(directory);
        let opened = open(directory).expect("a database");
        let connection = without_log(opened, directory, || open(directory)).expect("it opens");
        Journal::Rollback
            .configure(&connection, Durability::Objects)
            .expect("a database");
        assert!(has_log(&connection).expect("readable"));
        assert_eq!(rows(&connection), 1);
        connection
            .execute("UPDATE diagnostics SET level = 'error'", [])
            .expect("it is not locked");
        let level: String = other
            .connection()
            .query_row("SELECT level FROM diagnostics", [], |row| row.get(0))
            .expect("readable");
        assert_eq!(level, "error", "neither misses what the other writes");
    }

    /// Many that come at once leave the log and none fails.
    #[test]
    fn processes_at_once_leave_the_log() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let directory = directory.path();
        drop(with_log(directory));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let opened = open(directory).expect("a database");
                    let connection =
                        without_log(opened, directory, || open(directory)).expect("it opens");
                    configure_patiently(&connection, Durability::Objects, Journal::Rollback)
                        .expect("it waits");
                    assert_eq!(rows(&connection), 1);
                });
            }
        });
        let last = open(directory).expect("a database");
        let last = without_log(last, directory, || open(directory)).expect("nobody uses it");
        assert!(!has_log(&last).expect("readable"));
        assert_eq!(rows(&last), 1);
    }

    /// After a lock that stays, nothing waits for it as long again.
    #[test]
    fn lock_that_stays_is_waited_for_once() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut database = Database::open(directory.path(), Durability::Objects).expect("new");
        let mut other = Database::open(directory.path(), Durability::Objects).expect("there");
        let waits = |database: &Database| -> i64 {
            let connection = database.connection();
            let sql = "PRAGMA busy_timeout";
            connection
                .query_row(sql, [], |row| row.get(0))
                .expect("a pragma")
        };
        assert_eq!(waits(&database), 4_000);
        let short = database.connection().busy_timeout(Duration::from_millis(1));
        short.expect("the test need not wait");
        let held = other.write(|_| {
            let error = database.write(|_| Ok(())).expect_err("it is held");
            assert!(is_held(&error), "{error}");
            assert_eq!(waits(&database), 100);
            Ok(())
        });
        held.expect("writable");
        database.write(|_| Ok(())).expect("it is free");
    }
}
