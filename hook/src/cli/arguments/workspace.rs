//! `workspace`: which history a directory has.

use clap::{Args, Subcommand};

/// `workspace`.
#[derive(Debug, Args)]
pub struct WorkspaceArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: WorkspaceCommand,
}

/// The commands of `workspace`.
#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// List the directories of which there is a history, those used last first
    List,
    /// Go on with the history of a directory that stood here before, or elsewhere
    #[command(long_about = ADOPT, after_help = ADOPT_EXAMPLES)]
    Adopt(AdoptArguments),
}

/// `workspace adopt`.
#[derive(Debug, Args)]
pub struct AdoptArguments {
    /// The history: its id, or the path where its directory was [default: the one that stood here last]
    #[arg(value_name = "ID|PATH")]
    pub which: Option<String>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

const ADOPT: &str = "\
Go on with the history of a directory that stood here before, or elsewhere

A directory that is moved keeps its history. One that is cloned again, copied, or restored from a backup is
another directory: what was recorded of the old one is set aside, never mixed with what follows. This makes it
the history of the directory that is here now. A history that this one had already is set aside in turn, and the
same command takes it over again. No file is changed.";

const ADOPT_EXAMPLES: &str = "\
Examples:
  ckpt-hook workspace adopt                    the history of the directory that stood at this path
  ckpt-hook workspace adopt --dry-run          which one that is
  ckpt-hook workspace adopt ~/src/old-name     that of a directory which is gone from there
  ckpt-hook workspace list                     all of them, with their ids";
