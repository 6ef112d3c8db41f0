//! The times of the last change of paths, for those that a scan looked at. This module does IO for the others.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::AsFd;
use std::path::Path;

use super::moves;
use super::scan::listing::ItemKind;
use super::scan::walk::ThreadFindings;
use crate::fs::beneath;
use crate::fs::disk::Stamp;
use crate::model::entry::Change;
use crate::model::path::{WorkspacePath, join};
use crate::model::{FileTime, Milliseconds};

/// The times of what a scan read: new files and links, and directories. In nanoseconds, by path; the root's is empty.
#[derive(Clone, Debug, Default)]
pub struct Times {
    known: HashMap<Vec<u8>, i64>,
    /// Whether the clock of the files is another machine's: then no time says anything.
    is_remote: bool,
}

/// What was captured is the same, however much of it had to be read.
impl PartialEq for Times {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Times {}

impl Times {
    /// Takes the times from the findings of a scan's threads. What was `noted` is known better than by the stamps.
    pub(super) fn of(
        found: &[ThreadFindings],
        noted: &BTreeMap<Vec<u8>, FileTime>,
        is_remote: bool,
    ) -> Self {
        let mut known = HashMap::new();
        let mut note = |path: Vec<u8>, stamp: &Stamp| {
            if *stamp != Stamp::default() {
                known.insert(path, stamp.ctime);
            }
        };
        for found in found {
            for (directory, listing) in &found.listings {
                let Some(listing) = listing else { continue };
                note(directory.clone(), &listing.stamp);
                // Links are read with the listing.
                let links = listing.items.iter().filter(|item| {
                    !item.is_settled
                        && matches!(item.kind, ItemKind::Content(_))
                        && item.stamp.file_type() == 0o120_000
                });
                links.for_each(|item| note(join(directory, &item.name), &item.stamp));
            }
            for (directory, name, item) in &found.files {
                if let Some(item) = item {
                    note(join(directory, name), &item.stamp);
                }
            }
        }
        known.extend(noted.iter().map(|(path, time)| (path.clone(), *time)));
        Self { known, is_remote }
    }

    /// Returns when a changed path was last changed, in milliseconds; for a deleted one, when the nearest directory
    /// that still exists was. `None` if no time can be believed.
    pub fn of_change(&self, root: &Path, change: &Change) -> Option<Milliseconds> {
        if self.is_remote {
            return None;
        }
        if change.new.is_some() {
            return self.at(root, change.path.as_bytes());
        }
        let mut above = change.path.parent();
        loop {
            let bytes = above.as_ref().map_or(&b""[..], WorkspacePath::as_bytes);
            if let Some(time) = self.at(root, bytes) {
                return Some(time);
            }
            above = above.as_ref()?.parent();
        }
    }

    /// Returns when paths came and went with a directory that was moved: no later than its own time, and that of the directory
    /// that it left. In milliseconds, by path.
    pub fn of_moves(
        &self,
        root: &Path,
        changes: &[Change],
    ) -> HashMap<WorkspacePath, Milliseconds> {
        let mut times = HashMap::new();
        let by_path: HashMap<&[u8], &Change> = changes
            .iter()
            .map(|change| (change.path.as_bytes(), change))
            .collect();
        for moved in moves::find(changes) {
            let (new, old) = (by_path[moved.new], by_path[moved.old]);
            let (Some(own), Some(left), Some(came)) = (
                self.of_change(root, new),
                self.of_change(root, old),
                self.at(root, moved.below),
            ) else {
                continue;
            };
            let at = left.min(came);
            if own < at {
                times.insert(new.path.clone(), at);
                times.insert(old.path.clone(), at);
            }
        }
        times
    }

    fn at(&self, root: &Path, path: &[u8]) -> Option<Milliseconds> {
        let known = self.known.get(path).copied();
        let nanoseconds = known.or_else(|| look(root, path))?;
        Some(nanoseconds.div_euclid(1_000_000))
    }
}

/// Asks the file system.
fn look(root: &Path, path: &[u8]) -> Option<i64> {
    if path.is_empty() {
        let stat = rustix::fs::lstat(root).ok()?;
        return Some(Stamp::of(&stat).ctime);
    }
    let root = beneath::open_root(root).ok()?;
    let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&b""[..], path),
    };
    let directory = beneath::open_directory(root.as_fd(), above).ok()?;
    Some(beneath::stat(directory.as_fd(), name).ok()?.ctime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Entry, Mode, ObjectId};
    use crate::snapshot::GapReason;
    use crate::snapshot::rules::DirectoryView;
    use crate::snapshot::scan::listing::{ListedItem, Listing, ListingState};

    #[test]
    fn what_is_known_better_than_by_a_stamp_counts() {
        let stamp = |ctime| Stamp {
            ctime,
            ..Stamp::default()
        };
        let mut found = ThreadFindings::default();
        let listing = Listing::unread(stamp(1_000_000), DirectoryView::Open, ListingState::Listed);
        found.listings.push((b"d".to_vec(), Some(listing)));
        let file = ListedItem::gap(b"f", stamp(2_000_000), GapReason::Changing);
        found.files.push((b"d".to_vec(), b"f".to_vec(), Some(file)));
        let found = [found];
        let change = |name: &str, is_there: bool| Change {
            path: WorkspacePath::new(name).expect("legal"),
            old: None,
            new: is_there.then(|| Entry::stored(Mode::file(0o644), ObjectId::new([1; 20]))),
        };
        let nowhere = Path::new("/nowhere");
        let times = Times::of(&found, &BTreeMap::new(), false);
        assert_eq!(times.of_change(nowhere, &change("d/f", true)), Some(2));
        assert_eq!(
            times.of_change(nowhere, &change("d/gone", false)),
            Some(1),
            "its directory's"
        );
        let noted = BTreeMap::from([(b"d/f".to_vec(), 7_000_000), (b"d".to_vec(), 8_000_000)]);
        let times = Times::of(&found, &noted, false);
        assert_eq!(
            times.of_change(nowhere, &change("d/f", true)),
            Some(7),
            "it was cut off just then"
        );
        assert_eq!(
            times.of_change(nowhere, &change("d/gone", false)),
            Some(8),
            "removed after the stamp was read"
        );
    }
}
