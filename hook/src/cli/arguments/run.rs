//! What runs a command.

use std::ffi::OsString;

use clap::Args;

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArguments {
    /// What the message says [default: the command]
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// The agent's name that is recorded
    #[arg(long, value_name = "NAME", default_value = "run")]
    pub agent: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const RUN_EXAMPLES: &str = "\
Examples:
  ckpt-hook run -- npx prettier --write .           a message that can be reverted
  ckpt-hook run --prompt 'update deps' -- npm up    with words to find it by

The command has the terminal, Ctrl-C reaches it, and its exit code is this command's; 128 and the
number where a signal ended it, 125 where nothing could be recorded and it was not started, 126
and 127 where it could not be started.";
