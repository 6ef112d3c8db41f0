//! A file of a plan, wholly or in part.

use std::ops::Range;

use ckpt_output::hunk;
use ckpt_output::lines::{DiffOptions, difference};
use ckpt_output::patch::FileSides;
use ckpt_store::model::entry::{Entry, EntryKind};
use ckpt_store::query::Proposed;
use ckpt_store::{Chosen, ChosenContent};

/// Returns a file of a plan with only the changes within these lines of it as it is now, or all of it; `None` if there
/// is nothing to change.
pub fn part(file: &Proposed, sides: &FileSides, lines: Option<&[Range<usize>]>) -> Option<Chosen> {
    let content = match (lines, sides, file.now) {
        (Some(lines), FileSides::Text { old, new }, Some(now)) if is_text(file) => {
            let difference = difference(old, new, &DiffOptions::default());
            ChosenContent::Text {
                mode: now.mode,
                bytes: hunk::within(&difference, lines)?,
            }
        }
        _ => ChosenContent::State(file.then),
    };
    Some(Chosen {
        workspace: file.workspace.clone(),
        path: file.path.clone(),
        seen: file.now,
        content,
    })
}

/// Returns whether a file stays a file, and has lines on both sides.
pub fn is_text(file: &Proposed) -> bool {
    is_file(file.now) && is_file(file.then) && !file.change.binary
}

fn is_file(state: Option<Entry>) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::File)
}
