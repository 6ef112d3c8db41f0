//! Snapshots: a workspace at one moment, as a git tree of raw bytes in a separate bare repository.
//!
//! This room does not know sessions. It reads the workspace, never writes to it, and runs no program.

mod adoption;
mod attributes;
mod cache;
mod check;
mod difference;
mod forget;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod moves;
mod patch;
mod pending_removal;
mod presence;
mod repack;
mod repository_note;
mod request;
mod retrace;
mod rules;
mod scan;
mod seed;
mod seen_entries;
mod single_paths;
mod take;
mod times;
mod transfer;
mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::fs::disk::Stamp;
use crate::fs::names;
use crate::model::entry::{Change, Entry, EntryKind, Mode, ObjectId, State};
use crate::model::path::WorkspacePath;
use crate::objects::pack::rebuild::rebuild_indexes;
use crate::objects::{Objects, borrowed_packs, refs};
pub(crate) use adoption::AdoptionResult;
pub(crate) use check::{Broken, Checked, PackCheck};
pub(crate) use forget::Replacements;
pub(crate) use patch::Budget;
pub(crate) use pending_removal::{Forgetting, end_forgetting};
pub(crate) use presence::Presence;
pub use request::{Request, StoredSnapshot};
pub(crate) use rules::{PathPattern, PathPatterns};
pub(crate) use scan::directory::IGNORED_NAMES;
pub use single_paths::Now;
pub(crate) use take::{boot, seen};
pub use times::Times;
pub(crate) use transfer::{Sending, looks_secret};
use view::SnapshotView;

pub use crate::model::entry::Snapshot;
pub use crate::model::gap::{Gap, GapReason, ReadFailure, SpecialFile};

/// One side of a patch: a snapshot and its gaps.
#[derive(Clone, Copy, Debug)]
pub struct PatchSide<'a> {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Its gaps.
    pub gaps: &'a [Gap],
}

/// The snapshots of one workspace.
pub struct Snapshots {
    directory: PathBuf,
    objects: Objects,
}

impl Snapshots {
    /// Opens the folder of one workspace below the store's `snapshots`, and creates it if it is missing.
    pub fn open(directory: &Path) -> Result<Self> {
        let objects = Objects::open(directory.join(names::REPOSITORY))?;
        Ok(Self {
            directory: directory.to_owned(),
            objects,
        })
    }

    /// Returns the path of the bare repository.
    pub fn repository(&self) -> PathBuf {
        self.objects.repository().to_owned()
    }

    /// Reads the seen entries of a snapshot, by path.
    pub fn seen(&self, seen: Option<ObjectId>) -> Result<Vec<Gap>> {
        seen_entries::read(&*self.objects.reader()?, seen)
    }

    /// Reads the seen entries that reports list.
    pub(crate) fn gaps(&self, snapshot: &Snapshot) -> Result<Vec<Gap>> {
        let mut entries = self.seen(snapshot.seen)?;
        entries.retain(|entry| entry.reason.is_reported());
        Ok(entries)
    }

    /// Returns whether packs are still files of the user's repository. [`Snapshots::adopt_packs`] ends that.
    pub(crate) fn borrows(&self) -> bool {
        self.objects.borrows()
    }

    /// Returns whether there are so many packs that they should be joined.
    pub(crate) fn is_crowded(&self) -> bool {
        self.objects.is_crowded()
    }

    /// Looks up whether packs are still files of the user's repository.
    pub(crate) fn borrows_now(&self) -> Result<bool> {
        Ok(!borrowed_packs::list(&self.objects.packs())?.is_empty())
    }

    /// Rebuilds damaged and missing indexes of packs of at most `largest` bytes, and returns the packs' names. The
    /// caller holds the workspace's lock.
    pub(crate) fn rebuild_indexes(&self, largest: u64) -> Result<Vec<PathBuf>> {
        let rebuilt = rebuild_indexes(&self.objects.packs(), largest)?;
        if !rebuilt.is_empty() {
            self.objects.reader()?.reopen()?;
        }
        Ok(rebuilt)
    }

    /// Returns whether something was read from a pack whose index is damaged or missing.
    pub(crate) fn needs_indexes(&self) -> bool {
        self.objects
            .reader()
            .is_ok_and(|reader| reader.has_rebuilt())
    }

    /// Looks at which packs are there, instead of counting on what is noted of them.
    pub(crate) fn list_packs(&self) -> Result<()> {
        self.objects.reader()?.refresh()
    }

    /// Returns whether an object cannot be read.
    pub(crate) fn is_broken(&self, id: ObjectId) -> bool {
        self.objects
            .reader()
            .is_ok_and(|reader| reader.any(id).is_err() && reader.check_blob(id).is_err())
    }

    /// Writes refs to what rows name.
    pub(crate) fn write_refs(&self, trees: &[(i64, ObjectId)], blobs: &[ObjectId]) -> Result<()> {
        refs::write(self.objects.repository(), trees, blobs)
    }

    /// Stores one path as it is now, whatever ignore rules say, without a snapshot. Its blob is synced.
    pub fn store_path(&self, root: &Path, path: &WorkspacePath) -> Result<State> {
        single_paths::store_path(&self.objects, root, path)
    }

    /// Stores several paths at once, like [`Snapshots::store_path`], and returns their states in order.
    pub fn store_paths(&self, root: &Path, paths: &[WorkspacePath]) -> Result<Vec<Result<State>>> {
        single_paths::store_paths(&self.objects, root, paths)
    }

    /// Returns for each path, in order, whether it may exist now, captured or not. False means that it certainly does
    /// not.
    pub fn may_be_there(&self, root: &Path, paths: &[WorkspacePath]) -> Result<Vec<bool>> {
        single_paths::may_be_there(root, paths)
    }

    /// Returns every entry of a snapshot, by path. Trees are validated as they are read.
    pub fn entries(&self, snapshot: &Snapshot) -> Result<Vec<(WorkspacePath, Entry)>> {
        let reader = self.objects.reader()?;
        SnapshotView::open(&reader, snapshot)?.entries()
    }

    /// Returns the states of some paths in a snapshot, in the order of the paths.
    pub fn states(&self, snapshot: &Snapshot, paths: &[WorkspacePath]) -> Result<Vec<State>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        paths.iter().map(|path| view.state(path)).collect()
    }

    /// Returns the entries at, above and below some paths in a snapshot, by path: the entries themselves, a file that
    /// is in the way of one, and everything below a directory. The paths are sorted.
    pub fn around(
        &self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
    ) -> Result<Vec<(WorkspacePath, Entry)>> {
        let reader = self.objects.reader()?;
        SnapshotView::open(&reader, snapshot)?.around(paths)
    }

    /// Returns for each path, in order, whether it is a directory in a snapshot, empty or not.
    pub fn are_directories(
        &self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
    ) -> Result<Vec<bool>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        paths.iter().map(|path| view.is_directory(path)).collect()
    }

    /// Parts paths into the directories of a snapshot and the others.
    pub(crate) fn part_directories(
        &self,
        snapshot: &Snapshot,
        paths: Vec<WorkspacePath>,
    ) -> Result<(Vec<WorkspacePath>, Vec<WorkspacePath>)> {
        let mut are_directories = self.are_directories(snapshot, &paths)?.into_iter();
        let parted = paths
            .into_iter()
            .partition(|_| are_directories.next() == Some(true));
        Ok(parted)
    }

    /// Returns for each path, in order, its kind on disk now, or `None` if nothing that can be captured is there.
    pub fn kinds_now(
        &self,
        root: &Path,
        paths: &[WorkspacePath],
    ) -> Result<Vec<Option<EntryKind>>> {
        let stamps = single_paths::stamps(root, paths)?;
        let kind = |stamp: Stamp| Some(Mode::from_stat(stamp.mode)?.kind());
        Ok(stamps.into_iter().map(|stamp| kind(stamp?)).collect())
    }

    /// Returns the paths whose content on disk differs from a given one, as far as the budget goes.
    pub(crate) fn rewritten(
        &self,
        root: &Path,
        entries: Vec<(WorkspacePath, Entry)>,
        budget: Budget,
    ) -> Result<Vec<WorkspacePath>> {
        let reader = self.objects.reader()?;
        let gone = entries.into_iter().map(|(path, entry)| Change {
            path,
            old: Some(entry),
            new: None,
        });
        let changes = patch::rewritten(&self.objects, &reader, root, gone.collect(), budget)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    }

    /// Returns the permissions with which deleted directories are made again, in order, without an ACL. `None` if the
    /// snapshot has no such directory.
    pub fn permissions_to_make(
        &self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
    ) -> Result<Vec<Option<u32>>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        paths
            .iter()
            .map(|path| {
                let is_there = view.is_directory(path)?;
                Ok(is_there.then(|| view.attributes.permissions_without_acl(path)))
            })
            .collect()
    }

    /// Returns the group bits that ACLs take from paths in a snapshot, where there are any.
    pub(crate) fn withheld(
        &self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
    ) -> Result<BTreeMap<WorkspacePath, u32>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        let mut withheld = BTreeMap::new();
        if view.attributes.withhold_nothing() {
            return Ok(withheld);
        }
        for path in paths {
            let bits = view.withheld(path)?;
            withheld.extend((bits != 0).then(|| (path.clone(), bits)));
        }
        Ok(withheld)
    }

    /// Returns every path that differs between two snapshots, by path.
    pub fn difference(&self, old: &Snapshot, new: &Snapshot) -> Result<Vec<Change>> {
        let reader = self.objects.reader()?;
        difference::difference(&reader, old, new)
    }

    /// Returns the empty directories of a snapshot, by path.
    pub fn empty_directories(&self, snapshot: &Snapshot) -> Result<Vec<(WorkspacePath, Entry)>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        let empty = view.attributes.empty_directories();
        Ok(empty
            .map(|(path, mode)| (path.clone(), Entry::stored(mode, ObjectId::EMPTY_TREE)))
            .collect())
    }

    /// Returns the entries, and the directories without captured entries, that came from one snapshot to another, or
    /// became something else.
    pub(crate) fn came(&self, old: &Snapshot, new: &Snapshot) -> Result<Vec<WorkspacePath>> {
        let reader = self.objects.reader()?;
        let before = SnapshotView::open(&reader, old)?;
        let after = SnapshotView::open(&reader, new)?;
        let difference = difference::between(&before, &after)?.into_iter();
        let entries = difference.filter(|change| change.new.is_some());
        let bare = after.attributes.bare_directories();
        let bare = bare.filter(|path| !before.attributes.has_bare_directory(path));
        Ok(entries
            .map(|change| change.path)
            .chain(bare.cloned())
            .collect())
    }

    /// Returns a blob's bytes, decoded and hashed in full.
    pub fn read_blob(&self, blob: ObjectId) -> Result<Vec<u8>> {
        self.objects.reader()?.blob(blob)
    }

    /// Returns a blob's size in bytes, without decoding it.
    pub fn blob_size(&self, blob: ObjectId) -> Result<u64> {
        self.objects.reader()?.blob_size(blob)
    }

    /// Like [`Snapshots::read_blob`], but returns `None`, without decoding it, if the blob is larger than `limit`
    /// bytes.
    pub fn read_blob_up_to(&self, blob: ObjectId, limit: u64) -> Result<Option<Vec<u8>>> {
        Ok(self
            .objects
            .reader()?
            .blob_up_to(blob, limit)?
            .map(Arc::unwrap_or_clone))
    }

    /// Returns a blob for a comparison. `None` if it cannot be read, or is larger than `limit` bytes.
    pub fn comparable(&self, blob: ObjectId, limit: u64) -> Option<Vec<u8>> {
        self.read_blob_up_to(blob, limit).ok().flatten()
    }

    /// Returns a blob that is one of very many versions of a file, each of which is read once.
    pub fn read_version_up_to(&self, blob: ObjectId, limit: u64) -> Result<Option<Vec<u8>>> {
        self.objects.reader()?.version_up_to(blob, limit)
    }

    /// Reads the present content of a path of the workspace, at most `limit` bytes. Stores nothing.
    pub fn read_now(&self, root: &Path, path: &WorkspacePath, limit: u64) -> Result<Now> {
        single_paths::read_now(root, path, limit)
    }

    /// Returns whether ignore rules hide a path, even if an edit tool named it.
    pub fn hides(&self, request: &Request<'_>, path: &WorkspacePath) -> Result<bool> {
        take::hides(request, path)
    }

    /// Writes a blob's bytes to a file in bounded memory, and returns their number. The blob was decoded and hashed in
    /// full before the first byte is written.
    pub fn copy_blob(&self, blob: ObjectId, to: &mut dyn std::io::Write) -> Result<u64> {
        self.objects.reader()?.copy_blob(blob, to)
    }

    /// Fails if a tree on the way to one of these paths, or the snapshot's attributes, are missing or damaged.
    pub fn check_paths(&self, snapshot: &Snapshot, paths: &[WorkspacePath]) -> Result<()> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        paths.iter().try_for_each(|path| view.state(path).map(drop))
    }

    /// Returns the blobs that are missing or damaged, each with what is wrong. Each blob is decoded and hashed in full.
    pub fn check_blobs(&self, blobs: &[ObjectId]) -> Result<Vec<(ObjectId, String)>> {
        self.objects.check_blobs(blobs)
    }

    /// Stores blobs as one synced pack and returns their ids in order.
    pub fn write_blobs(&self, contents: &[&[u8]]) -> Result<Vec<ObjectId>> {
        self.objects.write_blobs(contents)
    }
}
