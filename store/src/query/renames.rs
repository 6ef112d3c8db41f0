//! Pairs deleted files with the added ones that they became, like `git diff -M`: equal bytes first, then at least half
//! of them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use ckpt_schema::report::{
    ChangeKind, ChangeReport, FileAction, FileReport, FileResult, PathText, Rename,
};

use super::compare;
use crate::lines;
use crate::model::entry::{Change, ObjectId};
use crate::snapshot::Snapshots;

/// The similarity, in per cent, from which on two files count as a rename: git's default.
pub(super) const MIN_SIMILARITY: u8 = 50;

/// The most pairs of files that are compared by content, like git's `diff.renameLimit`.
const MAX_PAIRS: usize = 10_000;

/// Larger files, in bytes, count as renamed only if their bytes are equal.
pub(super) const MAX_SIZE: u64 = 1 << 20;

/// A longer line is cut into pieces, as in git's `diffcore-delta.c`.
const PIECE: usize = 64;

/// Returns the paths of one difference with the renames among them.
pub(super) fn with_renames(
    snapshots: &Snapshots,
    mut files: Vec<ChangeReport>,
) -> Vec<ChangeReport> {
    find(snapshots, &mut files);
    files
}

/// Says of the files that an operation moves where each comes from.
pub(super) fn of_operation(snapshots: &Snapshots, files: &mut [FileReport]) {
    let mut changes: Vec<ChangeReport> = files.iter().map(as_change).collect();
    find(snapshots, &mut changes);
    for (file, change) in files.iter_mut().zip(changes) {
        file.moved_from = change.renamed_from;
    }
}

/// Returns an operation's work on a file as a change. A file that stays, wholly or in part, comes from nowhere.
fn as_change(file: &FileReport) -> ChangeReport {
    let is_plain = matches!(file.result, FileResult::Done | FileResult::Planned)
        && file.reason.is_none()
        && !file.unclear;
    let kind = match (file.action, &file.old_mode) {
        (FileAction::Delete, _) if is_plain => ChangeKind::Deleted,
        (FileAction::Write, None) if is_plain => ChangeKind::Added,
        _ => ChangeKind::Modified,
    };
    ChangeReport {
        path: file.path.clone(),
        kind,
        old_mode: file.old_mode.clone(),
        new_mode: file.new_mode.clone(),
        old_blob: file.old_blob.clone(),
        new_blob: file.new_blob.clone(),
        additions: None,
        deletions: None,
        binary: false,
        whitespace_only: false,
        attribution: None,
        reason: None,
        renamed_from: None,
        renamed_to: None,
    }
}

fn find(snapshots: &Snapshots, files: &mut [ChangeReport]) {
    let mut gone = places(files, ChangeKind::Deleted);
    let mut come = places(files, ChangeKind::Added);
    let mut pairs = same_bytes(files, &mut gone, &mut come);
    // Each file that went is compared with each that came. Beyond the limit, only equal bytes make a rename.
    if !gone.is_empty() && gone.len().saturating_mul(come.len()) <= MAX_PAIRS {
        let pieces_of = |place: &usize, blob: &Option<String>| {
            let blob = ObjectId::from_hex(blob.as_deref()?)?;
            let bytes = snapshots.comparable(blob, MAX_SIZE)?;
            Some((*place, pieces(&bytes)))
        };
        let old = gone.iter().map(|place| (place, &files[*place].old_blob));
        let old: Vec<_> = old
            .filter_map(|(place, blob)| pieces_of(place, blob))
            .collect();
        let new = come.iter().map(|place| (place, &files[*place].new_blob));
        let new: Vec<_> = new
            .filter_map(|(place, blob)| pieces_of(place, blob))
            .collect();
        pairs.extend(alike(files, &old, &new));
    }
    for (from, to, similarity) in pairs {
        let lines = match similarity {
            100 => Some((0, 0)),
            _ => lines(snapshots, &files[from], &files[to]),
        };
        let path = files[from].path.clone();
        files[from].renamed_to = Some(files[to].path.clone());
        files[to].renamed_from = Some(Rename {
            path,
            similarity,
            additions: lines.map(|(added, _)| added),
            deletions: lines.map(|(_, deleted)| deleted),
        });
    }
}

/// Returns changes with each deleted file and the added one that it became as one, from the old state to the new.
pub(super) fn joined(snapshots: &Snapshots, changes: Vec<Change>) -> Vec<Change> {
    let is_one_sided = |change: &Change| change.old.is_none() != change.new.is_none();
    if !changes.iter().any(is_one_sided) {
        return changes;
    }
    let files = with_renames(snapshots, changes.iter().map(compare::unread).collect());
    let old_of = |new: &ChangeReport| {
        let place = files.iter().position(|file| became(file, new))?;
        Some(changes[place].old)
    };
    let pairs = files.iter().zip(&changes);
    pairs
        .filter(|(file, _)| file.renamed_to.is_none())
        .map(|(file, change)| Change {
            old: old_of(file).unwrap_or(change.old),
            ..change.clone()
        })
        .collect()
}

/// Returns whether one file is what another one was before it was renamed. The old path alone does not tell: something
/// else may be there now.
pub(super) fn became(old: &ChangeReport, new: &ChangeReport) -> bool {
    let rename = new.renamed_from.as_ref();
    rename.is_some_and(|rename| rename.path == old.path)
        && old.renamed_to.as_ref() == Some(&new.path)
}

fn lines(snapshots: &Snapshots, old: &ChangeReport, new: &ChangeReport) -> Option<(u64, u64)> {
    let read = |blob: &Option<String>| {
        let blob = ObjectId::from_hex(blob.as_deref()?)?;
        snapshots.comparable(blob, MAX_SIZE)
    };
    lines::count(&read(&old.old_blob)?, &read(&new.new_blob)?)
}

/// Returns the positions of added or deleted files with content. Empty files are left out: any two are equal.
fn places(files: &[ChangeReport], kind: ChangeKind) -> Vec<usize> {
    let is_candidate = |file: &ChangeReport| {
        let blob = side(file, kind).1;
        file.kind == kind && blob.is_some_and(|blob| blob != EMPTY)
    };
    let places = files.iter().enumerate();
    places
        .filter(|(_, file)| is_candidate(file))
        .map(|(place, _)| place)
        .collect()
}

/// The id of the empty blob.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// Returns the mode and the blob of the side that exists.
fn side(file: &ChangeReport, kind: ChangeKind) -> (Option<&str>, Option<&str>) {
    match kind {
        ChangeKind::Deleted => (file.old_mode.as_deref(), file.old_blob.as_deref()),
        _ => (file.new_mode.as_deref(), file.new_blob.as_deref()),
    }
}

/// Returns whether a mode is a link's: `120000`, where a file has `100644`.
fn is_link(mode: Option<&str>) -> bool {
    mode.is_some_and(|mode| mode.starts_with("12"))
}

/// Pairs files with equal bytes. If there are several, one that kept its file name goes first.
fn same_bytes(
    files: &[ChangeReport],
    gone: &mut Vec<usize>,
    come: &mut Vec<usize>,
) -> Vec<(usize, usize, u8)> {
    let mut by_blob: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for place in gone.iter() {
        let (mode, blob) = side(&files[*place], ChangeKind::Deleted);
        if let Some(blob) = blob {
            by_blob
                .entry((is_link(mode), blob))
                .or_default()
                .push(*place);
        }
    }
    let mut pairs = Vec::new();
    // Licences and generated files exist in many copies. One that kept its name is the likelier source.
    for only_same_name in [true, false] {
        come.retain(|to| {
            let (mode, blob) = side(&files[*to], ChangeKind::Added);
            let key = (is_link(mode), blob.unwrap_or_default());
            let Some(sources) = by_blob.get_mut(&key) else {
                return true;
            };
            let is_it = |from: &usize| {
                !only_same_name || name(&files[*from].path) == name(&files[*to].path)
            };
            let Some(position) = sources.iter().position(is_it) else {
                return true;
            };
            pairs.push((sources.remove(position), *to, 100));
            false
        });
    }
    gone.retain(|from| !pairs.iter().any(|(taken, _, _)| taken == from));
    pairs
}

fn name(path: &PathText) -> &str {
    path.path.rsplit('/').next().unwrap_or_default()
}

/// The number of bytes that each piece has in a content, by the piece's hash.
pub(super) type Pieces = HashMap<u64, usize>;

pub(super) fn pieces(bytes: &[u8]) -> Pieces {
    let mut pieces = Pieces::new();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    for piece in lines.flat_map(|line| line.chunks(PIECE)) {
        let mut hasher = DefaultHasher::new();
        piece.hash(&mut hasher);
        *pieces.entry(hasher.finish()).or_default() += piece.len();
    }
    pieces
}

/// Returns how much of the larger content the other one has, in per cent.
pub(super) fn similarity(old: &Pieces, new: &Pieces) -> u8 {
    let size = |pieces: &Pieces| pieces.values().sum::<usize>();
    let common: usize = old
        .iter()
        .map(|(piece, bytes)| new.get(piece).map_or(0, |other| *bytes.min(other)))
        .sum();
    let larger = size(old).max(size(new)).max(1);
    u8::try_from(common * 100 / larger).unwrap_or(100)
}

/// Pairs contents that are similar enough, the most similar first, each once.
fn alike(
    files: &[ChangeReport],
    old: &[(usize, Pieces)],
    new: &[(usize, Pieces)],
) -> Vec<(usize, usize, u8)> {
    let mut scored: Vec<(u8, bool, usize, usize)> = Vec::new();
    for (from, before) in old {
        for (to, after) in new {
            let (one, other) = (&files[*from], &files[*to]);
            // As in git, which knows a renamed link by equal bytes alone.
            if is_link(one.old_mode.as_deref()) || is_link(other.new_mode.as_deref()) {
                continue;
            }
            let score = similarity(before, after);
            if score >= MIN_SIMILARITY {
                scored.push((score, name(&one.path) == name(&other.path), *from, *to));
            }
        }
    }
    scored.sort_by_key(|(score, same_name, from, to)| {
        (std::cmp::Reverse((*score, *same_name)), *from, *to)
    });
    let mut pairs: Vec<(usize, usize, u8)> = Vec::new();
    for (score, _, from, to) in scored {
        if pairs.iter().all(|pair| pair.0 != from && pair.1 != to) {
            // Contents that differ are never reported as 100 % similar.
            pairs.push((from, to, score.min(99)));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Similarity is what the larger content has of the other.
    #[test]
    fn similarity_is_the_larger_contents_share() {
        let content = |lines: &[&str]| pieces(lines.concat().as_bytes());
        let old = content(&["one\n", "two\n", "six\n", "ten\n"]);
        assert_eq!(similarity(&old, &old), 100, "the same");
        let half = content(&["one\n", "two\n"]);
        assert_eq!(similarity(&old, &half), 50, "of the larger one");
        assert_eq!(similarity(&half, &old), 50, "whichever side it is");
        let other = content(&["a\n", "b\n"]);
        assert_eq!(similarity(&old, &other), 0, "nothing in common");
    }
}
