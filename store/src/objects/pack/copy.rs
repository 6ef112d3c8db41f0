//! Copying entries to a pack of our own as they stand, without decoding what they hold.
//!
//! A delta is copied with its base, which comes before it; the distance between them is recomputed. A delta that names
//! its base by id, and an entry that cannot be copied, are left to the caller, who may decode them.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;

use super::data::Data;
use super::entry::{EntryContent, FileRange, encode_delta_header, read_header};
use super::index::PackIndex;
use super::read::PackFile;
use super::write::PackWriter;
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;

/// The longest header of an entry: ten bytes of a size, and twenty of an id.
const LONGEST_HEADER: usize = 32;

/// The result of copying.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// The objects that are in the other pack now, including bases of deltas.
    pub ids: BTreeSet<ObjectId>,
    /// The bytes of their entries.
    pub bytes: u64,
}

impl PackFile {
    /// Copies the intact entries of these sorted ids that are in this pack and not in `copied` yet, in the order of the
    /// pack: a base before its deltas. An entry whose CRC-32 differs from the index's is not copied, nor are those that
    /// depend on it. Fails if the pack cannot be read, or once `goes_on` returns false.
    pub(crate) fn copy_entries(
        &self,
        ids: &[ObjectId],
        which: CopiedEntries,
        to: &mut PackWriter,
        copied: &mut Copied,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        let index = PackIndex::open(self.open_index()?)?;
        let layout = index.layout()?;
        self.with_data(|data| {
            let source = SourcePack {
                index: &index,
                layout: &layout,
                data,
            };
            let mut offsets = match which {
                CopiedEntries::All | CopiedEntries::Sound => source.with_bases(index.offsets(ids)?),
                CopiedEntries::Settled { large } => source.settled(index.offsets(ids)?, large),
            };
            if which == CopiedEntries::Sound {
                offsets.retain(|offset| goes_on() && self.is_sound_at(&source, *offset));
            }
            // Where each entry went: a delta names its base by the distance to it, which is another one in the new
            // pack.
            let mut moved: HashMap<u64, u64> = HashMap::new();
            for offset in offsets {
                if !goes_on() {
                    return Err(Error::busy("there is no time to copy the pack"));
                }
                source.copy(offset, to, &mut moved, copied)?;
            }
            Ok(())
        })
    }

    /// Returns whether the object at an offset hashes to its id in the index.
    fn is_sound_at(&self, source: &SourcePack<'_>, offset: u64) -> bool {
        let place = source.number(offset).map(|number| source.layout[number].1);
        let id = place.ok().and_then(|place| source.index.id(place).ok());
        id.is_some_and(|id| self.check_blob(offset, id).is_ok() || self.object(offset, id).is_ok())
    }

    /// Returns the ids of all of its objects.
    pub(crate) fn ids(&self) -> Result<Vec<ObjectId>> {
        let entries = PackIndex::open(self.open_index()?)?.entries()?;
        Ok(entries.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns the size of each object's entry, in bytes.
    pub(crate) fn entry_sizes(&self) -> Result<Vec<(ObjectId, u64)>> {
        let index = PackIndex::open(self.open_index()?)?;
        let layout = index.layout()?;
        let end = self.with_data(|data| Ok(data.end))?;
        let ends = layout
            .iter()
            .skip(1)
            .map(|(offset, _)| *offset)
            .chain([end]);
        let sizes = layout.iter().zip(ends);
        sizes
            .map(|((offset, place), end)| Ok((index.id(*place)?, end.saturating_sub(*offset))))
            .collect()
    }
}

/// The entries that are copied of those that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopiedEntries {
    /// All, with the bases of deltas.
    All,
    /// The same of a pack that others wrote: each object is hashed first. Whatever is in a pack of ours was hashed, so
    /// that its CRC-32 is enough later ([`PackFile::written_blob`]).
    Sound,
    /// Those that should not be encoded again: deltas whose bases are all among the ids, these bases, and whole objects
    /// of more than `large` bytes.
    Settled { large: u64 },
}

/// A pack that entries are taken from.
struct SourcePack<'a> {
    index: &'a PackIndex,
    layout: &'a [(u64, u32)],
    data: Data<'a>,
}

impl SourcePack<'_> {
    /// Returns the offsets of the objects, and of the bases of those that are deltas, in the order of the pack.
    fn with_bases(&self, wanted: Vec<(ObjectId, u64)>) -> BTreeSet<u64> {
        let mut offsets = BTreeSet::new();
        let mut rest: Vec<u64> = wanted.into_iter().map(|(_, offset)| offset).collect();
        while let Some(offset) = rest.pop() {
            if offsets.insert(offset)
                && let Some((EntryContent::ToOffset(base), ..)) = self.header(offset)
            {
                rest.push(base);
            }
        }
        offsets
    }

    /// Returns the offsets of deltas whose bases are all wanted, of these bases, and of large objects, in the order of
    /// the pack.
    fn settled(&self, wanted: Vec<(ObjectId, u64)>, large: u64) -> BTreeSet<u64> {
        let wanted: BTreeSet<u64> = wanted.into_iter().map(|(_, offset)| offset).collect();
        // A base comes before its deltas.
        let mut bases: HashMap<u64, Option<u64>> = HashMap::new();
        let mut settled = BTreeSet::new();
        for offset in wanted {
            match self.header(offset) {
                Some((EntryContent::Whole(_), size, _)) => {
                    bases.insert(offset, None);
                    if size > large {
                        settled.insert(offset);
                    }
                }
                Some((EntryContent::ToOffset(base), ..)) if bases.contains_key(&base) => {
                    bases.insert(offset, Some(base));
                    let mut next = Some(offset);
                    while let Some(at) = next.filter(|at| settled.insert(*at)) {
                        next = bases.get(&at).copied().flatten();
                    }
                }
                _ => {}
            }
        }
        settled
    }

    /// Returns the number of the entry at an offset, in the order of the pack.
    fn number(&self, offset: u64) -> std::result::Result<usize, usize> {
        self.layout
            .binary_search_by_key(&offset, |(offset, _)| *offset)
    }

    /// Returns an entry's type, its size, and the bytes that encode the size, or `None` if they are invalid.
    fn header(&self, offset: u64) -> Option<(EntryContent, u64, Vec<u8>)> {
        let mut buffer = [0; LONGEST_HEADER];
        let front = self.data.front(offset, &mut buffer).ok()?;
        let mut rest = front;
        let header = read_header(&mut rest, offset).ok()?;
        let length = front.len() - rest.len();
        Some((header.content, header.size, front[..length].to_vec()))
    }

    fn copy(
        &self,
        offset: u64,
        to: &mut PackWriter,
        moved: &mut HashMap<u64, u64>,
        copied: &mut Copied,
    ) -> Result<()> {
        let Ok(number) = self.number(offset) else {
            return Ok(());
        };
        let (_, place) = self.layout[number];
        let id = self.index.id(place)?;
        if copied.ids.contains(&id) {
            return Ok(());
        }
        let Some((content, size, old_header)) = self.header(offset) else {
            return Ok(());
        };
        let header = match content {
            EntryContent::Whole(_) => old_header.clone(),
            EntryContent::ToOffset(base) => match moved.get(&base) {
                Some(base) => encode_delta_header(size, to.position()? - base),
                // Its base could not be copied. The caller decodes the object instead.
                None => return Ok(()),
            },
            EntryContent::ToObject(_) => return Ok(()),
        };
        let end = self
            .layout
            .get(number + 1)
            .map_or(self.data.end, |(next, _)| *next);
        let start = offset + old_header.len() as u64;
        let mut rest = FileRange::new(self.data.file, start, end.min(self.data.end));
        let rest: &mut dyn Read = &mut rest;
        let crc = self.index.crc(place)?;
        // The CRC-32 of an index is that of the whole entry, with the header that it has in this pack.
        if let Some(position) = to.add_entry(id, &header, &old_header, rest, crc)? {
            copied.bytes += to.position()? - position;
            moved.insert(offset, position);
            copied.ids.insert(id);
        }
        Ok(())
    }
}
