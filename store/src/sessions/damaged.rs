//! What becomes of a session store that is damaged. This module does IO.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::ffi::{self, SQLITE_CORRUPT};
use rusqlite::{Connection, ErrorCode};

use super::database::{BESIDE, code, with_suffix};
use super::first_page;
use super::salvage::UNFINISHED;
use crate::error::{Context, Error, Result};
use crate::fs::names::DAMAGED;
use crate::fs::{layout, presence};

/// A file longer than this is not copied when it is opened: no hook has the time. `doctor --repair` has it.
const LONGEST_COPY: u64 = 128 << 20;

/// The tables that no other program's database has.
const OURS: &str = "'workspaces', 'snapshots', 'sessions', 'messages', 'steps'";

/// Returns whether an error says that the file is a broken database, or none at all; not that it cannot be read, or is
/// another program's.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(
        code(error),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    ) || is_unknown_format(error)
}

/// Returns whether SQLite does not know the format of the file. It says so by a text alone.
fn is_unknown_format(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let failure = source.and_then(|source| source.downcast_ref::<rusqlite::Error>());
    matches!(failure, Some(rusqlite::Error::SqliteFailure(_, Some(text))) if text == "unsupported file format")
}

/// Returns the error about a session store whose header was damaged, but not so that SQLite would notice.
pub(super) fn damaged_header(path: &Path, what: &str) -> Error {
    Error::failed(format!("the header of `{}` is damaged", path.display())).because(
        rusqlite::Error::SqliteFailure(ffi::Error::new(SQLITE_CORRUPT), Some(what.to_owned())),
    )
}

/// Returns whether a database has our tables, whatever its header says.
pub(super) fn has_our_tables(connection: &Connection) -> Result<bool> {
    let sql =
        format!("SELECT count(*) = 5 FROM sqlite_schema WHERE type = 'table' AND name IN ({OURS})");
    connection
        .query_row(&sql, [], |row| row.get(0))
        .context(|| "cannot read the tables of the session store")
}

/// Returns whether an error says that the disk is full, or the user's part of it.
fn is_full(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let kind = source.and_then(|source| Some(source.downcast_ref::<std::io::Error>()?.kind()));
    matches!(
        kind,
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    )
}

/// Sets a damaged file aside. Puts a copy with a new first page in its place if that is all it takes. Returns its new
/// name, and whether there is a copy. The caller holds the store's lock.
pub(super) fn replace_damaged(path: &Path) -> Result<(PathBuf, bool)> {
    let copy = with_suffix(path, UNFINISHED);
    let is_short = path.metadata().is_ok_and(|file| file.len() <= LONGEST_COPY);
    let is_copied = match is_short.then(|| first_page::copy_with_new(path, &copy)) {
        // Nothing new could be begun either. What is set aside now would be out of sight when there is room.
        Some(Err(error)) if is_full(&error) => return Err(error),
        // Another error, as of a sector that cannot be read, is no reason not to go on.
        copied => copied.is_some_and(Result::unwrap_or_default),
    };
    let is_mended = is_copied && first_page::is_whole(&copy);
    let set_aside = set_aside(path, DAMAGED)?;
    if is_mended {
        std::fs::rename(&copy, path)
            .context(|| format!("cannot put `{}` in its place", copy.display()))?;
        layout::sync(path.parent().unwrap_or(Path::new(".")))?;
    } else {
        presence::remove_file(&copy)?;
    }
    Ok((set_aside, is_mended))
}

/// Renames the file, as to `sessions.db.damaged-N`. The log or journal beside it goes first: it must not be applied to
/// a new file.
pub(super) fn set_aside(path: &Path, ending: &str) -> Result<PathBuf> {
    let mut place = with_suffix(path, &format!("{ending}1"));
    for number in 2.. {
        let mut is_free = true;
        for ending in BESIDE.into_iter().chain([""]) {
            is_free &= presence::metadata(&with_suffix(&place, ending))?.is_none();
        }
        if is_free {
            break;
        }
        place = with_suffix(path, &format!("{ending}{number}"));
    }
    for ending in BESIDE.into_iter().chain([""]) {
        match std::fs::rename(with_suffix(path, ending), with_suffix(&place, ending)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let what = format!("cannot set `{}` aside", path.display());
                return Err(Error::failed(what).because(error));
            }
            _ => {}
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Database;
    use crate::settings::Durability;

    fn open(directory: &Path) -> Database {
        Database::open(directory, Durability::Objects).expect("a fresh directory")
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_never_deleted() {
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
                .set_aside
                .expect("the caller can tell where it went");
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
            open(directory.path()).set_aside.is_none(),
            "the new one is sound"
        );
    }

    #[test]
    fn nothing_that_belongs_to_what_is_set_aside_is_applied_to_what_comes_next() {
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
            let place = set_aside(&path, DAMAGED).expect("there is room");
            assert!(place.ends_with(format!("sessions.db.damaged-{number}")));
            for (ending, file) in BESIDE.into_iter().chain([""]).zip(files()) {
                assert!(!file.exists(), "`{ending}` stays where a new file begins");
                assert!(with_suffix(&place, ending).exists(), "`{ending}` is kept");
            }
            std::fs::remove_file(&place).expect("ours");
        }
    }
}
