//! The gaps of snapshots in a patch. For a path in a gap, absence from the tree means nothing.

use std::collections::{BTreeMap, HashSet};

use super::OpenSide;
use crate::error::Result;
use crate::model::entry::{Change, Entry, EntryKind, Mode, State};
use crate::model::path::{WorkspacePath, above};
use crate::snapshot::{Gap, GapReason};

/// The gaps of one snapshot that may hide something.
pub(super) struct Gaps<'a>(BTreeMap<&'a [u8], &'a Gap>);

impl<'a> Gaps<'a> {
    /// Collects the gaps of a side.
    pub(super) fn of(gaps: &'a [Gap]) -> Self {
        let hiding = gaps.iter().filter(|gap| gap.reason.hides_content());
        Self(hiding.map(|gap| (&gap.path[..], gap)).collect())
    }

    fn at(&self, path: &WorkspacePath) -> Option<&'a Gap> {
        let gap = self.0.get(path.as_bytes()).copied();
        gap.filter(|gap| gap.reason != GapReason::Repository)
    }

    /// Returns whether a path belongs to the metadata of version control.
    fn hold_metadata(&self, path: &WorkspacePath) -> bool {
        !self.0.is_empty()
            && above(path.as_bytes()).any(|folder| {
                let gap = self.0.get(folder);
                gap.is_some_and(|gap| gap.reason == GapReason::Repository && gap.covers(path))
            })
    }

    /// Returns whether the path is below a directory that could not be read.
    fn cover(&self, path: &WorkspacePath) -> bool {
        let bytes = path.as_bytes();
        let mut ends = (0..bytes.len()).filter(|end| bytes[*end] == b'/');
        !self.0.is_empty()
            && ends.any(|end| {
                self.0
                    .get(&bytes[..end])
                    .is_some_and(|gap| is_directory(gap))
            })
    }

    /// Returns whether something unstored may be at a path: it is in a gap itself, or below one.
    fn hide(&self, path: &WorkspacePath) -> bool {
        self.at(path).is_some() || self.cover(path)
    }

    /// Returns whether a gap is at a path or below it.
    pub(super) fn has_at_or_below(&self, path: &WorkspacePath) -> bool {
        let below = [path.as_bytes(), b"/"].concat();
        self.at(path).is_some()
            || self
                .0
                .range(&below[..]..)
                .next()
                .is_some_and(|(other, _)| other.starts_with(&below))
    }

    fn files(&self) -> impl Iterator<Item = &'a Gap> {
        self.0.values().copied().filter(|gap| is_file(gap))
    }
}

/// Returns whether a gap is a directory with everything below it.
fn is_directory(gap: &Gap) -> bool {
    !is_file(gap) && gap.reason != GapReason::Repository
}

/// Returns whether a gap is a file. Only files are too large, changing or forgotten by themselves, and only files have a
/// size.
fn is_file(gap: &Gap) -> bool {
    match gap.reason {
        GapReason::TooLarge
        | GapReason::KeptTooLarge
        | GapReason::Changing
        | GapReason::Forgotten => true,
        GapReason::Unreadable(_) | GapReason::Late => gap.size.is_some(),
        GapReason::ReservedName
        | GapReason::Repository
        | GapReason::TooDeep
        | GapReason::Special(_)
        | GapReason::Mount
        | GapReason::ForgottenDirectory
        | GapReason::Ignored
        | GapReason::Metadata
        | GapReason::MoreIgnored => false,
    }
}

/// Returns the change with the side that is in a gap (its own, or that of a directory above) as an entry whose bytes
/// are not stored, or `None` if it is not known whether there was a change.
pub(super) fn explain(change: Change, old: &Gaps<'_>, new: &Gaps<'_>) -> Option<Change> {
    let Change {
        path,
        old: before,
        new: after,
    } = change;
    // Metadata is never captured. What one side holds is from before it was metadata, or was known to be, so that
    // nothing is known of a change.
    if old.hold_metadata(&path) || new.hold_metadata(&path) {
        return None;
    }
    let old = fill(before, after, old.hide(&path))?;
    let new = fill(after, before, new.hide(&path))?;
    Some(Change { path, old, new })
}

/// Fills in an absent side. The mode of a path in a gap is unknown, so that of the other side is used.
fn fill(state: State, other: State, is_hidden: bool) -> Option<State> {
    match (state, other, is_hidden) {
        // An empty directory that can no longer be read may be unchanged.
        (None, Some(other), true) if other.mode.kind() == EntryKind::Directory => None,
        (None, Some(other), true) => Some(Some(Entry {
            mode: other.mode,
            blob: None,
        })),
        (state, _, _) => Some(state),
    }
}

/// Adds the changes of files that neither side stores: those that came, went, or have another size.
pub(super) fn append_unstored(
    changes: &mut Vec<Change>,
    before: &OpenSide<'_>,
    after: &OpenSide<'_>,
) -> Result<()> {
    let mut seen: HashSet<_> = changes.iter().map(|change| change.path.clone()).collect();
    for gap in before.gaps.files().chain(after.gaps.files()) {
        let Ok(path) = WorkspacePath::new(&gap.path[..]) else {
            continue;
        };
        // Below a directory that could not be read, it is not known whether it came or went.
        if !seen.insert(path.clone()) || before.gaps.cover(&path) || after.gaps.cover(&path) {
            continue;
        }
        if before.view.state(&path)?.is_none() && after.view.state(&path)?.is_none() {
            changes.extend(unstored(path, before, after));
        }
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(())
}

fn unstored(path: WorkspacePath, before: &OpenSide<'_>, after: &OpenSide<'_>) -> Option<Change> {
    let (old, new) = (before.gaps.at(&path), after.gaps.at(&path));
    if let (Some(old), Some(new)) = (old, new)
        && (old.size == new.size || old.size.is_none() || new.size.is_none())
    {
        return None;
    }
    let entry = |_| Entry {
        mode: Mode::file(0o644),
        blob: None,
    };
    Some(Change {
        path,
        old: old.map(entry),
        new: new.map(entry),
    })
}
