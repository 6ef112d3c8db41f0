//! Takes for the first snapshot from the user's repository what saves reading every file: ids from its index, and the
//! packs with their objects. This module does IO.
//!
//! An id is taken only if all of this is true: the index entry is stage 0, without flags, and older than the index; its
//! times in nanoseconds, inode, size and mode are those of the file; and the object is in a pack that we hold and has
//! the file's size. Conversions of line endings, `$Id$` and the like change a blob's size; filters and encodings may
//! keep it, so the attribute files are searched for these (`conversion`). A file that changed in the same clock tick in
//! which git read it is not noticed, but git itself does not notice it either.

mod conversion;
mod packs;

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use self::conversion::Conversions;
use super::Request;
use crate::fs::disk::Stamp;
use crate::git::index::{IndexEntry, IndexStat};
use crate::git::tracked::Tracked;
use crate::git::{Location, excludes};
use crate::model::FileTime;
use crate::model::entry::{ObjectId, file_type};
use crate::objects::Objects;

/// Sizes from here on do not fit into an index entry.
const TOO_LARGE: u64 = 1 << 32;
const SECOND: i64 = 1_000_000_000;

/// The blobs in the packs that we hold, with their sizes in bytes.
type HeldBlobs = HashMap<ObjectId, u64>;

/// The ids that can be taken.
pub(crate) struct Seeds<'a> {
    /// The index's usable entries, by path.
    entries: HashMap<&'a [u8], &'a IndexEntry>,
    conversions: Conversions<'a>,
    held: HeldBlobs,
}

impl<'a> Seeds<'a> {
    /// Opens the packs of the user's repository that hold what its index names, or returns `None` if nothing can be
    /// taken.
    pub fn take(
        request: &'a Request<'_>,
        location: &Location,
        root: &'a OwnedFd,
        tracked: &'a Tracked,
        index: &Stamp,
        objects: &Objects,
    ) -> Option<Self> {
        if !request.seed
            || !tracked.is_whole()
            || location.is_sha256()
            || excludes::has_own_attributes(location)
        {
            return None;
        }
        let usable =
            |entry: &&IndexEntry| entry.blob.is_some() && is_older(&entry.stat, index.mtime);
        let entries: HashMap<_, _> = tracked
            .entries()
            .filter(usable)
            .map(|entry| (&entry.path[..], entry))
            .collect();
        let mut wanted: Vec<(ObjectId, u64)> = entries
            .values()
            .filter_map(|entry| Some((entry.blob?, u64::from(entry.stat.size))))
            .collect();
        wanted.sort_unstable();
        wanted.dedup_by_key(|(id, _)| *id);
        let held = packs::take(location, &wanted, objects);
        let conversions = Conversions::of(request, location, root, tracked);
        (!held.is_empty()).then_some(Self {
            entries,
            conversions,
            held,
        })
    }

    /// Notes a directory whose names were read.
    pub fn note_listed(&self, directory: &[u8], has: &dyn Fn(&[u8]) -> bool) {
        self.conversions.note_listed(directory, has);
    }

    /// Returns the id of a file's bytes, if it can be taken.
    pub fn id(&self, path: &[u8], stamp: &Stamp) -> Option<ObjectId> {
        let entry = self.entries.get(path)?;
        let id = entry.blob?;
        if !is_same(&entry.stat, stamp) || stamp.size >= TOO_LARGE {
            return None;
        }
        let is_as_large = self.held.get(&id) == Some(&stamp.size);
        (is_as_large && !self.conversions.may_apply_to(path)).then_some(id)
    }
}

/// Returns whether an index entry was made from a file with this stamp. The index keeps the low 32 bits of each number.
fn is_same(entry: &IndexStat, stamp: &Stamp) -> bool {
    let mode = if stamp.mode & 0o100 == 0 {
        0o100_644
    } else {
        0o100_755
    };
    entry.mtime == index_time(stamp.mtime)
        && entry.ctime == index_time(stamp.ctime)
        && entry.inode == low(stamp.inode)
        && entry.size == low(stamp.size)
        && stamp.file_type() == file_type::REGULAR
        && entry.mode == mode
}

/// Returns the low 32 bits of a number.
fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default()
}

/// Returns a time as the index stores it: seconds and nanoseconds.
fn index_time(time: FileTime) -> (u32, u32) {
    let (seconds, rest) = (time.div_euclid(SECOND), time.rem_euclid(SECOND));
    (low(seconds.cast_unsigned()), low(rest.cast_unsigned()))
}

/// Returns whether any later change of the file shows in its times. If these are whole seconds, there have to be two in
/// between.
fn is_older(entry: &IndexStat, index_time: i64) -> bool {
    let time =
        |(seconds, nanoseconds): (u32, u32)| i64::from(seconds) * SECOND + i64::from(nanoseconds);
    let margin = if entry.mtime.1 == 0 && entry.ctime.1 == 0 {
        2 * SECOND
    } else {
        0
    };
    time(entry.mtime).max(time(entry.ctime)) + margin < index_time
}
