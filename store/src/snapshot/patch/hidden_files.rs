//! Stores files that were written at the same time as a rule hid them, which the new snapshot does not hold. This
//! module does IO.

use std::path::Path;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::fs::disk::Stamp;
use crate::model::Milliseconds;
use crate::model::entry::{Change, Entry, EntryKind, file_type};
use crate::objects::Objects;
use crate::objects::reader::ObjectReader;
use crate::snapshot::single_paths;

/// The longest time between the look at a file and the snapshot's row.
const SCAN: Milliseconds = 600_000;

/// How many of the hidden files are read. Beyond that, only a different size counts as a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Files that were not touched since this moment are skipped, in nanoseconds since the epoch. With `None`, none is.
    since: Option<i64>,
    /// The number of files.
    files: usize,
    /// The number of bytes.
    bytes: u64,
    /// When to give up.
    until: Option<Instant>,
}

impl Budget {
    /// No limit.
    pub const ALL: Self = Self {
        since: None,
        files: usize::MAX,
        bytes: u64::MAX,
        until: None,
    };

    /// What an event has time for: the files touched since the previous snapshot, up to a limit. The rule may hide a
    /// folder of packages that has just been unpacked.
    pub fn of_event(since: Milliseconds, until: Option<Instant>) -> Self {
        Self {
            since: Some(since.saturating_sub(SCAN).saturating_mul(1_000_000)),
            files: 512,
            bytes: 64 << 20,
            until,
        }
    }

    /// Fails once the time is up.
    pub fn check_time(&self) -> Result<()> {
        match self.until.is_some_and(|until| Instant::now() >= until) {
            true => Err(Error::late("what changed was not found in time")),
            false => Ok(()),
        }
    }
}

/// Returns the changes of files that went out of view and have other content now. `gone` are these files, which look
/// deleted.
pub(crate) fn rewritten(
    objects: &Objects,
    reader: &ObjectReader,
    root: &Path,
    hidden: Vec<Change>,
    budget: Budget,
) -> Result<Vec<Change>> {
    let paths: Vec<_> = hidden.iter().map(|change| change.path.clone()).collect();
    let stamps = single_paths::stamps(root, &paths)?;
    let (mut read, mut changes) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for (change, stamp) in hidden.into_iter().zip(stamps) {
        let (Some(old), Some(stamp)) = (change.old, stamp) else {
            continue;
        };
        let is_untouched = |since| stamp.mtime < since && stamp.ctime < since;
        if !old.is_stored() || budget.since.is_some_and(is_untouched) {
            continue;
        }
        bytes += stamp.size;
        if read.len() < budget.files && bytes <= budget.bytes {
            read.push(change);
        } else if is_of_another_size(reader, old, &stamp) {
            changes.push(Change {
                new: Some(Entry {
                    mode: old.mode,
                    blob: None,
                }),
                ..change
            });
        }
    }
    let paths: Vec<_> = read.iter().map(|change| change.path.clone()).collect();
    let states = single_paths::store_paths(objects, root, &paths)?;
    let captured = read.into_iter().zip(states).filter_map(|(change, state)| {
        // What cannot be captured, or went just now, is left to the next look.
        let new = state.ok().flatten()?;
        Some(Change {
            new: Some(new),
            ..change
        })
    });
    changes.extend(captured.filter(|change| change.old != change.new));
    Ok(changes)
}

fn is_of_another_size(reader: &ObjectReader, old: Entry, stamp: &Stamp) -> bool {
    let is_file = old.mode.kind() == EntryKind::File && stamp.file_type() == file_type::REGULAR;
    let size = old.blob.and_then(|blob| reader.blob_size(blob).ok());
    is_file && size.is_some_and(|size| size != stamp.size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// A hook that compares until its deadline could not record its event.
    ///
    /// Invariant `truth/deadline`.
    #[test]
    fn comparing_ends_with_its_time() {
        let kind = |until| Budget::of_event(0, until).check_time().err();
        let kind = |until| kind(until).map(|error| error.kind);
        assert_eq!(kind(Some(Instant::now())), Some(ErrorKind::Late));
        assert_eq!(kind(None), None);
    }
}
