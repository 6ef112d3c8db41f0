//! The three-way rule on one path, for its content and its permissions separately. Pure.

use super::merge::{Merge, MergeBlobs};
use crate::error::Result;
use crate::model::entry::{Entry, EntryKind, Mode, ObjectId, State, is_unstored};
use crate::model::request::OnConflict;
use crate::revert::request::history::{ConflictKind, Missing};

/// The three states of a path: the change `ancestor` → `theirs` is to be applied to `ours`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreeWay {
    /// The state that the agent left.
    pub ancestor: State,
    /// The state before.
    pub theirs: State,
    /// The present state.
    pub ours: State,
}

/// The result of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It already is what it should be.
    Already,
    /// The old side, unchanged.
    Taken(State),
    /// A merge of both.
    Merged(Entry),
    /// It stays, because both changed the same thing.
    Conflict(ConflictKind),
    /// It stays, because there are no bytes to show what changed.
    Missing(Missing),
}

/// Applies the rule.
///
/// States whose bytes are not stored count as equal if their modes are. So `ours` may be such a state only if undoing
/// led to it. The caller leaves alone what is on disk and not stored.
pub fn three_way(
    sides: ThreeWay,
    contents: &mut MergeBlobs<'_>,
    on_conflict: OnConflict,
) -> Result<Ruling> {
    let ThreeWay {
        ancestor,
        theirs,
        ours,
    } = sides;
    // Equal states come first, because they need no bytes: what is too large to merge, or a link, still goes back
    // if no other author touched it.
    if ours == theirs || theirs == ancestor {
        return Ok(Ruling::Already);
    }
    if ours == ancestor {
        return Ok(Ruling::Taken(theirs));
    }
    match on_conflict {
        OnConflict::Keep => Ok(untouched(sides)),
        OnConflict::Merge => merge(sides, contents),
        // Even then it is merged first: to overwrite is for what cannot be had otherwise, and a merge keeps both.
        OnConflict::Overwrite => match merge(sides, contents)? {
            Ruling::Conflict(_) | Ruling::Missing(_) => Ok(Ruling::Taken(theirs)),
            ruling => Ok(ruling),
        },
    }
}

fn untouched(sides: ThreeWay) -> Ruling {
    match comparable(sides) {
        Ok(_) => Ruling::Conflict(ConflictKind::Edited),
        Err(ruling) => ruling,
    }
}

fn merge(sides: ThreeWay, contents: &mut MergeBlobs<'_>) -> Result<Ruling> {
    let entries = match comparable(sides) {
        Ok(entries) => entries,
        Err(ruling) => return Ok(ruling),
    };
    // The permissions are merged by themselves. Otherwise `chmod +x` by the user would conflict with every edit of
    // the agent.
    let Some(mode) = merge_mode(entries.map(|entry| entry.mode)) else {
        return Ok(Ruling::Conflict(ConflictKind::Permissions));
    };
    let blob = match merge_blob(entries.map(|entry| entry.blob), contents)? {
        Ok(blob) => blob,
        Err(ruling) => return Ok(ruling),
    };
    let merged = Entry { mode, blob };
    Ok(if Some(merged) == sides.ours {
        Ruling::Already
    } else {
        Ruling::Merged(merged)
    })
}

/// Returns the ancestor, theirs and ours if all three are stored files or empty directories, or else why they cannot be
/// compared.
fn comparable(sides: ThreeWay) -> std::result::Result<[Entry; 3], Ruling> {
    if is_unstored(sides.theirs) {
        return Err(Ruling::Missing(Missing::Before));
    }
    if is_unstored(sides.ancestor) || is_unstored(sides.ours) {
        return Err(Ruling::Missing(Missing::After));
    }
    match (sides.ancestor, sides.theirs, sides.ours) {
        (_, _, None) => Err(Ruling::Conflict(ConflictKind::Deleted)),
        (None, _, Some(_)) => Err(Ruling::Conflict(ConflictKind::Recreated)),
        (Some(_), None, Some(_)) => Err(Ruling::Conflict(ConflictKind::Created)),
        (Some(ancestor), Some(theirs), Some(ours)) => {
            of_one_kind(ancestor, theirs, ours).map_err(Ruling::Conflict)
        }
    }
}

fn of_one_kind(
    ancestor: Entry,
    theirs: Entry,
    ours: Entry,
) -> std::result::Result<[Entry; 3], ConflictKind> {
    let kind = ours.mode.kind();
    if ancestor.mode.kind() != kind {
        return Err(ConflictKind::Type);
    }
    match kind {
        EntryKind::Symlink => Err(ConflictKind::Symlink),
        EntryKind::File | EntryKind::Directory if theirs.mode.kind() != kind => {
            Err(ConflictKind::Edited)
        }
        EntryKind::File | EntryKind::Directory => Ok([ancestor, theirs, ours]),
    }
}

fn merge_mode([ancestor, theirs, ours]: [Mode; 3]) -> Option<Mode> {
    if theirs == ancestor {
        return Some(ours);
    }
    (ours == ancestor || ours == theirs).then_some(theirs)
}

type Blob = Option<ObjectId>;

fn merge_blob(
    [ancestor, theirs, ours]: [Blob; 3],
    contents: &mut MergeBlobs<'_>,
) -> Result<std::result::Result<Blob, Ruling>> {
    if theirs == ancestor || ours == theirs {
        return Ok(Ok(ours));
    }
    if ours == ancestor {
        return Ok(Ok(theirs));
    }
    let (Some(base), Some(left), Some(right)) = (ancestor, ours, theirs) else {
        return Ok(Err(Ruling::Missing(Missing::After)));
    };
    Ok(match contents.merge(base, left, right)? {
        Merge::Clean(blob) => Ok(Some(blob)),
        Merge::Overlap => Err(Ruling::Conflict(ConflictKind::Overlap)),
        Merge::Binary => Err(Ruling::Conflict(ConflictKind::Binary)),
        Merge::TooLarge => Err(Ruling::Conflict(ConflictKind::TooLarge)),
    })
}
