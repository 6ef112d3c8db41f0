//! What the browser shows, and what a key does to it. It knows neither the terminal nor the store: whatever has to be
//! done outside is returned as a [`UiAction`].

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{ChangeReport, PathText, TimelineEntry};

use super::about::About;
use super::keys::{UiKey, step};
use super::plan_choice::{PlanKind, PlanScreen};
use ckpt_output::graph::TimelineRow;

/// How many rows are read at first, and again whenever the cursor reaches the last one.
pub const PORTION: usize = 200;

/// The pane with the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// The timeline, or the operations.
    #[default]
    List,
    /// The files of the selected entry.
    Files,
    /// The patch of the chosen file.
    Patch,
}

/// What the model asks of the screen around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UiAction {
    /// Only show the model again.
    Nothing,
    /// Reload the list.
    List,
    /// Load the files of the selected entry.
    Files,
    /// Read the patch of the chosen file.
    Patch,
    /// Plan something.
    Plan(PlanKind),
    /// Plan it again, on the terms that the plan has by now.
    PlanAgain,
    /// Read the patch of the plan's chosen file.
    PlanPatch,
    /// Carry out what is chosen of the plan.
    Apply,
    /// Give the chosen message this label instead of the one that it has; none if it is empty.
    Label(String),
    /// Show everything that is known of the selected entry.
    Everything,
    /// Show who wrote each line of the chosen file.
    Blame,
    /// Copy an id.
    Copy(String),
    /// Leave.
    Quit,
    /// Leave as if ended by Ctrl-C.
    Interrupt,
    /// Stop until the shell continues it.
    Suspend,
}

/// What lies over the panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popup {
    /// Every key.
    Help,
    /// Text to read.
    Text {
        /// Its title.
        title: String,
        /// With colours.
        text: String,
    },
    /// A plan of an operation.
    Plan(Box<PlanScreen>),
}

/// What the user is typing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Filter,
    Label,
}

/// The state of the browser: rows, panes, cursor and what is open.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The rows of the list.
    pub rows: Vec<TimelineRow>,
    /// What the rows stand for.
    pub entries: Vec<TimelineEntry>,
    /// The index of the chosen entry.
    pub chosen: usize,
    /// How many entries are undos, which have no row of their own.
    pub folded: usize,
    /// How many entries were requested.
    pub limit: usize,
    /// Whether only operations are listed.
    pub are_operations: bool,
    /// Only entries with this text in their prompt, paths or changed contents.
    pub filter: String,
    /// How many messages' contents were searched for the filter, while that is going on.
    pub searched: Option<usize>,
    /// What the user is typing, if anything.
    pub typing: Option<Typing>,
    /// The label that is being typed.
    pub label: String,
    /// The selected entry in full.
    pub about: About,
    /// What the chosen entry changed.
    pub files: Vec<ChangeReport>,
    /// The index of the chosen file.
    pub file: usize,
    /// The files that a revert is limited to.
    pub marked: BTreeSet<PathText>,
    /// The hunks that a revert is limited to, by file: their places in the patch.
    pub hunks: BTreeMap<PathText, BTreeSet<usize>>,
    /// The lines of the patch, with colours.
    pub patch: Vec<String>,
    /// The line of the patch that is chosen.
    pub line: usize,
    /// How many lines of the overlay are scrolled away.
    pub scrolled: usize,
    /// The pane with the cursor.
    pub pane: Pane,
    /// What lies over the panes.
    pub overlay: Option<Popup>,
    /// The message about the last key.
    pub notice: Option<String>,
    /// Why there is nothing to undo, if that is so.
    pub no_undo: Option<String>,
    /// How many rows a page has.
    pub page: usize,
}

impl Model {
    /// Returns an empty model.
    pub fn new() -> Self {
        Self {
            limit: PORTION,
            page: 10,
            ..Self::default()
        }
    }

    /// Sets the list; the cursor stays on its entry.
    pub fn list(&mut self, entries: Vec<TimelineEntry>, rows: Vec<TimelineRow>) {
        let kept = self.entry().map(key_of);
        let is_kept = |entry: &TimelineEntry| Some(key_of(entry)) == kept;
        let place = entries.iter().position(is_kept);
        self.entries = entries;
        self.rows = rows;
        self.chosen = place.unwrap_or(0);
        if place.is_none() {
            self.begin_entry();
        }
    }

    /// Sets the files of the chosen entry; the cursor and the marks stay if the files are the same.
    pub fn show_files(&mut self, files: Vec<ChangeReport>) {
        let kept = self.chosen_file().map(|file| file.path.clone());
        self.file = files
            .iter()
            .position(|file| Some(&file.path) == kept.as_ref())
            .unwrap_or(0);
        let is_there = |path: &PathText| files.iter().any(|file| file.path == *path);
        self.marked.retain(is_there);
        self.hunks.retain(|path, _| is_there(path));
        self.files = files;
    }

    /// Returns the entry under the cursor.
    pub fn entry(&self) -> Option<&TimelineEntry> {
        self.entries.get(self.chosen)
    }

    /// Returns the file that is chosen.
    pub fn chosen_file(&self) -> Option<&ChangeReport> {
        self.files.get(self.file)
    }

    /// Sets the patch of the chosen file.
    pub fn show_patch(&mut self, patch: Vec<String>) {
        self.line = self.line.min(patch.len().saturating_sub(1));
        self.patch = patch;
    }

    /// Returns the lines of the patch at which hunks begin.
    pub fn heads(&self) -> Vec<usize> {
        heads(&self.patch)
    }

    /// Returns the hunks of the chosen file that are marked.
    pub fn marked_hunks(&self) -> Option<&BTreeSet<usize>> {
        self.hunks.get(&self.chosen_file()?.path)
    }

    /// Returns whether anything is marked.
    pub fn has_marks(&self) -> bool {
        !self.marked.is_empty() || !self.hunks.is_empty()
    }

    /// Removes every mark.
    pub fn unmark(&mut self) {
        self.marked.clear();
        self.hunks.clear();
    }

    /// The reason that there is nothing to revert here.
    pub fn no_revert(&self) -> Option<String> {
        match self.entry() {
            Some(TimelineEntry::Message(message)) if message.revertable => None,
            Some(TimelineEntry::Message(message)) => Some(
                message
                    .not_revertable
                    .clone()
                    .unwrap_or_else(|| "this message cannot be reverted".to_owned()),
            ),
            Some(TimelineEntry::Operation(_)) => {
                Some("only messages can be reverted; u plans to undo the last operation".to_owned())
            }
            Some(TimelineEntry::Outside { .. }) => {
                Some("only messages can be reverted; no agent made these changes".to_owned())
            }
            None => Some("there is no message".to_owned()),
        }
    }

    /// The reason that there is nothing to blame here.
    pub fn no_blame(&self) -> Option<String> {
        self.files
            .is_empty()
            .then(|| "there is no file here".to_owned())
    }

    /// The reason that a key does nothing now.
    pub fn why_not(&self, keys: &str) -> Option<String> {
        match keys {
            "r" | "a" => self.no_revert(),
            "l" => self.no_label(),
            "R" => self.no_restore(),
            "Tab Space" => self.no_mark(),
            "u" => self.no_undo.clone(),
            "b" => self.no_blame(),
            "y" => self.no_copy(),
            _ => None,
        }
    }

    /// The reason that there is nothing to put a label on here.
    pub fn no_label(&self) -> Option<String> {
        match self.entry() {
            Some(TimelineEntry::Message(_)) => None,
            _ => Some("only messages have labels".to_owned()),
        }
    }

    /// The reason that no state can be restored here.
    pub fn no_restore(&self) -> Option<String> {
        let has_state = match self.entry() {
            Some(TimelineEntry::Outside { from, .. }) => from.is_some(),
            _ => self.id().is_some(),
        };
        (!has_state).then(|| "there is no state to restore here".to_owned())
    }

    /// The reason that there is no id to copy here.
    pub fn no_copy(&self) -> Option<String> {
        self.id()
            .is_none()
            .then(|| "there is no id here".to_owned())
    }

    /// Returns the id of the selected entry.
    pub fn id(&self) -> Option<&str> {
        match self.entry()? {
            TimelineEntry::Message(message) => Some(&message.id),
            TimelineEntry::Operation(operation) => Some(&operation.id),
            TimelineEntry::Outside { to, .. } => to.as_deref(),
        }
    }

    /// Handles a key.
    pub fn update(&mut self, key: UiKey) -> UiAction {
        self.notice = None;
        match key {
            UiKey::Interrupt => return UiAction::Interrupt,
            UiKey::Suspend => return UiAction::Suspend,
            _ => {}
        }
        if self.overlay.is_some() {
            self.over(key)
        } else if let Some(typing) = self.typing {
            self.typed(typing, key)
        } else {
            self.browsed(key)
        }
    }

    /// Handles pasted text, which only the filter accepts.
    pub fn paste(&mut self, text: &str) -> UiAction {
        let Some(typing) = self.typing else {
            return UiAction::Nothing;
        };
        self.text(typing).extend(text.lines().next());
        self.after_typing(typing)
    }

    fn over(&mut self, key: UiKey) -> UiAction {
        let page = self.page;
        if let Some(Popup::Plan(plan)) = &mut self.overlay {
            if plan.closes(key) {
                self.close();
                return UiAction::Nothing;
            }
            return plan.update(key, page).unwrap_or_else(|why| {
                self.notice = Some(why);
                UiAction::Nothing
            });
        }
        match (key, &self.overlay) {
            (UiKey::Escape | UiKey::Char('q'), _) => self.close(),
            (UiKey::Char('?'), Some(Popup::Help)) => self.close(),
            (UiKey::Char('u' | 'f' | 'F' | 'o'), Some(Popup::Text { .. })) => {
                // A text may name them.
                let action = self.browsed(key);
                if action != UiAction::Nothing {
                    self.close();
                }
                return action;
            }
            _ if key.moves() => self.scrolled = step(key, self.scrolled, usize::MAX, self.page),
            _ => self.notice = Some(key.idle("Esc goes back")),
        }
        UiAction::Nothing
    }

    fn close(&mut self) {
        self.overlay = None;
        self.scrolled = 0;
    }

    /// Shows something over the panes.
    pub fn lay(&mut self, overlay: Popup) {
        self.overlay = Some(overlay);
        self.scrolled = 0;
    }

    fn text(&mut self, typing: Typing) -> &mut String {
        match typing {
            Typing::Filter => &mut self.filter,
            Typing::Label => &mut self.label,
        }
    }

    /// The list follows the filter letter by letter.
    fn after_typing(&mut self, typing: Typing) -> UiAction {
        match typing {
            Typing::Filter => self.begin_list(),
            Typing::Label => UiAction::Nothing,
        }
    }

    fn typed(&mut self, typing: Typing, key: UiKey) -> UiAction {
        let text = self.text(typing);
        match key {
            UiKey::Char(character) => text.push(character),
            UiKey::Backspace => drop(text.pop()),
            UiKey::Clear => text.clear(),
            UiKey::Enter => {
                self.typing = None;
                return match typing {
                    Typing::Filter => UiAction::Nothing,
                    Typing::Label => UiAction::Label(std::mem::take(&mut self.label)),
                };
            }
            UiKey::Escape => {
                let is_empty = text.is_empty();
                text.clear();
                self.typing = None;
                if is_empty {
                    return UiAction::Nothing;
                }
            }
            UiKey::Up | UiKey::Down | UiKey::PageUp | UiKey::PageDown
                if typing == Typing::Filter =>
            {
                return self.moved(key);
            }
            _ => return UiAction::Nothing,
        }
        self.after_typing(typing)
    }

    fn begin_list(&mut self) -> UiAction {
        self.limit = PORTION;
        UiAction::List
    }

    fn browsed(&mut self, key: UiKey) -> UiAction {
        match key {
            UiKey::Char('q') | UiKey::Escape => return self.back(key),
            UiKey::Enter | UiKey::Right if self.pane != Pane::Patch => {
                self.pane = match self.pane {
                    Pane::List => Pane::Files,
                    Pane::Files | Pane::Patch => Pane::Patch,
                }
            }
            UiKey::Left if self.pane != Pane::List => {
                self.pane = match self.pane {
                    Pane::List | Pane::Files => Pane::List,
                    Pane::Patch => Pane::Files,
                }
            }
            UiKey::Char('?') => self.lay(Popup::Help),
            UiKey::Char('/') => {
                self.typing = Some(Typing::Filter);
                self.pane = Pane::List;
            }
            UiKey::Char('o') => {
                self.are_operations = !self.are_operations;
                self.pane = Pane::List;
                return self.begin_list();
            }
            UiKey::Tab | UiKey::Char(' ') => return self.mark(),
            UiKey::Char('r') => return self.plan(PlanKind::Revert, self.no_revert()),
            UiKey::Char('a') => return self.plan(PlanKind::Alone, self.no_revert()),
            UiKey::Char('R') => return self.plan(PlanKind::Restore, self.no_restore()),
            UiKey::Char('f') => return self.plan(PlanKind::Forward, None),
            UiKey::Char('F') => return self.plan(PlanKind::AllForward, None),
            UiKey::Char('u') => return self.plan(PlanKind::Undo, self.no_undo.clone()),
            UiKey::Char('i') => return self.unless(self.no_copy(), UiAction::Everything),
            UiKey::Char('l') => match (self.no_label(), self.entry()) {
                (None, Some(TimelineEntry::Message(message))) => {
                    self.label = message.labels.first().cloned().unwrap_or_default();
                    self.typing = Some(Typing::Label);
                }
                (why, _) => self.notice = why,
            },
            UiKey::Char('b') => return self.unless(self.no_blame(), UiAction::Blame),
            UiKey::Char('y') => {
                let id = self.id().unwrap_or_default().to_owned();
                return self.unless(self.no_copy(), UiAction::Copy(id));
            }
            _ if key.moves() => return self.moved(key),
            _ => self.notice = Some(key.idle("? lists the keys")),
        }
        UiAction::Nothing
    }

    fn plan(&mut self, kind: PlanKind, why_not: Option<String>) -> UiAction {
        self.unless(why_not, UiAction::Plan(kind))
    }

    /// What cannot be done says why not.
    fn unless(&mut self, why_not: Option<String>, action: UiAction) -> UiAction {
        match why_not {
            None => action,
            Some(why) => {
                self.notice = Some(why);
                UiAction::Nothing
            }
        }
    }

    fn back(&mut self, key: UiKey) -> UiAction {
        match self.pane {
            Pane::Patch => self.pane = Pane::Files,
            Pane::Files => self.pane = Pane::List,
            Pane::List if key == UiKey::Escape && !self.filter.is_empty() => {
                self.filter.clear();
                return self.begin_list();
            }
            Pane::List if self.are_operations => {
                self.are_operations = false;
                return self.begin_list();
            }
            Pane::List if key == UiKey::Escape => self.notice = Some("q leaves".to_owned()),
            Pane::List => return UiAction::Quit,
        }
        UiAction::Nothing
    }

    /// The reason that nothing can be marked here.
    pub fn no_mark(&self) -> Option<String> {
        if self.files.is_empty() {
            return Some("there is no file here".to_owned());
        }
        (self.pane == Pane::List).then(|| {
            "Enter opens the files; there it marks a file, and in the patch a hunk".to_owned()
        })
    }

    fn mark(&mut self) -> UiAction {
        self.notice = self.no_mark();
        let path = match self.chosen_file() {
            Some(file) if self.notice.is_none() => file.path.clone(),
            _ => return UiAction::Nothing,
        };
        let heads = self.heads();
        let hunk = heads.iter().rposition(|head| *head <= self.line);
        if self.pane == Pane::Patch
            && let Some(hunk) = hunk.or(if heads.is_empty() { None } else { Some(0) })
        {
            self.marked.remove(&path);
            let hunks = self.hunks.entry(path.clone()).or_default();
            if !hunks.remove(&hunk) {
                hunks.insert(hunk);
            }
            if hunks.is_empty() {
                self.hunks.remove(&path);
            }
            // The next one, as in the list of files.
            self.line = heads.get(hunk + 1).copied().unwrap_or(self.line);
            return UiAction::Nothing;
        }
        self.hunks.remove(&path);
        if !self.marked.remove(&path) {
            self.marked.insert(path);
        }
        match self.pane {
            Pane::Files => self.moved(UiKey::Down),
            Pane::List | Pane::Patch => UiAction::Nothing,
        }
    }

    fn moved(&mut self, key: UiKey) -> UiAction {
        match self.pane {
            Pane::List => {
                let before = self.chosen;
                self.chosen = step(key, self.chosen, self.entries.len(), self.page);
                if before != self.chosen {
                    self.begin_entry();
                }
                let is_last = self.chosen + 1 == self.entries.len();
                if is_last && self.entries.len() + self.folded >= self.limit {
                    self.limit += PORTION;
                    return UiAction::List;
                }
                match before == self.chosen {
                    true => UiAction::Nothing,
                    false => UiAction::Files,
                }
            }
            Pane::Files => {
                let before = self.file;
                self.file = step(key, self.file, self.files.len(), self.page);
                if before == self.file {
                    return UiAction::Nothing;
                }
                self.line = 0;
                UiAction::Patch
            }
            Pane::Patch => {
                self.line = step(key, self.line, self.patch.len(), self.page);
                UiAction::Nothing
            }
        }
    }

    /// Selections belong to one entry, and are reset for the next.
    fn begin_entry(&mut self) {
        self.file = 0;
        self.line = 0;
        self.unmark();
    }
}

/// Returns the lines of a patch at which hunks begin.
pub fn heads(patch: &[String]) -> Vec<usize> {
    let is_head = |line: &String| console::strip_ansi_codes(line).starts_with("@@ ");
    let lines = patch.iter().enumerate();
    lines
        .filter(|(_, line)| is_head(line))
        .map(|(place, _)| place)
        .collect()
}

/// Returns the key by which an entry is found again after a reload.
fn key_of(entry: &TimelineEntry) -> String {
    match entry {
        TimelineEntry::Message(message) => message.id.clone(),
        TimelineEntry::Operation(operation) => operation.id.clone(),
        TimelineEntry::Outside { time, from, to, .. } => format!("{time} {from:?} {to:?}"),
    }
}
