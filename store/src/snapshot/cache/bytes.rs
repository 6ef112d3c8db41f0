//! The cache's bytes: numbers, texts, ids and stamps, little-endian.
//!
//! ```text
//! length    u32
//! text      length, bytes
//! texts     length, texts
//! id        0, or 1 and 20 bytes
//! stamp     mtime i64, ctime i64, inode u64, size u64, mode u32
//! ```

use crate::fs::disk::Stamp;
use crate::model::entry::ObjectId;

/// The bytes of a stamp.
pub(super) const STAMP: usize = 36;

/// Appends a length. One that does not fit is written as the largest, which no reader finds the bytes for.
pub(super) fn put_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

/// Appends a length and that many bytes.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put_length(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// Appends how many texts there are, and each.
pub(super) fn put_texts(bytes: &mut Vec<u8>, texts: &[Vec<u8>]) {
    put_length(bytes, texts.len());
    texts.iter().for_each(|text| put_text(bytes, text));
}

/// Appends whether there is an id, and the id.
pub(super) fn put_id(bytes: &mut Vec<u8>, id: Option<ObjectId>) {
    bytes.push(u8::from(id.is_some()));
    if let Some(id) = id {
        bytes.extend_from_slice(id.as_bytes());
    }
}

/// Appends [`STAMP`] bytes.
pub(super) fn put_stamp(bytes: &mut Vec<u8>, stamp: &Stamp) {
    bytes.extend_from_slice(&stamp.mtime.to_le_bytes());
    bytes.extend_from_slice(&stamp.ctime.to_le_bytes());
    bytes.extend_from_slice(&stamp.inode.to_le_bytes());
    bytes.extend_from_slice(&stamp.size.to_le_bytes());
    bytes.extend_from_slice(&stamp.mode.to_le_bytes());
}

/// Returns the stamp that [`put_stamp`] wrote. Panics if there are fewer than [`STAMP`] bytes.
pub(super) fn stamp(bytes: &[u8]) -> Stamp {
    let eight = |at: usize| {
        bytes[at..at + 8]
            .try_into()
            .expect("the slice has eight bytes")
    };
    Stamp {
        mtime: i64::from_le_bytes(eight(0)),
        ctime: i64::from_le_bytes(eight(8)),
        inode: u64::from_le_bytes(eight(16)),
        size: u64::from_le_bytes(eight(24)),
        mode: u32::from_le_bytes(
            bytes[32..STAMP]
                .try_into()
                .expect("the slice has four bytes"),
        ),
    }
}

/// Returns the id in the first 20 bytes. Panics if there are fewer.
pub(super) fn id(bytes: &[u8]) -> ObjectId {
    ObjectId::new(bytes[..20].try_into().expect("the slice has twenty bytes"))
}

/// Takes values from the front; `None` if too few bytes are left.
pub(super) struct ByteReader<'a>(pub &'a [u8]);

impl<'a> ByteReader<'a> {
    /// Takes that many bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Takes a number of eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// The length of a record.
    pub fn record(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    /// Takes what [`put_length`] wrote.
    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    /// Takes what [`put_text`] wrote.
    pub fn text(&mut self) -> Option<Vec<u8>> {
        let length = self.length()?;
        self.take(length).map(<[u8]>::to_vec)
    }

    /// Takes what [`put_texts`] wrote.
    pub fn texts(&mut self) -> Option<Vec<Vec<u8>>> {
        (0..self.length()?).map(|_| self.text()).collect()
    }

    /// Takes what [`put_id`] wrote.
    pub fn optional_id(&mut self) -> Option<Option<ObjectId>> {
        match self.take(1)?[0] {
            0 => Some(None),
            1 => Some(Some(id(self.take(20)?))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id is taken as it was put and an unknown flag is no id.
    #[test]
    fn id_survives_and_unknown_flag_is_none() {
        for id in [None, Some(ObjectId::EMPTY_TREE)] {
            let mut bytes = Vec::new();
            put_id(&mut bytes, id);
            assert_eq!(ByteReader(&bytes).optional_id(), Some(id));
        }
        let mut bytes = Vec::new();
        put_id(&mut bytes, Some(ObjectId::EMPTY_TREE));
        bytes[0] = 2;
        assert_eq!(ByteReader(&bytes).optional_id(), None, "nobody wrote that");
        assert_eq!(ByteReader(&[1, 0]).optional_id(), None, "it is cut off");
    }
}
