//! What asks about the history, and `snapshot`, which adds to it by hand.

use std::path::PathBuf;

use clap::Args;

use super::ChangesArguments;

/// `status`.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// The session [default: the newest of this workspace]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

/// `log`.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// Only this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub limit: Option<usize>,
    /// Messages of every workspace, not only of this one
    #[arg(long)]
    pub everywhere: bool,
    /// List reverts, redos and restores instead of messages
    #[arg(long, conflicts_with_all = ["session", "limit", "everywhere"])]
    pub operations: bool,
}

/// `show`.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArguments {
    /// The message, step, session, operation or snapshot
    #[arg(value_name = "ID")]
    pub id: String,
    /// Step by step, not in all
    #[arg(long)]
    pub steps: bool,
    /// How its changes are shown.
    #[command(flatten)]
    pub changes: ChangesArguments,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  ckpt-hook show last                     what the newest message did, and nothing that came after it
  ckpt-hook show 7c1e -p                  as a patch
  ckpt-hook show 7c1e -p | git apply -R   take it back by hand
  ckpt-hook show 7c1e --steps             step by step
  ckpt-hook show 7c1e --html page.html    a page to read in a browser";

/// `sessions`.
#[derive(Debug, Args)]
pub struct SessionsArguments {
    /// Sessions of every workspace, not only of this one
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
    /// How they are shown: as a patch where nothing is said.
    #[command(flatten)]
    pub changes: ChangesArguments,
    /// Show both sides in the program that git's diff.tool names, or $CKPT_HOOK_DIFFTOOL
    #[arg(long, conflicts_with_all = ["html", "stat", "name_only", "name_status"])]
    pub tool: bool,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  ckpt-hook diff                    what happened since just before the newest message
  ckpt-hook diff last~1 last        what the message before it did
  ckpt-hook diff 7c1e --stat        what happened since that message, as a summary
  ckpt-hook diff -w --word-diff     words, without white space
  ckpt-hook diff -- src/main.rs     only one file";

/// `snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotArguments {
    /// A label to find it by; an older snapshot that has it gives it up
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Read every object of every snapshot, however long that takes; some seconds' worth without it
    #[arg(long)]
    pub all: bool,
}
