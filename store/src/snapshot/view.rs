//! A snapshot as paths and entries: its tree and its attributes together. Trees are validated as they are read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::Snapshot;
use super::attributes::{Attributes, Bearer};
use crate::error::{Context, Error, Result};
use crate::fs::threads;
use crate::model::entry::{Entry, Mode, ObjectId, State};
use crate::model::path::{IGNORE_FILE, WorkspacePath, split};
use crate::objects::reader::ObjectReader;
use crate::objects::tree::{TreeEntry, TreeMode, lookup};

/// More entries than any workspace has, and fewer than fill the memory. A small tree can contain itself any number of
/// times.
const MOST_ENTRIES: usize = 10_000_000;
/// Deeper than any path can be opened.
const MAX_DEPTH: usize = 4096;
/// How many entries are read before it is asked how many there are altogether.
const MANY_ENTRIES: usize = 100_000;

/// An open snapshot.
pub(crate) struct SnapshotView<'a> {
    pub reader: &'a ObjectReader,
    /// Its tree.
    pub tree: ObjectId,
    /// Its attributes.
    pub attributes: Arc<Attributes>,
    trees: Mutex<HashMap<ObjectId, Arc<Vec<TreeEntry>>>>,
    /// The way to the directory that was looked into last.
    last: Mutex<Way>,
}

/// A directory, and the trees on the way to it: the next question is most likely about one beside it, and a deep one is
/// not looked up from the root for each of its entries.
#[derive(Default)]
struct Way {
    path: Vec<u8>,
    /// The lengths of the paths on the way, each with its tree.
    trees: Vec<(usize, ObjectId)>,
}

impl Way {
    /// Goes back to where a path turns off.
    fn back_to(&mut self, path: &[u8]) {
        let same = self
            .path
            .iter()
            .zip(path)
            .take_while(|(one, other)| one == other);
        let same = same.count();
        let is_on =
            |length: usize| length <= same && path.get(length).is_none_or(|byte| *byte == b'/');
        while self.trees.pop_if(|(length, _)| !is_on(*length)).is_some() {}
        self.path.truncate(self.length());
    }

    fn length(&self) -> usize {
        self.trees.last().map_or(0, |(length, _)| *length)
    }
}

impl<'a> SnapshotView<'a> {
    /// Opens a snapshot.
    pub(crate) fn open(reader: &'a ObjectReader, snapshot: &Snapshot) -> Result<Self> {
        let attributes = match snapshot.attributes {
            Some(id) => {
                let decoded = Attributes::decode(&reader.blob(id)?);
                decoded.map_err(|error| {
                    Error::damaged(format!("the blob `{id}` cannot be used")).because(error)
                })?
            }
            None => Attributes::default(),
        };
        Ok(Self {
            reader,
            tree: snapshot.tree,
            attributes: Arc::new(attributes),
            trees: Mutex::default(),
            last: Mutex::default(),
        })
    }

    /// Returns every entry, by path.
    pub(crate) fn entries(&self) -> Result<Vec<(WorkspacePath, Entry)>> {
        let mut entries = self.files_below(None, self.tree)?;
        let directories = self.attributes.empty_directories();
        entries.extend(
            directories
                .map(|(path, mode)| (path.clone(), Entry::stored(mode, ObjectId::EMPTY_TREE))),
        );
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        // Tree and attributes are validated one by one; only together may they contradict each other.
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(entries),
            Some(pair) => Err(Error::unavailable(format!(
                "`{}` is both a file and a directory",
                pair[0].0.to_text()
            ))),
        }
    }

    /// Returns the state of a path. A directory with captured entries is absent.
    pub(crate) fn state(&self, path: &WorkspacePath) -> Result<State> {
        match self.tree_entry(path)? {
            Some(entry) => Ok(self.entry(path, &entry)),
            None => Ok(self
                .attributes
                .empty_directory(path)
                .map(|mode| Entry::stored(mode, ObjectId::EMPTY_TREE))),
        }
    }

    /// Returns the permissions of a directory with captured entries, or `None` if there is no such directory.
    pub(crate) fn directory_permissions(&self, path: &WorkspacePath) -> Result<Option<u32>> {
        let is_tree = self
            .tree_entry(path)?
            .is_some_and(|entry| entry.mode == TreeMode::Tree);
        Ok(is_tree.then(|| self.attributes.permissions(path, Bearer::Directory)))
    }

    /// Returns the group bits that an ACL takes from a path.
    pub(crate) fn withheld(&self, path: &WorkspacePath) -> Result<u32> {
        if self.attributes.withhold_nothing() {
            return Ok(0);
        }
        let bearer = match self.tree_entry(path)?.map(|entry| entry.mode) {
            Some(TreeMode::File) => Bearer::File,
            Some(TreeMode::Executable) => Bearer::Executable,
            Some(TreeMode::Tree) => Bearer::Directory,
            Some(TreeMode::Symlink) => return Ok(0),
            None if self.attributes.has_bare_directory(path) => Bearer::EmptyDirectory,
            None => return Ok(0),
        };
        Ok(self.attributes.withheld(path, bearer))
    }

    /// Returns whether a path is a directory, whatever is in it.
    pub(crate) fn is_directory(&self, path: &WorkspacePath) -> Result<bool> {
        let is_tree = self
            .tree_entry(path)?
            .is_some_and(|entry| entry.mode == TreeMode::Tree);
        let attributes = &self.attributes;
        Ok(is_tree
            || attributes.has_bare_directory(path)
            || attributes.has_bare_directory_below(path))
    }

    /// Returns the entries at, above and below some paths: everything that could be in their way.
    pub(crate) fn around(&self, paths: &[WorkspacePath]) -> Result<Vec<(WorkspacePath, Entry)>> {
        self.read_ahead(paths);
        let mut found = std::collections::BTreeMap::new();
        // The places that were looked at, each with whether all that is below it is found already.
        let mut seen: HashMap<WorkspacePath, bool> = HashMap::new();
        for path in paths {
            let mut is_listed = false;
            let mut way = Vec::new();
            for place in path.clone().at_and_above() {
                // What is above it was looked at when it was.
                if let Some(listed) = seen.get(&place) {
                    is_listed = *listed;
                    break;
                }
                if let Some(entry) = self.state(&place)? {
                    found.insert(place.clone(), entry);
                }
                way.push(place);
            }
            seen.extend(way.into_iter().map(|place| (place, is_listed)));
            if !is_listed
                && let Some(TreeEntry {
                    mode: TreeMode::Tree,
                    id,
                    ..
                }) = self.tree_entry(path)?
            {
                found.extend(self.files_below(Some(path.clone()), id)?);
                seen.insert(path.clone(), true);
            }
        }
        let empty = self
            .attributes
            .empty_directories()
            .filter(|(directory, _)| {
                directory
                    .directories_above()
                    .any(|parent| paths.binary_search(&parent).is_ok())
            });
        found.extend(
            empty.map(|(path, mode)| (path.clone(), Entry::stored(mode, ObjectId::EMPTY_TREE))),
        );
        Ok(found.into_iter().collect())
    }

    /// Returns the bytes of a directory's ignore file, if a snapshot would use it. The root's path is empty.
    pub(crate) fn ignore_file(&self, directory: &[u8]) -> Option<Vec<u8>> {
        let path = match WorkspacePath::new(directory) {
            Ok(directory) => directory.join(IGNORE_FILE).ok()?,
            Err(_) => WorkspacePath::new(IGNORE_FILE).ok()?,
        };
        let entry = self.tree_entry(&path).ok()??;
        let is_file = matches!(entry.mode, TreeMode::File | TreeMode::Executable);
        let bytes = is_file.then(|| self.reader.blob(entry.id).ok())??;
        (bytes.len() as u64 <= crate::git::SMALL).then_some(bytes)
    }

    /// Returns the entry of the tree at a path.
    fn tree_entry(&self, path: &WorkspacePath) -> Result<Option<TreeEntry>> {
        let (directory, name) = split(path.as_bytes());
        // Taken, not locked: the threads that read ahead do not wait for each other.
        let mut way = std::mem::take(&mut *threads::lock(&self.last));
        let tree = self.go_to(&mut way, directory);
        *threads::lock(&self.last) = way;
        match tree? {
            Some(tree) => Ok(lookup(&self.cached_tree(tree)?, name).cloned()),
            None => Ok(None),
        }
    }

    /// Returns the tree of a directory, if there is one, and goes as far as there is a way.
    fn go_to(&self, way: &mut Way, directory: &[u8]) -> Result<Option<ObjectId>> {
        way.back_to(directory);
        while way.length() < directory.len() {
            let tree = way.trees.last().map_or(self.tree, |(_, tree)| *tree);
            let begin = way.length() + usize::from(way.length() > 0);
            let rest = &directory[begin..];
            let end = rest.iter().position(|byte| *byte == b'/');
            let name = &rest[..end.unwrap_or(rest.len())];
            match lookup(&self.cached_tree(tree)?, name) {
                Some(entry) if entry.mode == TreeMode::Tree => {
                    let length = begin + name.len();
                    way.path
                        .extend_from_slice(&directory[way.path.len()..length]);
                    way.trees.push((length, entry.id));
                }
                Some(_) | None => return Ok(None),
            }
        }
        Ok(Some(way.trees.last().map_or(self.tree, |(_, tree)| *tree)))
    }

    fn cached_tree(&self, id: ObjectId) -> Result<Arc<Vec<TreeEntry>>> {
        let trees = || threads::lock(&self.trees);
        if let Some(tree) = trees().get(&id) {
            return Ok(Arc::clone(tree));
        }
        // Without the lock, so that the threads that read ahead do not wait for each other.
        let tree = Arc::new(self.reader.tree(id)?);
        trees().insert(id, Arc::clone(&tree));
        Ok(tree)
    }

    /// Reads the trees on the way to some paths in parallel, so that later lookups are quick. Errors show up then.
    fn read_ahead(&self, paths: &[WorkspacePath]) {
        threads::map(paths, |path| drop(self.tree_entry(path)));
    }

    /// Returns the entry of a file or link; `None` for a directory.
    pub(crate) fn entry(&self, path: &WorkspacePath, entry: &TreeEntry) -> State {
        let mode = match entry.mode {
            TreeMode::File => Mode::file(self.attributes.permissions(path, Bearer::File)),
            TreeMode::Executable => {
                Mode::file(self.attributes.permissions(path, Bearer::Executable))
            }
            TreeMode::Symlink => Mode::SYMLINK,
            TreeMode::Tree => return None,
        };
        Some(Entry::stored(mode, entry.id))
    }

    /// Returns the files and links below a directory (`None` is the root) with this tree.
    pub(crate) fn files_below(
        &self,
        directory: Option<WorkspacePath>,
        tree: ObjectId,
    ) -> Result<Vec<(WorkspacePath, Entry)>> {
        let mut files = Vec::new();
        let mut bounds = WalkBounds::of(self.reader, &[tree]);
        let mut open = vec![(directory, tree)];
        while let Some((directory, tree)) = open.pop() {
            for child in self.reader.tree(tree)? {
                let path = join(directory.as_ref(), &child.name)?;
                match self.entry(&path, &child) {
                    Some(entry) => files.push((path, entry)),
                    None => open.push((Some(path), child.id)),
                }
            }
            bounds.check(files.len() + open.len())?;
        }
        Ok(files)
    }

    /// Returns the entries of a tree.
    pub(crate) fn read_tree(&self, id: ObjectId) -> Result<Vec<TreeEntry>> {
        self.reader.tree(id)
    }
}

/// The bounds of a walk through trees that are read as often as they are named.
pub(crate) struct WalkBounds<'a> {
    reader: &'a ObjectReader,
    /// The trees that it begins at, until they are measured.
    trees: Vec<ObjectId>,
}

impl<'a> WalkBounds<'a> {
    pub fn of(reader: &'a ObjectReader, trees: &[ObjectId]) -> Self {
        let trees = trees.to_vec();
        Self { reader, trees }
    }

    /// Fails if there are more entries than any workspace has, once it has come to many.
    pub fn check(&mut self, entries: usize) -> Result<()> {
        let mut extents = TreeExtents::default();
        match entries > MANY_ENTRIES {
            true => (self.trees.drain(..)).try_for_each(|tree| extents.check(self.reader, tree)),
            false => Ok(()),
        }
    }
}

/// How much trees hold with all that is below them. Each is read once, however often it is named.
#[derive(Default)]
pub(crate) struct TreeExtents(HashMap<ObjectId, TreeExtent>);

#[derive(Clone, Copy)]
struct TreeExtent {
    entries: usize,
    depth: usize,
}

/// A tree, with what is known of it, and the trees in it that are not counted yet.
struct HalfMeasured {
    tree: ObjectId,
    extent: TreeExtent,
    rest: Vec<ObjectId>,
}

impl HalfMeasured {
    fn begin(reader: &ObjectReader, tree: ObjectId) -> Self {
        // What cannot be read is told of where it is needed.
        let entries = reader.tree(tree).unwrap_or_default();
        let below = entries.iter().filter(|entry| entry.mode == TreeMode::Tree);
        Self {
            tree,
            extent: TreeExtent {
                entries: entries.len(),
                depth: 1,
            },
            rest: below.map(|entry| entry.id).collect(),
        }
    }
}

impl TreeExtents {
    /// Fails if a tree is larger or deeper than any workspace.
    pub fn check(&mut self, reader: &ObjectReader, tree: ObjectId) -> Result<()> {
        if self.0.contains_key(&tree) {
            return Ok(());
        }
        let mut way = vec![HalfMeasured::begin(reader, tree)];
        while let Some(last) = way.last_mut() {
            let Some(below) = last.rest.last().copied() else {
                self.0.insert(last.tree, last.extent);
                way.pop();
                continue;
            };
            if let Some(extent) = self.0.get(&below) {
                last.rest.pop();
                last.extent.entries = last.extent.entries.saturating_add(extent.entries);
                last.extent.depth = last.extent.depth.max(extent.depth + 1);
            } else {
                way.push(HalfMeasured::begin(reader, below));
            }
            let length = way.len();
            let is_large = |one: &HalfMeasured| {
                one.extent.entries > MOST_ENTRIES || one.extent.depth + length > MAX_DEPTH
            };
            if way.last().is_some_and(is_large) {
                let text = "the snapshot is larger or deeper than any workspace";
                return Err(Error::unavailable(text));
            }
        }
        Ok(())
    }
}

/// Returns the path of an entry of a directory (`None` is the root).
pub(crate) fn join(directory: Option<&WorkspacePath>, name: &[u8]) -> Result<WorkspacePath> {
    let path = match directory {
        Some(directory) => directory.join(name),
        None => WorkspacePath::new(name),
    };
    path.context(|| format!("the tree names `{}`", name.escape_ascii()))
}
