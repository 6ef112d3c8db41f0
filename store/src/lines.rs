//! Treats bytes as lines: counts those that a change adds and removes, and recognises what has none. Pure; nothing here
//! merges.

use std::collections::HashMap;

use ckpt_schema::report::Hunk;
use imara_diff::{Algorithm, Diff, Hunk as Lines, InternedInput, Token};

/// The size in bytes above which nothing is compared or merged by line.
pub const MAX_SIZE: usize = 16 << 20;

/// How many lines of both sides together are compared in order. If all of them changed and most repeat, Myers'
/// algorithm takes a third of a second for this many, and four times as long for twice as many.
const MAX_COMPARED: usize = 20_000;

/// How far git looks for a NUL byte: `FIRST_FEW_BYTES` in its `xdiff-interface.c`.
const BINARY_PROBE: usize = 8_000;

/// What some editors write in front of a text in UTF-8. Git passes over it.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the byte order mark of a text, or nothing, and what follows it.
pub fn split_byte_order_mark(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.split_at(text.len() - rest.len())
}

/// Returns bytes without the byte order mark that they may begin with.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    let mut encoded = [0; BYTE_ORDER_MARK.len_utf8()];
    let mark = BYTE_ORDER_MARK.encode_utf8(&mut encoded).as_bytes();
    bytes.strip_prefix(mark).unwrap_or(bytes)
}

/// Returns whether bytes are binary by git's rule: a NUL byte in the first 8,000.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PROBE)].contains(&0)
}

/// Returns how many lines a change adds and removes, or `None` if a side is binary or larger than [`MAX_SIZE`].
///
/// A line feed is part of its line, so a changed or added line ending is a changed line, as in `git diff --numstat`. If
/// there are more than 20,000 lines between the first difference and the last, their order is ignored: a line that only
/// moved is not counted.
pub fn count(old: &[u8], new: &[u8]) -> Option<(u64, u64)> {
    if !has_lines(old) || !has_lines(new) {
        return None;
    }
    if old == new {
        return Some((0, 0));
    }
    let (old, new) = without_common_ends(old, new);
    if lines(old).count() + lines(new).count() > MAX_COMPARED {
        return Some(count_unordered(old, new));
    }
    let diff = Diff::compute(Algorithm::Myers, &InternedInput::new(old, new));
    Some((
        u64::from(diff.count_additions()),
        u64::from(diff.count_removals()),
    ))
}

/// Returns whether a text has at least half of the lines of another, in any order. One without lines has none.
pub fn keeps_half(old: &[u8], new: &[u8]) -> bool {
    if old.is_empty() || !has_lines(old) || !has_lines(new) {
        return false;
    }
    let (_, gone) = count_unordered(old, new);
    gone.saturating_mul(2) <= lines(old).count() as u64
}

/// Returns the lines that differ, with `context` lines around them, as in a unified diff. `None` if a side is binary or
/// too large, or if too many lines lie between the first difference and the last to be compared in order.
pub fn hunks(old: &str, new: &str, context: u32) -> Option<Vec<Hunk>> {
    if !has_lines(old.as_bytes()) || !has_lines(new.as_bytes()) {
        return None;
    }
    let (from, to) = without_common_ends(old.as_bytes(), new.as_bytes());
    if lines(from).count() + lines(to).count() > MAX_COMPARED {
        return None;
    }
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let mut groups: Vec<Vec<Lines>> = Vec::new();
    for lines in diff.hunks() {
        match groups.last_mut() {
            Some(group) if is_near(group, &lines, context) => group.push(lines),
            _ => groups.push(vec![lines]),
        }
    }
    Some(
        groups
            .iter()
            .map(|group| hunk(&input, group, context))
            .collect(),
    )
}

/// Returns whether the lines around two differences touch.
fn is_near(group: &[Lines], next: &Lines, context: u32) -> bool {
    group
        .last()
        .is_some_and(|last| next.before.start - last.before.end <= 2 * context)
}

/// Returns one hunk for differences that are close together.
fn hunk(input: &InternedInput<&str>, group: &[Lines], context: u32) -> Hunk {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let all = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let ahead = first.before.start.min(context);
    let behind = (all - last.before.end).min(context);
    let (from, to) = (first.before.start - ahead, last.before.end + behind);
    let mut lines = Vec::new();
    let mut add = |sign: char, tokens: &[Token]| {
        let tokens = tokens.iter().map(|token| input.interner[*token]);
        lines.extend(tokens.map(|line| format!("{sign}{line}")));
    };
    let range = |start: u32, end: u32| start as usize..end as usize;
    let mut at = from;
    for part in group {
        add(' ', &input.before[range(at, part.before.start)]);
        add(
            '-',
            &input.before[range(part.before.start, part.before.end)],
        );
        add('+', &input.after[range(part.after.start, part.after.end)]);
        at = part.before.end;
    }
    add(' ', &input.before[range(at, to)]);
    let (new_from, new_to) = (first.after.start - ahead, last.after.end + behind);
    // As in `diff -u`, an empty side begins at the line before it.
    let start = |from: u32, to: u32| if from == to { from } else { from + 1 };
    Hunk {
        old_start: start(from, to).into(),
        old_lines: (to - from).into(),
        new_start: start(new_from, new_to).into(),
        new_lines: (new_to - new_from).into(),
        lines,
    }
}

/// Returns whether two texts differ only in blanks, tabs and line ends.
pub fn differs_in_whitespace_only(old: &[u8], new: &[u8]) -> bool {
    old != new && !is_binary(old) && !is_binary(new) && visible(old).eq(visible(new))
}

/// Returns whether bytes can be compared by line.
pub fn has_lines(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_SIZE && !is_binary(bytes)
}

/// Removes the whole lines that both sides have in common at the start and at the end.
fn without_common_ends<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let is_end = |byte: &u8| *byte == b'\n';
    let head = old
        .iter()
        .zip(new)
        .take_while(|(left, right)| left == right)
        .count();
    let head = old[..head]
        .iter()
        .rposition(is_end)
        .map_or(0, |end| end + 1);
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(left, right)| left == right)
        .count();
    let tail = old[old.len() - tail..]
        .iter()
        .position(is_end)
        .map_or(0, |end| tail - end - 1);
    (&old[..old.len() - tail], &new[..new.len() - tail])
}

/// Counts the lines that one side has more often than the other, whatever their order.
fn count_unordered(old: &[u8], new: &[u8]) -> (u64, u64) {
    let mut surplus: HashMap<&[u8], i64> = HashMap::new();
    for line in lines(new) {
        *surplus.entry(line).or_default() += 1;
    }
    for line in lines(old) {
        *surplus.entry(line).or_default() -= 1;
    }
    surplus
        .values()
        .fold((0, 0), |(more, less), surplus| match *surplus {
            count if count > 0 => (more + count.unsigned_abs(), less),
            count => (more, less + count.unsigned_abs()),
        })
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn visible(bytes: &[u8]) -> impl Iterator<Item = &u8> {
    bytes.iter().filter(|byte| !byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_are_those_of_a_unified_diff() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("2\n3\n", "2\nx\n3\n").replace("\n18\n", "\n");
        let hunks = hunks(&old, &new, 1).expect("text");
        let heads: Vec<_> = hunks
            .iter()
            .map(|hunk| {
                (
                    hunk.old_start,
                    hunk.old_lines,
                    hunk.new_start,
                    hunk.new_lines,
                )
            })
            .collect();
        // What `diff -U1` says of the same texts.
        assert_eq!(heads, [(2, 2, 2, 3), (17, 3, 18, 2)]);
        assert_eq!(hunks[0].lines, [" 2\n", "+x\n", " 3\n"]);
        assert_eq!(hunks[1].lines, [" 17\n", "-18\n", " 19\n"]);
    }

    /// A small edit of a long file has hunks and a long rewrite has none.
    #[test]
    fn long_rewrite_has_no_hunks() {
        let text = |lines: std::ops::Range<usize>| {
            let lines = lines.map(|line| format!("{line}\n"));
            lines.collect::<String>()
        };
        let old = text(0..2 * MAX_COMPARED);
        let new = old.replace("\n7\n", "\nseven\n");
        let hunks = hunks(&old, &new, 1).expect("one line was edited");
        assert_eq!(hunks.len(), 1);
        assert_eq!(hunks[0].lines, [" 6\n", "-7\n", "+seven\n", " 8\n"]);
        let other = text(2 * MAX_COMPARED..4 * MAX_COMPARED);
        assert_eq!(super::hunks(&old, &other, 1), None, "it would take long");
    }

    #[test]
    fn a_side_without_lines_begins_before_the_first() {
        let hunks = hunks("", "a\nb", 3).expect("text");
        assert_eq!((hunks[0].old_start, hunks[0].old_lines), (0, 0));
        assert_eq!(hunks[0].lines, ["+a\n", "+b"], "the last has no end");
        assert_eq!(
            super::hunks("a\n", "a\n", 3),
            Some(Vec::new()),
            "nothing differs"
        );
        assert_eq!(super::hunks("a\0", "b", 3), None, "binary");
    }

    #[test]
    fn differences_that_are_near_are_one_hunk() {
        let old: String = (1..=9).map(|line| format!("{line}\n")).collect();
        let new = old.replace('2', "x").replace('8', "y");
        assert_eq!(
            hunks(&old, &new, 3).expect("text").len(),
            1,
            "five lines lie between"
        );
        assert_eq!(hunks(&old, &new, 2).expect("text").len(), 2);
    }

    #[test]
    fn lines_are_counted_as_git_counts_them() {
        for (old, new, expected, why) in [
            ("", "", (0, 0), "nothing"),
            ("a\n", "a\n", (0, 0), "equal"),
            ("", "a\nb\n", (2, 0), "a new file"),
            ("a\nb\n", "", (0, 2), "an emptied file"),
            ("a\nb\nc\n", "a\nx\nc\n", (1, 1), "a changed line"),
            (
                "a",
                "a\n",
                (1, 1),
                "a new final line feed is a changed line",
            ),
            ("a\r\nb\n", "a\nb\n", (1, 1), "a changed line ending, too"),
        ] {
            assert_eq!(
                count(old.as_bytes(), new.as_bytes()),
                Some(expected),
                "{why}: {old:?} -> {new:?}"
            );
        }
    }

    /// What both sides begin and end with is not compared.
    #[test]
    fn common_beginning_and_end_are_not_compared() {
        for (old, new, expected) in [
            ("a\nb\nc\n", "a\nx\nc\n", ("b\n", "x\n")),
            ("a\nb\n", "a\nb\nb\n", ("", "b\n")),
            ("ab\ncd", "ax\ncd", ("ab\n", "ax\n")),
            ("a\n", "", ("a\n", "")),
            ("same", "same!", ("same", "same!")),
        ] {
            let (left, right) = without_common_ends(old.as_bytes(), new.as_bytes());
            assert_eq!(
                (left, right),
                (expected.0.as_bytes(), expected.1.as_bytes()),
                "{old:?} and {new:?}"
            );
        }
    }

    /// A large rewrite is counted without looking at the order.
    #[test]
    fn large_rewrite_is_counted_without_order() {
        let text = |from: usize, to: usize| {
            (from..to)
                .map(|line| format!("{line}\n"))
                .collect::<String>()
                .into_bytes()
        };
        let (old, new) = (
            text(0, MAX_COMPARED),
            text(MAX_COMPARED / 2, 2 * MAX_COMPARED),
        );
        assert_eq!(
            count(&old, &new),
            Some((20_000, 10_000)),
            "half of the old lines are in both"
        );
        let one_more = [&b"first\n"[..], &old].concat();
        assert_eq!(
            count(&old, &one_more),
            Some((1, 0)),
            "a small edit of a large file"
        );
    }

    #[test]
    fn what_has_no_lines_is_not_counted() {
        assert_eq!(count(b"a\0b", b"a\n"), None, "a binary side");
        assert_eq!(
            count(b"a\n", &vec![b'a'; MAX_SIZE + 1]),
            None,
            "a side that is too large"
        );
        assert!(
            count(b"\xff\xfe\n", b"\xff\n").is_some(),
            "bytes that are not UTF-8 have lines"
        );
    }

    /// A byte order mark is no part of a text.
    #[test]
    fn byte_order_mark_is_no_text() {
        assert_eq!(split_byte_order_mark("\u{feff}a"), ("\u{feff}", "a"));
        assert_eq!(split_byte_order_mark("a\u{feff}"), ("", "a\u{feff}"));
        assert_eq!(without_byte_order_mark(b"\xef\xbb\xbfa"), b"a");
        assert_eq!(without_byte_order_mark(b"\xef\xbb"), b"\xef\xbb", "half");
    }

    /// Binary is a nul byte where git looks for one.
    #[test]
    fn binary_is_a_nul_byte_where_git_looks() {
        let mut bytes = vec![b'a'; BINARY_PROBE];
        bytes.push(0);
        assert!(
            !is_binary(&bytes),
            "behind the first 8,000 bytes git does not look"
        );
        assert!(is_binary(&bytes[1..]), "the last of them");
        assert!(!is_binary(b""), "nothing is text");
    }

    #[test]
    fn whitespace_alone_is_told_from_words() {
        assert!(
            differs_in_whitespace_only(b"a b\n", b"a\tb\r\n"),
            "blanks, tabs and line ends"
        );
        assert!(
            differs_in_whitespace_only(b"a\n\nb", b"a\nb\n"),
            "empty lines"
        );
        assert!(
            !differs_in_whitespace_only(b"a\n", b"a\n"),
            "equal bytes do not differ"
        );
        assert!(!differs_in_whitespace_only(b"a\n", b"b\n"), "words");
        assert!(
            !differs_in_whitespace_only(b"\0 ", b"\0"),
            "a binary file has no whitespace"
        );
    }
}
