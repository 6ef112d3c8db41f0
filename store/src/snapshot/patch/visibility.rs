//! Finds what came into view or went out of it because ignore rules changed: it was neither created nor deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::file_type;
use crate::error::Result;
use crate::model::entry::{Change, EntryKind, ObjectId};
use crate::model::path::{IGNORE_FILE, WorkspacePath, join};
use crate::objects::reader::ObjectReader;
use crate::snapshot::presence::{Presence, Presences};
use crate::snapshot::rules::{Matcher, Rules, significant_lines};
use crate::snapshot::view::SnapshotView;
use crate::snapshot::{Snapshot, Snapshots};

/// What either side tells of the paths that it does not store.
pub(super) struct Visibility<'a> {
    before: Presences<'a>,
    after: Presences<'a>,
}

impl<'a> Visibility<'a> {
    /// Returns `None` if both sides have the same rules.
    pub(super) fn where_it_changed(
        reader: &ObjectReader,
        (before, after): (&'a SnapshotView<'a>, &'a SnapshotView<'a>),
        (old, new): (&Snapshot, &Snapshot),
        difference: &[Change],
    ) -> Result<Option<Self>> {
        if old.rules == new.rules
            && !difference
                .iter()
                .any(|change| change.path.name() == IGNORE_FILE)
        {
            return Ok(None);
        }
        Ok(Some(Self {
            before: Presences::of(reader, before, old)?,
            after: Presences::of(reader, after, new)?,
        }))
    }

    /// Returns whether something may be at a path on the new side, out of view.
    pub(super) fn is_out_of_view(&self, path: &WorkspacePath) -> Result<bool> {
        Ok(self.after.at(path)?.is_out_of_view())
    }

    /// Returns whether ignore rules do not explain a change.
    pub(super) fn explains_nothing(&self, root: &Path, change: &Change) -> Result<bool> {
        Ok(match (change.old, change.new) {
            (None, Some(entry)) => match self.before.at(&change.path)? {
                Presence::Stored | Presence::Absent => true,
                // It took the place of something else.
                Presence::Seen => entry.mode.kind() == EntryKind::Directory,
                Presence::SeenDirectory => entry.mode.kind() != EntryKind::Directory,
                Presence::Unknown => false,
            },
            // What went out of view still exists. What does not was deleted, whatever the rules say now.
            (Some(_), None) => {
                !self.is_out_of_view(&change.path)?
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

/// Returns a matcher that knows only what ignore files and their like say, and nothing of what is captured all the same.
pub(crate) fn unforced<'a>(
    reader: &ObjectReader,
    view: &'a SnapshotView<'_>,
    rules: Option<ObjectId>,
) -> Result<Matcher<'a>> {
    let rules = Rules {
        include: Vec::new(),
        ..read_rules(reader, rules)?
    };
    Ok(rules.matcher(|directory| view.ignore_file(directory)))
}

pub(crate) fn read_rules(reader: &ObjectReader, rules: Option<ObjectId>) -> Result<Rules> {
    match rules {
        Some(rules) => Rules::decode(&reader.blob(rules)?),
        None => Ok(Rules::default()),
    }
}

impl Snapshots {
    /// Returns the ignore files that ignore themselves and whose lines differ between two snapshots, by path. Neither
    /// holds the files.
    pub fn own_ignore_files_changed(
        &self,
        old: &Snapshot,
        new: &Snapshot,
    ) -> Result<Vec<WorkspacePath>> {
        if old.rules == new.rules {
            return Ok(Vec::new());
        }
        let reader = self.objects.reader()?;
        let lines = |rules| -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
            Ok(read_rules(&reader, rules)?.untracked.into_iter().collect())
        };
        let (before, after) = (lines(old.rules)?, lines(new.rules)?);
        let directories: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        let (was, is) = (
            SnapshotView::open(&reader, old)?,
            SnapshotView::open(&reader, new)?,
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
}
