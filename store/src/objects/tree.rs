//! Reads and writes git's tree objects. Reading trusts nothing, because every program that can write to the store can plant a
//! tree.

use std::cmp::Ordering;

use crate::error::{Context, Error, Result};
use crate::model::entry::{EntryKind, Mode, ObjectId};
use crate::model::path::check_component;

/// The kind of a tree's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TreeMode {
    /// A regular file that its owner may not run.
    File,
    /// A regular file that its owner may run.
    Executable,
    /// A symbolic link.
    Symlink,
    /// A directory.
    Tree,
}

impl TreeMode {
    const fn octal(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Tree => "40000",
        }
    }

    fn from_octal(octal: &[u8]) -> Option<Self> {
        [Self::File, Self::Executable, Self::Symlink, Self::Tree]
            .into_iter()
            .find(|mode| mode.octal().as_bytes() == octal)
    }
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// Its mode.
    pub mode: TreeMode,
    /// Its object.
    pub id: ObjectId,
}

impl TreeEntry {
    /// Compares in git's order: a directory's name counts as if it ended with `/`.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        compare_names(&self.name, self.mode, &other.name, other.mode)
    }
}

/// Compares two names as git sorts them.
pub(crate) fn compare_names(
    left: &[u8],
    left_mode: TreeMode,
    right: &[u8],
    right_mode: TreeMode,
) -> Ordering {
    let common = left.len().min(right.len());
    let tail = |name: &[u8], mode| match name.get(common) {
        Some(byte) => Some(*byte),
        None if mode == TreeMode::Tree => Some(b'/'),
        None => None,
    };
    left[..common]
        .cmp(&right[..common])
        .then_with(|| tail(left, left_mode).cmp(&tail(right, right_mode)))
}

impl TreeMode {
    /// Returns git's text for a mode, or `None` for a directory without captured entries, of which git knows
    /// nothing.
    pub(crate) fn of(mode: Mode) -> Option<Self> {
        match mode.kind() {
            EntryKind::Directory => None,
            EntryKind::Symlink => Some(Self::Symlink),
            EntryKind::File if mode.is_executable() => Some(Self::Executable),
            EntryKind::File => Some(Self::File),
        }
    }
}

/// Returns the bytes of the tree with these entries, and sorts them as git does.
pub(crate) fn encode(entries: &mut [TreeEntry]) -> Vec<u8> {
    entries.sort_unstable_by(TreeEntry::compare);
    let mut bytes = Vec::with_capacity(entries.iter().map(|entry| entry.name.len() + 28).sum());
    for entry in entries {
        bytes.extend_from_slice(entry.mode.octal().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend_from_slice(entry.id.as_bytes());
    }
    bytes
}

/// Parses a tree. Names must stay inside their directory and out of `.git`, modes must be ones that we write, and
/// entries must be sorted, without duplicates and without a name that is both a file and a directory.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<TreeEntry>> {
    let mut entries: Vec<TreeEntry> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (entry, after) = split_entry(rest)?;
        if let Some(last) = entries.last()
            // Of two entries of one name, git and we might take different ones.
            && last.compare(&entry) != Ordering::Less
        {
            return Err(damaged(
                &entry.name,
                "is twice in the tree, or out of order",
            ));
        }
        entries.push(entry);
        rest = after;
    }
    check_clashes(&entries)?;
    Ok(entries)
}

fn split_entry(bytes: &[u8]) -> Result<(TreeEntry, &[u8])> {
    let (octal, rest) = split_at_byte(bytes, b' ')?;
    let (name, rest) = split_at_byte(rest, 0)?;
    let (id, rest) = rest.split_first_chunk::<20>().ok_or_else(truncated)?;
    check_component(name).context(|| format!("the tree names `{}`", name.escape_ascii()))?;
    let mode = TreeMode::from_octal(octal).ok_or_else(|| {
        damaged(
            name,
            &format!(
                "has the mode `{}`, which no snapshot has",
                octal.escape_ascii()
            ),
        )
    })?;
    Ok((
        TreeEntry {
            name: name.to_owned(),
            mode,
            id: ObjectId::new(*id),
        },
        rest,
    ))
}

fn split_at_byte(bytes: &[u8], byte: u8) -> Result<(&[u8], &[u8])> {
    let at = bytes
        .iter()
        .position(|other| *other == byte)
        .ok_or_else(truncated)?;
    Ok((&bytes[..at], &bytes[at + 1..]))
}

/// Fails if a name is both a file and a directory. `a` and `a/` are not neighbours if a name such as `a-b` is between
/// them, so sorting alone does not show that.
fn check_clashes(entries: &[TreeEntry]) -> Result<()> {
    for directory in entries.iter().filter(|entry| entry.mode == TreeMode::Tree) {
        if find(entries, &directory.name, TreeMode::File).is_some() {
            return Err(damaged(&directory.name, "is both a file and a directory"));
        }
    }
    Ok(())
}

/// Returns the entry with a name, at the position where an entry with `mode` sorts: as a directory, or as anything
/// else.
fn find<'a>(entries: &'a [TreeEntry], name: &[u8], mode: TreeMode) -> Option<&'a TreeEntry> {
    let at = entries
        .binary_search_by(|entry| compare_names(&entry.name, entry.mode, name, mode))
        .ok()?;
    entries.get(at)
}

/// Returns the entry with a name in a decoded tree.
pub(crate) fn lookup<'a>(entries: &'a [TreeEntry], name: &[u8]) -> Option<&'a TreeEntry> {
    find(entries, name, TreeMode::File).or_else(|| find(entries, name, TreeMode::Tree))
}

fn truncated() -> Error {
    Error::failed("the tree ends in the middle of an entry")
}

fn damaged(name: &[u8], what: &str) -> Error {
    Error::failed(format!("the tree's entry `{}` {what}", name.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, mode: TreeMode) -> TreeEntry {
        TreeEntry {
            name: name.into(),
            mode,
            id: ObjectId::EMPTY_TREE,
        }
    }

    /// A directory sorts as if it ended with a slash.
    #[test]
    fn directory_sorts_as_if_with_a_slash() {
        let mut entries = [
            entry("a0", TreeMode::File),
            entry("a", TreeMode::Tree),
            entry("a-b", TreeMode::File),
        ];
        encode(&mut entries);
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_slice()).collect();
        assert_eq!(
            names,
            [&b"a-b"[..], b"a", b"a0"],
            "`-` sorts before `/`, and `0` after it"
        );
        assert_eq!(
            lookup(&entries, b"a").map(|entry| entry.mode),
            Some(TreeMode::Tree),
            "it is found by its name"
        );
        assert_eq!(lookup(&entries, b"b"), None, "this is not there");
    }

    proptest! {
        #[test]
        fn a_tree_is_read_as_it_was_written(
            names in proptest::collection::btree_map("[a-c-]{1,3}", (0..4_usize, any::<[u8; 20]>()), 0..20),
        ) {
            let modes = [TreeMode::File, TreeMode::Executable, TreeMode::Symlink, TreeMode::Tree];
            let names: BTreeMap<String, _> = names;
            let entries = names.into_iter().map(|(name, (mode, id))| TreeEntry {
                name: name.into_bytes(),
                mode: modes[mode],
                id: ObjectId::new(id),
            });
            let mut entries: Vec<_> = entries.collect();
            let bytes = encode(&mut entries);
            for entry in &entries {
                prop_assert_eq!(lookup(&entries, &entry.name), Some(entry));
            }
            prop_assert_eq!(decode(&bytes).expect("our own"), entries);
        }

        #[test]
        fn any_bytes_are_a_tree_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(mut entries) = decode(&bytes) {
                prop_assert_eq!(encode(&mut entries), bytes);
            }
        }
    }
}
