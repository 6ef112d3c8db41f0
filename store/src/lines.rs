//! Bytes seen as lines: how many a change adds and takes away, and what has no lines. Pure; nothing here merges.

use imara_diff::{Algorithm, Diff, InternedInput};

/// The size in bytes over which nothing is compared or merged by line.
pub const MAX_SIZE: usize = 16 << 20;

/// How far git looks for a NUL byte: `FIRST_FEW_BYTES` in its `xdiff-interface.c`.
const BINARY_PROBE: usize = 8_000;

/// Returns whether bytes are binary, as git tells: a NUL byte in the first 8,000.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PROBE)].contains(&0)
}

/// Returns how many lines a change adds and takes away; none where a side is binary or larger than [`MAX_SIZE`].
///
/// A line ends with a line feed, which is part of it: a changed line ending or a new final one is a changed line, as
/// `git diff --numstat` counts it.
pub fn count(old: &[u8], new: &[u8]) -> Option<(u64, u64)> {
    if !has_lines(old) || !has_lines(new) {
        return None;
    }
    if old == new {
        return Some((0, 0));
    }
    let diff = Diff::compute(Algorithm::Myers, &InternedInput::new(old, new));
    Some((u64::from(diff.count_additions()), u64::from(diff.count_removals())))
}

/// Returns whether two texts differ, and in nothing but blanks, tabs and line ends.
pub fn differs_in_whitespace_only(old: &[u8], new: &[u8]) -> bool {
    old != new && !is_binary(old) && !is_binary(new) && visible(old).eq(visible(new))
}

/// Returns whether bytes can be compared by line.
pub fn has_lines(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_SIZE && !is_binary(bytes)
}

fn visible(bytes: &[u8]) -> impl Iterator<Item = &u8> {
    bytes.iter().filter(|byte| !byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_git_counts_them() {
        for (old, new, expected, why) in [
            ("", "", (0, 0), "nothing"),
            ("a\n", "a\n", (0, 0), "equal"),
            ("", "a\nb\n", (2, 0), "a new file"),
            ("a\nb\n", "", (0, 2), "an emptied file"),
            ("a\nb\nc\n", "a\nx\nc\n", (1, 1), "a changed line"),
            ("a", "a\n", (1, 1), "a new final line feed is a changed line"),
            ("a\r\nb\n", "a\nb\n", (1, 1), "a changed line ending, too"),
        ] {
            assert_eq!(count(old.as_bytes(), new.as_bytes()), Some(expected), "{why}: {old:?} -> {new:?}");
        }
    }

    #[test]
    fn what_has_no_lines_is_not_counted() {
        assert_eq!(count(b"a\0b", b"a\n"), None, "a binary side");
        assert_eq!(count(b"a\n", &vec![b'a'; MAX_SIZE + 1]), None, "a side that is too large");
        assert!(count(b"\xff\xfe\n", b"\xff\n").is_some(), "bytes that are not UTF-8 have lines");
    }

    #[test]
    fn binary_is_a_nul_byte_where_git_looks_for_one() {
        let mut bytes = vec![b'a'; BINARY_PROBE];
        bytes.push(0);
        assert!(!is_binary(&bytes), "behind the first 8,000 bytes git does not look");
        assert!(is_binary(&bytes[1..]), "the last of them");
        assert!(!is_binary(b""), "nothing is text");
    }

    #[test]
    fn whitespace_alone_is_told_from_words() {
        assert!(differs_in_whitespace_only(b"a b\n", b"a\tb\r\n"), "blanks, tabs and line ends");
        assert!(differs_in_whitespace_only(b"a\n\nb", b"a\nb\n"), "empty lines");
        assert!(!differs_in_whitespace_only(b"a\n", b"a\n"), "equal bytes do not differ");
        assert!(!differs_in_whitespace_only(b"a\n", b"b\n"), "words");
        assert!(!differs_in_whitespace_only(b"\0 ", b"\0"), "a binary file has no whitespace");
    }
}
