//! Finds the files that belong together with one that a plan writes. This module does IO, but only reads: the names in
//! the folders of those files, and how the files begin.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::holds_nothing;
use super::kinds::{FileKind, FolderKind, START, StemKind, is_log};
use super::open::open_in;
use crate::fs::{beneath, disk};
use crate::model::item::Item;
use crate::model::path::{PathKind, WorkspacePath, above, is_below, join, split};

/// Files that go back together, or not at all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Set {
    /// The path of the database, or of its folder; the root's is empty.
    pub place: Vec<u8>,
    /// What it is.
    pub kind: SetKind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SetKind {
    /// A file and what is beside it.
    File(FileKind),
    /// Files of a folder.
    Folder(&'static FolderKind),
    /// Files with one stem, which is their place.
    Stem(&'static StemKind),
}

impl Set {
    /// Returns whether a path is that of one of its files that hold something that the others lack.
    pub fn is_data(&self, path: &WorkspacePath) -> bool {
        let (place, path) = (&self.place[..], path.as_bytes());
        match self.kind {
            SetKind::File(kind) => {
                let mut logs = kind.logs().iter();
                logs.any(|ending| path.strip_suffix(ending.as_bytes()) == Some(place))
            }
            SetKind::Folder(kind) => {
                let below = place.len() + usize::from(!place.is_empty());
                is_below(path, place) && kind.holds(&path[below..]) && !holds_nothing(split(path).1)
            }
            SetKind::Stem(kind) => kind.files(place).iter().any(|file| file == path),
        }
    }

    /// Returns whether one of its files may stay when the others go: a folder's lock, for example.
    pub fn is_only_a_sign(&self, path: &WorkspacePath) -> bool {
        matches!(self.kind, SetKind::Folder(_)) && holds_nothing(path.name())
    }
}

/// Looks for the sets of a plan.
pub(super) struct Finder<'a> {
    root: &'a Path,
    /// The workspace, open.
    opened: Option<OwnedFd>,
    /// The names that the plan's paths have in each folder. Those of files that are gone are no longer on the disk.
    planned: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// The folders that were looked at.
    folders: BTreeMap<Vec<u8>, Folder>,
}

/// A folder of the workspace.
struct Folder {
    /// The names in it, now or once the plan is carried out.
    names: BTreeSet<Vec<u8>>,
    /// The kind of database that they are.
    kind: Option<&'static FolderKind>,
}

impl<'a> Finder<'a> {
    pub fn new(root: &'a Path, items: &[Item]) -> Self {
        let mut planned: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for item in items {
            let path = item.path.as_bytes();
            for at in std::iter::once(path).chain(above(path).filter(|at| !at.is_empty())) {
                let (folder, name) = split(at);
                planned
                    .entry(folder.to_vec())
                    .or_default()
                    .insert(name.to_vec());
            }
        }
        Self {
            root,
            opened: beneath::open_root(root).ok(),
            planned,
            folders: BTreeMap::new(),
        }
    }

    /// Returns the set that a path belongs to: the outermost folder's, or else that of a file.
    pub fn set_of(&mut self, path: &WorkspacePath) -> Option<Set> {
        let bytes = path.as_bytes();
        let mut folders: Vec<&[u8]> = above(bytes).collect();
        folders.reverse();
        for folder in folders {
            let below = bytes.get(folder.len() + usize::from(!folder.is_empty())..)?;
            if let Some(kind) = self.folder(folder).kind.filter(|kind| kind.holds(below)) {
                return Some(Set {
                    place: folder.to_vec(),
                    kind: SetKind::Folder(kind),
                });
            }
        }
        let names = &self.folder(path.directory()).names;
        if let Some((kind, stem)) = StemKind::of(path.name(), names) {
            return Some(Set {
                place: bytes[..bytes.len() - path.name().len() + stem].to_vec(),
                kind: SetKind::Stem(kind),
            });
        }
        let (database, kind) = self.database_of(path)?;
        Some(Set {
            place: database.as_bytes().to_vec(),
            kind: SetKind::File(kind),
        })
    }

    /// Returns the database that a file is, or is the log of.
    fn database_of(&mut self, path: &WorkspacePath) -> Option<(WorkspacePath, FileKind)> {
        let strip = |ending: &str| {
            let database = path.as_bytes().strip_suffix(ending.as_bytes())?;
            WorkspacePath::new(database).ok()
        };
        for ending in FileKind::Sqlite.companions() {
            if let Some(database) = strip(ending) {
                let kind = self.kind_of(&database);
                // Many a file is called `something-journal` and has nothing to do with `something`.
                if kind.is_some() || *ending != "-journal" || is_log(&self.start(path)) {
                    return Some((database, kind.unwrap_or(FileKind::Sqlite)));
                }
            }
        }
        for kind in [FileKind::DuckDb, FileKind::Kuzu] {
            let databases = kind.companions().iter().filter_map(|ending| strip(ending));
            if let Some(database) = databases
                .into_iter()
                .find(|at| self.kind_of(at) == Some(kind))
            {
                return Some((database, kind));
            }
        }
        let kind = self.kind_of(path).or_else(|| {
            let mut logs = FileKind::Sqlite.logs().iter();
            logs.any(|ending| self.is_log_beside(path, ending))
                .then_some(FileKind::Sqlite)
        });
        Some((path.clone(), kind?))
    }

    /// Returns the kind of a database, by its beginning or its name.
    fn kind_of(&self, path: &WorkspacePath) -> Option<FileKind> {
        let start = self.start(path);
        if path.name().ends_with(b",v") && start.starts_with(b"head") {
            return Some(FileKind::Rcs);
        }
        FileKind::of_start(&start).or_else(|| FileKind::of_name(path.name()))
    }

    /// Returns whether there is a log of SQLite's beside a file. The file itself may be gone, or encrypted.
    fn is_log_beside(&mut self, path: &WorkspacePath, ending: &str) -> bool {
        let log = [path.name(), ending.as_bytes()].concat();
        let is_there = self.folder(path.directory()).names.contains(&log);
        is_there
            && WorkspacePath::new(join(path.directory(), &log))
                .is_ok_and(|log| is_log(&self.start(&log)))
    }

    /// Returns the first bytes of a file on disk; none if there is no such file.
    fn start(&self, path: &WorkspacePath) -> Vec<u8> {
        let mut start = Vec::with_capacity(START);
        if let Some(file) = open_in(self.root, path) {
            // What cannot be read is no database that a plan could write.
            let _ = file.take(START as u64).read_to_end(&mut start);
        }
        start
    }

    fn folder(&mut self, path: &[u8]) -> &Folder {
        if !self.folders.contains_key(path) {
            let on_disk = self.listed(path).into_iter().map(|(name, _)| name);
            let planned = self.planned.get(path).into_iter().flatten().cloned();
            let names: BTreeSet<Vec<u8>> = on_disk.chain(planned).collect();
            let kind = FolderKind::of(&names);
            self.folders.insert(path.to_vec(), Folder { names, kind });
        }
        &self.folders[path]
    }

    fn listed(&self, path: &[u8]) -> Vec<disk::Name> {
        let listed = self.opened.as_ref().and_then(|root| {
            let folder = beneath::open_directory(root.as_fd(), path).ok()?;
            disk::names(folder.as_fd()).ok()
        });
        listed.unwrap_or_default()
    }

    /// Returns the paths where files of a set may be now.
    pub fn files(&self, set: &Set) -> Vec<WorkspacePath> {
        let paths: Vec<Vec<u8>> = match set.kind {
            SetKind::File(kind) => {
                let companions = kind.companions().iter();
                let beside = companions.map(|ending| [&set.place, ending.as_bytes()].concat());
                std::iter::once(set.place.clone()).chain(beside).collect()
            }
            SetKind::Folder(kind) => self.below(&set.place, kind),
            SetKind::Stem(kind) => kind.files(&set.place),
        };
        let paths = paths.into_iter();
        paths
            .filter_map(|path| WorkspacePath::new(path).ok())
            .collect()
    }

    fn below(&self, place: &[u8], kind: &FolderKind) -> Vec<Vec<u8>> {
        let mut files = Vec::new();
        let mut folders = vec![place.to_vec()];
        while let Some(folder) = folders.pop() {
            for (name, entry) in self.listed(&folder) {
                let path = join(&folder, &name);
                let below = &path[place.len() + usize::from(!place.is_empty())..];
                if entry == Some(PathKind::Directory) {
                    if kind.is_deep {
                        folders.push(path);
                    }
                } else if kind.holds(below) {
                    files.push(path);
                }
            }
        }
        files
    }
}
