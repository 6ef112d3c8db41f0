//! One index over many packs, in git's own format (`gitformat-pack`, "multi-pack-index"), so that a lookup in thousands
//! of packs is as fast as in a few. This module does IO.
//!
//! For us it is only a hint: objects that it does not name are looked up in the packs' own indexes, a pack that is
//! gone is skipped, and every object that is read through it is hashed. Git believes it, and calls the repository
//! broken where it is torn, so it is synced before it gets its name.

mod encode;
mod renew;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::ops::Range;

use sha1::{Digest, Sha1};

use super::pack::index::{IdTable, IndexBytes, Rows};
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
pub(crate) use encode::ObjectLocation;
pub(crate) use renew::renew;

/// Its name beside the packs.
pub(crate) const NAME: &str = "multi-pack-index";

/// Version 1, of SHA-1 ids.
const MAGIC: &[u8; 6] = b"MIDX\x01\x01";
const HEADER: u64 = 12;
/// The length of a row of the chunks' lookup table.
const LOOK_UP: u64 = 12;
const CHECKSUM: u64 = 20;
const NAMES: [u8; 4] = *b"PNAM";
const FANOUT: [u8; 4] = *b"OIDF";
const IDS: [u8; 4] = *b"OIDL";
const OFFSETS: [u8; 4] = *b"OOFF";
const LARGE_OFFSETS: [u8; 4] = *b"LOFF";
/// An offset with this bit is an index into the table of large ones, if there is one.
const LARGE_FLAG: u32 = 1 << 31;
/// The length up to which it is read as a whole, in bytes: some 3,000 objects. A longer one is read in parts, so that
/// the cost of a step does not grow with the steps before it.
const WHOLE: u64 = 128 << 10;

/// An open multi-pack-index.
pub(crate) struct MultiPackIndex {
    bytes: IndexBytes,
    names: IndexNames,
    packs: u32,
    ids: IdTable,
    offsets: u64,
    large: Option<Range<u64>>,
}

impl MultiPackIndex {
    /// Opens it, and checks that its parts fit together.
    pub fn open(file: File) -> Result<Self> {
        let bytes = IndexBytes::open(file, WHOLE)?;
        let chunks = Chunks::read(&bytes)?;
        let names = chunks.required(NAMES)?;
        let packs = bytes.u32(HEADER - 4)?;
        let names = IndexNames::read(&bytes, names, packs)?;
        let (fanout, id_range, offsets) = (
            chunks.required(FANOUT)?,
            chunks.required(IDS)?,
            chunks.required(OFFSETS)?,
        );
        let ids = IdTable::read(&bytes, fanout.start, id_range.start)?;
        let count = u64::from(ids.count());
        let fits = |range: &Range<u64>, length: u64| range.end - range.start == length;
        if !fits(&fanout, 1024) || !fits(&id_range, count * 20) || !fits(&offsets, count * 8) {
            return Err(torn());
        }
        Ok(Self {
            names,
            packs,
            ids,
            offsets: offsets.start,
            large: chunks.find(LARGE_OFFSETS),
            bytes,
        })
    }

    /// Returns the number of packs that it names.
    pub fn packs(&self) -> u32 {
        self.packs
    }

    /// Returns the number of a pack, by the name of its index.
    pub fn number(&self, index: &[u8]) -> Option<u32> {
        self.names.number(index)
    }

    /// Returns the name of a pack's index.
    pub fn name(&self, number: u32) -> Option<&[u8]> {
        self.names.get(number)
    }

    /// Returns the location of an object, or `None` if it is not listed.
    pub fn find(&self, id: ObjectId) -> Result<Option<ObjectLocation>> {
        let Some(place) = self.ids.find(&self.bytes, id.as_bytes())? else {
            return Ok(None);
        };
        let mut row = [0; 8];
        self.bytes
            .read(self.offsets + u64::from(place) * 8, &mut row)?;
        self.place(id, &row).map(Some)
    }

    /// Returns the locations of the sorted ids that it lists.
    pub fn find_all(&self, ids: &[ObjectId]) -> Result<Vec<ObjectLocation>> {
        self.places(self.ids.places(&self.bytes, ids)?)
    }

    /// Returns all locations, by id.
    pub fn all(&self) -> Result<Vec<ObjectLocation>> {
        self.places(self.ids.all(&self.bytes)?.into_iter().zip(0..).collect())
    }

    /// Returns whether its checksum is right. Reads all of it.
    pub fn is_sound(&self) -> bool {
        self.sums_up().unwrap_or(false)
    }

    fn sums_up(&self) -> Result<bool> {
        let mut hasher = Sha1::new();
        let end = self.bytes.length() - CHECKSUM;
        for start in (0..end).step_by(1 << 20) {
            hasher.update(&self.bytes.block(start, (end - start).min(1 << 20))?);
        }
        Ok(self.bytes.block(end, CHECKSUM)? == hasher.finalize()[..])
    }

    fn places(&self, rows: Vec<(ObjectId, u32)>) -> Result<Vec<ObjectLocation>> {
        let mut offsets = Rows::new(&self.bytes, self.offsets, self.ids.count());
        rows.into_iter()
            .map(|(id, row)| self.place(id, offsets.row(row)?))
            .collect()
    }

    fn place(&self, id: ObjectId, row: &[u8; 8]) -> Result<ObjectLocation> {
        let pack = u32::from_be_bytes([row[0], row[1], row[2], row[3]]);
        let offset = u32::from_be_bytes([row[4], row[5], row[6], row[7]]);
        // Nothing hashes these rows before they are used, so each is checked by itself.
        if pack >= self.packs() {
            return Err(torn());
        }
        let offset = match &self.large {
            Some(large) if offset & LARGE_FLAG != 0 => {
                self.large_offset(large, offset & !LARGE_FLAG)?
            }
            _ => u64::from(offset),
        };
        Ok(ObjectLocation { id, pack, offset })
    }

    fn large_offset(&self, large: &Range<u64>, number: u32) -> Result<u64> {
        let at = large.start + u64::from(number) * 8;
        if at + 8 > large.end {
            return Err(torn());
        }
        self.bytes.u64(at)
    }
}

fn torn() -> Error {
    Error::failed("the multi-pack-index's parts do not fit together")
}

/// The range of each chunk in the file.
struct Chunks(Vec<([u8; 4], Range<u64>)>);

impl Chunks {
    fn read(bytes: &IndexBytes) -> Result<Self> {
        let header = bytes.block(0, HEADER)?;
        // A multi-pack-index may be based on others. Ours never is.
        if header[..6] != *MAGIC || header[7] != 0 {
            return Err(Error::failed("the multi-pack-index is not of version 1"));
        }
        let table = bytes.block(HEADER, (u64::from(header[6]) + 1) * LOOK_UP)?;
        let (lines, _) = table.as_chunks::<{ LOOK_UP as usize }>();
        let start = |line: &[u8; LOOK_UP as usize]| {
            u64::from_be_bytes(line[4..].try_into().expect("eight are left"))
        };
        let end = bytes.length().checked_sub(CHECKSUM).ok_or_else(torn)?;
        if !lines.is_sorted_by_key(start) || lines.last().is_none_or(|line| start(line) != end) {
            return Err(torn());
        }
        let chunk = |pair: &[[u8; LOOK_UP as usize]]| {
            (
                pair[0][..4].try_into().expect("four are there"),
                start(&pair[0])..start(&pair[1]),
            )
        };
        Ok(Self(lines.windows(2).map(chunk).collect()))
    }

    fn find(&self, id: [u8; 4]) -> Option<Range<u64>> {
        self.0
            .iter()
            .find(|(other, _)| *other == id)
            .map(|(_, range)| range.clone())
    }

    fn required(&self, id: [u8; 4]) -> Result<Range<u64>> {
        self.find(id).ok_or_else(torn)
    }
}

/// The names of the packs' indexes, in order.
struct IndexNames {
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

impl IndexNames {
    fn read(bytes: &IndexBytes, range: Range<u64>, count: u32) -> Result<Self> {
        let bytes = bytes.block(range.start, range.end - range.start)?;
        let (mut ranges, mut start) = (Vec::new(), 0);
        for name in bytes.split(|byte| *byte == 0).take(count as usize) {
            ranges.push(start..start + name.len());
            start += name.len() + 1;
        }
        let is_in_order = |pair: &[Range<usize>]| bytes[pair[0].clone()] < bytes[pair[1].clone()];
        let is_whole = ranges.len() == count as usize && start <= bytes.len();
        match is_whole && ranges.windows(2).all(is_in_order) {
            true => Ok(Self { bytes, ranges }),
            false => Err(torn()),
        }
    }

    fn get(&self, number: u32) -> Option<&[u8]> {
        let range = self.ranges.get(number as usize)?;
        self.bytes.get(range.clone())
    }

    fn number(&self, name: &[u8]) -> Option<u32> {
        let found = |range: &Range<usize>| self.bytes[range.clone()].cmp(name);
        let number = self.ranges.binary_search_by(found).ok()?;
        u32::try_from(number).ok()
    }
}
