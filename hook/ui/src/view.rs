//! Draws the browser: turns its state into a frame. All text from outside was made safe before.

use std::collections::BTreeSet;

use ansi_to_tui::IntoText;
use ckpt_store::model::number::count;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::keys::{KEYS, PLAN_KEYS};
use super::model::{Model, Pane, Popup, heads};
use ckpt_output::View;
use ckpt_output::diff;
use ckpt_output::text::{fit, fit_end, path, safe, width, wrap};

/// Narrower than this, one pane is shown at a time.
pub(super) const TWO_COLUMNS: u16 = 76;

/// The share of a wide terminal for the timeline, in percent.
pub(super) const LIST: u16 = 45;

/// The width that a row of the list can have, without the cursor's sign.
pub fn list_width(columns: u16) -> usize {
    let columns = usize::from(columns);
    let list = match columns < usize::from(TWO_COLUMNS) {
        true => columns,
        false => columns * usize::from(LIST) / 100,
    };
    list.saturating_sub(2)
}

/// How wide a tab is shown.
const TAB: &str = "    ";

/// How many columns keys have in the help.
const WIDEST_KEYS: usize = 15;

/// The measurements of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// How many lines are scrolled away: never more than there are.
    pub scrolled: usize,
    /// How many rows a page has.
    pub page: usize,
}

/// Draws the browser.
pub fn draw(frame: &mut Frame<'_>, model: &Model, view: &View) -> Shown {
    let area = frame.area();
    let mut canvas = Canvas { frame, model, view };
    let status = canvas.status(area);
    let height = u16::try_from(status.len()).unwrap_or(1);
    let [panes, below, keys] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(height),
        Constraint::Length(1),
    ])
    .areas(area);
    canvas.text_from(0, &status, below);
    let (shown, scrolls) = match &model.overlay {
        Some(overlay) => canvas.overlay(overlay, panes),
        None => (canvas.panes(panes), true),
    };
    canvas.keys(scrolls, keys);
    shown
}

pub(super) struct Canvas<'a, 'b> {
    frame: &'a mut Frame<'b>,
    pub(super) model: &'a Model,
    pub(super) view: &'a View,
}

impl Canvas<'_, '_> {
    fn panes(&mut self, area: Rect) -> Shown {
        if area.width < TWO_COLUMNS {
            return match self.model.pane {
                Pane::List => self.list(area),
                Pane::Files => {
                    let below = self.about(area);
                    self.files(below)
                }
                Pane::Patch => self.patch(area),
            };
        }
        let [left, between, right] = Layout::horizontal([
            Constraint::Percentage(LIST),
            Constraint::Length(1),
            Constraint::Min(1),
        ])
        .areas(area);
        let right = self.about(right);
        let files = u16::try_from(self.model.files.len()).unwrap_or(u16::MAX);
        let files = files.saturating_add(1).clamp(2, (area.height / 3).max(2));
        let [top, bottom] =
            Layout::vertical([Constraint::Length(files), Constraint::Min(1)]).areas(right);
        let line = self.view.paint.faint("│");
        let lines = vec![line; usize::from(between.height)];
        self.text_from(0, &lines, between);
        let list = self.list(left);
        let files = self.files(top);
        let patch = self.patch(bottom);
        let page = match self.model.pane {
            Pane::List => list.page,
            Pane::Files => files.page,
            Pane::Patch => patch.page,
        };
        Shown { page, ..patch }
    }

    /// Draws the selected entry, and returns the place below it.
    fn about(&mut self, area: Rect) -> Rect {
        let (columns, most) = (usize::from(area.width), usize::from(area.height / 3).max(3));
        let lines = self.model.about.lines(columns, most, self.view);
        let height = u16::try_from(lines.len()).unwrap_or(0);
        let [top, below] =
            Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
        self.text_from(0, &lines, top);
        below
    }

    fn list(&mut self, area: Rect) -> Shown {
        let what = match self.model.are_operations {
            true => "Operations",
            false => "Timeline",
        };
        let body = self.title(what, Pane::List, area);
        let rows: Vec<&str> = self.model.rows.iter().map(|row| &*row.words).collect();
        let chosen = self.model.rows.iter();
        let chosen = chosen
            .take_while(|row| row.entry != Some(self.model.chosen))
            .count();
        if self.model.entries.is_empty() {
            let nothing = match self.model.filter.is_empty() {
                true => "  Nothing was recorded here.",
                false => "  Nothing contains that. Esc clears it.",
            };
            return self.text(&[nothing.to_owned()], 0, body);
        }
        self.rows(&rows, chosen, self.model.pane == Pane::List, body)
    }

    fn files(&mut self, area: Rect) -> Shown {
        let model = self.model;
        let total = diff::total(&model.files, &self.plain());
        let marked = model.marked.len() + model.hunks.len();
        let what = match (model.files.is_empty(), marked) {
            (true, _) => "No files".to_owned(),
            (false, 0) => total.trim_end().to_owned(),
            (false, marked) => format!("{}, {marked} marked", total.trim_end()),
        };
        let body = self.title(&what, Pane::Files, area);
        let room = usize::from(body.width).saturating_sub(2);
        let rows: Vec<String> = model
            .files
            .iter()
            .map(|file| {
                let hunks = model.hunks.get(&file.path).map_or(0, BTreeSet::len);
                let mark = match model.marked.contains(&file.path) {
                    true => "[x] ".to_owned(),
                    false if hunks > 0 => format!("[{}] ", count(hunks as u64, "hunk")),
                    false => String::new(),
                };
                let counts = diff::counts(file.additions, file.deletions, self.view.paint);
                let mut words = vec![diff::kind(file, self.view.paint)];
                words.extend(counts.into_iter().filter(|count| !count.is_empty()));
                let head = format!("{mark}{} ", words.join(" "));
                let name = diff::both_names(file);
                // The end of a path says more; some of it is always shown.
                let left = room.saturating_sub(width(&head)).max(room / 3);
                format!("{head}{}", fit_end(&name, left))
            })
            .collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        self.rows(&rows, model.file, self.model.pane == Pane::Files, body)
    }

    fn patch(&mut self, area: Rect) -> Shown {
        let what = match self.model.chosen_file() {
            Some(file) => {
                fit_end(&path(&file.path), usize::from(area.width).saturating_sub(2)).into_owned()
            }
            None => "No patch".to_owned(),
        };
        let body = self.title(&what, Pane::Patch, area);
        let marked = self.model.marked_hunks();
        let mark = |hunk: usize| match marked.is_some_and(|marked| marked.contains(&hunk)) {
            true => "[x] ",
            false => "",
        };
        let (patch, is_focused) = (&self.model.patch, self.model.pane == Pane::Patch);
        self.lines(patch, mark, (self.model.line, is_focused), body)
    }

    /// Draws a patch with a mark before the head of each hunk.
    pub(super) fn lines(
        &mut self,
        patch: &[String],
        mark: impl Fn(usize) -> &'static str,
        (chosen, is_focused): (usize, bool),
        area: Rect,
    ) -> Shown {
        let heads = heads(patch);
        let lines = patch.iter().enumerate();
        let lines: Vec<String> = lines
            .map(|(place, line)| match heads.binary_search(&place) {
                Ok(hunk) => format!("{}{line}", mark(hunk)),
                Err(_) => line.replace('\t', TAB),
            })
            .collect();
        let rows: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.rows(&rows, chosen, is_focused, area)
    }

    /// Returns whether there is more than fits, too.
    fn overlay(&mut self, overlay: &Popup, area: Rect) -> (Shown, bool) {
        let (title, text) = match overlay {
            Popup::Help => ("Keys", self.help()),
            Popup::Text { title, text } => (title.as_str(), text.clone()),
            Popup::Plan(plan) if plan.is_text => (super::plan_view::TITLE, plan.text.clone()),
            Popup::Plan(plan) => return (self.plan(plan, area), false),
        };
        let [head, body] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
        let title = self.view.paint.strong(title);
        self.text_from(0, &[title], head);
        let columns = usize::from(body.width).max(2);
        let lines: Vec<String> = wrap(&text, columns, 2).lines().map(str::to_owned).collect();
        let scrolls = lines.len() > usize::from(body.height);
        let scrolled = match overlay {
            Popup::Plan(plan) => plan.scrolled,
            Popup::Help | Popup::Text { .. } => self.model.scrolled,
        };
        (self.text(&lines, scrolled, body), scrolls)
    }

    fn help(&self) -> String {
        let line = |(keys, what): &(&str, &str), why| self.help_line(keys, what, why) + "\n";
        let here: String = KEYS
            .iter()
            .map(|row| line(row, self.model.why_not(row.0)))
            .collect();
        let in_plan: String = PLAN_KEYS.iter().map(|row| line(row, None)).collect();
        let head = self.view.paint.strong("In a plan");
        format!("{here}\n{head}\n{in_plan}")
    }

    /// The effects of keys, and the reason that they do nothing here, if so.
    fn help_line(&self, keys: &str, what: &str, why_not: Option<String>) -> String {
        let padding = " ".repeat(WIDEST_KEYS.saturating_sub(width(keys)));
        let line = format!("{keys}{padding} {what}");
        match why_not {
            None => line,
            Some(why) => {
                let line = format!("{line} (not here: {})", safe(&why));
                self.view.paint.faint(&line)
            }
        }
    }

    fn title(&mut self, what: &str, pane: Pane, area: Rect) -> Rect {
        self.head(what, self.model.pane == pane, area)
    }

    /// Writes the title of a pane, and returns the place below it.
    pub(super) fn head(&mut self, what: &str, is_focused: bool, area: Rect) -> Rect {
        let [head, body] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let line = match is_focused {
            true => self.view.paint.strong(&format!("▸ {what}")),
            false => self.view.paint.faint(&format!("  {what}")),
        };
        self.text_from(0, &[line], head);
        body
    }

    /// Draws rows with the selected one, which is in the middle if not all fit.
    pub(super) fn rows(
        &mut self,
        rows: &[&str],
        chosen: usize,
        is_focused: bool,
        area: Rect,
    ) -> Shown {
        let height = usize::from(area.height);
        let first = chosen
            .saturating_sub(height / 2)
            .min(rows.len().saturating_sub(height));
        let room = usize::from(area.width).saturating_sub(2);
        let mut lines = Vec::new();
        for (place, row) in rows.iter().enumerate().skip(first).take(height) {
            let sign = if place == chosen { "> " } else { "  " };
            let mut line = line_of(&format!("{sign}{}", fit(row, room)));
            if place == chosen && is_focused && self.view.paint.is_on() {
                for span in &mut line.spans {
                    span.style = span.style.add_modifier(Modifier::REVERSED);
                }
            }
            lines.push(line);
        }
        self.frame.render_widget(Paragraph::new(lines), area);
        Shown {
            scrolled: self.model.scrolled,
            page: height.max(1),
        }
    }

    /// Draws lines from the scroll position on.
    fn text(&mut self, lines: &[String], scrolled: usize, area: Rect) -> Shown {
        let page = usize::from(area.height).max(1);
        let scrolled = scrolled.min(lines.len().saturating_sub(page));
        self.text_from(scrolled, lines, area);
        Shown { scrolled, page }
    }

    pub(super) fn text_from(&mut self, first: usize, lines: &[String], area: Rect) {
        let room = usize::from(area.width);
        let shown = lines.iter().skip(first).take(usize::from(area.height));
        let shown: Vec<Line<'_>> = shown
            .map(|line| line_of(&fit(&line.replace('\t', TAB), room)))
            .collect();
        self.frame.render_widget(Paragraph::new(shown), area);
    }

    fn plain(&self) -> View {
        View {
            paint: ckpt_output::paint::Paint::PLAIN,
            ..*self.view
        }
    }
}

/// Returns a line with the colours that are in it as text.
fn line_of(text: &str) -> Line<'static> {
    let mut lines = text.into_text().map(|text| text.lines).unwrap_or_default();
    match lines.is_empty() {
        true => Line::default(),
        false => lines.swap_remove(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::UiKey;
    use super::super::tests::sample::{self, file, message, model, operation, outside};
    use super::*;
    use expect_test::expect;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::{Color, Style};

    fn terminal(model: &Model, columns: u16, rows: u16, colours: bool) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("it is memory");
        terminal
            .draw(|frame| {
                let _ = draw(frame, model, &sample::view(colours));
            })
            .expect("it is memory");
        terminal
    }

    fn screen(model: &Model, columns: u16, rows: u16) -> String {
        let terminal = terminal(model, columns, rows, false);
        let buffer = terminal.backend().buffer();
        let row = |row: u16| {
            let cells = (0..columns).map(|column| buffer[(column, row)].symbol());
            format!("{}\n", cells.collect::<String>().trim_end())
        };
        (0..rows).map(row).collect()
    }

    fn history() -> Model {
        model(vec![
            message('a', "Move the recipe", None),
            operation(),
            outside(),
            message('b', "Add sugar", Some("its snapshot was pruned")),
        ])
    }

    /// A small terminal shows one pane at a time.
    #[test]
    fn small_terminal_shows_one_pane() {
        let mut model = history();
        expect![[r#"
            ▸ Timeline
              @   you are here
            > ●   now  codex  Move the recipe
              ◆   now  revert, 1 file
              ~   now  changed outside: 1 file,…
              ●   now  codex  Add sugar





            r revert  u undo  ? keys  q back
        "#]]
        .assert_eq(&screen(&model, 40, 12));
        model.update(UiKey::Enter);
        expect![[r#"
            ▸ 2 files, +4 -2
            > modified +2 -1 src/cart.rs
              modified +2 -1 src/main.rs








            r revert  u undo  ? keys  q back
        "#]]
        .assert_eq(&screen(&model, 40, 12));
        model.update(UiKey::Enter);
        expect![[r#"
            ▸ src/cart.rs
            > @@ -1 +1 @@
              -old
              +new







            r revert  u undo  ? keys  q back
        "#]]
        .assert_eq(&screen(&model, 40, 12));
    }

    /// A usual terminal shows the timeline beside files and patch.
    #[test]
    fn usual_terminal_shows_timeline_files_and_patch() {
        let mut model = history();
        model.update(UiKey::End);
        expect![[r#"
            ▸ Timeline                          │  2 files, +4 -2
              @   you are here                  │> modified +2 -1 src/cart.rs
              ●   now  codex  Move the recipe   │  modified +2 -1 src/main.rs
              ◆   now  revert, 1 file           │  src/cart.rs
              ~   now  changed outside: 1 file,…│> @@ -1 +1 @@
            > ●   now  codex  Add sugar         │  -old
                                                │  +new
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
                                                │
            r: its snapshot was pruned
            (r revert)  u undo  Enter open  / filter  b blame  (Tab mark)  ? keys  q back
        "#]]
        .assert_eq(&screen(&model, 80, 24));
    }

    #[test]
    fn a_large_terminal_is_used_to_its_edges() {
        let long = "x".repeat(400);
        let mut model = model(vec![message('a', &long, None)]);
        model.patch = vec![format!("+{long}")];
        let screen = screen(&model, 250, 80);
        assert_eq!(screen.lines().count(), 80);
        assert!(screen.lines().all(|line| width(line) <= 250), "it fits");
        assert!(
            screen.lines().any(|line| width(line) == 250),
            "and nothing is left free:\n{screen}"
        );
    }

    /// Every key is listed with why it does nothing here.
    #[test]
    fn every_key_is_listed_with_its_reason() {
        let mut model = history();
        model.no_undo = Some("there is nothing to undo".to_owned());
        model.update(UiKey::End);
        model.update(UiKey::Char('?'));
        let screen = screen(&model, 120, 40);
        for (keys, what) in KEYS.into_iter().chain(PLAN_KEYS) {
            assert!(screen.contains(keys) && screen.contains(what), "of {keys}");
        }
        for why in ["its snapshot was pruned", "there is nothing to undo"] {
            assert!(screen.contains(&format!("not here: {why}")), "{screen}");
        }
    }

    #[test]
    fn names_from_outside_act_on_no_terminal() {
        let hostile = "\u{1b}]0;title\u{7}\u{202e}日本👨\u{200d}👩\u{200d}👧";
        let mut model = model(vec![message('a', hostile, Some(hostile))]);
        model.show_files(vec![file(hostile)]);
        model.filter = hostile.to_owned();
        for (columns, rows) in [(40, 12), (80, 24), (250, 80), (1, 1), (2, 3)] {
            for pane in [Pane::List, Pane::Files, Pane::Patch] {
                model.pane = pane;
                let screen = screen(&model, columns, rows);
                assert!(
                    !screen.contains(['\u{1b}', '\u{7}', '\u{202e}']),
                    "at {columns}x{rows}: {screen:?}"
                );
            }
        }
    }

    #[test]
    fn without_colours_nothing_is_told_by_colour() {
        let mut model = history();
        model.marked.insert(model.files[0].path.clone());
        let plain = terminal(&model, 80, 24, false);
        let styles = plain.backend().buffer().content.iter();
        assert!(
            styles.clone().all(|cell| cell.fg == Color::Reset
                && cell.bg == Color::Reset
                && cell.modifier.is_empty()),
            "no colour, and nothing bold"
        );
        let screen = screen(&model, 80, 24);
        assert!(screen.contains("> ●   now  codex"), "the cursor: {screen}");
        assert!(screen.contains("[x] modified"), "a mark: {screen}");
        let coloured = terminal(&model, 80, 24, true);
        let cells = &coloured.backend().buffer().content;
        assert!(
            cells
                .iter()
                .any(|cell| cell.style().add_modifier.contains(Modifier::REVERSED)),
            "the cursor is a bar"
        );
        assert_ne!(cells[0].style(), Style::default(), "a title is bold");
    }

    /// What is scrolled too far ends at the last line.
    #[test]
    fn scrolling_ends_at_the_last_line() {
        let mut model = history();
        let lines = (0..100).map(|line| format!("line {line}\n"));
        model.lay(Popup::Text {
            title: "Text".to_owned(),
            text: lines.collect(),
        });
        model.update(UiKey::End);
        let mut terminal = Terminal::new(TestBackend::new(40, 12)).expect("it is memory");
        let mut shown = None;
        terminal
            .draw(|frame| shown = Some(draw(frame, &model, &sample::view(false))))
            .expect("it is memory");
        let page = 9;
        let scrolled = 100 - page;
        assert_eq!(shown, Some(Shown { scrolled, page }), "a full page of it");
    }
}
