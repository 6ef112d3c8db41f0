//! The two bars below the panes: what there is to say, and which keys there are.

use ckpt_output::paint::Paint;
use ckpt_output::text::{fit, safe, width, wrap};
use ckpt_store::model::number::count;
use ckpt_store::model::request::ConversationChoice;
use ratatui::layout::Rect;

use super::model::{Popup, Typing};
use super::plan_choice::PlanKind;
use super::view::Canvas;

impl Canvas<'_, '_> {
    /// Returns the lines about the last key, the filter, or why the chosen message cannot be reverted. A long reason is
    /// shown whole where a quarter of the screen is enough for it.
    pub(super) fn status(&self, area: Rect) -> Vec<String> {
        let model = self.model;
        let why_not = match &model.overlay {
            Some(Popup::Plan(plan)) => {
                let why_not = plan.why_not().map(|why| format!("y: {}", safe(&why)));
                why_not.or_else(|| plan.about_file().map(|about| safe(&about).into_owned()))
            }
            Some(_) => None,
            None => model.no_revert().map(|why| format!("r: {}", safe(&why))),
        };
        let faint = |paint: Paint, line: &str| paint.faint(line);
        match (&model.notice, why_not) {
            (Some(notice), _) => {
                self.wrapped(&safe(notice), area, |paint, line| paint.warning(line))
            }
            _ if model.typing == Some(Typing::Label) => {
                vec![format!("label: {}▏", safe(&model.label))]
            }
            _ if model.typing.is_some() || !model.filter.is_empty() => vec![self.filter()],
            (None, Some(why)) => self.wrapped(&why, area, faint),
            (None, None) => vec![String::new()],
        }
    }

    fn filter(&self) -> String {
        let model = self.model;
        let searched = self.searched();
        if model.typing.is_some() {
            return format!("/{}▏{searched}", safe(&model.filter));
        }
        let rows = count(model.entries.len() as u64, "row");
        let rows = self.view.paint.faint(&rows);
        format!("/{}  {rows}{searched}", safe(&model.filter))
    }

    /// Returns a text as lines with a colour.
    fn wrapped(
        &self,
        text: &str,
        area: Rect,
        paint: impl Fn(Paint, &str) -> String,
    ) -> Vec<String> {
        let most = usize::from(area.height / 4).max(1);
        let columns = usize::from(area.width).max(2);
        let text = wrap(text, columns, 0);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() > most {
            let rest = lines.split_off(most - 1).join(" ");
            lines.push(fit(&rest, columns).into_owned());
        }
        lines
            .iter()
            .map(|line| paint(self.view.paint, line))
            .collect()
    }

    /// The progress of the search in contents.
    fn searched(&self) -> String {
        match self.model.searched {
            Some(messages) => self.view.paint.faint(&format!(
                "  searching the contents: {}",
                count(messages as u64, "message")
            )),
            None => String::new(),
        }
    }

    /// Draws as many keys as there is room for; `?` and `q` are always among them, and `?` lists all. `scrolls` says
    /// that a text over the panes has more lines than there is room for.
    pub(super) fn keys(&mut self, scrolls: bool, area: Rect) {
        let model = self.model;
        let hint = |key: &str, what: &str| format!("{} {what}", self.view.paint.id(key));
        let hint_if = |is_there: bool, key: &str, what: &str| match is_there {
            true => hint(key, what),
            false => self.view.paint.faint(&format!("({key} {what})")),
        };
        let (hints, last) = match &model.overlay {
            Some(Popup::Plan(plan)) => (
                vec![
                    hint_if(plan.why_not().is_none(), "y", "do it"),
                    hint_if(
                        plan.can_mark(),
                        "Space",
                        if plan.is_left() { "take" } else { "leave" },
                    ),
                    hint_if(
                        plan.can_overwrite_file(),
                        plan.kind.keys().kept,
                        "take all the same",
                    ),
                    hint("Enter", "patch"),
                    hint_if(
                        plan.kind != PlanKind::Undo,
                        "g",
                        if plan.terms.git {
                            "without git"
                        } else {
                            "with git"
                        },
                    ),
                    hint_if(
                        plan.kind == PlanKind::Revert,
                        "c",
                        match plan.terms.conversation {
                            ConversationChoice::No => "and chat",
                            ConversationChoice::Fork => "chat alone",
                            ConversationChoice::Only | ConversationChoice::Cut => "files alone",
                        },
                    ),
                    hint("i", "as text"),
                ],
                hint("Esc", "leave it"),
            ),
            Some(_) => (vec![hint_if(scrolls, "↑ ↓", "scroll")], hint("Esc", "back")),
            None if model.typing == Some(Typing::Label) => (
                vec![hint("Enter", "label it; empty takes the label off")],
                hint("Esc", "leave it"),
            ),
            None if model.typing.is_some() => {
                (vec![hint("Enter", "keep")], hint("Esc", "everything"))
            }
            None => (
                vec![
                    hint_if(model.no_revert().is_none(), "r", "revert"),
                    hint_if(model.no_undo.is_none(), "u", "undo"),
                    hint("Enter", "open"),
                    hint("/", "filter"),
                    hint_if(model.no_blame().is_none(), "b", "blame"),
                    hint_if(model.no_mark().is_none(), "Tab", "mark"),
                    hint("o", "operations"),
                    hint("f", "forward"),
                    hint_if(model.no_label().is_none(), "l", "label"),
                    hint_if(model.no_restore().is_none(), "R", "restore"),
                    hint_if(model.no_copy().is_none(), "y", "copy id"),
                ],
                format!("{}  {}", hint("?", "keys"), hint("q", "back")),
            ),
        };
        let room = usize::from(area.width).saturating_sub(width(&last));
        let mut line = String::new();
        for hint in hints {
            if width(&line) + width(&hint) + 2 > room {
                break;
            }
            line.push_str(&hint);
            line.push_str("  ");
        }
        self.text_from(0, &[line + &last], area);
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::UiKey;
    use super::super::model::{Model, Popup};
    use super::super::tests::sample::{self, message, model};
    use super::super::view::draw;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// Returns the words on the screen, without the breaks of lines.
    fn words(model: &Model, columns: u16, rows: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("it is memory");
        terminal
            .draw(|frame| {
                draw(frame, model, &sample::view(false));
            })
            .expect("it is memory");
        let cells = terminal.backend().buffer().content.iter();
        let text: String = cells.map(ratatui::buffer::Cell::symbol).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// A reason that is longer than a line is shown whole.
    #[test]
    fn long_reason_is_shown_whole() {
        let why = "it was reverted before the next message was sent; R brings back its files";
        let mut model = model(vec![message('a', "first", Some(why))]);
        for (columns, rows) in [(40, 12), (80, 24), (250, 80)] {
            for _ in ["before a key is pressed", "and after"] {
                let shown = words(&model, columns, rows);
                assert!(shown.contains(why), "at {columns}x{rows}: {shown}");
                model.update(UiKey::Char('r'));
            }
            model.notice = None;
        }
        let shown = words(&model, 40, 4);
        assert!(
            shown.contains("● now codex first"),
            "the rows stay: {shown}"
        );
    }

    /// A text over the panes says how to see the rest of it.
    #[test]
    fn overlay_says_how_to_see_the_rest() {
        let mut model = model(vec![message('a', "first", None)]);
        for (lines, hint) in [(2, "(↑ ↓ scroll)"), (200, " ↑ ↓ scroll")] {
            model.lay(Popup::Text {
                title: "Text".to_owned(),
                text: "line\n".repeat(lines),
            });
            let shown = words(&model, 80, 24);
            assert!(shown.contains(hint), "of {lines} lines: {shown}");
        }
    }
}
