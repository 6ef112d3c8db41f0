//! Removes temporary files that killed processes left in the store. This module does IO.
//!
//! A process that writes a temporary file writes to it all the time, so one that was not written to for a while is
//! abandoned. Process numbers do not help: containers that share a store each have their own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};

use super::disk::{self, Stamp};
use crate::model::entry::file_type;

/// The prefix of temporary files among the packs, by which git's own clean-up recognises them, too.
pub(crate) const TEMPORARY_PACK: &str = "tmp_pack_";

/// How long no process must have written to a file, in nanoseconds. A process that is still at work on one writes more
/// often.
const ABANDONMENT_AGE: i64 = 600_000_000_000;

/// Removes the abandoned ones of these files in a directory. If one cannot be removed, a later process tries again.
pub(crate) fn sweep<'n>(directory: &Path, names: impl IntoIterator<Item = &'n [u8]>) {
    let now = disk::now();
    for name in names {
        let path = directory.join(OsStr::from_bytes(name));
        let Ok(stat) = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let stamp = Stamp::of(&stat);
        if stamp.file_type() != file_type::DIRECTORY
            && stamp.mtime.saturating_add(ABANDONMENT_AGE) < now
        {
            let _ = std::fs::remove_file(path);
        }
    }
}
