//! Compares two texts line by line: which lines stay, are removed and are added, and which of their words changed. It
//! knows nothing of files.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::Duration;

use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};

use super::paint::Paint;
use super::text::safe_bytes;

/// A diff that takes longer becomes coarser.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// How many letters and digits a line needs to be recognized elsewhere. Braces and blank lines are everywhere.
const LEAST_LETTERS: usize = 10;

/// How lines are compared and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    /// How many unchanged lines are shown around changed ones.
    pub context: usize,
    /// Whether lines that differ only in white space count as the same.
    pub ignore_space: bool,
    /// Whether to show removed and added words.
    pub words: bool,
    /// Whether to show both sides next to each other.
    pub columns: bool,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            context: 3,
            ignore_space: false,
            words: false,
            columns: false,
        }
    }
}

/// What differs between two texts, in groups with the lines around them.
pub struct LineDifference<'a> {
    /// The lines before.
    pub old: Vec<&'a [u8]>,
    /// The lines after.
    pub new: Vec<&'a [u8]>,
    /// Groups of unchanged, removed and added lines.
    pub groups: Vec<Vec<DiffOp>>,
}

/// Compares two texts. As in git, only a line feed ends a line; a carriage return does not.
pub fn difference<'a>(old: &'a [u8], new: &'a [u8], look: &DiffOptions) -> LineDifference<'a> {
    let (old, new) = (split(old), split(new));
    let mut configuration = TextDiff::configure();
    configuration.timeout(DIFF_TIMEOUT);
    let groups = if look.ignore_space {
        let (old, new) = (keys(&old), keys(&new));
        let (old, new) = (refer(&old), refer(&new));
        let difference = configuration.diff_slices(&old, &new);
        difference.grouped_ops(look.context)
    } else {
        let difference = configuration.diff_slices(&old, &new);
        difference.grouped_ops(look.context)
    };
    LineDifference { old, new, groups }
}

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn keys(lines: &[&[u8]]) -> Vec<Vec<u8>> {
    let visible = |line: &&[u8]| {
        let bytes = line.iter().copied();
        bytes.filter(|byte| !byte.is_ascii_whitespace()).collect()
    };
    lines.iter().map(visible).collect()
}

fn refer(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

/// The lines that are removed in one place and added in another, by their hashes.
#[derive(Debug, Default)]
pub struct MovedLines {
    gone: HashSet<u64>,
    come: HashSet<u64>,
}

impl MovedLines {
    /// Adds the lines of one file.
    pub fn add(&mut self, difference: &LineDifference<'_>) {
        for op in difference.groups.iter().flatten() {
            if op.tag() != DiffTag::Equal {
                let (old, new) = (
                    &difference.old[op.old_range()],
                    &difference.new[op.new_range()],
                );
                self.gone.extend(old.iter().filter_map(|line| mark(line)));
                self.come.extend(new.iter().filter_map(|line| mark(line)));
            }
        }
    }

    fn has(&self, line: &[u8]) -> bool {
        mark(line).is_some_and(|mark| self.gone.contains(&mark) && self.come.contains(&mark))
    }
}

/// Returns a key by which a line is recognized, whatever its indentation, or `None` for a line that is too common.
fn mark(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii();
    let letters = line.iter().filter(|byte| byte.is_ascii_alphanumeric());
    if letters.count() < LEAST_LETTERS {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    Some(hasher.finish())
}

/// How the hunks are written.
pub struct Style<'a> {
    /// How lines are compared and shown.
    pub look: DiffOptions,
    /// Whether a person reads them: otherwise the bytes stay as they are, so that they can be applied.
    pub is_for_people: bool,
    /// The colours.
    pub paint: Paint,
    /// The lines that moved.
    pub moved: &'a MovedLines,
}

/// Returns the hunks of two texts.
///
/// For people, lines are made safe like names; for a file or a program they stay as they are, so that they can be
/// applied.
pub fn hunks(old: &[u8], new: &[u8], style: &Style<'_>) -> Vec<u8> {
    let difference = difference(old, new, &style.look);
    let mut bytes = Vec::new();
    for group in &difference.groups {
        let header = UnifiedHunkHeader::new(group).to_string();
        bytes.extend(format!("{}\n", style.paint.id(&header)).as_bytes());
        for op in group {
            if style.look.words {
                words_of(op, &difference, style, &mut bytes);
            } else {
                lines_of(op, &difference, style, &mut bytes);
            }
        }
    }
    bytes
}

fn lines_of(op: &DiffOp, difference: &LineDifference<'_>, style: &Style<'_>, bytes: &mut Vec<u8>) {
    let (old, new) = (
        &difference.old[op.old_range()],
        &difference.new[op.new_range()],
    );
    if op.tag() == DiffTag::Equal {
        // If white space is ignored, the sides may differ; git shows the new one.
        for line in new {
            one(ChangeTag::Equal, line, &[], style, bytes);
        }
        return;
    }
    // Lines are compared word by word only where as many came as went, so that each has its counterpart.
    let are_paired = style.paint.is_on() && old.len() == new.len();
    let marked = |position: usize| match are_paired {
        true => changed_words(old[position], new[position]),
        false => [Vec::new(), Vec::new()],
    };
    for (position, line) in old.iter().enumerate() {
        one(ChangeTag::Delete, line, &marked(position)[0], style, bytes);
    }
    for (position, line) in new.iter().enumerate() {
        one(ChangeTag::Insert, line, &marked(position)[1], style, bytes);
    }
}

/// Writes one line; `marked` are the ranges in it that changed.
pub fn one(
    tag: ChangeTag,
    whole: &[u8],
    marked: &[Range<usize>],
    style: &Style<'_>,
    bytes: &mut Vec<u8>,
) {
    let line = whole.strip_suffix(b"\n").unwrap_or(whole);
    if style.is_for_people {
        bytes.extend(shown(tag, line, marked, style).as_bytes());
    } else {
        bytes.extend(tag.to_string().as_bytes());
        bytes.extend(line);
    }
    bytes.push(b'\n');
    if line.len() == whole.len() {
        bytes.extend(b"\\ No newline at end of file\n");
    }
}

/// Returns a text in the colour of what happened to its line.
fn coloured(text: &str, tag: ChangeTag, is_moved: bool, paint: Paint) -> String {
    match tag {
        ChangeTag::Equal => text.to_owned(),
        ChangeTag::Delete if is_moved => paint.moved_away(text),
        ChangeTag::Insert if is_moved => paint.moved_here(text),
        ChangeTag::Delete => paint.bad(text),
        ChangeTag::Insert => paint.good(text),
    }
}

fn shown(tag: ChangeTag, line: &[u8], marked: &[Range<usize>], style: &Style<'_>) -> String {
    let paint = style.paint;
    let is_moved = tag != ChangeTag::Equal && style.moved.has(line);
    let colour = |text: &str| coloured(text, tag, is_moved, paint);
    if marked.is_empty() || is_moved {
        return colour(&format!("{tag}{}", with_tabs(line)));
    }
    let mark = |text: &str| match tag {
        ChangeTag::Delete => paint.word_gone(text),
        ChangeTag::Equal | ChangeTag::Insert => paint.word_come(text),
    };
    let parts = pieces(line, marked).into_iter();
    let parts = parts.map(|(part, is_marked)| match is_marked {
        true => mark(&part),
        false => colour(&part),
    });
    std::iter::once(colour(&tag.to_string()))
        .chain(parts)
        .collect()
}

/// Returns a line in pieces, each with whether it is marked. The end of the line may be, and is not shown.
pub fn pieces(line: &[u8], marked: &[Range<usize>]) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for range in marked {
        let stop = range.end.min(line.len());
        pieces.push((with_tabs(&line[end..range.start.max(end)]), false));
        pieces.push((with_tabs(&line[range.start.min(stop)..stop]), true));
        end = stop;
    }
    pieces.push((with_tabs(&line[end..]), false));
    pieces
}

/// Returns a line without control characters other than tabs.
pub fn with_tabs(line: &[u8]) -> String {
    let parts = line.split(|byte| *byte == b'\t').map(safe_bytes);
    parts.collect::<Vec<_>>().join("\t")
}

/// Returns the ranges of each line that the other does not have, or `None` if they have little in common.
pub fn changed_words(old: &[u8], new: &[u8]) -> [Vec<Range<usize>>; 2] {
    let (old_words, new_words) = (words(old), words(new));
    let difference = TextDiff::configure()
        .timeout(DIFF_TIMEOUT)
        .diff_slices(&old_words, &new_words);
    let place = |words: &[&[u8]], range: Range<usize>| {
        let length = |words: &[&[u8]]| words.iter().map(|word| word.len()).sum::<usize>();
        let start = length(&words[..range.start]);
        start..start + length(&words[range])
    };
    let (mut gone, mut come, mut same) = (Vec::new(), Vec::new(), 0);
    for op in difference.ops() {
        let (old, new) = (
            place(&old_words, op.old_range()),
            place(&new_words, op.new_range()),
        );
        if op.tag() == DiffTag::Equal {
            same += old.len();
            continue;
        }
        gone.extend((!old.is_empty()).then_some(old));
        come.extend((!new.is_empty()).then_some(new));
    }
    if same * 3 < old.len().max(new.len()) {
        return [Vec::new(), Vec::new()];
    }
    [gone, come]
}

/// Returns the words of a text and the separators between them.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t');
    text.chunk_by(|one, next| {
        (is_word(*one) && is_word(*next)) || (is_space(*one) && is_space(*next))
    })
    .collect()
}

/// Writes unchanged, removed and added words as one text, with marks around them.
fn words_of(op: &DiffOp, difference: &LineDifference<'_>, style: &Style<'_>, bytes: &mut Vec<u8>) {
    let paint = style.paint;
    let (old, new) = (
        difference.old[op.old_range()].concat(),
        difference.new[op.new_range()].concat(),
    );
    let lines = |text: &[u8]| {
        let lines = text.split(|byte| *byte == b'\n').map(with_tabs);
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut text = String::new();
    if op.tag() == DiffTag::Equal {
        text = lines(&new);
    } else {
        let (old_words, new_words) = (words(&old), words(&new));
        let difference = TextDiff::configure()
            .timeout(DIFF_TIMEOUT)
            .diff_slices(&old_words, &new_words);
        for op in difference.ops() {
            let (gone, come) = (
                old_words[op.old_range()].concat(),
                new_words[op.new_range()].concat(),
            );
            if op.tag() == DiffTag::Equal {
                text.push_str(&lines(&come));
                continue;
            }
            text.push_str(&around(&lines(&gone), "[-", "-]", |text| paint.bad(text)));
            text.push_str(&around(&lines(&come), "{+", "+}", |text| paint.good(text)));
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    bytes.extend(text.as_bytes());
}

/// Puts marks around a text; its line endings stay outside.
fn around(text: &str, open: &str, close: &str, paint: impl Fn(&str) -> String) -> String {
    let part = |line: &str| match line {
        "" => String::new(),
        _ => paint(&format!("{open}{line}{close}")),
    };
    text.split('\n').map(part).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn shown(old: &str, new: &str, look: DiffOptions) -> String {
        let style = Style {
            look,
            is_for_people: true,
            paint: Paint::PLAIN,
            moved: &MovedLines::default(),
        };
        String::from_utf8(hunks(old.as_bytes(), new.as_bytes(), &style)).expect("text")
    }

    #[test]
    fn words_are_marked_as_git_marks_them() {
        let look = DiffOptions {
            words: true,
            ..DiffOptions::default()
        };
        expect![[r#"
            @@ -1,2 +1,2 @@
            one
            the [-quick-]{+slow+} fox
        "#]]
        .assert_eq(&shown("one\nthe quick fox\n", "one\nthe slow fox\n", look));
    }

    /// White space is no difference where it is ignored.
    #[test]
    fn ignored_white_space_is_no_difference() {
        let look = DiffOptions {
            ignore_space: true,
            ..DiffOptions::default()
        };
        assert_eq!(shown("a\n  b\n", "a\n\tb\n", look), "", "only indented");
        expect![[r#"
            @@ -1,2 +1,3 @@
             a
             	b
            +c
        "#]]
        .assert_eq(&shown("a\n  b\n", "a\n\tb\nc\n", look));
    }

    /// As many lines around are shown as asked for.
    #[test]
    fn context_has_as_many_lines_as_asked() {
        let look = DiffOptions {
            context: 0,
            ..DiffOptions::default()
        };
        assert_eq!(
            shown("1\n2\n3\n", "1\n2\nx\n", look),
            "@@ -3 +3 @@\n-3\n+x\n",
            "none"
        );
    }

    /// A line that went in one place and came in another has moved.
    #[test]
    fn moved_line_is_known() {
        let mut moved = MovedLines::default();
        let look = DiffOptions::default();
        let line = b"fn a_function_that_moves() {\n";
        moved.add(&difference(line, b"", &look));
        moved.add(&difference(
            b"x\n}\n",
            b"x\n    fn a_function_that_moves() {\n",
            &look,
        ));
        assert!(moved.has(line), "in two files, and indented");
        assert!(!moved.has(b"}\n"), "a brace may stand anywhere");
    }

    /// The words of a line that changed are known by their place.
    #[test]
    fn changed_words_are_known_by_place() {
        let [gone, come] = changed_words(b"let a = old(b);", b"let a = new(b);");
        assert_eq!(gone, std::slice::from_ref(&(8..11)), "one word of it");
        assert_eq!(come, std::slice::from_ref(&(8..11)), "for one other");
        let [gone, _] = changed_words(b"something", b"else");
        assert!(gone.is_empty(), "nothing of it is the same: {gone:?}");
    }
}
