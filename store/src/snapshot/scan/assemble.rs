//! From listings to a snapshot: trees along changed paths, the attributes, the gaps.

use std::collections::BTreeMap;

use super::listing::{Item, Kind, Listing, State, join};
use super::sink::Sink;
use crate::entry::{Mode, ObjectId};
use crate::error::Result;
use crate::path::WorkspacePath;
use crate::snapshot::Gap;
use crate::snapshot::attributes::{Attributes, Bearer, Census};
use crate::snapshot::hash::ObjectKind;
use crate::snapshot::rules::View;
use crate::snapshot::tree::{self, TreeEntry, TreeMode};

/// Every directory of a workspace, by path; the root's is empty.
pub(crate) type Listings = BTreeMap<Vec<u8>, Listing>;

/// Makes the trees of the directories that `touched` names, innermost first, and returns the root's.
pub(crate) fn trees(listings: &mut Listings, touched: &[Vec<u8>], sink: &Sink<'_>) -> Result<ObjectId> {
    let mut touched: Vec<_> = touched.iter().collect();
    // A directory's path is longer than that of the one that holds it.
    touched.sort_unstable_by_key(|path| std::cmp::Reverse(path.len()));
    for path in touched {
        let Some(listing) = listings.get(path) else { continue };
        let mut entries: Vec<_> = listing.items.iter().filter_map(|item| entry(listings, path, item)).collect();
        let id = if entries.is_empty() { None } else { sink.add(ObjectKind::Tree, &tree::encode(&mut entries))? };
        if let Some(listing) = listings.get_mut(path) {
            listing.tree = id;
        }
    }
    match listings.get(&b""[..]).and_then(|root| root.tree) {
        Some(id) => Ok(id),
        None => Ok(sink.add(ObjectKind::Tree, b"")?.unwrap_or(ObjectId::EMPTY_TREE)),
    }
}

fn entry(listings: &Listings, directory: &[u8], item: &Item) -> Option<TreeEntry> {
    let (mode, id) = match item.kind {
        Kind::Content(id) => (tree_mode(item.stamp.mode), id),
        Kind::Directory => (TreeMode::Tree, listings.get(&join(directory, &item.name))?.tree?),
        Kind::Gap(_) | Kind::Watched(_) => return None,
    };
    Some(TreeEntry { name: item.name.clone(), mode, id })
}

fn tree_mode(st_mode: u32) -> TreeMode {
    match Mode::from_stat(st_mode) {
        Some(Mode::SYMLINK) => TreeMode::Symlink,
        Some(mode) if mode.is_executable() => TreeMode::Executable,
        _ => TreeMode::File,
    }
}

/// Returns the attributes of a workspace.
pub(crate) fn attributes(listings: &Listings) -> Attributes {
    let mut census = Census::default();
    for (_, bearer, permissions) in bearers(listings) {
        census.count(bearer, permissions);
    }
    let mut attributes = census.attributes();
    for (directory, listing) in listings.iter().filter(|(path, listing)| !path.is_empty() && is_bare(listing)) {
        if let Ok(path) = WorkspacePath::new(directory.clone()) {
            attributes.note_empty(&path, listing.stamp.mode);
        }
    }
    for ((directory, name), bearer, permissions) in bearers(listings) {
        if attributes.is_default(bearer, permissions) {
            continue;
        }
        if let Ok(path) = WorkspacePath::new(join(directory, name)) {
            attributes.note(&path, bearer, permissions);
        }
    }
    attributes
}

/// A directory that holds nothing at all. One with ignored files or gaps is not empty on the disk, and is nobody's entry.
fn is_bare(listing: &Listing) -> bool {
    listing.is_empty && listing.state == State::Listed && matches!(listing.view, View::Open | View::Included)
}

type Named<'a> = (&'a [u8], &'a [u8]);

/// Every file, and every directory with captured entries, with its permissions.
fn bearers(listings: &Listings) -> impl Iterator<Item = (Named<'_>, Bearer, u32)> {
    listings.iter().flat_map(|(path, listing)| {
        let (outer, name) = split(path);
        let directory = (!path.is_empty() && listing.tree.is_some()).then_some((
            (outer, name),
            Bearer::Directory,
            listing.stamp.mode,
        ));
        let files = listing.items.iter().filter(|item| matches!(item.kind, Kind::Content(_)));
        let files = files.filter_map(move |item| match tree_mode(item.stamp.mode) {
            TreeMode::File => Some(((&path[..], &item.name[..]), Bearer::File, item.stamp.mode)),
            TreeMode::Executable => Some(((&path[..], &item.name[..]), Bearer::Executable, item.stamp.mode)),
            TreeMode::Symlink | TreeMode::Tree => None,
        });
        directory.into_iter().chain(files)
    })
}

fn split(path: &[u8]) -> Named<'_> {
    path.iter().rposition(|byte| *byte == b'/').map_or((&b""[..], path), |slash| (&path[..slash], &path[slash + 1..]))
}

/// Returns what could not be captured, by path.
pub(crate) fn gaps(listings: &Listings) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (directory, listing) in listings {
        if let State::Gap(reason) = &listing.state {
            gaps.push(Gap { path: directory.clone(), reason: reason.clone(), size: None });
        }
        gaps.extend(listing.items.iter().filter_map(|item| match &item.kind {
            Kind::Gap(reason) => {
                let size = (item.stamp.file_type() == 0o100_000).then_some(item.stamp.size);
                Some(Gap { path: join(directory, &item.name), reason: reason.clone(), size })
            }
            _ => None,
        }));
    }
    gaps.sort_by(|left, right| left.path.cmp(&right.path));
    gaps
}
