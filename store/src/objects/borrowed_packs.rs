//! Packs that are still files of the user's repository: hard links, until what the snapshots need of them is in a pack
//! of our own. This module does IO.
//!
//! Every program that can write to the user's repository can empty them. So they have special names, are checked before a
//! cache that relies on them is trusted, and are held only as long as it takes to copy the needed objects (settling).

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::pack::read::{PackFile, open_regular};
use crate::error::{Context, Result};
use crate::fs::disk::Stamp;
use crate::fs::layout::sync;
use crate::fs::presence;

/// The prefix of a borrowed pack's name. The names of our own begin with `pack-`.
const PREFIX: &str = "borrowed-";

/// A borrowed pack: its file name, and the stamp of the file when it was looked at.
pub(crate) type Borrowed = (Vec<u8>, Stamp);

/// The prefix of the name of a borrowed pack that could not be read. It is kept for a while, because it may become
/// readable again, but nothing waits for it.
const UNREAD: &[u8] = b"borrowed-unread-";

/// Returns whether a file name is that of a borrowed pack.
pub(crate) fn is_borrowed(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes())
}

/// Returns the name under which a pack is borrowed.
pub(crate) fn name(theirs: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(PREFIX);
    name.push(theirs);
    PathBuf::from(name)
}

/// Returns the borrowed packs of a directory, by name. Fails if they cannot all be listed.
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

/// Returns the present stamp of a borrowed pack's file.
pub(crate) fn stamp(directory: &Path, name: &[u8]) -> Stamp {
    rustix::fs::lstat(directory.join(std::ffi::OsStr::from_bytes(name)))
        .map(|stat| Stamp::of(&stat))
        .unwrap_or_default()
}

/// Returns whether a borrowed pack still is what its index was made from. Reads all of it.
pub(crate) fn is_sound(directory: &Path, name: &[u8]) -> bool {
    PackFile::new(directory, Path::new(std::ffi::OsStr::from_bytes(name))).is_sound()
}

/// Gives back the borrowed packs of a directory: the user's repository keeps them. The index goes first: a pack without
/// one is not a pack. One that cannot be read now is set aside, because it may be readable later.
pub(crate) fn give_back(directory: &Path) -> Result<()> {
    let packs = list(directory)?;
    for (name, _) in &packs {
        let pack = directory.join(std::ffi::OsStr::from_bytes(name));
        // Its permissions may be taken away for a while; removed now, what only it holds would be gone.
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

/// Removes the unreadable packs that were set aside long enough ago: what is needed of them is somewhere else by now.
/// `is_old` decides that for a time in seconds since the epoch. The user's repository keeps its own name for the file.
pub(crate) fn drop_unread(directory: &Path, is_old: &dyn Fn(i64) -> bool) -> Result<()> {
    let entries = presence::entries(directory)?;
    let unread = entries
        .iter()
        .filter(|entry| entry.file_name().as_bytes().starts_with(UNREAD));
    let mut unread: Vec<PathBuf> = unread.map(fs::DirEntry::path).collect();
    // An index goes before its pack: a pack without one is not a pack.
    unread.sort();
    let mut is_changed = false;
    for path in unread {
        // The time of its last change is when it got this name, or later. The time of its bytes is the user's.
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

/// Renames an unreadable pack. The directory is ours, so this works whatever the pack's permissions.
fn set_aside(pack: &Path) {
    for path in [pack.with_extension("idx"), pack.to_owned()] {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let mut new = UNREAD.to_vec();
        new.extend_from_slice(name.strip_prefix(PREFIX.as_bytes()).unwrap_or(name));
        // If it stays, it is met again, and cannot be read then either. Nothing is lost by that.
        let _ = fs::rename(
            &path,
            path.with_file_name(std::ffi::OsStr::from_bytes(&new)),
        );
    }
}
