//! Why the session store cannot be read or written, where SQLite does not say it. This module does IO.

use std::error::Error as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use rustix::io::Errno;

use super::database::code;
use crate::error::Error;
use crate::fs::disk;

/// What SQLite adds at once to the largest of its files, the index of the log, in bytes.
const ROOM: usize = 32 << 10;

/// Returns whether an error says that SQLite tried for ten seconds to read the log. If the system once failed to release
/// a lock, the connection that holds it waits for itself, in every statement until it is closed.
pub(crate) fn is_stuck(error: &Error) -> bool {
    code(error) == Some(ErrorCode::FileLockingProtocolFailed)
}

/// Adds why nothing can be written, if SQLite only says "disk I/O error": it has a word for a disk that is full when it
/// writes, but none for a user's quota, nor for a file that cannot be made longer or synced.
pub(super) fn with_obstacle(error: Error, path: &Path) -> Error {
    if code(&error) != Some(ErrorCode::SystemIoFailure) {
        return error;
    }
    let Some(Err(why)) = path.parent().map(cannot_write_in) else {
        return error;
    };
    let is_full = matches!(
        Errno::from_io_error(&why),
        Some(Errno::NOSPC | Errno::DQUOT)
    );
    let failure = error
        .source()
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(rusqlite::Error::sqlite_error)
        .filter(|_| is_full)
        .copied();
    let error = error.hint(format!("nothing can be written beside it: {why}"));
    match failure {
        Some(failure) => {
            let code = ErrorCode::DiskFull;
            let full = ffi::Error { code, ..failure };
            error.because(rusqlite::Error::SqliteFailure(full, None))
        }
        None => error,
    }
}

/// Tries to do in a directory's file system what SQLite does there.
fn cannot_write_in(directory: &Path) -> io::Result<()> {
    match without_name(directory) {
        Some(file) => {
            let file = file?;
            file.write_all_at(&[0; ROOM], 0)?;
            file.set_len(0)?;
            file.sync_all()
        }
        None => match disk::free(directory) {
            Ok(free) if free < ROOM as u64 => Err(Errno::NOSPC.into()),
            Ok(_) | Err(_) => Ok(()),
        },
    }
}

/// Makes a file without a name, if there are such files: only Linux has them, and not on every file system.
#[cfg(target_os = "linux")]
fn without_name(directory: &Path) -> Option<io::Result<File>> {
    use std::os::unix::fs::OpenOptionsExt;

    let file = File::options()
        .write(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::TMPFILE.bits().cast_signed())
        .open(directory);
    let errno = file.as_ref().err().and_then(Errno::from_io_error);
    let is_known = !matches!(errno, Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL));
    is_known.then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn without_name(_: &Path) -> Option<io::Result<File>> {
    None
}
