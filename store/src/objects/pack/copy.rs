//! Copying entries to a pack of our own as they stand, without decoding what they hold.
//!
//! A delta goes with its base, which stands before it; the distance between them is written anew. A delta that names its base
//! by id, and whatever cannot be copied, is left to the caller, who may decode it.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;

use super::data::Data;
use super::entry::{Content, FileRange, encode_delta_header, read_header};
use super::index::PackIndex;
use super::read::PackFile;
use super::write::PackWriter;
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;

/// The longest header of an entry: ten bytes of a size, and twenty of an id.
const LONGEST_HEADER: usize = 32;

/// What came of copying.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// The objects that are in the other pack now, bases of deltas among them.
    pub ids: BTreeSet<ObjectId>,
    /// The bytes of their entries.
    pub bytes: u64,
}

impl PackFile {
    /// Copies the entries of these sorted ids, as far as they are in this pack, sound and not in `copied` yet. An entry whose
    /// CRC-32 is not the index's is not copied, nor is what depends on it. Fails where the pack cannot be read, and where
    /// `goes_on` says so.
    pub(crate) fn copy_entries(
        &self,
        ids: &[ObjectId],
        to: &mut PackWriter,
        copied: &mut Copied,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        let index = PackIndex::open(self.open_index()?)?;
        let layout = index.layout()?;
        self.with_data(|data| {
            let source = Source {
                index: &index,
                layout: &layout,
                data,
            };
            let mut moved: HashMap<u64, u64> = HashMap::new();
            for offset in source.with_bases(index.offsets(ids)?) {
                if !goes_on() {
                    return Err(Error::failed("there is no time to copy the pack"));
                }
                source.copy(offset, to, &mut moved, copied)?;
            }
            Ok(())
        })
    }
}

/// A pack that entries are taken from.
struct Source<'a> {
    index: &'a PackIndex,
    layout: &'a [(u64, u32)],
    data: Data<'a>,
}

impl Source<'_> {
    /// Returns the offsets of the objects and of the bases of those that are deltas, in the order of the pack.
    fn with_bases(&self, wanted: Vec<(ObjectId, u64)>) -> BTreeSet<u64> {
        let mut offsets = BTreeSet::new();
        let mut rest: Vec<u64> = wanted.into_iter().map(|(_, offset)| offset).collect();
        while let Some(offset) = rest.pop() {
            if offsets.insert(offset)
                && let Some((Content::ToOffset(base), ..)) = self.header(offset)
            {
                rest.push(base);
            }
        }
        offsets
    }

    /// Returns what an entry holds, the size that it says, and the bytes that say it; none where it makes no sense.
    fn header(&self, offset: u64) -> Option<(Content, u64, Vec<u8>)> {
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
        let Ok(number) = self
            .layout
            .binary_search_by_key(&offset, |(offset, _)| *offset)
        else {
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
            Content::Whole(_) => old_header.clone(),
            Content::ToOffset(base) => match moved.get(&base) {
                Some(base) => encode_delta_header(size, to.position()? - base),
                None => return Ok(()),
            },
            Content::ToObject(_) => return Ok(()),
        };
        let end = self
            .layout
            .get(number + 1)
            .map_or(self.data.end, |(next, _)| *next);
        let start = offset + old_header.len() as u64;
        let mut rest = FileRange::new(self.data.file, start, end.min(self.data.end));
        let rest: &mut dyn Read = &mut rest;
        let crc = self.index.crc(place)?;
        if let Some(position) = to.add_entry(id, &header, &old_header, rest, crc)? {
            copied.bytes += to.position()? - position;
            moved.insert(offset, position);
            copied.ids.insert(id);
        }
        Ok(())
    }
}
