//! Aligned columns that fit into the terminal. The last one gets the rest of the line; if that is too little, less
//! important columns are dropped. No row is ever wider than the terminal.

use super::View;
use super::text::{fit, fit_end, width, wrap};

/// The space between two columns.
const GAP: usize = 2;

/// Columns are left out as long as the last column has less room than this.
const ROOM: usize = 24;

/// How far a note is indented below its row.
const NOTE: usize = 4;

/// Rows of cells, which may be coloured.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<TableRow>,
    right: Vec<usize>,
    indent: usize,
    dropping: Vec<usize>,
    together: Vec<usize>,
    ends_with_path: bool,
    leaves_half: bool,
    has_heads: bool,
}

#[derive(Clone, Debug, Default)]
struct TableRow {
    cells: Vec<String>,
    note: String,
}

impl Table {
    /// Returns an empty table in which the columns with these numbers are right-aligned.
    pub fn new(right: &[usize]) -> Self {
        Self {
            right: right.to_vec(),
            ..Self::default()
        }
    }

    /// Indents the whole table.
    pub fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Sets which columns are left out if the terminal is too narrow, in this order.
    pub fn dropping(self, columns: &[usize]) -> Self {
        Self {
            dropping: columns.to_vec(),
            ..self
        }
    }

    /// Sets which columns are only left out together: `-1` without the `+1` beside it would be wrong.
    pub fn together(self, columns: &[usize]) -> Self {
        Self {
            together: columns.to_vec(),
            ..self
        }
    }

    /// Declares that the last column holds paths, which are cut at the beginning and have no colours.
    pub fn ending_with_path(self) -> Self {
        Self {
            ends_with_path: true,
            ..self
        }
    }

    /// Gives the last column at least half of the terminal if it needs that much.
    pub fn leaving_half(self) -> Self {
        Self {
            leaves_half: true,
            ..self
        }
    }

    /// Adds the names of the columns, before any row. A column that is empty in every row is then left out.
    pub fn heads(&mut self, names: Vec<String>) {
        self.has_heads = true;
        self.row(names);
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.noted(cells, String::new());
    }

    /// Adds a row with a note behind it, which continues below the row if it does not fit.
    pub fn noted(&mut self, cells: Vec<String>, note: String) {
        self.rows.push(TableRow { cells, note });
    }

    /// Returns the lines.
    pub fn render(&self, view: &View) -> String {
        let columns = self
            .rows
            .iter()
            .map(|row| row.cells.len())
            .max()
            .unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let shown = self.shown(&widths, view.width);
        let widths = self.narrowed(widths, &shown, view.width);
        self.rows
            .iter()
            .map(|row| self.line(row, &shown, &widths, view.width))
            .collect()
    }

    /// Returns the widths that leave room for the last column: the widest one before it gives way, but keeps a third
    /// of the terminal.
    fn narrowed(
        &self,
        mut widths: Vec<usize>,
        shown: &[usize],
        total: Option<usize>,
    ) -> Vec<usize> {
        let (Some(total), Some((last, before))) = (total, shown.split_last()) else {
            return widths;
        };
        let used: usize = before.iter().map(|column| widths[*column] + GAP).sum();
        let missing = (self.indent + used + widths[*last].min(ROOM)).saturating_sub(total);
        let texts = before.iter().filter(|column| !self.right.contains(column));
        if let Some(widest) = texts.max_by_key(|column| widths[**column]) {
            let width = widths[*widest];
            widths[*widest] = width.saturating_sub(missing).max(width.min(total / 3));
        }
        widths
    }

    fn width(&self, column: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.cells.get(column))
            .map(|cell| width(cell))
            .max()
            .unwrap_or(0)
    }

    fn has_content(&self, column: usize) -> bool {
        let rows = self.rows.iter().skip(usize::from(self.has_heads));
        let mut cells = rows.filter_map(|row| row.cells.get(column));
        !self.has_heads || cells.any(|cell| width(cell) > 0)
    }

    /// Returns the columns that say something and fit.
    fn shown(&self, widths: &[usize], total: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..widths.len())
            .filter(|column| self.has_content(*column))
            .collect();
        let Some(total) = total else { return shown };
        let room = if self.leaves_half {
            ROOM.max(total.div_ceil(2))
        } else {
            ROOM
        };
        for column in &self.dropping {
            let Some((last, before)) = shown.split_last() else {
                break;
            };
            let used: usize = before.iter().map(|column| widths[*column] + GAP).sum();
            if self.indent + used + widths[*last].min(room) <= total {
                break;
            }
            let also =
                |other: &usize| self.together.contains(column) && self.together.contains(other);
            shown.retain(|other| other != column && !also(other));
        }
        shown
    }

    fn line(
        &self,
        row: &TableRow,
        shown: &[usize],
        widths: &[usize],
        total: Option<usize>,
    ) -> String {
        let mut line = " ".repeat(self.indent);
        for (position, column) in shown.iter().enumerate() {
            let Some(cell) = row.cells.get(*column) else {
                continue;
            };
            if position > 0 {
                line.extend(std::iter::repeat_n(' ', GAP));
            }
            let is_right = self.right.contains(column);
            if position + 1 < shown.len() || is_right {
                let cell = fit(cell, widths[*column]);
                pad(&mut line, &cell, widths[*column], is_right);
            } else {
                let left = total.map(|total| total.saturating_sub(width(&line)));
                line.push_str(&match left {
                    Some(left) if self.ends_with_path && *column + 1 == widths.len() => {
                        fit_end(cell, left)
                    }
                    Some(left) => fit(cell, left),
                    None => cell.into(),
                });
            }
        }
        line.truncate(line.trim_end().len());
        let Some(total) = total else {
            return line + &row.note + "\n";
        };
        if width(&line) + width(&row.note) <= total {
            return line + &row.note + "\n";
        }
        let line = fit(&line, total).into_owned();
        let note = row.note.trim_start();
        if note.is_empty() {
            return line + "\n";
        }
        let indent = " ".repeat(self.indent + NOTE);
        format!("{line}\n{}\n", wrap(&format!("{indent}{note}"), total, 0))
    }
}

/// Adds a cell with the spaces before or behind it that fill its column.
fn pad(line: &mut String, cell: &str, columns: usize, is_right: bool) {
    let spaces = std::iter::repeat_n(' ', columns.saturating_sub(width(cell)));
    if is_right {
        line.extend(spaces);
        line.push_str(cell);
    } else {
        line.push_str(cell);
        line.extend(spaces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;
    use crate::time::TimeContext;

    fn view(width: Option<usize>, on: bool) -> View {
        let times = TimeContext {
            now: 0,
            offset: time::UtcOffset::UTC,
        };
        View {
            paint: Paint::new(on),
            width,
            times,
            verbose: false,
        }
    }

    fn table(paint: Paint) -> String {
        let mut table = Table::new(&[1]);
        table.row(vec![paint.id("a"), "1".to_owned(), "short".to_owned()]);
        table.row(vec![
            paint.id("日本"),
            "23".to_owned(),
            "a longer text".to_owned(),
        ]);
        table.render(&view(Some(20), paint.is_on()))
    }

    #[test]
    fn columns_that_say_one_thing_go_together() {
        let mut table = Table::new(&[1, 2]).dropping(&[1, 2]).together(&[1, 2]);
        let cells = [
            "renamed",
            "+1",
            "-1",
            "src/parser.rs → src/config/parser.rs",
        ];
        table.row(cells.map(str::to_owned).to_vec());
        let shown = |columns| table.render(&view(Some(columns), false));
        assert_eq!(
            shown(41),
            "renamed  +1  -1  src/parser.rs → src/con…\n",
            "both have room"
        );
        assert_eq!(
            shown(38),
            "renamed  src/parser.rs → src/config/p…\n",
            "without one, the other would be wrong"
        );
    }

    /// Columns are aligned and the last one is fitted.
    #[test]
    fn columns_are_aligned_and_the_last_fitted() {
        assert_eq!(
            table(Paint::PLAIN),
            "a      1  short\n日本  23  a longer …\n",
            "by columns of the screen"
        );
    }

    #[test]
    fn colours_take_no_room() {
        let painted = table(Paint::COLOURED);
        assert_eq!(
            console::strip_ansi_codes(&painted),
            table(Paint::PLAIN),
            "the same but for the colours"
        );
    }

    /// No row is wider than the terminal at any width.
    #[test]
    fn no_row_is_wider_than_the_terminal() {
        let mut table = Table::new(&[1])
            .indented(2)
            .dropping(&[1, 0])
            .ending_with_path();
        table.row(vec![
            "state".to_owned(),
            "files".to_owned(),
            "path".to_owned(),
        ]);
        table.noted(
            vec![
                "live".to_owned(),
                "12345".to_owned(),
                "/home/somebody/projects/日本語/workspace".to_owned(),
            ],
            " (changed after the agent, who knows by whom)".to_owned(),
        );
        for total in 1..120 {
            let text = table.render(&view(Some(total), false));
            assert!(
                text.lines().all(|line| width(line) <= total),
                "at {total}:\n{text}"
            );
        }
    }

    /// Where there is no room what matters least is left out.
    #[test]
    fn least_important_column_goes_first() {
        let mut table = Table::new(&[]).dropping(&[1]);
        table.row(
            ["id", "a long agent's name", "a prompt that goes on"]
                .map(str::to_owned)
                .to_vec(),
        );
        assert_eq!(
            table.render(&view(Some(24), false)),
            "id  a prompt that goes …\n",
            "the last column says most"
        );
        assert_eq!(
            table.render(&view(Some(48), false)),
            "id  a long agent's name  a prompt that goes on\n",
            "where there is room, it is there"
        );
    }

    #[test]
    fn long_cell_leaves_room_for_the_last_column() {
        let mut table = Table::new(&[]);
        table.row(
            ["key", &"value ".repeat(9), "default"]
                .map(str::to_owned)
                .to_vec(),
        );
        assert_eq!(
            table.render(&view(Some(36), false)),
            "key  value value value val…  default\n",
            "nobody knows what an … alone stands for"
        );
        assert_eq!(
            table.render(&view(Some(18), false)),
            "key  value…  defa…\n",
            "but it keeps a third"
        );
    }

    /// A column that is empty below its name is left out.
    #[test]
    fn empty_column_is_left_out() {
        let mut table = Table::new(&[1]).dropping(&[1]);
        table.heads(["id", "files", "label"].map(str::to_owned).to_vec());
        table.row(["7c1e", "", ""].map(str::to_owned).to_vec());
        let text = |table: &Table| table.render(&view(None, false));
        assert_eq!(text(&table), "id\n7c1e\n", "whatever its place");
        table.row(["a0b1", "", "works"].map(str::to_owned).to_vec());
        assert_eq!(
            text(&table),
            "id    label\n7c1e\na0b1  works\n",
            "one row that says something is enough"
        );
    }

    /// A note that does not fit goes on below its row.
    #[test]
    fn long_note_goes_on_below_its_row() {
        let mut table = Table::new(&[]).indented(2);
        table.noted(
            vec!["kept".to_owned(), "a".to_owned()],
            " (changed after the agent)".to_owned(),
        );
        assert_eq!(
            table.render(&view(Some(24), false)),
            "  kept  a\n      (changed after the\n      agent)\n",
            "and nothing of it is cut"
        );
    }
}
