//! A session store that is damaged is set aside, and what can be read of it goes into a new one. This module does IO.
//!
//! ```text
//! sessions.db ─ rows ─► .repaired ─ whole, synced ─► .repaired.whole
//! sessions.db ───────────────────────────────────► .damaged-N
//!                         .repaired.whole ────────► sessions.db
//! ```
//!
//! Killed in between, the next process goes on from what is there. Any error before the second line leaves the
//! damaged file where it is, and ends the call.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::ffi::{self, SQLITE_CORRUPT};

use super::database::{BESIDE, with_suffix};
use super::migrate::{beside, check_header};
use super::salvage::{FLAGS, WHOLE};
use super::schema_repair::lacks_column;
use crate::error::{Context, Error, Result};
use crate::fs::names::{DAMAGED, DATABASE};
use crate::fs::{layout, presence};

/// The tables that no other program's database has.
const OURS: &str = "'workspaces', 'snapshots', 'sessions', 'messages', 'steps'";

/// Returns the error about a session store whose header was damaged, but not so that SQLite would notice.
pub(super) fn damaged_header(path: &Path, what: &str) -> Error {
    let failure = ffi::Error::new(SQLITE_CORRUPT);
    Error::failed(format!(
        "the header of `{}` is damaged: {what}",
        path.display()
    ))
    .because(rusqlite::Error::SqliteFailure(failure, None))
}

/// Returns whether a database has our tables, whatever its header says.
pub(super) fn has_our_tables(connection: &Connection) -> Result<bool> {
    let sql =
        format!("SELECT count(*) = 5 FROM sqlite_schema WHERE type = 'table' AND name IN ({OURS})");
    connection
        .query_row(&sql, [], |row| row.get(0))
        .context(|| "cannot read the tables of the session store")
}

/// Returns whether the session store itself proves that it is damaged: a single call that failed proves nothing.
pub(super) fn is_proven(directory: &Path) -> Result<bool> {
    let path = &directory.join(DATABASE);
    let check = || -> rusqlite::Result<(Connection, String)> {
        let connection = Connection::open_with_flags(path, FLAGS)?;
        connection.busy_timeout(super::database::BUSY_TIMEOUT)?;
        let answer = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        Ok((connection, answer))
    };
    let checked = check().context(|| format!("cannot check `{}`", path.display()));
    match checked.and_then(|(connection, answer)| {
        // No check of SQLite's looks at what a sound header says.
        check_header(&connection, path)?;
        Ok(answer != "ok" || lacks_column(&connection)?)
    }) {
        Err(found) if found.is_of_damaged_store() => Ok(true),
        proven => proven,
    }
}

/// Sets the session store aside under a name, and puts the new one in its place.
pub(super) fn put_in_place(directory: &Path, set_aside: &Path) -> Result<()> {
    rename(&directory.join(DATABASE), set_aside)?;
    finish(directory, set_aside)
}

/// Returns the name that the next session store has that is set aside.
pub(super) fn free_place(directory: &Path) -> Result<PathBuf> {
    Ok(place(&directory.join(DATABASE), highest(directory)? + 1))
}

/// Ends a replacement that was interrupted when the damaged file had made way. Returns whether there was one. The
/// caller holds the store's lock, and found no session store.
pub(super) fn go_on(directory: &Path) -> Result<bool> {
    let path = directory.join(DATABASE);
    if presence::metadata(&path)?.is_some() || !is_interrupted(directory)? {
        return Ok(false);
    }
    finish(directory, &place(&path, highest(directory)?))?;
    Ok(true)
}

/// Returns whether a new session store is whole, and waits to be put in its place.
pub(super) fn is_interrupted(directory: &Path) -> Result<bool> {
    let whole = with_suffix(&directory.join(DATABASE), WHOLE);
    Ok(presence::metadata(&whole)?.is_some())
}

/// Moves what belongs to the damaged file after it, and the new one into its place.
fn finish(directory: &Path, set_aside: &Path) -> Result<()> {
    let path = directory.join(DATABASE);
    // A log or a journal must not be applied to the new file.
    for ending in BESIDE {
        rename(&with_suffix(&path, ending), &with_suffix(set_aside, ending))?;
    }
    rename(&with_suffix(&path, WHOLE), &path)?;
    layout::sync(directory)
}

/// Renames a file, if it is there.
fn rename(from: &Path, to: &Path) -> Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        renamed => renamed.context(|| format!("cannot set `{}` aside", from.display())),
    }
}

fn place(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &format!("{DAMAGED}{number}"))
}

/// Returns the highest number of what was set aside, or of what belongs to it.
fn highest(directory: &Path) -> Result<u32> {
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        let rest = name.strip_prefix(DATABASE)?.strip_prefix(DAMAGED)?;
        rest.split('-').next()?.parse().ok()
    };
    let found = beside(directory, &[DAMAGED])?;
    Ok(found.iter().filter_map(number).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Database;
    use crate::settings::Durability;

    fn open(directory: &Path) -> Database {
        Database::open(directory, Durability::Objects).expect("a fresh directory")
    }

    /// A damaged file is set aside and never deleted.
    #[test]
    fn damaged_file_is_set_aside_never_deleted() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        for number in 1..=2 {
            drop(open(directory.path()));
            for ending in ["-wal", "-shm"] {
                std::fs::remove_file(directory.path().join(format!("sessions.db{ending}")))
                    .expect("it is there");
            }
            let garbage = format!("no database {number}").repeat(1000);
            std::fs::write(directory.path().join("sessions.db"), &garbage).expect("writable");
            let place = open(directory.path())
                .salvaged
                .expect("the caller can tell where it went")
                .set_aside;
            assert_eq!(
                std::fs::read_to_string(&place).expect("it is there"),
                garbage,
                "every byte of it"
            );
            assert!(
                place
                    .to_string_lossy()
                    .ends_with(&format!(".damaged-{number}")),
                "{}",
                place.display()
            );
        }
        assert!(
            open(directory.path()).salvaged.is_none(),
            "the new one is sound"
        );
    }

    /// Nothing of a damaged file is applied to the next.
    #[test]
    fn damaged_file_leaves_nothing_to_the_next() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join("sessions.db");
        let files = || {
            let names = BESIDE.into_iter().chain([""]);
            names.map(|ending| with_suffix(&path, ending))
        };
        for number in 1..=2 {
            for file in files() {
                std::fs::write(file, "old").expect("writable");
            }
            std::fs::write(with_suffix(&path, WHOLE), "new").expect("writable");
            let set_aside = free_place(directory.path()).expect("readable");
            put_in_place(directory.path(), &set_aside).expect("there is room");
            assert!(set_aside.ends_with(format!("sessions.db.damaged-{number}")));
            for ending in BESIDE {
                let gone = !with_suffix(&path, ending).exists();
                assert!(gone, "`{ending}` stays where a new file begins");
                assert!(
                    with_suffix(&set_aside, ending).exists(),
                    "`{ending}` is kept"
                );
            }
            assert_eq!(std::fs::read(&path).expect("it is there"), b"new");
            std::fs::remove_file(&set_aside).expect("ours");
        }
    }

    /// Invariant `work/rows-not-given-up`.
    #[test]
    fn an_interrupted_replacement_is_ended_by_the_next() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        drop(open(directory.path()));
        let path = directory.path().join("sessions.db");
        std::fs::rename(&path, with_suffix(&path, WHOLE)).expect("ours");
        for name in ["sessions.db.damaged-1", "sessions.db-wal"] {
            std::fs::write(directory.path().join(name), "old").expect("writable");
        }
        let database = open(directory.path());
        assert!(!database.is_new, "no empty one is begun");
        let moved = std::fs::read(directory.path().join("sessions.db.damaged-1-wal"));
        assert_eq!(moved.expect("it belongs there"), b"old");
    }
}
