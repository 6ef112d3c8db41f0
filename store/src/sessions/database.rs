//! Opens and migrates the database file, in such a way that neither its content nor another process can do harm.
//!
//! SQLite's documentation explains each setting (`pragma.html`, `c3ref/c_dbconfig_defensive.html`). The file is never
//! opened by other means than SQLite: closing such a descriptor would release SQLite's locks.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use super::diagnostics::{Diagnostic, insert_diagnostic};
use super::io_failure::{is_stuck, with_obstacle};
use super::journal::{Journal, SYNCED, is_busy, without_log};
use super::migrate::{check_writer, migrate};
use super::new_file::{emptied, make_store};
use super::older_store::{self, is_older};
use super::replacement::{go_on, is_interrupted, is_proven};
use super::salvage::{self, Salvaged};
use crate::error::{Context, Error, Result};
use crate::fs::layout;
use crate::fs::names::DATABASE;
use crate::model::Milliseconds;
use crate::settings::Durability;

/// How long a statement waits for another process's transaction.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a statement waits after one that waited in vain: an agent waits for all writes of a hook.
const RETRY_TIMEOUT: Duration = Duration::from_millis(100);

/// The size in bytes at which the log is emptied: about a hundred pages, of which a hook writes ten. Every hook reads
/// the whole log first, and SQLite's automatic checkpoint never truncates it.
const LONGEST_LOG: u64 = 400 << 10;

/// How many statements a connection keeps; rusqlite keeps 16 by default.
const KEPT_STATEMENTS: usize = 64;

/// The first SQLite without the WAL-reset bug.
pub const OLDEST_SQLITE: i32 = 3_051_003;

/// The open session store.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// What could be read of a damaged file that was replaced by this one.
    pub(crate) salvaged: Option<Salvaged>,
    /// Where the session store of an older build is, in whose place it was just created.
    pub(crate) older: Option<PathBuf>,
    /// Whether it was just created.
    pub(crate) is_new: bool,
}

impl Database {
    /// Opens `sessions.db` in a directory, and creates and migrates it if needed. A damaged file is set aside, never
    /// deleted, and replaced by a new one with the rows that can be read, so that recording goes on. One of a build
    /// before the first release is set aside as well, and a new one begun. Any other error changes nothing.
    pub fn open(directory: &Path, durability: Durability) -> Result<Self> {
        match Self::open_file(directory, durability) {
            // The connection is closed, and all that it held is free.
            Err(error) if is_stuck(&error) => Self::open_file(directory, durability),
            Err(error) if error.is_of_damaged_store() => {
                Self::replace(directory, durability, false)
            }
            Err(error) if is_older(&error) => {
                let older = older_store::set_aside(directory)?;
                let database = Self::open_file(directory, durability)?;
                Ok(Self { older, ..database })
            }
            opened => opened,
        }
    }

    /// Opens the file anew after an open one gave an error that tells of damage. It is replaced if it proves that.
    pub(crate) fn reopen(directory: &Path, durability: Durability) -> Result<Self> {
        Self::replace(directory, durability, true)
    }

    /// Replaces a damaged file. If many processes find the damage at once, one of them moves it. Damage that was met
    /// in a file that opens is looked for in all of it.
    fn replace(directory: &Path, durability: Durability, is_met: bool) -> Result<Self> {
        let _lock = layout::lock_store(directory, BUSY_TIMEOUT)?;
        // Once more, under the lock: the process that held it before may have replaced the file. Without this look, the
        // second of two processes would set the sound new file aside.
        let opened = Self::open_file(directory, durability);
        let may_be_damaged = match &opened {
            Ok(_) => is_met,
            Err(error) => error.is_of_damaged_store(),
        };
        if !may_be_damaged || !is_proven(directory)? {
            return opened;
        }
        drop(opened);
        let salvaged = salvage::replace(directory, |_| Ok(false))?;
        let mut database = Self::open_file(directory, durability)?;
        database.salvaged = Some(salvaged);
        Ok(database)
    }

    /// Makes a missing file, or puts the one in its place that a killed process had filled. Returns whether the file
    /// is a new one.
    fn make(directory: &Path, path: &Path, journal: Journal) -> Result<bool> {
        if is_interrupted(directory)? {
            let _lock = layout::lock_store(directory, BUSY_TIMEOUT)?;
            if go_on(directory)? {
                return Ok(false);
            }
        }
        make_store(path, journal)
    }

    fn open_file(directory: &Path, durability: Durability) -> Result<Self> {
        // SQLite is built in, but a package may link with the system's.
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(Error::failed(format!(
                "SQLite {} is too old: it can damage a database in WAL mode",
                rusqlite::version()
            )));
        }
        loop {
            if let Some(opened) = Self::open_if_in_place(directory, durability)? {
                return Ok(opened);
            }
        }
    }

    /// Opens the file. `None` if another process put another file in its place before this one had its first lock: SQLite
    /// finds the log by its name, and would read and write the log of the new file with the pages of the old one. See
    /// SQLite's `howtocorrupt.html#unlink`.
    fn open_if_in_place(directory: &Path, durability: Durability) -> Result<Option<Self>> {
        let path = directory.join(DATABASE);
        // Without `CREATE`: `make_store` makes the file, because SQLite would give it the umask's mode. A planted
        // link is refused.
        // No mutex: a connection never leaves its thread.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let in_place = || path.symlink_metadata().ok().map(|file| file.ino());
        let mut file = in_place();
        let open = || Connection::open_with_flags(&path, flags);
        let journal = Journal::of(directory);
        let mut is_made = false;
        let opened = match open() {
            // Opened first and made only if that fails: the file is there in every call but the very first.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
                is_made = Self::make(directory, &path, journal)?;
                file = in_place();
                open()
            }
            // SQLite's second try is to read only. In between, another process may have created the file.
            Ok(connection) if connection.is_readonly(MAIN_DB).unwrap_or_default() => open(),
            opened => opened,
        };
        let mut connection = opened.context(|| format!("cannot open `{}`", path.display()))?;
        if journal == Journal::Rollback {
            connection = without_log(connection, directory, open)
                .map_err(|error| cannot_open(&path, error))?;
        }
        let configured = configure_patiently(&connection, durability, journal);
        // With a log, the connection has a lock from here on, with which no other process replaces the file.
        if in_place() != file {
            return Ok(None);
        }
        let is_new = configured
            .map_err(|error| cannot_open(&path, error))
            .and_then(|()| migrate(&mut connection, &path))
            .map_err(|error| match code(&error) {
                Some(ErrorCode::DatabaseBusy) => emptied(&path).unwrap_or(error),
                _ => with_obstacle(error, &path),
            })?;
        Ok(Some(Self {
            connection,
            path,
            salvaged: None,
            older: None,
            is_new: is_new || is_made,
        }))
    }

    /// Returns an empty database in memory, which stands in for a missing store.
    pub fn empty() -> Result<Self> {
        let path = PathBuf::from(":memory:");
        let what = || "cannot create an empty session store in memory";
        let mut connection = Connection::open_in_memory().context(what)?;
        configure(&connection, Durability::Objects, Journal::Rollback).context(what)?;
        let is_new = migrate(&mut connection, &path)?;
        Ok(Self {
            connection,
            path,
            salvaged: None,
            older: None,
            is_new,
        })
    }

    /// Closes the file, which releases all locks of a process that has no other connection to it. Nothing can be read or
    /// written any more.
    pub(crate) fn close(&mut self) -> Result<()> {
        let without_tables = Connection::open_in_memory();
        self.connection = without_tables.context(|| "cannot close the session store")?;
        Ok(())
    }

    /// Returns the connection, to read from.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Keeps in memory what is read from now on, up to 64 MiB instead of SQLite's 2: much is read again.
    pub fn keep_pages(&self) -> Result<()> {
        self.connection
            .pragma_update(None, "cache_size", -64 * 1024)
            .context(|| "cannot read the session store")
    }

    /// Like `data_version` below, outside a transaction.
    pub fn data_version(&self) -> Result<i64> {
        data_version(&self.connection)
    }

    /// Runs `work`, which only reads, in one transaction: all statements see the same rows, and the locks are taken
    /// once. Within another such call, it is a part of that transaction.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        if !self.connection.is_autocommit() {
            return work(&self.connection);
        }
        let path = &self.path;
        #[cfg(debug_assertions)]
        crate::fault::moment("read");
        let transaction = self
            .connection
            .unchecked_transaction()
            .context(|| format!("cannot read `{}`", path.display()))?;
        work(&transaction).map_err(|error| with_obstacle(error, path))
    }

    /// Runs `work` in one transaction that takes the write lock first.
    pub fn write<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let value = self
            .commit(work)
            .map_err(|error| with_obstacle(error, &self.path))?;
        // A checkpoint cannot run within a transaction.
        if with_suffix(&self.path, "-wal")
            .metadata()
            .is_ok_and(|log| log.len() > LONGEST_LOG)
        {
            empty_log(&self.connection);
        }
        Ok(value)
    }

    fn commit<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let path = &self.path;
        #[cfg(debug_assertions)]
        crate::fault::moment("write");
        // One that begins as a reader fails at once if another process wrote since (`SQLITE_BUSY_SNAPSHOT`).
        let behavior = TransactionBehavior::Immediate;
        let what = || format!("cannot write to `{}`", path.display());
        let transaction = match Transaction::new_unchecked(&self.connection, behavior) {
            Err(error) if is_busy(&error) => {
                let _ = self.connection.busy_timeout(RETRY_TIMEOUT);
                return Err(error).context(what);
            }
            begun => begun.context(what)?,
        };
        #[cfg(debug_assertions)]
        crate::fault::moment("writes");
        // Under the write lock: a newer binary may have migrated the file since this one opened it.
        check_writer(&transaction, path)?;
        let value = work(&transaction)?;
        #[cfg(debug_assertions)]
        crate::fault::moment("commit");
        if let Err(error) = transaction.commit() {
            let what = if is_sync(&error) { "sync" } else { "write to" };
            return Err(error).context(|| format!("cannot {what} `{}`", path.display()));
        }
        #[cfg(debug_assertions)]
        crate::fault::moment("committed");
        Ok(value)
    }

    /// Like [`Database::write`], without checking whether deleted rows are still referred to, for callers that delete
    /// both. The check would search all rows for each deleted one.
    pub fn write_unchecked<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let keys = DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY;
        self.connection
            .set_db_config(keys, false)
            .context(|| "cannot configure the session store")?;
        // An error waits until the keys are checked again: the connection is used further.
        let value = self.write(work);
        self.connection
            .set_db_config(keys, true)
            .context(|| "cannot configure the session store")?;
        value
    }

    /// Like [`Database::write`], with the rows synced to the disk before it returns.
    pub fn write_synced<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.synced(|database| database.write(work))
    }

    /// Like `write_synced`, for the first of two such transactions, and leaves a long log to the second: emptying it costs syncs.
    pub fn write_first<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.synced(|database| {
            let done = database.commit(work);
            done.map_err(|error| with_obstacle(error, &database.path))
        })
    }

    fn synced<T>(&mut self, write: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before: i64 = self
            .connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .context(|| "cannot read a pragma")?;
        self.connection
            .pragma_update(None, "synchronous", SYNCED)
            .context(|| "cannot set a pragma")?;
        // Here, too, an error waits until the pragma is what it was.
        let value = write(self);
        self.connection
            .pragma_update(None, "synchronous", before)
            .context(|| "cannot set a pragma")?;
        value
    }

    /// Makes SQLite overwrite what is deleted from now on, and sync, until the store is closed: the objects that the
    /// rows named go next.
    pub(crate) fn overwrite_deleted(&self) -> Result<()> {
        self.connection
            .pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))
            .and_then(|()| self.connection.pragma_update(None, "synchronous", SYNCED))
            .context(|| "cannot set a pragma")
    }

    /// Notes something that went wrong.
    pub fn diagnose(&mut self, diagnostic: &Diagnostic<'_>, now: Milliseconds) -> Result<()> {
        self.write(|connection| insert_diagnostic(connection, diagnostic, now))
    }
}

/// Returns a number that changes when another connection has committed something.
pub(crate) fn data_version(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached("PRAGMA data_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .context(|| "cannot read the session store")
}

/// Says what to do where SQLite cannot make the index of the log, which a killed process or a copy may have left alone.
fn cannot_open(path: &Path, error: rusqlite::Error) -> Error {
    let error = Error::failed(format!("cannot open `{}`", path.display())).because(error);
    match code(&error) {
        Some(ErrorCode::CannotOpen) => {
            error.hint("a file has to be made beside it: make the store's directory writable")
        }
        _ => error,
    }
}

/// Returns whether an error says that the file is read-only.
pub(crate) fn is_read_only(error: &Error) -> bool {
    code(error) == Some(ErrorCode::ReadOnly)
}

/// Returns whether an error says that another program held the file for longer than a statement waits: then nothing was
/// written.
pub(crate) fn is_held(error: &Error) -> bool {
    matches!(
        code(error),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

pub(super) fn code(error: &Error) -> Option<ErrorCode> {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(rusqlite::Error::sqlite_error_code)
}

/// Returns whether an error says that everything was written, but could not be synced.
fn is_sync(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(
        code,
        Some(rusqlite::ffi::SQLITE_IOERR_FSYNC | rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC)
    )
}

/// The endings of what SQLite keeps beside a database: its log, the index of that, and its journal.
pub(crate) const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Returns a path with an ending after its name, such as that of a log.
pub(super) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Moves the log into the database. While other processes use it, the log stays, and the next writer tries again.
pub(super) fn empty_log(connection: &Connection) {
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(BUSY_TIMEOUT);
}

/// Configures a connection, and tries again while it is locked. If many processes open a new file at once, the one that
/// creates its log gets "locked" immediately: SQLite does not wait there, because two processes that wait would wait
/// for each other.
pub(super) fn configure_patiently(
    connection: &Connection,
    durability: Durability,
    journal: Journal,
) -> rusqlite::Result<()> {
    let end = Instant::now() + BUSY_TIMEOUT;
    loop {
        match configure(connection, durability, journal) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < end =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            configured => return configured,
        }
    }
}

/// Sets up a connection before its first statement.
pub(super) fn configure(
    connection: &Connection,
    durability: Durability,
    journal: Journal,
) -> rusqlite::Result<()> {
    // This comes first: without it, most of many simultaneous first openings fail.
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Anything that runs as this user may have written the file: its triggers do not run, and its schema is not
    // trusted.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    // Otherwise a statement is planned again as soon as its parameters are known.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A checkpoint at every close would cost each hook a sync.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    journal.configure(connection, durability)?;
    // Damage in a page is found when the page is read, and not when it is followed.
    connection.pragma_update(None, "cell_size_check", true)?;
    // Nothing of the rows goes to a folder for temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // `write` does that once the log is long ([`LONGEST_LOG`]).
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    // An event asks more questions than that, some of them twice.
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::DiagnosticLevel;

    fn open(directory: &Path) -> Database {
        Database::open(directory, Durability::Objects).expect("a fresh directory")
    }

    /// A fresh file has all migrations and is private.
    ///
    /// Invariant `private/store`: The store is the user's alone.
    #[test]
    fn fresh_file_is_private_with_all_migrations() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a scratch directory");
        let database = open(directory.path());
        let tables: u32 = database
            .connection()
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name IN ('sessions', 'messages')",
                [],
                |row| row.get(0),
            )
            .expect("the schema is readable");
        assert_eq!(tables, 2, "tables of migration 1");
        let mode = std::fs::metadata(directory.path().join("sessions.db"))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "prompts are nobody else's business");
    }

    /// A log that grew long is emptied and not moved at every write.
    #[test]
    fn long_log_is_emptied_once() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let log = || {
            directory
                .path()
                .join("sessions.db-wal")
                .metadata()
                .expect("it is there")
                .len()
        };
        let lengths: Vec<u64> = (0..60)
            .map(|_| {
                let text = "x".repeat(40 << 10);
                let diagnostic = Diagnostic {
                    level: DiagnosticLevel::Info,
                    message: &text,
                    ..Diagnostic::default()
                };
                open(directory.path())
                    .diagnose(&diagnostic, 1)
                    .expect("writable");
                log()
            })
            .collect();
        assert!(
            lengths.iter().all(|length| *length <= LONGEST_LOG),
            "however often it is written to: {lengths:?}"
        );
        let emptied = lengths.iter().filter(|length| **length == 0).count();
        assert!(
            (3..10).contains(&emptied),
            "only where it was long: {lengths:?}"
        );
        let kept: u32 = open(directory.path())
            .connection()
            .query_row("SELECT count(*) FROM diagnostics", [], |row| row.get(0))
            .expect("readable");
        assert_eq!(kept, 60, "and nothing is lost");
    }

    /// A log that another process reads stays and no process waits.
    #[test]
    fn log_with_a_reader_stays() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut database = open(directory.path());
        let reader = open(directory.path());
        let text = "x".repeat(500 << 10);
        let diagnostic = Diagnostic {
            level: DiagnosticLevel::Info,
            message: &text,
            ..Diagnostic::default()
        };
        reader
            .read(|connection| {
                let count = |connection: &Connection| -> u32 {
                    let count =
                        connection
                            .query_row("SELECT count(*) FROM diagnostics", [], |row| row.get(0));
                    count.expect("readable")
                };
                assert_eq!(count(connection), 0, "the reading has begun");
                database
                    .diagnose(&diagnostic, 1)
                    .expect("a reader is in nobody's way");
                assert_eq!(count(connection), 0, "it still sees what it saw");
                Ok(())
            })
            .expect("readable");
        let log = directory.path().join("sessions.db-wal");
        assert!(
            log.metadata().expect("it is there").len() > LONGEST_LOG,
            "it could not be emptied"
        );
        database
            .diagnose(
                &Diagnostic {
                    level: DiagnosticLevel::Info,
                    message: "y",
                    ..Diagnostic::default()
                },
                2,
            )
            .expect("writable");
        assert_eq!(
            log.metadata().expect("it is there").len(),
            0,
            "the next writer does it"
        );
    }
}
