//! Git's configuration, as far as it affects what is ignored and how names are compared. This module does IO.
//!
//! The system's file, the user's two and the repository's are read in this order, each with its includes; the last
//! value wins. A repository is not trusted: only small regular files are read, only a limited number of them, and never
//! a pipe or a device. Invalid lines are skipped; git would refuse the whole file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::glob::{Glob, Steps};
use super::{Location, SMALL, read_small, state, try_read_small};
use crate::fs::presence;
use crate::lines::without_byte_order_mark;
use crate::model::git_item::plain;

/// How deep files may include each other; git's own limit.
const MAX_INCLUDE_DEPTH: usize = 10;
/// How many steps one pattern may take. A condition that is not decided by then is false.
const MOST_STEPS: u64 = 1 << 18;
/// How many files are read in total.
const MOST_FILES: usize = 64;

/// What the configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitConfig {
    /// `core.excludesFile`: `None` if it is not set, and an empty path if it is set to nothing.
    pub excludes_file: Option<PathBuf>,
    /// `core.attributesFile`, likewise.
    pub attributes_file: Option<PathBuf>,
    /// `core.ignoreCase`.
    pub ignores_case: bool,
    /// The first of its files that exists but could not be read.
    pub unread: Option<PathBuf>,
}

impl GitConfig {
    /// Reads it for the work tree at `root`.
    pub fn read(
        root: &Path,
        location: Option<&Location>,
        home: Option<&Path>,
        config_home: Option<&Path>,
    ) -> Self {
        let mut reading = Reading {
            config: Self::default(),
            root,
            location,
            home,
            has_worktree_config: false,
            left: MOST_FILES,
            urls: None,
        };
        let files = [
            Some(PathBuf::from("/etc/gitconfig")),
            self::home(home, config_home).map(|folder| folder.join("git/config")),
            home.map(|home| home.join(".gitconfig")),
            location.map(|location| location.common.join("config")),
        ];
        for file in files.into_iter().flatten() {
            reading.file(&file, 0);
        }
        if let Some(location) = location.filter(|_| reading.has_worktree_config) {
            reading.file(&location.directory.join("config.worktree"), 0);
        }
        reading.config
    }
}

/// Returns the folder of the user's configuration: `$XDG_CONFIG_HOME`, or its default.
pub(super) fn home(home: Option<&Path>, config_home: Option<&Path>) -> Option<PathBuf> {
    config_home
        .map(Path::to_owned)
        .or_else(|| Some(home?.join(".config")))
}

/// Whether the case of letters matters to the pattern of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternCase {
    /// `gitdir`.
    Matters,
    /// `gitdir/i`.
    Ignored,
}

/// The state of reading all files.
struct Reading<'a> {
    config: GitConfig,
    root: &'a Path,
    location: Option<&'a Location>,
    home: Option<&'a Path>,
    has_worktree_config: bool,
    left: usize,
    /// The URLs of the remotes, once they were needed.
    urls: Option<Vec<Vec<u8>>>,
}

impl Reading<'_> {
    fn file(&mut self, path: &Path, depth: usize) {
        if self.left == 0 {
            return;
        }
        // Files that include each other would otherwise be read without end.
        self.left -= 1;
        // People keep their own files elsewhere and link to them.
        let bytes = match try_read_small(path, SMALL, OFlags::empty()) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(_) => {
                let unread = &mut self.config.unread;
                unread.get_or_insert_with(|| path.to_owned());
                return;
            }
        };
        entries(&bytes, |entry| self.take(entry, path, depth));
    }

    fn take(&mut self, entry: ConfigLine<'_>, file: &Path, depth: usize) {
        match (entry.section, entry.subsection, entry.key) {
            (b"core", None, b"excludesfile") => {
                self.config.excludes_file = self.path(entry.value);
            }
            (b"core", None, b"attributesfile") => {
                self.config.attributes_file = self.path(entry.value);
            }
            (b"core", None, b"ignorecase") => self.config.ignores_case = entry.is_true(),
            (b"extensions", None, b"worktreeconfig") => self.has_worktree_config = entry.is_true(),
            (b"include", None, b"path") => self.include(entry, file, depth),
            (b"includeif", Some(condition), b"path") if self.holds(condition, file) => {
                self.include(entry, file, depth);
            }
            _ => {}
        }
    }

    fn include(&mut self, entry: ConfigLine<'_>, file: &Path, depth: usize) {
        let Some(value) = entry.value.filter(|value| !value.is_empty()) else {
            return;
        };
        let path = included(value, file, self.home);
        if let Some(path) = path.filter(|_| depth < MAX_INCLUDE_DEPTH) {
            self.file(&path, depth + 1);
        }
    }

    /// Returns a path, expanded like git does. The empty path means no file.
    fn path(&self, value: Option<&[u8]>) -> Option<PathBuf> {
        let value = value?;
        Some(match value.strip_prefix(b"~/") {
            Some(rest) => self.home?.join(OsStr::from_bytes(rest)),
            None if value.is_empty() => PathBuf::new(),
            None => self.root.join(OsStr::from_bytes(value)),
        })
    }

    /// Returns whether the condition of an `includeIf` is true. An unknown condition is not.
    fn holds(&mut self, condition: &[u8], file: &Path) -> bool {
        let parts = condition.iter().position(|byte| *byte == b':');
        let Some((kind, pattern)) = parts.map(|at| (&condition[..at], &condition[at + 1..])) else {
            return false;
        };
        match kind {
            b"gitdir" => self.is_repository(pattern, file, PatternCase::Matters),
            b"gitdir/i" => self.is_repository(pattern, file, PatternCase::Ignored),
            b"onbranch" => self.is_branch(pattern),
            // `hasconfig:remote.*.url:`, followed by the pattern.
            b"hasconfig" => pattern
                .strip_prefix(b"remote.*.url:")
                .is_some_and(|pattern| self.has_remote(pattern)),
            _ => false,
        }
    }

    fn is_repository(&self, pattern: &[u8], file: &Path, case: PatternCase) -> bool {
        let Some(location) = self.location else {
            return false;
        };
        let pattern = match (pattern.strip_prefix(b"~/"), pattern.strip_prefix(b"./")) {
            (Some(rest), _) => self.home.map(|home| below(home, rest)),
            (_, Some(rest)) => file.parent().map(|folder| below(folder, rest)),
            _ if pattern.first() == Some(&b'/') => Some(pattern.to_vec()),
            _ => Some([b"**/", pattern].concat()),
        };
        let Some(pattern) = pattern.map(with_all_below) else {
            return false;
        };
        let directory = location.directory.as_path();
        // As git does: the pattern may name the link, or what it leads to.
        let real = directory.canonicalize().ok();
        [Some(directory), real.as_deref()]
            .into_iter()
            .flatten()
            .any(|directory| {
                let directory = directory.as_os_str().as_bytes();
                match case {
                    PatternCase::Matters => matches(&pattern, directory),
                    PatternCase::Ignored => matches(
                        &pattern.to_ascii_lowercase(),
                        &directory.to_ascii_lowercase(),
                    ),
                }
            })
    }

    fn is_branch(&self, pattern: &[u8]) -> bool {
        let Some((_, Some(branch))) = self.location.map(state::head) else {
            return false;
        };
        let pattern = with_all_below(pattern.to_vec());
        matches(&pattern, plain(&branch).as_bytes())
    }

    /// Returns whether a remote has such a URL. As in git, remotes from conditional includes do not count.
    fn has_remote(&mut self, pattern: &[u8]) -> bool {
        let urls = self.urls.take().unwrap_or_else(|| {
            let file = self.location.map(|location| location.common.join("config"));
            let bytes = file.and_then(|file| read_small(&file, SMALL, OFlags::empty()));
            let mut urls = Vec::new();
            entries(&bytes.unwrap_or_default(), |entry| {
                let is_remote = entry.section == b"remote" && entry.subsection.is_some();
                if is_remote && entry.key == b"url" {
                    urls.extend(entry.value.map(<[u8]>::to_vec));
                }
            });
            urls
        });
        let is_such = urls.iter().any(|url| matches(pattern, url));
        self.urls = Some(urls);
        is_such
    }
}

/// Returns the path of a file that another one includes.
fn included(value: &[u8], file: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix(b"~/") {
        Some(rest) => home.map(|home| home.join(OsStr::from_bytes(rest))),
        None => file
            .parent()
            .map(|folder| folder.join(OsStr::from_bytes(value))),
    }
}

fn matches(pattern: &[u8], value: &[u8]) -> bool {
    let decided = Glob::of(pattern).matches(value, &mut Steps(MOST_STEPS));
    decided.unwrap_or_default()
}

fn below(folder: &Path, rest: &[u8]) -> Vec<u8> {
    folder
        .join(OsStr::from_bytes(rest))
        .as_os_str()
        .as_bytes()
        .to_vec()
}

/// Extends a pattern that ends with a slash: it stands for everything below.
fn with_all_below(mut pattern: Vec<u8>) -> Vec<u8> {
    if pattern.last() == Some(&b'/') {
        pattern.extend_from_slice(b"**");
    }
    pattern
}

/// One line of a configuration. Names are in lower case, except the subsection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ConfigLine<'a> {
    section: &'a [u8],
    subsection: Option<&'a [u8]>,
    key: &'a [u8],
    /// `None` without an equals sign, which means true.
    value: Option<&'a [u8]>,
}

impl ConfigLine<'_> {
    fn is_true(&self) -> bool {
        self.value.is_none_or(|value| {
            [&b"true"[..], b"yes", b"on", b"1"]
                .iter()
                .any(|word| value.eq_ignore_ascii_case(word))
        })
    }
}

/// Returns the last value of `section.key` in one configuration file; both names in lower case, no subsection.
pub(crate) fn value(configuration: &[u8], section: &str, key: &str) -> Option<Vec<u8>> {
    let mut found = None;
    entries(configuration, |entry| {
        let is_it = entry.section == section.as_bytes() && entry.subsection.is_none();
        if is_it && entry.key == key.as_bytes() {
            found = entry.value.map(<[u8]>::to_vec);
        }
    });
    found
}

/// Returns the remotes of a repository, as its own configuration names them.
pub(crate) fn remotes_of(location: &Location) -> Vec<String> {
    let mut remotes = Vec::new();
    let file = read_small(&location.common.join("config"), SMALL, OFlags::NOFOLLOW);
    entries(&file.unwrap_or_default(), |entry| {
        let is_address =
            entry.section == b"remote" && [&b"url"[..], b"pushurl"].contains(&entry.key);
        if let (true, Some(name)) = (is_address, entry.subsection) {
            remotes.push(String::from_utf8_lossy(name).into_owned());
        }
    });
    remotes
}

/// Returns the names of the hooks in a repository's configuration and in all that it may include, on whatever condition.
///
/// # Errors
///
/// The first path that git may open, and that is no small regular file, or not known to be one.
pub(crate) fn hooks_of(location: &Location, home: Option<&Path>) -> Result<Vec<Vec<u8>>, PathBuf> {
    let mut files = vec![
        location.common.join("config"),
        location.directory.join("config.worktree"),
    ];
    let (mut hooks, mut at) = (Vec::new(), 0);
    while let Some(file) = files.get(at).cloned() {
        at += 1;
        if presence::metadata(&file).is_ok_and(|found| found.is_none()) {
            continue;
        }
        let bytes = read_small(&file, SMALL, OFlags::empty()).filter(|_| at < MOST_FILES);
        let mut elsewhere = None;
        entries(&bytes.ok_or_else(|| file.clone())?, |entry| {
            match (entry.section, entry.subsection, entry.key) {
                (b"hook", Some(name), _) => hooks.push(name.to_vec()),
                (b"include", None, b"path") | (b"includeif", Some(_), b"path") => {
                    let value = entry.value.unwrap_or_default();
                    // `~user/` and `%(prefix)/`.
                    if matches!(value, [b'~', other, ..] if *other != b'/')
                        || value.starts_with(b"%")
                    {
                        elsewhere = Some(PathBuf::from(OsStr::from_bytes(value)));
                    } else if !value.is_empty() {
                        files.extend(included(value, &file, home));
                    }
                }
                _ => {}
            }
        });
        if let Some(path) = elsewhere {
            return Err(path);
        }
    }
    Ok(hooks)
}

/// Passes on every entry, in order.
fn entries(bytes: &[u8], mut take: impl FnMut(ConfigLine<'_>)) {
    // Git skips the mark that some Windows editors write, too.
    let bytes = without_byte_order_mark(bytes);
    let mut text = ConfigText { bytes, position: 0 };
    let mut heading: Option<(Vec<u8>, Option<Vec<u8>>)> = None;
    let (mut key, mut value) = (Vec::new(), Vec::new());
    while let Some(byte) = text.peek() {
        match byte {
            b'#' | b';' => text.skip_line(),
            b'[' => heading = text.heading(),
            _ if byte.is_ascii_whitespace() => text.position += 1,
            _ => {
                key.clear();
                value.clear();
                let has_value = text.assignment(&mut key, &mut value);
                if let Some((section, subsection)) = heading.as_ref().filter(|_| !key.is_empty()) {
                    take(ConfigLine {
                        section,
                        subsection: subsection.as_deref(),
                        key: &key,
                        value: has_value.then_some(&value),
                    });
                }
            }
        }
    }
}

/// A configuration that is being parsed.
struct ConfigText<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl ConfigText<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.position += 1;
        Some(byte)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// Parses `[section]`, `[section "subsection"]` or the old `[section.subsection]`, which is in lower case.
    fn heading(&mut self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        self.position += 1;
        let mut section = Vec::new();
        loop {
            match self.next()? {
                b']' => break,
                b'\n' => return None,
                b'"' => {
                    let subsection = self.subsection()?;
                    return (self.next()? == b']').then_some((section, Some(subsection)));
                }
                byte if byte.is_ascii_whitespace() => {}
                byte => section.push(byte.to_ascii_lowercase()),
            }
        }
        match section.iter().position(|byte| *byte == b'.') {
            None => Some((section, None)),
            Some(dot) => Some((section[..dot].to_vec(), Some(section[dot + 1..].to_vec()))),
        }
    }

    fn subsection(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Some(name),
                b'\n' => return None,
                b'\\' => name.push(self.next()?),
                byte => name.push(byte),
            }
        }
    }

    /// Parses a key and, after an equals sign, its value up to the end of the line. Returns whether there is a value.
    fn assignment(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> bool {
        while let Some(byte) = self.next() {
            match byte {
                b'=' => {
                    self.value(value);
                    return true;
                }
                b'\n' => return false,
                b'#' | b';' => {
                    self.skip_line();
                    return false;
                }
                byte if byte.is_ascii_whitespace() => {}
                byte => key.push(byte.to_ascii_lowercase()),
            }
        }
        false
    }

    /// Parses a value without its quotes, escapes and comment (git's `parse_value` in `config.c`). A backslash at the
    /// end of a line continues it on the next.
    fn value(&mut self, value: &mut Vec<u8>) {
        let (mut is_quoted, mut kept) = (false, 0);
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b'\r' if self.peek() == Some(b'\n') => continue,
                b'"' => is_quoted = !is_quoted,
                b'#' | b';' if !is_quoted => {
                    self.skip_line();
                    break;
                }
                b'\\' => match self.next() {
                    Some(b'\n') => continue,
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(other) => value.push(other),
                    None => break,
                },
                byte if byte.is_ascii_whitespace() && !is_quoted && value.is_empty() => continue,
                byte => value.push(byte),
            }
            if is_quoted || !byte.is_ascii_whitespace() {
                kept = value.len();
            }
        }
        value.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_git_reads_it() {
        let text = b"[user]\n\texcludesfile = no\n[Core] a = b\n  excludesFile = \"~/my # file\" ; comment\n[core \"x\"]\nexcludesfile=sub\n";
        assert_eq!(
            value(text, "core", "excludesfile").as_deref(),
            Some(&b"~/my # file"[..]),
            "quoted, commented"
        );
        assert_eq!(
            value(text, "core", "a").as_deref(),
            Some(&b"b"[..]),
            "beside the section's name"
        );
        assert_eq!(value(b"[core\nx", "core", "x"), None, "nonsense is nothing");
        let text = b"[core]\r\n x = a\\\n  b \\\"c\\\" \r\n y\n z =\n";
        assert_eq!(
            value(text, "core", "x").as_deref(),
            Some(&b"a  b \"c\""[..]),
            "over two lines"
        );
        assert_eq!(value(text, "core", "y"), None, "no equals sign");
        assert_eq!(value(text, "core", "z").as_deref(), Some(&b""[..]), "empty");
    }

    /// A subsection keeps its case and a section does not.
    #[test]
    fn subsections_keep_their_case() {
        let expected = [
            (
                &b"includeif"[..],
                &b"gitdir:~/A\"b/"[..],
                &b"path"[..],
                Some(&b"x"[..]),
            ),
            (b"old", b"form", b"k", None),
        ];
        let mut found = 0;
        entries(
            b"[IncludeIf \"gitdir:~/A\\\"b/\"]\nPath = x\n[Old.Form]\nk",
            |entry| {
                let (section, subsection, key, value) = expected[found];
                let wanted = ConfigLine {
                    section,
                    subsection: Some(subsection),
                    key,
                    value,
                };
                assert_eq!(entry, wanted);
                found += 1;
            },
        );
        assert_eq!(found, expected.len(), "both");
    }

    #[test]
    fn any_bytes_are_read_to_their_end() {
        proptest::proptest!(|(bytes in proptest::collection::vec(proptest::sample::select(b"[]\"\\=#;\n\r \tab.".to_vec()), 0..60))| {
            entries(&bytes, |_| {});
        });
    }
}
