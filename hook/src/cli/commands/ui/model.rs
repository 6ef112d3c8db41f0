//! What the browser shows, and what a key does to it. It knows neither the terminal nor the store: what has to be done outside is
//! an [`Action`] that it returns.

use std::collections::BTreeSet;

use ckpt_schema::report::{ChangeReport, PathText, TimelineEntry};

use super::keys::Key;
use crate::output::graph::Row;

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

/// What has to be done outside of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Reload the list.
    List,
    /// Load the files of the selected entry.
    Files,
    /// Read the patch of the chosen file.
    Patch,
    /// Plan a revert to just before the chosen message.
    Plan {
        /// Whether what is unclear is taken as well.
        take_unclear: bool,
    },
    /// Carry out the plan with this token.
    Apply(String),
    /// Take the last operation back.
    Undo,
    /// Show who wrote each line of the chosen file.
    Blame,
    /// Copy an id.
    Copy(String),
    /// Leave.
    Quit,
    /// Leave as Ctrl-C makes a program leave.
    Interrupt,
    /// Stop until the shell goes on with it.
    Suspend,
}

/// What lies over the panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// Every key.
    Help,
    /// Text to read.
    Text {
        /// Its title.
        title: String,
        /// With colours.
        text: String,
    },
    /// A plan of a revert.
    Plan {
        /// With colours.
        text: String,
        /// What carries out this plan and no other; or why it cannot be carried out.
        token: Result<String, String>,
        /// Whether there is something unclear that was not taken.
        has_unclear: bool,
    },
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The rows of the list.
    pub rows: Vec<Row>,
    /// What the rows stand for.
    pub entries: Vec<TimelineEntry>,
    /// The place of the chosen entry.
    pub chosen: usize,
    /// How many entries were requested.
    pub limit: usize,
    /// Whether only operations are listed.
    pub are_operations: bool,
    /// Only what has this in its prompt or paths.
    pub filter: String,
    /// Whether keys go into the filter.
    pub is_typing: bool,
    /// What the chosen entry changed.
    pub files: Vec<ChangeReport>,
    /// The place of the chosen file.
    pub file: usize,
    /// The files that a revert is limited to.
    pub marked: BTreeSet<PathText>,
    /// The lines of the patch, with colours.
    pub patch: Vec<String>,
    /// How many lines of the patch, or of the overlay, are scrolled away.
    pub scrolled: usize,
    /// The pane with the cursor.
    pub pane: Pane,
    /// What lies over the panes.
    pub overlay: Option<Overlay>,
    /// The message about the last key.
    pub notice: Option<String>,
    /// Why there is nothing to undo, where it is so.
    pub no_undo: Option<String>,
    /// How many rows a page has.
    pub page: usize,
}

impl Model {
    /// Begins with nothing.
    pub fn new() -> Self {
        Self {
            limit: PORTION,
            page: 10,
            ..Self::default()
        }
    }

    /// Takes in a list; the cursor stays at the entry that it was at.
    pub fn list(&mut self, entries: Vec<TimelineEntry>, rows: Vec<Row>) {
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

    /// Takes in the files of the chosen entry; the cursor and the marks stay where the same files are there.
    pub fn show_files(&mut self, files: Vec<ChangeReport>) {
        let kept = self.chosen_file().map(|file| file.path.clone());
        self.file = files
            .iter()
            .position(|file| Some(&file.path) == kept.as_ref())
            .unwrap_or(0);
        self.marked
            .retain(|path| files.iter().any(|file| file.path == *path));
        self.files = files;
    }

    /// Returns what the cursor is at.
    pub fn entry(&self) -> Option<&TimelineEntry> {
        self.entries.get(self.chosen)
    }

    /// Returns the file that is chosen.
    pub fn chosen_file(&self) -> Option<&ChangeReport> {
        self.files.get(self.file)
    }

    /// Returns why there is nothing to revert here.
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
                Some("only messages are reverted; u undoes the last operation".to_owned())
            }
            Some(TimelineEntry::Outside { .. }) => {
                Some("only messages are reverted; no agent made these changes".to_owned())
            }
            None => Some("there is no message".to_owned()),
        }
    }

    /// Returns why nobody can be blamed here.
    pub fn no_blame(&self) -> Option<String> {
        self.files
            .is_empty()
            .then(|| "there is no file here".to_owned())
    }

    /// Returns why there is no id to copy here.
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

    /// Does what a key says.
    pub fn update(&mut self, key: Key) -> Action {
        self.notice = None;
        match key {
            Key::Interrupt => return Action::Interrupt,
            Key::Suspend => return Action::Suspend,
            _ => {}
        }
        if self.overlay.is_some() {
            self.over(key)
        } else if self.is_typing {
            self.typed(key)
        } else {
            self.browsed(key)
        }
    }

    /// Takes in text that was pasted: only a filter has a use for it.
    pub fn paste(&mut self, text: &str) -> Action {
        if !self.is_typing {
            return Action::Nothing;
        }
        self.filter.extend(text.lines().next());
        self.begin_list()
    }

    fn over(&mut self, key: Key) -> Action {
        let is_plan = matches!(self.overlay, Some(Overlay::Plan { .. }));
        match (key, &self.overlay) {
            (Key::Escape | Key::Char('q'), _) => self.close(),
            (Key::Char('n'), _) if is_plan => self.close(),
            (Key::Char('?'), Some(Overlay::Help)) => self.close(),
            (Key::Char('y'), Some(Overlay::Plan { token, .. })) => match token.clone() {
                Ok(token) => {
                    self.close();
                    return Action::Apply(token);
                }
                Err(why) => self.notice = Some(why),
            },
            (Key::Char('t'), Some(Overlay::Plan { has_unclear, .. })) => {
                if *has_unclear {
                    return Action::Plan { take_unclear: true };
                }
                self.notice = Some("nothing is unclear".to_owned());
            }
            _ => self.scroll(key),
        }
        Action::Nothing
    }

    fn close(&mut self) {
        self.overlay = None;
        self.scrolled = 0;
    }

    /// Lays something over the panes.
    pub fn lay(&mut self, overlay: Overlay) {
        self.overlay = Some(overlay);
        self.scrolled = 0;
    }

    fn typed(&mut self, key: Key) -> Action {
        match key {
            Key::Char(character) => self.filter.push(character),
            Key::Backspace => drop(self.filter.pop()),
            Key::Clear => self.filter.clear(),
            Key::Enter => {
                self.is_typing = false;
                return Action::Nothing;
            }
            Key::Escape => {
                self.is_typing = false;
                if self.filter.is_empty() {
                    return Action::Nothing;
                }
                self.filter.clear();
            }
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => return self.moved(key),
            _ => return Action::Nothing,
        }
        self.begin_list()
    }

    fn begin_list(&mut self) -> Action {
        self.limit = PORTION;
        Action::List
    }

    fn browsed(&mut self, key: Key) -> Action {
        match key {
            Key::Char('q') | Key::Escape => return self.back(key),
            Key::Enter | Key::Tab => self.next(key == Key::Tab),
            Key::BackTab => {
                self.pane = match self.pane {
                    Pane::List => Pane::Patch,
                    Pane::Files => Pane::List,
                    Pane::Patch => Pane::Files,
                }
            }
            Key::Char('?') => self.lay(Overlay::Help),
            Key::Char('/') => {
                self.is_typing = true;
                self.pane = Pane::List;
            }
            Key::Char('o') => {
                self.are_operations = !self.are_operations;
                self.pane = Pane::List;
                return self.begin_list();
            }
            Key::Char(' ') => return self.mark(),
            Key::Char('r') => {
                let plan = Action::Plan {
                    take_unclear: false,
                };
                return self.unless(self.no_revert(), plan);
            }
            Key::Char('u') => return self.unless(self.no_undo.clone(), Action::Undo),
            Key::Char('b') => return self.unless(self.no_blame(), Action::Blame),
            Key::Char('y') => {
                let id = self.id().unwrap_or_default().to_owned();
                return self.unless(self.no_copy(), Action::Copy(id));
            }
            _ => return self.moved(key),
        }
        Action::Nothing
    }

    /// What cannot be done says why not.
    fn unless(&mut self, why_not: Option<String>, action: Action) -> Action {
        match why_not {
            None => action,
            Some(why) => {
                self.notice = Some(why);
                Action::Nothing
            }
        }
    }

    fn back(&mut self, key: Key) -> Action {
        match self.pane {
            Pane::Patch => self.pane = Pane::Files,
            Pane::Files => self.pane = Pane::List,
            Pane::List if key == Key::Escape && !self.filter.is_empty() => {
                self.filter.clear();
                return self.begin_list();
            }
            Pane::List if self.are_operations => {
                self.are_operations = false;
                return self.begin_list();
            }
            Pane::List => return Action::Quit,
        }
        Action::Nothing
    }

    fn next(&mut self, is_round: bool) {
        self.pane = match self.pane {
            Pane::List => Pane::Files,
            Pane::Files => Pane::Patch,
            Pane::Patch if is_round => Pane::List,
            Pane::Patch => Pane::Patch,
        };
    }

    fn mark(&mut self) -> Action {
        let Some(path) = self.chosen_file().map(|file| file.path.clone()) else {
            self.notice = Some("there is no file here".to_owned());
            return Action::Nothing;
        };
        if self.pane == Pane::List {
            self.notice = Some("Enter goes to the files, Space marks them there".to_owned());
            return Action::Nothing;
        }
        if !self.marked.remove(&path) {
            self.marked.insert(path);
        }
        self.moved(Key::Down)
    }

    fn moved(&mut self, key: Key) -> Action {
        match self.pane {
            Pane::List => {
                let before = self.chosen;
                self.chosen = step(key, self.chosen, self.entries.len(), self.page);
                if before != self.chosen {
                    self.begin_entry();
                }
                let is_last = self.chosen + 1 == self.entries.len();
                if is_last && self.entries.len() >= self.limit {
                    self.limit += PORTION;
                    return Action::List;
                }
                match before == self.chosen {
                    true => Action::Nothing,
                    false => Action::Files,
                }
            }
            Pane::Files => {
                let before = self.file;
                self.file = step(key, self.file, self.files.len(), self.page);
                if before == self.file {
                    return Action::Nothing;
                }
                self.scrolled = 0;
                Action::Patch
            }
            Pane::Patch => {
                self.scroll(key);
                Action::Nothing
            }
        }
    }

    /// Selections belong to one entry, and are reset for the next.
    fn begin_entry(&mut self) {
        self.file = 0;
        self.scrolled = 0;
        self.marked.clear();
    }

    fn scroll(&mut self, key: Key) {
        self.scrolled = step(key, self.scrolled, usize::MAX, self.page);
    }
}

/// Returns by what an entry is known again after others came.
fn key_of(entry: &TimelineEntry) -> String {
    match entry {
        TimelineEntry::Message(message) => message.id.clone(),
        TimelineEntry::Operation(operation) => operation.id.clone(),
        TimelineEntry::Outside { time, from, to, .. } => format!("{time} {from:?} {to:?}"),
    }
}

/// Returns the row that a key leads to.
fn step(key: Key, at: usize, rows: usize, page: usize) -> usize {
    let last = rows.saturating_sub(1);
    let to = match key {
        Key::Up | Key::Char('k') => at.saturating_sub(1),
        Key::Down | Key::Char('j' | ' ') => at.saturating_add(1),
        Key::PageUp => at.saturating_sub(page),
        Key::PageDown => at.saturating_add(page),
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => last,
        _ => at,
    };
    to.min(last)
}
