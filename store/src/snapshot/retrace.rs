//! Trees that are lost, made again of the files of another snapshot and of what changed in between. This module does
//! IO.
//!
//! An id says whether a tree came out right: only what hashes to the lost tree is stored.

use std::collections::BTreeMap;

use super::Snapshots;
use super::view::WalkBounds;
use crate::error::Result;
use crate::model::entry::{ObjectId, State};
use crate::model::path::{depth, join, split};
use crate::objects::hash::{ObjectKind, hash};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::write::PackWriter;
use crate::objects::tree::{TreeEntry, TreeMode, encode};

/// The files and links of a tree, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeFiles(BTreeMap<Vec<u8>, (TreeMode, ObjectId)>);

impl TreeFiles {
    /// Puts a path in a state. What no tree holds is not in it: an empty directory, or a file of which the bytes are
    /// not stored.
    pub(crate) fn set(&mut self, path: &[u8], state: State) {
        let file = state.and_then(|entry| Some((TreeMode::of(entry.mode)?, entry.blob?)));
        match file {
            Some(file) => _ = self.0.insert(path.to_owned(), file),
            None => _ = self.0.remove(path),
        }
    }

    /// Returns the id of their tree, and each tree below it with its bytes.
    fn trees(&self) -> (ObjectId, Vec<(ObjectId, Vec<u8>)>) {
        // By depth and path, so that the last one has every tree below it.
        let mut open = OpenTrees::new();
        for (path, (mode, id)) in &self.0 {
            put(&mut open, path, *mode, *id);
        }
        let mut trees = Vec::new();
        while let Some(((_, path), mut entries)) = open.pop_last() {
            let bytes = encode(&mut entries);
            let id = hash(ObjectKind::Tree, &bytes);
            trees.push((id, bytes));
            if path.is_empty() {
                return (id, trees);
            }
            put(&mut open, &path, TreeMode::Tree, id);
        }
        (ObjectId::EMPTY_TREE, trees)
    }
}

/// Entries by their directory: its depth and its path.
type OpenTrees = BTreeMap<(usize, Vec<u8>), Vec<TreeEntry>>;

fn put(open: &mut OpenTrees, path: &[u8], mode: TreeMode, id: ObjectId) {
    let (outer, name) = split(path);
    let name = name.to_owned();
    let entries = open.entry((depth(outer), outer.to_owned())).or_default();
    entries.push(TreeEntry { name, mode, id });
}

impl Snapshots {
    /// Returns the files of a tree. Fails where it, or a tree below it, cannot be read.
    pub(crate) fn files_of(&self, tree: ObjectId) -> Result<TreeFiles> {
        let reader = self.objects.reader()?;
        let mut files = TreeFiles::default();
        let mut bounds = WalkBounds::of(&reader, &[tree]);
        let mut rest = vec![(tree, Vec::new())];
        while let Some((id, path)) = rest.pop() {
            for entry in reader.tree(id)? {
                let below = join(&path, &entry.name);
                match entry.mode {
                    TreeMode::Tree => rest.push((entry.id, below)),
                    mode => _ = files.0.insert(below, (mode, entry.id)),
                }
            }
            bounds.check(files.0.len() + rest.len())?;
        }
        Ok(files)
    }

    /// Stores the trees of these files that cannot be read, if theirs is the tree that is lost, and returns how many
    /// these are.
    pub(crate) fn store_trees(&self, files: &TreeFiles, lost: ObjectId) -> Result<usize> {
        let (root, mut trees) = files.trees();
        if root != lost {
            return Ok(0);
        }
        let reader = self.objects.reader()?;
        trees.retain(|(id, _)| reader.tree(*id).is_err());
        trees.sort_unstable();
        trees.dedup();
        let mut pack = PackWriter::begin(self.objects.repository())?;
        for (id, bytes) in &trees {
            pack.add(pack_object(ObjectKind::Tree, *id, bytes, Effort::Least))?;
        }
        if pack.finish()?.is_some() {
            reader.note_new_pack()?;
        }
        Ok(trees.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Entry, Mode};
    use crate::objects::hash::blob_id;

    /// Files have the trees that git makes of them.
    #[test]
    fn files_have_the_trees_of_git() {
        let mut files = TreeFiles::default();
        assert_eq!(files.trees().0, ObjectId::EMPTY_TREE, "no file, no tree");
        let stored = |mode, text: &str| Some(Entry::stored(mode, blob_id(text.as_bytes())));
        files.set(b"a/b/c", stored(Mode::file(0o600), "c\n"));
        files.set(b"a-b", stored(Mode::file(0o755), "x\n"));
        files.set(b"a0", stored(Mode::SYMLINK, "a-b"));
        files.set(b"gone", stored(Mode::file(0o644), "gone\n"));
        files.set(b"gone", None);
        files.set(b"empty", Some(Entry::directory(0o755)));
        let (root, trees) = files.trees();
        // git mktree, of the same files.
        let expected = "d9a137038f03e7a0c823c8f0410d2c39abeded69";
        assert_eq!(root.to_string(), expected);
        assert_eq!(trees.len(), 3, "the root, `a` and `a/b`");
    }
}
