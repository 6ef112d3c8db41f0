//! The seen entries of a snapshot: what a look saw and the snapshot does not store. They are a blob beside the tree.
//!
//! After a first line with the format's name and version, each entry is a byte for its reason, of which the highest bit
//! says that it is a directory, the number of bytes that its path shares with that of the entry before, the rest of the
//! path, its size plus one or zero if that is unknown, and if it could not be read, the system's number of the error or
//! a word, as text. Numbers are in LEB128, texts come after their length. Entries are sorted by path. A text of an older
//! build that is neither is read as the failure of the program.

use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::objects::reader::ObjectReader;
use crate::snapshot::{Gap, GapReason, ReadFailure, SpecialFile};

const MAGIC: &[u8] = b"ckpt-hook seen 1\n";
const IS_DIRECTORY: u8 = 0x80;

// The words for what is no error of the system, which is its number.
const COLLISION: &str = "collision";
const PANIC: &str = "panic";

/// Returns the bytes of the blob, or `None` without entries.
pub(crate) fn encode(entries: &[Gap]) -> Option<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    let mut before: &[u8] = &[];
    for entry in entries {
        let kind = if entry.is_directory { IS_DIRECTORY } else { 0 };
        bytes.push(code(&entry.reason) | kind);
        let pairs = before.iter().zip(&entry.path);
        let shared = pairs.take_while(|(one, other)| one == other).count();
        put_number(&mut bytes, shared as u64);
        put_text(&mut bytes, &entry.path[shared..]);
        put_number(
            &mut bytes,
            entry.size.map_or(0, |size| size.saturating_add(1)),
        );
        if let GapReason::Unreadable(failure) = entry.reason {
            let word = match failure {
                ReadFailure::System(number) => number.to_string(),
                ReadFailure::Collision => COLLISION.to_owned(),
                ReadFailure::Panic => PANIC.to_owned(),
            };
            put_text(&mut bytes, word.as_bytes());
        }
        before = &entry.path;
    }
    (!entries.is_empty()).then_some(bytes)
}

/// Reads what [`encode`] wrote.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Gap>> {
    let mut rest = SeenReader(bytes.strip_prefix(MAGIC)?);
    let mut entries: Vec<Gap> = Vec::new();
    while let Some((first, others)) = rest.0.split_first() {
        rest = SeenReader(others);
        let shared = usize::try_from(rest.number()?).ok()?;
        let before = entries.last().map_or(&[][..], |entry| &entry.path);
        let path = [before.get(..shared)?, rest.text()?].concat();
        let size = rest.number()?.checked_sub(1);
        let mut reason = reason(*first & !IS_DIRECTORY)?;
        if let GapReason::Unreadable(failure) = &mut reason {
            *failure = match str::from_utf8(rest.text()?).ok()? {
                COLLISION => ReadFailure::Collision,
                PANIC => ReadFailure::Panic,
                number => number
                    .parse()
                    .map_or(ReadFailure::Panic, ReadFailure::System),
            };
        }
        entries.push(Gap {
            path,
            reason,
            size,
            is_directory: first & IS_DIRECTORY != 0,
        });
    }
    Some(entries)
}

/// Reads the seen entries of a snapshot, by path.
pub(crate) fn read(reader: &ObjectReader, seen: Option<ObjectId>) -> Result<Vec<Gap>> {
    let Some(id) = seen else {
        return Ok(Vec::new());
    };
    let entries = decode(&reader.blob(id)?);
    entries.ok_or_else(|| Error::damaged(format!("the blob `{id}` cannot be used")))
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        // The lower seven bits, and a mark that more follow.
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

struct SeenReader<'a>(&'a [u8]);

impl<'a> SeenReader<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }
}

/// Returns the code of a reason.
pub(crate) fn code(reason: &GapReason) -> u8 {
    match reason {
        GapReason::TooLarge => 10,
        GapReason::Unreadable(_) => 11,
        GapReason::Changing => 12,
        GapReason::ReservedName => 13,
        GapReason::TooDeep => 14,
        GapReason::Mount => 15,
        GapReason::Special(SpecialFile::Pipe) => 16,
        GapReason::Special(SpecialFile::Socket) => 17,
        GapReason::Special(SpecialFile::BlockDevice) => 18,
        GapReason::Special(SpecialFile::CharacterDevice) => 19,
        GapReason::KeptTooLarge => 20,
        GapReason::ForgottenDirectory => 21,
        GapReason::Forgotten => 22,
        GapReason::Repository => 23,
        GapReason::Ignored => 24,
        GapReason::Metadata => 25,
        GapReason::MoreIgnored => 26,
        GapReason::Late => 27,
    }
}

/// Returns the reason of a code, without the error of an unreadable path.
pub(crate) fn reason(code: u8) -> Option<GapReason> {
    Some(match code {
        10 => GapReason::TooLarge,
        11 => GapReason::Unreadable(ReadFailure::Panic),
        12 => GapReason::Changing,
        13 => GapReason::ReservedName,
        14 => GapReason::TooDeep,
        15 => GapReason::Mount,
        16 => GapReason::Special(SpecialFile::Pipe),
        17 => GapReason::Special(SpecialFile::Socket),
        18 => GapReason::Special(SpecialFile::BlockDevice),
        19 => GapReason::Special(SpecialFile::CharacterDevice),
        20 => GapReason::KeptTooLarge,
        21 => GapReason::ForgottenDirectory,
        22 => GapReason::Forgotten,
        23 => GapReason::Repository,
        24 => GapReason::Ignored,
        25 => GapReason::Metadata,
        26 => GapReason::MoreIgnored,
        27 => GapReason::Late,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &[u8], reason: GapReason, size: Option<u64>) -> Gap {
        Gap {
            path: path.to_vec(),
            reason,
            size,
            is_directory: path.len() > 3,
        }
    }

    #[test]
    fn seen_entries_are_read_as_they_are_written() {
        let mut entries = vec![
            entry(b"", GapReason::MoreIgnored, None),
            entry(b"a/b", GapReason::Ignored, None),
            entry(
                b"a/bc\n\xff",
                GapReason::Unreadable(ReadFailure::System(13)),
                Some(0),
            ),
            entry(b"a/c", GapReason::Unreadable(ReadFailure::Collision), None),
            entry(b"large", GapReason::TooLarge, Some(u64::MAX - 1)),
        ];
        let plain = (0..IS_DIRECTORY).filter_map(reason);
        let plain = plain.map(|reason| entry(b"x", reason, Some(1 << 40)));
        entries.extend(plain);
        let count = entries.len();
        let bytes = encode(&entries).expect("there are some");
        assert_eq!(decode(&bytes), Some(entries), "all of them");
        assert_eq!(encode(&[]), None, "no entries, no blob");
        for end in MAGIC.len() + 1..bytes.len() {
            // A text that is cut off at the end of an entry is shorter, and nothing else.
            let read = decode(&bytes[..end]);
            assert!(
                read.is_none_or(|read| read.len() < count),
                "cut off at {end}"
            );
        }
    }
}
