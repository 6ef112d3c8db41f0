//! The directories of a workspace: those that were looked at, overlaid on those that the cache remembers.
//!
//! What was not looked at stays in the cache: after ten edits, ten listings are made, not a hundred thousand.

use std::collections::{BTreeMap, BTreeSet};

use super::listing::{ItemKind, ListedItem, Listing, ListingState};
use crate::model::entry::{ObjectId, file_type};
use crate::model::path::{IGNORE_FILE, join, split};
use crate::snapshot::attributes::{Bearer, FilePermissions};
use crate::snapshot::cache::{Cache, Directory, Records};
use crate::snapshot::{Gap, GapReason};

/// Every directory, by path; the root's is empty.
pub(crate) struct Overlay<'c> {
    below: Option<&'c Cache>,
    fresh: BTreeMap<Vec<u8>, Listing>,
    gone: BTreeSet<Vec<u8>>,
}

/// One directory of an overlay.
pub(crate) enum OverlayDirectory<'a> {
    /// It was looked at: its path, and what was found.
    Fresh(&'a [u8], &'a Listing),
    /// It is unchanged in the cache.
    Remembered(Directory<'a>),
}

impl<'c> Overlay<'c> {
    /// Returns an empty overlay over a cache, or over nothing.
    pub fn over(below: Option<&'c Cache>) -> Self {
        Self {
            below,
            fresh: BTreeMap::new(),
            gone: BTreeSet::new(),
        }
    }

    /// Returns the cache that it lies over.
    pub fn below(&self) -> Option<&'c Cache> {
        self.below
    }

    /// Sets the listing of a directory; `None` if the directory vanished.
    pub fn put(&mut self, path: Vec<u8>, listing: Option<Listing>) {
        match listing {
            // If a directory was looked at twice, once because its parent found it, the last listing counts.
            Some(listing) => {
                self.gone.remove(&path);
                self.fresh.insert(path, listing);
            }
            None => self.remove(&path),
        }
    }

    fn remove(&mut self, path: &[u8]) {
        self.fresh.remove(path);
        // What the cache never knew is no news to it.
        if self.remembered(path).is_some() {
            self.gone.insert(path.to_vec());
        }
    }

    /// Returns the new listing of a directory that was looked at.
    pub fn fresh(&self, path: &[u8]) -> Option<&Listing> {
        self.fresh.get(path)
    }

    /// Like [`fresh`](Self::fresh), mutable.
    pub fn fresh_mut(&mut self, path: &[u8]) -> Option<&mut Listing> {
        self.fresh.get_mut(path)
    }

    /// Returns whether a directory was looked at.
    pub fn has_fresh(&self, path: &[u8]) -> bool {
        self.fresh.contains_key(path)
    }

    /// Returns the directories that are in the cache but no longer in the workspace.
    pub fn gone(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.gone.iter()
    }

    /// Returns a directory, to be changed, as if it had been looked at.
    pub fn load(&mut self, path: &[u8]) -> Option<&mut Listing> {
        if !self.fresh.contains_key(path) {
            let listing = self.remembered(path)?.listing()?;
            self.fresh.insert(path.to_vec(), listing);
        }
        self.fresh.get_mut(path)
    }

    fn remembered(&self, path: &[u8]) -> Option<Directory<'c>> {
        let number = self
            .below?
            .find(path)
            .filter(|_| !self.gone.contains(path))?;
        self.below?.directory(number)
    }

    /// Returns whether there is such a directory.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.fresh.contains_key(path) || self.remembered(path).is_some()
    }

    /// Returns the tree of a directory, or `None` if nothing in it is captured.
    pub fn tree(&self, path: &[u8]) -> Option<ObjectId> {
        match self.fresh.get(path) {
            Some(listing) => listing.tree,
            None => self.remembered(path)?.tree(),
        }
    }

    /// Returns the names of a directory's files and links that are captured, sorted.
    pub fn contents(&self, path: &[u8]) -> Vec<&[u8]> {
        let mut names = Vec::new();
        if let Some(seen) = self.seen(path) {
            seen.contents(|name, _| names.push(name));
        }
        names
    }

    fn seen(&self, path: &[u8]) -> Option<OverlayDirectory<'_>> {
        if let Some((path, listing)) = self.fresh.get_key_value(path) {
            return Some(OverlayDirectory::Fresh(path, listing));
        }
        let number = self
            .below?
            .find(path)
            .filter(|_| !self.gone.contains(path))?;
        let directory = self.below?.directory(number)?;
        Some(OverlayDirectory::Remembered(directory))
    }

    fn has_directory(&self, directory: &[u8], name: &[u8]) -> bool {
        match self.fresh.get(directory) {
            Some(listing) => listing
                .item(name)
                .is_some_and(|item| item.kind == ItemKind::Directory),
            None => self
                .remembered(directory)
                .and_then(|directory| directory.item(name))
                .is_some_and(|item| item.kind() == Some(ItemKind::Directory)),
        }
    }

    /// Returns whether a directory holds an ignore file that ignores itself, or cannot be read.
    pub fn is_watched(&self, directory: &[u8]) -> bool {
        let kind = match self.fresh.get(directory) {
            Some(listing) => listing.item(IGNORE_FILE).map(|item| item.kind.clone()),
            None => self
                .remembered(directory)
                .and_then(|directory| directory.item(IGNORE_FILE)?.kind()),
        };
        matches!(
            kind,
            Some(ItemKind::Watched(_) | ItemKind::Gap(GapReason::Unreadable(_)))
        )
    }

    /// Returns whether nothing differs from the cache.
    pub fn is_same(&self) -> bool {
        let is_same = |(path, listing): (&Vec<u8>, &Listing)| self.is_remembered(path, listing);
        self.below.is_some() && self.gone.is_empty() && self.fresh.iter().all(is_same)
    }

    /// Returns whether the cache holds exactly this listing of a directory.
    fn is_remembered(&self, path: &[u8], listing: &Listing) -> bool {
        self.remembered(path).is_some_and(|old| old.is(listing))
    }

    /// Adds what is seen and not stored in the directories that were looked at.
    pub fn add_seen(&self, seen: &mut Vec<Gap>) {
        let fresh = self.fresh.iter();
        fresh.for_each(|(path, listing)| add_seen(path, listing, seen));
    }

    /// Returns every directory, by path.
    pub fn iter(&self) -> impl Iterator<Item = OverlayDirectory<'_>> {
        self.iter_with(|_| true)
    }

    /// Returns every directory that was looked at, and those of the others whose number in the cache is asked for, by
    /// path.
    pub fn iter_with<'a>(
        &'a self,
        is_wanted: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = OverlayDirectory<'a>> {
        let numbers = (0..self.below.map_or(0, Cache::len)).filter(move |at| is_wanted(*at));
        let remembered = numbers.filter_map(|number| self.below?.directory(number));
        let mut remembered = remembered
            .filter(|directory| self.gone.is_empty() || !self.gone.contains(directory.path))
            .peekable();
        let mut fresh = self.fresh.iter().peekable();
        // Both are sorted by path, so one pass joins them; what was looked at takes the place of what was remembered.
        std::iter::from_fn(move || {
            let Some((path, listing)) = fresh.peek().copied() else {
                return remembered.next().map(OverlayDirectory::Remembered);
            };
            match remembered.next_if(|directory| *directory.path < path[..]) {
                Some(directory) => Some(OverlayDirectory::Remembered(directory)),
                None => {
                    remembered.next_if(|directory| *directory.path == path[..]);
                    fresh.next();
                    Some(OverlayDirectory::Fresh(path, listing))
                }
            }
        })
    }

    /// Drops the directories that no directory lists any more, and marks the names as unsettled in those that list a
    /// directory which is gone.
    pub fn prune(&mut self) {
        if self.below.is_some() {
            let looked_at: Vec<Vec<u8>> = self.fresh.keys().cloned().collect();
            looked_at.iter().for_each(|path| self.drop_what_went(path));
            let gone: Vec<Vec<u8>> = self.gone.iter().cloned().collect();
            gone.iter().for_each(|path| self.drop_below(path));
        }
        // After what went: a directory that was looked at may have been listed by one that is gone.
        self.drop_orphans();
        self.distrust_torn();
    }

    /// Drops directories whose parent no longer lists them. A directory's path sorts before those of its entries.
    fn drop_orphans(&mut self) {
        let paths: Vec<Vec<u8>> = self
            .fresh
            .keys()
            .filter(|path| !path.is_empty())
            .cloned()
            .collect();
        for path in paths {
            let (outer, name) = split(&path);
            if !self.has_directory(outer, name) {
                self.remove(&path);
            }
        }
    }

    /// Drops the directories that a directory held when it was remembered, and no longer holds.
    fn drop_what_went(&mut self, path: &[u8]) {
        let Some(old) = self
            .below
            .and_then(|below| below.directory(below.find(path)?))
        else {
            return;
        };
        let directories = old
            .items()
            .filter(|item| item.kind() == Some(ItemKind::Directory));
        let went: Vec<_> = directories
            .filter(|item| !self.has_directory(path, item.name))
            .collect();
        for item in went {
            self.remove(&join(path, item.name));
        }
    }

    fn drop_below(&mut self, path: &[u8]) {
        // `a-b` and `a.b` sort between `a` and what is below it, so the range begins at the slash.
        let start = [path, b"/"].concat();
        let Some(below) = self.below else { return };
        for number in below.first_from(&start)..below.len() {
            match below.directory(number) {
                Some(directory) if directory.path.starts_with(&start) => {
                    self.remove(directory.path)
                }
                _ => break,
            }
        }
    }

    /// Returns whether a directory lists another one that was gone when it was to be read.
    fn is_torn(&self, path: &[u8], listing: &Listing) -> bool {
        let directories = listing.items.iter();
        let mut directories = directories.filter(|item| item.kind == ItemKind::Directory);
        directories.any(|item| !self.contains(&join(path, &item.name)))
    }

    /// Marks the names as unsettled in directories that list one which vanished after its name was read, so that the
    /// next scan reads them again.
    fn distrust_torn(&mut self) {
        let mut torn: Vec<Vec<u8>> = self
            .fresh
            .iter()
            .filter(|(path, listing)| self.is_torn(path, listing))
            .map(|(path, _)| path.clone())
            .collect();
        let outer = |path: &Vec<u8>| {
            let (outer, name) = split(path);
            self.has_directory(outer, name).then(|| outer.to_vec())
        };
        torn.extend(self.gone.iter().filter_map(outer));
        for path in torn {
            if let Some(listing) = self.load(&path) {
                listing.is_settled = false;
            }
        }
    }
}

impl<'a> OverlayDirectory<'a> {
    /// Returns its path.
    pub fn path(&self) -> &'a [u8] {
        match self {
            Self::Fresh(path, _) => path,
            Self::Remembered(directory) => directory.path,
        }
    }

    /// Returns its mode.
    pub fn mode(&self) -> u32 {
        match self {
            Self::Fresh(_, listing) => listing.stamp.mode,
            Self::Remembered(directory) => directory.stamp().mode,
        }
    }

    /// Returns whether anything in it is captured.
    pub fn has_tree(&self) -> bool {
        match self {
            Self::Fresh(_, listing) => listing.tree.is_some(),
            Self::Remembered(directory) => directory.tree().is_some(),
        }
    }

    /// Returns the kind of the directory. `None` for one without captured entries that is out of view itself.
    pub fn bearer(&self) -> Option<Bearer> {
        let (view, is_empty) = match self {
            Self::Fresh(_, listing) => (listing.view, listing.is_empty),
            Self::Remembered(directory) => (directory.view(), directory.is_empty()),
        };
        if self.has_tree() {
            return Some(Bearer::Directory);
        }
        if !view.shows_empty() || self.state() != Some(ListingState::Listed) {
            return None;
        }
        Some(match is_empty {
            true => Bearer::EmptyDirectory,
            false if self.has_directories() => Bearer::Directory,
            false => Bearer::OccupiedDirectory,
        })
    }

    fn has_directories(&self) -> bool {
        match self {
            Self::Fresh(_, listing) => listing
                .items
                .iter()
                .any(|item| item.kind == ItemKind::Directory),
            Self::Remembered(directory) => directory.has_directories(),
        }
    }

    /// Returns the permissions of its files, or `None` if not all of a kind have the same.
    pub fn permissions(&self) -> Option<FilePermissions> {
        match self {
            Self::Fresh(_, listing) => listing.permissions(),
            Self::Remembered(directory) => directory.permissions(),
        }
    }

    /// Calls `each` with the name and the mode of every file and link that is captured.
    pub fn contents(&self, mut each: impl FnMut(&'a [u8], u32)) {
        match self {
            Self::Fresh(_, listing) => {
                let is_content = |item: &&ListedItem| matches!(item.kind, ItemKind::Content(_));
                listing
                    .items
                    .iter()
                    .filter(is_content)
                    .for_each(|item| each(&item.name, item.stamp.mode));
            }
            Self::Remembered(directory) => {
                let contents = directory.items().filter(|item| item.content().is_some());
                contents.for_each(|item| each(item.name, item.stamp.mode));
            }
        }
    }

    fn state(&self) -> Option<ListingState> {
        match self {
            Self::Fresh(_, listing) => Some(listing.state.clone()),
            Self::Remembered(directory) => directory.state(),
        }
    }

    /// Adds its record for the cache.
    pub fn append_to(&self, records: &mut Records) {
        match self {
            Self::Fresh(path, listing) => records.put(path, listing),
            Self::Remembered(directory) => directory.append_to(records),
        }
    }
}

/// Adds what is seen and not stored in a directory that was looked at.
fn add_seen(path: &[u8], listing: &Listing, seen: &mut Vec<Gap>) {
    let own = match (&listing.state, listing.view) {
        (ListingState::Gap(reason), _) => Some(reason.clone()),
        (ListingState::LeftOut, _) => Some(GapReason::Ignored),
        // It is ignored, and looked into for something that may be below it.
        (ListingState::Listed, view) if listing.tree.is_none() && !view.shows_empty() => {
            Some(GapReason::Ignored)
        }
        (ListingState::Listed, _) => listing.has_more_ignored.then_some(GapReason::MoreIgnored),
    };
    let is_ignored = own == Some(GapReason::Ignored);
    let items = listing.items.iter();
    let entries = items.filter_map(|item| entry_of(path, item));
    // What is in an ignored directory does not count.
    seen.extend(entries.filter(|entry| !is_ignored || entry.reason.is_reported()));
    seen.extend(own.map(|reason| Gap {
        path: path.to_vec(),
        reason,
        size: None,
        is_directory: true,
    }));
}

/// Returns the seen entry of an item that is not captured. Only a file has a size.
fn entry_of(directory: &[u8], item: &ListedItem) -> Option<Gap> {
    let reason = match &item.kind {
        ItemKind::Gap(reason) => reason.clone(),
        // It decides about its neighbours, and is ignored itself.
        ItemKind::Watched(_) => GapReason::Ignored,
        ItemKind::Content(_) | ItemKind::Directory => return None,
    };
    // Of a name that is never captured, nothing was looked at but its kind.
    let is_file = item.stamp.file_type() == file_type::REGULAR
        && reason.is_reported()
        && reason != GapReason::ReservedName;
    Some(Gap {
        path: match reason {
            GapReason::Repository => directory.to_vec(),
            _ => join(directory, &item.name),
        },
        size: is_file.then_some(item.stamp.size),
        is_directory: item.stamp.file_type() == file_type::DIRECTORY,
        reason,
    })
}
