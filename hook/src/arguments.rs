//! The command line: what design section 3 says, in clap's words. Nothing here decides or does anything.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Put my workspace back to how it was just before I sent that message.
#[derive(Debug, Parser)]
#[command(name = "ckpt-hook", version = version(), arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ckpt-hook demo                        see what it does, in a scratch folder
  ckpt-hook install claude-code         put the hook into an agent's settings
  ckpt-hook log                         the messages that were recorded
  ckpt-hook revert --message last       back to just before the newest message
  ckpt-hook unrevert                    and forward again

Ids: an agent's own message or session id, ours, any prefix that only one has, `last` (the newest
message), `last~2` (two before it).

Exit codes: 0 done, 1 failed and nothing changed, 2 usage, 3 done in part, 4 unknown or unavailable,
5 busy. What agents call (`event`, `step-start`, `step-finish`, `message`) always exits with 0 and
says nothing, unless --strict is given.

Environment: CKPT_HOOK_HOME the store, CKPT_HOOK_CONFIG the settings file, CKPT_HOOK_DISABLE=1 turns
the hooks off, CKPT_HOOK_LOG the log's level (off, error, warning, info, debug), NO_COLOR.";

/// The names of all commands, for the guard, which looks at the command line before clap does; a test compares them.
pub const COMMANDS: &[&str] = &[
    "revert",
    "redo",
    "unrevert",
    "status",
    "log",
    "show",
    "sessions",
    "diff",
    "snapshot",
    "restore",
    "install",
    "uninstall",
    "doctor",
    "demo",
    "event",
    "step-start",
    "step-finish",
    "message",
    "completions",
    "man",
    "help",
];

/// Options of every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Common {
    /// The store's directory [default: $CKPT_HOOK_HOME, else ckpt-hook in the user's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// A directory of the workspace that is meant [default: the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: When,
    /// Say more
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Say less
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless $NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Go back to just before a user message
    Revert(RevertArguments),
    /// Go one message forward again, or all the way
    Redo(RedoArguments),
    /// Go all the way forward again: the same as `redo --all`
    Unrevert(UnrevertArguments),
    /// Show what is reverted, and whether all is well
    Status(StatusArguments),
    /// List the messages that were recorded, newest first
    Log(LogArguments),
    /// Show a message, step, session, operation or snapshot
    Show(ShowArguments),
    /// List the sessions of this workspace, newest first
    Sessions(SessionsArguments),
    /// Show what differs between messages, steps, snapshots and `current`
    Diff(DiffArguments),
    /// Capture the workspace now, by hand, and print the snapshot's id
    Snapshot(SnapshotArguments),
    /// Put paths back to any captured state
    Restore(RestoreArguments),
    /// Put the hook into an agent's settings
    Install(InstallArguments),
    /// Take the hook out of an agent's settings
    Uninstall(InstallArguments),
    /// Check store, database, settings and installed hooks
    Doctor,
    /// Play a small session in a scratch folder, revert it and bring it back
    Demo,
    /// Read one hook payload (JSON) on stdin and record it: what agents' settings call
    Event(EventArguments),
    /// Record that a step begins: for scripts, by flags
    StepStart(FlagArguments),
    /// Record that a step ended: for scripts, by flags
    StepFinish(FlagArguments),
    /// Record that the user sent a message: for scripts, by flags
    Message(FlagArguments),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  ckpt-hook completions bash > ~/.local/share/bash-completion/completions/ckpt-hook"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write one for every command
    Man {
        /// A directory to write all pages to
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

/// `event`.
#[derive(Debug, Args)]
pub struct EventArguments {
    /// The agent that calls
    #[arg(long, value_name = "NAME", default_value = "generic")]
    pub agent: String,
    /// The agent's own name of the event, where its payload may not say
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// How it behaves.
    #[command(flatten)]
    pub strict: Strict,
}

/// How a recording command behaves.
#[derive(Clone, Copy, Debug, Args)]
pub struct Strict {
    /// Exit with 1 and say why where something goes wrong; without it: exit with 0 and say nothing
    #[arg(long)]
    pub strict: bool,
}

/// `step-start`, `step-finish`, `message`.
#[derive(Debug, Args)]
#[command(after_help = FLAG_EXAMPLES)]
pub struct FlagArguments {
    /// The conversation, by any name
    #[arg(long, value_name = "ID")]
    pub session: String,
    /// The user message [default: the session's newest; a new one for `message`]
    #[arg(long, value_name = "ID")]
    pub message: Option<String>,
    /// The step
    #[arg(long, value_name = "ID")]
    pub step: Option<String>,
    /// What the user wrote
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// How it behaves.
    #[command(flatten)]
    pub strict: Strict,
}

const FLAG_EXAMPLES: &str = "\
Example, a script as the agent:
  ckpt-hook message     --session nightly --prompt \"update the dependencies\"
  ckpt-hook step-start  --session nightly
  npm update
  ckpt-hook step-finish --session nightly
  ckpt-hook revert --message last          # all of it is undone";

/// `revert`.
#[derive(Debug, Args)]
#[command(after_help = REVERT_EXAMPLES)]
pub struct RevertArguments {
    /// The message to go back to: its changes, and all that came after it, are undone. On a terminal you can choose one
    #[arg(long, value_name = "ID", conflicts_with = "step", overrides_with = "message")]
    pub message: Option<String>,
    /// Undo one step alone, and nothing that came after it
    #[arg(long, value_name = "ID")]
    pub step: Option<String>,
    /// The session [default: the newest of this workspace that knows the message]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only this path, or what is below it; may be given more than once
    #[arg(long, value_name = "PATH")]
    pub only: Vec<PathBuf>,
    /// What to do with files that are not what the agent left
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub on_conflict: OnConflict,
    /// Also move HEAD, its branch and the index back; without it they stay as they are
    #[arg(long, conflicts_with_all = ["only", "step"])]
    pub git: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Go on though an agent is at work
    #[arg(long)]
    pub force: bool,
}

const REVERT_EXAMPLES: &str = "\
Examples:
  ckpt-hook revert                                choose a message, see the plan, say yes or no
  ckpt-hook revert --message last --dry-run       the plan for the newest message
  ckpt-hook revert --message last~2               this message and the two after it
  ckpt-hook revert --message 7c1e --only src/     only what is below src/

Files that you changed after the agent are kept or merged, never lost; `ckpt-hook unrevert` is the
way back.";

/// What to do with a file that is not what the agent left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Merge where the edits do not overlap, else keep the file as it is.
    #[default]
    Merge,
    /// Keep the file as it is.
    Keep,
    /// Put the earlier version there; yours stays in the operation's snapshot.
    Overwrite,
}

/// `redo`.
#[derive(Debug, Args)]
pub struct RedoArguments {
    /// All the way, not one message
    #[arg(long)]
    pub all: bool,
    /// What redo and unrevert share.
    #[command(flatten)]
    pub forward: UnrevertArguments,
}

/// `unrevert`.
#[derive(Debug, Args)]
pub struct UnrevertArguments {
    /// The session [default: the newest of this workspace that is reverted]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// What to do with files that were changed while reverted
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub on_conflict: OnConflict,
    /// Also move HEAD, its branch and the index; they go along anyway where the revert moved them
    #[arg(long)]
    pub git: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Go on though an agent is at work
    #[arg(long)]
    pub force: bool,
}

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
    /// A name to find it by
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
}

/// `restore`.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub struct RestoreArguments {
    /// A snapshot, message, step or operation: the state that it began with
    #[arg(value_name = "ID")]
    pub id: String,
    /// Only these paths; without them the captured files become exactly those of that state
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Also put HEAD, its branch and the index back
    #[arg(long, conflicts_with = "paths")]
    pub git: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Go on though an agent is at work
    #[arg(long)]
    pub force: bool,
}

const RESTORE_EXAMPLES: &str = "\
Examples:
  ckpt-hook restore last src/main.rs     one file as it was just before the newest message
  ckpt-hook restore 4b825dc6             everything as it is in that snapshot";

/// `install` and `uninstall`.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub struct InstallArguments {
    /// The agents
    #[arg(value_name = "AGENT", required_unless_present_any = ["all", "list"])]
    pub agents: Vec<String>,
    /// Every agent that is on this machine
    #[arg(long, conflicts_with = "agents")]
    pub all: bool,
    /// Show which agents there are and where the hook is installed, and change nothing
    #[arg(long, conflicts_with_all = ["agents", "all", "dry_run", "trust", "user", "project"])]
    pub list: bool,
    /// In the settings of this project
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// In your own settings, for every project (the default)
    #[arg(long)]
    pub user: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Tell the agent to trust the hook, where it would ask you to review it first
    #[arg(long)]
    pub trust: bool,
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  ckpt-hook install --list                       the agents, and where the hook is installed
  ckpt-hook install --all --dry-run              what would change for every agent on this machine
  ckpt-hook install claude-code codex            into the settings of these two
  ckpt-hook uninstall --all                      and out of all of them";

impl Common {
    /// Returns how to speak about arguments that cannot be read.
    pub fn glance(arguments: &[OsString]) -> Self {
        let json = arguments.iter().any(|word| word == "--json");
        let after = arguments.iter().skip_while(|word| *word != "--color").nth(1).and_then(|word| word.to_str());
        let inside = arguments.iter().find_map(|word| word.to_str()?.strip_prefix("--color="));
        let color = after.or(inside).and_then(|word| When::from_str(word, true).ok()).unwrap_or_default();
        Self { json, color, ..Self::default() }
    }
}

impl Arguments {
    /// Reads the command line, the binary's name first.
    pub fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }
}

/// Ours, and those of the C libraries inside: a bug report without them says little.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let versions = ckpt_store::versions();
        format!("{}\nlibgit2 {}\nSQLite {}", env!("CARGO_PKG_VERSION"), versions.libgit2, versions.sqlite)
    });
    &VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_guard_knows_every_command() {
        let mut command = Arguments::command();
        command.build();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, COMMANDS, "a command that it does not know could be taken for a hook's");
    }
}
