//! The index beside a pack (`.idx`, version 2): which object stands where. This module does IO.

use std::collections::HashMap;
use std::fs::File;

use sha1::{Digest, Sha1};

use super::id_table::{IdTable, fanout};
use super::index_bytes::{IndexBytes, Rows};
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;

/// Where an entry stands in its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indexed {
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub length: u64,
    /// The CRC-32 of its bytes.
    pub crc: u32,
}

const MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
const FANOUT: u64 = 8;
const IDS: u64 = FANOUT + 256 * 4;
const TRAILER: u64 = 40;
/// An offset with this bit is a place in the table of 64-bit offsets.
const LARGE: u32 = 1 << 31;

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
            .filter(|small| small & LARGE == 0);
        let number = small.unwrap_or_else(|| {
            large.push(offset);
            LARGE | u32::try_from(large.len() - 1).expect("a pack has fewer than 2^31 objects")
        });
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    large
        .iter()
        .for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
}

/// So many entries' places are held in memory, which takes 256 MB; a pack of more is read object by object.
const MOST_PLACES: u32 = 1 << 24;

/// An index that is asked.
pub(crate) struct PackIndex {
    bytes: IndexBytes,
    ids: IdTable,
    large: u64,
}

/// The length up to which an index is read whole: some 2,000 objects.
const WHOLE: u64 = 64 << 10;

impl PackIndex {
    /// Opens an index, and checks that its parts fit together.
    pub(crate) fn open(file: File) -> Result<Self> {
        Self::check(IndexBytes::open(file, WHOLE)?)
    }

    /// The same, of an index that is read whole.
    pub(crate) fn open_whole(file: File) -> Result<Self> {
        Self::check(IndexBytes::open(file, u64::MAX)?)
    }

    fn check(bytes: IndexBytes) -> Result<Self> {
        let mut magic = [0; MAGIC.len()];
        bytes.read(0, &mut magic)?;
        if magic != *MAGIC {
            return Err(Error::failed("the index is not of version 2"));
        }
        let ids = IdTable::read(&bytes, FANOUT, IDS)?;
        let fixed = IDS + u64::from(ids.count()) * 28 + TRAILER;
        let large = bytes
            .length()
            .checked_sub(fixed)
            .filter(|rest| rest.is_multiple_of(8))
            .map(|rest| rest / 8);
        let large = large.filter(|large| *large <= u64::from(ids.count()));
        let large = large.ok_or_else(|| Error::failed("the index's parts do not fit together"))?;
        Ok(Self { bytes, ids, large })
    }

    /// Returns whether its file stays open.
    pub(crate) fn is_file(&self) -> bool {
        self.bytes.is_file()
    }

    /// Returns the checksum of the pack that it is the index of.
    pub(crate) fn pack_checksum(&self) -> Result<[u8; 20]> {
        let mut checksum = [0; 20];
        self.bytes
            .read(self.bytes.length() - TRAILER, &mut checksum)?;
        Ok(checksum)
    }

    /// Returns the offset of an object's entry; none where it is not in the pack.
    pub(crate) fn find(&self, id: ObjectId) -> Result<Option<u64>> {
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

    /// Returns where those of the sorted ids stand that it names. Where they are many it is read once from front to end.
    pub(crate) fn offsets(&self, ids: &[ObjectId]) -> Result<Vec<(ObjectId, u64)>> {
        self.with_offsets(self.ids.places(&self.bytes, ids)?)
    }

    /// Returns all that it names, by id, and where each stands.
    pub(crate) fn entries(&self) -> Result<Vec<(ObjectId, u64)>> {
        self.with_offsets(self.ids.all(&self.bytes)?.into_iter().zip(0..).collect())
    }

    /// Returns where every entry of the pack begins, in the order of the pack, and the entry's place in the index. Fails for
    /// an index that names more than [`MOST_PLACES`].
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

    /// Returns the id of the object at a place.
    pub(crate) fn id(&self, place: u32) -> Result<ObjectId> {
        self.ids.id(&self.bytes, place)
    }

    /// Returns the CRC-32 of the entry at a place.
    pub(crate) fn crc(&self, place: u32) -> Result<u32> {
        let start = IDS + u64::from(self.ids.count()) * 20;
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

    fn offsets_start(&self) -> u64 {
        IDS + u64::from(self.ids.count()) * 24
    }

    /// What does not fit 31 bits stands in a table of its own.
    fn whole_offset(&self, small: u32) -> Result<u64> {
        if small & LARGE == 0 {
            return Ok(u64::from(small));
        }
        let at = u64::from(small & !LARGE);
        if at >= self.large {
            return Err(Error::failed("the index has no such large offset"));
        }
        self.bytes
            .u64(self.offsets_start() + u64::from(self.ids.count()) * 4 + at * 8)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn open(bytes: &[u8]) -> Result<PackIndex> {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes).expect("a temporary file");
        PackIndex::open(file)
    }

    proptest! {
        #[test]
        fn every_object_is_found_where_it_was_put(
            objects in proptest::collection::hash_map(any::<[u8; 20]>(), any::<u64>(), 0..40),
            absent in any::<[u8; 20]>(),
        ) {
            let objects: HashMap<_, _> = objects
                .into_iter()
                .map(|(id, offset)| (ObjectId::new(id), Indexed { offset, length: 1, crc: 0 }))
                .collect();
            let index = open(&encode(&objects, &[0; 20])).expect("our own");
            for (id, indexed) in &objects {
                prop_assert_eq!(index.find(*id).expect("sound"), Some(indexed.offset));
            }
            let mut wanted: Vec<_> = objects.keys().copied().chain([ObjectId::new(absent)]).collect();
            wanted.sort_unstable();
            let expected: Vec<_> =
                wanted.iter().filter_map(|id| Some((*id, objects.get(id)?.offset))).collect();
            prop_assert_eq!(index.offsets(&wanted).expect("sound"), expected);
            let all: BTreeMap<_, _> = objects.iter().map(|(id, indexed)| (*id, indexed.offset)).collect();
            prop_assert_eq!(index.entries().expect("sound"), Vec::from_iter(all));
            let absent = ObjectId::new(absent);
            prop_assert_eq!(index.find(absent).expect("sound").is_some(), objects.contains_key(&absent));
        }

        #[test]
        fn any_bytes_are_an_index_or_an_error(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            fanout in proptest::bool::ANY,
        ) {
            if fanout && bytes.len() > 1032 {
                bytes[..8].copy_from_slice(MAGIC);
                let count = u32::try_from(bytes.len().saturating_sub(1072) / 28).unwrap_or(0);
                bytes[8..1032].chunks_exact_mut(4).for_each(|chunk| chunk.copy_from_slice(&count.to_be_bytes()));
            }
            if let Ok(index) = open(&bytes) {
                let _ = index.find(ObjectId::EMPTY_TREE);
                let _ = (index.entries(), index.offsets(&[ObjectId::EMPTY_TREE]), index.pack_checksum());
            }
        }
    }
}
