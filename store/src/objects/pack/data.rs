//! Reads the entries of an open pack, of the store's own or of the user's repository, and applies their deltas.
//!
//! `N` is the length of an id in bytes.

use std::fs::File;
use std::io::{BufReader, Read};

use super::entry::{
    EntryContent, EntryHeader, FileRange, apply_delta, inflate, inflate_at_once, read_header,
};
use super::index::Indexed;
use crate::error::{Context, Error, Result};
use crate::model::hex::Hex;
use crate::objects::hash::{ObjectKind, SHA1};

/// How much of an entry is read at first, in bytes.
const FRONT: usize = 8 << 10;
/// The size in bytes up to which an object is inflated in one call.
const SINGLE_CALL_SIZE: usize = 1 << 20;
/// The longest chain of deltas; git makes none longer than 4,095.
const MAX_CHAIN: usize = 4096;
/// How many objects of the largest size may be held at once: the object itself, and the deltas to it before any is
/// applied.
const MOST_HELD: u64 = 2;
/// How many times the size of the largest object all deltas of one object may have together.
const MOST_WORK: u64 = 8;

/// An open pack.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a, const N: usize = SHA1> {
    pub(super) file: &'a File,
    pub(super) end: u64,
}

impl<'a, const N: usize> Data<'a, N> {
    /// Returns the entries of a file of this length: what is between its header and its checksum.
    pub(crate) fn new(file: &'a File, length: u64) -> Self {
        let end = length.saturating_sub(N as u64);
        Self { file, end }
    }

    /// Reads as much of an entry as the buffer takes.
    pub(super) fn front(self, offset: u64, buffer: &mut [u8]) -> Result<&[u8]> {
        // Twelve bytes are the header of the pack itself.
        if offset < 12 || offset >= self.end {
            return Err(Error::failed("the entry lies outside the pack"));
        }
        let mut range = FileRange::new(self.file, offset, self.end);
        let mut filled = 0;
        loop {
            match range
                .read(&mut buffer[filled..])
                .context(|| "cannot read the entry")?
            {
                0 => return Ok(&buffer[..filled]),
                read => filled += read,
            }
        }
    }

    /// Returns the bytes of an undeltified blob of at most `limit` bytes whose entry has the CRC-32 from an index.
    /// `None` for any other entry.
    pub(super) fn written_blob(self, written: Indexed, limit: u64) -> Result<Option<Vec<u8>>> {
        let most = limit.min(SINGLE_CALL_SIZE as u64);
        let length = usize::try_from(written.length)
            .ok()
            .filter(|length| *length <= longest_entry(SINGLE_CALL_SIZE));
        let Some(length) = length else {
            return Ok(None);
        };
        let mut entry = vec![0; length];
        let read = self.front(written.offset, &mut entry)?.len();
        if read != length || libdeflater::crc32(&entry) != written.crc {
            return Ok(None);
        }
        let mut rest = &entry[..];
        let header = read_header::<N>(&mut rest, written.offset)?;
        let is_blob = header.content == EntryContent::Whole(ObjectKind::Blob);
        match usize::try_from(header.size) {
            Ok(size) if is_blob && header.size <= most => Ok(inflate_at_once(rest, size)),
            _ => Ok(None),
        }
    }

    /// Reads the header of the entry at an offset.
    pub(crate) fn entry(self, offset: u64) -> Result<PackEntry<'a, N>> {
        let mut front = vec![0; FRONT];
        let length = self.front(offset, &mut front)?.len();
        front.truncate(length);
        let mut rest = &front[..];
        let header = read_header(&mut rest, offset)?;
        let start = front.len() - rest.len();
        Ok(PackEntry {
            data: self,
            offset,
            header,
            front,
            start,
        })
    }
}

/// An entry whose header was read.
pub(crate) struct PackEntry<'a, const N: usize = SHA1> {
    data: Data<'a, N>,
    offset: u64,
    /// Its header.
    pub header: EntryHeader<N>,
    /// Its first bytes.
    front: Vec<u8>,
    /// The position in them at which the compressed bytes begin.
    start: usize,
}

impl<'a, const N: usize> PackEntry<'a, N> {
    /// Returns its object: the whole object at the end of its chain of deltas, with the deltas applied to it, innermost
    /// first. `find` returns the offset of an object in the same pack. Fails if anything in the chain is larger than
    /// `largest`.
    pub(crate) fn resolve(
        mut self,
        largest: u64,
        find: impl Fn(&[u8; N]) -> Option<u64>,
    ) -> Result<(ObjectKind, Vec<u8>)> {
        let (mut deltas, mut work) = (Vec::new(), 0_u64);
        loop {
            let header = self.header;
            // Sizes are claims, so their sum is limited as well as each of them.
            let held = work.saturating_add(header.size);
            if header.size > largest || held > MOST_HELD * largest || deltas.len() > MAX_CHAIN {
                return Err(Error::failed(
                    "the object, or its chain of deltas, is too large to be decoded in memory",
                ));
            }
            work = held;
            let bytes = self.inflate()?;
            let base = match header.content {
                EntryContent::Whole(kind) => {
                    return Ok((kind, apply_deltas(bytes, deltas, work, largest)?));
                }
                EntryContent::ToOffset(base) => base,
                EntryContent::ToObject(base) => find(&base).ok_or_else(|| missing_base(&base))?,
            };
            deltas.push(bytes);
            self = self.data.entry(base)?;
        }
    }

    /// Returns the number of bytes before its compressed ones.
    pub(super) fn header_length(&self) -> u64 {
        self.start as u64
    }

    /// Returns its compressed bytes, and whatever follows them.
    pub(super) fn compressed(&self) -> BufReader<FileRange<'a>> {
        BufReader::new(FileRange::new(
            self.data.file,
            self.offset + self.start as u64,
            self.data.end,
        ))
    }

    /// Returns its decompressed content.
    fn inflate(&self) -> Result<Vec<u8>> {
        match self.inflate_at_once() {
            Some(bytes) => Ok(bytes),
            None => inflate(self.compressed(), self.header.size),
        }
    }

    /// Inflates the entry in one call, if the entry is small, intact, and no longer than if nothing could be compressed.
    fn inflate_at_once(&self) -> Option<Vec<u8>> {
        let size = usize::try_from(self.header.size)
            .ok()
            .filter(|size| *size <= SINGLE_CALL_SIZE)?;
        let longest = self.start + longest_entry(size);
        if longest <= FRONT {
            return inflate_at_once(&self.front[self.start..], size);
        }
        let mut bytes = vec![0; longest];
        let length = self.data.front(self.offset, &mut bytes).ok()?.len();
        inflate_at_once(bytes.get(self.start..length)?, size)
    }
}

/// Returns the longest that the entry of an object of this size can be, with its header.
fn longest_entry(size: usize) -> usize {
    size + size / 1024 + 64
}

fn apply_deltas(
    whole: Vec<u8>,
    deltas: Vec<Vec<u8>>,
    mut work: u64,
    largest: u64,
) -> Result<Vec<u8>> {
    let most = MOST_WORK * largest;
    deltas.into_iter().rev().try_fold(whole, |base, delta| {
        let result = apply_delta(&base, &delta, largest.min(most.saturating_sub(work)))?;
        work = work.saturating_add(result.len() as u64);
        Ok(result)
    })
}

fn missing_base(id: &[u8]) -> Error {
    Error::failed(format!("the delta's base `{}` is not in the pack", Hex(id)))
}
