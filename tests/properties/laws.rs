//! What holds for every command whatever happened before it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileAction, FileReport, FileResult, OperationReport, ReasonCode};
use ckpt_store::TEMPORARY;
use sha1::{Digest, Sha1};

use testing::scenario::{InodeStamp, World};
use testing::tree::{Node, Tree};

/// The workspace with what tells that a file was not touched. A directory's times say only that something in it was.
pub struct Sight {
    pub tree: Tree,
    stamps: BTreeMap<PathBuf, InodeStamp>,
}

impl Sight {
    pub fn of(world: &World) -> Self {
        let tree = world.tree();
        // What a killed operation left beside a file is nobody's file.
        let leaves = tree
            .iter()
            .filter(|(path, node)| !matches!(node, Node::Directory(_)) && !is_left(path));
        let stamps = leaves
            .map(|(path, _)| (path.clone(), world.stamp(path)))
            .collect();
        Self { tree, stamps }
    }
}

fn is_left(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes()))
}

/// Nothing is left beside a file once a command is done.
pub fn assert_nothing_left(world: &World) {
    let tree = world.tree();
    let left: Vec<&PathBuf> = tree.keys().filter(|path| is_left(path)).collect();
    assert!(
        left.is_empty(),
        "names of our own are there only while something is done: {left:?}"
    );
}

/// Nothing at all was touched.
pub fn assert_unchanged(before: &Sight, world: &World, what: &str) {
    let after = Sight::of(world);
    assert!(
        after.tree == before.tree,
        "{what}: found {:#?}\nwas {:#?}",
        after.tree,
        before.tree
    );
    assert_eq!(after.stamps, before.stamps, "{what}: no file was touched");
}

/// What the report does not say to be written or removed keeps its inode, times and bytes, and nothing else comes.
pub fn assert_only_the_report(before: &Sight, world: &World, report: &OperationReport) {
    let moves = |file: &&FileReport| {
        let is_moved = matches!(
            file.action,
            FileAction::Write | FileAction::Delete | FileAction::Merge
        );
        is_moved && matches!(file.result, FileResult::Done | FileResult::Failed)
    };
    let named: BTreeSet<PathBuf> = report.files.iter().filter(moves).map(path_of).collect();
    let after = Sight::of(world);
    let others = |sight: &Sight| -> BTreeMap<PathBuf, InodeStamp> {
        sight
            .stamps
            .iter()
            .filter(|(path, _)| !named.contains(*path))
            .map(|(path, stamp)| (path.clone(), *stamp))
            .collect()
    };
    assert_eq!(
        others(&after),
        others(before),
        "what is not in the report was not touched: {report:#?}"
    );
}

/// The paths that stayed because the user changed them since, with the directories that hold them.
pub fn kept_as_yours(report: &OperationReport) -> BTreeSet<PathBuf> {
    let yours = |file: &&FileReport| {
        file.action == FileAction::Keep && file.reason_code == Some(ReasonCode::Yours)
    };
    let paths: Vec<PathBuf> = report.files.iter().filter(yours).map(path_of).collect();
    let with_parents = paths.iter().flat_map(|path| path.ancestors());
    with_parents.map(Path::to_owned).collect()
}

fn path_of(file: &FileReport) -> PathBuf {
    let Some(hex) = &file.path.path_hex else {
        return PathBuf::from(&file.path.path);
    };
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    PathBuf::from(OsString::from_vec(bytes))
}

/// Nothing below `.git` was touched.
pub fn assert_git_untouched(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    world: &World,
    report: &OperationReport,
) {
    let after = below_git(world);
    let differ = before
        .keys()
        .chain(after.keys())
        .find(|path| before.get(*path) != after.get(*path));
    assert_eq!(
        differ, None,
        "without `--git` nothing below `.git` is touched: {report:#?}"
    );
}

/// Everything below `.git`.
pub fn below_git(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![world.path(".git")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.clone(), std::fs::read(&path).expect("readable"));
            }
        }
    }
    files
}

/// Every path outside of some keeps its inode, times and bytes.
pub fn assert_spared(
    before: &Sight,
    world: &World,
    touched: &BTreeSet<PathBuf>,
    report: &OperationReport,
) {
    let after = Sight::of(world);
    for (path, stamp) in before
        .stamps
        .iter()
        .filter(|(path, _)| !touched.contains(*path))
    {
        assert_eq!(
            after.stamps.get(path),
            Some(stamp),
            "`{}` was never this agent's: {report:#?}",
            path.display()
        );
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
        let Some(bytes) = bytes_of(node).filter(|bytes| !now.contains(bytes)) else {
            continue;
        };
        let cwd = world.cwd.clone();
        let stored = world.store.blob(&cwd, &blob_id(&bytes));
        assert_eq!(
            stored.ok(),
            Some(bytes),
            "what was at `{}` is in the store: {report:#?}",
            path.display()
        );
    }
}

/// The id that git gives a blob.
fn blob_id(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hash.finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes everything");
            text
        })
}

/// The paths at which two trees differ.
pub fn differences(before: &Tree, after: &Tree) -> BTreeSet<PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths
        .filter(|path| before.get(*path) != after.get(*path))
        .cloned()
        .collect()
}
