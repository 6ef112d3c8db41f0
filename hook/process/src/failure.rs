//! Why a command did not succeed, and its exit code; `ckpt-hook --help` lists them.

use std::io;
use std::panic::Location;

use ckpt_schema::report::{CandidateReport, FailureKind};
use ckpt_store::model::address;
use ckpt_store::{Error, ErrorKind};
use clap::error::ErrorKind as ArgumentsErrorKind;

/// Everything that was asked for is done.
pub const DONE: u8 = 0;
/// It failed, and nothing was changed.
pub const FAILED: u8 = 1;
/// The arguments make no sense.
pub const USAGE: u8 = 2;
/// Something was done, and something was left.
pub const PARTIAL: u8 = 3;
/// What was asked for is unknown, or not there any more.
pub const UNAVAILABLE: u8 = 4;
/// An agent is working.
pub const BUSY: u8 = 5;

/// Why nothing is listed that a session has only through its messages.
pub const NOT_A_SESSION: &str = "a session is shown by its messages";

/// Returns where a panic was, for its report: the message may quote a file.
pub fn place_of_panic(place: Option<&Location<'_>>) -> String {
    place.map_or_else(|| UNKNOWN_PLACE.to_owned(), ToString::to_string)
}

/// Where a panic was that says nothing about that.
pub const UNKNOWN_PLACE: &str = "an unknown place";

/// A command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The library's reason.
    Store(Error),
    /// Arguments that clap refuses.
    Arguments(clap::Error),
    /// Arguments that we refuse: what is wrong, and what to do.
    Usage(String, Option<String>),
}

impl Failure {
    /// Returns the failure to write on stdout.
    pub fn output(error: io::Error) -> Self {
        Self::Store(Error::failed("cannot write the output").because(error))
    }

    /// Returns a failure about arguments.
    pub fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage(what.into(), Some(hint.into()))
    }

    /// Says what was done before it failed.
    pub fn after(self, notes: impl IntoIterator<Item = String>) -> Self {
        match self {
            Self::Store(error) => Self::Store(error.after(notes)),
            Self::Arguments(_) | Self::Usage(..) => self,
        }
    }

    /// The work that was done before it failed.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Store(error) => error.notes(),
            Self::Arguments(_) | Self::Usage(..) => &[],
        }
    }

    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Store(error) => match error.kind {
                ErrorKind::Failed | ErrorKind::Stale | ErrorKind::Late => FAILED,
                ErrorKind::Usage => USAGE,
                ErrorKind::Unavailable | ErrorKind::Unknown | ErrorKind::Ambiguous => UNAVAILABLE,
                ErrorKind::Busy => BUSY,
                ErrorKind::Unfinished => PARTIAL,
            },
            Self::Arguments(_) | Self::Usage(..) => USAGE,
        }
    }

    /// Returns the kind, for programs.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Store(error) => match error.kind {
                ErrorKind::Failed => FailureKind::Failed,
                ErrorKind::Usage => FailureKind::Usage,
                ErrorKind::Unavailable => FailureKind::Unavailable,
                ErrorKind::Unknown => FailureKind::Unknown,
                ErrorKind::Ambiguous => FailureKind::Ambiguous,
                ErrorKind::Busy => FailureKind::Busy,
                ErrorKind::Stale => FailureKind::Stale,
                ErrorKind::Unfinished => FailureKind::Unfinished,
                ErrorKind::Late => FailureKind::Late,
            },
            Self::Arguments(_) | Self::Usage(..) => FailureKind::Usage,
        }
    }

    /// Returns the candidates for an ambiguous id.
    pub fn candidates(&self) -> &[CandidateReport] {
        match self {
            Self::Store(error) => error.candidates(),
            Self::Arguments(_) | Self::Usage(..) => &[],
        }
    }

    /// The failure in one line.
    pub fn message(&self) -> String {
        match self {
            Self::Store(error) => error.to_string(),
            Self::Arguments(error) => in_one_line(error),
            Self::Usage(what, _) => what.clone(),
        }
    }

    /// Returns the causes, outermost first.
    pub fn causes(&self) -> Vec<String> {
        match self {
            Self::Store(error) => error.causes(),
            Self::Arguments(_) | Self::Usage(..) => Vec::new(),
        }
    }

    /// The failure with its causes in one line.
    pub fn with_causes(&self) -> String {
        match self {
            Self::Store(error) => error.with_causes(),
            Self::Arguments(_) | Self::Usage(..) => self.message(),
        }
    }

    /// The hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint_text().map(str::to_owned),
            Self::Arguments(error) => Some(tip(error).unwrap_or_else(|| {
                "`ckpt-hook help` lists the commands and their options".to_owned()
            })),
            Self::Usage(_, hint) => hint.clone(),
        }
    }
}

/// The hint that clap gives: what was meant by an unknown command or option.
fn tip(error: &clap::Error) -> Option<String> {
    let text = address::hidden_in(&error.render().to_string());
    let mut lines = text.lines();
    lines.find_map(|line| Some(line.trim_start().strip_prefix("tip: ")?.to_owned()))
}

/// The fault that clap names, without its hints; its first paragraph names arguments and values on lines of
/// their own.
fn in_one_line(error: &clap::Error) -> String {
    let text = address::hidden_in(&error.render().to_string());
    if error.kind() == ArgumentsErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
        return format!("arguments are missing: `{}`", usage.unwrap_or("ckpt-hook"));
    }
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty());
    let line = paragraph.map(str::trim).collect::<Vec<_>>().join(" ");
    line.trim_start_matches("error: ").to_owned()
}

/// Returns whether clap's error is the help or the version that was asked for.
pub fn is_help(error: &clap::Error) -> bool {
    !error.use_stderr()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}
