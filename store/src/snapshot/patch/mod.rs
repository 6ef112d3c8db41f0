//! Finds the changes from one snapshot to the next.
//!
//! That is the difference, without what only looks like a change: a path that came into view or left it because ignore
//! rules changed, a path that a snapshot could not read, a directory that merely is no longer empty. This module looks
//! at the workspace (only `lstat`) if nothing else distinguishes a deleted path from one that is no longer captured.

mod gaps;
mod hidden_files;
mod visibility;

use std::path::Path;

use super::difference::between;
use super::presence::{Presence, Presences};
use super::view::SnapshotView;
use super::{PatchSide, Snapshot, Snapshots};
use crate::error::Result;
use crate::model::entry::{Change, Entry, EntryKind, State};
use crate::model::path::{PathKind, WorkspacePath};
use crate::objects::reader::ObjectReader;
use gaps::Gaps;
pub(crate) use hidden_files::{Budget, rewritten};
use visibility::Visibility;
pub(crate) use visibility::{read_rules, unforced};

/// An open snapshot, and its gaps.
pub(crate) struct OpenSide<'a> {
    view: SnapshotView<'a>,
    gaps: Gaps<'a>,
}

impl<'a> OpenSide<'a> {
    fn open(reader: &'a ObjectReader, side: PatchSide<'a>) -> Result<Self> {
        Ok(Self {
            view: SnapshotView::open(reader, &side.snapshot)?,
            gaps: Gaps::of(side.gaps),
        })
    }

    /// Returns whether a directory existed, whatever it held.
    fn had_directory(&self, path: &WorkspacePath) -> Result<bool> {
        Ok(self.gaps.has_at_or_below(path) || self.view.is_directory(path)?)
    }
}

impl Snapshots {
    /// Returns the changes from one snapshot to the next: the difference, without what came into view or went
    /// out of it only because ignore rules changed, and with paths in a gap as entries whose bytes are not stored.
    pub fn patch(
        &self,
        root: &Path,
        old: PatchSide<'_>,
        new: PatchSide<'_>,
    ) -> Result<Vec<Change>> {
        let reader = self.objects.reader()?;
        Ok(look(&reader, root, (old, new), Budget::ALL)?.changes)
    }

    /// Like [`Snapshots::patch`], from a snapshot to one just taken. Files that a rule hid in between are compared with
    /// the disk as far as the budget goes, and stored if they differ.
    pub(crate) fn patch_with_hidden(
        &self,
        root: &Path,
        old: PatchSide<'_>,
        new: PatchSide<'_>,
        budget: Budget,
    ) -> Result<Vec<Change>> {
        let reader = self.objects.reader()?;
        let PatchFindings {
            mut changes,
            hidden,
        } = look(&reader, root, (old, new), budget)?;
        if !hidden.is_empty() {
            changes.extend(rewritten(&self.objects, &reader, root, hidden, budget)?);
            changes.sort_by(|one, other| one.path.cmp(&other.path));
        }
        Ok(changes)
    }

    /// Returns the entries of a snapshot that ignore rules hide in a later one, whether it still exists or
    /// not.
    pub fn went_out_of_view(
        &self,
        old: &Snapshot,
        new: &Snapshot,
    ) -> Result<Vec<(WorkspacePath, Entry)>> {
        let reader = self.objects.reader()?;
        let (before, after) = (
            SnapshotView::open(&reader, old)?,
            SnapshotView::open(&reader, new)?,
        );
        let difference = between(&before, &after)?;
        let visibility =
            Visibility::where_it_changed(&reader, (&before, &after), (old, new), &difference)?;
        let Some(visibility) = visibility else {
            return Ok(Vec::new());
        };
        let mut hidden = Vec::new();
        for Change { path, old, new } in difference {
            if let (Some(old), None) = (old, new)
                && visibility.is_out_of_view(&path)?
            {
                hidden.push((path, old));
            }
        }
        Ok(hidden)
    }

    /// Returns for each entry, in order, whether the ignore rules of a snapshot hide it, or would, if it were there: what
    /// was there, [`Snapshots::presences`] tells. Some rules are about directories alone.
    pub(crate) fn are_hidden<'p>(
        &self,
        snapshot: &Snapshot,
        entries: impl Iterator<Item = (&'p WorkspacePath, PathKind)>,
    ) -> Result<Vec<bool>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        let matcher = visibility::matcher(&reader, &view, snapshot.rules)?;
        let is_hidden = |(path, kind): (&WorkspacePath, _)| !matcher.shows(path.as_bytes(), kind);
        Ok(entries.map(is_hidden).collect())
    }

    /// Returns for each path, in order, what a snapshot tells of it.
    pub(crate) fn presences(
        &self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
    ) -> Result<Vec<Presence>> {
        let reader = self.objects.reader()?;
        let view = SnapshotView::open(&reader, snapshot)?;
        let presences = Presences::of(&reader, &view, snapshot)?;
        paths.iter().map(|path| presences.at(path)).collect()
    }

    /// Returns the paths of which a snapshot tells what is asked for.
    pub(crate) fn with_presence(
        &self,
        snapshot: &Snapshot,
        paths: Vec<WorkspacePath>,
        is_asked: impl Fn(Presence) -> bool,
    ) -> Result<Vec<WorkspacePath>> {
        let mut presences = self.presences(snapshot, &paths)?.into_iter();
        let asked = paths
            .into_iter()
            .filter(|_| presences.next().is_some_and(&is_asked));
        Ok(asked.collect())
    }
}

/// What differs between two snapshots: the changes, and what only went out of view and still exists.
struct PatchFindings {
    changes: Vec<Change>,
    hidden: Vec<Change>,
}

fn look(
    reader: &ObjectReader,
    root: &Path,
    (old, new): (PatchSide<'_>, PatchSide<'_>),
    budget: Budget,
) -> Result<PatchFindings> {
    let (before, after) = (OpenSide::open(reader, old)?, OpenSide::open(reader, new)?);
    let difference = between(&before.view, &after.view)?;
    let views = (&before.view, &after.view);
    let sides = (&old.snapshot, &new.snapshot);
    let visibility = Visibility::where_it_changed(reader, views, sides, &difference)?;
    let mut changes = Vec::with_capacity(difference.len());
    for change in difference {
        budget.check_time()?;
        // Directories first: git has no empty ones, so one that was filled or emptied differs in the attributes
        // alone, and neither came nor went.
        if !is_one_directory(root, &change, &before, &after)? {
            changes.extend(gaps::explain(change, &before.gaps, &after.gaps));
        }
    }
    gaps::append_unstored(&mut changes, &before, &after)?;
    // Last, because it looks at the disk: only for paths of which the trees alone do not tell whether they went or were
    // hidden.
    let mut hidden = Vec::new();
    if let Some(visibility) = visibility {
        let all = std::mem::take(&mut changes);
        for change in all {
            budget.check_time()?;
            if visibility.explains_nothing(root, &change)? {
                changes.push(change);
            } else if change.old.is_some() {
                hidden.push(change);
            }
        }
    }
    Ok(PatchFindings { changes, hidden })
}

/// Returns whether a change is about a directory that exists on both sides, and is empty on one.
fn is_one_directory(
    root: &Path,
    change: &Change,
    before: &OpenSide<'_>,
    after: &OpenSide<'_>,
) -> Result<bool> {
    let is_directory =
        |state: State| state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory);
    match (change.old, change.new) {
        // It may be ignored itself by now, so that no snapshot shows it.
        (old, None) if is_directory(old) => {
            Ok(after.had_directory(&change.path)? || is_directory_on_disk(root, &change.path))
        }
        (None, new) if is_directory(new) => before.had_directory(&change.path),
        _ => Ok(false),
    }
}

fn is_directory_on_disk(root: &Path, path: &WorkspacePath) -> bool {
    file_type(root, path).is_some_and(|file_type| file_type.is_dir())
}

/// Returns the type of the file at a path on disk, or `None` if a symlink is on the way.
fn file_type(root: &Path, path: &WorkspacePath) -> Option<std::fs::FileType> {
    use std::os::unix::ffi::OsStrExt;

    let mut at = root.to_owned();
    let mut found = None;
    for name in path.components() {
        if found.is_some_and(|file_type: std::fs::FileType| !file_type.is_dir()) {
            return None;
        }
        at.push(std::ffi::OsStr::from_bytes(name));
        found = Some(at.symlink_metadata().ok()?.file_type());
    }
    found
}
