//! The arguments of what records: agents and scripts call it, and people put `run` before a command.

use std::ffi::OsString;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// `event`.
#[derive(Debug, Args)]
#[command(after_help = EVENTS)]
pub struct EventArguments {
    /// The agent that calls the hook
    #[arg(long, value_name = "NAME", default_value = "generic")]
    pub agent: String,
    /// The agent's own name for the event, in case its payload does not have it
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// What happens if something goes wrong.
    #[command(flatten)]
    pub strict: Strict,
}

const EVENTS: &str = "\
Events of `generic`: session_start, user_message, step_start, tool_start, tool_finish, step_finish, \
turn_end, session_end. An agent's own events that mean nothing here are ignored; with --strict they are an \
error.

Example:
  echo '{\"event\": \"turn_end\", \"session_id\": \"nightly\"}' | ckpt-hook event --strict";

/// How a recording command behaves.
#[derive(Clone, Copy, Debug, Args)]
pub struct Strict {
    /// Exit with 1 and say why if something goes wrong; without it, exit with 0 and print nothing
    #[arg(long)]
    pub strict: bool,
}

/// `step-start`, `step-finish`, `message`. Each takes all of them, so that a script may pass the same ones to all
/// three. Its help names those that mean something to it.
#[derive(Debug, Args)]
#[command(after_help = FLAG_EXAMPLES)]
pub struct FlagArguments {
    /// The conversation, by any name
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session: String,
    /// The user message [default: the session's newest; a new one for `message`]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// The step
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub step: Option<String>,
    /// What the user wrote
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// What happens if something goes wrong.
    #[command(flatten)]
    pub strict: Strict,
}

const FLAG_EXAMPLES: &str = "\
Example, a script as the agent:
  ckpt-hook message --session nightly --prompt \"update the dependencies\"
  ckpt-hook step-start --session nightly
  npm update
  ckpt-hook step-finish --session nightly
  ckpt-hook revert --message last          # undoes all of it";

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArguments {
    /// The text of the message [default: the command]
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub prompt: Option<String>,
    /// The name of the agent to record
    #[arg(
        long,
        value_name = "NAME",
        default_value = "run",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub agent: String,
    /// Push what is new to this repository afterwards, without asking
    #[arg(long, value_name = "REMOTE")]
    pub push: Option<String>,
    /// What the workspace is called there [default: the directory's name]
    #[arg(long, value_name = "NAME", requires = "push")]
    pub push_name: Option<String>,
    /// Encrypt it for this public key, as with `push --encrypt`
    #[arg(long, value_name = "KEY", requires = "push")]
    pub push_encrypt: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `acp`.
#[derive(Debug, Args)]
#[command(after_help = ACP_EXAMPLES)]
pub struct AcpArguments {
    /// The name of the agent to record [default: the program's]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
    /// The command that starts the agent, and its arguments
    #[arg(last = true, required = true, value_name = "AGENT")]
    pub command: Vec<OsString>,
}

const ACP_EXAMPLES: &str = "\
Examples:
  ckpt-hook acp -- auggie --acp                    what an editor has as the agent's command
  ckpt-hook acp --agent junie -- npx junie --acp   recorded under another name than the program's";

const RUN_EXAMPLES: &str = "\
Examples:
  ckpt-hook run -- npx prettier --write .           a message that can be reverted
  ckpt-hook run --prompt 'update deps' -- npm up    with words to find it by
  ckpt-hook run --push REMOTE -- agent -p 'fix it'  in a container that is gone afterwards

The command has the terminal, and Ctrl-C reaches it. The exit code is the command's own, or 128 plus \
the number of the signal that ended it; 125 if nothing could be recorded, so it was not started; 126 \
or 127 if it could not be started.";
