//! Turns directories into a snapshot: the trees along changed paths, the attributes, the gaps.

use std::collections::BTreeMap;

use super::listing::{ItemKind, ListedItem};
use super::overlay::{Overlay, OverlayDirectory};
use super::sink::Sink;
use crate::error::Result;
use crate::fs::threads;
use crate::model::entry::{Mode, ObjectId};
use crate::model::path::WorkspacePath;
use crate::model::path::{join, split};
use crate::objects::hash::ObjectKind;
use crate::objects::tree::{self, TreeEntry, TreeMode};
use crate::snapshot::Gap;
use crate::snapshot::attributes::{Attributes, Bearer, Census};

/// Makes the trees of the directories that `touched` names, innermost first, and returns the root's.
pub(crate) fn trees(
    overlay: &mut Overlay<'_>,
    touched: &[Vec<u8>],
    sink: &Sink<'_>,
) -> Result<ObjectId> {
    // A directory's tree names those of its subdirectories, which are one level deeper.
    let mut levels: BTreeMap<usize, Vec<&[u8]>> = BTreeMap::new();
    for path in touched {
        if overlay.load(path).is_some() {
            levels.entry(depth(path)).or_default().push(path);
        }
    }
    for paths in levels.into_values().rev() {
        for (path, id) in level(overlay, &paths, sink)? {
            if let Some(listing) = overlay.fresh_mut(path) {
                listing.tree = id;
            }
        }
    }
    match overlay.tree(b"") {
        Some(id) => Ok(id),
        None => Ok(sink
            .add(ObjectKind::Tree, b"")?
            .unwrap_or(ObjectId::EMPTY_TREE)),
    }
}

fn depth(path: &[u8]) -> usize {
    if path.is_empty() {
        0
    } else {
        1 + path.iter().filter(|byte| **byte == b'/').count()
    }
}

type LevelTrees<'p> = Vec<(&'p [u8], Option<ObjectId>)>;

/// Makes the trees of one level.
fn level<'p>(overlay: &Overlay<'_>, paths: &[&'p [u8]], sink: &Sink<'_>) -> Result<LevelTrees<'p>> {
    threads::map(paths, |path| Ok((*path, tree(overlay, path, sink)?)))
        .into_iter()
        .collect()
}

/// Makes one tree, or returns `None` if nothing in the directory is captured.
fn tree(overlay: &Overlay<'_>, path: &[u8], sink: &Sink<'_>) -> Result<Option<ObjectId>> {
    let items = overlay
        .fresh(path)
        .map(|listing| &listing.items[..])
        .unwrap_or_default();
    let mut entries: Vec<_> = items
        .iter()
        .filter_map(|item| entry(overlay, path, item))
        .collect();
    if entries.is_empty() {
        Ok(None)
    } else {
        sink.add(ObjectKind::Tree, &tree::encode(&mut entries))
    }
}

fn entry(overlay: &Overlay<'_>, directory: &[u8], item: &ListedItem) -> Option<TreeEntry> {
    let (mode, id) = match item.kind {
        ItemKind::Content(id) => (tree_mode(item.stamp.mode), id),
        ItemKind::Directory => (TreeMode::Tree, overlay.tree(&join(directory, &item.name))?),
        ItemKind::Gap(_) | ItemKind::Watched(_) | ItemKind::Ignored => return None,
    };
    Some(TreeEntry {
        name: item.name.clone(),
        mode,
        id,
    })
}

fn tree_mode(st_mode: u32) -> TreeMode {
    match Mode::from_stat(st_mode) {
        Some(Mode::SYMLINK) => TreeMode::Symlink,
        Some(mode) if mode.is_executable() => TreeMode::Executable,
        _ => TreeMode::File,
    }
}

/// How many directories are surveyed at a time.
const PART: usize = 16;

/// Returns the attributes of all directories together, and the gaps, by path.
pub(crate) fn survey(overlay: &Overlay<'_>) -> (Attributes, Vec<Gap>) {
    let directories: Vec<OverlayDirectory<'_>> = overlay.iter().collect();
    let parts: Vec<&[OverlayDirectory<'_>]> = directories.chunks(PART).collect();
    let surveyed = threads::map(&parts, |part| TreePart::of(part));
    let mut census = Census::default();
    surveyed.iter().for_each(|part| census.add(&part.census));
    let mut attributes = census.attributes();
    let defaults = attributes.clone();
    let mut gaps = Vec::new();
    for (part, directories) in surveyed.into_iter().zip(parts) {
        gaps.extend(part.gaps);
        for (path, bearer, permissions) in part.bare {
            attributes.note(&path, bearer, permissions);
        }
        // Most directories have only defaults.
        if defaults.are_all_of(&part.census) {
            continue;
        }
        for_each_bearer(directories, |directory, name, bearer, permissions| {
            if !defaults.is_default(bearer, permissions)
                && let Ok(path) = WorkspacePath::new(join(directory, name))
            {
                attributes.note(&path, bearer, permissions);
            }
        });
    }
    gaps.sort_by(|left, right| left.path.cmp(&right.path));
    (attributes, gaps)
}

/// The findings in some directories.
struct TreePart {
    census: Census,
    /// The directories without captured entries.
    bare: Vec<(WorkspacePath, Bearer, u32)>,
    gaps: Vec<Gap>,
}

impl TreePart {
    fn of(directories: &[OverlayDirectory<'_>]) -> Self {
        let mut part = Self {
            census: Census::default(),
            bare: Vec::new(),
            gaps: Vec::new(),
        };
        for_each_bearer(directories, |_, _, bearer, permissions| {
            part.census.count(bearer, permissions)
        });
        for directory in directories {
            directory.add_gaps(&mut part.gaps);
            if !directory.path().is_empty()
                && let Some(bearer) = directory.bare()
                && let Ok(path) = WorkspacePath::new(directory.path())
            {
                part.bare.push((path, bearer, directory.mode()));
            }
        }
        part
    }
}

/// Calls `each` with directory, name and permissions of every file, and of every directory with captured entries.
fn for_each_bearer(
    directories: &[OverlayDirectory<'_>],
    mut each: impl FnMut(&[u8], &[u8], Bearer, u32),
) {
    for directory in directories {
        let path = directory.path();
        if !path.is_empty() && directory.has_tree() {
            let (outer, name) = split(path);
            each(outer, name, Bearer::Directory, directory.mode());
        }
        directory.contents(|name, mode| match tree_mode(mode) {
            TreeMode::File => each(path, name, Bearer::File, mode),
            TreeMode::Executable => each(path, name, Bearer::Executable, mode),
            TreeMode::Symlink | TreeMode::Tree => {}
        });
    }
}
