//! The patterns of one ignore file.

use gix_glob::{Pattern, wildmatch};

use super::is_below;

/// Returns the lines of an ignore file that mean something: no comments, no blank lines, no byte order mark.
pub(crate) fn significant_lines(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| {
        !line.is_empty() && line[0] != b'#' && !line.iter().all(|byte| *byte == b' ')
    });
    lines.flat_map(|line| [line, b"\n"].concat()).collect()
}

/// The patterns of one source, the last one winning.
#[derive(Clone, Default)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub fn parse(bytes: &[u8]) -> Self {
        let lines = significant_lines(bytes);
        let lines = lines
            .split(|byte| *byte == b'\n')
            .map(without_trailing_spaces);
        Self(lines.filter_map(Pattern::from_bytes).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a pattern names, without a wildcard, something below a directory.
    pub fn spell_out_a_way_through(&self, directory: &[u8]) -> bool {
        self.0.iter().any(|pattern| {
            let literal = &pattern.text[..pattern.first_wildcard_pos.unwrap_or(pattern.text.len())];
            !pattern.is_negative() && is_below(literal, directory)
        })
    }

    /// Returns whether the last pattern that matches ignores (`true`) or brings back (`false`); none where none matches.
    pub fn matched(&self, path: &[u8], name: Option<usize>, is_directory: bool) -> Option<bool> {
        let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
        let case = gix_glob::pattern::Case::Sensitive;
        let matches = |pattern: &&Pattern| {
            pattern.matches_repo_relative_path(path.into(), name, Some(is_directory), case, mode)
        };
        self.0
            .iter()
            .rev()
            .find(matches)
            .map(|pattern| !pattern.is_negative())
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
