//! The index beside a pack (`.idx`, version 2), which says where each object is. This module does IO.
//!
//! It shares with the multi-pack-index a table of sorted ids ([`IdTable`]), and the bytes of an index that is read in
//! parts ([`IndexBytes`]). An index is checked only as far as needed to keep a search inside the file, because every
//! object that is read is hashed, or else the whole index is checked.
//!
//! `N` is the length of an id in bytes: 20, or 32 in a repository of the user's with SHA-256.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sha1::{Digest, Sha1};

use crate::error::{Context, Error, Result};
use crate::model::entry::ObjectId;
use crate::objects::hash::SHA1;

/// The location of an entry in its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indexed {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length.
    pub length: u64,
    /// The CRC-32 of its bytes.
    pub crc: u32,
}

const MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
/// The position of the fan-out table. The ids come after it.
const FANOUT_AT: u64 = 8;
const IDS_AT: u64 = FANOUT_AT + FANOUT;
/// An offset with this bit is a position in the table of 64-bit offsets.
const LARGE_FLAG: u32 = 1 << 31;

/// Returns the bytes of an index.
///
/// ```text
/// ff 't' 'O' 'c', version 2
/// 256 x how many ids begin with this byte or a lower one
/// the ids, sorted | their CRC-32s | their offsets, 32 bits each | offsets of 2^31 and more, 64 bits each
/// the pack's checksum | this file's checksum (SHA-1)
/// ```
pub(crate) fn encode(objects: &HashMap<ObjectId, Indexed>, pack_checksum: &[u8; 20]) -> Vec<u8> {
    let mut sorted: Vec<_> = objects.iter().collect();
    sorted.sort_unstable_by_key(|(id, _)| **id);
    let mut bytes = MAGIC.to_vec();
    for count in fanout(sorted.iter().map(|(id, _)| **id)) {
        bytes.extend_from_slice(&count.to_be_bytes());
    }
    sorted
        .iter()
        .for_each(|(id, _)| bytes.extend_from_slice(id.as_bytes()));
    sorted
        .iter()
        .for_each(|(_, indexed)| bytes.extend_from_slice(&indexed.crc.to_be_bytes()));
    encode_offsets(sorted.iter().map(|(_, indexed)| indexed.offset), &mut bytes);
    bytes.extend_from_slice(pack_checksum);
    let checksum: [u8; 20] = Sha1::digest(&bytes).into();
    bytes.extend_from_slice(&checksum);
    bytes
}

fn encode_offsets(offsets: impl Iterator<Item = u64>, bytes: &mut Vec<u8>) {
    let mut large = Vec::new();
    for offset in offsets {
        let small = u32::try_from(offset)
            .ok()
            .filter(|small| small & LARGE_FLAG == 0);
        let number = small.unwrap_or_else(|| {
            large.push(offset);
            LARGE_FLAG | u32::try_from(large.len() - 1).expect("a pack has fewer than 2^31 objects")
        });
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    large
        .iter()
        .for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
}

/// How many locations of entries are held in memory, which takes 256 MB. A larger pack is read object by object.
const MOST_PLACES: u32 = 1 << 24;

/// An open index.
pub(crate) struct PackIndex<const N: usize = SHA1> {
    bytes: IndexBytes,
    ids: IdTable<N>,
    large: u64,
    is_sound: OnceLock<bool>,
}

/// The length up to which an index is read as a whole: some 2,000 objects.
const WHOLE: u64 = 64 << 10;

impl<const N: usize> PackIndex<N> {
    /// The bytes per object: its id, its CRC-32 and its offset.
    const ROW: u64 = N as u64 + 8;
    /// The pack's checksum, and the index's own.
    const TRAILER: u64 = 2 * N as u64;

    /// Opens an index, and checks that its parts fit together.
    pub(crate) fn open(file: File) -> Result<Self> {
        Self::check(IndexBytes::open(file, WHOLE)?)
    }

    /// Like [`open`](Self::open), but reads the index as a whole.
    pub(crate) fn open_whole(file: File) -> Result<Self> {
        Self::check(IndexBytes::open(file, u64::MAX)?)
    }

    /// Checks that the parts of an index in memory fit together.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::check(IndexBytes::Whole(bytes))
    }

    fn check(bytes: IndexBytes) -> Result<Self> {
        let mut magic = [0; MAGIC.len()];
        bytes.read(0, &mut magic)?;
        if magic != *MAGIC {
            return Err(Error::failed("the index is not of version 2"));
        }
        let ids = IdTable::read(&bytes, FANOUT_AT, IDS_AT)?;
        let fixed = IDS_AT + u64::from(ids.count()) * Self::ROW + Self::TRAILER;
        let large = bytes
            .length()
            .checked_sub(fixed)
            .filter(|rest| rest.is_multiple_of(8))
            .map(|rest| rest / 8);
        let large = large.filter(|large| *large <= u64::from(ids.count()));
        let large = large.ok_or_else(|| Error::failed("the index's parts do not fit together"))?;
        let is_sound = OnceLock::new();
        Ok(Self {
            bytes,
            ids,
            large,
            is_sound,
        })
    }

    /// Returns whether its file stays open.
    pub(crate) fn is_file(&self) -> bool {
        self.bytes.is_file()
    }

    /// Returns the checksum of the pack that it is the index of.
    pub(crate) fn pack_checksum(&self) -> Result<[u8; N]> {
        let mut checksum = [0; N];
        self.bytes
            .read(self.bytes.length() - Self::TRAILER, &mut checksum)?;
        Ok(checksum)
    }

    /// Returns the offset of an object's entry, or `None` if it is not in the pack.
    pub(crate) fn find(&self, id: &[u8; N]) -> Result<Option<u64>> {
        let place = self.ids.find(&self.bytes, id)?;
        place
            .map(|place| {
                self.whole_offset(
                    self.bytes
                        .u32(self.offsets_start() + u64::from(place) * 4)?,
                )
            })
            .transpose()
    }

    fn offsets_start(&self) -> u64 {
        IDS_AT + u64::from(self.ids.count()) * (N as u64 + 4)
    }

    /// Returns the offset that an entry of the table stands for: one of more than 31 bits is in a separate table.
    fn whole_offset(&self, small: u32) -> Result<u64> {
        if small & LARGE_FLAG == 0 {
            return Ok(u64::from(small));
        }
        let at = u64::from(small & !LARGE_FLAG);
        if at >= self.large {
            return Err(Error::failed("the index has no such large offset"));
        }
        self.bytes
            .u64(self.offsets_start() + u64::from(self.ids.count()) * 4 + at * 8)
    }
}

impl PackIndex {
    /// Returns the locations of the sorted ids that it lists. For many ids, it is read once from front to end.
    pub(crate) fn offsets(&self, ids: &[ObjectId]) -> Result<Vec<(ObjectId, u64)>> {
        self.with_offsets(self.ids.places(&self.bytes, ids)?)
    }

    /// Returns all objects, by id, with their offsets.
    pub(crate) fn entries(&self) -> Result<Vec<(ObjectId, u64)>> {
        self.with_offsets(self.ids.all(&self.bytes)?.into_iter().zip(0..).collect())
    }

    /// Returns the offset of every entry, in the order of the pack, and its position in the index. Fails if there are
    /// more than [`MOST_PLACES`].
    pub(crate) fn layout(&self) -> Result<Vec<(u64, u32)>> {
        if self.ids.count() > MOST_PLACES {
            return Err(Error::failed("the pack holds too many objects"));
        }
        let mut rows = Rows::new(&self.bytes, self.offsets_start(), self.ids.count());
        let mut layout = (0..self.ids.count())
            .map(|place| {
                let small = u32::from_be_bytes(*rows.row(place)?);
                Ok((self.whole_offset(small)?, place))
            })
            .collect::<Result<Vec<_>>>()?;
        layout.sort_unstable();
        Ok(layout)
    }

    /// Returns the location of an object's entry in a pack whose entries end at `end`, with its CRC-32. `None` if the
    /// object is not in it, or if the index cannot be relied on, because it is long or its own checksum is wrong.
    pub(crate) fn written(&self, id: ObjectId, end: u64) -> Result<Option<Indexed>> {
        let IndexBytes::Whole(bytes) = &self.bytes else {
            return Ok(None);
        };
        let is_sound = || {
            let (content, checksum) = bytes.split_at(bytes.len() - SHA1);
            Sha1::digest(content)[..] == *checksum
        };
        let place = self.ids.find(&self.bytes, id.as_bytes())?;
        // The CRC-32 of an entry proves something only if the index that holds it is whole.
        let Some(place) = place.filter(|_| *self.is_sound.get_or_init(is_sound)) else {
            return Ok(None);
        };
        let layout = self.layout()?;
        let Some(number) = layout.iter().position(|(_, other)| *other == place) else {
            return Ok(None);
        };
        let offset = layout[number].0;
        let next = layout.get(number + 1).map_or(end, |(next, _)| *next);
        let crc = self.crc(place)?;
        Ok(next.checked_sub(offset).map(|length| Indexed {
            offset,
            length,
            crc,
        }))
    }

    /// Returns the id of the object at a position.
    pub(crate) fn id(&self, place: u32) -> Result<ObjectId> {
        Ok(ObjectId::new(self.ids.id(&self.bytes, place)?))
    }

    /// Returns the CRC-32 of the entry at a position.
    pub(crate) fn crc(&self, place: u32) -> Result<u32> {
        let start = IDS_AT + u64::from(self.ids.count()) * SHA1 as u64;
        self.bytes.u32(start + u64::from(place) * 4)
    }

    fn with_offsets(&self, places: Vec<(ObjectId, u32)>) -> Result<Vec<(ObjectId, u64)>> {
        let mut rows = Rows::new(&self.bytes, self.offsets_start(), self.ids.count());
        let whole = |(id, place)| {
            Ok((
                id,
                self.whole_offset(u32::from_be_bytes(*rows.row(place)?))?,
            ))
        };
        places.into_iter().map(whole).collect()
    }
}

/// The length of a fan-out table in bytes.
const FANOUT: u64 = 256 * 4;
/// If one side has this many times more ids, those of the other are searched for one by one.
const MERGE_RATIO: usize = 64;

/// How many ids are read at once: reading a single one costs as much.
const WINDOW: u32 = 200;

/// Sorted ids after a fan-out table, as in both kinds of git's indexes.
///
/// ```text
/// 256 x how many ids begin with this byte or a lower one, 4 bytes each
/// the ids, sorted
/// ```
pub(crate) struct IdTable<const N: usize = SHA1> {
    fanout: Box<[u32; 256]>,
    ids: u64,
}

/// Returns the fan-out table of some ids.
pub(crate) fn fanout(ids: impl Iterator<Item = ObjectId>) -> [u32; 256] {
    let mut counts = [0; 256];
    ids.for_each(|id| counts[usize::from(id.as_bytes()[0])] += 1);
    let mut sum = 0;
    counts.map(|count| {
        sum += count;
        sum
    })
}

impl<const N: usize> IdTable<N> {
    /// Reads the fan-out table at one position; the ids are at another.
    pub fn read(bytes: &IndexBytes, fanout_at: u64, ids: u64) -> Result<Self> {
        let table = bytes.block(fanout_at, FANOUT)?;
        let mut fanout = Box::new([0; 256]);
        for (count, chunk) in fanout.iter_mut().zip(table.as_chunks().0) {
            *count = u32::from_be_bytes(*chunk);
        }
        let is_inside = ids
            .checked_add(u64::from(fanout[255]) * N as u64)
            .is_some_and(|end| end <= bytes.length());
        // Checked once, so that no search can leave the file or go on for ever.
        if !fanout.is_sorted() || !is_inside {
            return Err(Error::failed("the index's parts do not fit together"));
        }
        Ok(Self { fanout, ids })
    }

    /// Returns how many ids there are.
    pub fn count(&self) -> u32 {
        self.fanout[255]
    }

    /// Returns the id at a position.
    pub fn id(&self, bytes: &IndexBytes, place: u32) -> Result<[u8; N]> {
        let mut id = [0; N];
        bytes.read(self.ids + u64::from(place) * N as u64, &mut id)?;
        Ok(id)
    }

    /// Returns the position of an id, or `None` if it is not in the table.
    pub fn find(&self, bytes: &IndexBytes, id: &[u8; N]) -> Result<Option<u32>> {
        let bucket = usize::from(id[0]);
        let (mut low, mut high) = (
            bucket
                .checked_sub(1)
                .map_or(0, |before| self.fanout[before]),
            self.fanout[bucket],
        );
        while high - low > WINDOW {
            let middle = low + (high - low) / 2;
            if self.id(bytes, middle)? <= *id {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut window = [[0; N]; WINDOW as usize];
        let window = &mut window[..(high - low) as usize];
        bytes.read(
            self.ids + u64::from(low) * N as u64,
            window.as_flattened_mut(),
        )?;
        let place = window.binary_search(id).ok();
        Ok(place.map(|place| low + u32::try_from(place).expect("it is below `WINDOW`")))
    }
}

impl IdTable {
    /// Returns the positions of the sorted ids that are in the table. The time depends on the shorter of the two lists.
    pub fn places(&self, bytes: &IndexBytes, ids: &[ObjectId]) -> Result<Vec<(ObjectId, u32)>> {
        let count = self.count() as usize;
        if ids.len() < count / MERGE_RATIO {
            let found = ids.iter().filter_map(|id| {
                Some(
                    self.find(bytes, id.as_bytes())
                        .transpose()?
                        .map(|place| (*id, place)),
                )
            });
            return found.collect();
        }
        let mut found = Vec::new();
        let mut rest = ids;
        let mut rows = Rows::<SHA1>::new(bytes, self.ids, self.count());
        for place in 0..self.count() {
            let id = ObjectId::new(*rows.row(place)?);
            if count < ids.len() / MERGE_RATIO {
                rest = &rest[rest.partition_point(|wanted| *wanted < id)..];
            } else {
                let passed = rest.iter().take_while(|wanted| **wanted < id).count();
                rest = &rest[passed..];
            }
            if rest.first() == Some(&id) {
                found.push((id, place));
                rest = &rest[1..];
            }
        }
        Ok(found)
    }

    /// Returns all ids, in order.
    pub fn all(&self, bytes: &IndexBytes) -> Result<Vec<ObjectId>> {
        let ids = bytes.block(self.ids, u64::from(self.count()) * SHA1 as u64)?;
        Ok(ids
            .as_chunks()
            .0
            .iter()
            .map(|id| ObjectId::new(*id))
            .collect())
    }
}

/// How many rows are read at once.
const BLOCK: u32 = 4096;

/// A page, in bytes: reading less costs as much.
const PAGE: u64 = 4096;
/// The length up to which an index that is used often is read as a whole, in bytes.
const MAX_WHOLE_INDEX: u64 = 64 << 20;

/// The bytes of an open index.
pub(crate) enum IndexBytes {
    /// Read as a whole.
    Whole(Vec<u8>),
    /// Read in parts.
    File(PartialIndex),
}

/// An index that is read in parts. Once there were as many reads as it has pages, reading all of it would have cost
/// less, so it is read as a whole.
pub(crate) struct PartialIndex {
    file: File,
    length: u64,
    asked: AtomicU64,
    whole: OnceLock<Vec<u8>>,
}

impl PartialIndex {
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        if let Some(whole) = self.whole.get() {
            return copy(whole, at, buffer);
        }
        if self.length <= MAX_WHOLE_INDEX
            && self.asked.fetch_add(1, Ordering::Relaxed) >= self.length / PAGE
            && let Ok(whole) = read_whole(&self.file, self.length)
        {
            return copy(self.whole.get_or_init(|| whole), at, buffer);
        }
        self.file
            .read_exact_at(buffer, at)
            .context(|| "cannot read the index")
    }
}

fn read_whole(file: &File, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).context(|| "the index is too long")?];
    file.read_exact_at(&mut bytes, 0)
        .context(|| "cannot read the index")?;
    Ok(bytes)
}

fn copy(bytes: &[u8], at: u64, buffer: &mut [u8]) -> Result<()> {
    let truncated = || Error::failed("the index is cut off");
    let at = usize::try_from(at)
        .ok()
        .and_then(|at| bytes.get(at..))
        .ok_or_else(truncated)?;
    buffer.copy_from_slice(at.get(..buffer.len()).ok_or_else(truncated)?);
    Ok(())
}

impl IndexBytes {
    /// Takes a file, and reads it as a whole if it is at most `whole` bytes long.
    pub fn open(file: File, whole: u64) -> Result<Self> {
        let length = file.metadata().context(|| "cannot read the index")?.len();
        if length <= whole {
            return Ok(Self::Whole(read_whole(&file, length)?));
        }
        Ok(Self::File(PartialIndex {
            file,
            length,
            asked: AtomicU64::new(0),
            whole: OnceLock::new(),
        }))
    }

    /// Returns the number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::File(parts) => parts.length,
        }
    }

    /// Returns whether it keeps a file open.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(..))
    }

    /// Fills the buffer from a position on.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        match self {
            Self::File(parts) => parts.read(at, buffer),
            Self::Whole(bytes) => copy(bytes, at, buffer),
        }
    }

    /// Returns the four bytes at a position as a number.
    pub fn u32(&self, at: u64) -> Result<u32> {
        let mut number = [0; 4];
        self.read(at, &mut number)?;
        Ok(u32::from_be_bytes(number))
    }

    /// Returns the eight bytes at a position as a number.
    pub fn u64(&self, at: u64) -> Result<u64> {
        let mut number = [0; 8];
        self.read(at, &mut number)?;
        Ok(u64::from_be_bytes(number))
    }

    /// Returns a range of bytes.
    pub fn block(&self, at: u64, length: u64) -> Result<Vec<u8>> {
        let is_inside = at
            .checked_add(length)
            .is_some_and(|end| end <= self.length());
        let length = usize::try_from(length).ok().filter(|_| is_inside);
        let mut block = vec![0; length.ok_or_else(|| Error::failed("the index is cut off"))?];
        self.read(at, &mut block)?;
        Ok(block)
    }
}

/// Rows of `WIDTH` bytes that are needed in order. They are read in blocks.
pub(crate) struct Rows<'a, const WIDTH: usize> {
    bytes: &'a IndexBytes,
    start: u64,
    count: u32,
    first: u32,
    block: Vec<u8>,
}

impl<'a, const WIDTH: usize> Rows<'a, WIDTH> {
    /// Returns the rows that begin at `start`.
    pub fn new(bytes: &'a IndexBytes, start: u64, count: u32) -> Self {
        Self {
            bytes,
            start,
            count,
            first: 0,
            block: Vec::new(),
        }
    }

    /// Returns a row.
    pub fn row(&mut self, number: u32) -> Result<&[u8; WIDTH]> {
        let first = number - number % BLOCK;
        if self.block.is_empty() || first != self.first {
            let rows = BLOCK.min(self.count.saturating_sub(first));
            self.block = self.bytes.block(
                self.start + u64::from(first) * WIDTH as u64,
                u64::from(rows) * WIDTH as u64,
            )?;
            self.first = first;
        }
        let (rows, _) = self.block.as_chunks();
        rows.get((number - first) as usize)
            .ok_or_else(|| Error::failed("the index has no such row"))
    }
}
