//! Packs that are still files of the user's repository: hard links, until what the snapshots need of them stands in a pack of
//! our own. This module does IO.
//!
//! Anybody who can write to the user's repository can empty them. So they have names of their own kind, are checked
//! before a cache that counts on them is believed, and are held no longer than it takes to copy the needed objects
//! (settling).

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::pack::read::{PackFile, open_regular};
use crate::error::{Context, Result};
use crate::fs::disk::Stamp;
use crate::fs::layout::sync;
use crate::fs::presence;

/// What the name of a borrowed pack begins with; ours begin with `pack-`.
const PREFIX: &[u8] = b"borrowed-";

/// A borrowed pack: its file name, and the file as it was when somebody looked.
pub(crate) type Borrowed = (Vec<u8>, Stamp);

/// What the name of one begins with that could not be read: it is kept for a while, for it may be readable again, and nobody waits
/// for it.
const UNREAD: &[u8] = b"borrowed-unread-";

/// Returns whether a file name is that of a borrowed pack.
pub(crate) fn is_borrowed(name: &[u8]) -> bool {
    name.starts_with(PREFIX)
}

/// Returns under which name a pack is borrowed.
pub(crate) fn name(theirs: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from("borrowed-");
    name.push(theirs);
    PathBuf::from(name)
}

/// Returns the borrowed packs of a directory, by name. Fails where not all can be listed.
pub(crate) fn list(directory: &Path) -> Result<Vec<Borrowed>> {
    let entries = presence::entries(directory)?;
    let names = entries
        .iter()
        .map(|entry| entry.file_name().as_bytes().to_vec());
    let is_pack =
        |name: &Vec<u8>| is_borrowed(name) && !name.starts_with(UNREAD) && name.ends_with(b".pack");
    let packs = names.filter(is_pack);
    let mut packs: Vec<Borrowed> = packs
        .map(|name| {
            let stamp = stamp(directory, &name);
            (name, stamp)
        })
        .collect();
    packs.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    Ok(packs)
}

/// Returns the file of a borrowed pack as it is now.
pub(crate) fn stamp(directory: &Path, name: &[u8]) -> Stamp {
    rustix::fs::lstat(directory.join(std::ffi::OsStr::from_bytes(name)))
        .map(|stat| Stamp::of(&stat))
        .unwrap_or_default()
}

/// Returns whether a borrowed pack is still what its index was made of: all of it is read.
pub(crate) fn is_sound(directory: &Path, name: &[u8]) -> bool {
    PackFile::new(directory, Path::new(std::ffi::OsStr::from_bytes(name))).is_sound()
}

/// Gives the borrowed packs of a directory back: the user's repository keeps them, and we hold them no more. The index goes
/// first: a pack without one is no pack. One that may not be read now may be some day.
pub(crate) fn give_back(directory: &Path) -> Result<()> {
    let packs = list(directory)?;
    for (name, _) in &packs {
        let pack = directory.join(std::ffi::OsStr::from_bytes(name));
        if is_closed(&pack) {
            set_aside(&pack);
            continue;
        }
        presence::remove_file(&pack.with_extension("idx"))?;
        presence::remove_file(&pack)?;
    }
    if packs.is_empty() {
        Ok(())
    } else {
        sync(directory)
    }
}

/// Removes the packs that could not be read and that were set aside long enough ago: what is needed of them stands elsewhere by
/// now. `is_old` says that of a time in seconds since the epoch. The user's repository keeps its own name for the file.
pub(crate) fn drop_unread(directory: &Path, is_old: &dyn Fn(i64) -> bool) -> Result<()> {
    let entries = presence::entries(directory)?;
    let unread = entries
        .iter()
        .filter(|entry| entry.file_name().as_bytes().starts_with(UNREAD));
    let mut unread: Vec<PathBuf> = unread.map(fs::DirEntry::path).collect();
    // An index before its pack: a pack without one is no pack.
    unread.sort();
    let mut is_changed = false;
    for path in unread {
        // The time of the last change is when it got its name, or later; that of its bytes is the user's.
        let is_young = path
            .symlink_metadata()
            .is_ok_and(|metadata| !is_old(metadata.ctime()));
        if is_young {
            continue;
        }
        fs::remove_file(&path).context(|| format!("cannot remove `{}`", path.display()))?;
        is_changed = true;
    }
    if is_changed { sync(directory) } else { Ok(()) }
}

fn is_closed(pack: &Path) -> bool {
    [pack.to_owned(), pack.with_extension("idx")]
        .iter()
        .any(|path| {
            open_regular(path).is_err()
                && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
        })
}

/// The directory is ours, so the pack can be renamed, whatever its permissions.
fn set_aside(pack: &Path) {
    for path in [pack.with_extension("idx"), pack.to_owned()] {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let mut new = UNREAD.to_vec();
        new.extend_from_slice(name.strip_prefix(PREFIX).unwrap_or(name));
        let _ = fs::rename(
            &path,
            path.with_file_name(std::ffi::OsStr::from_bytes(&new)),
        );
    }
}
