//! Draws a plan: what it would do, its files with what is taken of each, and the patch of the chosen one.

use ratatui::layout::{Constraint, Layout, Rect};

use super::plan_choice::{FileChoice, PlanKind, PlanScreen, goes_back};
use super::view::{Canvas, LIST, Shown, TWO_COLUMNS};
use ckpt_output::diff::counts;
use ckpt_output::files::{line_counts, name, word};
use ckpt_output::text::{fit_end, width, wrap};

/// What a plan is called.
pub const TITLE: &str = "The plan: nothing is changed yet";

/// Returns the part of a plan that is taken.
fn of_marked(kind: PlanKind) -> &'static str {
    match kind {
        PlanKind::Revert | PlanKind::Alone => {
            "Would take back only what is marked; no message is hidden by that\n"
        }
        PlanKind::Forward | PlanKind::AllForward => {
            "Would bring back only what is marked; hidden messages stay hidden\n"
        }
        PlanKind::Restore => "Would restore only what is marked\n",
        PlanKind::Undo => "Would undo only what is marked; every message stays as it is\n",
    }
}

impl Canvas<'_, '_> {
    pub(super) fn plan(&mut self, plan: &PlanScreen, area: Rect) -> Shown {
        let what = match plan.is_whole() {
            true => &*plan.head,
            false => of_marked(plan.kind),
        };
        let head = format!("{}\n{what}{}", self.view.paint.strong(TITLE), plan.notes);
        let head = wrap(&head, usize::from(area.width).max(2), 2);
        let mut head: Vec<String> = head.lines().map(str::to_owned).collect();
        let most = usize::from(area.height / 3).max(2);
        if head.len() > most {
            head.truncate(most - 1);
            head.push(self.view.paint.faint("  … i shows all of it"));
        }
        let height = u16::try_from(head.len()).unwrap_or(1);
        let [top, below] =
            Layout::vertical([Constraint::Length(height), Constraint::Min(1)]).areas(area);
        self.text_from(0, &head, top);
        if area.width < TWO_COLUMNS {
            return match plan.is_in_patch {
                true => self.plan_patch(plan, below),
                false => self.plan_files(plan, below),
            };
        }
        let [left, _, right] = Layout::horizontal([
            Constraint::Percentage(LIST),
            Constraint::Length(1),
            Constraint::Min(1),
        ])
        .areas(below);
        let files = self.plan_files(plan, left);
        let patch = self.plan_patch(plan, right);
        if plan.is_in_patch { patch } else { files }
    }

    fn plan_files(&mut self, plan: &PlanScreen, area: Rect) -> Shown {
        let taken = plan.taken() as u64;
        let mut title = format!("{} back", ckpt_store::model::number::count(taken, "file"));
        let rest = plan.files.len() - plan.taken();
        if rest > 0 {
            title = format!("{title}, {rest} as it is");
        }
        let body = self.head(&title, !plan.is_in_patch, area);
        let room = usize::from(body.width).saturating_sub(2);
        let paint = self.view.paint;
        let rows = plan.files.iter().map(|file| {
            let mark = match plan.choices.get(&file.path) {
                _ if !goes_back(file) => "[ ]",
                None => "[x]",
                Some(FileChoice::Nothing) => "[ ]",
                Some(FileChoice::Lines(_)) => "[~]",
            };
            let mut words = vec![mark.to_owned(), word(file, paint)];
            let (additions, deletions) = line_counts(file);
            let counts = counts(additions, deletions, paint);
            words.extend(counts.into_iter().filter(|count| !count.is_empty()));
            let head = words.join(" ") + " ";
            let left = room.saturating_sub(width(&head)).max(room / 3);
            format!("{head}{}", fit_end(&name(file), left))
        });
        let rows: Vec<String> = rows.collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        self.rows(&rows, plan.file, !plan.is_in_patch, body)
    }

    fn plan_patch(&mut self, plan: &PlanScreen, area: Rect) -> Shown {
        let name = plan.chosen_file().map(name);
        let title = name.unwrap_or_else(|| "No file changes".to_owned());
        let room = usize::from(area.width).saturating_sub(2);
        let body = self.head(&fit_end(&title, room), plan.is_in_patch, area);
        let mark = |hunk: usize| match plan.takes_hunk(hunk) {
            true => "[x] ",
            false => "[ ] ",
        };
        self.lines(&plan.patch, mark, (plan.line, plan.is_in_patch), body)
    }
}
