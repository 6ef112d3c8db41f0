//! The hunks of a text file, to be chosen one by one, and the file in which only the chosen ones are applied. Pure.

use std::ops::Range;

use similar::{ChangeTag, DiffTag};

use super::lines::{LineDifference, Style, one};

/// How many unchanged lines are shown around changed ones, as git does.
pub const CONTEXT: usize = 3;

/// Consecutive lines, and those that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    old: Range<usize>,
    new: Vec<Vec<u8>>,
}

/// Changes of a file that are taken or left together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeUnit(Vec<Block>);

/// Returns the hunks of a difference, as a patch has them.
pub fn hunks(difference: &LineDifference<'_>) -> Vec<ChangeUnit> {
    let block = |op: &similar::DiffOp| Block {
        old: op.old_range(),
        new: owned(&difference.new[op.new_range()]),
    };
    let groups = difference.groups.iter();
    groups
        .map(|group| {
            let changed = group.iter().filter(|op| op.tag() != DiffTag::Equal);
            ChangeUnit(changed.map(block).collect())
        })
        .collect()
}

fn owned(lines: &[&[u8]]) -> Vec<Vec<u8>> {
    lines.iter().map(|line| line.to_vec()).collect()
}

/// Returns a file in which only these hunks are taken, given in their order.
pub fn with<'a>(old: &[&[u8]], taken: impl Iterator<Item = &'a ChangeUnit>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 0;
    for block in taken.flat_map(|hunk| &hunk.0) {
        bytes.extend(old[at..block.old.start].concat());
        bytes.extend(block.new.concat());
        at = block.old.end;
    }
    bytes.extend(old[at..].concat());
    bytes
}

/// Returns the old lines of each hunk, those around it included.
pub fn spans(difference: &LineDifference<'_>) -> Vec<Range<usize>> {
    let hunks = hunks(difference);
    hunks
        .iter()
        .map(|hunk| hunk.shown(&difference.old))
        .collect()
}

/// Returns the file in which only the changes within these old lines are taken, or `None` if there are none.
pub fn within(difference: &LineDifference<'_>, lines: &[Range<usize>]) -> Option<Vec<u8>> {
    let taken: Vec<ChangeUnit> = hunks(difference)
        .iter()
        .flat_map(ChangeUnit::split)
        .filter(|part| lines.iter().any(|lines| part.is_within(lines)))
        .collect();
    (!taken.is_empty()).then(|| with(&difference.old, taken.iter()))
}

/// The result of editing a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    /// Other lines replace the same old ones.
    Hunk(ChangeUnit),
    /// Nothing is left of it.
    Nothing,
    /// Its old lines are not those of the file.
    DoesNotApply,
}

impl ChangeUnit {
    /// Returns each of its changes as a hunk; just the hunk if it cannot be split.
    pub fn split(&self) -> Vec<Self> {
        self.0
            .iter()
            .map(|block| Self(vec![block.clone()]))
            .collect()
    }

    /// Returns whether all its changes are within these old lines.
    pub fn is_within(&self, lines: &Range<usize>) -> bool {
        self.0
            .iter()
            .all(|block| lines.start <= block.old.start && block.old.end <= lines.end)
    }

    /// Returns whether it can be split.
    pub fn has_parts(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns whether one of its lines contains a text, ignoring case.
    pub fn has(&self, old: &[&[u8]], text: &str) -> bool {
        let wanted = text.to_lowercase();
        let lines = self.lines(old);
        lines.iter().any(|(_, line)| {
            String::from_utf8_lossy(line)
                .to_lowercase()
                .contains(&wanted)
        })
    }

    /// Returns the old lines that it is shown with.
    fn shown(&self, old: &[&[u8]]) -> Range<usize> {
        let first = self.0.first().map_or(0, |block| block.old.start);
        let last = self.0.last().map_or(0, |block| block.old.end);
        first.saturating_sub(CONTEXT)..(last + CONTEXT).min(old.len())
    }

    /// Returns its lines with the context around them.
    fn lines<'a>(&'a self, old: &[&'a [u8]]) -> Vec<(ChangeTag, &'a [u8])> {
        let shown = self.shown(old);
        let (mut lines, mut at) = (Vec::new(), shown.start);
        let stay = |range: Range<usize>| old[range].iter().map(|line| (ChangeTag::Equal, *line));
        for block in &self.0 {
            lines.extend(stay(at..block.old.start));
            lines.extend(
                old[block.old.clone()]
                    .iter()
                    .map(|line| (ChangeTag::Delete, *line)),
            );
            lines.extend(
                block
                    .new
                    .iter()
                    .map(|line| (ChangeTag::Insert, line.as_slice())),
            );
            at = block.old.end;
        }
        lines.extend(stay(at..shown.end));
        lines
    }

    /// Returns its line numbers and numbers of lines on both sides.
    pub fn header(&self, old: &[&[u8]]) -> String {
        let lines = self.lines(old);
        let number = |left_out| lines.iter().filter(|(tag, _)| *tag != left_out).count();
        let (before, after) = (number(ChangeTag::Insert), number(ChangeTag::Delete));
        // A side without lines has the number of the line before it, as in git.
        let start = self.shown(old).start;
        let place = |count: usize| if count == 0 { start } else { start + 1 };
        format!(
            "@@ -{},{before} +{},{after} @@",
            place(before),
            place(after)
        )
    }

    /// Returns the hunk as a patch shows it.
    pub fn render(&self, old: &[&[u8]], style: &Style<'_>) -> Vec<u8> {
        let mut bytes = format!("{}\n", style.paint.id(&self.header(old))).into_bytes();
        for (tag, line) in self.lines(old) {
            one(tag, line, &[], style, &mut bytes);
        }
        bytes
    }

    /// Parses an edited hunk: its lines begin with a space, `-` or `+`; those with `#` are comments.
    pub fn edited(&self, old: &[&[u8]], text: &[u8]) -> Edited {
        let shown = self.shown(old);
        let (mut before, mut after) = (Vec::new(), Vec::<Vec<u8>>::new());
        let mut last = ChangeTag::Equal;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.first() {
                Some(b'#' | b'@') => {}
                Some(b'\\') => without_end(last, &mut before, &mut after),
                Some(b'-') => {
                    before.push(line[1..].to_vec());
                    last = ChangeTag::Delete;
                }
                Some(b'+') => {
                    after.push(line[1..].to_vec());
                    last = ChangeTag::Insert;
                }
                // Editors remove the space of an empty line.
                Some(first) => {
                    let rest = &line[usize::from(*first == b' ')..];
                    before.push(rest.to_vec());
                    after.push(rest.to_vec());
                    last = ChangeTag::Equal;
                }
                None => {}
            }
        }
        if before.is_empty() && after.is_empty() {
            return Edited::Nothing;
        }
        match before == owned(&old[shown.clone()]) {
            true => Edited::Hunk(Self(vec![Block {
                old: shown,
                new: after,
            }])),
            false => Edited::DoesNotApply,
        }
    }
}

/// Removes the line ending before a "no newline" remark.
fn without_end(last: ChangeTag, before: &mut [Vec<u8>], after: &mut [Vec<u8>]) {
    let sides = match last {
        ChangeTag::Delete => [before.last_mut(), None],
        ChangeTag::Insert => [None, after.last_mut()],
        ChangeTag::Equal => [before.last_mut(), after.last_mut()],
    };
    for line in sides.into_iter().flatten() {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{DiffOptions, MovedLines, difference};
    use crate::paint::Paint;

    const OLD: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
    const NEW: &str = "A\nb\nC\nd\ne\nf\ng\nh\ni\nj\nK";

    fn shown(hunk: &ChangeUnit, old: &[&[u8]]) -> String {
        let style = Style {
            look: DiffOptions::default(),
            is_for_people: false,
            paint: Paint::PLAIN,
            moved: &MovedLines::default(),
        };
        String::from_utf8(hunk.render(old, &style)).expect("text")
    }

    /// What is taken is in the file and what is left is not.
    #[test]
    fn taken_hunks_are_in_the_file() {
        let difference = difference(OLD.as_bytes(), NEW.as_bytes(), &DiffOptions::default());
        let hunks = hunks(&difference);
        assert_eq!(hunks.len(), 2, "they are far from each other");
        let with = |taken: &[ChangeUnit]| {
            String::from_utf8(with(&difference.old, taken.iter())).expect("text")
        };
        assert_eq!(with(&hunks), NEW, "all of them");
        assert_eq!(with(&[]), OLD, "none");
        assert_eq!(with(&hunks[1..]), OLD.replace("k\n", "K"), "the last");
        let parts = hunks[0].split();
        assert_eq!(with(&parts), OLD.replace('a', "A").replace('c', "C"));
        assert_eq!(with(&parts[1..]), OLD.replace('c', "C"), "a half");
        assert!(hunks[0].has_parts() && !parts[0].has_parts());
        expect_test::expect![[r"
            @@ -1,6 +1,6 @@
             a
             b
            -c
            +C
             d
             e
             f
        "]]
        .assert_eq(&shown(&parts[1], &difference.old));
        expect_test::expect![[r"
            @@ -8,4 +8,4 @@
             h
             i
             j
            -k
            +K
            \ No newline at end of file
        "]]
        .assert_eq(&shown(&hunks[1], &difference.old));
    }

    /// A hunk that somebody edited is taken where its old lines are the files.
    #[test]
    fn edited_hunk_needs_its_old_lines() {
        let difference = difference(OLD.as_bytes(), NEW.as_bytes(), &DiffOptions::default());
        let hunk = &hunks(&difference)[1];
        let old = &difference.old;
        let text = shown(hunk, old);
        let same = hunk.edited(old, text.as_bytes());
        let with = |edited| match edited {
            Edited::Hunk(hunk) => {
                String::from_utf8(with(old, std::iter::once(&hunk))).expect("text")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(with(same), OLD.replace("k\n", "K"), "as it was");
        let other = text.replace("+K\n\\ No newline at end of file\n", "+x\n+y\n");
        let other = hunk.edited(old, format!("{other}# a remark\n").as_bytes());
        assert_eq!(with(other), OLD.replace("k\n", "x\ny\n"), "other lines");
        assert_eq!(hunk.edited(old, b"# nothing\n"), Edited::Nothing);
        assert_eq!(
            hunk.edited(old, text.replace(" h\n", " x\n").as_bytes()),
            Edited::DoesNotApply,
            "a line that the file does not have"
        );
    }

    /// A text is found in the lines that change and around them.
    #[test]
    fn text_is_found_in_and_around_changes() {
        let difference = difference(OLD.as_bytes(), NEW.as_bytes(), &DiffOptions::default());
        let hunks = hunks(&difference);
        assert!(hunks[0].has(&difference.old, "C") && !hunks[1].has(&difference.old, "c"));
    }
}
