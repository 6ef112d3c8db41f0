//! Takes objects from worker threads, and puts those that are not stored yet into the snapshot's pack. This module does
//! IO.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::fs::threads;
use crate::model::entry::ObjectId;
use crate::objects::hash::{self, ObjectKind};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::{ObjectReader, StoredBytes};
use crate::objects::{self, Objects};

/// Takes objects from any thread.
pub(crate) struct Sink<'a> {
    objects: &'a Objects,
    reader: Arc<ObjectReader>,
    writer: Mutex<Option<PackWriter>>,
    keeps: bool,
    stored: AtomicU64,
}

/// How many bytes of a snapshot that follows another are compressed with more effort. A step rarely stores more.
const MAX_EFFORT_BYTES: u64 = 1 << 20;

impl<'a> Sink<'a> {
    /// Begins without a pack: the first new object creates it.
    pub fn new(objects: &'a Objects) -> Result<Self> {
        Ok(Self {
            objects,
            reader: objects.reader()?,
            writer: Mutex::new(None),
            keeps: false,
            stored: AtomicU64::new(0),
        })
    }

    /// Keeps small stored objects in memory: they are about to be compared with their former versions.
    pub fn keeping(self, keeps: bool) -> Self {
        Self { keeps, ..self }
    }

    /// Stores an object and returns its id, or `None` if other bytes with the same id are stored: a SHA-1 collision.
    pub fn add(&self, kind: ObjectKind, bytes: &[u8]) -> Result<Option<ObjectId>> {
        let id = hash::hash(kind, bytes);
        Ok(self.add_hashed(kind, id, bytes)?.then_some(id))
    }

    /// Stores an object whose id is known. Returns false if other bytes with the same id are stored.
    pub fn add_hashed(&self, kind: ObjectKind, id: ObjectId, bytes: &[u8]) -> Result<bool> {
        // Bytes are compared, not only ids: a SHA-1 collision must not get another file stored in its
        // place.
        match self.reader.holds(kind, id, bytes) {
            StoredBytes::Yes => return Ok(true),
            StoredBytes::Collision => return Ok(false),
            StoredBytes::No => {}
        }
        let before = self.stored.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        // A step stores a few files, which stay for long; a first snapshot stores them all, while the agent
        // waits.
        let effort = if self.keeps && before < MAX_EFFORT_BYTES {
            Effort::More
        } else {
            Effort::Least
        };
        let packed = pack_object(kind, id, bytes, effort);
        let is_added = self.with_writer(|writer| writer.add(packed))?;
        if is_added && self.keeps {
            self.reader.keep(kind, id, bytes);
        }
        Ok(is_added)
    }

    /// Stores a large file's bytes, or returns `None` if there are fewer than `size`.
    pub fn add_stream(&self, size: u64, reader: &mut dyn Read) -> Result<Option<ObjectId>> {
        self.with_writer(|writer| writer.add_stream(size, reader))
    }

    /// Returns whether exactly the reader's bytes are stored under an id.
    pub fn holds_stream(&self, id: ObjectId, reader: &mut dyn Read) -> Result<bool> {
        Ok(self.reader.holds_stream(id, reader)? == StoredBytes::Yes)
    }

    /// Returns whether nothing new was added.
    pub fn is_empty(&self) -> bool {
        let writer = threads::lock(&self.writer);
        writer.is_none()
    }

    /// Syncs what was added. Returns whether anything was.
    pub fn finish(self) -> Result<bool> {
        match threads::unlocked(self.writer) {
            Some(writer) => {
                if writer.finish()?.is_some() {
                    self.reader.note_new_pack()?;
                }
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn with_writer<T>(&self, act: impl FnOnce(&mut PackWriter) -> Result<T>) -> Result<T> {
        let mut writer = threads::lock(&self.writer);
        if writer.is_none() {
            // Only now: a look that finds nothing new makes no repository.
            objects::prepare(self.objects.repository())?;
            *writer = Some(
                PackWriter::begin(self.objects.repository())?.knowing(Arc::clone(&self.reader)),
            );
        }
        act(writer.as_mut().expect("it was begun above"))
    }
}
