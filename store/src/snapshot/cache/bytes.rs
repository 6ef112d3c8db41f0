//! The cache's bytes: numbers, texts, ids and stamps, little-endian.

use crate::fs::disk::Stamp;
use crate::model::entry::ObjectId;

/// The bytes of a stamp.
pub(super) const STAMP: usize = 36;

pub(super) fn put_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put_length(bytes, text.len());
    bytes.extend_from_slice(text);
}

pub(super) fn put_texts(bytes: &mut Vec<u8>, texts: &[Vec<u8>]) {
    put_length(bytes, texts.len());
    texts.iter().for_each(|text| put_text(bytes, text));
}

pub(super) fn put_id(bytes: &mut Vec<u8>, id: Option<ObjectId>) {
    bytes.push(u8::from(id.is_some()));
    if let Some(id) = id {
        bytes.extend_from_slice(id.as_bytes());
    }
}

pub(super) fn put_stamp(bytes: &mut Vec<u8>, stamp: &Stamp) {
    bytes.extend_from_slice(&stamp.mtime.to_le_bytes());
    bytes.extend_from_slice(&stamp.ctime.to_le_bytes());
    bytes.extend_from_slice(&stamp.inode.to_le_bytes());
    bytes.extend_from_slice(&stamp.size.to_le_bytes());
    bytes.extend_from_slice(&stamp.mode.to_le_bytes());
}

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

pub(super) fn id(bytes: &[u8]) -> ObjectId {
    ObjectId::new(bytes[..20].try_into().expect("the slice has twenty bytes"))
}

/// Takes values from the front; `None` if too few bytes are left.
pub(super) struct ByteReader<'a>(pub &'a [u8]);

impl<'a> ByteReader<'a> {
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// The length of a record.
    pub fn record(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    pub fn text(&mut self) -> Option<Vec<u8>> {
        let length = self.length()?;
        self.take(length).map(<[u8]>::to_vec)
    }

    pub fn texts(&mut self) -> Option<Vec<Vec<u8>>> {
        (0..self.length()?).map(|_| self.text()).collect()
    }

    pub fn optional_id(&mut self) -> Option<Option<ObjectId>> {
        match self.take(1)?[0] {
            0 => Some(None),
            _ => Some(Some(id(self.take(20)?))),
        }
    }
}
