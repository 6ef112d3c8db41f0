//! `ui`: the history on the whole screen. `model` decides what a key does, `view` how it looks, `keys` which keys there are, `screen`
//! has the terminal; here is what is done with the store.

mod keys;
mod model;
#[cfg(test)]
mod sample;
mod screen;
#[cfg(test)]
mod tests;
mod view;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use ckpt_schema::report::{ChangeReport, OperationReport, Outcome, TimelineEntry};
use ckpt_store::query::{DiffRequest, LogFilter};
use ckpt_store::revert::Before;
use ckpt_store::{Error, RevertRequest, Store, Unclear};
use ratatui::crossterm::event::{self, Event};

use super::changes::Changes;
use super::{empty, undo};
use crate::cli::arguments::{ChangesArguments, UiArguments};
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::lines::{DiffOptions, Moved};
use crate::output::operation::{self, Around};
use crate::output::time::Times;
use crate::output::{Output, View, blame, failure, graph, patch, show, text};
#[cfg(debug_assertions)]
use crate::process::fault;
use crate::surroundings;
use model::{Action, Model, Overlay, Pane};
use screen::Screen;

/// How often is looked whether a hook wrote something, while no key is pressed.
const TICK: Duration = Duration::from_millis(250);

/// How many lines of a longer patch are shown.
const PATCH_LINES: usize = 20_000;

/// Shows the browser until somebody leaves it.
pub fn run(invocation: &Invocation, arguments: &UiArguments) -> Result<u8, Failure> {
    if !invocation.output.can_ask() || surroundings::is_read_by_no_person() {
        return Err(Failure::usage(
            "`ui` needs a terminal with somebody at it",
            "`ckpt-hook log --graph` prints the same rows, `ckpt-hook show ID -p` the patch",
        ));
    }
    let mut browser = Browser::open(invocation)?;
    browser.model.are_operations = arguments.operations;
    browser.load_list()?;
    if browser.model.entries.is_empty() && !arguments.operations {
        return empty::say(invocation, "No messages were recorded here.");
    }
    let mut screen = Screen::take().map_err(lost)?;
    browser.stay(&mut screen)?;
    Ok(DONE)
}

fn lost(error: io::Error) -> Failure {
    Error::failed("cannot use this terminal")
        .because(error)
        .hint("`ckpt-hook log --graph` prints the same rows")
        .into()
}

/// Returns how wide the terminal is.
fn columns() -> u16 {
    ratatui::crossterm::terminal::size().map_or(80, |(columns, _)| columns)
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
}

impl Browser {
    fn open(invocation: &Invocation) -> Result<Self, Failure> {
        let mut wanted = invocation.common.wanted();
        wanted.quiet = true;
        let view = *invocation.output.view();
        let invocation = Invocation {
            common: invocation.common.clone(),
            surroundings: invocation.surroundings.clone(),
            config: invocation.config.clone(),
            output: Output::new(wanted, &invocation.surroundings),
        };
        let mut store = invocation.open()?;
        Ok(Self {
            directory: invocation.directory()?,
            data_version: store.data_version()?,
            invocation,
            store,
            view,
            model: Model::new(),
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
            let mut comes = event::poll(TICK).map_err(lost)?;
            // Nobody pays for a terminal that stands still, least of all over ssh.
            is_drawn = !comes && !self.has_news()?;
            // Keys that are there already are taken before anything is read for the first of them.
            while comes {
                let action = self.action_of(event::read().map_err(lost)?);
                if action == Action::Quit {
                    return Ok(());
                }
                self.act(action, screen)?;
                comes = event::poll(Duration::ZERO).map_err(lost)?;
            }
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let (model, view) = (&self.model, &self.view);
        let mut shown = None;
        let draw = |frame: &mut ratatui::Frame<'_>| {
            shown = Some(view::draw(frame, model, view));
        };
        screen.terminal.draw(draw).map_err(lost)?;
        if let Some(shown) = shown {
            (self.model.scrolled, self.model.page) = (shown.scrolled, shown.page);
        }
        Ok(())
    }

    fn action_of(&mut self, event: Event) -> Action {
        match event {
            Event::Key(key) => keys::of(key).map_or(Action::Nothing, |key| self.model.update(key)),
            Event::Paste(text) => self.model.paste(&text),
            Event::Resize(..) => Action::List,
            _ => Action::Nothing,
        }
    }

    /// Returns whether a hook wrote something meanwhile.
    fn has_news(&mut self) -> Result<bool, Failure> {
        let version = self.store.data_version()?;
        let is_new = version != self.data_version;
        self.data_version = version;
        self.due.list |= is_new;
        Ok(is_new)
    }

    fn act(&mut self, action: Action, screen: &mut Screen) -> Result<(), Failure> {
        match action {
            Action::Nothing | Action::Quit => {}
            Action::List => self.due.list = true,
            Action::Files => self.due.files = true,
            Action::Patch => self.due.patch = true,
            Action::Interrupt => screen.interrupt().map_err(lost)?,
            Action::Suspend => screen.suspend().map_err(lost)?,
            Action::Copy(id) => {
                screen.copy(&id).map_err(lost)?;
                self.model.notice = Some(format!("copied {id}"));
            }
            Action::Blame => self.tell(Self::blame),
            Action::Plan { take_unclear } => self.tell(|browser| browser.plan(take_unclear)),
            Action::Apply(token) => self.tell(|browser| {
                let report = browser.store.apply(&token, false)?;
                browser.done(&report, false)
            }),
            Action::Undo => self.tell(|browser| {
                let asked = undo::Undo::default();
                let (report, is_part) = undo::undo(&mut browser.store, &browser.directory, asked)?;
                browser.done(&report, is_part)
            }),
        }
        Ok(())
    }

    /// Does something. Where it fails, the browser stays, and says why.
    fn tell(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Failure>) {
        self.catch_up();
        if let Err(failure) = work(self) {
            self.model.lay(Overlay::Text {
                title: "That did not work".to_owned(),
                text: failure::render(&failure, self.view.paint),
            });
        }
    }

    /// Reads what is due.
    fn catch_up(&mut self) {
        let due = std::mem::take(&mut self.due);
        let read = |browser: &mut Self| {
            if due.list {
                browser.load_list()?;
            }
            if due.list || due.files {
                browser.load_files()?;
            }
            if due.list || due.files || due.patch {
                browser.load_patch()?;
            }
            Ok::<(), Failure>(())
        };
        if let Err(failure) = read(self) {
            self.model.notice = Some(failure.message());
        }
    }

    fn load_list(&mut self) -> Result<(), Failure> {
        self.view.times = Times {
            now: surroundings::now(),
            ..self.view.times
        };
        let filter = LogFilter {
            limit: Some(self.model.limit),
            search: Some(self.model.filter.clone()).filter(|text| !text.is_empty()),
            ..LogFilter::default()
        };
        let entries: Vec<TimelineEntry> = match self.model.are_operations {
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
        let rows = graph::rows(&entries, &view);
        self.model.list(entries, rows);
        let last = undo::last(&mut self.store, &self.directory);
        self.model.no_undo = last.err().map(|failure| failure.message());
        Ok(())
    }

    fn load_files(&mut self) -> Result<(), Failure> {
        let files = match self.model.entry() {
            None => Ok(Vec::new()),
            Some(TimelineEntry::Outside { from, to, .. }) => match (from.clone(), to.clone()) {
                (Some(from), Some(to)) => self.between(from, to),
                _ => Ok(Vec::new()),
            },
            Some(TimelineEntry::Message(_) | TimelineEntry::Operation(_)) => {
                let id = self.model.id().unwrap_or_default().to_owned();
                let report = self.store.show(&self.directory, &id);
                report.map(|report| show::changes_of(&report).unwrap_or_default().to_vec())
            }
        };
        // Nothing stays that is of another entry.
        let (files, failed) = match files {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let shown: Vec<ChangeReport> = crate::output::diff::shown(&files)
            .map(|change| patch::rename(change, &files).unwrap_or_else(|| change.clone()))
            .collect();
        self.model.show_files(shown);
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
        self.model.patch.clear();
        let Some(change) = self.model.chosen_file().cloned() else {
            return Ok(());
        };
        let arguments = ChangesArguments::default();
        let mut changes = Changes {
            invocation: &self.invocation,
            store: &mut self.store,
            directory: &self.directory,
            arguments: &arguments,
        };
        let sides = changes.sides(&change)?;
        let moved = Moved::default();
        let view = View {
            width: Some(usize::MAX),
            ..self.view
        };
        let style = patch::style(&view, DiffOptions::default(), &moved);
        let bytes = patch::file(&change, &sides, &style);
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(str::to_owned);
        self.model.patch.extend(lines.by_ref().take(PATCH_LINES));
        let left = lines.count() as u64;
        if left > 0 {
            let more = format!("… {} more", text::count(left, "line"));
            self.model.patch.push(self.view.paint.faint(&more));
        }
        Ok(())
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
        self.model.lay(Overlay::Text {
            title: format!("Who wrote {}", text::path(&file.path)),
            text: blame::render(&blamed.report, &blamed.bytes, &self.fitting()),
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

    fn plan(&mut self, take_unclear: bool) -> Result<(), Failure> {
        let Some(TimelineEntry::Message(message)) = self.model.entry().cloned() else {
            return Ok(());
        };
        let mut only = Vec::new();
        if !self.model.marked.is_empty() {
            let root = self.root()?;
            let path = |path| root.join(OsStr::from_bytes(&text::bytes(path)));
            only = self.model.marked.iter().map(path).collect();
        }
        let is_part = !only.is_empty();
        let request = RevertRequest {
            message: message.id.clone(),
            session: Some(message.session.clone()),
            only,
            unclear: take_unclear.then_some(Unclear::Take),
            dry_run: true,
            ..RevertRequest::default()
        };
        let report = self.store.revert(&self.directory, &request)?;
        let around = Around {
            prompt: message.prompt.clone(),
            before: Before {
                is_part,
                ..Before::default()
            },
        };
        let token = match (&report.plan, report.busy) {
            (_, true) => Err("an agent is at work: wait for it, or stop it".to_owned()),
            (Some(token), false) => Ok(token.clone()),
            (None, false) => Err("there is nothing to do".to_owned()),
        };
        self.model.lay(Overlay::Plan {
            text: operation::render(&report, &around, &self.fitting()),
            token,
            has_unclear: !take_unclear && report.files.iter().any(|file| file.unclear),
        });
        Ok(())
    }

    /// Shows what was done: in a line where all went well, else with every file.
    fn done(&mut self, report: &OperationReport, is_part: bool) -> Result<(), Failure> {
        self.due.list = true;
        self.model.pane = Pane::List;
        self.model.marked.clear();
        let before = report
            .operation
            .as_deref()
            // It is done by now: not to know the way back is nothing to fail for.
            .and_then(|operation| self.store.before(operation).ok());
        let prompt = match report.message.as_deref() {
            Some(id) => self.store.prompt(&self.directory, id).ok().flatten(),
            None => None,
        };
        let around = Around {
            prompt,
            before: before.unwrap_or_else(|| Before {
                is_part,
                ..Before::default()
            }),
        };
        let is_well = report.outcome == Outcome::Restored && report.notes.is_empty();
        if is_well && !report.busy {
            let plain = View {
                paint: crate::output::paint::Paint::new(false),
                ..self.fitting()
            };
            let text = operation::render(report, &around, &plain);
            let first = text.lines().next().unwrap_or_default();
            self.model.notice = Some(format!("{first}; u undoes it"));
        } else {
            self.model.lay(Overlay::Text {
                title: "What was done".to_owned(),
                text: operation::render(report, &around, &self.fitting()),
            });
        }
        Ok(())
    }
}
