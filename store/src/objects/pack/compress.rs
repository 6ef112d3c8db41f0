//! Objects and deltas as entries of a pack, compressed in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;

use libdeflater::{CompressionLvl, Compressor};

use super::entry::{encode_delta_header, encode_header};
use crate::model::entry::ObjectId;
use crate::objects::hash::ObjectKind;

/// An object as an entry of a pack.
pub(crate) struct Packed {
    /// Its id.
    pub id: ObjectId,
    pub(super) entry: Vec<u8>,
}

/// How hard an object is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// 170 MB/s, to .31 of a source tree.
    Least,
    /// 100 MB/s, to .29: for the little that each step stores, which makes up most of a store.
    More,
    /// As small as possible: for what is written rarely and kept for long.
    Most,
}

impl Effort {
    /// The level of libdeflate.
    const fn level(self) -> i32 {
        match self {
            Self::Least => 1,
            Self::More => 4,
            Self::Most => 10,
        }
    }
}

/// Returns an object compressed for a pack, given its id.
pub(crate) fn pack_object(kind: ObjectKind, id: ObjectId, bytes: &[u8], effort: Effort) -> Packed {
    let mut entry = encode_header(kind, bytes.len() as u64);
    let level = if is_compressible(bytes) {
        effort.level()
    } else {
        0
    };
    compress(bytes, level, &mut entry);
    Packed { id, entry }
}

/// Appends bytes to an entry, compressed.
fn compress(bytes: &[u8], level: i32, entry: &mut Vec<u8>) {
    let header = entry.len();
    with_compressor(level, |compressor| {
        entry.resize(header + compressor.zlib_compress_bound(bytes.len()), 0);
        let length = compressor
            .zlib_compress(bytes, &mut entry[header..])
            .expect("the compressor said itself how much it needs");
        entry.truncate(header + length);
    });
    // The bound is larger than the result, and thousands of entries may wait for the writer.
    entry.shrink_to_fit();
}

/// Returns a delta compressed for a pack, against the object that comes `distance` bytes before it.
pub(crate) fn pack_delta(id: ObjectId, delta: &[u8], distance: u64) -> Packed {
    let mut entry = encode_delta_header(delta.len() as u64, distance);
    compress(delta, Effort::Most.level(), &mut entry);
    Packed { id, entry }
}

/// The number of bytes that are tried before a large object is compressed.
const SAMPLE: usize = 16 << 10;

/// Returns whether a sample from the middle shrinks by at least a twentieth. Media and archives do not, and are stored
/// as they are.
pub(super) fn is_compressible(bytes: &[u8]) -> bool {
    if bytes.len() < 4 * SAMPLE {
        return true;
    }
    let middle = bytes.len() / 2 - SAMPLE / 2;
    let sample = &bytes[middle..middle + SAMPLE];
    let mut out = vec![0; SAMPLE];
    // The compressor fails if the result does not fit, which is the answer.
    with_compressor(Effort::Least.level(), |compressor| {
        compressor
            .zlib_compress(sample, &mut out)
            .is_ok_and(|length| length < SAMPLE - SAMPLE / 20)
    })
}

/// Compressors are large and slow to make, so each thread keeps its own.
fn with_compressor<T>(level: i32, work: impl FnOnce(&mut Compressor) -> T) -> T {
    thread_local! {
        static COMPRESSORS: RefCell<BTreeMap<i32, Compressor>> = const { RefCell::new(BTreeMap::new()) };
    }
    let new = || {
        Compressor::new(
            CompressionLvl::new(level).expect("0, 1, 4 and 10 are levels of libdeflate"),
        )
    };
    COMPRESSORS.with_borrow_mut(|compressors| work(compressors.entry(level).or_insert_with(new)))
}
