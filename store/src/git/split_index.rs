//! A split index: what it says together with the shared index that it adds to. Pure.
//!
//! The format is that of the extension `link` in git's `Documentation/gitformat-index.txt`; the order of the steps is that of
//! `merge_base_index` in its `split-index.c`.

use std::collections::{BTreeMap, BTreeSet};

use gix_bitmap::ewah;

use super::index::{Meaning, STAGE, Staged};

/// Returns the joined meaning of a split index and its shared index, or `None` if they do not belong together.
pub(crate) fn join(split: &Meaning, shared: Meaning, id_length: usize) -> Option<Meaning> {
    let link = split.link.as_deref()?.get(id_length..)?;
    // An extension without bitmaps changes nothing in the shared index.
    let (deleted, replaced) = if link.is_empty() {
        (BTreeSet::new(), BTreeSet::new())
    } else {
        let (deleted, rest) = ewah::decode(link).ok()?;
        let (replaced, _) = ewah::decode(rest).ok()?;
        let count = shared.entries.len();
        (numbers(&deleted, count)?, numbers(&replaced, count)?)
    };
    let mut entries = shared.entries;
    let mut own = split.entries.iter();
    for number in replaced {
        // Its name is in the shared index alone.
        let entry = own.next().filter(|entry| entry.path.is_empty())?;
        let path = std::mem::take(&mut entries[number].path);
        entries[number] = Staged {
            path,
            ..entry.clone()
        };
    }
    let place = |entry: Staged| ((entry.path.clone(), entry.flags & STAGE), entry);
    let kept = entries
        .into_iter()
        .enumerate()
        .filter(|(number, _)| !deleted.contains(number));
    let mut joined: BTreeMap<_, _> = kept.map(|(_, entry)| place(entry)).collect();
    joined.extend(own.cloned().map(place));
    Some(Meaning {
        entries: joined.into_values().collect(),
        link: None,
        newest: split.newest.max(shared.newest),
    })
}

/// Returns the numbers of the set bits, or `None` if one is beyond the shared index.
fn numbers(bitmap: &ewah::Vec, count: usize) -> Option<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    bitmap.for_each_set_bit(|number| {
        numbers.insert(number);
        (number < count).then_some(())
    })?;
    Some(numbers)
}
