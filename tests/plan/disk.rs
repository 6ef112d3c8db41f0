//! A workspace in memory, with the laws of a file system: no file above another, an empty directory is an entry.

use std::collections::BTreeMap;

use ckpt_schema::report::FileResult;
use ckpt_store::model::entry::{Change, Entry, EntryKind, State};
use ckpt_store::model::item::Item;
use ckpt_store::model::path::WorkspacePath;

use testing::plan::States;

/// What a snapshot would hold: files, links and empty directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk(BTreeMap<WorkspacePath, Entry>);

impl Disk {
    pub fn state(&self, path: &WorkspacePath) -> State {
        self.0.get(path).copied()
    }

    pub fn states(&self) -> States {
        self.0
            .iter()
            .map(|(path, entry)| (path.clone(), Some(*entry)))
            .collect()
    }

    pub fn paths(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.0.keys()
    }

    /// Puts an entry there, in the place of whatever is above or below.
    pub fn force(&mut self, path: &WorkspacePath, entry: Entry) {
        self.0
            .retain(|other, _| !other.is_below(path) && !path.is_below(other));
        self.0.insert(path.clone(), entry);
    }

    /// Removes an entry; the directory that it leaves empty stays or goes.
    pub fn remove(&mut self, path: &WorkspacePath, leaves_directory: bool) {
        let was_there = self.0.remove(path).is_some();
        let Some(parent) = path.parent().filter(|_| was_there && leaves_directory) else {
            return;
        };
        if !self.0.keys().any(|other| other.is_below(&parent)) {
            self.0.insert(parent, Entry::directory(0o755));
        }
    }

    /// Carries out a plan, as strictly as `apply` does: removals first, deepest first, and never a file by the way.
    pub fn apply(&mut self, items: &[Item]) {
        let planned = || {
            items
                .iter()
                .filter(|item| item.result == FileResult::Planned)
        };
        for item in planned() {
            assert_eq!(
                self.state(&item.path),
                item.expected,
                "{:?} is what the plan expects",
                item.path
            );
        }
        for item in planned() {
            self.0.remove(&item.path);
        }
        for item in planned() {
            let Some(entry) = item.target else { continue };
            self.enter(&item.path);
            assert!(
                entry.mode.kind() == EntryKind::Directory
                    || !self.0.keys().any(|other| other.is_below(&item.path)),
                "{:?} is no directory with something in it",
                item.path
            );
            self.0.insert(item.path.clone(), entry);
        }
    }

    /// Makes the directories above a path: an empty one that is filled is no entry any more.
    fn enter(&mut self, path: &WorkspacePath) {
        let mut above = path.parent();
        while let Some(directory) = above {
            if let Some(entry) = self.0.remove(&directory) {
                assert_eq!(
                    entry.mode.kind(),
                    EntryKind::Directory,
                    "{directory:?} is no file above {path:?}"
                );
            }
            above = directory.parent();
        }
    }

    /// Returns what differs, by path.
    pub fn changes_to(&self, new: &Self) -> Vec<Change> {
        let paths = self
            .0
            .keys()
            .chain(new.0.keys().filter(|path| !self.0.contains_key(*path)));
        let changes = paths.map(|path| Change {
            path: path.clone(),
            old: self.state(path),
            new: new.state(path),
        });
        changes.filter(|change| change.old != change.new).collect()
    }
}
