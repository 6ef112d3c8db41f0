//! Finds the hunks marked in the patch of a message in the file as it is now. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use similar::{DiffOp, DiffTag};

use ckpt_output::lines::{DiffOptions, difference};

/// What a message did to a file.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The bytes before.
    pub before: &'a [u8],
    /// The bytes after.
    pub after: &'a [u8],
}

/// Returns where the marked hunks of a message are in the file as it is now.
pub fn places(message: Texts<'_>, now: &[u8], marked: &BTreeSet<usize>) -> Vec<Range<usize>> {
    let look = DiffOptions::default();
    let shown = difference(message.before, message.after, &look);
    let since = difference(message.after, now, &look);
    let since: Vec<&DiffOp> = since.groups.iter().flatten().collect();
    let groups = shown.groups.iter().enumerate();
    groups
        .filter(|(number, _)| marked.contains(number))
        .map(|(_, group)| moved(&since, span(group)))
        .collect()
}

/// Returns the lines of a hunk after the change, those around it included.
fn span(group: &[DiffOp]) -> Range<usize> {
    let start = group.first().map_or(0, |op| op.new_range().start);
    let end = group.last().map_or(0, |op| op.new_range().end);
    start..end
}

/// An edge of some lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

/// Returns where lines are after later changes. Lines inserted at either end do not belong to them.
fn moved(since: &[&DiffOp], lines: Range<usize>) -> Range<usize> {
    moved_edge(since, lines.start, Edge::Start)..moved_edge(since, lines.end, Edge::End)
}

/// Returns where an edge of some lines is after later changes.
fn moved_edge(since: &[&DiffOp], line: usize, edge: Edge) -> usize {
    let mut moved = line;
    for op in since.iter().filter(|op| op.tag() != DiffTag::Equal) {
        let (old, new) = (op.old_range(), op.new_range());
        // What was inserted right at an edge moves the start and not the end: it stands outside of the lines either
        // way.
        if old.end <= line && (old.start < line || edge == Edge::Start) {
            moved = moved + new.len() - old.len();
        } else if old.start < line {
            return match edge {
                Edge::Start => new.start,
                Edge::End => new.end,
            };
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use ckpt_output::hunk;

    fn lines(from: usize, to: usize) -> String {
        (from..=to).map(|line| format!("{line}\n")).collect()
    }

    fn undo(before: &str, after: &str, now: &str, then: &str, marked: &[usize]) -> Option<String> {
        let texts = |before: &'static str, after: &'static str| Texts {
            before: before.as_bytes(),
            after: after.as_bytes(),
        };
        let leak = |text: &str| &*text.to_owned().leak();
        let message = texts(leak(before), leak(after));
        let undo = texts(leak(now), leak(then));
        let places = places(message, undo.before, &marked.iter().copied().collect());
        let undo = difference(undo.before, undo.after, &DiffOptions::default());
        hunk::within(&undo, &places).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn only_the_marked_hunks_are_undone() {
        let before = lines(1, 30);
        let after = before.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n");
        let only = |marked: &[usize]| undo(&before, &after, &after, &before, marked);
        assert_eq!(only(&[0]), Some(before.replace("\n25\n", "\n")));
        assert_eq!(only(&[1]), Some(before.replace("\n5\n", "\nfive\n")));
        assert_eq!(only(&[0, 1]), Some(before.clone()));
        assert_eq!(only(&[]), None, "nothing was marked");
    }

    #[test]
    fn hunks_are_found_again_below_what_came_later() {
        let before = lines(1, 30);
        let after = before.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n");
        let now = format!("a\nb\nc\nd\ne\nf\n{after}").replace("\n15\n", "\nfifteen\n");
        let then = now
            .replace("\nfive\n", "\n5\n")
            .replace("\n26\n", "\n25\n26\n");
        let expected = now.replace("\n26\n", "\n25\n26\n");
        assert_eq!(undo(&before, &after, &now, &then, &[1]), Some(expected));
    }

    #[test]
    fn of_what_is_gone_nothing_can_be_undone() {
        let before = lines(1, 30);
        let after = before.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n");
        let now = before.replace("\n25\n", "\n");
        assert_eq!(undo(&before, &after, &now, &before, &[0]), None);
    }
}
