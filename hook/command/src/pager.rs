//! Output that is longer than the screen goes to the user's pager. It starts a process, and asks git for the pager of
//! the user or the system: a repository names none.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Stdio};

use ckpt_output::{Output, View};
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::posix;
use ckpt_process::surroundings;
use ckpt_process::{git_value, programs};
use serde::Serialize;

use crate::invocation::Invocation;

/// `less` ends at once where a page is enough, keeps colours, and leaves the text on the screen.
const LESS_OPTIONS: &str = "FRX";

/// The pager if none is set. Small systems have none.
const DEFAULT_PAGER: &str = "if command -v less >/dev/null; then exec less; else exec cat; fi";

/// Buffers text until it is longer than the screen, then passes it to the pager.
pub struct Pages<'a> {
    output: &'a Output,
    /// The number of lines of the screen, or `None` if nothing is paged.
    height: Option<usize>,
    is_patch: bool,
    kept: Vec<u8>,
    pager: Option<Child>,
    /// What the pager was given, until it is certain that it reads.
    sent: Option<Vec<u8>>,
    is_over: bool,
}

/// More than a pipe holds: a pager that was given so much has read some of it.
const PIPE_CAPACITY: usize = 1 << 20;

impl<'a> Pages<'a> {
    /// Begins a listing.
    pub fn new(invocation: &'a Invocation) -> Self {
        Self::on(&invocation.output)
    }

    /// Begins a listing before there is a command.
    pub fn on(output: &'a Output) -> Self {
        let height = output.height();
        Self {
            output,
            height: height.filter(|_| !surroundings::is_read_by_no_person()),
            is_patch: false,
            kept: Vec::new(),
            pager: None,
            sent: Some(Vec::new()),
            is_over: false,
        }
    }

    /// Begins a patch, for which git may have its own pager.
    pub fn of_patch(invocation: &'a Invocation) -> Self {
        Self {
            is_patch: true,
            ..Self::new(invocation)
        }
    }

    /// Returns whether the pager has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Adds text for people; long lines are broken between words.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(self.output.wrapped(text).as_bytes())
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.is_over {
            return Ok(());
        }
        let Some(height) = self.height else {
            return self.output.bytes(bytes);
        };
        if let Some(pager) = &mut self.pager {
            let is_read = pass_on(pager, bytes).map_err(Failure::output)?;
            self.note(bytes);
            return match is_read {
                true => Ok(()),
                false => self.without_reader(),
            };
        }
        self.kept.extend(bytes);
        let lines = self.kept.iter().filter(|byte| **byte == b'\n').count();
        // The shell's prompt takes a line.
        if lines < height {
            return Ok(());
        }
        self.pager = command(self.is_patch).and_then(|command| start(&command));
        if self.pager.is_none() {
            self.height = None;
        }
        let kept = std::mem::take(&mut self.kept);
        self.bytes(&kept)
    }

    /// Remembers what the pager was given.
    fn note(&mut self, bytes: &[u8]) {
        if let Some(sent) = &mut self.sent {
            sent.extend(bytes);
        }
        self.sent.take_if(|sent| sent.len() > PIPE_CAPACITY);
    }

    /// Writes what the pager was given if it could not be started; else it has ended.
    fn without_reader(&mut self) -> Result<(), Failure> {
        let Some(mut pager) = self.pager.take() else {
            return Ok(());
        };
        // It reads up to the end of its input.
        drop(pager.stdin.take());
        let status = pager.wait().map_err(Failure::output)?;
        // With these codes, a shell says that there is no such program.
        let was_started = !matches!(status.code(), Some(126 | 127));
        self.height = None;
        match self.sent.take() {
            Some(sent) if !was_started => self.output.bytes(&sent),
            _ => {
                self.is_over = true;
                Ok(())
            }
        }
    }

    /// Writes what is buffered, or waits for the pager to end.
    pub fn end(mut self) -> Result<(), Failure> {
        if self.pager.is_some() {
            return self.without_reader();
        }
        self.output.bytes(&self.kept)
    }
}

/// Returns whether the pager still reads.
fn pass_on(pager: &mut Child, bytes: &[u8]) -> io::Result<bool> {
    let Some(stream) = &mut pager.stdin else {
        return Ok(false);
    };
    match stream.write_all(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// Returns the command line of the pager, or `None` without one.
fn command(is_patch: bool) -> Option<OsString> {
    let command = surroundings::pager("CKPT_HOOK_PAGER")
        .or_else(|| is_patch.then(of_git).flatten())
        .or_else(|| surroundings::pager("PAGER"))
        .unwrap_or_else(|| DEFAULT_PAGER.into());
    (!command.is_empty() && command != "cat").then_some(command)
}

fn of_git() -> Option<OsString> {
    ["pager.diff", "core.pager"].into_iter().find_map(git_value)
}

/// Starts it through a shell, as git does. From then on, Ctrl-C is for the pager.
fn start(command: &OsString) -> Option<Child> {
    let mut pager = programs::named("sh");
    pager.arg("-c").arg(command).stdin(Stdio::piped());
    if surroundings::variable("LESS").is_none() {
        pager.env("LESS", LESS_OPTIONS);
    }
    // What is written is UTF-8 in every locale.
    if surroundings::variable("LESSCHARSET").is_none() {
        pager.env("LESSCHARSET", "utf-8");
    }
    let child = pager.spawn().ok()?;
    posix::ignore_interrupts();
    Some(child)
}

/// Writes a report: as JSON, or as the text that `render` makes of it, page by page.
pub fn paged<R: Serialize>(
    invocation: &Invocation,
    report: &R,
    render: impl FnOnce(&View) -> String,
) -> Result<u8, Failure> {
    let output = &invocation.output;
    if output.is_json() {
        output.report(report, |_| String::new())?;
    } else {
        let mut pages = Pages::new(invocation);
        pages.text(&render(output.view()))?;
        pages.end()?;
    }
    Ok(DONE)
}
