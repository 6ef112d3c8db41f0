//! What is captured: ignore files, the user's excludes, the settings' patterns, and what is captured although ignored.
//!
//! [`Rules`] are the sources that are not files of the tree; as a blob beside it they let a later patch tell whether a path
//! was in view. [`Matcher`] decides, given the `.gitignore` files. Nothing here reads the disk: sources are bytes.
//!
//! Patterns are matched by `gix-glob`, a port of git's own `wildmatch`, on bytes: braces are no alternatives, and names need
//! not be UTF-8.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use gix_glob::{Pattern, wildmatch};

use crate::error::{Error, Result};

/// Outside a git repository these are left out, too: what package managers and compilers make and can make again.
pub(crate) const BUILT_IN: &str = "node_modules/\nbower_components/\njspm_packages/\n.pnpm-store/\n.yarn/cache/\ntarget/\n\
    .venv/\nvenv/\n__pycache__/\n.tox/\n.nox/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.eggs/\n*.egg-info/\n\
    .gradle/\n.m2/\n.terraform/\n.next/\n.nuxt/\n.svelte-kit/\n.parcel-cache/\n.turbo/\n.cache/\n.dart_tool/\n\
    .bundle/\nPods/\nDerivedData/\n.stack-work/\ndist-newstyle/\n_build/\n.elixir_ls/\nzig-cache/\n.zig-cache/\n";

const MAGIC: &[u8] = b"ckpt-hook rules 1\n";

/// The sources of rules that are not files of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The user's global excludes, without comments and blank lines.
    pub global: Vec<u8>,
    /// The repository's `info/exclude`, likewise.
    pub info: Vec<u8>,
    /// The `.gitignore` files of the directories above the captured one, outermost first.
    pub above: Vec<(Vec<u8>, Vec<u8>)>,
    /// The only directory that is captured, where there is one.
    pub scope: Option<Vec<u8>>,
    /// The settings' patterns of what is captured although ignored.
    pub include: Vec<u8>,
    /// The settings' patterns of what is left out whatever else holds.
    pub exclude: Vec<u8>,
    /// Whether the built-in list of dependency and build folders holds.
    pub built_in: bool,
    /// Files that are captured although ignored: the user's repository tracks them, or an edit tool named them.
    pub forced: BTreeSet<Vec<u8>>,
}

impl Rules {
    /// Returns the canonical text; none where there are no rules.
    ///
    /// After a first line with the format's name and version, each section is `<name> <length>`, a newline, as many bytes,
    /// and a newline. An `above` section holds a path, a NUL byte and lines; `forced` holds paths with a NUL byte after each.
    pub fn encode(&self) -> Option<Vec<u8>> {
        if *self == Self::default() {
            return None;
        }
        let mut text = MAGIC.to_vec();
        let mut section = |name: &str, bytes: &[u8]| {
            text.extend_from_slice(format!("{name} {}\n", bytes.len()).as_bytes());
            text.extend_from_slice(bytes);
            text.push(b'\n');
        };
        if self.built_in {
            section("built-in", BUILT_IN.as_bytes());
        }
        let plain =
            [("global", &self.global), ("info", &self.info), ("include", &self.include), ("exclude", &self.exclude)];
        for (name, bytes) in plain.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            section(name, bytes);
        }
        if let Some(scope) = &self.scope {
            section("scope", scope);
        }
        for (directory, lines) in &self.above {
            section("above", &[directory, &b"\0"[..], lines].concat());
        }
        if !self.forced.is_empty() {
            section("forced", &self.forced.iter().flat_map(|path| [path, &b"\0"[..]].concat()).collect::<Vec<_>>());
        }
        Some(text)
    }

    /// Reads what [`Rules::encode`] wrote.
    pub fn decode(text: &[u8]) -> Result<Self> {
        let damaged = || Error::failed("the ignore rules of a snapshot are damaged");
        let mut rest = text.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let mut rules = Self::default();
        while !rest.is_empty() {
            let (name, bytes, after) = section(rest).ok_or_else(damaged)?;
            rules.set(name, bytes).ok_or_else(damaged)?;
            rest = after;
        }
        Ok(rules)
    }

    fn set(&mut self, name: &[u8], bytes: &[u8]) -> Option<()> {
        match name {
            b"built-in" => self.built_in = true,
            b"global" => self.global = bytes.to_vec(),
            b"info" => self.info = bytes.to_vec(),
            b"include" => self.include = bytes.to_vec(),
            b"exclude" => self.exclude = bytes.to_vec(),
            b"scope" => self.scope = Some(bytes.to_vec()),
            b"above" => {
                let end = bytes.iter().position(|byte| *byte == 0)?;
                self.above.push((bytes[..end].to_vec(), bytes[end + 1..].to_vec()));
            }
            b"forced" => {
                let paths = bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
                self.forced = paths.map(<[u8]>::to_vec).collect();
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the matcher of these rules and the `.gitignore` files that `gitignores` gives by directory (the root's path
    /// is empty). Each is asked for once, when it first matters.
    pub fn matcher<'a>(&self, gitignores: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'a) -> Matcher<'a> {
        Matcher {
            global: Patterns::parse(&self.global),
            info: Patterns::parse(&self.info),
            include: Patterns::parse(&self.include),
            exclude: Patterns::parse(&self.exclude),
            built_in: Patterns::parse(if self.built_in { BUILT_IN.as_bytes() } else { b"" }),
            above: self.above.iter().map(|(path, lines)| (path.clone(), Patterns::parse(lines))).collect(),
            scope: self.scope.clone(),
            forced: self.forced.clone(),
            gitignores: Box::new(gitignores),
            chains: RwLock::new(HashMap::new()),
        }
    }
}

fn section(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let space = text[..end].iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&text[space + 1..end]).ok()?.parse().ok()?;
    let rest = &text[end + 1..];
    let after = rest.get(length..)?.strip_prefix(b"\n")?;
    Some((&text[..space], &rest[..length], after))
}

/// Returns the lines of an ignore file that mean something: no comments, no blank lines, no byte order mark.
pub(crate) fn significant_lines(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| !line.is_empty() && line[0] != b'#' && !line.iter().all(|byte| *byte == b' '));
    lines.flat_map(|line| [line, b"\n"].concat()).collect()
}

/// What of a directory is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// What its ignore files do not match.
    Open,
    /// Everything: an `include` pattern matched it.
    Included,
    /// It is ignored: only what is forced or included.
    Ignored,
    /// It leads to the scope: only what is on the way.
    Passage,
}

/// Gives the ignore file of a directory.
type Ignores<'a> = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'a;

/// Decides what is in view.
pub(crate) struct Matcher<'a> {
    global: Patterns,
    info: Patterns,
    include: Patterns,
    exclude: Patterns,
    built_in: Patterns,
    above: HashMap<Vec<u8>, Patterns>,
    scope: Option<Vec<u8>>,
    forced: BTreeSet<Vec<u8>>,
    gitignores: Box<Ignores<'a>>,
    chains: RwLock<HashMap<Vec<u8>, Chain>>,
}

/// The ignore files that hold in a directory, innermost first.
type Chain = Option<Arc<Link>>;

struct Link {
    directory_length: usize,
    patterns: Patterns,
    outer: Chain,
}

impl Drop for Link {
    /// Thousands of nested ignore files must not be dropped by recursion.
    fn drop(&mut self) {
        let mut next = self.outer.take();
        while let Some(mut link) = next.and_then(Arc::into_inner) {
            next = link.outer.take();
        }
    }
}

impl Matcher<'_> {
    /// Returns whether a file at this path is captured.
    pub fn is_visible(&self, path: &[u8]) -> bool {
        let mut view = self.root_view();
        for end in (0..path.len()).filter(|end| path[*end] == b'/') {
            match self.decide(view, &path[..end], true, &|path, is_directory| self.is_forced(path, is_directory)) {
                Some(next) => view = next,
                None => return false,
            }
        }
        self.decide(view, path, false, &|path, is_directory| self.is_forced(path, is_directory)).is_some()
    }

    /// Returns the view of the workspace's root.
    pub fn root_view(&self) -> View {
        if self.scope.is_some() { View::Passage } else { View::Open }
    }

    /// Returns whether ignore files alone would leave this path out, whoever tracks or names it.
    pub fn is_ignored(&self, path: &[u8]) -> bool {
        let mut view = self.root_view();
        for end in (0..path.len()).filter(|end| path[*end] == b'/') {
            match self.decide(view, &path[..end], true, &|_, _| false) {
                Some(next) => view = next,
                None => return true,
            }
        }
        self.decide(view, path, false, &|_, _| false).is_none()
    }

    /// Returns the view of an entry of a directory with the view `parent`; none where it is left out. `is_forced` says
    /// whether a path (or, for a directory, something below it) is captured although ignored.
    pub fn decide(
        &self,
        parent: View,
        path: &[u8],
        is_directory: bool,
        is_forced: &dyn Fn(&[u8], bool) -> bool,
    ) -> Option<View> {
        let name = path.iter().rposition(|byte| *byte == b'/').map(|slash| slash + 1);
        let excluded = !self.exclude.is_empty() && self.exclude.matched(path, name, is_directory) == Some(true);
        if excluded || !self.is_in_scope(path, is_directory) {
            return None;
        }
        let passage = self.is_passage(path);
        if !self.include.is_empty() && self.include.matched(path, name, is_directory) == Some(true) {
            return Some(if passage { View::Passage } else { View::Included });
        }
        match parent {
            View::Included => Some(View::Included),
            View::Open | View::Passage if !self.is_ignored_here(path, name, is_directory) => {
                Some(if passage { View::Passage } else { View::Open })
            }
            View::Open | View::Passage | View::Ignored => {
                let wanted = is_forced(path, is_directory) || is_directory && self.leads_to_included(path);
                wanted.then_some(View::Ignored)
            }
        }
    }

    fn is_in_scope(&self, path: &[u8], is_directory: bool) -> bool {
        match &self.scope {
            None => true,
            Some(scope) => is_below(path, scope) || is_directory && (path == &scope[..] || is_below(scope, path)),
        }
    }

    fn is_passage(&self, path: &[u8]) -> bool {
        self.scope.as_ref().is_some_and(|scope| is_below(scope, path))
    }

    fn is_forced(&self, path: &[u8], is_directory: bool) -> bool {
        if is_directory { has_below(&self.forced, path) } else { self.forced.contains(path) }
    }

    /// An ignored directory is entered for an `include` pattern only where the pattern spells out the way to it.
    fn leads_to_included(&self, directory: &[u8]) -> bool {
        self.include.0.iter().any(|pattern| {
            let literal = &pattern.text[..pattern.first_wildcard_pos.unwrap_or(pattern.text.len())];
            !pattern.is_negative() && is_below(literal, directory)
        })
    }

    fn is_ignored_here(&self, path: &[u8], name: Option<usize>, is_directory: bool) -> bool {
        let directory = &path[..name.map_or(0, |name| name - 1)];
        let mut chain = &self.chain(directory);
        while let Some(link) = chain {
            let start = if link.directory_length == 0 { 0 } else { link.directory_length + 1 };
            let inner_name = name.map(|name| name - start).filter(|name| *name > 0);
            if let Some(ignored) = link.patterns.matched(&path[start..], inner_name, is_directory) {
                return ignored;
            }
            chain = &link.outer;
        }
        let outer = [&self.info, &self.global, &self.built_in];
        outer.iter().find_map(|patterns| patterns.matched(path, name, is_directory)).unwrap_or(false)
    }

    fn chain(&self, directory: &[u8]) -> Chain {
        if let Some(chain) = self.chains.read().unwrap_or_else(PoisonError::into_inner).get(directory) {
            return chain.clone();
        }
        let mut chains = self.chains.write().unwrap_or_else(PoisonError::into_inner);
        let ends = (0..directory.len()).filter(|end| directory[*end] == b'/').chain([directory.len()]);
        let ends: Vec<_> = if directory.is_empty() { vec![0] } else { [0].into_iter().chain(ends).collect() };
        let known = ends.iter().rposition(|end| chains.contains_key(&directory[..*end]));
        let mut chain = known.and_then(|known| chains[&directory[..ends[known]]].clone());
        for end in &ends[known.map_or(0, |known| known + 1)..] {
            chain = self.link(&directory[..*end], chain);
            chains.insert(directory[..*end].to_vec(), chain.clone());
        }
        chain
    }

    fn link(&self, directory: &[u8], outer: Chain) -> Chain {
        let patterns = match self.above.get(directory) {
            Some(patterns) => patterns.clone(),
            None => Patterns::parse(&(self.gitignores)(directory).unwrap_or_default()),
        };
        if patterns.is_empty() {
            return outer;
        }
        Some(Arc::new(Link { directory_length: directory.len(), patterns, outer }))
    }
}

/// Returns whether `path` is below `directory`; everything is below the root, whose path is empty.
pub(crate) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() && !path.is_empty()
        || path.len() > directory.len() && path.starts_with(directory) && path[directory.len()] == b'/'
}

/// Returns whether a sorted set of paths has one below `directory`.
pub(crate) fn has_below(paths: &BTreeSet<Vec<u8>>, directory: &[u8]) -> bool {
    let start = [directory, b"/"].concat();
    paths.range(start.clone()..).next().is_some_and(|path| path.starts_with(&start))
}

#[derive(Clone, Default)]
struct Patterns(Vec<Pattern>);

impl Patterns {
    fn parse(bytes: &[u8]) -> Self {
        let lines = significant_lines(bytes);
        let lines = lines.split(|byte| *byte == b'\n').map(without_trailing_spaces);
        Self(lines.filter_map(Pattern::from_bytes).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the last pattern that matches ignores (`true`) or brings back (`false`); none where none matches.
    fn matched(&self, path: &[u8], name: Option<usize>, is_directory: bool) -> Option<bool> {
        let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
        let case = gix_glob::pattern::Case::Sensitive;
        let matches =
            |pattern: &&Pattern| pattern.matches_repo_relative_path(path.into(), name, Some(is_directory), case, mode);
        self.0.iter().rev().find(matches).map(|pattern| !pattern.is_negative())
    }
}

/// Git drops trailing spaces unless a backslash keeps them (`trim_trailing_spaces` in its `dir.c`).
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut position = 0;
    while position < line.len() {
        let step = if line[position] == b'\\' { 2 } else { 1 };
        if line[position] != b' ' {
            end = (position + step).min(line.len());
        }
        position += step;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(info: &str) -> Rules {
        Rules { info: info.into(), ..Rules::default() }
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        let rules = Rules {
            global: b"*.o\n".to_vec(),
            above: vec![(Vec::new(), b"x\n".to_vec())],
            scope: Some(b"a/b".to_vec()),
            built_in: true,
            forced: [b"a/b\n".to_vec(), b"\xff".to_vec()].into(),
            ..Rules::default()
        };
        let text = rules.encode().expect("there are rules");
        assert_eq!(Rules::decode(&text).expect("sound"), rules, "what went in comes out");
        assert_eq!(Rules::default().encode(), None, "no rules, no blob");
        assert!(Rules::decode(&text[..text.len() - 1]).is_err(), "cut off");
    }

    #[test]
    fn a_forced_file_in_an_ignored_directory_is_visible_alone() {
        let rules = Rules { forced: [b"out/kept".to_vec()].into(), ..rules("out/\n") };
        let matcher = rules.matcher(|_| None);
        assert!(matcher.is_visible(b"out/kept"), "it is forced");
        assert!(!matcher.is_visible(b"out/other"), "its neighbour is not");
        assert!(matcher.is_ignored(b"out/kept"), "the rules alone leave it out");
    }

    #[test]
    fn settings_win_over_ignore_files() {
        let rules = Rules {
            include: b"/dist/app/*.js\n.env\n".to_vec(),
            exclude: b"secret\n".to_vec(),
            ..rules("dist\n.env\n")
        };
        let matcher = rules.matcher(|_| None);
        assert!(matcher.is_visible(b"a/.env"), "included by name");
        assert!(matcher.is_visible(b"dist/app/x.js"), "the pattern spells out the way");
        assert!(!matcher.is_visible(b"dist/app/x.css"), "not included");
        assert!(!matcher.is_visible(b"a/secret/x"), "excluded");
    }

    #[test]
    fn only_the_scope_is_visible() {
        let rules = Rules { scope: Some(b"a/b".to_vec()), ..Rules::default() };
        let matcher = rules.matcher(|_| None);
        assert!(matcher.is_visible(b"a/b/c/d"), "below the scope");
        assert!(!matcher.is_visible(b"a/c"), "beside it");
        assert!(!matcher.is_visible(b"a/b"), "a file cannot be the scope");
    }
}
