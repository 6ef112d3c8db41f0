//! One pack of the store with its index: finds, decodes and hashes its objects. This module does IO.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::bufread::ZlibDecoder;
use rustix::fs::OFlags;

use super::data::{Data, PackEntry};
use super::entry::{EntryContent, EntryHeader, FileRange, at_end, read_header, size_from_delta};
use super::index::PackIndex;
use super::write::checksum as checksum_of;
use crate::error::{Context, Error, Result};
use crate::fs::ownership::check_owner;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;
use crate::objects::borrowed_packs;
use crate::objects::hash::{Hasher, ObjectKind, SHA1, hash};

/// The size of the largest object that is decoded in memory: a tree, a text to merge, or a delta. Git makes no deltas
/// of larger objects (`core.bigFileThreshold`).
pub(super) const LARGEST: u64 = 512 << 20;
/// The size in bytes up to which a commit is read.
const LONGEST_COMMIT: u64 = 16 << 20;
/// How many packs and indexes stay open after use. A store may have more of them than a process may open.
const MOST_OPEN: usize = 32;
/// How much of an entry is read for the size of its object, in bytes.
const FRONT: usize = 64;
/// How much is read at once for the sizes of objects that lie close together: as many of them as `CLOSE` in so many
/// bytes.
const WINDOW: usize = 64 << 10;
const CLOSE: usize = 16;

/// A pack, which is opened when it is first used.
pub(crate) struct PackFile {
    path: PathBuf,
    name: PathBuf,
    index: OnceLock<(PackIndex, Option<Permit>)>,
    data: OnceLock<PackHandle>,
}

impl PackFile {
    /// Returns the pack with this file name.
    pub(crate) fn new(directory: &Path, name: &Path) -> Self {
        let (path, name) = (directory.join(name), name.to_owned());
        Self {
            path,
            name,
            index: OnceLock::new(),
            data: OnceLock::new(),
        }
    }

    /// Returns the pack with this file name, and an index that is not the one beside it.
    pub(super) fn with_index(directory: &Path, name: &Path, index: Vec<u8>) -> Result<Self> {
        let index = PackIndex::of_bytes(index)?;
        Ok(Self {
            index: OnceLock::from((index, None)),
            ..Self::new(directory, name)
        })
    }

    /// Returns its file name.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Returns when its file was written, if that is known.
    pub(crate) fn written_at(&self) -> Option<Milliseconds> {
        let file = self.path.metadata().ok()?;
        Some(file.mtime() * 1000 + file.mtime_nsec() / 1_000_000)
    }

    /// Returns whether it is still a file of the user's repository.
    pub(crate) fn is_borrowed(&self) -> bool {
        borrowed_packs::is_borrowed(self.name.as_os_str().as_bytes())
    }

    /// Returns the offset of an object, or `None` if the index does not list it or is damaged.
    pub(crate) fn find(&self, id: ObjectId) -> Option<u64> {
        if let Some((index, _)) = self.index.get() {
            return index.find(id.as_bytes()).ok()?;
        }
        let index = PackIndex::open(self.open_index().ok()?).ok()?;
        let permit = if index.is_file() {
            Permit::take()
        } else {
            None
        };
        // Too many files are open, so it is closed again, and opened at the next question.
        if index.is_file() && permit.is_none() {
            return index.find(id.as_bytes()).ok()?;
        }
        self.index
            .get_or_init(|| (index, permit))
            .0
            .find(id.as_bytes())
            .ok()?
    }

    /// Returns the locations of the sorted ids that are in it. Fails if its index is missing or damaged.
    pub(crate) fn offsets(&self, ids: &[ObjectId]) -> Result<Vec<(ObjectId, u64)>> {
        PackIndex::open(self.open_index()?)?.offsets(ids)
    }

    /// Returns its whole index and the time when that was written, or `None` if it is longer than `limit` bytes.
    pub(crate) fn short_index(&self, limit: u64) -> Result<Option<(PackIndex, (i64, i64))>> {
        let file = self.open_index()?;
        let metadata = file.metadata().context(|| "cannot read the index")?;
        let written = (metadata.mtime(), metadata.mtime_nsec());
        if metadata.len() > limit {
            Ok(None)
        } else {
            Ok(Some((PackIndex::open_whole(file)?, written)))
        }
    }

    /// Returns whether the ends of pack and index are intact: both have the pack's checksum.
    pub(crate) fn has_its_end(&self) -> bool {
        self.ends_as_its_index().unwrap_or(false)
    }

    fn ends_as_its_index(&self) -> Result<bool> {
        let checksum = PackIndex::open(self.open_index()?)?.pack_checksum()?;
        let file = open_regular(&self.path)?;
        let length = file.metadata().context(|| "cannot read the pack")?.len();
        let mut end = [0; 20];
        file.read_exact_at(&mut end, length.saturating_sub(20))
            .context(|| "cannot read the pack")?;
        Ok(end == checksum)
    }

    /// Returns whether the pack is what its index was made from, by its checksum. Reads all of it.
    pub(crate) fn is_sound(&self) -> bool {
        self.sums_up_to_its_index().unwrap_or(false)
    }

    fn sums_up_to_its_index(&self) -> Result<bool> {
        let checksum = PackIndex::open(self.open_index()?)?.pack_checksum()?;
        self.with_data(|data| {
            let mut end = [0; 20];
            data.file
                .read_exact_at(&mut end, data.end)
                .context(|| "cannot read the pack")?;
            let found = checksum_of(data.file, data.end).context(|| "cannot read the pack")?;
            Ok(found == checksum && end == checksum)
        })
    }

    /// Opens its index, which must be a regular file of this user.
    pub(super) fn open_index(&self) -> Result<File> {
        open_regular(&self.path.with_extension("idx"))
    }

    /// Returns the undeltified commits in it, hashed in full. Only what cannot be read twice is left out, because a
    /// call may fail by chance.
    pub(crate) fn commits(&self) -> Vec<Vec<u8>> {
        let places = || PackIndex::open(self.open_index()?)?.entries();
        let places = places().or_else(|_| places()).unwrap_or_default();
        let commit = |(id, offset): (ObjectId, u64)| match self.has_commit_at(offset)? {
            true => self.object(offset, id).map(|(_, bytes)| Some(bytes)),
            false => Ok(None),
        };
        let commits = places.into_iter();
        commits
            .filter_map(|place| commit(place).or_else(|_| commit(place)).ok()?)
            .collect()
    }

    /// Returns whether one of its objects is an undeltified commit.
    pub(crate) fn has_commit(&self, id: ObjectId) -> bool {
        self.find(id)
            .is_some_and(|offset| self.has_commit_at(offset).unwrap_or(false))
    }

    fn has_commit_at(&self, offset: u64) -> Result<bool> {
        let header = self.with_data(|data| Ok(data.entry(offset)?.header))?;
        let is_commit = header.content == EntryContent::Whole(ObjectKind::Commit);
        Ok(is_commit && header.size <= LONGEST_COMMIT)
    }

    /// Returns the object at an offset, hashed in full.
    pub(crate) fn object(&self, offset: u64, id: ObjectId) -> Result<(ObjectKind, Vec<u8>)> {
        self.with_data(|data| {
            let (kind, bytes) = self.resolve(data.entry(offset)?)?;
            check_id(id, hash(kind, &bytes))?;
            Ok((kind, bytes))
        })
    }

    /// Returns a blob of at most `limit` bytes, hashed in full, or `None` if it is larger.
    pub(crate) fn small_blob(
        &self,
        offset: u64,
        id: ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        self.with_data(|data| {
            let entry = data.entry(offset)?;
            // Only a whole entry says how large its object is; a delta has to be resolved for that.
            if matches!(entry.header.content, EntryContent::Whole(_)) && entry.header.size > limit {
                return Ok(None);
            }
            let (kind, bytes) = self.resolve(entry)?;
            check_blob_kind(kind)?;
            check_id(id, hash(kind, &bytes))?;
            Ok(Some(bytes))
        })
    }

    /// Reads a blob without hashing it if that proves nothing more: the CRC-32 in an intact index of our own pack shows that
    /// the entry is the one that was written, and it was hashed then. SHA-1 takes as long as the rest of reading a
    /// version of a file.
    pub(crate) fn written_blob(
        &self,
        offset: u64,
        id: ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        let is_listed = !self.is_borrowed() && self.find(id) == Some(offset);
        let index = self.index.get().filter(|_| is_listed);
        let bytes = index.and_then(|(index, _)| {
            let read = |data: Data<'_>| {
                let written = index.written(id, data.end)?;
                let written = written.filter(|written| written.offset == offset);
                written.map_or(Ok(None), |written| data.written_blob(written, limit))
            };
            self.with_data(read).ok().flatten()
        });
        match bytes {
            Some(bytes) => Ok(Some(bytes)),
            None => self.small_blob(offset, id, limit),
        }
    }

    /// Returns a blob's size in bytes, according to its entry or the front of its delta.
    pub(crate) fn blob_size(&self, offset: u64) -> Result<u64> {
        self.with_data(|data| {
            let mut front = [0; FRONT];
            size_of_blob(data.front(offset, &mut front)?, offset)
        })
    }

    /// Returns the sizes in bytes of the blobs at some offsets, which are sorted; `None` for one that cannot be read.
    /// Where entries lie close together, many are read at once.
    pub(crate) fn blob_sizes(&self, offsets: &[u64]) -> Result<Vec<Option<u64>>> {
        self.with_data(|data| {
            let mut window = Window {
                bytes: vec![0; WINDOW],
                part: 0..0,
            };
            let sizes = offsets.iter().enumerate().map(|(at, offset)| {
                let later = offsets.get(at + CLOSE);
                let is_close = later.is_some_and(|later| later - offset < WINDOW as u64);
                let length = if is_close { WINDOW } else { FRONT };
                size_of_blob(window.front(&data, *offset, length)?, *offset).ok()
            });
            Ok(sizes.collect())
        })
    }

    /// Decodes and hashes a blob in bounded memory.
    pub(crate) fn check_blob(&self, offset: u64, id: ObjectId) -> Result<()> {
        self.copy_blob(offset, id, &mut std::io::sink()).map(drop)
    }

    /// Writes a blob and hashes it on the way. The written bytes are good only if this succeeds. Memory is bounded,
    /// except for deltas.
    pub(crate) fn copy_blob(&self, offset: u64, id: ObjectId, to: &mut dyn Write) -> Result<u64> {
        self.with_data(|data| match data.entry(offset)? {
            entry @ PackEntry {
                header:
                    EntryHeader {
                        content: EntryContent::Whole(kind),
                        size,
                    },
                ..
            } => {
                check_blob_kind(kind)?;
                check_id(id, copy(entry.compressed(), size, to)?)?;
                Ok(size)
            }
            entry => {
                let (kind, bytes) = self.resolve(entry)?;
                check_blob_kind(kind)?;
                check_id(id, hash(kind, &bytes))?;
                to.write_all(&bytes)
                    .context(|| format!("cannot write the bytes of `{id}`"))?;
                Ok(bytes.len() as u64)
            }
        })
    }

    /// Returns an entry's object, whose deltas' bases are all in this pack.
    fn resolve(&self, entry: PackEntry<'_>) -> Result<(ObjectKind, Vec<u8>)> {
        entry.resolve(LARGEST, |base| self.find(ObjectId::new(*base)))
    }

    /// Works on its bytes, and keeps the file open for the next time if few enough are.
    pub(super) fn with_data<T>(&self, work: impl FnOnce(Data<'_>) -> Result<T>) -> Result<T> {
        let what = || format!("cannot read the pack `{}`", self.path.display());
        let fresh;
        let file = match self.data.get() {
            Some(kept) => kept,
            None => {
                let file = open_regular(&self.path)?;
                let length = file.metadata().context(what)?.len();
                match Permit::take() {
                    // Without one, the file is closed again after this use: slower, but a limit of 32 open files
                    // (`ulimit -n`) is enough.
                    Some(permit) => self.data.get_or_init(|| PackHandle {
                        file,
                        length,
                        _permit: Some(permit),
                    }),
                    None => {
                        fresh = PackHandle {
                            file,
                            length,
                            _permit: None,
                        };
                        &fresh
                    }
                }
            }
        };
        work(Data::new(&file.file, file.length))
            .map_err(|error| Error::failed(what()).because(error))
    }
}

/// The part of a pack that was read last: the next entry often begins in it.
struct Window {
    bytes: Vec<u8>,
    /// Where it is in the pack.
    part: Range<u64>,
}

impl Window {
    /// Returns the front of the entry at an offset. If not all of it was read yet, this reads `length` bytes from
    /// there.
    fn front(&mut self, data: &Data<'_>, offset: u64, length: usize) -> Option<&[u8]> {
        let end = self.part.end;
        let is_whole = end >= data.end || offset.saturating_add(FRONT as u64) <= end;
        if !is_whole || !self.part.contains(&offset) {
            let read = data.front(offset, &mut self.bytes[..length]).ok()?.len();
            self.part = offset..offset + read as u64;
        }
        let from = usize::try_from(offset - self.part.start).ok()?;
        let to = usize::try_from(self.part.end - self.part.start).ok()?;
        self.bytes.get(from..to.min(from + FRONT))
    }
}

/// An open pack.
struct PackHandle {
    file: File,
    length: u64,
    _permit: Option<Permit>,
}

/// The permission to keep one more file open. It is returned on drop.
struct Permit;

static OPEN: AtomicUsize = AtomicUsize::new(0);

impl Permit {
    /// Takes a permit, or returns `None` while [`MOST_OPEN`] files are open.
    fn take() -> Option<Self> {
        // `Relaxed` is enough: no other memory depends on the number.
        if OPEN.fetch_add(1, Ordering::Relaxed) < MOST_OPEN {
            return Some(Self);
        }
        OPEN.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Inflates a blob of this size, and returns its id.
fn copy(compressed: BufReader<FileRange<'_>>, size: u64, to: &mut dyn Write) -> Result<ObjectId> {
    let mut decoder = ZlibDecoder::new(compressed);
    let mut hasher = Hasher::new(ObjectKind::Blob, size);
    let mut buffer = vec![0; 64 << 10];
    let mut left = size;
    while left > 0 {
        let wanted = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let read = decoder
            .read(&mut buffer[..wanted])
            .context(|| "the object cannot be decompressed")?;
        if read == 0 {
            return Err(Error::failed("the object is smaller than its entry says"));
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read])
            .context(|| "cannot write the object's bytes")?;
        left -= read as u64;
    }
    // More bytes than the entry says would be another object under its id.
    if at_end(&mut decoder) {
        Ok(hasher.finish())
    } else {
        Err(Error::failed("the object is larger than it says"))
    }
}

/// Opens a regular file that the user owns, and no link: nothing else belongs among the packs.
pub(crate) fn open_regular(path: &Path) -> Result<File> {
    open_sized(path).map(|(file, _)| file)
}

/// Like [`open_regular`], but also returns its size in bytes.
pub(crate) fn open_sized(path: &Path) -> Result<(File, u64)> {
    let what = || format!("cannot open `{}`", path.display());
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .context(what)?;
    let metadata = file.metadata().context(what)?;
    check_owner(path, &metadata)?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false => Err(Error::failed(format!(
            "`{}` is not a regular file",
            path.display()
        ))),
    }
}

fn check_id(id: ObjectId, found: ObjectId) -> Result<()> {
    if id == found {
        Ok(())
    } else {
        Err(Error::failed(format!(
            "its bytes are those of `{found}`, not of `{id}`"
        )))
    }
}

/// Returns the size of a blob in bytes, according to the front of its entry or, for a delta, of its compressed bytes.
fn size_of_blob(mut front: &[u8], offset: u64) -> Result<u64> {
    match read_header::<SHA1>(&mut front, offset)? {
        EntryHeader {
            content: EntryContent::Whole(kind),
            size,
        } => check_blob_kind(kind).map(|()| size),
        _ => size_from_delta(front),
    }
}

fn check_blob_kind(kind: ObjectKind) -> Result<()> {
    if kind == ObjectKind::Blob {
        Ok(())
    } else {
        Err(Error::failed(format!(
            "the object is a {}, not a blob",
            kind.name()
        )))
    }
}
