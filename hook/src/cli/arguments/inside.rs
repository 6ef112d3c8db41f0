//! The commands that run inside agents: like those for a terminal, but they never fail, because an agent does not show
//! the output of a command that does.

use clap::{Args, Subcommand};

use super::{RedoArguments, RevertArguments, StatusArguments};

/// `inside`.
#[derive(Debug, Args)]
pub struct InsideArguments {
    /// The command.
    #[command(subcommand)]
    pub command: InsideCommand,
}

/// The commands inside agents.
#[derive(Debug, Subcommand)]
pub enum InsideCommand {
    /// Go back to just before a message of the conversation
    Revert(InsideRevertArguments),
    /// Go forward again
    Redo(RedoArguments),
    /// Show what is reverted
    Status(StatusArguments),
}

/// `inside revert`.
#[derive(Debug, Args)]
pub struct InsideRevertArguments {
    /// The message: an id, `last~2`, or a number from the printed list [default: the newest]
    #[arg(value_name = "MESSAGE", conflicts_with_all = ["message", "step"])]
    pub target: Option<String>,
    /// As for a terminal.
    #[command(flatten)]
    pub revert: RevertArguments,
}
