//! What asks about the history, and `snapshot`, which adds to it by hand.

use std::path::PathBuf;

use ckpt_command::changes::ChangesArguments;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

/// `status`.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// The session [default: the newest of this workspace]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print a few words for a shell's prompt, and nothing if nothing is reverted
    #[arg(long)]
    pub short: bool,
}

/// `log`.
#[derive(Debug, Args)]
#[command(after_help = LOG_EXAMPLES)]
pub struct LogArguments {
    /// Only messages that changed something at or below these
    #[arg(value_name = "PATH", conflicts_with = "everywhere")]
    pub paths: Vec<PathBuf>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "COUNT", allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Only what happened since this time: `2 days ago`, `yesterday`, `2026-03-01 12:00`; a plain number is the `seq`
    /// of a message, and lists the messages after it
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Only what happened until this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Only messages to this agent
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
    /// Only messages in this state
    #[arg(long, value_name = "STATE", value_enum)]
    pub state: Option<StateArgument>,
    /// Only messages whose prompt contains this text, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub grep: Option<String>,
    /// Only messages that added or removed this text in a file
    #[arg(short = 'S', value_name = "TEXT", conflicts_with = "everywhere", value_parser = NonEmptyStringValueParser::new())]
    pub text: Option<String>,
    /// List entries of every workspace, not only this one
    #[arg(long)]
    pub everywhere: bool,
    /// List reverts, redos and restores instead of messages
    #[arg(long)]
    pub operations: bool,
    /// Show messages, operations and changes from outside in one timeline
    #[arg(long, conflicts_with_all = ["everywhere", "operations"])]
    pub graph: bool,
    /// List every captured state, with its label
    #[arg(long, conflicts_with_all = ["everywhere", "operations", "graph", "paths", "session", "agent", "state", "grep", "text"])]
    pub snapshots: bool,
    /// Show the patch of each entry
    #[arg(short, long, conflicts_with_all = ["graph", "snapshots", "everywhere"])]
    pub patch: bool,
    /// Show one line per file below each entry
    #[arg(long, conflicts_with_all = ["patch", "graph", "snapshots", "everywhere"])]
    pub stat: bool,
    /// Show the names of the files below each entry
    #[arg(long, conflicts_with_all = ["patch", "stat", "graph", "snapshots", "everywhere"])]
    pub name_only: bool,
    /// Print the query for the views of the session store that lists the same
    #[arg(long, conflicts_with_all = ["graph", "snapshots", "patch", "stat", "name_only", "json", "json_lines"])]
    pub sql: bool,
    /// How entries are printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub format: Format,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateArgument {
    /// Its changes are in the workspace.
    Live,
    /// Reverted, and can be redone.
    Hidden,
    /// Reverted permanently.
    Discarded,
}

/// How entries of a list are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line, for programs that read it as it arrives.
    Jsonl,
}

const LOG_EXAMPLES: &str = "\
Examples:
  ckpt-hook log                              every message, newest first
  ckpt-hook log --since yesterday --stat     what happened since then, with the files
  ckpt-hook log --grep parser -n 5           the last five messages about the parser
  ckpt-hook log src/main.rs                  which messages changed a file
  ckpt-hook log -S 'fn main'                 which messages added or removed a text
  ckpt-hook log --graph                      messages, reverts and your own edits in one timeline
  ckpt-hook log --format jsonl | jq .prompt  for programs";

/// `show`.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArguments {
    /// The message, step, session, operation or snapshot
    #[arg(value_name = "ID", default_value = "last")]
    pub id: String,
    /// Show each step, not the sum
    #[arg(long, conflicts_with_all = ["stat", "names", "html"])]
    pub steps: bool,
    /// How its changes are shown.
    #[command(flatten)]
    pub changes: ChangesArguments,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  ckpt-hook show last                     what the newest message did, and nothing later
  ckpt-hook show 7c1e -p                  as a patch
  ckpt-hook show 7c1e -p | git apply -R   take it back by hand
  ckpt-hook show 7c1e --steps             step by step
  ckpt-hook show 7c1e --html page.html    a page to read in a browser";

/// `export`.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct ExportArguments {
    /// The session [default: the newest of this workspace]
    #[arg(value_name = "ID")]
    pub session: Option<String>,
    /// Write one self-contained page to read in a browser
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace the file of --html if it is there already
    #[arg(long, requires = "html")]
    pub force: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  ckpt-hook export > session.md           the newest session, as Markdown
  ckpt-hook export 7c1e --html page.html  as a page, with both sides of each change
  ckpt-hook export 7c1e --json            for programs

It has every prompt of the session, and what was changed for it, line by line.";

/// `sessions`.
#[derive(Debug, Args)]
pub struct SessionsArguments {
    /// List sessions of every workspace, not only this one
    #[arg(long)]
    pub everywhere: bool,
}

/// `diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArguments {
    /// The left side [default: the state before the newest message]
    #[arg(value_name = "FROM")]
    pub from: Option<String>,
    /// The right side [default: `current`, the workspace as it is]
    #[arg(value_name = "TO")]
    pub to: Option<String>,
    /// Only paths at or below these
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The presentation; a patch by default.
    #[command(flatten)]
    pub changes: ChangesArguments,
    /// Show both sides in the program that git's diff.tool or $CKPT_HOOK_DIFFTOOL names
    #[arg(long, conflicts_with_all = ["json", "json_lines", "html", "stat", "names", "patch", "context", "ignore_all_space", "word_diff", "side_by_side"])]
    pub tool: bool,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  ckpt-hook diff                    what happened since just before the newest message
  ckpt-hook diff last~1 last        what the message before it did
  ckpt-hook diff 7c1e --stat        what happened since that message, as a summary
  ckpt-hook diff -w --word-diff     word by word, ignoring white space
  ckpt-hook diff -- src/main.rs     only one file";

/// `snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotArguments {
    /// A label to find it by; it moves here from an older snapshot
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct DoctorArguments {
    /// Read every object of every snapshot, however long that takes; without it, read for some seconds
    #[arg(long)]
    pub all: bool,
    /// Build a new session store from what can be read of a damaged one, and set that one aside
    #[arg(long)]
    pub repair: bool,
    /// Write a file to attach to a bug report, without content, prompts or paths
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  ckpt-hook doctor                      is all well?
  ckpt-hook doctor --all                read every object, however long that takes
  ckpt-hook doctor --repair             repair the session store as well
  ckpt-hook doctor --report bug.json    what a bug report needs, and nothing of yours

Every run repairs damaged objects from the workspace or your repository.";
