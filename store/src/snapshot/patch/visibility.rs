//! Finds what came into view or went out of it because ignore rules changed: nobody created or deleted it.

use std::path::Path;

use super::file_type;
use crate::error::Result;
use crate::model::entry::{Change, ObjectId};
use crate::model::path::WorkspacePath;
use crate::objects::reader::ObjectReader;
use crate::snapshot::rules::{Matcher, Rules};
use crate::snapshot::view::SnapshotView;

/// What is in view on either side.
pub(super) struct Visibility<'a> {
    old: Matcher<'a>,
    new: Matcher<'a>,
}

impl<'a> Visibility<'a> {
    /// Returns `None` if both sides have the same rules.
    pub(super) fn where_it_changed(
        reader: &ObjectReader,
        (old, new): (&'a SnapshotView<'_>, &'a SnapshotView<'_>),
        (old_rules, new_rules): (Option<ObjectId>, Option<ObjectId>),
        difference: &[Change],
    ) -> Result<Option<Self>> {
        if old_rules == new_rules
            && !difference
                .iter()
                .any(|change| change.path.name() == b".gitignore")
        {
            return Ok(None);
        }
        Ok(Some(Self {
            old: matcher(reader, old, old_rules)?,
            new: matcher(reader, new, new_rules)?,
        }))
    }

    /// Returns whether the rules of the new side show a path.
    pub(super) fn shows_now(&self, path: &WorkspacePath) -> bool {
        self.new.is_visible(path.as_bytes())
    }

    /// Returns whether ignore rules do not explain a change.
    pub(super) fn explains_nothing(&self, root: &Path, change: &Change) -> bool {
        let path = change.path.as_bytes();
        match (change.old, change.new) {
            (None, Some(_)) => self.old.is_visible(path),
            // What went out of view still exists. What does not was deleted, whatever the rules say now.
            (Some(_), None) => {
                self.new.is_visible(path)
                    || file_type(root, &change.path).is_none_or(|kind| kind.is_dir())
            }
            _ => true,
        }
    }
}

pub(super) fn matcher<'a>(
    reader: &ObjectReader,
    view: &'a SnapshotView<'_>,
    rules: Option<ObjectId>,
) -> Result<Matcher<'a>> {
    let rules = match rules {
        Some(rules) => Rules::decode(&reader.blob(rules)?)?,
        None => Rules::default(),
    };
    Ok(rules.matcher(|directory| view.ignore_file(directory)))
}
