//! The history of one file as a list of versions: what steps and others wrote, what operations put back, and, if a step
//! renamed the file, its versions under the old name.

use std::collections::HashSet;

use ckpt_schema::report::OperationKind;
use rusqlite::Connection;

use super::trace::{FileState, Origin};
use crate::error::Result;
use crate::lines;
use crate::model::attribution::Attribution;
use crate::model::entry::{EntryKind, ObjectId, State};
use crate::model::path::WorkspacePath;
use crate::sessions::{self, FileChange, FileOperation};
use crate::snapshot::Snapshots;

/// Who wrote a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VersionAuthor {
    /// No change leads to it: the file was there before anything was recorded, or was out of view.
    Unrecorded,
    /// A change, once for each of the steps that share it.
    Change(Vec<FileChange>),
    /// An operation, which put back or merged what others wrote.
    Operation(FileOperation),
    /// It is in the workspace, and no snapshot holds it yet.
    Uncaptured,
    /// Its bytes cannot be read any more.
    Unreadable,
}

/// A version and its author.
#[derive(Clone, Debug)]
pub(super) struct WrittenVersion {
    pub version: FileState<ObjectId>,
    pub writer: VersionAuthor,
    /// The path that the file had then.
    pub path: WorkspacePath,
}

impl WrittenVersion {
    /// Returns a version that an author wrote, as far as is known.
    pub fn new(content: Option<ObjectId>, writer: VersionAuthor, path: &WorkspacePath) -> Self {
        Self {
            version: FileState {
                content,
                origin: Origin::Written,
                is_reverted: false,
            },
            writer,
            path: path.clone(),
        }
    }
}

/// How many renames are followed.
const MOST_RENAMES: usize = 32;

/// A larger file counts as renamed only if no byte of it changed.
const LARGEST_COMPARED: u64 = 1 << 20;

/// How many files that a step deleted are compared with one that it added.
const MOST_COMPARED: usize = 50;

/// A place in a workspace's history: first by the snapshot that saw it, then by its kind, then by the order of the
/// rows.
type HistoryPosition = (SeenBy, HappenedKind, i64);

/// An operation comes after the changes that the snapshot before it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HappenedKind {
    Change,
    Operation,
}

/// The first snapshot that saw something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SeenBy {
    Snapshot(i64),
    /// No snapshot saw it yet.
    Later,
}

impl SeenBy {
    fn new(snapshot_id: Option<i64>) -> Self {
        snapshot_id.map_or(Self::Later, Self::Snapshot)
    }
}

/// What happened to a path.
enum Happened {
    Change(FileChange),
    Operation(FileOperation),
}

impl Happened {
    fn position(&self) -> HistoryPosition {
        match self {
            Self::Change(change) => {
                let seen_by = SeenBy::new(change.to_snapshot_id);
                (seen_by, HappenedKind::Change, change.id)
            }
            Self::Operation(operation) => {
                let before = SeenBy::new(operation.before_snapshot_id);
                (before, HappenedKind::Operation, operation.seq)
            }
        }
    }
}

/// Reads the histories of files of one workspace.
pub(super) struct FileHistories<'a> {
    pub connection: &'a Connection,
    pub snapshots: &'a Snapshots,
    pub workspace_id: i64,
}

impl FileHistories<'_> {
    /// Returns the versions of a path, oldest first.
    pub fn versions(&self, path: &WorkspacePath) -> Result<Vec<WrittenVersion>> {
        let mut versions = Vec::new();
        self.collect(path, None, MOST_RENAMES, &mut versions)?;
        mark_undone(&mut versions);
        Ok(versions)
    }

    fn collect(
        &self,
        path: &WorkspacePath,
        until: Option<HistoryPosition>,
        renames: usize,
        versions: &mut Vec<WrittenVersion>,
    ) -> Result<()> {
        let changes = sessions::changes_of_path(self.connection, self.workspace_id, path)?;
        let operations = sessions::operations_on_path(self.connection, self.workspace_id, path)?;
        let mut happened: Vec<Happened> = changes
            .into_iter()
            .map(Happened::Change)
            .chain(operations.into_iter().map(Happened::Operation))
            // Another file may have taken the old name after the rename.
            .filter(|one| until.is_none_or(|until| one.position() < until))
            .collect();
        happened.sort_by_key(Happened::position);
        let mut is_first = true;
        for one in happened {
            // What is there before the first thing belongs to another name of the file.
            let last = match is_first {
                true => None,
                false => last_content(versions),
            };
            match one {
                Happened::Change(change) => {
                    if let Some(known) = shared_with(versions, &change).filter(|_| !is_first) {
                        known.push(change);
                        continue;
                    }
                    let renamed = match change.old {
                        None if renames > 0 => self.old_name(&change)?,
                        _ => None,
                    };
                    match renamed {
                        Some(old) => {
                            let position = Happened::Change(old.clone()).position();
                            self.collect(&old.path, Some(position), renames - 1, versions)?;
                            let last = last_content(versions);
                            bridge(versions, last, old.old, &old.path);
                        }
                        None => bridge(versions, last, change.old, path),
                    }
                    versions.push(by_change(change, path));
                }
                Happened::Operation(operation) => {
                    bridge(versions, last, operation.expected, path);
                    versions.push(by_operation(operation, path));
                }
            }
            is_first = false;
        }
        Ok(())
    }

    /// Returns the deletion that is the other half of a rename: of a file with the same bytes, or else of the most
    /// similar one that shares at least half, which is git's rule.
    fn old_name(&self, added: &FileChange) -> Result<Option<FileChange>> {
        let Some(new) = content(added.new) else {
            return Ok(None);
        };
        let same_step = |old: &FileChange| {
            let step =
                |change: &FileChange| change.author.as_ref().map(|author| author.step_id.clone());
            step(old) == step(added)
        };
        let gone: Vec<(FileChange, ObjectId)> =
            sessions::deleted_with(self.connection, self.workspace_id, added)?
                .into_iter()
                .filter(same_step)
                .filter_map(|old| content(old.old).map(|blob| (old, blob)))
                .collect();
        if let Some((old, _)) = gone.iter().find(|(_, blob)| *blob == new) {
            return Ok(Some(old.clone()));
        }
        let read = |blob| self.snapshots.comparable(blob, LARGEST_COMPARED);
        let Some(new) = read(new).filter(|bytes| lines::has_lines(bytes)) else {
            return Ok(None);
        };
        let mut best: Option<(u64, FileChange)> = None;
        for (old, blob) in gone.into_iter().take(MOST_COMPARED) {
            let Some(bytes) = read(blob) else { continue };
            let Some(kept) = lines_kept(&bytes, &new) else {
                continue;
            };
            if best.as_ref().is_none_or(|(most, _)| kept > *most) {
                best = Some((kept, old));
            }
        }
        Ok(best.map(|(_, old)| old))
    }
}

/// Returns how many lines two files share, or `None` if that is less than half.
fn lines_kept(old: &[u8], new: &[u8]) -> Option<u64> {
    let (added, deleted) = lines::count(old, new)?;
    let number = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    let (before, after) = (number(old), number(new));
    let kept = before
        .saturating_sub(deleted)
        .min(after.saturating_sub(added));
    (kept > 0 && kept * 2 >= before.max(after)).then_some(kept)
}

fn by_change(change: FileChange, path: &WorkspacePath) -> WrittenVersion {
    WrittenVersion {
        version: FileState {
            content: content(change.new),
            origin: Origin::Written,
            is_reverted: is_reverted(&change),
        },
        writer: match is_lost(change.new) {
            true => VersionAuthor::Unreadable,
            false => VersionAuthor::Change(vec![change]),
        },
        path: path.clone(),
    }
}

fn by_operation(operation: FileOperation, path: &WorkspacePath) -> WrittenVersion {
    WrittenVersion {
        version: FileState {
            content: content(operation.target),
            origin: Origin::PutBack(HashSet::new()),
            is_reverted: false,
        },
        writer: VersionAuthor::Operation(operation),
        path: path.clone(),
    }
}

/// Returns the blob of a file. A link or a directory has no lines.
pub(super) fn content(state: State) -> Option<ObjectId> {
    state
        .filter(|entry| entry.mode.kind() == EntryKind::File)
        .and_then(|entry| entry.blob)
}

/// Returns whether a file was there of which the bytes are not stored: they were forgotten, or never captured.
fn is_lost(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::File && entry.blob.is_none())
}

fn is_reverted(change: &FileChange) -> bool {
    let is_hidden = change
        .author
        .as_ref()
        .is_some_and(|author| author.state != ckpt_schema::report::MessageState::Live);
    change.is_undone || is_hidden
}

/// Returns the rows of the newest version if a change is the same one, shared by another step.
fn shared_with<'v>(
    versions: &'v mut [WrittenVersion],
    change: &FileChange,
) -> Option<&'v mut Vec<FileChange>> {
    let VersionAuthor::Change(known) = &mut versions.last_mut()?.writer else {
        return None;
    };
    let is_same = known.first().is_some_and(|one| {
        one.path == change.path
            && one.to_snapshot_id == change.to_snapshot_id
            && (one.old, one.new) == (change.old, change.new)
            && change.attribution == Attribution::Shared
    });
    is_same.then_some(known)
}

/// Returns the content of the newest version.
pub(super) fn last_content(versions: &[WrittenVersion]) -> Option<ObjectId> {
    versions.last().and_then(|last| last.version.content)
}

/// Adds the state before the next thing that happened if the last version did not lead to it: no look saw how it came.
fn bridge(
    versions: &mut Vec<WrittenVersion>,
    last: Option<ObjectId>,
    before: State,
    path: &WorkspacePath,
) {
    let is_lost = is_lost(before);
    let before = content(before);
    if is_lost {
        versions.push(WrittenVersion::new(None, VersionAuthor::Unreadable, path));
    } else if before != last {
        versions.push(WrittenVersion::new(before, VersionAuthor::Unrecorded, path));
    }
}

/// Returns whether an operation undid a change: its step or message alone, or all of its session from an earlier
/// message on.
fn undid(operation: &FileOperation, change: &FileChange) -> bool {
    change.author.as_ref().is_some_and(|author| {
        let is_alone = operation.alone.as_ref() == Some(&author.message_id)
            || operation.step_id.as_ref() == Some(&author.step_id);
        let is_later = operation
            .reverted_from
            .is_some_and(|from| author.message_seq >= from);
        is_alone || is_later && operation.session_id.as_ref() == Some(&author.root_session_id)
    })
}

/// Notes which versions each operation undid.
fn mark_undone(versions: &mut [WrittenVersion]) {
    for number in 0..versions.len() {
        let VersionAuthor::Operation(operation) = &versions[number].writer else {
            continue;
        };
        // A restore goes to a state, past the changes of all authors in between.
        if operation.kind == OperationKind::Restore {
            continue;
        }
        let undone: HashSet<usize> = versions[..number]
            .iter()
            .enumerate()
            .filter(|(_, older)| match &older.writer {
                VersionAuthor::Change(changes) => {
                    changes.iter().any(|change| undid(operation, change))
                }
                VersionAuthor::Unrecorded
                | VersionAuthor::Operation(_)
                | VersionAuthor::Uncaptured
                | VersionAuthor::Unreadable => false,
            })
            .map(|(older, _)| older)
            .collect();
        versions[number].version.origin = Origin::PutBack(undone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of which half is kept was renamed.
    #[test]
    fn file_that_keeps_half_was_renamed() {
        assert_eq!(
            lines_kept(b"a\nb\nc\nd\n", b"a\nb\n"),
            Some(2),
            "half of the old one"
        );
        assert_eq!(
            lines_kept(b"a\n", b"a\nb\n"),
            Some(1),
            "half of the new one"
        );
        assert_eq!(lines_kept(b"a\nb\nc\n", b"a\nx\ny\n"), None, "a third");
        assert_eq!(lines_kept(b"a\n", b"b\n"), None, "nothing");
    }
}
