//! Makes the file of a session store. This module does IO.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ckpt_schema::migration::APPLICATION_ID;
use rusqlite::{Connection, MAIN_DB};
use rustix::io::Errno;

use super::journal::Journal;
use super::version::{steps_from, version};
use crate::error::{Error, Result};
use crate::fs::system;

/// Explains the lock on a file that was emptied while a process has it open.
pub(super) fn emptied(path: &Path) -> Option<Error> {
    let is_empty = path.metadata().is_ok_and(|file| file.len() == 0);
    is_empty.then(|| {
        Error::failed(format!(
            "`{}` was emptied while a process has it open, and cannot be used until that process ends",
            path.display()
        ))
        .hint(
            "end what has it open, such as `ckpt-hook watch` or a program that reads it; \
             then `ckpt-hook doctor --repair` makes a new one of the snapshots",
        )
    })
}

/// Makes a new session store with its tables, and returns true, unless another process was faster. Where the system
/// cannot make a file at once, it makes an empty one, which [`migrate`](super::migrate::migrate) fills.
///
/// SQLite would sync nine times on the way from an empty file to one with tables and a log.
pub(super) fn make_store(path: &Path, journal: Journal) -> Result<bool> {
    let image = image(journal);
    if let (Some(directory), Some(name), Ok(image)) = (path.parent(), path.file_name(), image) {
        match system::make_whole(directory, name, &image) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            // What is wrong, if anything, shows at the next try.
            Err(_) => {}
        }
    }
    make_file(path).map(|()| false)
}

/// Returns the bytes of a session store in which nothing was recorded.
pub(super) fn image(journal: Journal) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!("BEGIN; {}", steps_from(0)))?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version())?;
    connection.execute_batch("COMMIT")?;
    let mut image = connection.serialize(MAIN_DB)?.to_vec();
    if journal == Journal::Log {
        image[FORMAT_VERSIONS].fill(WITH_LOG);
    }
    Ok(image)
}

/// Where the header says what may write and read the file, and what it says if there is a write-ahead log. A database
/// in memory cannot have one. See SQLite's `fileformat2.html#file_format_version_numbers`.
const FORMAT_VERSIONS: std::ops::Range<usize> = 18..20;
const WITH_LOG: u8 = 2;

/// Creates the file, private. SQLite would create it with the umask's mode, and give that mode to the files beside it,
/// too.
pub(super) fn make_file(path: &Path) -> Result<()> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            Err(Error::failed(format!("cannot create `{}`", path.display())).because(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKES_FILES_WHOLE: bool = cfg!(all(target_os = "linux", not(ckpt_portable)));

    /// A new session store is a sound database with its journal and nobody elses.
    #[test]
    fn new_session_store_is_sound_and_private() {
        use std::os::unix::fs::PermissionsExt;

        for (journal, expected) in [(Journal::Log, "wal"), (Journal::Rollback, "delete")] {
            let directory = tempfile::tempdir().expect("a scratch directory");
            let path = directory.path().join("sessions.db");
            let is_whole = make_store(&path, journal).expect("it can be made");
            assert_eq!(
                is_whole, MAKES_FILES_WHOLE,
                "or it is empty until it is filled"
            );
            if !is_whole {
                std::fs::write(&path, image(journal).expect("an image")).expect("it is ours");
            }
            let mode = path.metadata().expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let connection = Connection::open(&path).expect("it opens");
            let asked = |pragma: &str| -> String {
                connection
                    .query_row(
                        &format!("SELECT CAST(r.{pragma} AS TEXT) FROM pragma_{pragma} AS r"),
                        [],
                        |row| row.get(0),
                    )
                    .expect("it answers")
            };
            assert_eq!(asked("journal_mode"), expected);
            assert_eq!(asked("integrity_check"), "ok");
            assert_eq!(asked("user_version"), version().to_string());
            assert_eq!(asked("application_id"), APPLICATION_ID.to_string());
        }
    }

    #[test]
    fn a_session_store_that_is_there_stays() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join("sessions.db");
        std::fs::write(&path, "something").expect("a scratch directory");
        assert!(!make_store(&path, Journal::Log).expect("there is nothing to do"));
        assert_eq!(std::fs::read(&path).expect("it is there"), b"something");
    }
}
