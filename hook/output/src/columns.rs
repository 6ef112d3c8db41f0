//! Two texts side by side: on a terminal, and as the rows of a page.

use std::ops::Range;

use similar::{DiffOp, DiffTag};

use super::NARROW_WIDTH;
use super::lines::{self, LineDifference, Style, changed_words};
use super::paint::Paint;
use super::text::{fit, width};

/// The width if there is no terminal.
const WIDTH: usize = 160;

/// The sides that have a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its bytes, without the end of the line.
    pub line: &'a [u8],
    /// The ranges in it that changed, if most of it stayed.
    pub marked: Vec<Range<usize>>,
}

/// A line, or the old and the new one where one replaced the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRow<'a> {
    /// Before.
    pub old: Option<Cell<'a>>,
    /// After.
    pub new: Option<Cell<'a>>,
    /// Whether it differs.
    pub differs: bool,
}

/// Returns the rows of each group.
pub fn rows<'a>(difference: &LineDifference<'a>) -> Vec<Vec<ColumnRow<'a>>> {
    let group = |ops: &Vec<DiffOp>| ops.iter().flat_map(|op| rows_of(op, difference)).collect();
    difference.groups.iter().map(group).collect()
}

/// Returns the rows of one operation. A replaced line is beside the one that replaced it.
fn rows_of<'a>(op: &DiffOp, difference: &LineDifference<'a>) -> Vec<ColumnRow<'a>> {
    let (old, new) = (op.old_range(), op.new_range());
    let rows = (0..old.len().max(new.len())).map(|place| {
        let mut row = ColumnRow {
            old: old
                .clone()
                .nth(place)
                .map(|place| cell(&difference.old, place)),
            new: new
                .clone()
                .nth(place)
                .map(|place| cell(&difference.new, place)),
            differs: op.tag() != DiffTag::Equal,
        };
        if let (true, Some(old), Some(new)) = (row.differs, &mut row.old, &mut row.new) {
            [old.marked, new.marked] = changed_words(old.line, new.line);
        }
        row
    });
    rows.collect()
}

fn cell<'a>(lines: &[&'a [u8]], place: usize) -> Cell<'a> {
    let whole = lines[place];
    Cell {
        number: place + 1,
        line: whole.strip_suffix(b"\n").unwrap_or(whole),
        marked: Vec::new(),
    }
}

/// Returns two texts side by side, or as hunks if the terminal is narrow.
pub fn render(old: &[u8], new: &[u8], style: &Style<'_>, columns: Option<usize>) -> Vec<u8> {
    let columns = columns.unwrap_or(WIDTH);
    if columns < NARROW_WIDTH {
        return lines::hunks(old, new, style);
    }
    let difference = lines::difference(old, new, &style.look);
    let digits = difference
        .old
        .len()
        .max(difference.new.len())
        .to_string()
        .len();
    let room = (columns - 3) / 2 - digits - 1;
    let mut text = String::new();
    for group in rows(&difference) {
        let head = group.first().map_or(0, |row| {
            let cell = row.old.as_ref().or(row.new.as_ref());
            cell.map_or(0, |cell| cell.number)
        });
        text.push_str(&format!("{}\n", style.paint.id(&format!("@@ {head} @@"))));
        for row in group {
            let shown = |cell: &Option<Cell<'_>>, is_new| {
                let is_new = row.differs.then_some(is_new);
                side(cell.as_ref(), is_new, digits, room, style.paint)
            };
            let (old, new) = (shown(&row.old, false), shown(&row.new, true));
            let mark = match (&row.old, &row.new) {
                _ if !row.differs => ' ',
                (Some(_), Some(_)) => '|',
                (Some(_), None) => '<',
                (None, _) => '>',
            };
            let padding = " ".repeat((digits + 1 + room).saturating_sub(width(&old)));
            let line = format!("{old}{padding} {mark} {new}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text.into_bytes()
}

/// Returns a side of a row; `come` says whether a line that differs is a new one.
fn side(
    cell: Option<&Cell<'_>>,
    come: Option<bool>,
    digits: usize,
    room: usize,
    paint: Paint,
) -> String {
    let Some(cell) = cell else {
        return String::new();
    };
    // A tab would end in another column on the right side.
    let text = lines::with_tabs(cell.line).replace('\t', "    ");
    let text = fit(&text, room);
    let text = match come {
        None => text.into_owned(),
        Some(false) => paint.bad(&text),
        Some(true) => paint.good(&text),
    };
    format!(
        "{} {text}",
        paint.faint(&format!("{:>digits$}", cell.number))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{DiffOptions, MovedLines};
    use expect_test::expect;

    fn shown(columns: usize) -> String {
        let style = Style {
            look: DiffOptions::default(),
            is_for_people: true,
            paint: Paint::PLAIN,
            moved: &MovedLines::default(),
        };
        let (old, new) = ("one\ntwo 日本\nthree\n", "one\nzwei\nthree\nfour\n");
        let bytes = render(old.as_bytes(), new.as_bytes(), &style, Some(columns));
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn both_sides_stand_beside_each_other() {
        expect![[r#"
            @@ 1 @@
            1 one                            1 one
            2 two 日本                     | 2 zwei
            3 three                          3 three
                                           > 4 four
        "#]]
        .assert_eq(&shown(64));
    }

    /// Where there is no room for two sides they stand below each other.
    #[test]
    fn narrow_sides_stand_below_each_other() {
        assert!(
            shown(40).contains("\n-two 日本\n"),
            "as hunks: {}",
            shown(40)
        );
    }
}
