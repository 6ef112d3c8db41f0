//! Reading objects out of packs, without trust. This module does IO.

use std::io::{Read, Write};
use std::path::Path;

use super::hash::ObjectKind;
use super::tree::TreeEntry;
use crate::entry::ObjectId;
use crate::error::Result;

/// Whether bytes are stored under their id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// They are, and readable.
    Yes,
    /// They are not, or damaged: store them (again).
    No,
    /// Other bytes are: a SHA-1 collision. These cannot be stored.
    Collision,
}

/// Reads the objects of one repository; shared by threads.
pub(crate) struct Reader;

impl Reader {
    /// Opens the packs that are there now.
    pub(crate) fn open(_repository: &Path) -> Result<Self> {
        todo!()
    }

    /// Returns whether an index names the object; says nothing of its soundness.
    pub(crate) fn contains(&self, _id: ObjectId) -> bool {
        todo!()
    }

    /// Returns whether exactly these bytes are stored under `id`: what to ask before leaving an object out of a pack.
    pub(crate) fn holds(&self, _kind: ObjectKind, _id: ObjectId, _bytes: &[u8]) -> Held {
        todo!()
    }

    /// The same for a blob that is read in pieces. Fails where the reader does.
    pub(crate) fn holds_stream(&self, _id: ObjectId, _reader: &mut dyn Read) -> Result<Held> {
        todo!()
    }

    /// Returns a blob's bytes, hashed in full.
    pub(crate) fn blob(&self, _id: ObjectId) -> Result<Vec<u8>> {
        todo!()
    }

    /// Writes a blob's bytes in bounded memory, hashing them on the way: what was written is good only if this returns.
    pub(crate) fn copy_blob(&self, _id: ObjectId, _to: &mut dyn Write) -> Result<u64> {
        todo!()
    }

    /// Returns a tree's entries, hashed and validated.
    pub(crate) fn tree(&self, _id: ObjectId) -> Result<Vec<TreeEntry>> {
        todo!()
    }
}
