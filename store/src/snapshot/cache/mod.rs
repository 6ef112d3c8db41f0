//! The stat cache: what the last snapshot saw of each directory, in two files beside the repository. This module does IO.
//!
//! `cache` holds every directory; `cache.changes` those that have changed since, and the id of the `cache` that it
//! belongs to. So a change of ten files does not rewrite a hundred thousand entries. A file is never modified: a new
//! one is written beside it and takes its place, so that two hooks at once do each other no harm. The last one wins,
//! and both trees are right; changes that belong to another `cache` are skipped, and what is left is merely older. All
//! of this is only a hint: if anything is wrong with it, the next snapshot is slower, and nothing else.
//!
//! Numbers are little-endian. `length` counts what follows it; the checksum is of all that follows it.
//!
//! ```text
//! cache          MAGIC  checksum:u32  length:u64  id:[16]  header  record*
//! cache.changes  MAGIC  checksum:u32  length:u64  id:[16]  header  gone  record*
//! header         length:u32  `CacheHeader::encode`             record  one directory, see `record`, by path
//! gone           the paths of directories that went
//! ```

mod bytes;
mod header;
mod record;

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use uuid::Uuid;

use super::scan::listing::Listing;
use super::scan::overlay::{Overlay, OverlayDirectory};
use crate::error::{Context, Result, contained};
use crate::fs::disk::Stamp;
use crate::fs::leftover;
use crate::model::FileTime;
use crate::model::gap::Uncaptured;
use crate::model::path::join;
use crate::objects::pack::read::open_sized;
use bytes::{ByteReader, put_length, put_texts};
pub(crate) use header::CacheHeader;
pub(crate) use record::{CachedItem, Directory, put_listing};

const WHOLE: &[u8; 8] = b"ckptc\0\0\x04";
const CHANGES: &[u8; 8] = b"ckptd\0\0\x04";
/// The length of what precedes the header, in bytes.
const FRONT: usize = 8 + 4 + 8 + 16;
/// Changes up to this size, in bytes, never cause the whole cache to be rewritten.
const SMALL: usize = 64 << 10;

/// A cache that was read.
pub(crate) struct Cache {
    /// Both files, one after the other.
    bytes: Vec<u8>,
    /// The length of the first one, the whole cache.
    whole: usize,
    id: Uuid,
    /// The offset of each directory, by path.
    directories: Vec<usize>,
    /// The directories of the whole cache that are gone.
    gone: Vec<Vec<u8>>,
    /// The data about the whole snapshot.
    pub header: CacheHeader,
}

impl Cache {
    /// Reads the cache, or returns `None` if there is no usable one. The checksum is checked every time, because a
    /// flipped bit would look like a file that did not change. That takes a hundredth of the time of the scan.
    pub fn read(folder: &Path) -> Option<Self> {
        let bytes = read_own(&folder.join("cache"))?;
        let (id, mut reader) = front(&bytes, WHOLE)?;
        let header = header_of(&mut reader)?;
        let directories = records(reader.0, bytes.len() - reader.0.len())?;
        let whole = bytes.len();
        let cache = Self {
            bytes,
            whole,
            id,
            directories,
            gone: Vec::new(),
            header,
        };
        match read_own(&folder.join("cache.changes")) {
            Some(changes) => cache.overlaid(changes),
            None => Some(cache),
        }
    }

    /// Applies the changes if they belong to this cache, and not to an older or a newer one.
    fn overlaid(self, changes: Vec<u8>) -> Option<Self> {
        match front(&changes, CHANGES) {
            Some((id, reader)) if id == self.id => self.merged(&changes, reader),
            _ => Some(self),
        }
    }

    fn merged(mut self, changes: &[u8], mut reader: ByteReader<'_>) -> Option<Self> {
        self.header = header_of(&mut reader)?;
        self.gone = reader.texts()?;
        let changed = records(reader.0, self.bytes.len() + changes.len() - reader.0.len())?;
        self.bytes.extend_from_slice(changes);
        let gone: HashSet<usize> = self
            .gone
            .iter()
            .filter_map(|path| self.find(path))
            .collect();
        let mut directories = Vec::with_capacity(self.directories.len() + changed.len());
        let mut next = 0;
        for start in changed {
            let path = Directory::parse(self.bytes.get(start..)?)?.path;
            let place = self.search(path);
            let position = place.unwrap_or_else(|position| position);
            directories.extend(self.kept(next..position, &gone));
            directories.push(start);
            next = position + usize::from(place.is_ok());
        }
        directories.extend(self.kept(next..self.directories.len(), &gone));
        self.directories = directories;
        Some(self)
    }

    fn kept(&self, numbers: Range<usize>, gone: &HashSet<usize>) -> impl Iterator<Item = usize> {
        numbers
            .filter(|number| !gone.contains(number))
            .map(|number| self.directories[number])
    }

    /// Writes what changed since a cache was read (`overlay`), or the whole cache if that is much or there was none.
    pub fn write(folder: &Path, header: &CacheHeader, overlay: &Overlay<'_>) -> Result<()> {
        if let Some(below) = overlay.below() {
            let changes = below.changes(header, overlay);
            if changes.len() <= SMALL.max(below.whole / 4) {
                return put(folder, "cache.changes", changes);
            }
        }
        let mut whole = begin(WHOLE, Uuid::new_v4(), header);
        for seen in overlay.iter() {
            seen.append_to(&mut whole);
        }
        put(folder, "cache", whole)?;
        // The changes no longer belong to any cache.
        let _ = fs::remove_file(folder.join("cache.changes"));
        sweep(folder);
        Ok(())
    }

    /// Returns the contents of the file of changes: the earlier ones, and the overlay's.
    fn changes(&self, header: &CacheHeader, overlay: &Overlay<'_>) -> Vec<u8> {
        let mut changes = begin(CHANGES, self.id, header);
        let gone = self
            .gone
            .iter()
            .chain(overlay.gone())
            .filter(|path| !overlay.has_fresh(path));
        put_texts(&mut changes, &gone.cloned().collect::<Vec<_>>());
        for seen in overlay.iter() {
            if self.is_change(&seen) {
                seen.append_to(&mut changes);
            }
        }
        changes
    }

    /// Returns whether a directory differs from the whole cache.
    fn is_change(&self, seen: &OverlayDirectory<'_>) -> bool {
        match seen {
            OverlayDirectory::Fresh(..) => true,
            OverlayDirectory::Remembered(number, _) => self.directories[*number] >= self.whole,
        }
    }

    /// Returns how many directories there are.
    pub fn len(&self) -> usize {
        self.directories.len()
    }

    /// Returns a directory by its number; numbers follow paths.
    pub fn directory(&self, number: usize) -> Option<Directory<'_>> {
        Directory::parse(self.bytes.get(*self.directories.get(number)?..)?)
    }

    /// Returns the number of a directory.
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        self.search(path).ok()
    }

    /// Returns the number of the first directory whose path is not before this one.
    pub fn first_from(&self, path: &[u8]) -> usize {
        self.search(path).unwrap_or_else(|position| position)
    }

    fn search(&self, path: &[u8]) -> std::result::Result<usize, usize> {
        let compare = |start: &usize| {
            Directory::parse(&self.bytes[*start..]).map(|directory| directory.path.cmp(path))
        };
        self.directories
            .binary_search_by(|start| compare(start).unwrap_or(std::cmp::Ordering::Less))
    }

    /// Returns the stamp of a directory.
    pub fn stamp(&self, path: &[u8]) -> Option<Stamp> {
        Some(self.directory(self.find(path)?)?.stamp())
    }

    /// Returns the listing of a directory.
    pub fn listing(&self, path: &[u8]) -> Option<Listing> {
        self.directory(self.find(path)?)?.listing()
    }
}

/// Reads a file that the user owns. One of another user, or a link, is not a cache.
fn read_own(path: &Path) -> Option<Vec<u8>> {
    let (file, length) = open_sized(path).ok()?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(usize::try_from(length).ok()?)
        .ok()?;
    while bytes.len() < bytes.capacity() {
        match rustix::io::read(&file, spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

/// Reads the bytes before the header of such a file, and checks its checksum.
fn front<'a>(bytes: &'a [u8], magic: &[u8; 8]) -> Option<(Uuid, ByteReader<'a>)> {
    let mut reader = ByteReader(bytes);
    (reader.take(8)? == magic).then_some(())?;
    let checksum = reader.u32()?;
    let is_sound = checksum == libdeflater::crc32(reader.0);
    let length = reader.record()?;
    let id = Uuid::from_slice(reader.take(16)?).ok()?;
    (is_sound && length == bytes.len() - FRONT).then_some((id, reader))
}

fn header_of(reader: &mut ByteReader<'_>) -> Option<CacheHeader> {
    let length = reader.length()?;
    CacheHeader::decode(reader.take(length)?)
}

/// Returns the offset of each record in some bytes, the first of which is at `start`.
fn records(mut bytes: &[u8], mut start: usize) -> Option<Vec<usize>> {
    let mut starts = Vec::new();
    while !bytes.is_empty() {
        starts.push(start);
        let mut reader = ByteReader(bytes);
        let length = reader.record()?;
        reader.take(length)?;
        start += bytes.len() - reader.0.len();
        bytes = reader.0;
    }
    Some(starts)
}

fn begin(magic: &[u8; 8], id: Uuid, header: &CacheHeader) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.resize(FRONT - 16, 0);
    bytes.extend_from_slice(id.as_bytes());
    let header = header.encode();
    put_length(&mut bytes, header.len());
    bytes.extend_from_slice(&header);
    bytes
}

/// Returns the ignored paths and the repositories below, each with the time of the look that first saw it. Without an
/// intact cache, there are none.
pub(crate) fn uncaptured(folder: &Path) -> Vec<(Uncaptured, FileTime)> {
    let cache = contained(|| Cache::read(folder)).flatten();
    let Some(cache) = cache else {
        return Vec::new();
    };
    let mut ignored = Vec::new();
    for directory in (0..cache.len()).filter_map(|number| cache.directory(number)) {
        let items = directory.items().filter(CachedItem::is_ignored);
        ignored.extend(items.filter_map(|item| {
            let what = Uncaptured::at(&join(directory.path, item.name))?;
            Some((what, item.stamp.mtime))
        }));
    }
    ignored
}

/// Fills in length and checksum, and puts the file in its place.
fn put(folder: &Path, name: &str, mut bytes: Vec<u8>) -> Result<()> {
    let length = (bytes.len() - FRONT) as u64;
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    let checksum = libdeflater::crc32(&bytes[12..]);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    let new = folder.join(format!("{name}.{}", std::process::id()));
    let written = write_file(&new, &bytes).and_then(|()| {
        // Renaming over a file makes some file systems write out the new one at once (ext4's `auto_da_alloc`), which
        // costs more than everything else here. The checksum already detects a cache that did not reach the disk.
        let _ = fs::remove_file(folder.join(name));
        fs::rename(&new, folder.join(name))
    });
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.context(|| format!("cannot write `{}`", new.display()))
}

/// Removes what processes left that were killed while writing a cache: `cache.PID` and `cache.changes.PID`. The whole
/// cache is written rarely enough to do this each time.
fn sweep(folder: &Path) {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_encoded_bytes());
    let names: Vec<Vec<u8>> = names.filter(|name| is_unfinished(name)).collect();
    leftover::sweep(folder, names.iter().map(|name| &name[..]));
}

/// Returns whether a name is that of a cache that a process is writing, or was writing when it was killed.
fn is_unfinished(name: &[u8]) -> bool {
    let number = name
        .strip_prefix(b"cache.")
        .map(|rest| rest.strip_prefix(b"changes.").unwrap_or(rest));
    number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}

fn write_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

/// Returns the bytes after the front of two files, whose fronts have correct checksums.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn seal(whole: &[u8], changes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let seal = |magic: &[u8; 8], rest: &[u8]| {
        let length = (rest.len() as u64).to_le_bytes();
        let checked = [&length[..], Uuid::nil().as_bytes(), rest].concat();
        let checksum = libdeflater::crc32(&checked).to_le_bytes();
        [&magic[..], &checksum, &checked].concat()
    };
    (seal(WHOLE, whole), seal(CHANGES, changes))
}

/// Returns the bytes after the front of a small cache, once as a whole and once as changes, as the fuzzer takes them.
#[cfg(test)]
pub(super) fn sample() -> Vec<u8> {
    tests::sample()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::ObjectId;
    use crate::model::gap::IgnoredRemoval;
    use crate::snapshot::Snapshot;
    use crate::snapshot::rules::DirectoryView;
    use crate::snapshot::scan::listing::{ItemKind, ListedItem, ListingState};

    #[test]
    fn a_cache_that_is_being_written_has_the_process_in_its_name() {
        for name in ["cache.1", "cache.changes.4711"] {
            assert!(is_unfinished(name.as_bytes()), "{name}");
        }
        for name in [
            "cache",
            "cache.changes",
            "cache.old",
            "lock",
            "cache.changes.1.2",
        ] {
            assert!(!is_unfinished(name.as_bytes()), "{name}");
        }
    }

    fn header(text: &str) -> CacheHeader {
        CacheHeader {
            boot: text.into(),
            packs: Stamp::default(),
            borrowed: vec![(b"borrowed-1.pack".to_vec(), Stamp::default())],
            capture_key: ObjectId::EMPTY_TREE,
            index: Some((Stamp::default(), true, ObjectId::EMPTY_TREE)),
            named: vec![b"named".to_vec()],
            forced: Vec::new(),
            watched: Vec::new(),
            snapshot: Snapshot {
                tree: ObjectId::EMPTY_TREE,
                attributes: None,
                rules: None,
            },
            gaps: Vec::new(),
            ignored_gone: vec![IgnoredRemoval {
                what: Uncaptured::at(b"gone").expect("legal"),
                known_at: 1,
                gone_at: 2,
            }],
        }
    }

    fn listing(size: u64) -> Listing {
        let item = ListedItem {
            name: b"file".to_vec(),
            stamp: Stamp {
                size,
                ..Stamp::default()
            },
            is_settled: true,
            kind: ItemKind::Content(ObjectId::EMPTY_TREE),
        };
        Listing {
            items: vec![item],
            is_settled: true,
            ..Listing::unread(Stamp::default(), DirectoryView::Open, ListingState::Listed)
        }
    }

    pub fn sample() -> Vec<u8> {
        let mut whole = begin(WHOLE, Uuid::nil(), &header("one"));
        put_listing(&mut whole, b"", &listing(1));
        let mut changes = begin(CHANGES, Uuid::nil(), &header("two"));
        put_texts(&mut changes, &[]);
        put_listing(&mut changes, b"", &listing(2));
        let (whole, changes) = (&whole[FRONT..], &changes[FRONT..]);
        let at = whole.len() * 256 / (whole.len() + changes.len());
        [&[u8::try_from(at).unwrap_or(128)][..], whole, changes].concat()
    }

    fn contents(cache: &Cache) -> (CacheHeader, Vec<Vec<u8>>) {
        let raw = |number| cache.directory(number).expect("it was read").raw.to_vec();
        (cache.header.clone(), (0..cache.len()).map(raw).collect())
    }

    /// Writes a cache and changes of it; returns what it holds without them, and with them.
    fn write(folder: &Path) -> [(CacheHeader, Vec<Vec<u8>>); 2] {
        let mut first = Overlay::over(None);
        first.put(Vec::new(), Some(listing(1)));
        first.put(b"below".to_vec(), Some(listing(2)));
        Cache::write(folder, &header("one"), &first).expect("it is writable");
        let whole = Cache::read(folder).expect("it was just written");
        let mut second = Overlay::over(Some(&whole));
        second.put(b"below".to_vec(), Some(listing(3)));
        Cache::write(folder, &header("two"), &second).expect("it is writable");
        let both = Cache::read(folder).expect("it was just written");
        [contents(&whole), contents(&both)]
    }

    #[test]
    fn a_header_of_an_older_program_has_no_removals() {
        let header = CacheHeader {
            ignored_gone: Vec::new(),
            ..header("one")
        };
        let bytes = header.encode();
        let (older, length) = bytes.split_last_chunk::<4>().expect("it is longer");
        assert_eq!(*length, [0; 4], "an empty list is its length");
        assert_eq!(CacheHeader::decode(older), Some(header));
    }

    #[test]
    fn no_byte_of_a_cache_can_be_damaged_and_believed() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let [older, whole] = write(folder.path());
        assert_ne!(older, whole, "there are changes");
        for name in ["cache", "cache.changes"] {
            let path = folder.path().join(name);
            let bytes = fs::read(&path).expect("it was written");
            let damaged = (0..bytes.len()).flat_map(|at| {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                let mut zeroed = bytes.clone();
                zeroed[at..].fill(0);
                [flipped, zeroed, bytes[..at].to_vec()]
            });
            for damaged in damaged.filter(|damaged| *damaged != bytes) {
                fs::remove_file(&path).expect("it is there");
                fs::write(&path, &damaged).expect("it is writable");
                // What is merely older is compared with the disk, as it was then.
                if let Some(cache) = Cache::read(folder.path()) {
                    assert_eq!(
                        contents(&cache),
                        older,
                        "{name}: {}",
                        damaged.escape_ascii()
                    );
                }
            }
            fs::write(&path, &bytes).expect("it is writable");
        }
        let cache = Cache::read(folder.path()).expect("it is as it was written");
        assert_eq!(contents(&cache), whole, "nothing else was changed");
    }
}
