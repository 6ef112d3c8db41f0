//! What asks about the history, and `snapshot`, which adds to it by hand.

use std::path::PathBuf;

use clap::Args;

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
pub struct ShowArguments {
    /// The message, step, session, operation or snapshot
    #[arg(value_name = "ID")]
    pub id: String,
}

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
    /// Only a line a file, with its additions and deletions
    #[arg(long, conflicts_with = "name_only")]
    pub stat: bool,
    /// Only the names
    #[arg(long)]
    pub name_only: bool,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  ckpt-hook diff                    what happened since just before the newest message
  ckpt-hook diff last~1 last        what the message before it did
  ckpt-hook diff 7c1e --stat        what happened since that message, as a summary
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
