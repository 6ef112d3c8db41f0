//! Reports on one path that differs: the counts of lines, and whether a side is binary. Bytes come from the snapshots.
//!
//! If bytes are missing, damaged or too large, the counts stay empty. It is still worth saying that the file differs.

use ckpt_schema::report::ChangeReport;

use crate::lines;
use crate::model::entry::{Change, Entry, EntryKind, State, blob_text, mode_text};
use crate::sessions::ChangeRow;
use crate::snapshot::Snapshots;

/// Returns how a path differs between two states.
pub(super) fn report(snapshots: &Snapshots, change: &Change) -> ChangeReport {
    let (old, new) = (bytes(snapshots, change.old), bytes(snapshots, change.new));
    let lines = old
        .as_deref()
        .zip(new.as_deref())
        .and_then(|(old, new)| lines::count(old, new));
    with_lines(change, &[old, new], lines)
}

/// Returns a recorded change, with the counts that were recorded with it.
pub(super) fn report_row(snapshots: &Snapshots, row: &ChangeRow) -> ChangeReport {
    let attribution = Some(row.attribution.name().to_owned());
    let reason = row.reason.clone();
    if row.lines.is_none() {
        return ChangeReport {
            attribution,
            reason,
            ..report(snapshots, &row.change)
        };
    }
    // What has lines is not binary, so contents tell only whether nothing but white space differs. That takes both
    // sides.
    let mut sides = [None, None];
    if let (Some(old), Some(new)) = (row.change.old, row.change.new)
        && old.blob != new.blob
    {
        sides[0] = bytes(snapshots, Some(old));
        sides[1] = sides[0].as_ref().and_then(|_| bytes(snapshots, Some(new)));
    }
    ChangeReport {
        attribution,
        reason,
        ..with_lines(&row.change, &sides, row.lines)
    }
}

/// Returns a recorded change as the row alone tells it.
pub(super) fn without_bytes(row: &ChangeRow) -> ChangeReport {
    ChangeReport {
        attribution: Some(row.attribution.name().to_owned()),
        reason: row.reason.clone(),
        ..with_lines(&row.change, &[None, None], row.lines)
    }
}

/// Returns how a path differs as its states alone tell it.
pub(super) fn unread(change: &Change) -> ChangeReport {
    with_lines(change, &[None, None], None)
}

fn with_lines(
    change: &Change,
    sides: &[Option<Vec<u8>>; 2],
    lines: Option<(u64, u64)>,
) -> ChangeReport {
    let both = sides[0].as_deref().zip(sides[1].as_deref());
    ChangeReport {
        path: change.path.to_report(),
        kind: change.kind(),
        old_mode: mode_text(change.old),
        new_mode: mode_text(change.new),
        old_blob: blob_text(change.old),
        new_blob: blob_text(change.new),
        additions: lines.map(|(added, _)| added),
        deletions: lines.map(|(_, deleted)| deleted),
        binary: sides.iter().flatten().any(|bytes| lines::is_binary(bytes)),
        whitespace_only: change.old.is_some()
            && change.new.is_some()
            && both.is_some_and(|(old, new)| lines::differs_in_whitespace_only(old, new)),
        attribution: None,
        reason: None,
        renamed_from: None,
        renamed_to: None,
    }
}

/// Returns the bytes of a state. An absent path and a directory have none; those of a gap are unknown.
fn bytes(snapshots: &Snapshots, state: State) -> Option<Vec<u8>> {
    match state {
        None => Some(Vec::new()),
        Some(Entry { mode, .. }) if mode.kind() == EntryKind::Directory => Some(Vec::new()),
        Some(Entry { blob, .. }) => snapshots.comparable(blob?, lines::MAX_SIZE as u64),
    }
}
