//! A whole tree of files as a value, to compare with what it was before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What stands at a path: bytes of a file, target of a link, nothing of a directory; with the permission bits.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    File(Vec<u8>, u32),
    Link(Vec<u8>),
    Directory(u32),
    Other,
}

/// Everything below a directory, without what is in a `.git`.
pub type Tree = BTreeMap<PathBuf, Node>;

/// Returns every file below a directory.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Puts a file with other bytes in the place of one, which may be read-only.
pub fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("ours");
    fs::write(path, bytes).expect("ours");
}

/// Reads everything below a directory.
pub fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    collect(root, Path::new(""), &mut tree);
    tree
}

fn collect(root: &Path, below: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(below)).expect("a readable directory") {
        let entry = entry.expect("a readable directory");
        if entry.file_name() == ".git" {
            continue;
        }
        let path = below.join(entry.file_name());
        let node = Node::read(&entry.path());
        if matches!(node, Node::Directory(_)) {
            collect(root, &path, tree);
        }
        tree.insert(path, node);
    }
}

/// Fails where two trees are not the same to the byte, and says what differs.
#[track_caller]
pub fn assert_same(found: &Tree, expected: &Tree, why: &str) {
    let paths: BTreeSet<&PathBuf> = found.keys().chain(expected.keys()).collect();
    let differences: Vec<String> = paths
        .into_iter()
        .filter(|path| found.get(*path) != expected.get(*path))
        .map(|path| {
            format!(
                "{}: {:?}, expected {:?}",
                path.display(),
                found.get(path),
                expected.get(path)
            )
        })
        .collect();
    assert!(differences.is_empty(), "{why}:\n{}", differences.join("\n"));
}

impl Node {
    fn read(path: &Path) -> Self {
        let metadata = path.symlink_metadata().expect("it is still there");
        let mode = metadata.mode() & 0o7777;
        if metadata.is_dir() {
            Self::Directory(mode)
        } else if metadata.is_symlink() {
            let target = fs::read_link(path).expect("a readable link");
            Self::Link(target.as_os_str().as_bytes().to_vec())
        } else if metadata.is_file() {
            Self::File(fs::read(path).expect("a readable file"), mode)
        } else {
            Self::Other
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(bytes, mode) if bytes.len() < 200 => {
                write!(formatter, "{mode:o} {:?}", bytes.escape_ascii().to_string())
            }
            Self::File(bytes, mode) => write!(formatter, "{mode:o} {} bytes", bytes.len()),
            Self::Link(target) => write!(formatter, "-> {:?}", target.escape_ascii().to_string()),
            Self::Directory(mode) => write!(formatter, "{mode:o} directory"),
            Self::Other => formatter.write_str("other"),
        }
    }
}
