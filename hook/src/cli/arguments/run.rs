//! The arguments of `run`.

use std::ffi::OsString;

use clap::Args;

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArguments {
    /// The text of the message [default: the command]
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// The name of the agent to record
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

The command has the terminal, and Ctrl-C reaches it. The exit code is the command's own, or 128 plus
the number of the signal that ended it; 125 if nothing could be recorded, so it was not started; 126
or 127 if it could not be started.";
