//! `workspace`: which history a directory has.

use clap::{Args, Subcommand};

/// `workspace`.
#[derive(Debug, Args)]
pub struct WorkspaceArguments {
    /// The subcommand.
    #[command(subcommand)]
    pub command: WorkspaceCommand,
}

/// The commands of `workspace`.
#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// List the directories that have a history, most recently used first
    List,
    /// Continue the history of a directory that used to be here, or elsewhere
    #[command(long_about = ADOPT, after_help = ADOPT_EXAMPLES)]
    Adopt(AdoptArguments),
}

/// `workspace adopt`.
#[derive(Debug, Args)]
pub struct AdoptArguments {
    /// The history: its id, or the path where its directory was [default: the last one that was here]
    #[arg(value_name = "ID|PATH")]
    pub which: Option<String>,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

const ADOPT: &str = "\
Continue the history of a directory that used to be here, or elsewhere

A directory that is moved keeps its history. One that is cloned again, copied, or restored from a backup is \
a different directory: the old one's history is set aside and never mixed with what follows. This command makes \
it the history of the directory that is here now. If this directory already has a history, that one is set aside \
in turn, and the same command takes it over again. No file is changed.";

const ADOPT_EXAMPLES: &str = "\
Examples:
  ckpt-hook workspace adopt                    the directory that used to be at this path
  ckpt-hook workspace adopt --dry-run          which one that is
  ckpt-hook workspace adopt ~/src/old-name     the history of a directory that is no longer there
  ckpt-hook workspace list                     all of them, with their ids";
