//! What a path stands for that goes through symbolic links: the links, and where they lead. This module only reads.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::workspace::{Place, normal};
use crate::model::path::WorkspacePath;

/// How many links one path may go through. Linux follows as many.
const MOST_LINKS: usize = 40;

/// What a tool's path stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedFile {
    /// In the workspace: the links that it goes through, and where it leads.
    pub inside: Vec<WorkspacePath>,
    /// Where it leads outside the workspace, if it does.
    pub outside: Option<PathBuf>,
}

impl Place {
    /// Resolves a path of a tool. A relative one starts at the directory of the tool's event, which may
    /// be in another workspace. The answer stays the same for as long as this value lives: a tool may replace a link at
    /// any time.
    pub fn named(&self, cwd: Option<&Path>, path: &Path) -> NamedFile {
        let absolute = cwd.unwrap_or(&self.cwd).join(path);
        if let Some(known) = self.named.borrow().get(&absolute) {
            return known.clone();
        }
        let named = self.look_up(&absolute);
        self.named.borrow_mut().insert(absolute, named.clone());
        named
    }

    /// Returns where a path leads now in the workspace, if that is another path.
    pub fn ends_of(&self, path: &WorkspacePath) -> Vec<WorkspacePath> {
        let ends = all_places(&path.on_disk(&self.root), &self.root).into_iter();
        ends.filter_map(|places| WorkspacePath::in_workspace(&self.root, &places.end))
            .filter(|end| end != path)
            .collect()
    }

    /// Returns whether a path leads to one of others, or one of these leads to it.
    pub fn is_also_named(&self, path: &WorkspacePath, others: &[&WorkspacePath]) -> bool {
        let ends = self.ends_of(path);
        let mut others = others.iter();
        others.any(|other| ends.contains(*other) || self.ends_of(other).contains(path))
    }

    fn look_up(&self, absolute: &Path) -> NamedFile {
        let within = |place: &Path| WorkspacePath::in_workspace(&self.root, place);
        let mut named = NamedFile::default();
        for Places { links, end } in all_places(absolute, &self.root) {
            let places = links.iter().chain([&end]).filter_map(|place| within(place));
            named.inside.extend(places);
            if within(&end).is_none() {
                named.outside = Some(match links.is_empty() {
                    true => absolute.to_owned(),
                    false => end,
                });
            }
        }
        named.inside.sort_unstable();
        named.inside.dedup();
        named
    }
}

/// The places that a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// The links that it goes through: a program may replace each of them.
    pub links: Vec<PathBuf>,
    /// Where it leads. Nothing need be there: a program may create it.
    pub end: PathBuf,
}

/// Returns the places that an absolute path stands for. `known` is a directory without a link on its way. Paths below it
/// are asked of the file system only from there on.
pub(super) fn places(path: &Path, known: &Path) -> Places {
    let (start, rest) = match path.strip_prefix(known) {
        Ok(rest) => (known, rest),
        Err(_) => (Path::new("/"), path),
    };
    let mut places = Places {
        links: Vec::new(),
        end: start.to_owned(),
    };
    let mut left: Vec<OsString> = Vec::new();
    put_back(&mut left, rest);
    while let Some(name) = left.pop() {
        if name == ".." {
            places.end.pop();
            continue;
        }
        places.end.push(name);
        let Ok(target) = places.end.read_link() else {
            continue;
        };
        if places.links.len() == MOST_LINKS {
            break;
        }
        places.links.push(places.end.clone());
        if target.is_absolute() {
            places.end = PathBuf::from("/");
        } else {
            places.end.pop();
        }
        put_back(&mut left, &target);
    }
    places
}

/// Returns every place that a path may stand for: as the system resolves `..`, after links, and as programs do that
/// shorten the text first.
pub(super) fn all_places(path: &Path, known: &Path) -> Vec<Places> {
    let first = places(path, known);
    let shortened = normal(path);
    let has_both = !first.links.is_empty() && shortened != *path;
    let second = has_both.then(|| places(&shortened, known));
    std::iter::once(first).chain(second).collect()
}

/// Adds the components of a path to those that are left, so that its first is the next one.
fn put_back(left: &mut Vec<OsString>, path: &Path) {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    left.extend(names);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Invariant `truth/links-of-a-tool`.
    #[test]
    fn path_stands_for_its_links_and_their_end() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let root = scratch.path().canonicalize().expect("it is there");
        fs::create_dir_all(root.join("real/deep")).expect("writable");
        fs::write(root.join("real/f"), "").expect("writable");
        for (link, target) in [
            ("file", "real/f".into()),
            ("chain", "file".into()),
            ("folder", "real".into()),
            ("far", root.join("real/deep")),
            ("dangling", "real/new".into()),
            ("loop", "loop".into()),
        ] {
            symlink::<PathBuf, _>(target, root.join(link)).expect("writable");
        }
        for (named, links, end) in [
            ("real/f", &[][..], "real/f"),
            ("absent/f", &[], "absent/f"),
            ("real/../real/./f", &[], "real/f"),
            ("file", &["file"], "real/f"),
            ("chain", &["chain", "file"], "real/f"),
            ("folder/f", &["folder"], "real/f"),
            ("folder/absent/f", &["folder"], "real/absent/f"),
            ("far/f", &["far"], "real/deep/f"),
            ("far/../f", &["far"], "real/f"),
            ("dangling", &["dangling"], "real/new"),
        ] {
            let found = places(&root.join(named), &root);
            let expected = Places {
                links: links.iter().map(|link| root.join(link)).collect(),
                end: root.join(end),
            };
            assert_eq!(found, expected, "{named}");
            let unknown = places(&root.join(named), Path::new("/nowhere"));
            assert!(unknown.end == expected.end, "{named}, asked from the top");
        }
        let found = places(&root.join("loop"), &root);
        assert_eq!(found.links.len(), MOST_LINKS, "a loop ends");
        let both: Vec<PathBuf> = all_places(&root.join("far/../f"), &root)
            .into_iter()
            .map(|places| places.end)
            .collect();
        assert_eq!(both, [root.join("real/f"), root.join("f")], "after `..`");
    }
}
