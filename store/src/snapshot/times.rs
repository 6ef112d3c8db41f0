//! The times of the last change of paths, for those that a scan looked at. This module does IO for the others.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::Path;

use super::scan::listing::ItemKind;
use super::scan::walk::ThreadFindings;
use crate::fs::beneath;
use crate::fs::disk::Stamp;
use crate::model::Milliseconds;
use crate::model::entry::Change;
use crate::model::path::{WorkspacePath, join};

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
    /// Takes the times from the findings of a scan's threads.
    pub(super) fn of(found: &[ThreadFindings], is_remote: bool) -> Self {
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
