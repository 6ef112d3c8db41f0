//! What holds for every command whatever happened before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use ckpt_schema::report::OperationReport;
use sha1::{Digest, Sha1};

use crate::world::{Node, Stamp, Tree, World};

/// The workspace with what tells that a file was not touched. A directory's times say only that something in it was.
pub struct Sight {
    pub tree: Tree,
    stamps: BTreeMap<PathBuf, Stamp>,
}

impl Sight {
    pub fn of(world: &World) -> Self {
        let tree = world.tree();
        let leaves = tree.iter().filter(|(_, node)| !matches!(node, Node::Directory(_)));
        let stamps = leaves.map(|(path, _)| (path.clone(), world.stamp(path))).collect();
        Self { tree, stamps }
    }
}

/// Nothing at all was touched.
pub fn assert_unchanged(before: &Sight, world: &World, what: &str) {
    let after = Sight::of(world);
    assert!(after.tree == before.tree, "{what}: found {:#?}\nwas {:#?}", after.tree, before.tree);
    assert_eq!(after.stamps, before.stamps, "{what}: no file was touched");
}

/// What the report does not name keeps its inode, times and bytes, and nothing comes that it does not name.
pub fn assert_only_the_report(before: &Sight, world: &World, report: &OperationReport) {
    let named: BTreeSet<PathBuf> = report.files.iter().map(|file| PathBuf::from(&file.path.path)).collect();
    let after = Sight::of(world);
    let others = |sight: &Sight| -> BTreeMap<PathBuf, Stamp> {
        sight
            .stamps
            .iter()
            .filter(|(path, _)| !named.contains(*path))
            .map(|(path, stamp)| (path.clone(), *stamp))
            .collect()
    };
    assert_eq!(others(&after), others(before), "what is not in the report was not touched: {report:#?}");
}

/// Every path outside of some keeps its inode, times and bytes.
pub fn assert_spared(before: &Sight, world: &World, touched: &BTreeSet<PathBuf>, report: &OperationReport) {
    let after = Sight::of(world);
    for (path, stamp) in before.stamps.iter().filter(|(path, _)| !touched.contains(*path)) {
        assert_eq!(after.stamps.get(path), Some(stamp), "`{}` was never this agent's: {report:#?}", path.display());
    }
}

/// Every byte string that was in the workspace is there, or can be read from the store.
pub fn assert_nothing_lost(before: &Sight, world: &mut World, report: &OperationReport) {
    let bytes_of = |node: &Node| match node {
        Node::File(bytes, _) | Node::Link(bytes) => Some(bytes.clone()),
        Node::Directory(_) | Node::Other => None,
    };
    let now: BTreeSet<Vec<u8>> = world.tree().values().filter_map(bytes_of).collect();
    for (path, node) in &before.tree {
        let Some(bytes) = bytes_of(node).filter(|bytes| !now.contains(bytes)) else { continue };
        let cwd = world.cwd.clone();
        let stored = world.store.blob(&cwd, &blob_id(&bytes));
        assert_eq!(stored.ok(), Some(bytes), "what was at `{}` is in the store: {report:#?}", path.display());
    }
}

/// The id that git gives a blob.
fn blob_id(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

/// The paths at which two trees differ.
pub fn differences(before: &Tree, after: &Tree) -> BTreeSet<PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}
