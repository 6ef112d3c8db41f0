//! The format of a multi-pack-index.

use sha1::{Digest, Sha1};

use super::{FANOUT, HEADER, IDS, LARGE_FLAG, LARGE_OFFSETS, LOOK_UP, MAGIC, NAMES, OFFSETS};
use crate::model::entry::ObjectId;
use crate::objects::pack::index::fanout;

/// The location of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectLocation {
    /// Its id.
    pub id: ObjectId,
    /// The number of its pack: the position of the pack's name.
    pub pack: u32,
    /// Its offset there.
    pub offset: u64,
}

/// Returns the bytes of a multi-pack-index, given the names of the packs' indexes, sorted, and the locations, by id and
/// without duplicates.
///
/// ```text
/// 'MIDX', version 1, SHA-1 (1), number of chunks, 0, number of packs: u32
/// for each chunk, and one more of id 0 behind the last: id: u32, where it begins: u64
/// PNAM  the names, each with a NUL behind it, filled up to a multiple of four
/// OIDF  256 x how many ids begin with this byte or a lower one
/// OIDL  the ids
/// OOFF  for each id: pack: u32, offset: u32
/// LOFF  where an offset needs more than 32 bits, those of more than 31: u64 each; OOFF then has 2^31 + the place here
/// this file's checksum (SHA-1)
/// ```
pub(crate) fn encode(names: &[Vec<u8>], places: &[ObjectLocation]) -> Vec<u8> {
    let (offsets, large) = offsets(places);
    let mut chunks = vec![
        (NAMES, padded(names)),
        (
            FANOUT,
            fanout(places.iter().map(|place| place.id))
                .iter()
                .flat_map(|count| count.to_be_bytes())
                .collect(),
        ),
        (
            IDS,
            places
                .iter()
                .flat_map(|place| *place.id.as_bytes())
                .collect(),
        ),
        (OFFSETS, offsets),
    ];
    chunks.extend((!large.is_empty()).then_some((LARGE_OFFSETS, large)));
    let mut bytes = MAGIC.to_vec();
    bytes.extend([
        u8::try_from(chunks.len()).expect("there are five at most"),
        0,
    ]);
    bytes.extend(
        u32::try_from(names.len())
            .expect("nobody has so many packs")
            .to_be_bytes(),
    );
    look_up(&chunks, &mut bytes);
    chunks
        .iter()
        .for_each(|(_, chunk)| bytes.extend_from_slice(chunk));
    let checksum = Sha1::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn padded(names: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = names
        .iter()
        .flat_map(|name| name.iter().copied().chain([0]))
        .collect::<Vec<u8>>();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn offsets(places: &[ObjectLocation]) -> (Vec<u8>, Vec<u8>) {
    // With a table of large offsets, every offset of more than 31 bits has to be in it; without one, all 32 bits
    // count. One offset decides for all.
    let needs_large = places
        .iter()
        .any(|place| u32::try_from(place.offset).is_err());
    let (mut offsets, mut large) = (Vec::with_capacity(places.len() * 8), Vec::new());
    for place in places {
        let small = u32::try_from(place.offset)
            .ok()
            // git takes the highest bit for a mark only if there is a table of large offsets.
            .filter(|small| !needs_large || small & LARGE_FLAG == 0);
        let number = small.unwrap_or_else(|| {
            large.extend(place.offset.to_be_bytes());
            LARGE_FLAG
                | u32::try_from(large.len() / 8 - 1).expect("there are fewer than 2^31 objects")
        });
        offsets.extend(place.pack.to_be_bytes());
        offsets.extend(number.to_be_bytes());
    }
    (offsets, large)
}

fn look_up(chunks: &[([u8; 4], Vec<u8>)], bytes: &mut Vec<u8>) {
    let mut start = HEADER + (chunks.len() as u64 + 1) * LOOK_UP;
    for (id, chunk) in chunks {
        bytes.extend(id);
        bytes.extend(start.to_be_bytes());
        start += chunk.len() as u64;
    }
    bytes.extend([0; 4]);
    bytes.extend(start.to_be_bytes());
}
