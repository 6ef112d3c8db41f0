//! The order in which the items of a plan are carried out. Pure.
//!
//! Removals come first, so that a file can take the place of a directory, and a directory the place of a file. Empty
//! directories follow, deepest first. Then come the new entries: directories, files from the top down, and links last,
//! so that nothing is written through a link that this operation made.

use std::collections::{BTreeMap, HashMap, HashSet};

use ckpt_schema::report::FileResult;

use crate::model::entry::{EntryKind, ObjectId, State};
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::objects::hash::blob_id;

/// How many items one worker takes at a time; they share a directory.
const CHUNK: usize = 64;

/// Some items that are in the same directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The directory, or `None` for the workspace's root.
    pub(super) directory: Option<WorkspacePath>,
    /// The items' indices.
    pub(super) items: Vec<usize>,
}

/// The phases, each a list of indices.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Files and links to remove.
    pub(super) removals: Vec<usize>,
    /// Directories to remove when they are empty, deepest first: items, and directories without an item that the caller
    /// named or whose place is needed.
    pub(super) emptied: Vec<(WorkspacePath, Option<usize>)>,
    /// Directories that were empty and get entries. They are not removed, whatever their item says.
    pub(super) filled: Vec<usize>,
    /// Directories to create.
    pub(super) directories: Vec<usize>,
    /// Files to write.
    pub(super) files: Vec<usize>,
    /// Links to write.
    pub(super) links: Vec<usize>,
    /// The directories below which something is removed.
    pub(super) losing: HashSet<WorkspacePath>,
    /// The directories below which something is written.
    pub(super) gaining: HashSet<WorkspacePath>,
}

/// Sorts the planned items into phases. `removable` are the directories that may go when they are empty.
pub(super) fn order(items: &[Item], removable: &[WorkspacePath]) -> Order {
    let losing = holders(items, |target| target.is_none());
    let gaining = holders(items, |target| target.is_some());
    let mut order = Order {
        losing,
        gaining,
        ..Order::default()
    };
    let mut emptied = BTreeMap::new();
    for (index, item) in items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.is_planned())
    {
        match (
            item.target.map(|entry| entry.mode.kind()),
            kind(item.expected),
        ) {
            // The item would remove the directory, and the next phase would make it again, perhaps with other
            // permissions.
            (None, Some(EntryKind::Directory)) if order.gaining.contains(&item.path) => {
                order.filled.push(index)
            }
            (None, Some(EntryKind::Directory)) => {
                _ = emptied.insert(item.path.clone(), Some(index))
            }
            (None, _) => order.removals.push(index),
            (Some(EntryKind::Directory), _) => order.directories.push(index),
            (Some(EntryKind::File), _) => order.files.push(index),
            (Some(EntryKind::Symlink), _) => order.links.push(index),
        }
    }
    // An item knows what its directory must be; a directory without one goes only if it happens to be empty.
    for directory in also_emptied(items, removable, &order.losing, &order.gaining) {
        emptied.entry(directory).or_insert(None);
    }
    // A directory's path is a prefix of the paths below it, so it sorts before them.
    order.emptied = emptied.into_iter().rev().collect();
    for indices in [
        &mut order.removals,
        &mut order.directories,
        &mut order.files,
        &mut order.links,
    ] {
        // By depth, so that a directory takes its place before what goes into it; then by parent, so that one
        // descent serves a whole chunk.
        indices.sort_by_cached_key(|index| sort_key(&items[*index].path));
    }
    order
}

fn kind(state: State) -> Option<EntryKind> {
    state.map(|entry| entry.mode.kind())
}

fn sort_key(path: &WorkspacePath) -> (usize, Option<WorkspacePath>, Vec<u8>) {
    (
        path.components().count(),
        path.parent(),
        path.name().to_vec(),
    )
}

/// Returns every directory that holds, at any depth, an item with such a target that is planned or that an earlier try
/// did.
fn holders(items: &[Item], wanted: impl Fn(State) -> bool) -> HashSet<WorkspacePath> {
    let mut holders = HashSet::new();
    for item in items
        .iter()
        .filter(|item| is_ours(item) && wanted(item.target))
    {
        let mut next = item.path.parent();
        while let Some(directory) = next {
            next = directory.parent();
            // Those above it are in already, from another item. Without this, a deep tree costs its depth for every
            // file.
            if !holders.insert(directory) {
                break;
            }
        }
    }
    holders
}

fn is_ours(item: &Item) -> bool {
    matches!(item.result, FileResult::Planned | FileResult::Done)
}

/// Returns the directories without an item that go when they are empty. Something below them is removed and nothing is
/// written, and either the caller named them or a file or link takes their place.
fn also_emptied(
    items: &[Item],
    removable: &[WorkspacePath],
    losing: &HashSet<WorkspacePath>,
    gaining: &HashSet<WorkspacePath>,
) -> Vec<WorkspacePath> {
    let becoming = |is_it: fn(EntryKind) -> bool| {
        let items = items.iter().filter(|item| is_ours(item));
        items.filter(move |item| kind(item.target).is_some_and(is_it))
    };
    let directories = becoming(|kind| kind == EntryKind::Directory);
    let others = || becoming(|kind| kind != EntryKind::Directory);
    let wanted: HashSet<&WorkspacePath> = directories.map(|item| &item.path).collect();
    let needed: HashSet<&WorkspacePath> = others().map(|item| &item.path).collect();
    let named: HashSet<&WorkspacePath> = removable.iter().collect();
    // An empty directory that an item expects is left to that item: it replaces it, and would fail if it were gone.
    let own: HashSet<&WorkspacePath> = others()
        .filter(|item| kind(item.expected) == Some(EntryKind::Directory))
        .map(|item| &item.path)
        .collect();
    let emptied = EmptiedDirectories {
        wanted,
        needed,
        named,
        own,
        gaining,
    };
    let going = losing.iter().filter(|directory| emptied.may_go(directory));
    going.cloned().collect()
}

/// What decides on the directories that an operation empties.
struct EmptiedDirectories<'a> {
    /// Those that the operation puts there.
    wanted: HashSet<&'a WorkspacePath>,
    /// The paths of files and links that it puts there.
    needed: HashSet<&'a WorkspacePath>,
    /// Those that the caller says may go.
    named: HashSet<&'a WorkspacePath>,
    /// Those that an item replaces itself.
    own: HashSet<&'a WorkspacePath>,
    /// Those in which something is written.
    gaining: &'a HashSet<WorkspacePath>,
}

impl EmptiedDirectories<'_> {
    /// Returns whether a directory goes when it is empty.
    fn may_go(&self, directory: &WorkspacePath) -> bool {
        let is_needed = self.wanted.contains(directory)
            || self.own.contains(directory)
            || self.gaining.contains(directory);
        let is_in_the_way = || !self.needed.is_empty() && is_at_or_below(directory, &self.needed);
        !is_needed && (self.named.contains(directory) || is_in_the_way())
    }
}

/// Returns whether a path is one of these paths, or below one.
fn is_at_or_below(path: &WorkspacePath, among: &HashSet<&WorkspacePath>) -> bool {
    let mut at_or_above = path.clone().at_and_above();
    at_or_above.any(|path| among.contains(&path))
}

/// Returns where files that are removed are made again, by the path that they have now. Only where no other file with
/// that content comes or goes.
pub(crate) fn moves(items: &[Item]) -> HashMap<&WorkspacePath, &WorkspacePath> {
    let empty = blob_id(b"");
    let content = |state: State| {
        let file = state.filter(|entry| entry.mode.kind() == EntryKind::File)?;
        file.file_blob().filter(|id| *id != empty)
    };
    let mut ends: HashMap<ObjectId, [Vec<&WorkspacePath>; 2]> = HashMap::new();
    for item in items.iter().filter(|item| item.is_planned()) {
        let (id, end) = match (item.expected, item.target) {
            (gone, None) => (content(gone), 0),
            (None, made) => (content(made), 1),
            _ => continue,
        };
        if let Some(id) = id {
            ends.entry(id).or_default()[end].push(&item.path);
        }
    }
    let pairs = ends.into_values().filter_map(|[gone, made]| {
        let pair = (gone.len(), made.len()) == (1, 1);
        pair.then(|| (gone[0], made[0]))
    });
    pairs.collect()
}

/// Cuts a sorted list of items into chunks that share a directory.
pub(super) fn chunks(items: &[Item], indices: &[usize]) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for &index in indices {
        let directory = items[index].path.parent();
        match chunks.last_mut() {
            Some(chunk) if chunk.directory == directory && chunk.items.len() < CHUNK => {
                chunk.items.push(index)
            }
            _ => chunks.push(Chunk {
                directory,
                items: vec![index],
            }),
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use ckpt_schema::report::FileAction;

    use super::*;
    use crate::model::entry::{Entry, Mode, ObjectId};

    fn path(bytes: &str) -> WorkspacePath {
        WorkspacePath::new(bytes).expect("a legal path")
    }

    fn item(name: &str, expected: State, target: State) -> Item {
        Item {
            path: path(name),
            expected,
            target,
            goal: target,
            action: FileAction::Write,
            result: FileResult::Planned,
            reason: None,
            lines: None,
        }
    }

    fn file() -> State {
        Some(Entry::stored(Mode::file(0o644), ObjectId::new([1; 20])))
    }

    fn directory() -> State {
        Some(Entry::directory(0o755))
    }

    /// A file in place of a directory needs the directories of its removed files.
    #[test]
    fn file_for_a_directory_needs_its_directories() {
        let items = [
            item("foo", None, file()),
            item("foo/a/b", file(), None),
            item("other/c", file(), None),
        ];
        let order = order(&items, &[]);
        assert_eq!(order.removals, [2, 1], "by depth");
        assert_eq!(
            order.emptied,
            [(path("foo/a"), None), (path("foo"), None)],
            "deepest first, and not `other`"
        );
        assert_eq!(order.files, [0], "afterwards");
    }

    /// A directory that the caller did not name stays.
    #[test]
    fn unnamed_directory_stays() {
        let items = [item("kept/a", file(), None), item("made/a", file(), None)];
        let order = order(&items, &[path("made"), path("elsewhere")]);
        assert_eq!(
            order.emptied,
            [(path("made"), None)],
            "named, and something goes from it"
        );
    }

    /// A directory that shall stay or get files is not removed.
    #[test]
    fn directory_that_gets_files_is_not_removed() {
        let items = [
            item("empty", None, directory()),
            item("empty/a", file(), None),
            item("full", directory(), None),
            item("full/b", None, file()),
        ];
        let order = order(&items, &[path("empty"), path("full")]);
        assert_eq!(
            order.emptied,
            [],
            "one is wanted empty, the other gets a file"
        );
        assert_eq!(order.filled, [2], "its item has nothing to do");
    }

    #[test]
    fn items_in_one_directory_are_cut_into_pieces() {
        let items: Vec<Item> = (0..150)
            .map(|number| item(&format!("d/{number:03}"), None, file()))
            .collect();
        let order = order(&items, &[]);
        let sizes: Vec<usize> = chunks(&items, &order.files)
            .iter()
            .map(|chunk| chunk.items.len())
            .collect();
        assert_eq!(sizes, [64, 64, 22], "at most 64 a piece");
    }
}
