//! The stat cache: what the last snapshot saw of each directory, in two files beside the repository. This module does
//! IO.
//!
//! `cache` holds every directory; `cache.changes` those that have changed since, and the id of the `cache` that it
//! belongs to. So a change of ten files does not rewrite a hundred thousand entries. A file is never modified: a new
//! one is written beside it and takes its place, so that two hooks at once do each other no harm. The last one wins,
//! and both trees are right; changes that belong to another `cache` are skipped, and what is left is merely older. All
//! of this is only a hint: if anything is wrong with it, the next snapshot is slower, and nothing else.
//!
//! In front is the head of each directory, behind it are the bodies with the entries. A look at everything reads all at
//! once. A look at a few directories reads the front and their bodies, so it takes a time that does not depend on the
//! number of files.
//!
//! Numbers are little-endian. `front` is the length up to the bodies, in bytes; the checksum is of `front` and what
//! follows it up to there. Each head has the checksum of its body.
//!
//! ```text
//! cache          MAGIC  checksum:u32  front:u64  id:[16]  header  gone  head*  body*
//! cache.changes  the same, with another MAGIC
//! header         length:u32  `CacheHeader::encode`        head, body  one directory, see `record`, by path
//! gone           the paths of directories that went; none in `cache`
//! ```

mod bytes;
mod file;
mod header;
mod record;

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use uuid::Uuid;

use super::scan::listing::Listing;
use super::scan::overlay::Overlay;
use crate::error::{Context, Result};
use crate::fs::disk::Stamp;
use crate::fs::leftover;
use crate::fs::names::{CACHE, CACHE_CHANGES};
use crate::model::gap::GapReason;
use bytes::{put_length, put_texts};
pub(crate) use file::Extent;
use file::{CHECKED, CacheFile, Front, PREFIX, RecordPlace};
pub(crate) use header::CacheHeader;
use record::DirectoryHead;
pub(crate) use record::{CachedItem, Directory, Records};

const WHOLE: &[u8; 8] = b"ckptc\0\0\x07";
const CHANGES: &[u8; 8] = b"ckptd\0\0\x07";
/// Changes up to this size, in bytes, never cause the whole cache to be rewritten.
const MIN_REWRITE_SIZE: usize = 64 << 10;
/// About what the changes of one snapshot take, in bytes.
const USUAL_CHANGE: usize = 16 << 10;

/// A cache that was read.
pub(crate) struct Cache {
    whole: CacheFile,
    changes: Option<CacheFile>,
    id: Uuid,
    /// Where each directory is, by path.
    places: Vec<RecordPlace>,
    /// The directories of the whole cache that are gone.
    gone: Vec<Vec<u8>>,
    /// The bodies that were read one by one.
    bodies: Vec<OnceLock<Option<Box<[u8]>>>>,
    is_torn: AtomicBool,
    /// The data about the whole snapshot.
    pub header: CacheHeader,
}

impl Cache {
    /// Reads the cache, or returns `None` if there is no usable one. The checksums are checked every time, because a
    /// flipped bit would look like a file that did not change. That takes a hundredth of the time of the scan.
    pub fn read(folder: &Path, extent: Extent) -> Option<Self> {
        let (whole, front) = CacheFile::read(&folder.join(CACHE), WHOLE, extent)?;
        let Front {
            id, header, places, ..
        } = front;
        let mut cache = Self {
            whole,
            changes: None,
            id,
            places,
            gone: Vec::new(),
            bodies: Vec::new(),
            is_torn: AtomicBool::new(false),
            header,
        };
        // Always as a whole: it is small, and its heads replace some of those in the other file.
        let changes = CacheFile::read(&folder.join(CACHE_CHANGES), CHANGES, Extent::Whole);
        // Changes of an older or a newer cache do not count.
        if let Some((changes, front)) = changes.filter(|(_, front)| front.id == id) {
            cache.overlay(changes, front)?;
        }
        if extent == Extent::Front {
            cache.bodies = cache.places.iter().map(|_| OnceLock::new()).collect();
        }
        Some(cache)
    }

    /// Applies the changes.
    fn overlay(&mut self, changes: CacheFile, front: Front) -> Option<()> {
        let gone: HashSet<usize> = front
            .gone
            .iter()
            .filter_map(|path| self.find(path))
            .collect();
        let mut places = Vec::with_capacity(self.places.len() + front.places.len());
        let mut next = 0;
        for place in front.places {
            let found = self.search(changes.head(place)?.path);
            let position = found.unwrap_or_else(|position| position);
            places.extend(self.kept(next..position, &gone));
            places.push(RecordPlace {
                is_change: true,
                ..place
            });
            next = position + usize::from(found.is_ok());
        }
        places.extend(self.kept(next..self.places.len(), &gone));
        self.places = places;
        self.header = front.header;
        self.gone = front.gone;
        self.changes = Some(changes);
        Some(())
    }

    fn kept(
        &self,
        numbers: Range<usize>,
        gone: &HashSet<usize>,
    ) -> impl Iterator<Item = RecordPlace> {
        numbers
            .filter(|number| !gone.contains(number))
            .map(|number| self.places[number])
    }

    /// Reads all bodies at once, because most of them are needed.
    pub fn load(&self) {
        let places = self.places.iter().filter(|place| !place.is_change);
        if !self.whole.load(places.copied()) {
            self.is_torn.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a body was asked for that could not be read, or was damaged. Then nothing that came of this
    /// cache can be used.
    pub fn is_torn(&self) -> bool {
        self.is_torn.load(Ordering::Relaxed)
    }

    /// Returns whether the look that wrote it was stopped before it had read everything.
    pub fn is_late(&self) -> bool {
        let mut seen = self.header.seen.iter();
        seen.any(|gap| gap.reason == GapReason::Late)
    }

    /// Writes what changed since a cache was read (`overlay`), or the whole cache if that is much or there was none.
    pub fn write(folder: &Path, header: &CacheHeader, overlay: &Overlay<'_>) -> Result<()> {
        if let Some(below) = overlay.below() {
            let changes = below.changes(header, overlay);
            if changes.len() <= most_changes(below.whole.length) {
                return put(folder, CACHE_CHANGES, &changes);
            }
            // All bodies are copied now, and one call reads them faster than one for each.
            below.load();
        }
        let mut records = Records::default();
        for seen in overlay.iter() {
            seen.append_to(&mut records);
        }
        let whole = encode(WHOLE, Uuid::new_v4(), header, &[], &records);
        put(folder, CACHE, &whole)?;
        // The changes no longer belong to any cache.
        let _ = fs::remove_file(folder.join(CACHE_CHANGES));
        sweep(folder);
        Ok(())
    }

    /// Returns the contents of the file of changes: the earlier ones, and the overlay's.
    fn changes(&self, header: &CacheHeader, overlay: &Overlay<'_>) -> Vec<u8> {
        // One that is there again must not be called gone by the earlier changes.
        let gone = self
            .gone
            .iter()
            .chain(overlay.gone())
            .filter(|path| !overlay.has_fresh(path));
        let gone: Vec<Vec<u8>> = gone.cloned().collect();
        let mut records = Records::default();
        for seen in overlay.iter_with(|number| self.places[number].is_change) {
            seen.append_to(&mut records);
        }
        encode(CHANGES, self.id, header, &gone, &records)
    }

    /// Returns how many directories there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns a directory by its number; numbers follow paths.
    pub fn directory(&self, number: usize) -> Option<Directory<'_>> {
        Some(Directory::new(self, number, self.head(number)?))
    }

    fn head(&self, number: usize) -> Option<DirectoryHead<'_>> {
        let place = *self.places.get(number)?;
        self.file(place)?.head(place)
    }

    fn file(&self, place: RecordPlace) -> Option<&CacheFile> {
        match place.is_change {
            true => self.changes.as_ref(),
            false => Some(&self.whole),
        }
    }

    /// Returns the body of a directory, or `None` if it cannot be read. Then the cache is torn.
    fn body(&self, number: usize, head: &DirectoryHead<'_>) -> Option<&[u8]> {
        let place = *self.places.get(number)?;
        let file = self.file(place)?;
        let body = file.body(place, head).or_else(|| {
            let body = self.bodies.get(number)?;
            body.get_or_init(|| file.read_body(place, head)).as_deref()
        });
        if body.is_none() {
            self.is_torn.store(true, Ordering::Relaxed);
        }
        body
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
        let compare = |place: &RecordPlace| {
            let head = self.file(*place).and_then(|file| file.head(*place));
            head.map_or(std::cmp::Ordering::Less, |head| head.path.cmp(path))
        };
        self.places.binary_search_by(compare)
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

/// Returns how large the file of changes may become beside a whole cache of this size, both in bytes. Each snapshot
/// writes the changes again, and when they are too large, the whole cache: at the square root of twice the product of
/// what a snapshot adds and the whole, both cost the same over time.
fn most_changes(whole: usize) -> usize {
    MIN_REWRITE_SIZE.max(whole.saturating_mul(2 * USUAL_CHANGE).isqrt())
}

/// Returns the contents of a file.
fn encode(
    magic: &[u8; 8],
    id: Uuid,
    header: &CacheHeader,
    gone: &[Vec<u8>],
    records: &Records,
) -> Vec<u8> {
    let header = header.encode();
    let mut bytes = magic.to_vec();
    bytes.resize(PREFIX - 16, 0);
    bytes.extend_from_slice(id.as_bytes());
    put_length(&mut bytes, header.len());
    bytes.extend_from_slice(&header);
    put_texts(&mut bytes, gone);
    bytes.extend_from_slice(&records.heads);
    let front = bytes.len();
    bytes[CHECKED..CHECKED + 8].copy_from_slice(&(front as u64).to_le_bytes());
    let checksum = libdeflater::crc32(&bytes[CHECKED..]);
    bytes[8..CHECKED].copy_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&records.bodies);
    bytes
}

/// Puts a file in its place.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let new = folder.join(format!("{name}.{}", std::process::id()));
    let written = write_file(&new, bytes).and_then(|()| {
        // Renaming over a file makes some file systems write out the new one at once (ext4's `auto_da_alloc`), which
        // costs more than everything else here. The checksum already detects a cache that did not reach the disk.
        let _ = fs::remove_file(folder.join(name));
        fs::rename(&new, folder.join(name))
    });
    // A half-written file would otherwise stay until the next sweep, which is rare.
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

/// Returns two files with correct checksums. Of each, the first two bytes are the length of the bodies, which come
/// last.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn seal(whole: &[u8], changes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (file::seal(WHOLE, whole), file::seal(CHANGES, changes))
}

/// Returns the input of `seal` for a small cache, once as a whole and once as changes, as the fuzzer does.
#[cfg(test)]
pub(super) fn sample() -> Vec<u8> {
    tests::sample()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::ObjectId;
    use crate::snapshot::rules::DirectoryView;
    use crate::snapshot::scan::listing::{ItemKind, ListedItem, ListingState};
    use crate::snapshot::{Gap, GapReason, Snapshot};

    /// A cache that is being written has the process in its name.
    #[test]
    fn cache_in_the_making_names_its_process() {
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
            snapshot_key: ObjectId::EMPTY_TREE,
            index: Some((Stamp::default(), true, ObjectId::EMPTY_TREE)),
            named: vec![b"named".to_vec()],
            forced: Vec::new(),
            watched: Vec::new(),
            snapshot: Snapshot {
                tree: ObjectId::EMPTY_TREE,
                attributes: None,
                rules: None,
                seen: Some(ObjectId::EMPTY_TREE),
            },
            seen: vec![Gap {
                path: b"ignored".to_vec(),
                reason: GapReason::Ignored,
                size: None,
                is_directory: true,
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
        let [whole, changes] = [("one", 1), ("two", 2)].map(|(text, size)| {
            let mut records = Records::default();
            records.put(b"", &listing(size));
            let bytes = encode(WHOLE, Uuid::nil(), &header(text), &[], &records);
            let bodies = u16::try_from(records.bodies.len()).expect("it is small");
            [&bodies.to_le_bytes(), &bytes[PREFIX..]].concat()
        });
        let at = whole.len() * 256 / (whole.len() + changes.len());
        [&[u8::try_from(at).unwrap_or(128)][..], &whole, &changes].concat()
    }

    /// What a cache holds, or `None` if it is torn.
    type Contents = Option<(CacheHeader, Vec<(Vec<u8>, Listing)>)>;

    fn contents(cache: &Cache) -> Contents {
        let listed = |number| {
            let directory = cache.directory(number)?;
            Some((directory.path.to_vec(), directory.listing()?))
        };
        let listings = (0..cache.len()).map(listed).collect::<Option<_>>();
        let header = cache.header.clone();
        listings
            .filter(|_| !cache.is_torn())
            .map(|listings| (header, listings))
    }

    /// Writes a cache and changes of it; returns what it holds without them, and with them.
    fn write(folder: &Path) -> [Contents; 2] {
        let mut first = Overlay::over(None);
        first.put(Vec::new(), Some(listing(1)));
        first.put(b"below".to_vec(), Some(listing(2)));
        Cache::write(folder, &header("one"), &first).expect("it is writable");
        let whole = Cache::read(folder, Extent::Whole).expect("it was just written");
        let mut second = Overlay::over(Some(&whole));
        second.put(b"below".to_vec(), Some(listing(3)));
        Cache::write(folder, &header("two"), &second).expect("it is writable");
        let both = Cache::read(folder, Extent::Whole).expect("it was just written");
        [contents(&whole), contents(&both)]
    }

    /// Only the entries that are asked for are read.
    #[test]
    fn only_requested_entries_are_read() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let many = Listing {
            items: (0..2000).flat_map(|_| listing(1).items).collect(),
            ..listing(1)
        };
        let mut overlay = Overlay::over(None);
        overlay.put(Vec::new(), Some(many.clone()));
        overlay.put(b"below".to_vec(), Some(listing(2)));
        Cache::write(folder.path(), &header("one"), &overlay).expect("it is writable");
        let path = folder.path().join("cache");
        let mut bytes = fs::read(&path).expect("it was written");
        let front = u64::from_le_bytes(bytes[CHECKED..CHECKED + 8].try_into().expect("eight"));
        // The root's entries come first.
        bytes[usize::try_from(front).expect("small")] ^= 1;
        fs::write(&path, &bytes).expect("it is writable");
        let cache = Cache::read(folder.path(), Extent::Front).expect("its front is sound");
        assert_eq!(cache.listing(b"below"), Some(listing(2)), "it is intact");
        assert!(!cache.is_torn(), "nothing else was read");
        assert_ne!(cache.listing(b""), Some(many), "it is damaged");
        assert!(cache.is_torn(), "and that shows");
        assert!(
            Cache::read(folder.path(), Extent::Whole).is_none(),
            "a look at everything checks everything"
        );
    }

    /// Changes and whole caches take the same share of what is written.
    #[test]
    fn changes_and_caches_share_the_writing() {
        let megabyte = 1 << 20;
        assert_eq!(
            most_changes(0),
            MIN_REWRITE_SIZE,
            "a small cache is not written anew"
        );
        assert_eq!(most_changes(8 * megabyte), megabyte / 2);
        assert_eq!(most_changes(32 * megabyte), megabyte);
    }

    /// No byte of a cache can be damaged and believed.
    ///
    /// Invariant `truth/damaged-cache`: A damaged cache is never believed.
    #[test]
    fn damaged_cache_is_never_believed() {
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
                if let Some(cache) = Cache::read(folder.path(), Extent::Whole) {
                    let text = damaged.escape_ascii();
                    assert_eq!(contents(&cache), older, "{name}: {text}");
                }
                // A body that nothing was read of may be damaged.
                if let Some(cache) = Cache::read(folder.path(), Extent::Front) {
                    let read = contents(&cache);
                    let is_right = read.is_none() || read == older || read == whole;
                    assert!(is_right, "{name}: {}", damaged.escape_ascii());
                }
            }
            fs::write(&path, &bytes).expect("it is writable");
        }
        for extent in [Extent::Whole, Extent::Front] {
            let cache = Cache::read(folder.path(), extent).expect("it is as it was written");
            assert_eq!(contents(&cache), whole, "nothing else was changed");
        }
    }
}
