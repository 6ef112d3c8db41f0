//! Joins the indexes of packs into one, once there are many outside of it. This module does IO.
//!
//! A process that has written a pack does this, at most once for a number of packs. The last index is reused if its
//! checksum is right and all of its packs exist; otherwise all indexes are read. Packs with many objects stay outside:
//! there are few of them, and rewriting their ids each time would cost more than searching them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::encode::{ObjectLocation, encode};
use super::{MultiPackIndex, NAME};
use crate::error::{Context, Result};
use crate::model::entry::ObjectId;
use crate::objects::pack::index::PackIndex;
use crate::objects::pack::read::PackFile;
use crate::objects::pack::write::{create_temporary, seal};
use crate::objects::reader::Packs;

/// How many packs may be outside the index.
const MIN_OUTSIDE: usize = 16;
/// For this many joined packs, one more may be outside, so that a growing file is written less often.
const JOINED_PER_OUTSIDE: usize = 64;
/// The upper limit, because each of them is asked by its own index.
const MAX_OUTSIDE: usize = 128;
/// The longest index that is joined, in bytes: some 35,000 objects.
const MAX_JOINED_INDEX: u64 = 1 << 20;

/// Returns how many packs may be outside a multi-pack-index.
fn few(joint: Option<&MultiPackIndex>) -> usize {
    let share = joint.map_or(0, |joint| joint.packs() as usize / JOINED_PER_OUTSIDE);
    share.clamp(MIN_OUTSIDE, MAX_OUTSIDE)
}

/// Writes a new multi-pack-index if many packs are in none. Returns whether it did.
pub(crate) fn renew(directory: &Path, packs: &Packs) -> Result<bool> {
    // Counted before any index is read: most calls end here.
    let few = few(packs.joint());
    if packs.alone().len() <= few {
        return Ok(false);
    }
    let alone = LoneIndex::read(packs.alone().iter());
    if alone.len() <= few {
        return Ok(false);
    }
    // The last one saves reading the indexes of all packs that it joins. It has to be whole and true for that: an
    // error in it would be copied into every later one.
    let (last, joined) = match packs
        .joint()
        .filter(|joint| packs.has_all_joint() && joint.is_sound())
    {
        Some(joint) => (Some(joint), alone),
        None => (
            None,
            LoneIndex::read(packs.alone().iter().chain(packs.each_joint())),
        ),
    };
    write(directory, &join(last, joined)?)?;
    Ok(true)
}

/// The index of a pack that is in no multi-pack-index.
struct LoneIndex {
    name: Vec<u8>,
    written: (i64, i64),
    index: PackIndex,
}

impl LoneIndex {
    /// Reads the short indexes among these, newest first. An index that cannot be read leaves its pack outside.
    fn read<'p>(packs: impl Iterator<Item = &'p Arc<PackFile>>) -> Vec<Self> {
        let mut joined: Vec<_> = packs.filter_map(|pack| Self::of(pack)).collect();
        // Of an object in several packs, the newest copy counts: an older one may be damaged, and the reason for
        // the new one.
        joined.sort_by_key(|joined| Reverse(joined.written));
        joined
    }

    /// Reads the index of a pack, if it is short and the pack is here to stay.
    fn of(pack: &PackFile) -> Option<Self> {
        // It goes as soon as it is settled, and the index would name a pack that is not there.
        if pack.is_borrowed() {
            return None;
        }
        let (index, written) = pack.short_index(MAX_JOINED_INDEX).ok()??;
        let name = pack.name().with_extension("idx");
        Some(Self {
            name: name.into_os_string().into_encoded_bytes(),
            written,
            index,
        })
    }
}

/// Returns the bytes of the last multi-pack-index, joined with these. If an object is in several packs, the one written
/// last counts: it may have been stored again because another copy is damaged.
fn join(last: Option<&MultiPackIndex>, joined: Vec<LoneIndex>) -> Result<Vec<u8>> {
    let old = last.map_or(0, MultiPackIndex::packs);
    let old_names = (0..old).filter_map(|number| Some(last?.name(number)?.to_vec()));
    let names = old_names.chain(joined.iter().map(|joined| joined.name.clone()));
    // The format wants the names in order, so each new name moves the numbers of those behind it: `numbers` maps
    // the old ones to the new ones.
    let sorted: BTreeMap<Vec<u8>, u32> = names.zip(0..).collect();
    let mut numbers = vec![0; sorted.len()];
    sorted
        .values()
        .zip(0..)
        .for_each(|(before, now)| numbers[*before as usize] = now);
    let mut places: Vec<(ObjectId, u32, ObjectLocation)> = Vec::new();
    for (joined, rank) in joined.iter().zip(0..) {
        let pack = numbers[(old + rank) as usize];
        places.extend(
            joined
                .index
                .entries()?
                .into_iter()
                .map(|(id, offset)| (id, rank, ObjectLocation { id, pack, offset })),
        );
    }
    if let Some(last) = last {
        let renumbered = |place: ObjectLocation| ObjectLocation {
            pack: numbers[place.pack as usize],
            ..place
        };
        places.extend(
            last.all()?
                .into_iter()
                .map(|place| (place.id, u32::MAX, renumbered(place))),
        );
    }
    // By rank within an id: the packs given are newest first, and the last index, whose rank is the highest, is
    // older than all of them.
    places.sort_unstable_by_key(|(id, rank, _)| (*id, *rank));
    places.dedup_by_key(|(id, _, _)| *id);
    let places: Vec<ObjectLocation> = places.into_iter().map(|(_, _, place)| place).collect();
    Ok(encode(&sorted.into_keys().collect::<Vec<_>>(), &places))
}

/// Writes it beside, synced, and renames it: a torn one costs us a look into the packs' own indexes, but git says that
/// the repository is broken.
fn write(directory: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("cannot write `{NAME}` in `{}`", directory.display());
    let (temporary, mut file) = create_temporary(directory)?;
    file.write_all(bytes).context(what)?;
    seal(&file).context(what)?;
    std::fs::rename(temporary.path(), directory.join(NAME)).context(what)
}
