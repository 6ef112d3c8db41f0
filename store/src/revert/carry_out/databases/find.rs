//! Finds the files that belong together with one that a plan writes. This module does IO, but only reads: the names in
//! the folders of those files, and how the files begin.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::holds_nothing;
use super::kinds::{FileKind, FolderKind, JOURNAL, START, StemKind, is_log};
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
        match self.kind {
            SetKind::File(kind) => {
                let mut logs = kind.logs().iter();
                logs.any(|ending| kind.beside(&self.place, ending) == path.as_bytes())
            }
            SetKind::Folder(_) => self.holds(path.as_bytes()) && !holds_nothing(path.name()),
            SetKind::Stem(_) => self.holds(path.as_bytes()),
        }
    }

    /// Returns whether a path is that of one of its files.
    fn holds(&self, path: &[u8]) -> bool {
        let place = &self.place[..];
        match self.kind {
            SetKind::File(kind) => {
                let mut companions = kind.companions().iter();
                path == place || companions.any(|ending| kind.beside(place, ending) == path)
            }
            SetKind::Folder(kind) => {
                let below = place.len() + usize::from(!place.is_empty());
                is_below(path, place) && kind.holds(&path[below..])
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

    /// Returns the set that a path belongs to: the outermost folder's, or else that of files with one stem, or else that
    /// of a file. Neither of the first takes a database without its log.
    pub fn set_of(&mut self, path: &WorkspacePath) -> Option<Set> {
        let bytes = path.as_bytes();
        let file = self.database_of(path).map(|(database, kind)| Set {
            place: database.as_bytes().to_vec(),
            kind: SetKind::File(kind),
        });
        let mut folders: Vec<&[u8]> = above(bytes).collect();
        folders.reverse();
        for folder in folders {
            let set = self.folder(folder).kind.map(|kind| Set {
                place: folder.to_vec(),
                kind: SetKind::Folder(kind),
            });
            if let Some(set) = set.filter(|set| set.holds(bytes))
                && self.holds_all(&set, file.as_ref())
            {
                return Some(set);
            }
        }
        let names = &self.folder(path.directory()).names;
        let stem = StemKind::of(path.name(), names).map(|(kind, stem)| Set {
            place: bytes[..bytes.len() - path.name().len() + stem].to_vec(),
            kind: SetKind::Stem(kind),
        });
        let stem = stem.filter(|set| self.holds_all(set, file.as_ref()));
        stem.or(file)
    }

    /// Returns whether a set holds all files of another one that are there.
    fn holds_all(&mut self, set: &Set, other: Option<&Set>) -> bool {
        let files = other.map(|other| self.files(other)).unwrap_or_default();
        files.iter().all(|file| {
            let is_there = self.folder(file.directory()).names.contains(file.name());
            !is_there || set.holds(file.as_bytes())
        })
    }

    /// Returns the database that a file is, or is the log of.
    fn database_of(&mut self, path: &WorkspacePath) -> Option<(WorkspacePath, FileKind)> {
        let beside = |kind: FileKind, ending: &str| {
            let database = kind.beside_which(path.as_bytes(), ending)?;
            WorkspacePath::new(database).ok()
        };
        for ending in FileKind::Sqlite.companions() {
            if let Some(database) = beside(FileKind::Sqlite, ending) {
                let kind = self.kind_of(&database);
                // Many a file is called `something-journal` and has nothing to do with `something`.
                if kind.is_some() || *ending != "-journal" || is_log(&self.start(path)) {
                    return Some((database, kind.unwrap_or(FileKind::Sqlite)));
                }
            }
        }
        for kind in [FileKind::DuckDb, FileKind::Kuzu, FileKind::LiteDb] {
            let endings = kind.companions().iter();
            let mut databases = endings.filter_map(|ending| beside(kind, ending));
            if let Some(database) = databases.find(|at| self.kind_of(at) == Some(kind)) {
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

    /// Returns whether the journal of a database is that of a transaction over several ones, which only a program that
    /// opens them ends: each is damaged without what the others have.
    pub fn is_in_larger_transaction(&self, set: &Set) -> bool {
        let is_sqlite = set.kind == SetKind::File(FileKind::Sqlite);
        let journal = WorkspacePath::new(FileKind::Sqlite.beside(&set.place, "-journal"));
        let Some(mut file) = journal
            .ok()
            .filter(|_| is_sqlite)
            .and_then(|at| open_in(self.root, &at))
        else {
            return false;
        };
        let mut end = [0; JOURNAL.len()];
        let from = SeekFrom::End(-(JOURNAL.len() as i64));
        file.seek(from)
            .and_then(|_| file.read_exact(&mut end))
            .is_ok()
            && end == JOURNAL
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
            let names = self.names(path);
            let kind = FolderKind::of(&names, |folder| self.names(&join(path, folder.as_bytes())));
            self.folders.insert(path.to_vec(), Folder { names, kind });
        }
        &self.folders[path]
    }

    /// Returns the names in a folder, now or once the plan is carried out.
    fn names(&self, path: &[u8]) -> BTreeSet<Vec<u8>> {
        let on_disk = self.listed(path).into_iter().map(|(name, _)| name);
        let planned = self.planned.get(path).into_iter().flatten().cloned();
        on_disk.chain(planned).collect()
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
                let beside = companions.map(|ending| kind.beside(&set.place, ending));
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
