//! The index beside a pack (`.idx`, version 2): which object stands where. This module does IO.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use sha1::{Digest, Sha1};

use crate::entry::ObjectId;
use crate::error::{Context, Error, Result};

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
    sorted.iter().for_each(|(id, _)| bytes.extend_from_slice(id.as_bytes()));
    sorted.iter().for_each(|(_, indexed)| bytes.extend_from_slice(&indexed.crc.to_be_bytes()));
    encode_offsets(sorted.iter().map(|(_, indexed)| indexed.offset), &mut bytes);
    bytes.extend_from_slice(pack_checksum);
    let checksum: [u8; 20] = Sha1::digest(&bytes).into();
    bytes.extend_from_slice(&checksum);
    bytes
}

fn fanout(ids: impl Iterator<Item = ObjectId>) -> [u32; 256] {
    let mut counts = [0; 256];
    ids.for_each(|id| counts[usize::from(id.as_bytes()[0])] += 1);
    let mut sum = 0;
    counts.map(|count| {
        sum += count;
        sum
    })
}

fn encode_offsets(offsets: impl Iterator<Item = u64>, bytes: &mut Vec<u8>) {
    let mut large = Vec::new();
    for offset in offsets {
        let small = u32::try_from(offset).ok().filter(|small| small & LARGE == 0);
        let number = small.unwrap_or_else(|| {
            large.push(offset);
            LARGE | u32::try_from(large.len() - 1).expect("a pack has fewer than 2^31 objects")
        });
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    large.iter().for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
}

/// An index that is asked.
pub(crate) struct PackIndex {
    bytes: Bytes,
    fanout: Box<[u32; 256]>,
    large: u64,
}

/// Small indexes are read whole, large ones where they are asked.
enum Bytes {
    Whole(Vec<u8>),
    File(File),
}

/// The length up to which an index is read whole: some 2,000 objects.
const WHOLE: u64 = 64 << 10;

/// How many ids are read at once.
const BLOCK: u32 = 4096;

impl PackIndex {
    /// Opens an index, and checks that its parts fit together.
    pub(crate) fn open(file: File) -> Result<Self> {
        let length = file.metadata().context(|| "cannot read the index")?.len();
        let bytes = if length <= WHOLE {
            let mut whole = vec![0; usize::try_from(length).expect("it is at most 64 KiB")];
            file.read_exact_at(&mut whole, 0).context(|| "cannot read the index")?;
            Bytes::Whole(whole)
        } else {
            Bytes::File(file)
        };
        Self::check(bytes, length)
    }

    fn check(bytes: Bytes, length: u64) -> Result<Self> {
        let mut head = [0; IDS as usize];
        bytes.read(0, &mut head)?;
        if head[..MAGIC.len()] != *MAGIC {
            return Err(Error::failed("the index is not of version 2"));
        }
        let mut fanout = Box::new([0; 256]);
        for (count, chunk) in fanout.iter_mut().zip(head[MAGIC.len()..].chunks_exact(4)) {
            *count = u32::from_be_bytes(chunk.try_into().expect("chunks are of four"));
        }
        let fixed = IDS + u64::from(fanout[255]) * 28 + TRAILER;
        let large = length.checked_sub(fixed).filter(|rest| rest.is_multiple_of(8)).map(|rest| rest / 8);
        let large = large.filter(|large| *large <= u64::from(fanout[255]) && fanout.is_sorted());
        let large = large.ok_or_else(|| Error::failed("the index's parts do not fit together"))?;
        Ok(Self { bytes, fanout, large })
    }

    /// Returns how many objects it names.
    pub(crate) fn count(&self) -> u32 {
        self.fanout[255]
    }

    /// Returns the offset of an object's entry; none where it is not in the pack.
    pub(crate) fn find(&self, id: ObjectId) -> Result<Option<u64>> {
        let bucket = usize::from(id.as_bytes()[0]);
        let (mut low, mut high) = (bucket.checked_sub(1).map_or(0, |before| self.fanout[before]), self.fanout[bucket]);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id(middle)?.cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle).map(Some),
            }
        }
        Ok(None)
    }

    /// Returns where those of the sorted ids stand that it names. Where they are many it is read once from front to end.
    pub(crate) fn offsets(&self, ids: &[ObjectId]) -> Result<Vec<(ObjectId, u64)>> {
        if (ids.len() as u64) < u64::from(self.count()) / 64 {
            let found = ids.iter().filter_map(|id| Some(self.find(*id).transpose()?.map(|offset| (*id, offset))));
            return found.collect();
        }
        let mut found = Vec::new();
        let mut ids = ids.iter().peekable();
        for start in (0..self.count()).step_by(BLOCK as usize) {
            let count = BLOCK.min(self.count() - start);
            let names = self.block(IDS + u64::from(start) * 20, count as usize * 20)?;
            let offsets = self.block(self.offsets_start() + u64::from(start) * 4, count as usize * 4)?;
            for (id, small) in names.chunks_exact(20).zip(offsets.chunks_exact(4)) {
                while ids.next_if(|wanted| wanted.as_bytes()[..] < *id).is_some() {}
                if let Some(wanted) = ids.next_if(|wanted| wanted.as_bytes()[..] == *id) {
                    let small = u32::from_be_bytes(small.try_into().expect("chunks are of four"));
                    found.push((*wanted, self.whole_offset(small)?));
                }
            }
        }
        Ok(found)
    }

    fn block(&self, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut block = vec![0; length];
        self.bytes.read(at, &mut block)?;
        Ok(block)
    }

    fn offsets_start(&self) -> u64 {
        IDS + u64::from(self.count()) * 24
    }

    /// Returns the id at a place.
    pub(crate) fn id(&self, place: u32) -> Result<ObjectId> {
        let mut id = [0; 20];
        self.bytes.read(IDS + u64::from(place) * 20, &mut id)?;
        Ok(ObjectId::new(id))
    }

    /// Returns the offset of the entry at a place.
    pub(crate) fn offset(&self, place: u32) -> Result<u64> {
        let mut small = [0; 4];
        self.bytes.read(self.offsets_start() + u64::from(place) * 4, &mut small)?;
        self.whole_offset(u32::from_be_bytes(small))
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
        let mut large = [0; 8];
        self.bytes.read(self.offsets_start() + u64::from(self.count()) * 4 + at * 8, &mut large)?;
        Ok(u64::from_be_bytes(large))
    }
}

impl Bytes {
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let truncated = || Error::failed("the index is cut off");
        match self {
            Self::File(file) => file.read_exact_at(buffer, at).context(|| "cannot read the index"),
            Self::Whole(bytes) => {
                let at = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).ok_or_else(truncated)?;
                buffer.copy_from_slice(at.get(..buffer.len()).ok_or_else(truncated)?);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
                let _ = (0..index.count()).try_for_each(|place| index.offset(place).map(drop));
            }
        }
    }
}
