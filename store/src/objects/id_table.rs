//! Sorted ids behind a fan-out table, as both kinds of git's indexes have them. What they say is checked only as far as it
//! keeps a search inside the file: whoever reads an object hashes it.
//!
//! ```text
//! 256 x how many ids begin with this byte or a lower one, 4 bytes each
//! the ids, sorted, 20 bytes each
//! ```

use super::index_bytes::{IndexBytes, Rows};
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;

const FANOUT: u64 = 256 * 4;
/// So many times more ids on one side, and those of the other are looked for one by one.
const FEW: usize = 64;

/// So many ids are read at once: to read one costs as much.
const WINDOW: u32 = 200;

/// The ids of an index.
pub(crate) struct IdTable {
    fanout: Box<[u32; 256]>,
    ids: u64,
}

/// Returns the numbers of a fan-out table.
pub(crate) fn fanout(ids: impl Iterator<Item = ObjectId>) -> [u32; 256] {
    let mut counts = [0; 256];
    ids.for_each(|id| counts[usize::from(id.as_bytes()[0])] += 1);
    let mut sum = 0;
    counts.map(|count| {
        sum += count;
        sum
    })
}

impl IdTable {
    /// Reads the fan-out table at a position; the ids stand at another.
    pub fn read(bytes: &IndexBytes, fanout_at: u64, ids: u64) -> Result<Self> {
        let table = bytes.block(fanout_at, FANOUT)?;
        let mut fanout = Box::new([0; 256]);
        for (count, chunk) in fanout.iter_mut().zip(table.as_chunks().0) {
            *count = u32::from_be_bytes(*chunk);
        }
        let is_inside = ids
            .checked_add(u64::from(fanout[255]) * 20)
            .is_some_and(|end| end <= bytes.length());
        if !fanout.is_sorted() || !is_inside {
            return Err(Error::failed("the index's parts do not fit together"));
        }
        Ok(Self { fanout, ids })
    }

    /// Returns how many ids there are.
    pub fn count(&self) -> u32 {
        self.fanout[255]
    }

    /// Returns the id at a place.
    pub fn id(&self, bytes: &IndexBytes, place: u32) -> Result<ObjectId> {
        let mut id = [0; 20];
        bytes.read(self.ids + u64::from(place) * 20, &mut id)?;
        Ok(ObjectId::new(id))
    }

    /// Returns the place of an id; none where it is not in the table.
    pub fn find(&self, bytes: &IndexBytes, id: ObjectId) -> Result<Option<u32>> {
        let bucket = usize::from(id.as_bytes()[0]);
        let (mut low, mut high) = (
            bucket
                .checked_sub(1)
                .map_or(0, |before| self.fanout[before]),
            self.fanout[bucket],
        );
        while high - low > WINDOW {
            let middle = low + (high - low) / 2;
            if self.id(bytes, middle)? <= id {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut window = [0; WINDOW as usize * 20];
        let window = &mut window[..(high - low) as usize * 20];
        bytes.read(self.ids + u64::from(low) * 20, window)?;
        let (ids, _) = window.as_chunks::<20>();
        let place = ids.binary_search(id.as_bytes()).ok();
        Ok(place.map(|place| low + u32::try_from(place).expect("it is below `WINDOW`")))
    }

    /// Returns the places of those of the sorted ids that are in the table, in time that follows the shorter of both.
    pub fn places(&self, bytes: &IndexBytes, ids: &[ObjectId]) -> Result<Vec<(ObjectId, u32)>> {
        let count = self.count() as usize;
        if ids.len() < count / FEW {
            let found = ids.iter().filter_map(|id| {
                Some(self.find(bytes, *id).transpose()?.map(|place| (*id, place)))
            });
            return found.collect();
        }
        let mut found = Vec::new();
        let mut rest = ids;
        let mut rows = Rows::<20>::new(bytes, self.ids, self.count());
        for place in 0..self.count() {
            let id = ObjectId::new(*rows.row(place)?);
            if count < ids.len() / FEW {
                rest = &rest[rest.partition_point(|wanted| *wanted < id)..];
            } else {
                let passed = rest.iter().take_while(|wanted| **wanted < id).count();
                rest = &rest[passed..];
            }
            if rest.first() == Some(&id) {
                found.push((id, place));
                rest = &rest[1..];
            }
        }
        Ok(found)
    }

    /// Returns all ids, in order.
    pub fn all(&self, bytes: &IndexBytes) -> Result<Vec<ObjectId>> {
        let ids = bytes.block(self.ids, u64::from(self.count()) * 20)?;
        Ok(ids
            .as_chunks()
            .0
            .iter()
            .map(|id| ObjectId::new(*id))
            .collect())
    }
}
