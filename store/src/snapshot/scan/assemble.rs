//! Turns directories into a snapshot: the trees along changed paths, the attributes, the seen entries.

use std::collections::BTreeMap;

use super::listing::{ItemKind, ListedItem};
use super::overlay::{Overlay, OverlayDirectory};
use super::sink::Sink;
use crate::error::Result;
use crate::fs::threads;
use crate::model::entry::{Mode, ObjectId};
use crate::model::path::{WorkspacePath, depth, join, parent};
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
        // A directory above a changed one gets a new tree, although it was not looked at.
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
        // An empty workspace has a tree as well: the row of a snapshot names one.
        None => Ok(sink
            .add(ObjectKind::Tree, b"")?
            .unwrap_or(ObjectId::EMPTY_TREE)),
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
        ItemKind::Content(id) => (TreeMode::of(Mode::from_stat(item.stamp.mode)?)?, id),
        ItemKind::Directory => (TreeMode::Tree, overlay.tree(&join(directory, &item.name))?),
        ItemKind::Gap(_) | ItemKind::Watched(_) => return None,
    };
    Some(TreeEntry {
        name: item.name.clone(),
        mode,
        id,
    })
}

/// Returns the attributes of all directories together. Of a directory that was not looked at, the head says enough,
/// unless something in it is unusual.
pub(crate) fn attributes(overlay: &Overlay<'_>) -> Attributes {
    let directories: Vec<OverlayDirectory<'_>> = overlay.iter().collect();
    let mut census = Census::default();
    for directory in &directories {
        count(directory, &mut census);
    }
    // Two passes, because the defaults are the most frequent permissions: until all are counted, it is not known which
    // ones are exceptions.
    let mut attributes = census.attributes();
    for directory in &directories {
        note(directory, &mut attributes);
    }
    attributes
}

/// Returns the seen entries, by path. Of directories that were not looked at, it is as before.
pub(crate) fn seen(overlay: &Overlay<'_>) -> Vec<Gap> {
    let before = overlay.below().into_iter();
    let before = before.flat_map(|cache| &cache.header.seen);
    let mut seen = Vec::new();
    // Entries of one directory follow each other, so that each directory is looked up once.
    let mut last: Option<(&[u8], bool)> = None;
    for entry in before {
        let own = &entry.path[..];
        // A directory has an entry of its own if its names are not known.
        let directory = match entry.is_directory && overlay.contains(own) {
            true => own,
            false => parent(own).unwrap_or_default(),
        };
        let known = last.filter(|(path, _)| *path == directory);
        let (_, is_kept) = known.unwrap_or_else(|| {
            let is_kept = overlay.contains(directory) && !overlay.has_fresh(directory);
            (directory, is_kept)
        });
        last = Some((directory, is_kept));
        if is_kept {
            seen.push(entry.clone());
        }
    }
    overlay.add_seen(&mut seen);
    seen.sort_by(|left, right| left.path.cmp(&right.path));
    seen
}

/// Counts the permissions of a directory with captured entries, and of its files.
fn count(directory: &OverlayDirectory<'_>, census: &mut Census) {
    if !directory.path().is_empty() && directory.has_tree() {
        let bits = Bearer::Directory.bits(directory.mode());
        census.count(Bearer::Directory, bits, 1);
    }
    match directory.permissions() {
        Some(permissions) => {
            let kinds = permissions.kinds();
            kinds.for_each(|(kind, mode, files)| census.count(kind, mode, files));
        }
        None => directory.contents(|_, mode| {
            let file = Bearer::of_stat(mode).into_iter();
            file.for_each(|file| census.count(file, file.bits(mode), 1));
        }),
    }
}

/// Notes what is not the default in a directory: its own permissions, those of its files, and that nothing in it is
/// captured.
fn note(directory: &OverlayDirectory<'_>, attributes: &mut Attributes) {
    let path = directory.path();
    if !path.is_empty()
        && let Some(bearer) = directory.bearer()
        && let bits = bearer.bits(directory.mode())
        && !attributes.is_default(bearer, bits)
        && let Ok(path) = WorkspacePath::new(path)
    {
        attributes.note(&path, bearer, bits);
    }
    let are_default = directory.permissions().is_some_and(|permissions| {
        let mut kinds = permissions.kinds();
        kinds.all(|(kind, mode, _)| attributes.is_default(kind, mode))
    });
    if are_default {
        return;
    }
    directory.contents(|name, mode| {
        if let Some(file) = Bearer::of_stat(mode)
            && let bits = file.bits(mode)
            && !attributes.is_default(file, bits)
            && let Ok(path) = WorkspacePath::new(join(path, name))
        {
            attributes.note(&path, file, bits);
        }
    });
}
