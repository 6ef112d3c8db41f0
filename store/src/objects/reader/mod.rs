//! Reads objects from packs, without trust. This module does IO.
//!
//! It replaces libgit2's reader: it reads only packs (libgit2 1.9.7 never returns from a torn loose object), ignores
//! configuration and alternates, writes large blobs in bounded memory, hashes everything that it returns (except the
//! versions that `blame` reads, which an index vouches for), and falls back to another copy if one is damaged.

mod compare;
mod kept;
mod packs;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

use super::hash::ObjectKind;
use super::multi_pack_index;
use super::pack::read::PackFile;
use super::pack::rebuild::{QUICKLY_READ_SIZE, with_rebuilt_index};
use super::tree::{self, TreeEntry};
use crate::error::{Context, Error, Result, contained};
use crate::fs::{leftover, names, threads};
use crate::model::entry::ObjectId;
use compare::{Comparer, Mismatch};
use kept::ObjectCache;
pub(crate) use packs::Packs;

/// Whether bytes are stored under their id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredBytes {
    /// They are stored and readable.
    Yes,
    /// They are missing or damaged, and should be stored (again).
    No,
    /// Other bytes have this id: a SHA-1 collision. These cannot be stored.
    Collision,
}

/// A reader of one repository's objects, which threads share.
pub(crate) struct ObjectReader {
    directory: PathBuf,
    packs: RwLock<Arc<Packs>>,
    kept: ObjectCache,
    is_crowded: AtomicBool,
    /// The packs whose index is damaged or missing, with one in memory. They are searched for once, when an object is
    /// in no other.
    rebuilt: OnceLock<Vec<Arc<PackFile>>>,
}

/// Up to this size, a blob is decoded completely before its first byte is written. A larger one is decoded twice.
const SINGLE_DECODING_SIZE: u64 = 8 << 20;

impl ObjectReader {
    /// Opens the packs that exist now.
    pub(crate) fn open(repository: &Path) -> Result<Self> {
        let directory = names::packs(repository);
        let packs = Packs::list(&directory, &Packs::default())?.unwrap_or_default();
        Ok(Self {
            directory,
            packs: RwLock::new(Arc::new(packs)),
            kept: ObjectCache::default(),
            is_crowded: AtomicBool::new(false),
            rebuilt: OnceLock::new(),
        })
    }

    /// Looks for packs that were added or removed since.
    pub(crate) fn refresh(&self) -> Result<()> {
        if let Some(packs) = Packs::list(&self.directory, &self.packs())? {
            self.set_packs(packs);
        }
        Ok(())
    }

    fn set_packs(&self, packs: Packs) {
        *threads::write(&self.packs) = Arc::new(packs);
    }

    /// Forgets what is known about the packs and lists them again. An index that is open may have been replaced since.
    pub(crate) fn reopen(&self) -> Result<()> {
        let packs = Packs::list(&self.directory, &Packs::default())?.unwrap_or_default();
        self.set_packs(packs);
        Ok(())
    }

    /// Sees a pack that was just written, joins the indexes if many packs are outside, and removes what killed processes
    /// left.
    pub(crate) fn note_new_pack(&self) -> Result<()> {
        self.refresh()?;
        // Without it, everything is found as well, only slower.
        if multi_pack_index::renew(&self.directory, &self.packs()).unwrap_or(false) {
            self.is_crowded.store(true, Ordering::Relaxed);
            self.refresh()?;
        }
        leftover::sweep(&self.directory, self.packs().temporary());
        Ok(())
    }

    /// Returns whether many packs existed when the last one was written, so that it is time to join them.
    pub(crate) fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed)
    }

    /// Returns whether each of these objects is in a pack, according to the indexes. Packs that a power cut may have
    /// torn do not count. Ask this before trusting ids that were seen before a restart.
    pub(crate) fn has_all(&self, mut ids: Vec<ObjectId>) -> bool {
        ids.sort_unstable();
        ids.dedup();
        self.packs().have_all(&ids)
    }

    /// Returns whether exactly these bytes are stored under `id`, in a pack of our own. Ask this before leaving an
    /// object out of a pack.
    pub(crate) fn holds(&self, kind: ObjectKind, id: ObjectId, bytes: &[u8]) -> StoredBytes {
        if let Some((stored_kind, stored)) = self.kept.get(id) {
            return if stored_kind == kind && stored[..] == *bytes {
                StoredBytes::Yes
            } else {
                StoredBytes::Collision
            };
        }
        // Not in borrowed packs: an object is left out of ours only if no other program can take away the copy that is
        // counted on.
        match first(id, self.packs().own_likely(id), |pack, offset| {
            pack.object(offset, id)
        }) {
            Ok(Some((stored_kind, stored))) if (stored_kind, &stored[..]) == (kind, bytes) => {
                self.kept.keep(kind, id, stored);
                StoredBytes::Yes
            }
            Ok(Some(_)) => StoredBytes::Collision,
            Ok(None) | Err(_) => StoredBytes::No,
        }
    }

    /// Like `holds`, for a blob that is read in pieces. Fails if the reader does.
    pub(crate) fn holds_stream(&self, id: ObjectId, reader: &mut dyn Read) -> Result<StoredBytes> {
        let Ok(Some((pack, offset))) = first(id, self.packs().own_likely(id), sound_copy(id))
        else {
            return Ok(StoredBytes::No);
        };
        let mut comparer = Comparer::new(reader);
        let copied = pack.copy_blob(offset, id, &mut comparer);
        match (comparer.problem(), copied) {
            (Some(Mismatch::Read(error)), _) => {
                Err(error).context(|| "cannot read the bytes to compare")
            }
            (Some(Mismatch::Differs), _) => Ok(StoredBytes::Collision),
            (None, Ok(_)) => Ok(if comparer.at_end()? {
                StoredBytes::Yes
            } else {
                StoredBytes::Collision
            }),
            (None, Err(_)) => Ok(StoredBytes::No),
        }
    }

    /// Keeps a just stored object in memory, if there is room.
    pub(crate) fn keep(&self, kind: ObjectKind, id: ObjectId, bytes: &[u8]) {
        self.kept.keep(kind, id, bytes.to_vec());
    }

    /// Returns a blob's bytes, hashed in full.
    pub(crate) fn blob(&self, id: ObjectId) -> Result<Vec<u8>> {
        Ok(Arc::unwrap_or_clone(self.object(ObjectKind::Blob, id)?))
    }

    /// Returns a blob's bytes, hashed in full, or `None` if it is larger than `limit` bytes.
    pub(crate) fn blob_up_to(&self, id: ObjectId, limit: u64) -> Result<Option<Arc<Vec<u8>>>> {
        let bytes = match self.kept_blob(id) {
            Some(bytes) => Some(bytes),
            None => {
                let bytes =
                    self.find_unhashed(id, |pack, offset| pack.small_blob(offset, id, limit))?;
                bytes.map(|bytes| self.kept.keep(ObjectKind::Blob, id, bytes))
            }
        };
        Ok(bytes.filter(|bytes| bytes.len() as u64 <= limit))
    }

    /// Like `blob_up_to`, for a caller that reads very many versions of a file once: nothing is kept, and in packs of our own a
    /// blob is checked by the CRC-32 in its index if that is enough.
    pub(crate) fn version_up_to(&self, id: ObjectId, limit: u64) -> Result<Option<Vec<u8>>> {
        if let Some(bytes) = self.kept_blob(id) {
            let is_small = bytes.len() as u64 <= limit;
            return Ok(is_small.then(|| Arc::unwrap_or_clone(bytes)));
        }
        let bytes = self.find_unhashed(id, |pack, offset| pack.written_blob(offset, id, limit))?;
        Ok(bytes.filter(|bytes| bytes.len() as u64 <= limit))
    }

    fn kept_blob(&self, id: ObjectId) -> Option<Arc<Vec<u8>>> {
        self.kept
            .get(id)
            .filter(|(kind, _)| *kind == ObjectKind::Blob)
            .map(|(_, bytes)| bytes)
    }

    /// Returns a blob's size in bytes.
    pub(crate) fn blob_size(&self, id: ObjectId) -> Result<u64> {
        if let Some(bytes) = self.kept_blob(id) {
            return Ok(bytes.len() as u64);
        }
        self.find_unhashed(id, |pack, offset| pack.blob_size(offset))
    }

    /// Writes a blob's bytes in bounded memory. The blob is hashed in full before the first byte is written; a large
    /// one is hashed again on the way.
    pub(crate) fn copy_blob(&self, id: ObjectId, to: &mut dyn Write) -> Result<u64> {
        let small = match self.kept_blob(id) {
            Some(bytes) => Some(bytes),
            None => self
                .find_hashed(id, |pack, offset| {
                    pack.small_blob(offset, id, SINGLE_DECODING_SIZE)
                })?
                .map(Arc::new),
        };
        if let Some(bytes) = small {
            to.write_all(&bytes)
                .context(|| format!("cannot write the bytes of `{id}`"))?;
            return Ok(bytes.len() as u64);
        }
        // Two passes, because it has to be known which copy is intact before anything is written.
        let (pack, offset) = self.find_hashed(id, sound_copy(id))?;
        pack.copy_blob(offset, id, to)
    }

    /// Decodes and hashes a blob in bounded memory. It does not look for packs that were added since.
    pub(crate) fn check_blob(&self, id: ObjectId) -> Result<()> {
        if self.kept_blob(id).is_some() {
            return Ok(());
        }
        let packs = self.packs();
        let places = packs.likely(id).chain(packs.unlikely(id));
        first(id, places, |pack, offset| self.check_copy(pack, offset, id))?
            .ok_or_else(|| missing(id))
    }

    /// Decodes and hashes one copy of a blob, and keeps it if it is small.
    fn check_copy(&self, pack: &PackFile, offset: u64, id: ObjectId) -> Result<()> {
        match pack.small_blob(offset, id, kept::LARGEST)? {
            Some(bytes) => drop(self.kept.keep(ObjectKind::Blob, id, bytes)),
            None => pack.check_blob(offset, id)?,
        }
        Ok(())
    }

    /// Returns a tree's entries, hashed and validated.
    pub(crate) fn tree(&self, id: ObjectId) -> Result<Vec<TreeEntry>> {
        if id == ObjectId::EMPTY_TREE {
            return Ok(Vec::new());
        }
        let bytes = self.object(ObjectKind::Tree, id)?;
        tree::decode(&bytes).map_err(|error| {
            Error::damaged(format!("the tree `{id}` cannot be used")).because(error)
        })
    }

    fn object(&self, kind: ObjectKind, id: ObjectId) -> Result<Arc<Vec<u8>>> {
        let (stored, bytes) = self.any(id)?;
        if stored != kind {
            return Err(Error::damaged(format!(
                "the object `{id}` is a {}, not a {}",
                stored.name(),
                kind.name()
            )));
        }
        Ok(bytes)
    }

    /// Reads and hashes an object. If no likely copy is intact, it looks once for packs that were added since, then
    /// everywhere, and then in packs whose index is damaged.
    fn find_hashed<T>(
        &self,
        id: ObjectId,
        mut read: impl FnMut(&Arc<PackFile>, u64) -> Result<T>,
    ) -> Result<T> {
        if let Ok(Some(found)) = first(id, self.packs().likely(id), &mut read) {
            return Ok(found);
        }
        self.refresh()?;
        let packs = self.packs();
        let places = packs.likely(id).chain(packs.unlikely(id));
        self.found_or_rebuilt(id, first(id, places, &mut read), read)
    }

    /// Like [`Self::find_hashed`], for reads without hashing.
    fn find_unhashed<T>(
        &self,
        id: ObjectId,
        mut read: impl FnMut(&Arc<PackFile>, u64) -> Result<T>,
    ) -> Result<T> {
        if let Ok(Some(found)) = first(id, self.packs().certain(id), &mut read) {
            return Ok(found);
        }
        self.refresh()?;
        let packs = self.packs();
        let places = packs.certain(id).chain(packs.unlikely(id));
        self.found_or_rebuilt(id, first(id, places, &mut read), read)
    }

    fn found_or_rebuilt<T>(
        &self,
        id: ObjectId,
        found: Result<Option<T>>,
        read: impl FnMut(&Arc<PackFile>, u64) -> Result<T>,
    ) -> Result<T> {
        if let Ok(Some(found)) = found {
            return Ok(found);
        }
        // Last, and only once for each process: it reads whole packs.
        let rebuilt = || with_rebuilt_index(&self.directory, QUICKLY_READ_SIZE);
        let packs = self.rebuilt.get_or_init(rebuilt).iter();
        let places = packs.filter_map(|pack| Some((pack, pack.find(id)?)));
        match first(id, places, read) {
            Ok(Some(found)) => Ok(found),
            // The first failure says more: that of a copy, not of its absence here.
            _ => found?.ok_or_else(|| missing(id)),
        }
    }

    /// Returns whether an object had to be searched for in a pack whose index is damaged or missing.
    pub(crate) fn has_rebuilt(&self) -> bool {
        self.rebuilt.get().is_some_and(|packs| !packs.is_empty())
    }

    /// Returns an object of any kind, hashed in full.
    pub(crate) fn any(&self, id: ObjectId) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        if let Some(kept) = self.kept.get(id) {
            return Ok(kept);
        }
        let (kind, bytes) = self.find_hashed(id, |pack, offset| pack.object(offset, id))?;
        Ok((kind, self.kept.keep(kind, id, bytes)))
    }

    /// Like [`any`](Self::any), for a caller that asks only once, so nothing is kept.
    pub(crate) fn any_once(&self, id: ObjectId) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        if let Some(kept) = self.kept.get(id) {
            return Ok(kept);
        }
        let (kind, bytes) = self.find_hashed(id, |pack, offset| pack.object(offset, id))?;
        Ok((kind, Arc::new(bytes)))
    }

    /// Returns the packs that are known now.
    pub(crate) fn packs(&self) -> Arc<Packs> {
        Arc::clone(&threads::read(&self.packs))
    }
}

/// Returns the result from the first intact copy, the last copy's error if none is intact, or `None` if there is no
/// copy.
fn first<'p, T>(
    id: ObjectId,
    places: impl Iterator<Item = (&'p Arc<PackFile>, u64)>,
    mut read: impl FnMut(&Arc<PackFile>, u64) -> Result<T>,
) -> Result<Option<T>> {
    let mut failure = None;
    for (pack, offset) in places {
        // A bug that only one damaged pack brings out must not hide the good copy in another one.
        match contained(|| read(pack, offset)) {
            Some(Ok(found)) => return Ok(Some(found)),
            Some(Err(error)) => failure = Some(error),
            None => failure = Some(Error::failed("reading it went wrong, which is a bug")),
        }
    }
    match failure {
        Some(error) => Err(Error::damaged(format!("the object `{id}` is damaged")).because(error)),
        None => Ok(None),
    }
}

/// Returns a check that finds a copy of a blob which decodes to its id.
fn sound_copy(id: ObjectId) -> impl Fn(&Arc<PackFile>, u64) -> Result<(Arc<PackFile>, u64)> {
    move |pack, offset| {
        pack.check_blob(offset, id)?;
        Ok((Arc::clone(pack), offset))
    }
}

fn missing(id: ObjectId) -> Error {
    Error::damaged(format!("the object `{id}` is not in the store"))
}
