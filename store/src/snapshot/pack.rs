//! Writing objects: one synced pack a snapshot. This module does IO.

use std::io::Read;
use std::path::Path;

use super::hash::ObjectKind;
use crate::entry::ObjectId;
use crate::error::Result;

/// An object as it stands in a pack.
pub(crate) struct Packed {
    /// Its id.
    pub id: ObjectId,
    entry: Vec<u8>,
}

/// Returns an object compressed for a pack; `id` is its id, already known.
pub(crate) fn pack_object(_kind: ObjectKind, id: ObjectId, _bytes: &[u8]) -> Packed {
    Packed { id, entry: Vec::new() }
}

/// Writes one pack.
pub(crate) struct PackWriter;

impl PackWriter {
    /// Begins a pack in a bare repository; nothing is seen of it before [`PackWriter::finish`].
    pub(crate) fn begin(_repository: &Path) -> Result<Self> {
        todo!()
    }

    /// Adds an object, once. Returns false where *another* object of the same id was added before: a SHA-1 collision.
    pub(crate) fn add(&mut self, object: Packed) -> Result<bool> {
        let _ = object.entry;
        todo!()
    }

    /// Adds a blob in bounded memory, and returns its id; none, and the pack as before, where the reader gives fewer bytes
    /// than `size`.
    pub(crate) fn add_stream(&mut self, _size: u64, _reader: &mut dyn Read) -> Result<Option<ObjectId>> {
        todo!()
    }

    /// Syncs the pack and its index and puts them in place; nothing at all where nothing was added.
    pub(crate) fn finish(self) -> Result<()> {
        todo!()
    }
}
