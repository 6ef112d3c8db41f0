//! The output for people and programs: reports as text with colours, or as one JSON document.
//!
//! Pure functions over a [`View`] return texts as values, which are written in one place, here. A reader that is gone
//! is not a failure: a closed pipe ends the output quietly.

pub mod agent_names;
pub mod agents;
mod binary;
pub mod blame;
pub mod checkout;
pub mod columns;
pub mod config;
pub mod conversation;
pub mod data;
pub mod diff;
pub mod doctor;
pub mod exchange;
pub mod export;
pub mod failure;
pub mod files;
pub mod fold;
mod footer;
pub mod graph;
pub mod history;
pub mod html;
pub mod hunk;
mod kept;
pub mod label;
pub mod lines;
pub mod operation;
pub mod paint;
pub mod patch;
pub mod progress;
pub mod recover;
pub mod show;
pub mod status;
pub mod table;
pub mod text;
pub mod time;
pub mod upkeep;
pub mod when;
pub mod workspace;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ckpt_process::failure::Failure;
use ckpt_process::surroundings::{self, Environment};
use ckpt_store::sessions::Notices;
use console::Term;
use serde::Serialize;

use paint::{Paint, When};
use text::wrap;
use time::TimeContext;

/// How things are shown to people.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The colours.
    pub paint: Paint,
    /// The width of the terminal in columns, or `None` without a terminal.
    pub width: Option<usize>,
    /// The format of times.
    pub times: TimeContext,
    /// Whether details are asked for.
    pub verbose: bool,
}

/// With fewer columns than these, what stands side by side is shown below each other, and lists leave out what is least
/// needed.
const NARROW_WIDTH: usize = 60;

impl View {
    /// Returns the same for a browser, which has keys in the place of commands, and knows the workspace.
    pub fn for_browser(self) -> Self {
        Self {
            paint: self.paint.for_commands(true, ""),
            ..self
        }
    }

    /// Returns whether the terminal is narrow. Output that goes elsewhere has all the room.
    pub fn is_narrow(&self) -> bool {
        self.width.is_some_and(|columns| columns < NARROW_WIDTH)
    }
}

/// A terminal counts as no wider than this. The other end says its size, and a frame takes memory for each cell.
pub const MOST_COLUMNS: u16 = 1_000;
/// A terminal counts as no higher than this.
pub const MOST_ROWS: u16 = 500;

/// Returns the lines and columns of a terminal, as far as they are used.
pub fn size_of(terminal: &Term) -> (usize, usize) {
    let (rows, columns) = terminal.size();
    (
        usize::from(rows.min(MOST_ROWS)),
        usize::from(columns.min(MOST_COLUMNS)),
    )
}

/// Returns the columns of the terminal on stdout, or `None` without one.
pub fn columns_of_stdout() -> Option<usize> {
    columns(Term::stdout())
}

/// Returns the columns of a stream, as far as they are used; `None` if it is no terminal.
fn columns(stream: Term) -> Option<usize> {
    let size = stream.is_term().then(|| stream.size_checked())?;
    size.map(|(_, columns)| usize::from(columns.min(MOST_COLUMNS)))
        .filter(|columns| *columns > 0)
}

/// The indentation of the rest of a long line.
const INDENT: usize = 2;

/// The options of the output.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// One JSON document instead of text.
    pub json: bool,
    /// The document on one line, after lines of progress.
    pub json_lines: bool,
    /// Only problems.
    pub quiet: bool,
    /// Details.
    pub verbose: bool,
    /// Colours.
    pub color: When,
    /// The workspace that was named.
    pub workspace: Option<PathBuf>,
}

/// The streams of a command that people use.
pub struct Output {
    json: bool,
    json_lines: bool,
    quiet: bool,
    view: View,
    errors: Paint,
    /// The width of the terminal on stderr.
    error_width: Option<usize>,
    /// How many lines the terminal on stdout has.
    height: Option<usize>,
}

impl Output {
    /// Returns the output for these streams and options.
    pub fn new(wanted: OutputOptions, surroundings: &Environment) -> Self {
        let color = |terminal: bool| match wanted.color {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !surroundings.no_color,
        };
        let lines = Term::stdout()
            .size_checked()
            .map(|(lines, _)| usize::from(lines.min(MOST_ROWS)));
        // A pseudo-terminal without a size has 0 columns.
        let terminal = io::stdout().is_terminal();
        let width = columns_of_stdout();
        let given = wanted.workspace.as_ref().map(|workspace| {
            let word = kept::word(workspace.as_os_str().as_bytes());
            // Once for the process.
            &*format!(" --workspace {word}").leak()
        });
        let paint = Paint::new(color(terminal));
        let view = View {
            paint: paint.for_commands(width.is_some(), given.unwrap_or_default()),
            width,
            times: TimeContext::local(surroundings::now()),
            verbose: wanted.verbose,
        };
        Self {
            json: wanted.json,
            json_lines: wanted.json_lines,
            quiet: wanted.quiet,
            view,
            errors: Paint::new(color(io::stderr().is_terminal())),
            error_width: columns(Term::stderr()),
            height: lines.filter(|lines| terminal && *lines > 0),
        }
    }

    /// The look of output for people.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns whether programs are to read the output.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Returns whether progress is written as lines of JSON.
    pub fn tells_progress(&self) -> bool {
        self.json_lines
    }

    /// Returns whether a user at a terminal can answer.
    pub fn can_ask(&self) -> bool {
        !self.json
            && io::stdin().is_terminal()
            && io::stdout().is_terminal()
            && io::stderr().is_terminal()
    }

    /// Returns whether a progress bar is welcome.
    pub fn shows_progress(&self) -> bool {
        !self.json && !self.quiet && io::stderr().is_terminal()
    }

    /// Writes a report: as JSON, or as the text that `render` makes of it.
    pub fn report<R: Serialize>(
        &self,
        report: &R,
        render: impl FnOnce(&View) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            self.document(report)
        } else {
            self.text(&render(&self.view))
        }
    }

    /// Writes the report on something that is done. If that fails, the failure says that it is done, as `done` does.
    pub fn report_done<R: Serialize>(
        &self,
        report: &R,
        done: Option<&str>,
        render: impl FnOnce(&View) -> String,
    ) -> Result<(), Failure> {
        self.report(report, render)
            .map_err(|failure| failure.after(done.map(str::to_owned)))
    }

    /// Writes text for people on stdout; on a terminal, long lines are broken between words.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        self.bytes(self.wrapped(text).as_bytes())
    }

    /// Returns text wrapped to the terminal.
    pub fn wrapped<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.view.width {
            Some(columns) => wrap(text, columns, INDENT).into(),
            None => text.into(),
        }
    }

    /// Returns the number of lines of the terminal, or `None` if no person reads text on one.
    pub fn height(&self) -> Option<usize> {
        self.height.filter(|_| !self.json)
    }

    /// Returns whether only problems are shown.
    pub fn is_quiet(&self) -> bool {
        self.quiet && !self.json
    }

    /// Writes bytes on stdout.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        write_bytes(bytes)
    }

    /// Writes one JSON document on one line.
    pub fn line<R: Serialize>(&self, report: &R) -> Result<(), Failure> {
        write_line(report)
    }

    fn document<R: Serialize>(&self, report: &R) -> Result<(), Failure> {
        if self.json_lines {
            return self.line(report);
        }
        let json =
            serde_json::to_string_pretty(report).map_err(|error| Failure::output(error.into()))?;
        self.bytes(format!("{}\n", text::safe_json(&json)).as_bytes())
    }

    /// Reports a failure: as JSON on stdout, or for people on stderr.
    pub fn failure(&self, failure: &Failure) {
        if self.json {
            // There is no other stream on which to report it.
            let _ = self.document(&failure::document(failure));
        } else {
            self.failure_beside(failure);
        }
    }

    /// Says on stderr why something failed after the answer of the command was printed.
    pub fn failure_beside(&self, failure: &Failure) {
        self.tell(&failure::render(failure, self.errors));
    }

    /// Says on stderr what went wrong in hooks since the last command.
    pub fn warn(&self, notices: &Notices) {
        self.tell(&failure::notices(notices, self.errors));
    }

    /// Warns of one thing, and says what to do.
    pub fn warn_of(&self, sentence: &str, hint: &str) {
        self.tell(&failure::warning(&[sentence.to_owned()], hint, self.errors));
    }

    /// Writes text for people on stderr, as wide as the terminal.
    pub fn tell(&self, text: &str) {
        match self.error_width {
            Some(columns) => write_error(&wrap(text, columns, INDENT)),
            None => write_error(text),
        }
    }
}

/// Writes text on stderr, if possible.
pub fn write_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes one JSON document on one line of stdout, from any thread.
pub fn write_line<R: Serialize>(report: &R) -> Result<(), Failure> {
    let json = serde_json::to_string(report).map_err(|error| Failure::output(error.into()))?;
    write_bytes(format!("{}\n", text::safe_json(&json)).as_bytes())
}

fn write_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stream = io::stdout().lock();
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(error)),
        _ => Ok(()),
    }
}
