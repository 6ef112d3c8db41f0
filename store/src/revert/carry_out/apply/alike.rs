//! Finds the file that comes back where one goes that was renamed and edited: by its lines, as git does. This module reads
//! blobs.

use std::collections::HashMap;

use super::slot::BlobWriter;
use crate::lines;
use crate::model::entry::{EntryKind, State};
use crate::model::item::Item;
use crate::model::path::WorkspacePath;

/// Longer files are not compared, in bytes.
const LONGEST: usize = 1 << 20;

/// How many files that come back are compared with one that goes.
const COMPARED: usize = 64;

/// Returns the one path where a file is made again of which a removed one keeps half of the lines, or `None` if there are
/// several. Where another file moves to (`moves`) is left out.
pub(super) fn origin<'a>(
    items: &'a [Item],
    contents: &BlobWriter<'_>,
    removed: &Item,
    moves: &HashMap<&WorkspacePath, &WorkspacePath>,
) -> Option<&'a WorkspacePath> {
    let gone = text(contents, removed.expected)?;
    let is_made = |item: &&Item| {
        item.is_planned() && item.expected.is_none() && !moves.values().any(|to| *to == &item.path)
    };
    let made = items.iter().filter(is_made).take(COMPARED);
    let mut alike = made.filter(|item| {
        text(contents, item.target).is_some_and(|text| lines::keeps_half(&text, &gone))
    });
    let found = alike.next()?;
    alike.next().is_none().then_some(&found.path)
}

fn text(contents: &BlobWriter<'_>, state: State) -> Option<Vec<u8>> {
    let file = state.filter(|entry| entry.mode.kind() == EntryKind::File)?;
    let mut text = vec![0; LONGEST];
    // A longer one does not fit, which is an error.
    let length = contents(file.blob?, &mut &mut text[..]).ok()?;
    text.truncate(usize::try_from(length).ok()?);
    Some(text)
}
