//! Aligned columns; the last one gets what is left of the line.

use console::{Alignment, measure_text_width, pad_str};

use super::text::fit;
use super::view::View;

/// The space between two columns.
const GAP: usize = 2;

/// No column is squeezed below this.
const NARROWEST: usize = 10;

/// Rows of cells, which may have colours.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    indent: usize,
}

impl Table {
    /// Returns an empty table whose columns with these numbers stand to the right.
    pub fn new(right: &[usize]) -> Self {
        Self {
            rows: Vec::new(),
            right: right.to_vec(),
            indent: 0,
        }
    }

    /// Moves the whole table to the right.
    pub fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns the lines.
    pub fn render(&self, view: &View) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        self.rows
            .iter()
            .map(|row| self.line(row, &widths, view.width))
            .collect()
    }

    fn width(&self, column: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| measure_text_width(cell))
            .max()
            .unwrap_or(0)
    }

    fn line(&self, row: &[String], widths: &[usize], total: Option<usize>) -> String {
        let mut line = " ".repeat(self.indent);
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            if column + 1 == widths.len() {
                let used = measure_text_width(&line);
                line.push_str(&total.map_or(cell.into(), |total| {
                    fit(cell, total.saturating_sub(used).max(NARROWEST))
                }));
            } else {
                let side = if self.right.contains(&column) {
                    Alignment::Right
                } else {
                    Alignment::Left
                };
                line.push_str(&pad_str(cell, widths[column], side, None));
            }
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::paint::Paint;
    use crate::output::time::Times;

    fn view(width: Option<usize>, on: bool) -> View {
        let times = Times {
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
    fn columns_are_aligned_and_the_last_one_is_fitted() {
        assert_eq!(
            table(Paint::new(false)),
            "a      1  short\n日本  23  a longer …\n",
            "by columns of the screen"
        );
    }

    #[test]
    fn colours_take_no_room() {
        let painted = table(Paint::new(true));
        assert_eq!(
            console::strip_ansi_codes(&painted),
            table(Paint::new(false)),
            "the same but for the colours"
        );
    }
}
