//! What came while ignore rules changed. A path that comes into view then may have been there, hidden, or not. The names
//! that the last look saw tell. This module does IO, but only reads.

use std::collections::BTreeSet;

use super::cache::Cache;
use super::patch::came_into_view;
use super::scan::directory::IGNORED_NAMES;
use super::scan::listing::{ItemKind, ListingState};
use super::view::SnapshotView;
use super::{Snapshot, rules::DirectoryView};
use crate::error::Result;
use crate::model::entry::Change;
use crate::model::path::{WorkspacePath, join};
use crate::objects::reader::ObjectReader;

/// Paths that rules hid at a snapshot, at which nothing was, and that are in view since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrivals {
    /// The snapshot, if anything came.
    pub since: Option<Snapshot>,
    /// The paths.
    pub paths: Vec<Vec<u8>>,
}

impl Arrivals {
    /// Returns those that a look finds after the one that a cache is of. A look without rows, as that of a dry run, may
    /// come in between, so earlier ones count as long as they stay in view.
    pub fn found(reader: &ObjectReader, cache: &Cache, now: &Snapshot) -> Result<Self> {
        let since = cache.header.snapshot;
        let came = came_into_view(reader, &since, now)?;
        let came = came.into_iter().filter(|change| was_absent(cache, change));
        let paths: Vec<Vec<u8>> = came.map(|change| change.path.as_bytes().to_vec()).collect();
        if !paths.is_empty() {
            let since = Some(since);
            return Ok(Self { since, paths });
        }
        let mut earlier = cache.header.arrivals.clone();
        if !earlier.paths.is_empty() {
            let view = SnapshotView::open(reader, now)?;
            let is_there = |path: &Vec<u8>| {
                let path = WorkspacePath::new(&path[..]).ok();
                path.is_some_and(|path| view.state(&path).is_ok_and(|state| state.is_some()))
            };
            earlier.paths.retain(is_there);
        }
        Ok(earlier)
    }

    /// Returns those since a snapshot.
    pub fn since(&self, snapshot: &Snapshot) -> BTreeSet<&[u8]> {
        let is_of_it = self.since.as_ref() == Some(snapshot);
        let paths = self.paths.iter().filter(|_| is_of_it);
        paths.map(Vec::as_slice).collect()
    }
}

/// Returns whether what came was not there when a cache was written, captured or not. False if nobody knows.
fn was_absent(cache: &Cache, change: &Change) -> bool {
    let path = &change.path;
    let mut above: Vec<u8> = Vec::new();
    for name in path.components() {
        let directory = cache.find(&above).and_then(|at| cache.directory(at));
        let Some(directory) = directory else {
            return false;
        };
        if directory.state() != Some(ListingState::Listed)
            || directory.view() == DirectoryView::Passage
        {
            return false;
        }
        let at = join(&above, name);
        match directory.item(name).map(|item| item.kind()) {
            Some(Some(ItemKind::Directory)) => above = at,
            // A file, so nothing was below it.
            Some(Some(ItemKind::Content(_))) => return at != path.as_bytes(),
            Some(_) => return false,
            None => {
                let mut ignored = directory
                    .items()
                    .filter(|item| item.kind() == Some(ItemKind::Ignored));
                let last = ignored.nth(IGNORED_NAMES - 1);
                return last.is_none_or(|last| name < last.name);
            }
        }
    }
    // A directory was there, and so no file.
    change.new.is_some_and(|entry| !entry.is_empty_directory())
}
