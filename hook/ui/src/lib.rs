//! `ui`: the history on the whole screen. `model`, and `planned` for a plan, decide what a key does; `view`, `plan_view`
//! and `bars` how everything looks, `about` what is said; `keys` which keys there are; and `screen` has the
//! terminal. This file and `plan` work with the store.

mod about;
mod bars;
mod keys;
mod model;
mod parts;
mod plan;
mod plan_choice;
mod plan_view;
mod screen;
#[cfg(test)]
mod tests;
mod view;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use ckpt_command::changes::{ChangesArguments, ChangesView};
use ckpt_command::invocation::Invocation;
use ckpt_command::operation::last;
use ckpt_output::lines::{DiffOptions, MovedLines};
use ckpt_output::patch::FileSides;
use ckpt_output::time::TimeContext;
use ckpt_output::{
    MOST_COLUMNS, Output, View, blame, diff, failure, graph, history, patch, show, text,
};
use ckpt_process::failure::Failure;
#[cfg(debug_assertions)]
use ckpt_process::fault;
use ckpt_process::surroundings;
use ckpt_schema::report::{ChangeReport, TimelineEntry};
use ckpt_store::model::instruction::Surface;
use ckpt_store::model::label::Label;
use ckpt_store::query::{DiffRequest, LogFilter};
use ckpt_store::{Error, Store};
use clap::Args;
use ratatui::crossterm::event::{self, Event};

use about::About;
use graph::RowNames;
use model::{Model, Popup, UiAction};
use plan::Planned;
use screen::Screen;

/// `ui`.
#[derive(Debug, Default, Args)]
#[command(after_help = UI_EXAMPLES)]
pub struct UiArguments {
    /// Begin with the operations
    #[arg(long)]
    pub operations: bool,
}

const UI_EXAMPLES: &str = "\
Examples:
  ckpt-hook ui                  messages, operations and your own changes; their files and patches
  ckpt-hook ui --operations     what was reverted and restored

Keys: Enter opens, Tab marks files or hunks, / filters prompts, paths and contents, r shows what a \
revert would do (a: of this message alone), u what an undo would, f goes forward; in a plan, Space \
leaves a file or hunk out, o takes one all the same, and y does it. ? lists every key, q leaves. `ckpt-hook revert` without an id opens it as well.";

/// How often is looked whether a hook wrote something, while no key is pressed.
const TICK: Duration = Duration::from_millis(250);

/// For how long contents are searched before a key is looked for.
const SEARCHED_AT_ONCE: Duration = Duration::from_millis(30);

/// How many messages are searched in one question.
const MESSAGES_AT_ONCE: usize = 8;

/// How many lines of a longer patch are shown.
const PATCH_LINES: usize = 20_000;

/// Shows the browser until the user leaves it. Returns `false` if there is nothing to browse.
pub fn run(invocation: &Invocation, arguments: &UiArguments) -> Result<bool, Failure> {
    if !invocation.output.can_ask() || surroundings::is_read_by_no_person() {
        return Err(Failure::usage(
            "`ui` needs a terminal that a person reads",
            "`ckpt-hook log --graph` prints the same rows, `ckpt-hook show ID -p` the patch",
        ));
    }
    let mut browser = Browser::open(invocation)?;
    Surface::Keys.take();
    let ended = browse(&mut browser, arguments);
    Surface::CommandLine.take();
    ended
}

fn browse(browser: &mut Browser, arguments: &UiArguments) -> Result<bool, Failure> {
    browser.model.are_operations = arguments.operations;
    browser.load_list()?;
    if browser.model.entries.is_empty() && !arguments.operations {
        return Ok(false);
    }
    let mut screen = Screen::take().map_err(lost)?;
    browser.stay(&mut screen)?;
    Ok(true)
}

fn lost(error: io::Error) -> Failure {
    Error::failed("cannot use this terminal")
        .because(error)
        .hint("`ckpt-hook log --graph` prints the same rows")
        .into()
}

/// The width of the terminal.
fn columns() -> u16 {
    ratatui::crossterm::terminal::size().map_or(80, |(columns, _)| columns.min(MOST_COLUMNS))
}

/// What has to be read again before the next frame.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    list: bool,
    files: bool,
    patch: bool,
}

/// The browser with what it works with.
struct Browser {
    /// Nothing but the browser writes on the terminal.
    invocation: Invocation,
    store: Store,
    directory: PathBuf,
    view: View,
    model: Model,
    due: Due,
    data_version: i64,
    /// The search for the filter in what messages changed.
    search: Option<Search>,
    /// The plan that is shown.
    planned: Option<Planned>,
}

/// A search in what messages changed, as far as it has come. It goes on while no key is pressed.
struct Search {
    text: String,
    /// The messages in which it was found.
    found: BTreeSet<String>,
    /// How many messages were looked at.
    messages: usize,
    /// From where to go on; `None` at the beginning.
    before: Option<i64>,
    is_over: bool,
}

impl Search {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            found: BTreeSet::new(),
            messages: 0,
            before: None,
            is_over: text.is_empty(),
        }
    }
}

impl Browser {
    fn open(invocation: &Invocation) -> Result<Self, Failure> {
        // Opened before the output is quiet, so that ids are as short here as everywhere.
        let mut store = invocation.open()?;
        let mut wanted = invocation.common.wanted();
        // What a command says on stderr would be written over the frame.
        wanted.quiet = true;
        let view = invocation.output.view().for_browser();
        let invocation = Invocation {
            common: invocation.common.clone(),
            surroundings: invocation.surroundings.clone(),
            config: invocation.config.clone(),
            output: Output::new(wanted, &invocation.surroundings),
            // The outer one tells it, once the screen is as it was.
            notices: OnceLock::new(),
            told: Once::new(),
            is_for_a_person: false,
            copy: OnceLock::new(),
            tidied: OnceLock::new(),
            brought: OnceLock::new(),
        };
        Ok(Self {
            directory: invocation.directory()?,
            data_version: store.data_version()?,
            invocation,
            store,
            view,
            model: Model::new(),
            search: None,
            planned: None,
            due: Due {
                files: true,
                ..Due::default()
            },
        })
    }

    /// Shows frames and takes keys.
    fn stay(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let mut is_drawn = false;
        loop {
            self.catch_up();
            if !is_drawn {
                self.draw(screen)?;
            }
            #[cfg(debug_assertions)]
            fault::strike();
            screen.heed_signals().map_err(lost)?;
            let is_searching = self.is_searching();
            let patience = if is_searching { Duration::ZERO } else { TICK };
            let mut comes = screen.wait(patience).map_err(lost)?;
            // A terminal that stands still costs nothing, least of all over ssh.
            is_drawn = !comes && !self.has_news()? && screen.is_full();
            if !comes && is_searching {
                self.search_on();
                is_drawn = false;
            }
            // Keys that are there already are taken before anything is read for the first of them.
            while comes {
                let action = self.action_of(event::read().map_err(lost)?);
                if action == UiAction::Quit {
                    return Ok(());
                }
                self.act(action, screen)?;
                comes = screen.wait(Duration::ZERO).map_err(lost)?;
            }
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let (model, view) = (&self.model, &self.view);
        let mut shown = None;
        let draw = |frame: &mut ratatui::Frame<'_>| {
            shown = Some(view::draw(frame, model, view));
        };
        screen.fit().map_err(lost)?;
        screen.terminal.draw(draw).map_err(lost)?;
        if let Some(shown) = shown {
            (self.model.scrolled, self.model.page) = (shown.scrolled, shown.page);
        }
        Ok(())
    }

    fn action_of(&mut self, event: Event) -> UiAction {
        match event {
            Event::Key(key) => {
                keys::of(key).map_or(UiAction::Nothing, |key| self.model.update(key))
            }
            Event::Paste(text) => self.model.paste(&text),
            // The rows of the list were cut to the former width.
            Event::Resize(..) => UiAction::List,
            _ => UiAction::Nothing,
        }
    }

    /// Returns whether a hook wrote something meanwhile.
    fn has_news(&mut self) -> Result<bool, Failure> {
        let version = self.store.data_version()?;
        let is_new = version != self.data_version;
        self.data_version = version;
        self.due.list |= is_new;
        if is_new && let Ok(prefixes) = self.store.prefixes() {
            text::know_new_ids(prefixes);
        }
        Ok(is_new)
    }

    /// Returns whether to search on: as long as the list has room for what is found.
    fn is_searching(&self) -> bool {
        let is_over = self.search.as_ref().is_none_or(|search| search.is_over);
        !is_over
            && !self.model.are_operations
            && self.model.entries.len() + self.model.folded < self.model.limit
    }

    /// Searches for as long as a key may wait.
    fn search_on(&mut self) {
        let begin = Instant::now();
        let Some(search) = &mut self.search else {
            return;
        };
        let before = search.found.len();
        while !search.is_over && begin.elapsed() < SEARCHED_AT_ONCE {
            let part = self.store.search(
                &self.directory,
                &search.text,
                search.before,
                MESSAGES_AT_ONCE,
            );
            match part {
                Ok(part) => {
                    search.found.extend(part.found);
                    search.messages += part.messages;
                    search.before = part.next;
                    search.is_over = part.next.is_none();
                }
                Err(error) => {
                    search.is_over = true;
                    self.model.notice = Some(error.to_string());
                }
            }
        }
        self.due.list |= search.found.len() > before;
        self.model.searched = (!search.is_over).then_some(search.messages);
    }

    /// Says that something goes on before it is begun.
    fn announce(&mut self, screen: &mut Screen, what: &str) -> Result<(), Failure> {
        self.model.notice = Some(format!("{what} …"));
        self.draw(screen)?;
        self.model.notice = None;
        Ok(())
    }

    fn act(&mut self, action: UiAction, screen: &mut Screen) -> Result<(), Failure> {
        match &action {
            UiAction::Plan(_) | UiAction::PlanAgain => self.announce(screen, "planning")?,
            UiAction::Apply => self.announce(screen, "writing the files")?,
            UiAction::Blame => self.announce(screen, "reading the history of the file")?,
            _ => {}
        }
        match action {
            UiAction::Nothing | UiAction::Quit => {}
            UiAction::List => self.due.list = true,
            UiAction::Files => self.due.files = true,
            UiAction::Patch => self.due.patch = true,
            UiAction::Interrupt => screen.interrupt().map_err(lost)?,
            UiAction::Suspend => screen.suspend().map_err(lost)?,
            UiAction::Copy(id) => {
                screen.copy(&id).map_err(lost)?;
                self.model.notice = Some(format!("copied {id}"));
            }
            UiAction::Blame => self.tell(Self::blame),
            UiAction::Plan(kind) => self.tell(|browser| browser.plan(kind)),
            UiAction::PlanAgain => self.tell(Self::plan_again),
            UiAction::PlanPatch => self.tell(Self::load_plan_patch),
            UiAction::Apply => self.tell(Self::apply),
            UiAction::Label(label) => self.tell(|browser| browser.label(&label)),
            UiAction::Everything => self.tell(Self::everything),
        }
        Ok(())
    }

    /// Does something. Where it fails, the browser stays, and says why.
    fn tell(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Failure>) {
        self.catch_up();
        if let Err(failure) = work(self) {
            self.model.lay(Popup::Text {
                title: "That did not work".to_owned(),
                text: failure::render(&failure, self.view.paint),
            });
        }
    }

    /// Reads what is due.
    fn catch_up(&mut self) {
        let due = std::mem::take(&mut self.due);
        if let Err(failure) = self.load(&due) {
            self.model.notice = Some(failure.message());
        }
    }

    /// Reads the list, the files of its message, and the patch of its file. Each shows what the one before chose, and
    /// is read again with it.
    fn load(&mut self, due: &Due) -> Result<(), Failure> {
        if due.list {
            self.load_list()?;
        }
        if due.list || due.files {
            self.load_files()?;
        }
        if due.list || due.files || due.patch {
            self.load_patch()?;
        }
        Ok(())
    }

    fn load_list(&mut self) -> Result<(), Failure> {
        self.view.times = TimeContext {
            now: surroundings::now(),
            ..self.view.times
        };
        let text = &self.model.filter;
        if self
            .search
            .as_ref()
            .is_none_or(|search| search.text != *text)
        {
            let search = self.search.insert(Search::new(text));
            self.model.searched = (!search.is_over).then_some(0);
        }
        let found = self.search.as_ref().map(|search| search.found.clone());
        let filter = LogFilter {
            limit: Some(self.model.limit),
            search: Some(text.clone()).filter(|text| !text.is_empty()),
            found: found.unwrap_or_default(),
            ..LogFilter::default()
        };
        let mut entries: Vec<TimelineEntry> = match self.model.are_operations {
            true => {
                let operations = self.store.operations(&self.directory, &filter)?.operations;
                operations
                    .into_iter()
                    .map(TimelineEntry::Operation)
                    .collect()
            }
            false => self.store.timeline(&self.directory, &filter)?.entries,
        };
        let view = View {
            width: Some(view::list_width(columns())),
            ..self.view
        };
        let listed = entries.len();
        let undos = history::fold_undos(&mut entries);
        self.model.folded = listed - entries.len();
        let rows = graph::rows(&entries, &undos, RowNames::Times, &view);
        self.model.list(entries, rows);
        let last = last(&mut self.store, &self.directory);
        self.model.no_undo = last.err().map(|failure| failure.message());
        Ok(())
    }

    fn load_files(&mut self) -> Result<(), Failure> {
        let entry = self.model.entry().cloned();
        let mut report = None;
        let files = match &entry {
            None => Ok(Vec::new()),
            Some(TimelineEntry::Outside { from, to, .. }) => match (from.clone(), to.clone()) {
                (Some(from), Some(to)) => self.between(from, to),
                _ => Ok(Vec::new()),
            },
            Some(TimelineEntry::Message(_) | TimelineEntry::Operation(_)) => {
                let id = self.model.id().unwrap_or_default().to_owned();
                self.store.show(&self.directory, &id).map(|shown| {
                    let files = show::changes_of(&shown).unwrap_or_default().to_vec();
                    report = Some(shown);
                    files
                })
            }
        };
        self.model.about = entry.map_or_else(About::default, |entry| {
            About::of(&entry, report.as_ref(), &self.view)
        });
        // Nothing of the former entry stays.
        let (files, failed) = match files {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        self.model.show_files(diff::whole(&files).collect());
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn between(&mut self, from: String, to: String) -> ckpt_store::Result<Vec<ChangeReport>> {
        let request = DiffRequest {
            from: Some(from),
            to: Some(to),
            paths: Vec::new(),
        };
        Ok(self.store.diff(&self.directory, &request)?.files)
    }

    fn load_patch(&mut self) -> Result<(), Failure> {
        let Some(change) = self.model.chosen_file().cloned() else {
            self.model.show_patch(Vec::new());
            return Ok(());
        };
        let sides = self.sides(&change)?;
        let shown = self.patch_lines(&change, &sides);
        self.model.show_patch(shown);
        Ok(())
    }

    /// Returns the lines of a patch, as many as are shown.
    fn patch_lines(&self, change: &ChangeReport, sides: &FileSides) -> Vec<String> {
        let moved = MovedLines::default();
        let view = View {
            width: Some(usize::MAX),
            ..self.view
        };
        let style = patch::style(&view, DiffOptions::default(), &moved);
        let bytes = patch::file(change, sides, &style);
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(str::to_owned);
        let mut shown: Vec<String> = lines.by_ref().take(PATCH_LINES).collect();
        let left = lines.count() as u64;
        if left > 0 {
            let more = format!("… {} more", ckpt_store::model::number::count(left, "line"));
            shown.push(self.view.paint.faint(&more));
        }
        shown
    }

    fn sides(&mut self, change: &ChangeReport) -> Result<FileSides, Failure> {
        let directory = self.directory.clone();
        self.sides_in(&directory, change)
    }

    fn sides_in(&mut self, root: &Path, change: &ChangeReport) -> Result<FileSides, Failure> {
        let arguments = ChangesArguments::default();
        let blobs = self.store.blobs(root)?;
        let changes = ChangesView {
            invocation: &self.invocation,
            blobs: &blobs,
            arguments: &arguments,
        };
        changes.sides(change)
    }

    fn root(&mut self) -> Result<PathBuf, Failure> {
        Ok(PathBuf::from(
            self.store.status(&self.directory, None)?.workspace,
        ))
    }

    fn blame(&mut self) -> Result<(), Failure> {
        let Some(file) = self.model.chosen_file().cloned() else {
            return Ok(());
        };
        let path = self
            .root()?
            .join(OsStr::from_bytes(&text::bytes(&file.path)));
        let blamed = self.store.blame(&self.directory, &path)?;
        self.model.lay(Popup::Text {
            title: format!("Who wrote {}", text::path(&file.path)),
            text: blame::render(&blamed.report, &blamed.bytes, &self.fitting()),
        });
        Ok(())
    }

    /// Gives the chosen message a label instead of the one that it has.
    fn label(&mut self, label: &str) -> Result<(), Failure> {
        let Some(TimelineEntry::Message(message)) = self.model.entry().cloned() else {
            return Ok(());
        };
        let (label, before) = (label.trim(), message.labels.first());
        if before.is_some_and(|before| before == label) {
            return Ok(());
        }
        if !label.is_empty() {
            Label::new(label).map_err(|problem| {
                Failure::usage(
                    format!("`{}` cannot be a label: {problem}", text::safe(label)),
                    "a label is a short text that does not look like an id, such as `before lunch`",
                )
            })?;
            self.store.label(&self.directory, &message.id, label)?;
        }
        if let Some(before) = before {
            self.store.delete_label(&self.directory, before)?;
        }
        self.due.list = true;
        Ok(())
    }

    /// Shows everything that is known of the selected entry.
    fn everything(&mut self) -> Result<(), Failure> {
        let id = self.model.id().unwrap_or_default().to_owned();
        let report = self.store.show(&self.directory, &id)?;
        let parts = show::ShownParts {
            steps: true,
            no_files: false,
        };
        let text = show::show(&report, parts, &self.fitting());
        self.model.lay(Popup::Text {
            title: "Everything that is known".to_owned(),
            text,
        });
        Ok(())
    }

    /// Returns the view of a text that lies over the panes.
    fn fitting(&self) -> View {
        View {
            width: Some(usize::from(columns())),
            ..self.view
        }
    }
}
