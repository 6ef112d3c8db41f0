//! Finds what came into view or went out of it because ignore rules changed: nobody created or deleted it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::file_type;
use crate::error::Result;
use crate::model::entry::{Change, ObjectId};
use crate::model::path::{IGNORE_FILE, WorkspacePath, join};
use crate::objects::reader::ObjectReader;
use crate::snapshot::Snapshot;
use crate::snapshot::rules::{Matcher, Rules, significant_lines};
use crate::snapshot::view::SnapshotView;

/// What is in view on either side.
pub(super) struct Visibility<'a> {
    before: &'a SnapshotView<'a>,
    old: Matcher<'a>,
    new: Matcher<'a>,
}

impl<'a> Visibility<'a> {
    /// Returns `None` if both sides have the same rules.
    pub(super) fn where_it_changed(
        reader: &ObjectReader,
        (old, new): (&'a SnapshotView<'a>, &'a SnapshotView<'a>),
        (old_rules, new_rules): (Option<ObjectId>, Option<ObjectId>),
        difference: &[Change],
    ) -> Result<Option<Self>> {
        if old_rules == new_rules
            && !difference
                .iter()
                .any(|change| change.path.name() == IGNORE_FILE)
        {
            return Ok(None);
        }
        Ok(Some(Self {
            before: old,
            old: matcher(reader, old, old_rules)?,
            new: matcher(reader, new, new_rules)?,
        }))
    }

    /// Returns whether the rules of the new side show a path.
    pub(super) fn shows_now(&self, path: &WorkspacePath) -> bool {
        self.new.is_visible(path.as_bytes())
    }

    /// Returns whether the old side would have shown what came.
    pub(super) fn was_shown(&self, change: &Change) -> Result<bool> {
        let path = change.path.as_bytes();
        let is_folder = change.new.is_some_and(|entry| entry.is_empty_directory());
        let was_visible = match is_folder {
            true => self.old.shows_directory(path),
            false => self.old.is_visible(path),
        };
        // Where a directory was, there was no file.
        Ok(was_visible
            || self.before.rules_out(&change.path)?
            || !is_folder && self.before.is_directory(&change.path)?)
    }

    /// Returns whether ignore rules do not explain a change.
    pub(super) fn explains_nothing(&self, root: &Path, change: &Change) -> Result<bool> {
        let path = change.path.as_bytes();
        Ok(match (change.old, change.new) {
            (None, Some(_)) => self.was_shown(change)?,
            // What went out of view still exists. What does not was deleted, whatever the rules say now.
            (Some(_), None) => {
                self.new.is_visible(path)
                    || file_type(root, &change.path).is_none_or(|kind| kind.is_dir())
            }
            _ => true,
        })
    }
}

pub(super) fn matcher<'a>(
    reader: &ObjectReader,
    view: &'a SnapshotView<'_>,
    rules: Option<ObjectId>,
) -> Result<Matcher<'a>> {
    let rules = read_rules(reader, rules)?;
    Ok(rules.matcher(|directory| view.ignore_file(directory)))
}

fn read_rules(reader: &ObjectReader, rules: Option<ObjectId>) -> Result<Rules> {
    match rules {
        Some(rules) => Rules::decode(&reader.blob(rules)?),
        None => Ok(Rules::default()),
    }
}

/// See [`Snapshots::own_ignore_files_changed`](crate::snapshot::Snapshots::own_ignore_files_changed).
pub(crate) fn own_ignore_files_changed(
    reader: &ObjectReader,
    old: &Snapshot,
    new: &Snapshot,
) -> Result<Vec<WorkspacePath>> {
    let lines = |rules| -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        Ok(read_rules(reader, rules)?.untracked.into_iter().collect())
    };
    let (before, after) = (lines(old.rules)?, lines(new.rules)?);
    let directories: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    let (was, is) = (
        SnapshotView::open(reader, old)?,
        SnapshotView::open(reader, new)?,
    );
    let mut changed = Vec::new();
    for directory in directories {
        let Ok(path) = WorkspacePath::new(join(directory, IGNORE_FILE)) else {
            continue;
        };
        let (hid, hides) = (before.get(directory), after.get(directory));
        let is_changed = match (hid, is.ignore_file(directory)) {
            // It came into view with other lines: nothing but rules decided on that, so it has no row.
            (Some(lines), Some(bytes)) => *lines != significant_lines(&bytes),
            // What a snapshot holds has a row of its own.
            (Some(_), None) => hid != hides,
            (None, _) => hid != hides && was.state(&path)?.or(is.state(&path)?).is_none(),
        };
        if is_changed {
            changed.push(path);
        }
    }
    Ok(changed)
}
