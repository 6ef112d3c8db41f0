//! The patterns of one ignore file.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use gix_glob::Pattern;
use gix_glob::pattern::Mode;

use crate::fs::threads;
use crate::git::glob::{Glob, Steps};
use crate::lines::without_byte_order_mark;
use crate::model::path::{PathKind, is_below};

/// Returns the significant lines of an ignore file: no comments, no blank lines, no byte order mark.
pub(crate) fn significant_lines(bytes: &[u8]) -> Vec<u8> {
    // Like git (`add_patterns_from_buffer` in its `dir.c`), which passes over a byte order mark and takes CR LF
    // for the end of a line.
    let bytes = without_byte_order_mark(bytes);
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| {
        !line.is_empty() && line[0] != b'#' && !line.iter().all(|byte| *byte == b' ')
    });
    lines.flat_map(|line| [line, b"\n"].concat()).collect()
}

/// The most steps that one match may take: a hundred times what the patterns of any project need.
const MAX_STEPS: u64 = 1 << 18;
/// The number of steps that a match may take at any time: some microseconds.
const FREE_STEPS: u64 = 1 << 11;
/// The number of steps that all patterns of a source may take at any time for one path: a quarter of a millisecond. A
/// source may have thousands of patterns, of some 70 steps each if they are ordinary ones.
const FOR_A_PATH: u64 = 1 << 18;
/// The most steps that all matches together may take besides these: a tenth of a second.
const MAX_TOTAL_STEPS: u64 = 1 << 25;
/// How many undecided patterns are named.
const NAMED: usize = 3;

/// The steps that matching took, and the patterns that were not decided for a path, which is captured then.
#[derive(Default)]
pub(crate) struct MatchCost {
    spent: AtomicU64,
    undecided: Mutex<BTreeSet<Vec<u8>>>,
}

impl MatchCost {
    /// Returns whether a glob matches, or `None` if finding out takes too long. `left` is what remains of the steps
    /// for the path.
    fn decide(&self, glob: &Glob, value: &[u8], left: &mut u64) -> Option<bool> {
        let free = FREE_STEPS.min(*left);
        let most = if self.spent.load(Ordering::Relaxed) < MAX_TOTAL_STEPS {
            MAX_STEPS
        } else {
            free
        };
        let mut steps = Steps(most);
        let decided = glob.matches(value, &mut steps);
        let taken = most - steps.0;
        *left = left.saturating_sub(taken);
        if taken > free {
            // Threads may overdraw it by a match each, which does no harm.
            self.spent.fetch_add(taken, Ordering::Relaxed);
        }
        decided
    }

    fn note(&self, pattern: &Pattern) {
        let mut undecided = threads::lock(&self.undecided);
        if undecided.len() < NAMED {
            undecided.insert(pattern.to_string().into_bytes());
        }
    }

    /// Returns some of the patterns that were not decided.
    pub fn undecided(&self) -> Vec<Vec<u8>> {
        let undecided = threads::lock(&self.undecided);
        undecided.iter().cloned().collect()
    }
}

/// One pattern, which is compiled when it is first needed.
#[derive(Clone)]
struct CompiledPattern {
    pattern: Pattern,
    glob: OnceLock<Glob>,
}

impl CompiledPattern {
    /// Returns whether it matches. A path that cannot be decided is in view.
    fn matches(
        &self,
        path: &[u8],
        name: Option<usize>,
        kind: PathKind,
        (work, left): (&MatchCost, &mut u64),
    ) -> bool {
        let Pattern {
            text,
            mode,
            first_wildcard_pos,
        } = &self.pattern;
        if mode.contains(Mode::MUST_BE_DIR) && kind == PathKind::File {
            return false;
        }
        let is_of_name = mode.contains(Mode::NO_SUB_DIR) && !mode.contains(Mode::ABSOLUTE);
        let value = if is_of_name {
            &path[name.unwrap_or_default()..]
        } else {
            path
        };
        let Some(wildcard) = *first_wildcard_pos else {
            return **text == *value;
        };
        if mode.contains(Mode::ENDS_WITH) && !value.contains(&b'/') {
            return value.ends_with(&text[wildcard + 1..]);
        }
        if !value.starts_with(&text[..wildcard]) {
            return false;
        }
        let glob = self.glob.get_or_init(|| Glob::of(text));
        work.decide(glob, value, left).unwrap_or_else(|| {
            work.note(&self.pattern);
            self.pattern.is_negative()
        })
    }
}

/// The patterns of one source, the last one winning.
#[derive(Clone, Default)]
pub(super) struct Patterns {
    lines: Vec<CompiledPattern>,
    /// Whether the case of letters is ignored. Then the patterns are in lower case.
    ignores_case: bool,
}

impl Patterns {
    /// Reads the lines of an ignore file. Patterns ignore case where git's `core.ignoreCase` says so.
    pub fn parse(bytes: &[u8], ignores_case: bool) -> Self {
        let lines = significant_lines(bytes);
        let lines = lines
            .split(|byte| *byte == b'\n')
            .map(without_trailing_spaces);
        let line = |pattern| CompiledPattern {
            pattern,
            glob: OnceLock::new(),
        };
        let folded = |mut pattern: Pattern| {
            if ignores_case {
                pattern.text.make_ascii_lowercase();
            }
            pattern
        };
        let patterns = lines.filter_map(Pattern::from_bytes).map(folded);
        Self {
            lines: patterns.map(line).collect(),
            ignores_case,
        }
    }

    /// Returns whether it has no pattern.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns whether a pattern names, without a wildcard, something below a directory.
    pub fn spell_out_a_way_through(&self, directory: &[u8]) -> bool {
        self.lines.iter().any(|CompiledPattern { pattern, .. }| {
            let literal = &pattern.text[..pattern.first_wildcard_pos.unwrap_or(pattern.text.len())];
            !pattern.is_negative() && is_below(literal, directory)
        })
    }

    /// Returns whether the last matching pattern ignores (`true`) or re-includes (`false`), or `None` if no pattern
    /// matches.
    pub fn matched(
        &self,
        path: &[u8],
        name: Option<usize>,
        kind: PathKind,
        work: &MatchCost,
    ) -> Option<bool> {
        let folded = self.ignores_case.then(|| path.to_ascii_lowercase());
        let path = folded.as_deref().unwrap_or(path);
        let mut lines = self.lines.iter().rev();
        let mut left = FOR_A_PATH;
        lines
            .find(|line| line.matches(path, name, kind, (work, &mut left)))
            .map(|line| !line.pattern.is_negative())
    }
}

/// A pattern of paths that a person gave, like a line of an ignore file.
pub(crate) struct PathPattern {
    /// The path that it is if no character of it has a meaning.
    literal: Vec<u8>,
    /// Whether it ends with a slash, and so matches directories only.
    is_of_directories: bool,
    patterns: Patterns,
    work: MatchCost,
}

impl PathPattern {
    /// Parses a pattern. `None` if it can match nothing, like a comment.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = match text.strip_prefix(b"./") {
            Some(rest) => [b"/", rest].concat(),
            None => text.to_vec(),
        };
        let patterns = Patterns::parse(&text, false);
        let [line] = &patterns.lines[..] else {
            return None;
        };
        let literal = text.strip_prefix(b"/").unwrap_or(&text);
        let literal = literal.strip_suffix(b"/").unwrap_or(literal).to_vec();
        (!line.pattern.is_negative()).then_some(Self {
            literal,
            is_of_directories: text.ends_with(b"/"),
            patterns,
            work: MatchCost::default(),
        })
    }

    /// Returns whether a path itself matches.
    pub fn is_at(&self, path: &[u8], kind: PathKind) -> bool {
        let name = path.iter().rposition(|byte| *byte == b'/').map(|at| at + 1);
        let matched = self.patterns.matched(path, name, kind, &self.work);
        let is_literally =
            path == self.literal && (kind == PathKind::Directory || !self.is_of_directories);
        matched == Some(true) || is_literally
    }

    /// Returns whether a file, or a directory above it, matches.
    pub fn is_at_or_above(&self, file: &[u8]) -> bool {
        let mut ends = (0..file.len()).filter(|end| file[*end] == b'/');
        self.is_at(file, PathKind::File)
            || ends.any(|end| self.is_at(&file[..end], PathKind::Directory))
    }

    /// Returns whether it was too complicated to decide for some path.
    pub fn is_undecided(&self) -> bool {
        !self.work.undecided().is_empty()
    }
}

/// The patterns of a setting, in whatever case: what they cover must not depend on the file system.
pub(crate) struct PathPatterns {
    patterns: Patterns,
    work: MatchCost,
}

impl PathPatterns {
    /// Parses a list of patterns.
    pub fn parse(lines: &[String]) -> Self {
        Self {
            patterns: Patterns::parse(lines.join("\n").as_bytes(), true),
            work: MatchCost::default(),
        }
    }

    /// Returns whether a file itself matches. One that is too complicated to decide does.
    pub fn match_file(&self, path: &[u8]) -> bool {
        self.matches(path, PathKind::File)
    }

    /// Returns whether a file, or a directory above it, matches.
    pub fn match_file_or_above(&self, path: &[u8]) -> bool {
        let mut ends = (0..path.len()).filter(|end| path[*end] == b'/');
        self.match_file(path) || ends.any(|end| self.matches(&path[..end], PathKind::Directory))
    }

    fn matches(&self, path: &[u8], kind: PathKind) -> bool {
        let name = path.iter().rposition(|byte| *byte == b'/').map(|at| at + 1);
        self.patterns.matched(path, name, kind, &self.work) == Some(true)
            || !self.work.undecided().is_empty()
    }
}

/// Removes trailing spaces unless a backslash keeps them, like git (`trim_trailing_spaces` in its `dir.c`).
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

    /// What all patterns of a source take for a path is bounded.
    #[test]
    fn patterns_of_a_source_take_bounded_time() {
        let lines: String = (0..2000)
            .map(|number| format!("{}nope{number}\n", "**/a/".repeat(20)))
            .collect();
        let patterns = Patterns::parse(lines.as_bytes(), false);
        let path = "a/".repeat(60) + "f";
        let work = MatchCost {
            spent: AtomicU64::new(MAX_TOTAL_STEPS),
            ..MatchCost::default()
        };
        assert_eq!(
            patterns.matched(path.as_bytes(), Some(120), PathKind::File, &work),
            None
        );
        assert_eq!(
            work.spent.load(Ordering::Relaxed),
            MAX_TOTAL_STEPS,
            "no match took more than it may at any time"
        );
        assert_eq!(work.undecided().len(), NAMED, "it is told");
        let mut left = FOR_A_PATH;
        for line in &patterns.lines {
            line.matches(
                path.as_bytes(),
                Some(120),
                PathKind::File,
                (&work, &mut left),
            );
        }
        assert_eq!(left, 0, "and nothing more was done than this");
    }

    #[test]
    fn many_simple_patterns_are_decided_for_every_path() {
        let lines: String = (0..2000)
            .map(|number| format!("**/x{number}/*.o\n"))
            .collect();
        let patterns = Patterns::parse(lines.as_bytes(), false);
        let work = MatchCost {
            spent: AtomicU64::new(MAX_TOTAL_STEPS),
            ..MatchCost::default()
        };
        let matched = |path: &[u8]| patterns.matched(path, None, PathKind::File, &work);
        assert_eq!(
            matched(b"src/deep/down/x7/a.o"),
            Some(true),
            "{:?}",
            work.undecided()
        );
        assert_eq!(matched(b"src/deep/down/y7/a.o"), None);
        assert!(work.undecided().is_empty());
    }
}
