//! What somebody changed from one snapshot to the next.
//!
//! The difference, but for what only looks like a change: a path that came into view or went out of it because ignore rules
//! changed, a path that a snapshot could not read, a directory that is merely not empty any more. This module looks at the
//! workspace (`lstat` alone) where only that tells a deleted path from one that is not captured any more.

mod gaps;
mod visibility;

use std::path::Path;

use super::Side;
use super::difference::between;
use super::view::View;
use crate::error::Result;
use crate::model::entry::{Change, EntryKind, State};
use crate::model::path::WorkspacePath;
use crate::objects::reader::Reader;
use gaps::Gaps;
use visibility::Visibility;

/// A snapshot that is looked at, and what it could not hold.
pub(crate) struct Seen<'a> {
    view: View<'a>,
    gaps: Gaps<'a>,
}

impl<'a> Seen<'a> {
    fn open(reader: &'a Reader, side: Side<'a>) -> Result<Self> {
        Ok(Self {
            view: View::open(reader, &side.snapshot)?,
            gaps: Gaps::of(side.gaps),
        })
    }

    /// Returns whether a directory was there, whatever it held.
    fn had_directory(&self, path: &WorkspacePath) -> Result<bool> {
        Ok(self.gaps.has_at_or_below(path) || self.view.is_directory(path)?)
    }
}

/// Returns what somebody changed, by path.
pub(crate) fn patch(
    reader: &Reader,
    root: &Path,
    old: Side<'_>,
    new: Side<'_>,
) -> Result<Vec<Change>> {
    let (before, after) = (Seen::open(reader, old)?, Seen::open(reader, new)?);
    let difference = between(&before.view, &after.view)?;
    let rules = (old.snapshot.rules, new.snapshot.rules);
    let visibility =
        Visibility::where_it_changed(reader, (&before.view, &after.view), rules, &difference)?;
    let mut changes = Vec::with_capacity(difference.len());
    for change in difference {
        if !is_one_directory(root, &change, &before, &after)? {
            changes.extend(gaps::explain(change, &before.gaps, &after.gaps));
        }
    }
    gaps::append_unstored(&mut changes, &before, &after)?;
    if let Some(visibility) = visibility {
        changes.retain(|change| visibility.explains_nothing(root, change));
    }
    Ok(changes)
}

/// Returns whether the change is that of a directory that is there on both sides, and empty on one.
fn is_one_directory(
    root: &Path,
    change: &Change,
    before: &Seen<'_>,
    after: &Seen<'_>,
) -> Result<bool> {
    let is_directory =
        |state: State| state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory);
    match (change.old, change.new) {
        // It may be ignored itself by now, so that no snapshot knows of it.
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

/// Returns what is at a path on the disk; nothing where a symlink is on the way.
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
