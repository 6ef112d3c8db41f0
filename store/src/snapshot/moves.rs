//! Finds the changed paths that came and went with a renamed directory. Pure.
//!
//! A rename changes the time of what is renamed, and of the directories that it leaves and enters, but of nothing below
//! it. So the files below a renamed directory look as if they had always been there. Their contents reveal them: a path
//! is gone, and the same content is at the same place below another directory.

use std::collections::HashMap;

use crate::model::entry::{Change, Entry};
use crate::model::path::join;

/// How many paths with the same name and content are compared with one. A project may have thousands of empty files
/// with one name.
const COMPARED_PATHS: usize = 16;

/// A path that was moved with a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved<'a> {
    /// Where it is now.
    pub new: &'a [u8],
    /// Where it was.
    pub old: &'a [u8],
    /// The directory that was moved, or the one that it was moved into.
    pub below: &'a [u8],
}

/// Returns the paths that may have been moved with a directory.
pub(super) fn find(changes: &[Change]) -> Vec<Moved<'_>> {
    let mut gone: HashMap<&[u8], Entry> = HashMap::new();
    let mut by_name: HashMap<(&[u8], Entry), Vec<&[u8]>> = HashMap::new();
    for change in changes.iter().filter(|change| change.new.is_none()) {
        let Some(entry) = change.old else { continue };
        gone.insert(change.path.as_bytes(), entry);
        let same = by_name.entry((change.path.name(), entry)).or_default();
        same.push(change.path.as_bytes());
    }
    let mut moves = Moves::default();
    let mut found = Vec::new();
    for change in changes.iter().filter(|change| change.old.is_none()) {
        let (Some(entry), new) = (change.new, change.path.as_bytes()) else {
            continue;
        };
        // What other files showed of a directory comes first: of many files with the same name and content, only
        // that tells which one it was.
        let known = moves.origins(new).find_map(|origin| {
            let (old, known) = gone.get_key_value(origin.as_slice())?;
            (*known == entry).then_some(*old)
        });
        let old = known.or_else(|| {
            let same = by_name.get(&(change.path.name(), entry))?;
            let alike = |old: &&&[u8]| common_suffix(old, new);
            same.iter().take(COMPARED_PATHS).max_by_key(alike).copied()
        });
        let Some(old) = old else { continue };
        moves.note(old, new);
        if let Some(below) = directory_of(old, new) {
            found.push(Moved { new, old, below });
        }
    }
    found
}

/// Where directories were moved from, by where they are now. The workspace itself is the empty path.
#[derive(Default)]
struct Moves<'a>(HashMap<&'a [u8], &'a [u8]>);

impl<'a> Moves<'a> {
    fn note(&mut self, old: &'a [u8], new: &'a [u8]) {
        let common = common_suffix(old, new);
        let above = |path: &'a [u8]| {
            path[..path.len() - common]
                .strip_suffix(b"/")
                .unwrap_or_default()
        };
        self.0.entry(above(new)).or_insert_with(|| above(old));
    }

    /// Returns the paths that a path may have had, by the directories above it.
    fn origins(&self, new: &'a [u8]) -> impl Iterator<Item = Vec<u8>> {
        let ends = (0..new.len()).rev().filter(|at| new[*at] == b'/');
        let parts = ends.map(|at| (&new[..at], &new[at + 1..]));
        let parts = parts.chain([(&b""[..], new)]);
        parts.filter_map(|(above, rest)| Some(join(self.0.get(above)?, rest)))
    }
}

/// Returns the lengths of a path's names, the last one first.
fn lengths_from_end(path: &[u8]) -> impl Iterator<Item = usize> {
    path.split(|byte| *byte == b'/').rev().map(<[u8]>::len)
}

/// Returns how many bytes of whole names two paths have in common at their ends.
fn common_suffix(one: &[u8], other: &[u8]) -> usize {
    let same = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let mut length = 0;
    for name in lengths_from_end(one)
        .zip(lengths_from_end(other))
        .take_while(|(one, other)| one == other)
    {
        let next = length + name.0 + usize::from(length > 0);
        if next > same {
            break;
        }
        length = next;
    }
    length
}

/// Returns the directory whose time is no earlier than the move, or `None` if no directory was moved.
fn directory_of<'a>(old: &[u8], new: &'a [u8]) -> Option<&'a [u8]> {
    let above = &new[..new.len() - common_suffix(old, new)];
    match above.strip_suffix(b"/") {
        Some(above) => Some(above),
        None => Some(&new[..new.iter().position(|byte| *byte == b'/')?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Mode, ObjectId};
    use crate::model::path::WorkspacePath;

    fn change(name: &str, content: u8, is_there: bool) -> Change {
        let entry = Entry::stored(Mode::file(0o644), ObjectId::new([content; 20]));
        Change {
            path: WorkspacePath::new(name).expect("legal"),
            old: (!is_there).then_some(entry),
            new: is_there.then_some(entry),
        }
    }

    fn found(gone: &[(&str, u8)], there: &[(&str, u8)]) -> Vec<(String, String, String)> {
        let gone = gone
            .iter()
            .map(|(name, content)| change(name, *content, false));
        let there = there
            .iter()
            .map(|(name, content)| change(name, *content, true));
        let changes: Vec<Change> = gone.chain(there).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let moved = find(&changes);
        moved
            .iter()
            .map(|one| (text(one.old), text(one.new), text(one.below)))
            .collect()
    }

    fn moved(old: &str, new: &str, below: &str) -> (String, String, String) {
        (old.to_owned(), new.to_owned(), below.to_owned())
    }

    /// What is below a renamed directory is found with it.
    #[test]
    fn contents_of_a_renamed_directory_are_found() {
        assert_eq!(
            found(
                &[("one/a", 1), ("one/deep/b", 2)],
                &[("two/a", 1), ("two/deep/b", 2)]
            ),
            [
                moved("one/a", "two/a", "two"),
                moved("one/deep/b", "two/deep/b", "two")
            ]
        );
        assert_eq!(
            found(&[("sub/pkg/a", 1)], &[("pkg/a", 1)]),
            [moved("sub/pkg/a", "pkg/a", "pkg")],
            "out"
        );
        assert_eq!(
            found(&[("pkg/a", 1)], &[("sub/pkg/a", 1)]),
            [moved("pkg/a", "sub/pkg/a", "sub")],
            "in"
        );
    }

    /// Files of the same name and content keep to their directories.
    #[test]
    fn files_of_one_name_keep_their_directories() {
        let names: Vec<String> = (0..100)
            .map(|number| format!("{number}/__init__.py"))
            .collect();
        let below = |above: &str| -> Vec<(String, u8)> {
            names
                .iter()
                .map(|name| (format!("{above}/{name}"), 1))
                .collect()
        };
        let (old, new) = (below("one"), below("two"));
        let old: Vec<(&str, u8)> = old
            .iter()
            .map(|(path, content)| (path.as_str(), *content))
            .collect();
        let new: Vec<(&str, u8)> = new
            .iter()
            .map(|(path, content)| (path.as_str(), *content))
            .collect();
        for (from, to, below) in found(&old, &new) {
            assert_eq!((from.replace("one", "two"), "two"), (to, below.as_str()));
        }
    }

    #[test]
    fn another_content_or_name_is_no_move() {
        assert_eq!(found(&[("one/a", 1)], &[("two/a", 2), ("two/b", 1)]), []);
        assert_eq!(
            found(&[("one/a", 1)], &[("a", 1)]),
            [],
            "a file by itself has a time of its own"
        );
    }

    #[test]
    fn whole_names_are_common_to_paths() {
        for (one, other, common) in [
            ("a/b", "c/b", 1),
            ("ab/c", "b/c", 1),
            ("x/b/c", "y/b/c", 3),
            ("b/c", "b/c", 3),
            ("a", "b", 0),
            ("b/c", "y/b/c", 3),
        ] {
            assert_eq!(
                common_suffix(one.as_bytes(), other.as_bytes()),
                common,
                "{one} {other}"
            );
        }
    }
}
