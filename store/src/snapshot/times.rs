//! The times of the last change of paths: of those that a scan looked at, and by IO of the others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::AsFd;
use std::path::Path;

use super::moves;
use super::scan::listing::ItemKind;
use super::scan::walk::ThreadFindings;
use crate::fs::beneath;
use crate::fs::disk::Stamp;
use crate::model::entry::{Change, State, file_type};
use crate::model::path::{WorkspacePath, above, join};
use crate::model::{FileTime, Milliseconds, millisecond_of};

/// The times of what a scan read: new files and links, and directories. In nanoseconds, by path; the root's path is
/// empty.
#[derive(Clone, Debug, Default)]
pub struct Times {
    known: HashMap<Vec<u8>, i64>,
    /// The directories that did not exist at the last look, or were different ones; `None` if that is not known.
    arrived: Option<HashSet<Vec<u8>>>,
    /// The moment before the scan began.
    now: FileTime,
    /// Whether the clock of the files is another machine's. Then no time means anything.
    is_remote: bool,
}

/// All values are equal: what was captured is the same, however much of it had to be read.
impl PartialEq for Times {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Times {}

/// When a path came with a directory that was moved there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The moment, in milliseconds, or an upper bound for it if it is not exact.
    pub at: Milliseconds,
    /// Whether nothing in the directory changed since, so that its time is the time of the move.
    pub is_exact: bool,
}

/// Returns the stamp that a directory had at the last look, if it existed.
pub(super) type StampBefore<'a> = dyn Fn(&[u8]) -> Option<Stamp> + 'a;

impl Times {
    /// Takes the times from the findings of a scan's threads; the scan began at `now`. Times in `noted` are more exact
    /// than the stamps. `before` returns what the last look saw of a directory, if there was one.
    pub(super) fn of(
        found: &[ThreadFindings],
        noted: &BTreeMap<Vec<u8>, FileTime>,
        before: Option<&StampBefore<'_>>,
        now: FileTime,
        is_remote: bool,
    ) -> Self {
        let arrived = before.map(|before| arrived(found, before));
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
                        && item.stamp.file_type() == file_type::LINK
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
        Self {
            known,
            arrived,
            now,
            is_remote,
        }
    }

    /// Returns when a changed path last changed, in milliseconds; for a deleted one, when the nearest remaining
    /// directory did. `None` if no time can be trusted.
    pub fn of_change(&self, root: &Path, change: &Change) -> Option<Milliseconds> {
        if self.is_remote {
            return None;
        }
        if change.new.is_some() {
            return self.at(root, change.path.as_bytes());
        }
        above(change.path.as_bytes()).find_map(|directory| self.at(root, directory))
    }

    /// Returns whether a scan read a file or a directory that last changed at a time of a kind.
    pub fn has_any_at(&self, is_meant: impl Fn(Milliseconds) -> bool) -> bool {
        self.known
            .values()
            .any(|time| is_meant(millisecond_of(*time)))
    }

    /// Returns the files that a scan read and that last changed at a time of a kind.
    pub fn read_at(&self, is_meant: impl Fn(Milliseconds) -> bool) -> Vec<WorkspacePath> {
        let read = self.known.iter();
        let meant = read.filter(|(_, time)| is_meant(millisecond_of(**time)));
        meant
            .filter_map(|(path, _)| WorkspacePath::new(&path[..]).ok())
            .collect()
    }

    /// Returns whether a path may have been written at a time of a kind, whatever its state is now.
    pub fn may_be_written(
        &self,
        root: &Path,
        path: &WorkspacePath,
        is_since: impl Fn(Milliseconds) -> bool,
    ) -> bool {
        let own = self.at(root, path.as_bytes());
        let time =
            own.or_else(|| above(path.as_bytes()).find_map(|directory| self.at(root, directory)));
        self.is_remote || time.is_some_and(is_since)
    }

    /// Returns when paths came and went with a directory that was moved, by path: no later than its own time, and that
    /// of the directory that it left. `is_since` returns whether a time is later than the last full look.
    pub fn of_moves(
        &self,
        root: &Path,
        changes: &[Change],
        is_since: impl Fn(Milliseconds) -> bool,
    ) -> HashMap<WorkspacePath, Arrival> {
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
                let above = new.path.directories_above();
                let above: Vec<WorkspacePath> = above.collect();
                let is_below = |path: &&[u8]| path.len() >= moved.below.len();
                let up = above.iter().map(WorkspacePath::as_bytes);
                let exact = self.moved_at(root, up.take_while(is_below), &is_since);
                let arrival = Arrival {
                    at: exact.map_or(at, |exact| exact.min(at)),
                    is_exact: exact.is_some(),
                };
                times.insert(new.path.clone(), arrival);
                times.insert(old.path.clone(), arrival);
            }
        }
        times
    }

    /// Returns an upper bound for when a changed path came to its place, if it came with a directory that was moved
    /// there since the last full look. `is_since` returns whether a time is later than that look.
    ///
    /// A rename changes the times of the directory that is moved and of the one that it enters, and no others. So a
    /// path that did not exist at the last look, and whose own time is older than that look, came no later than either
    /// of them last changed.
    pub fn of_arrival(
        &self,
        root: &Path,
        change: &Change,
        is_since: impl Fn(Milliseconds) -> bool,
    ) -> Option<Arrival> {
        let above = change.path.directories_above();
        let above: Vec<WorkspacePath> = above.collect();
        let has_arrived =
            |directory: &WorkspacePath| self.has_arrived(directory.as_bytes(), change);
        let arrived = above.iter().rposition(has_arrived)?;
        let directories = above.iter().map(WorkspacePath::as_bytes).chain([&b""[..]]);
        let times = directories.clone().take(arrived + 2);
        let times = times.map(|path| self.at(root, path).filter(|at| is_since(*at)));
        let moved = times.skip_while(Option::is_none);
        let at = moved.take(2).flatten().min()?;
        let exact = self.moved_at(root, directories.take(arrived + 1), &is_since);
        Some(Arrival {
            at,
            is_exact: exact.is_some(),
        })
    }

    /// Returns whether a changed path may have come or gone with a directory above it, or was not captured before or
    /// now: then its own time need not be that of the change.
    pub fn may_have_come(&self, change: &Change) -> bool {
        let is_uncaptured = |state: State| state.is_some_and(|entry| !entry.is_stored());
        let mut above = std::iter::successors(change.path.parent(), WorkspacePath::parent);
        is_uncaptured(change.old)
            || is_uncaptured(change.new)
            || above.any(|directory| self.has_arrived(directory.as_bytes(), change))
    }

    /// Returns when a directory was moved, given it and those below it, lowest first. The lowest one that changed since
    /// the last look is the one that was moved. A move does not touch its names, nor the time at which they last
    /// changed. `None` if they changed since: then it is not known where its own time comes from.
    fn moved_at<'p>(
        &self,
        root: &Path,
        mut directories: impl Iterator<Item = &'p [u8]>,
        is_since: &impl Fn(Milliseconds) -> bool,
    ) -> Option<Milliseconds> {
        directories.find_map(|path| {
            let at = self.at(root, path).filter(|at| is_since(*at))?;
            let names_at = names_changed_at(root, path);
            Some(names_at.filter(|names_at| !is_since(*names_at)).map(|_| at))
        })?
    }

    fn has_arrived(&self, directory: &[u8], change: &Change) -> bool {
        match &self.arrived {
            Some(arrived) => arrived.contains(directory),
            // What did not exist before and is older than the last look came with one of its directories.
            None => change.old.is_none(),
        }
    }

    fn at(&self, root: &Path, path: &[u8]) -> Option<Milliseconds> {
        let known = self.known.get(path).copied();
        let nanoseconds = known.or_else(|| look(root, path))?;
        Some(millisecond_of(self.latest(nanoseconds)))
    }

    /// Returns the latest moment that a time can mean. On a file system with whole seconds, that is the end of the
    /// second: a tool that began in it may have made the change. What had changed in it before the tool began was seen
    /// then.
    fn latest(&self, time: FileTime) -> FileTime {
        const SECOND: FileTime = 1_000_000_000;
        if time % SECOND == 0 {
            (time + SECOND - 1).min(self.now).max(time)
        } else {
            time
        }
    }
}

/// Returns the directories that did not exist before, or were different ones.
fn arrived(found: &[ThreadFindings], before: &StampBefore<'_>) -> HashSet<Vec<u8>> {
    let listings = found.iter().flat_map(|found| &found.listings);
    let is_another =
        |path: &[u8], stamp: &Stamp| before(path).is_none_or(|before| before.inode != stamp.inode);
    let arrived = listings.filter_map(|(path, listing)| {
        let stamp = &listing.as_ref()?.stamp;
        is_another(path, stamp).then(|| path.clone())
    });
    arrived.collect()
}

/// Asks the file system when a path last changed.
fn look(root: &Path, path: &[u8]) -> Option<i64> {
    Some(stamp(root, path)?.ctime)
}

/// Asks the file system when the names in a directory last changed, in milliseconds.
fn names_changed_at(root: &Path, path: &[u8]) -> Option<Milliseconds> {
    Some(millisecond_of(stamp(root, path)?.mtime))
}

fn stamp(root: &Path, path: &[u8]) -> Option<Stamp> {
    if path.is_empty() {
        return Some(Stamp::of(&rustix::fs::lstat(root).ok()?));
    }
    let root = beneath::open_root(root).ok()?;
    let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&b""[..], path),
    };
    let directory = beneath::open_directory(root.as_fd(), above).ok()?;
    beneath::stat(directory.as_fd(), name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Entry, Mode, ObjectId};
    use crate::snapshot::GapReason;
    use crate::snapshot::rules::DirectoryView;
    use crate::snapshot::scan::listing::{ListedItem, Listing, ListingState};

    /// What is known better than by a stamp counts.
    #[test]
    fn better_knowledge_than_a_stamp_counts() {
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
        let times = Times::of(&found, &BTreeMap::new(), None, 0, false);
        assert_eq!(times.of_change(nowhere, &change("d/f", true)), Some(2));
        assert_eq!(
            times.of_change(nowhere, &change("d/gone", false)),
            Some(1),
            "its directory's"
        );
        let noted = BTreeMap::from([(b"d/f".to_vec(), 7_000_000), (b"d".to_vec(), 8_000_000)]);
        let times = Times::of(&found, &noted, None, 0, false);
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

    /// A time in whole seconds is that of any moment in it.
    #[test]
    fn whole_second_is_any_moment_in_it() {
        let at = |time: i64, now: i64| {
            let found = listed(&[("d", 1, time)]);
            let times = Times::of(&found, &BTreeMap::new(), None, now * 1_000_000, false);
            let change = Change {
                path: WorkspacePath::new("d/gone").expect("legal"),
                old: None,
                new: None,
            };
            times.of_change(Path::new("/nowhere"), &change)
        };
        assert_eq!(at(5_000, 9_000), Some(5_999), "the last one counts");
        assert_eq!(at(5_000, 5_300), Some(5_300), "that there was");
        assert_eq!(at(5_000, 4_000), Some(5_000), "a clock that jumped");
        assert_eq!(at(5_001, 9_000), Some(5_001), "another file system");
    }

    /// What a scan found: directories with their inodes and times in milliseconds.
    fn listed(directories: &[(&str, u64, i64)]) -> Vec<ThreadFindings> {
        let mut found = ThreadFindings::default();
        for (path, inode, at) in directories {
            let stamp = Stamp {
                ctime: at * 1_000_000,
                inode: *inode,
                ..Stamp::default()
            };
            let listing = Listing::unread(stamp, DirectoryView::Open, ListingState::Listed);
            let path = path.as_bytes().to_vec();
            found.listings.push((path, Some(listing)));
        }
        vec![found]
    }

    /// When a path came, by what a scan found and the inodes of directories before it. Everything was looked at in
    /// moment 40.
    fn arrival(found: &[(&str, u64, i64)], before: &[(&str, u64)], path: &str) -> Option<i64> {
        let seen = |path: &[u8]| {
            let mut before = before.iter();
            let (_, inode) = before.find(|(known, _)| known.as_bytes() == path)?;
            Some(Stamp {
                inode: *inode,
                ..Stamp::default()
            })
        };
        let times = Times::of(&listed(found), &BTreeMap::new(), Some(&seen), 0, false);
        let change = Change {
            path: WorkspacePath::new(path).expect("legal"),
            old: None,
            new: Some(Entry::stored(Mode::file(0o644), ObjectId::new([1; 20]))),
        };
        let arrival = times.of_arrival(Path::new("/nowhere"), &change, |at| at >= 40);
        arrival.map(|arrival| arrival.at)
    }

    #[test]
    fn what_a_directory_brought_came_when_it_did() {
        let root = [("", 1)];
        let moved = [("", 1, 50), ("d", 7, 50), ("d/e", 8, 3)];
        assert_eq!(arrival(&moved, &root, "d/e/f"), Some(50));
        let into = [("", 1, 50), ("new", 6, 50), ("new/d", 7, 50)];
        assert_eq!(arrival(&into, &root, "new/d/f"), Some(50), "a new one");
        let worked_in = [("", 1, 50), ("d", 7, 90)];
        assert_eq!(arrival(&worked_in, &root, "d/f"), Some(50), "since then");
        let worked_beside = [("", 1, 90), ("d", 7, 50)];
        assert_eq!(arrival(&worked_beside, &root, "d/f"), Some(50));
        let untold = [("", 1, 50), ("d", 7, 3)];
        assert_eq!(
            arrival(&untold, &root, "d/f"),
            Some(50),
            "not every file system changes the time of what is renamed"
        );
        let replaced = [("", 1, 50), ("d", 7, 50)];
        let another = [("", 1), ("d", 6)];
        assert_eq!(arrival(&replaced, &another, "d/f"), Some(50));
    }

    #[test]
    fn a_directory_that_was_there_brings_nothing() {
        let before = [("", 1), ("d", 7)];
        let written_in = [("", 1, 50), ("d", 7, 50)];
        assert_eq!(arrival(&written_in, &before, "d/f"), None, "the same one");
        assert_eq!(arrival(&[("", 1, 50)], &[], "f"), None, "none is above it");
        let old = [("", 1, 3), ("d", 7, 3)];
        assert_eq!(arrival(&old, &[("", 1)], "d/f"), None, "no time fits");
    }

    proptest::proptest! {
        /// An arrival is dated between the move and the last work near it.
        ///
        /// A directory was moved to some depth, and directories were worked in before and since.
        #[test]
        fn arrival_is_dated_between_move_and_last_work(
            moved in 41_i64..60,
            depth in 0_usize..3,
            below in 0_usize..3,
            work in proptest::collection::vec((0_usize..7, 0_i64..100), 0..8),
        ) {
            let names = ["", "a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/b/c/d/e/f"];
            let names = &names[..depth + below + 2];
            // What was moved is at `depth + 1`; what is above stood there before.
            let mut times: Vec<i64> = vec![3; names.len()];
            for at in [depth, depth + 1] {
                times[at] = moved;
            }
            for (place, at) in &work {
                let is_late = *at > moved;
                if let Some(time) = times.get_mut(*place).filter(|_| is_late) {
                    *time = (*time).max(*at);
                }
            }
            let found: Vec<(&str, u64, i64)> = names.iter().zip(&times)
                .enumerate().map(|(inode, (name, at))| (*name, inode as u64, *at)).collect();
            let before: Vec<(&str, u64)> = found[..=depth].iter().map(|(name, inode, _)| (*name, *inode)).collect();
            let came = arrival(&found, &before, &format!("{}/file", names[names.len() - 1])).expect("it was moved");
            proptest::prop_assert!(came >= moved);
            proptest::prop_assert!(came <= *times.iter().max().expect("some"));
            let is_untouched = times[depth + 1..].iter().skip(1).all(|at| *at == 3)
                && (times[depth] == moved || times[depth + 1] == moved);
            proptest::prop_assert!(!is_untouched || came == moved);
        }
    }
}
