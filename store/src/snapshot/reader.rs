//! Reading objects out of packs, without trust. This module does IO.
//!
//! Our own reader instead of libgit2's: it looks at packs alone (libgit2 1.9.7 never comes back from a torn loose object),
//! heeds no configuration and no alternates, writes large blobs in bounded memory, hashes all that it gives out, and falls
//! back to another copy where one is damaged.

use std::collections::HashSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::hash::ObjectKind;
use super::pack_file::PackFile;
use super::tree::{self, TreeEntry};
use crate::entry::ObjectId;
use crate::error::{Context, Error, Result};

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
pub(crate) struct Reader {
    directory: PathBuf,
    packs: RwLock<Arc<[Arc<PackFile>]>>,
}

/// Up to this size a blob is decoded whole before the first byte is given out; larger ones are decoded twice.
const AT_ONCE: u64 = 8 << 20;

impl Reader {
    /// Opens the packs that are there now.
    pub(crate) fn open(repository: &Path) -> Result<Self> {
        let directory = repository.join("objects/pack");
        let packs = list(&directory, &[])?;
        Ok(Self { directory, packs: RwLock::new(packs) })
    }

    /// Looks for packs that were added or removed since.
    pub(crate) fn refresh(&self) -> Result<()> {
        let packs = list(&self.directory, &self.packs())?;
        *self.packs.write().unwrap_or_else(std::sync::PoisonError::into_inner) = packs;
        Ok(())
    }

    /// Returns whether an index names the object; says nothing of its soundness. Packs that were added since are unknown.
    pub(crate) fn contains(&self, id: ObjectId) -> bool {
        self.packs().iter().any(|pack| pack.find(id).is_some())
    }

    /// Returns whether exactly these bytes are stored under `id`: what to ask before leaving an object out of a pack.
    pub(crate) fn holds(&self, kind: ObjectKind, id: ObjectId, bytes: &[u8]) -> Held {
        match self.find(id, |pack, offset| pack.object(offset, id)) {
            Ok(Some((stored_kind, stored))) if (stored_kind, &stored[..]) == (kind, bytes) => Held::Yes,
            Ok(Some(_)) => Held::Collision,
            Ok(None) | Err(_) => Held::No,
        }
    }

    /// The same for a blob that is read in pieces. Fails where the reader does.
    pub(crate) fn holds_stream(&self, id: ObjectId, reader: &mut dyn Read) -> Result<Held> {
        let Ok(Some((pack, offset))) = self.find(id, sound_copy(id)) else { return Ok(Held::No) };
        let mut comparer = Comparer { reader, problem: None };
        let copied = pack.copy_blob(offset, id, &mut comparer);
        match (comparer.problem.take(), copied) {
            (Some(Problem::Read(error)), _) => Err(error).context(|| "cannot read the bytes to compare"),
            (Some(Problem::Differs), _) => Ok(Held::Collision),
            (None, Ok(_)) => Ok(if comparer.at_end()? { Held::Yes } else { Held::Collision }),
            (None, Err(_)) => Ok(Held::No),
        }
    }

    /// Returns a blob's bytes, hashed in full.
    pub(crate) fn blob(&self, id: ObjectId) -> Result<Vec<u8>> {
        self.object(ObjectKind::Blob, id)
    }

    /// Returns a blob's bytes, hashed in full; none where it is larger than `limit` bytes.
    pub(crate) fn blob_up_to(&self, id: ObjectId, limit: u64) -> Result<Option<Vec<u8>>> {
        let bytes = self.insist(id, |pack, offset| pack.small_blob(offset, id, limit))?;
        Ok(bytes.filter(|bytes| bytes.len() as u64 <= limit))
    }

    /// Returns a blob's size in bytes.
    pub(crate) fn blob_size(&self, id: ObjectId) -> Result<u64> {
        self.insist(id, |pack, offset| pack.blob_size(offset))
    }

    /// Writes a blob's bytes in bounded memory. The blob was hashed in full before the first byte is written, and is
    /// hashed again on the way where it is large.
    pub(crate) fn copy_blob(&self, id: ObjectId, to: &mut dyn Write) -> Result<u64> {
        let small = self.insist(id, |pack, offset| pack.small_blob(offset, id, AT_ONCE))?;
        if let Some(bytes) = small {
            to.write_all(&bytes).context(|| format!("cannot write the bytes of `{id}`"))?;
            return Ok(bytes.len() as u64);
        }
        // Two passes: which copy is sound has to be known before anything is written.
        let (pack, offset) = self.insist(id, sound_copy(id))?;
        pack.copy_blob(offset, id, to)
    }

    /// Decodes and hashes a blob in bounded memory. Packs that were added since are unknown.
    pub(crate) fn check_blob(&self, id: ObjectId) -> Result<()> {
        self.find(id, |pack, offset| pack.check_blob(offset, id))?.ok_or_else(|| missing(id))
    }

    /// Returns a tree's entries, hashed and validated.
    pub(crate) fn tree(&self, id: ObjectId) -> Result<Vec<TreeEntry>> {
        if id == ObjectId::EMPTY_TREE {
            return Ok(Vec::new());
        }
        let bytes = self.object(ObjectKind::Tree, id)?;
        tree::decode(&bytes)
            .map_err(|error| Error::unavailable(format!("the tree `{id}` cannot be used")).because(error))
    }

    fn object(&self, kind: ObjectKind, id: ObjectId) -> Result<Vec<u8>> {
        let (stored, bytes) = self.insist(id, |pack, offset| pack.object(offset, id))?;
        if stored != kind {
            return Err(Error::unavailable(format!("the object `{id}` is a {}, not a {}", stored.name(), kind.name())));
        }
        Ok(bytes)
    }

    /// Reads an object; where no known pack gives it, looks once for packs that were added since.
    fn insist<T>(&self, id: ObjectId, mut read: impl FnMut(&Arc<PackFile>, u64) -> Result<T>) -> Result<T> {
        if let Ok(Some(found)) = self.find(id, &mut read) {
            return Ok(found);
        }
        self.refresh()?;
        self.find(id, read)?.ok_or_else(|| missing(id))
    }

    /// Returns what the first sound copy gives; the last copy's error where none is sound, none where there is none.
    fn find<T>(&self, id: ObjectId, mut read: impl FnMut(&Arc<PackFile>, u64) -> Result<T>) -> Result<Option<T>> {
        let mut failure = None;
        for pack in self.packs().iter() {
            let Some(offset) = pack.find(id) else { continue };
            match read(pack, offset) {
                Ok(found) => return Ok(Some(found)),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) => Err(Error::unavailable(format!("the object `{id}` is damaged")).because(error)),
            None => Ok(None),
        }
    }

    fn packs(&self) -> Arc<[Arc<PackFile>]> {
        Arc::clone(&self.packs.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Returns what finds a copy of a blob that decodes to its id.
fn sound_copy(id: ObjectId) -> impl Fn(&Arc<PackFile>, u64) -> Result<(Arc<PackFile>, u64)> {
    move |pack, offset| {
        pack.check_blob(offset, id)?;
        Ok((Arc::clone(pack), offset))
    }
}

fn missing(id: ObjectId) -> Error {
    Error::unavailable(format!("the object `{id}` is not in the store"))
}

/// Returns the packs of a directory, those that are known already as they are.
fn list(directory: &Path, known: &[Arc<PackFile>]) -> Result<Arc<[Arc<PackFile>]>> {
    let what = || format!("cannot read the directory `{}`", directory.display());
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Arc::default()),
        Err(error) => return Err(error).context(what),
    };
    let mut names = HashSet::new();
    for entry in entries {
        names.insert(PathBuf::from(entry.context(what)?.file_name()));
    }
    // An index without its pack is what a crash leaves; it names objects that are not there.
    let is_whole = |pack: &Path| names.contains(pack) && names.contains(&pack.with_extension("idx"));
    let mut packs: Vec<_> = known.iter().filter(|pack| is_whole(pack.name())).cloned().collect();
    let old: HashSet<_> = packs.iter().map(|pack| pack.name().to_owned()).collect();
    let new = names.iter().filter(|name| name.extension().is_some_and(|extension| extension == "pack"));
    let new = new.filter(|name| is_whole(name) && !old.contains(*name));
    packs.extend(new.map(|name| Arc::new(PackFile::new(directory, name))));
    Ok(packs.into())
}

/// Takes a blob's bytes and compares them with what a reader gives.
struct Comparer<'a> {
    reader: &'a mut dyn Read,
    problem: Option<Problem>,
}

enum Problem {
    Read(std::io::Error),
    Differs,
}

impl Comparer<'_> {
    fn at_end(&mut self) -> Result<bool> {
        let mut more = Vec::new();
        Read::take(&mut self.reader, 1).read_to_end(&mut more).context(|| "cannot read the bytes to compare")?;
        Ok(more.is_empty())
    }
}

impl Write for Comparer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut other = vec![0; bytes.len()];
        let problem = match self.reader.read_exact(&mut other) {
            Ok(()) if other == bytes => return Ok(bytes.len()),
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Problem::Read(error),
            _ => Problem::Differs,
        };
        self.problem = Some(problem);
        Err(std::io::Error::other("the bytes are not those that are stored"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
