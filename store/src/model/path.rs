//! Paths below a workspace, as bytes, checked once.
//!
//! A [`WorkspacePath`] can be joined to a workspace's root without leaving it and without naming anything in a `.git`.
//! The look-alikes of `.git` on HFS+ and NTFS are refused, too, as git itself does (`is_hfs_dotgit` and
//! `is_ntfs_dotgit` in git's `utf8.c` and `path.c`): `git fsck` reports them, and on those file systems they *are*
//! `.git`.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::hex::Hex;

/// A relative path of one or more components, separated by `/`: any bytes but NUL, and no `.`, `..`, empty component,
/// or look-alike of `.git`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(Vec<u8>);

/// Why bytes are not a [`WorkspacePath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathProblem {
    /// It has no component, or an empty one (a leading, trailing or doubled `/`).
    Empty,
    /// A component is `.` or `..`.
    Dots,
    /// It has a NUL byte.
    Nul,
    /// A name has a `/`.
    Slash,
    /// A component is, or on some file system becomes, `.git`.
    DotGit,
}

impl fmt::Display for PathProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "the path has an empty component",
            Self::Dots => "the path has a `.` or `..` component",
            Self::Nul => "the path has a NUL byte",
            Self::Slash => "the name has a slash",
            Self::DotGit => "the name is `.git` on some file systems",
        })
    }
}

impl std::error::Error for PathProblem {}

impl WorkspacePath {
    /// Checks the bytes of a relative path.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, PathProblem> {
        let bytes = bytes.into();
        for component in bytes.split(|byte| *byte == b'/') {
            check_component(component)?;
        }
        Ok(Self(bytes))
    }

    /// Returns a path as one in the workspace at `root`, or `None` if it is that directory itself, is not in it, or
    /// names what no workspace captures. It goes by the text alone.
    pub fn in_workspace(root: &Path, path: &Path) -> Option<Self> {
        Self::new(path.strip_prefix(root).ok()?.as_os_str().as_bytes()).ok()
    }

    /// Returns the path of an entry of this directory.
    pub fn join(&self, name: &[u8]) -> Result<Self, PathProblem> {
        check_component(name)?;
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        bytes.push(b'/');
        bytes.extend_from_slice(name);
        Ok(Self(bytes))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the components, outermost first.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// Returns the last component.
    pub fn name(&self) -> &[u8] {
        self.0
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or(&self.0)
    }

    /// Returns the directory that holds it, or `None` if that is the workspace itself.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.0.iter().rposition(|byte| *byte == b'/')?;
        Some(Self(self.0[..slash].to_vec()))
    }

    /// Returns the bytes of the path of the directory that holds it: none if that is the workspace itself.
    pub fn directory(&self) -> &[u8] {
        split(&self.0).0
    }

    /// Returns the directories above it, the nearest first, without the workspace itself.
    pub fn directories_above(&self) -> impl Iterator<Item = Self> + use<> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Returns the directories above some paths, without the workspace itself. Of paths in one deep directory, what is
    /// above it is gone through once, and not once for each of them.
    pub fn all_above<'p>(paths: impl IntoIterator<Item = &'p Self>) -> BTreeSet<Self> {
        let mut all = BTreeSet::new();
        for path in paths {
            let mut above = path.parent();
            while let Some(directory) = above.filter(|directory| !all.contains(directory)) {
                above = directory.parent();
                all.insert(directory);
            }
        }
        all
    }

    /// Returns it and the directories above it, the nearest first, without the workspace itself.
    pub fn at_and_above(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), Self::parent)
    }

    /// Returns the bound from which on sorted paths are below it, as long as [`WorkspacePath::is_below`] holds. No name
    /// is empty or has a NUL byte, so none sorts before the byte 1.
    pub fn first_below(&self) -> Self {
        Self([self.as_bytes(), b"/\x01"].concat())
    }

    /// Returns where it is on disk, in a workspace at `root`.
    pub fn on_disk(&self, root: &Path) -> PathBuf {
        root.join(OsStr::from_bytes(&self.0))
    }

    /// Returns whether it is below `directory`.
    pub fn is_below(&self, directory: &Self) -> bool {
        is_below(&self.0, &directory.0)
    }

    /// Returns whether it is one of the paths, or below one of them.
    pub fn is_at_or_below(&self, paths: &[Self]) -> bool {
        paths
            .iter()
            .any(|named| self == named || self.is_below(named))
    }

    /// Returns whether a list of paths covers it: it is one of them, or below one. An empty list covers everything.
    pub fn is_asked_for(&self, only: &[Self]) -> bool {
        only.is_empty() || self.is_at_or_below(only)
    }

    /// Returns the text for people. Bytes that are not UTF-8 are replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Returns the bytes if they are not UTF-8, for the `path_raw` columns.
    pub fn raw(&self) -> Option<&[u8]> {
        std::str::from_utf8(&self.0).is_err().then_some(&self.0[..])
    }

    /// Returns the path for a report.
    pub fn to_report(&self) -> ckpt_schema::report::PathText {
        ckpt_schema::report::PathText {
            path: self.to_text(),
            path_hex: self.raw().map(|raw| Hex(raw).to_string()),
        }
    }
}

impl fmt::Debug for WorkspacePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.to_text())
    }
}

/// Checks one component of a path.
pub fn check_component(name: &[u8]) -> Result<(), PathProblem> {
    match name {
        b"" => Err(PathProblem::Empty),
        b"." | b".." => Err(PathProblem::Dots),
        _ if name.contains(&0) => Err(PathProblem::Nul),
        _ if name.contains(&b'/') => Err(PathProblem::Slash),
        _ if is_dot_git(name) => Err(PathProblem::DotGit),
        _ => Ok(()),
    }
}

/// Returns whether a name is `.git` itself, which is skipped silently.
pub fn is_plain_dot_git(name: &[u8]) -> bool {
    name == b".git"
}

fn is_dot_git(name: &[u8]) -> bool {
    // Few names pass this, and every name is checked. 0xe2 and 0xef begin the characters that HFS+ ignores.
    let suspicious = name
        .first()
        .is_some_and(|byte| matches!(byte, b'.' | b'g' | b'G' | 0xe2 | 0xef))
        || name.contains(&b'\\');
    suspicious && (is_hfs_dot_git(name) || name.split(|byte| *byte == b'\\').any(is_ntfs_dot_git))
}

/// NTFS drops trailing dots and spaces, cuts at `:` (a stream), and knows `.git` by its short name `git~1`.
fn is_ntfs_dot_git(name: &[u8]) -> bool {
    let name = name.split(|byte| *byte == b':').next().unwrap_or(name);
    let length = name
        .iter()
        .rposition(|byte| !matches!(byte, b'.' | b' '))
        .map_or(0, |last| last + 1);
    let name = &name[..length];
    name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}

/// HFS+ drops the code points that it ignores, and folds case.
fn is_hfs_dot_git(name: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(name) else {
        return false;
    };
    let kept = text
        .chars()
        .filter(|character| !is_ignored_by_hfs(*character));
    kept.flat_map(char::to_lowercase).eq(".git".chars())
}

/// Returns whether HFS+ ignores a character, by the list of `next_hfs_char` in git's `utf8.c`.
fn is_ignored_by_hfs(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Returns the path of an entry. The root's path is empty.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
    if !directory.is_empty() {
        path.extend_from_slice(directory);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// Returns whether `path` is below `directory`; everything is below the root, whose path is empty.
pub(crate) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() && !path.is_empty()
        || path.len() > directory.len()
            && path.starts_with(directory)
            && path[directory.len()] == b'/'
}

/// What a path is taken for where rules are asked about it: some are for directories only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A file, a link, or anything else that holds no entries.
    File,
    /// A directory.
    Directory,
}

impl PathKind {
    /// Returns the kind of a directory or of anything else.
    pub fn of(is_directory: bool) -> Self {
        if is_directory {
            Self::Directory
        } else {
            Self::File
        }
    }
}

/// The name of an ignore file.
pub(crate) const IGNORE_FILE: &[u8] = b".gitignore";

/// Returns how many names a path has. The root's is empty.
pub(crate) fn depth(path: &[u8]) -> usize {
    match path {
        [] => 0,
        path => 1 + path.iter().filter(|byte| **byte == b'/').count(),
    }
}

/// Returns the directories above a path, the nearest first and the root last.
pub(crate) fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(parent(path), |path| parent(path))
}

/// Returns the path of the directory that holds a path, or `None` for the root.
pub(crate) fn parent(path: &[u8]) -> Option<&[u8]> {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    (!path.is_empty()).then(|| &path[..slash.unwrap_or(0)])
}

/// Returns the directory that holds a path, and the name in it.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter()
        .rposition(|byte| *byte == b'/')
        .map_or((&b""[..], path), |slash| {
            (&path[..slash], &path[slash + 1..])
        })
}

/// Takes out of the lists of roots what a root below lists as well: there it is told of.
pub(crate) fn list_once<T>(roots: &mut [(PathBuf, &mut Vec<T>)], path: impl Fn(&T) -> &str) {
    for at in 0..roots.len() {
        let root = roots[at].0.clone();
        let is_below =
            |other: &&(PathBuf, &mut Vec<T>)| other.0 != root && other.0.starts_with(&root);
        let full = |(root, list): &(PathBuf, &mut Vec<T>)| -> Vec<PathBuf> {
            list.iter().map(|one| root.join(path(one))).collect()
        };
        let told: HashSet<PathBuf> = roots.iter().filter(is_below).flat_map(full).collect();
        let list = &mut roots[at].1;
        list.retain(|one| told.is_empty() || !told.contains(&root.join(path(one))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_of_any_bytes_are_paths() {
        for name in [
            &b"a"[..],
            b"a/b",
            b"-f",
            b" ",
            b"a ",
            b".gitignore",
            b".github",
            b"\xff\xfe",
            b"C:x",
            b"con",
            b"a\\..\\b",
            b"git",
            b"x.git",
        ] {
            assert!(
                WorkspacePath::new(name).is_ok(),
                "{:?} is legal on Unix",
                String::from_utf8_lossy(name)
            );
        }
    }

    #[test]
    fn a_path_that_leaves_the_workspace_is_refused() {
        for (bytes, problem) in [
            (&b""[..], PathProblem::Empty),
            (b"/etc/x", PathProblem::Empty),
            (b"a//b", PathProblem::Empty),
            (b"a/", PathProblem::Empty),
            (b"../x", PathProblem::Dots),
            (b"a/../../x", PathProblem::Dots),
            (b"./a", PathProblem::Dots),
            (b"a\0b", PathProblem::Nul),
        ] {
            assert_eq!(
                WorkspacePath::new(bytes),
                Err(problem),
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_name_is_not_a_path() {
        let directory = WorkspacePath::new("a").expect("legal");
        for name in [&b"../../x"[..], b"b/c", b"/etc/x", b"b/"] {
            assert_eq!(
                directory.join(name),
                Err(PathProblem::Slash),
                "{:?}",
                String::from_utf8_lossy(name)
            );
        }
    }

    /// Look alikes of `.git` are refused at every depth.
    ///
    /// Invariant `work/never-outside`.
    #[test]
    fn look_alikes_of_dot_git_are_refused() {
        for name in [
            ".git",
            ".GIT",
            ".Git ",
            ".git.",
            ".git . .",
            "git~1",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            ".git\\config",
            "x\\.git",
        ] {
            assert_eq!(
                WorkspacePath::new(name),
                Err(PathProblem::DotGit),
                "{name:?} alone"
            );
            assert_eq!(
                WorkspacePath::new(format!("a/{name}/b")),
                Err(PathProblem::DotGit),
                "{name:?} within"
            );
        }
    }

    #[test]
    fn a_path_is_below_its_directories_only() {
        let path = |text: &str| WorkspacePath::new(text).expect("legal");
        assert!(path("a/b/c").is_below(&path("a/b")), "a child");
        assert!(
            !path("a/bc").is_below(&path("a/b")),
            "a sibling with the same beginning"
        );
        assert!(!path("a/b").is_below(&path("a/b")), "not itself");
        assert!(is_below(b"a", b""), "everything is below the root");
        assert!(!is_below(b"", b""), "but the root itself");
        assert_eq!(path("a/b/c").parent(), Some(path("a/b")), "its directory");
        assert_eq!(path("a").parent(), None, "the workspace itself has no name");
    }

    /// The first below a directory sorts before all that is in it and after all that is
    /// not.
    #[test]
    fn directory_sorts_between_its_first_and_last() {
        let path = |text: &str| WorkspacePath::new(text).expect("legal");
        let first = path("a/b").first_below();
        for below in ["a/b/\x01", "a/b/ ", "a/b/c", "a/b/\u{10ffff}"] {
            assert!(first <= path(below), "{below:?}");
        }
        for before in ["a", "a/b", "a/a/z"] {
            assert!(first > path(before), "{before:?}");
        }
        assert!(!path("a/b0").is_below(&path("a/b")), "where the range ends");
    }

    /// A path in a workspace is below its root and in no git directory.
    #[test]
    fn workspace_path_is_below_root_outside_git() {
        let root = Path::new("/w");
        let found = |path: &str| WorkspacePath::in_workspace(root, Path::new(path));
        let text = |path: &str| found(path).map(|path| path.to_text());
        assert_eq!(text("/w/a/b").as_deref(), Some("a/b"));
        for other in ["/w", "/", "/wa", "a", "/w/.git/config", "/w/../x"] {
            assert_eq!(found(other), None, "{other:?}");
        }
    }

    /// The directories above a path come nearest first and end below the root.
    #[test]
    fn parents_come_nearest_first() {
        let path = WorkspacePath::new("a/b/c").expect("legal");
        let texts = |paths: Vec<WorkspacePath>| -> Vec<String> {
            paths.iter().map(WorkspacePath::to_text).collect()
        };
        assert_eq!(texts(path.directories_above().collect()), ["a/b", "a"]);
        assert_eq!(path.on_disk(Path::new("/w")), Path::new("/w/a/b/c"));
        assert_eq!(texts(path.at_and_above().collect()), ["a/b/c", "a/b", "a"]);
    }

    /// What is limited to paths is about them and what is below them.
    #[test]
    fn limited_paths_include_what_is_below() {
        let path = |path: &str| WorkspacePath::new(path).expect("legal");
        let only = [path("a/b"), path("c")];
        for (asked, expected) in [
            ("a/b", true),
            ("a/b/c/d", true),
            ("c", true),
            ("a", false),
            ("a/bc", false),
            ("d", false),
        ] {
            let asked = path(asked);
            assert_eq!(asked.is_at_or_below(&only), expected, "{asked:?}");
            assert_eq!(asked.is_asked_for(&only), expected, "{asked:?}");
            assert!(!asked.is_at_or_below(&[]), "{asked:?}: none is named");
            assert!(asked.is_asked_for(&[]), "{asked:?}: nothing limits it");
        }
    }
}
