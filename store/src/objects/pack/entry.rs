//! The layout of a pack's entry: its header, its compressed bytes, and deltas. Nothing that a pack says is trusted.
//!
//! Our own packs hold whole objects. Deltas are in packs that were borrowed from the user's repository or written by
//! `gc`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

use flate2::bufread::ZlibDecoder;
use flate2::{Decompress, FlushDecompress};
use libdeflater::Decompressor;

use crate::error::{Context, Error, Result};
use crate::objects::hash::{ObjectKind, SHA1};

/// The content of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryContent<const N: usize = SHA1> {
    /// The object.
    Whole(ObjectKind),
    /// A delta against the object at this offset of the pack.
    ToOffset(u64),
    /// A delta against the object with this id in the same pack.
    ToObject([u8; N]),
}

/// The header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHeader<const N: usize = SHA1> {
    /// Its content.
    pub content: EntryContent<N>,
    /// The size of its content, uncompressed.
    pub size: u64,
}

// The kinds of entries, as `gitformat-pack` numbers them. 4 is a tag, which nothing here needs.
const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;
const TO_OFFSET: u8 = 6;
const TO_OBJECT: u8 = 7;

/// Returns the header of an entry with a whole object: the kind and the size's low four bits, then seven bits per byte.
pub(crate) fn encode_header(kind: ObjectKind, size: u64) -> Vec<u8> {
    let number = match kind {
        ObjectKind::Commit => COMMIT,
        ObjectKind::Tree => TREE,
        ObjectKind::Blob => BLOB,
    };
    encode_number(number, size)
}

fn encode_number(kind: u8, size: u64) -> Vec<u8> {
    let low = (size & 0x0f).to_le_bytes()[0];
    let mut bytes = vec![kind << 4 | low];
    let mut rest = size >> 4;
    while rest > 0 {
        *bytes.last_mut().expect("it has the first byte") |= 0x80;
        bytes.push((rest & 0x7f).to_le_bytes()[0]);
        rest >>= 7;
    }
    bytes
}

/// Reads the header of the entry at `offset`.
pub(crate) fn read_header<const N: usize>(
    reader: &mut impl Read,
    offset: u64,
) -> Result<EntryHeader<N>> {
    let first = read_byte(reader)?;
    let mut size = u64::from(first & 0x0f);
    let (mut byte, mut shift) = (first, 4);
    while byte & 0x80 != 0 {
        byte = read_byte(reader)?;
        let bits = u64::from(byte & 0x7f);
        if shift > 60 || bits << shift >> shift != bits {
            return Err(Error::failed("the entry's size does not fit in 64 bits"));
        }
        size |= bits << shift;
        shift += 7;
    }
    let content = match first >> 4 & 7 {
        COMMIT => EntryContent::Whole(ObjectKind::Commit),
        TREE => EntryContent::Whole(ObjectKind::Tree),
        BLOB => EntryContent::Whole(ObjectKind::Blob),
        TO_OFFSET => EntryContent::ToOffset(read_base_offset(reader, offset)?),
        TO_OBJECT => EntryContent::ToObject(read_base_id(reader)?),
        other => {
            return Err(Error::failed(format!(
                "the entry is of the kind {other}: no file, no directory and no commit"
            )));
        }
    };
    Ok(EntryHeader { content, size })
}

/// Returns the header of an entry with a delta of this size against the object that begins `distance` bytes before it.
pub(crate) fn encode_delta_header(size: u64, distance: u64) -> Vec<u8> {
    let mut bytes = encode_number(TO_OFFSET, size);
    let mut digits = vec![(distance & 0x7f).to_le_bytes()[0]];
    let mut rest = distance >> 7;
    while rest > 0 {
        // Each further byte stands for one more than it says, so that no distance has two encodings.
        rest -= 1;
        digits.push(0x80 | (rest & 0x7f).to_le_bytes()[0]);
        rest >>= 7;
    }
    bytes.extend(digits.iter().rev());
    bytes
}

fn read_byte(reader: &mut impl Read) -> Result<u8> {
    let mut byte = [0];
    reader
        .read_exact(&mut byte)
        .context(|| "the pack ends in the middle of an entry")?;
    Ok(byte[0])
}

/// Reads the distance back to the base: seven bits per byte, highest first, where each continuation adds one.
fn read_base_offset(reader: &mut impl Read, offset: u64) -> Result<u64> {
    let wrong = || Error::failed("the delta's base lies outside the pack");
    let mut byte = read_byte(reader)?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = read_byte(reader)?;
        let next = distance
            .checked_add(1)
            .and_then(|next| next.checked_mul(128));
        distance = next.ok_or_else(wrong)? | u64::from(byte & 0x7f);
        if distance > offset {
            return Err(wrong());
        }
    }
    offset
        .checked_sub(distance)
        .filter(|_| distance > 0)
        .ok_or_else(wrong)
}

fn read_base_id<const N: usize>(reader: &mut impl Read) -> Result<[u8; N]> {
    let mut id = [0; N];
    reader
        .read_exact(&mut id)
        .context(|| "the pack ends in the middle of an entry")?;
    Ok(id)
}

/// Returns exactly `size` bytes of a compressed stream. A stream with more or fewer is an error, which is found in
/// bounded memory.
pub(crate) fn inflate(compressed: impl BufRead, size: u64) -> Result<Vec<u8>> {
    let mut decoder = ZlibDecoder::new(compressed);
    // The size is a claim, so memory grows only with what really comes.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(usize::MAX).min(1 << 20));
    (&mut decoder)
        .take(size)
        .read_to_end(&mut bytes)
        .context(|| "the object cannot be decompressed")?;
    if bytes.len() as u64 != size || !at_end(&mut decoder) {
        return Err(Error::failed(
            "the object is not of the size that its entry says",
        ));
    }
    Ok(bytes)
}

/// Like [`inflate`], for a stream in memory that other bytes may follow. `None` if something is wrong with it, which
/// [`inflate`] has to find out. Libdeflate takes a third of the time, but needs all bytes at once.
pub(crate) fn inflate_at_once(compressed: &[u8], size: usize) -> Option<Vec<u8>> {
    thread_local! {
        static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    }
    let mut bytes = vec![0; size];
    let length = DECOMPRESSOR
        .with_borrow_mut(|decompressor| decompressor.zlib_decompress(compressed, &mut bytes));
    length.is_ok_and(|length| length == size).then_some(bytes)
}

/// Returns whether a reader is at its end.
pub(crate) fn at_end(reader: &mut impl Read) -> bool {
    matches!(reader.read(&mut [0]), Ok(0))
}

/// Applies a delta to its base, and returns the object.
///
/// `limit` bounds the result's size. The format is that of `gitformat-pack`: the sizes of base and result, then copies
/// from the base and bytes to insert.
pub(crate) fn apply_delta(base: &[u8], delta: &[u8], limit: u64) -> Result<Vec<u8>> {
    let mut rest = delta;
    let base_size = read_size(&mut rest)?;
    let size = read_size(&mut rest)?;
    if base_size != base.len() as u64 || size > limit {
        return Err(Error::failed("the delta does not fit its base"));
    }
    let size = usize::try_from(size).context(|| "the object does not fit in memory")?;
    let mut result = Vec::with_capacity(size.min(1 << 20));
    while !rest.is_empty() {
        let piece = next_piece(base, &mut rest)?;
        if piece.len() > size - result.len() {
            return Err(Error::failed("the delta produces more than it says"));
        }
        result.extend_from_slice(piece);
    }
    if result.len() != size {
        return Err(Error::failed("the delta produces less than it says"));
    }
    Ok(result)
}

/// Returns the size of a delta's result, from the first of its compressed bytes.
pub(crate) fn size_from_delta(compressed: &[u8]) -> Result<u64> {
    thread_local! {
        // It is large, so it is made once per thread.
        static INFLATE: RefCell<Decompress> = RefCell::new(Decompress::new(true));
    }
    // Two sizes of at most nine bytes.
    let mut front = [0; 18];
    let length = INFLATE.with_borrow_mut(|inflate| {
        inflate.reset(true);
        // An incomplete stream is not an error: only the sizes are wanted.
        let _ = inflate.decompress(compressed, &mut front, FlushDecompress::None);
        usize::try_from(inflate.total_out()).unwrap_or_default()
    });
    let mut delta = front.get(..length).unwrap_or_default();
    read_size(&mut delta)?;
    read_size(&mut delta)
}

fn read_size(delta: &mut &[u8]) -> Result<u64> {
    let mut size = 0_u64;
    for shift in (0..63).step_by(7) {
        let byte = read_byte(delta)?;
        size |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(size);
        }
    }
    Err(Error::failed("the delta's size does not fit in 63 bits"))
}

fn next_piece<'a>(base: &'a [u8], delta: &mut &'a [u8]) -> Result<&'a [u8]> {
    let wrong = || Error::failed("the delta reaches outside its base or itself");
    let instruction = read_byte(delta)?;
    if instruction == 0 {
        return Err(wrong());
    }
    if instruction & 0x80 == 0 {
        let (piece, rest) = delta
            .split_at_checked(usize::from(instruction))
            .ok_or_else(wrong)?;
        *delta = rest;
        return Ok(piece);
    }
    let offset = read_sparse(delta, instruction, 4)?;
    let length = match read_sparse(delta, instruction >> 4, 3)? {
        0 => 0x10000,
        length => length,
    };
    base.get(offset..)
        .and_then(|tail| tail.get(..length))
        .ok_or_else(wrong)
}

/// Reads a little-endian number that consists only of the bytes whose bits are set.
fn read_sparse(delta: &mut &[u8], bits: u8, bytes: u32) -> Result<usize> {
    let mut number = 0;
    for at in 0..bytes {
        if bits & 1 << at != 0 {
            number |= usize::from(read_byte(delta)?) << (8 * at);
        }
    }
    Ok(number)
}

/// A part of a file, read without moving the file's position, so that threads can share it.
pub(crate) struct FileRange<'a> {
    file: &'a File,
    position: u64,
    end: u64,
}

impl<'a> FileRange<'a> {
    /// Returns the bytes from `position` up to `end`.
    pub(crate) const fn new(file: &'a File, position: u64, end: u64) -> Self {
        Self {
            file,
            position,
            end,
        }
    }
}

impl Read for FileRange<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.file.read_at(&mut buffer[..wanted], self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// Returns the bytes of an entry with a whole object.
pub(crate) fn whole<R: Read>(entry: R) -> Result<ZlibDecoder<BufReader<R>>> {
    let mut entry = BufReader::new(entry);
    read_header::<SHA1>(&mut entry, 0)?;
    Ok(ZlibDecoder::new(entry))
}

/// Returns whether two entries of whole objects hold the same kind and the same bytes.
pub(crate) fn same_contents(left: impl Read, right: impl Read) -> Result<bool> {
    let (mut left, mut right) = (BufReader::new(left), BufReader::new(right));
    if read_header::<SHA1>(&mut left, 0)? != read_header(&mut right, 0)? {
        return Ok(false);
    }
    same_bytes(&mut ZlibDecoder::new(left), &mut ZlibDecoder::new(right))
        .context(|| "the object cannot be decompressed")
}

/// Returns whether two readers return the same bytes.
pub(crate) fn same_bytes(left: &mut dyn Read, right: &mut dyn Read) -> io::Result<bool> {
    let (mut left, mut right) = (
        BufReader::with_capacity(64 << 10, left),
        BufReader::with_capacity(64 << 10, right),
    );
    loop {
        let (one, other) = (left.fill_buf()?, right.fill_buf()?);
        let length = one.len().min(other.len());
        if length == 0 {
            return Ok(one.len() == other.len());
        }
        if one[..length] != other[..length] {
            return Ok(false);
        }
        left.consume(length);
        right.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for size in [0, 15, 16, 2047, 2048, 1 << 32, u64::MAX] {
            let bytes = encode_header(ObjectKind::Blob, size);
            let header = read_header::<SHA1>(&mut bytes.as_slice(), 12).expect("our own");
            assert_eq!(
                header,
                EntryHeader {
                    content: EntryContent::Whole(ObjectKind::Blob),
                    size
                },
                "{size}"
            );
        }
    }

    /// A delta keeps its base wherever both are moved.
    #[test]
    fn delta_keeps_its_base_when_moved() {
        for distance in [1, 127, 128, 129, 16_511, 16_512, 1 << 31, 1 << 62] {
            let bytes = encode_delta_header(300, distance);
            let header =
                read_header::<SHA1>(&mut bytes.as_slice(), distance + 12).expect("our own");
            assert_eq!(
                header,
                EntryHeader {
                    content: EntryContent::ToOffset(12),
                    size: 300
                },
                "{distance}"
            );
        }
    }

    #[test]
    fn a_size_beyond_64_bits_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.extend([0x7f, 0]);
        assert!(
            read_header::<SHA1>(&mut bytes.as_slice(), 12).is_err(),
            "the tenth byte has bits that do not fit"
        );
        assert!(
            read_header::<SHA1>(&mut [0xff; 64].as_slice(), 12).is_err(),
            "it never ends"
        );
    }

    #[test]
    fn a_delta_copies_and_inserts() {
        // Base of 5, result of 7: copy 3 from 2, insert "ab", copy 2 from 0.
        let delta = [5, 7, 0x91, 2, 3, 2, b'a', b'b', 0x90, 2];
        assert_eq!(
            apply_delta(b"01234", &delta, 100).expect("sound"),
            b"234ab01",
            "by hand"
        );
    }

    #[test]
    fn a_delta_that_reaches_outside_is_refused() {
        for (delta, why) in [
            (&[5, 3, 0x91, 4, 3][..], "it copies past the base's end"),
            (&[5, 9, 9, b'a'], "it inserts more than it has"),
            (&[4, 1, 1, b'a'], "it is for another base"),
            (&[5, 1, 2, b'a', b'b'], "it makes more than it says"),
            (&[5, 2, 1, b'a'], "it makes less than it says"),
            (&[5, 1, 0], "an instruction that does not exist"),
            (&[5, 0x80], "it ends in a size"),
            (
                &[5, 0xff, 0xff, 0xff, 0xff, 0x7f],
                "its result is over the limit",
            ),
        ] {
            assert!(apply_delta(b"01234", delta, 1000).is_err(), "{why}");
        }
    }

    #[test]
    fn what_follows_a_stream_is_of_no_account() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut encoder, b"hello hello hello").expect("to memory");
        let stream = encoder.finish().expect("to memory");
        let followed = [&stream[..], b"the next entry"].concat();
        assert_eq!(
            inflate(&followed[..], 17).expect("sound"),
            b"hello hello hello",
            "in pieces"
        );
        assert_eq!(
            inflate_at_once(&followed, 17).expect("sound"),
            b"hello hello hello",
            "at once"
        );
        assert!(
            inflate_at_once(&followed, 18).is_none(),
            "it holds less than it says"
        );
        assert!(
            inflate_at_once(&stream[..stream.len() - 1], 17).is_none(),
            "it is cut off"
        );
    }

    /// A stream that holds more than it says is not inflated further.
    #[test]
    fn overlong_stream_is_not_inflated_further() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        io::copy(&mut io::repeat(0).take(64 << 20), &mut encoder).expect("to memory");
        let bomb = encoder.finish().expect("to memory");
        assert!(
            inflate(bomb.as_slice(), 10).is_err(),
            "it says ten bytes and has 64 MiB"
        );
        assert!(inflate_at_once(&bomb, 10).is_none(), "the same at once");
        assert!(
            inflate(&bomb[..bomb.len() / 2], 64 << 20).is_err(),
            "it is cut off"
        );
    }
}
