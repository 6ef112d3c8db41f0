//! Temporary files that killed processes left in the store. This module does IO.
//!
//! Whoever writes a file beside its place works on it all the time, so that one that nobody wrote to for a while belongs to
//! nobody any more. Process numbers do not tell: containers that share a store each have their own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};

use super::disk::{self, Stamp};

/// What temporary files among the packs begin with: git's own clean-up knows them by it, too.
pub(crate) const TEMPORARY_PACK: &str = "tmp_pack_";

/// For how long nobody must have written to a file, in nanoseconds.
const ABANDONED: i64 = 600_000_000_000;

/// Removes those of these files of a directory that were abandoned. One that cannot be removed is tried again by the next that
/// comes by.
pub(crate) fn sweep<'n>(directory: &Path, names: impl IntoIterator<Item = &'n [u8]>) {
    let now = disk::now();
    for name in names {
        let path = directory.join(OsStr::from_bytes(name));
        let Ok(stat) = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let stamp = Stamp::of(&stat);
        if stamp.file_type() != 0o040_000 && stamp.mtime.saturating_add(ABANDONED) < now {
            let _ = std::fs::remove_file(path);
        }
    }
}
