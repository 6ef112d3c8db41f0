//! Why the session store cannot be written, where SQLite does not say it. This module does IO.

use std::path::Path;

use rusqlite::ErrorCode;

use super::database::code;
use crate::error::Error;

/// Adds why nothing can be written, if SQLite only says "disk I/O error": it has a word for a full disk, but none for
/// a user's quota.
pub(super) fn explained(error: Error, path: &Path) -> Error {
    if code(&error) != Some(ErrorCode::SystemIoFailure) {
        return error;
    }
    match path.parent().map(cannot_write_in) {
        Some(Err(why)) => error.hint(format!("nothing can be written beside it: {why}")),
        Some(Ok(())) | None => error,
    }
}

/// Only Linux has files without a name.
#[cfg(not(target_os = "linux"))]
fn cannot_write_in(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Tries to write to a directory's file system, to a file without a name.
#[cfg(target_os = "linux")]
fn cannot_write_in(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{FileExt, OpenOptionsExt};

    let file = std::fs::File::options()
        .write(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::TMPFILE.bits().cast_signed())
        .open(directory)?;
    file.write_all_at(&[0; 4096], 0)?;
    file.sync_data()
}
