//! The place of an item, and what is needed to write to it.

use std::io::Write;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU32;

use crate::error::Result;
use crate::model::entry::ObjectId;

/// Writes a blob's bytes, and returns how many there are. The blob was decoded and hashed in full.
pub type BlobWriter<'a> = dyn Fn(ObjectId, &mut dyn Write) -> Result<u64> + Sync + 'a;

/// What the writer needs for any item.
pub(super) struct ItemWriter<'a> {
    /// Whether `renameat2` may be used.
    pub(super) rename_flags: bool,
    /// Whether to ask the kernel who writes to a file.
    pub(super) leases: bool,
    /// Whether each file is synced by itself, before its rename.
    pub(super) sync_each: bool,
    /// Reads blobs.
    pub(super) contents: &'a BlobWriter<'a>,
    /// How often to wait for files that a program has open.
    pub(super) waits: AtomicU32,
}

/// The place of an item.
pub(super) struct Slot<'a> {
    /// The directory that holds it, open.
    pub(super) directory: BorrowedFd<'a>,
    /// Its name in that directory.
    pub(super) name: &'a [u8],
    /// The name of the temporary file next to it. This operation uses it for this item only.
    pub(super) own: Vec<u8>,
    /// The file that this operation moves here, with its content.
    pub(super) moved: Option<Former>,
}

impl Slot<'_> {
    /// Returns the second name that what is at the place has while it is replaced in three calls.
    pub(super) fn second_name(&self) -> Vec<u8> {
        [&self.own[..], b"-"].concat()
    }
}

/// A file that is replaced, removed, or moved.
#[derive(Clone, Debug)]
pub(super) struct Former {
    pub(super) owner: Owner,
    pub(super) mode: u32,
    pub(super) names: u64,
    /// Whether it was edited where it goes from, so that it may be another file.
    pub(super) is_edited: bool,
    /// Its extended attributes, with those values that may be read.
    pub(super) attributes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// The owner and the group of a file.
pub(super) type Owner = (u32, u32);
