//! One of the cache's two files: its front at once, the entries of its directories when they are asked for. This module
//! does IO.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use uuid::Uuid;

use super::bytes::ByteReader;
use super::header::CacheHeader;
use super::record::DirectoryHead;
use crate::objects::pack::read::open_sized;

/// The length of what precedes the header, in bytes.
pub(super) const PREFIX: usize = 8 + 4 + 8 + 16;
/// Where the checked part begins, in bytes.
pub(super) const CHECKED: usize = 12;
/// How much is read first if not everything is needed, in bytes: the whole front of a few hundred directories.
const FIRST: usize = 64 << 10;

/// How much of a file is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything: every directory will be looked at.
    Whole,
    /// The front. Bodies are read one by one.
    Front,
}

/// A file of the cache.
pub(super) struct CacheFile {
    /// The front; or everything.
    bytes: Vec<u8>,
    /// The length of the front, in bytes.
    front: usize,
    file: File,
    /// The length of the file, in bytes.
    pub length: usize,
    /// All bodies, if they were read after the front.
    bodies: OnceLock<Option<Vec<u8>>>,
}

/// What the front of a file says.
pub(super) struct Front {
    /// The id of the whole cache.
    pub id: Uuid,
    /// The data about the whole snapshot.
    pub header: CacheHeader,
    /// The directories of the whole cache that are gone.
    pub gone: Vec<Vec<u8>>,
    /// Where each directory is, by path.
    pub places: Vec<RecordPlace>,
}

/// Where a directory is in its file: the offset of the head, and that of the body behind the front, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPlace {
    /// Whether it is in the file of changes.
    pub is_change: bool,
    pub head: usize,
    pub body: usize,
}

impl CacheFile {
    /// Reads a file that the user owns, and checks its checksums. One of another user, or a link, is not a cache.
    pub fn read(path: &Path, magic: &[u8; 8], extent: Extent) -> Option<(Self, Front)> {
        let (file, length) = open_sized(path).ok()?;
        let length = usize::try_from(length).ok()?;
        let mut bytes = Vec::new();
        let first = match extent {
            Extent::Whole => length,
            Extent::Front => length.min(FIRST),
        };
        read_up_to(&file, &mut bytes, first)?;
        let mut prefix = ByteReader(&bytes);
        (prefix.take(8)? == magic).then_some(())?;
        let checksum = prefix.u32()?;
        let front = prefix.record()?;
        // The length is not checked yet: without this, a damaged one would ask for any amount of memory.
        (front >= PREFIX && front <= length).then_some(())?;
        read_up_to(&file, &mut bytes, front)?;
        if bytes.len() < length {
            bytes.truncate(front);
        }
        let read = Self {
            bytes,
            front,
            file,
            length,
            bodies: OnceLock::new(),
        };
        let checked = read.bytes.get(CHECKED..front)?;
        // The front only: each body is checked with its own sum when it is read, so a look at one directory need
        // not read all.
        (checksum == libdeflater::crc32(checked)).then_some(())?;
        let decoded = read.decode()?;
        (!read.is_whole() || read.are_sound(&decoded.places)).then_some((read, decoded))
    }

    fn is_whole(&self) -> bool {
        self.bytes.len() == self.length
    }

    fn decode(&self) -> Option<Front> {
        let mut reader = ByteReader(self.bytes.get(CHECKED + 8..self.front)?);
        let id = Uuid::from_slice(reader.take(16)?).ok()?;
        let length = reader.length()?;
        let header = CacheHeader::decode(reader.take(length)?)?;
        let gone = reader.texts()?;
        let mut places = Vec::new();
        let mut body = 0_usize;
        while !reader.0.is_empty() {
            let head = DirectoryHead::parse(reader.0)?;
            places.push(RecordPlace {
                is_change: false,
                head: self.front - reader.0.len(),
                body,
            });
            body = body.checked_add(head.body)?;
            reader.take(head.raw.len())?;
        }
        let is_as_long = self.front.checked_add(body)? == self.length;
        // Nothing may follow the bodies: a file that is longer was not written as a whole.
        is_as_long.then_some(Front {
            id,
            header,
            gone,
            places,
        })
    }

    /// Returns the head at a place.
    pub fn head(&self, place: RecordPlace) -> Option<DirectoryHead<'_>> {
        DirectoryHead::parse(self.bytes.get(place.head..self.front)?)
    }

    /// Returns the body at a place if all bodies were read.
    pub fn body(&self, place: RecordPlace, head: &DirectoryHead<'_>) -> Option<&[u8]> {
        let bodies = match self.is_whole() {
            true => self.bytes.get(self.front..),
            false => self.bodies.get()?.as_deref(),
        };
        bodies?.get(place.body..)?.get(..head.body)
    }

    /// Reads one body, and checks it.
    pub fn read_body(&self, place: RecordPlace, head: &DirectoryHead<'_>) -> Option<Box<[u8]>> {
        let mut body = vec![0; head.body].into_boxed_slice();
        let at = self.front.checked_add(place.body)?;
        self.file.read_exact_at(&mut body, at as u64).ok()?;
        is_sound(head, &body).then_some(body)
    }

    /// Reads all bodies, and checks those at these places. Returns false if any of them is wrong.
    pub fn load(&self, places: impl Iterator<Item = RecordPlace>) -> bool {
        if self.is_whole() {
            return true;
        }
        let read = || {
            let mut bodies = vec![0; self.length - self.front];
            let read = self.file.read_exact_at(&mut bodies, self.front as u64);
            read.is_ok().then_some(bodies)
        };
        self.bodies.get_or_init(read).is_some() && self.are_sound_at(places)
    }

    fn are_sound(&self, places: &[RecordPlace]) -> bool {
        self.are_sound_at(places.iter().copied())
    }

    fn are_sound_at(&self, mut places: impl Iterator<Item = RecordPlace>) -> bool {
        places.all(|place| {
            let head = self.head(place);
            let body = head.as_ref().and_then(|head| self.body(place, head));
            head.zip(body)
                .is_some_and(|(head, body)| is_sound(&head, body))
        })
    }
}

fn is_sound(head: &DirectoryHead<'_>, body: &[u8]) -> bool {
    libdeflater::crc32(body) == head.checksum
}

/// Reads on until there are as many bytes.
fn read_up_to(file: &File, bytes: &mut Vec<u8>, length: usize) -> Option<()> {
    let missing = length.saturating_sub(bytes.len());
    // A cache that does not fit into memory is no cache; an allocation that fails would end the process.
    bytes.try_reserve_exact(missing).ok()?;
    while bytes.len() < length {
        match rustix::io::read(file, spare_capacity(bytes)) {
            // Another process is writing it, or it was cut off.
            Ok(0) => return None,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}

/// Returns a file with correct checksums. The first two bytes are the length of the bodies, which come last.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn seal(magic: &[u8; 8], bytes: &[u8]) -> Vec<u8> {
    let (length, rest) = bytes.split_at(bytes.len().min(2));
    let length = length
        .iter()
        .rev()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    let (fronts, bodies) = rest.split_at(rest.len() - length.min(rest.len()));
    let mut front = [&magic[..], &[0; PREFIX - 8], fronts].concat();
    let mut at = PREFIX;
    at += ByteReader(&front[at..])
        .length()
        .unwrap_or(usize::MAX / 4)
        .saturating_add(4);
    let mut after_gone = ByteReader(front.get(at..).unwrap_or_default());
    let _ = after_gone.texts();
    let mut head = front.len() - after_gone.0.len();
    let mut body = 0_usize;
    while let Some(found) = DirectoryHead::parse(&front[head..]) {
        let (size, next) = (found.raw.len(), body.saturating_add(found.body));
        let sum = libdeflater::crc32(bodies.get(body..next).unwrap_or_default());
        front[head + 4..head + 8].copy_from_slice(&sum.to_le_bytes());
        (head, body) = (head + size, next);
    }
    let length = (front.len() as u64).to_le_bytes();
    front[CHECKED..CHECKED + 8].copy_from_slice(&length);
    let sum = libdeflater::crc32(&front[CHECKED..]);
    front[8..CHECKED].copy_from_slice(&sum.to_le_bytes());
    [front, bodies.to_vec()].concat()
}
