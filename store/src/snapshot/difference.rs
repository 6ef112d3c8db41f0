//! Finds every path that differs between two snapshots. Only subtrees whose ids differ are read.

use std::cmp::Ordering;

use super::view::{SnapshotView, WalkBounds, join};
use super::{Snapshot, Snapshots};
use crate::error::Result;
use crate::model::entry::{Change, Entry, ObjectId};
use crate::model::path::WorkspacePath;
use crate::objects::reader::ObjectReader;
use crate::objects::tree::{TreeEntry, TreeMode};

/// Returns every path that differs, by path.
pub(crate) fn difference(
    reader: &ObjectReader,
    old: &Snapshot,
    new: &Snapshot,
) -> Result<Vec<Change>> {
    if (old.tree, old.attributes) == (new.tree, new.attributes) {
        return Ok(Vec::new());
    }
    between(
        &SnapshotView::open(reader, old)?,
        &SnapshotView::open(reader, new)?,
    )
}

/// Like `difference`, for opened snapshots.
pub(crate) fn between(old: &SnapshotView<'_>, new: &SnapshotView<'_>) -> Result<Vec<Change>> {
    let mut differing = Differing {
        old: TreeSide::new(old),
        new: TreeSide::new(new),
        seen: 0,
    };
    differing.compare_trees(!old.attributes.shares_defaults(&new.attributes))?;
    differing.compare_attributes()?;
    Ok(join_sides(differing.old.sorted(), differing.new.sorted()))
}

impl Snapshots {
    /// Returns the directories with captured entries in both snapshots whose permissions differ, by path, with the
    /// permissions in either.
    pub fn directories_that_differ(
        &self,
        old: &Snapshot,
        new: &Snapshot,
    ) -> Result<Vec<(WorkspacePath, u32, u32)>> {
        if old.attributes == new.attributes {
            return Ok(Vec::new());
        }
        let reader = self.objects.reader()?;
        let (old, new) = (
            SnapshotView::open(&reader, old)?,
            SnapshotView::open(&reader, new)?,
        );
        let paths = match old
            .attributes
            .shares_default_of_directories(&new.attributes)
        {
            true => noted_otherwise(&old, &new),
            false => directories_of(&old)?,
        };
        let mut differing = Vec::new();
        for path in paths {
            let permissions = (
                old.directory_permissions(&path)?,
                new.directory_permissions(&path)?,
            );
            if let (Some(then), Some(now)) = permissions
                && then != now
            {
                differing.push((path, then, now));
            }
        }
        Ok(differing)
    }
}

/// Returns the directories with captured entries, by path.
fn directories_of(view: &SnapshotView<'_>) -> Result<Vec<WorkspacePath>> {
    let files = view.files_below(None, view.tree)?;
    let above = WorkspacePath::all_above(files.iter().map(|(path, _)| path));
    Ok(above.into_iter().collect())
}

/// Returns the paths whose permissions are noted differently, by path.
fn noted_otherwise(old: &SnapshotView<'_>, new: &SnapshotView<'_>) -> Vec<WorkspacePath> {
    let (old, new) = (&old.attributes, &new.attributes);
    let mut paths: Vec<_> = old
        .noted_otherwise(new)
        .chain(new.noted_otherwise(old))
        .cloned()
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The entries of either side at paths that may differ.
struct Differing<'a> {
    old: TreeSide<'a>,
    new: TreeSide<'a>,
    seen: usize,
}

struct TreeSide<'a> {
    view: &'a SnapshotView<'a>,
    entries: Vec<(WorkspacePath, Entry)>,
}

/// A directory with its tree on either side.
type Pair = (Option<WorkspacePath>, Option<ObjectId>, Option<ObjectId>);

impl<'a> Differing<'a> {
    /// Compares the trees. With `whole`, it descends even if their ids are equal, because permissions may differ
    /// everywhere.
    fn compare_trees(&mut self, whole: bool) -> Result<()> {
        // A stack instead of recursion, and a bound: a small tree may contain itself any number of times.
        let trees = [self.old.view.tree, self.new.view.tree];
        let mut bounds = WalkBounds::of(self.old.view.reader, &trees);
        let mut open: Vec<Pair> = vec![(None, Some(self.old.view.tree), Some(self.new.view.tree))];
        while let Some((directory, old, new)) = open.pop() {
            if old == new && !whole {
                continue;
            }
            let (old, new) = (self.old.read(old)?, self.new.read(new)?);
            self.seen += old.len() + new.len();
            bounds.check(self.seen)?;
            merge(&old, &new, |old, new| {
                if old == new && !whole {
                    return Ok(());
                }
                let name = &old.or(new).expect("one of them is there").name;
                let path = join(directory.as_ref(), name)?;
                self.old.note(&path, old);
                self.new.note(&path, new);
                let trees = (tree_of(old), tree_of(new));
                if trees != (None, None) {
                    open.push((Some(path), trees.0, trees.1));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Notes the paths whose permissions are noted differently, and the empty directories of only one side.
    fn compare_attributes(&mut self) -> Result<()> {
        for path in noted_otherwise(self.old.view, self.new.view) {
            self.old.look_up(&path)?;
            self.new.look_up(&path)?;
        }
        Ok(())
    }
}

impl<'a> TreeSide<'a> {
    fn new(view: &'a SnapshotView<'a>) -> Self {
        Self {
            view,
            entries: Vec::new(),
        }
    }

    fn read(&self, tree: Option<ObjectId>) -> Result<Vec<TreeEntry>> {
        tree.map_or_else(|| Ok(Vec::new()), |tree| self.view.read_tree(tree))
    }

    fn note(&mut self, path: &WorkspacePath, entry: Option<&TreeEntry>) {
        if let Some(entry) = entry.and_then(|entry| self.view.entry(path, entry)) {
            self.entries.push((path.clone(), entry));
        }
    }

    fn look_up(&mut self, path: &WorkspacePath) -> Result<()> {
        if let Some(entry) = self.view.state(path)? {
            self.entries.push((path.clone(), entry));
        }
        Ok(())
    }

    /// Returns the entries by path, each once.
    fn sorted(mut self) -> Vec<(WorkspacePath, Entry)> {
        self.entries
            .sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.entries.dedup_by(|(one, _), (other, _)| one == other);
        self.entries
    }
}

fn tree_of(entry: Option<&TreeEntry>) -> Option<ObjectId> {
    entry
        .filter(|entry| entry.mode == TreeMode::Tree)
        .map(|entry| entry.id)
}

/// Walks two sorted trees side by side. A file and a directory with the same name are two entries.
fn merge(
    mut old: &[TreeEntry],
    mut new: &[TreeEntry],
    mut each: impl FnMut(Option<&TreeEntry>, Option<&TreeEntry>) -> Result<()>,
) -> Result<()> {
    loop {
        let order = match (old.first(), new.first()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.compare(other),
        };
        let left = if order.is_le() {
            old.split_off_first()
        } else {
            None
        };
        let right = if order.is_ge() {
            new.split_off_first()
        } else {
            None
        };
        each(left, right)?;
    }
}

fn join_sides(old: Vec<(WorkspacePath, Entry)>, new: Vec<(WorkspacePath, Entry)>) -> Vec<Change> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    let mut changes = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let left = old.next_if(|_| order.is_le());
        let right = new.next_if(|_| order.is_ge());
        let (old, new) = (
            left.as_ref().map(|(_, entry)| *entry),
            right.as_ref().map(|(_, entry)| *entry),
        );
        if let Some((path, _)) = left.or(right).filter(|_| old != new) {
            changes.push(Change { path, old, new });
        }
    }
}
