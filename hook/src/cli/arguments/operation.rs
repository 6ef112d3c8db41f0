//! What puts files back or forward again.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `revert`.
#[derive(Clone, Debug, Args)]
#[command(after_help = REVERT_EXAMPLES)]
pub struct RevertArguments {
    /// The message to go back to: the same as --message
    #[arg(value_name = "ID", conflicts_with_all = ["message", "step", "plan"])]
    pub id: Option<String>,
    /// The message to go back to: its changes and everything after it are undone. On a terminal you can choose one
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["step", "plan"],
        overrides_with = "message"
    )]
    pub message: Option<String>,
    /// Undo that message alone: what later messages did stays
    #[arg(long, conflicts_with_all = ["step", "git", "plan"])]
    pub alone: bool,
    /// Undo only one step, and nothing after it
    #[arg(long, value_name = "ID", conflicts_with = "plan")]
    pub step: Option<String>,
    /// The session [default: the newest of this workspace that knows the message]
    #[arg(long, value_name = "ID", conflicts_with = "plan")]
    pub session: Option<String>,
    /// Only this path and what is below it; can be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "plan")]
    pub only: Vec<PathBuf>,
    /// Choose what to undo hunk by hunk, as `git checkout -p` asks
    #[arg(short, long, conflicts_with_all = ["git", "plan"])]
    pub patch: bool,
    /// What to do with files that have changed since the agent left them
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value_t,
        conflicts_with = "plan"
    )]
    pub on_conflict: OnConflictArgument,
    /// What to do with changes that may not be the agent's [default: from the settings]
    #[arg(long, value_name = "HOW", value_enum, conflicts_with = "plan")]
    pub unclear: Option<UnclearArgument>,
    /// Also move HEAD, branches and the index back; without it they stay as they are
    #[arg(long, conflicts_with_all = ["only", "step", "plan"])]
    pub git: bool,
    /// What to do with the agent's conversation: `fork` makes a new one that ends just before the message, `only` does that and leaves the files [default: from the settings]
    #[arg(long, value_name = "HOW", value_enum, conflicts_with_all = ["only", "step", "alone", "patch", "plan"])]
    pub conversation: Option<ConversationArgument>,
    /// Plan first, act later, or go ahead.
    #[command(flatten)]
    pub planning: Planning,
}

const REVERT_EXAMPLES: &str = "\
Examples:
  ckpt-hook revert                                choose a message in `ui`, and see its plan
  ckpt-hook revert last --dry-run                 the plan for the newest message
  ckpt-hook revert last~2                         the third row of `ckpt-hook log`, and its session's later messages
  ckpt-hook revert 7c1e --alone                   this message, while later ones stay
  ckpt-hook revert 7c1e --only src/               only what is below src/
  ckpt-hook revert 7c1e -p                        only the hunks that you say yes to

Files that you changed after the agent are kept or merged, never lost. `ckpt-hook undo` takes the \
revert back.";

/// What a plan is asked for, or carried out, with.
#[derive(Clone, Debug, Args)]
pub struct Planning {
    /// Carry out exactly the plan that a dry run printed with --json; refuse if anything has changed since
    #[arg(long, value_name = "TOKEN", conflicts_with = "dry_run")]
    pub plan: Option<String>,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// With --dry-run --json, also give what each file holds before and after, and the lines that differ
    #[arg(long, requires = "dry_run")]
    pub contents: bool,
    /// Go ahead even if an agent is at work, a database has a log that is in no snapshot, or the workspace belongs to another user
    #[arg(long)]
    pub force: bool,
}

/// What to do with the agent's conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConversationArgument {
    /// Make a new one that ends just before the message; the old one stays.
    Fork,
    /// The same, and leave every file as it is.
    Only,
    /// Shorten it, where the agent can.
    Cut,
    /// Leave it, and tell the agent which files went back.
    No,
}

/// What to do with a change that may or may not be the agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnclearArgument {
    /// Keep it, and name it.
    Keep,
    /// Undo it like the agent's own.
    Take,
}

/// What to do with a file that has changed since the agent left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflictArgument {
    /// Merge if the edits do not overlap; otherwise keep the file as it is.
    #[default]
    Merge,
    /// Keep the file as it is.
    Keep,
    /// Write the earlier version; yours stays in the operation's snapshot.
    Overwrite,
}

/// `undo`.
#[derive(Clone, Debug, Args)]
#[command(after_help = UNDO_EXAMPLES)]
pub struct UndoArguments {
    /// Choose what to take back hunk by hunk, as `git checkout -p` asks
    #[arg(short, long, conflicts_with = "plan")]
    pub patch: bool,
    /// Plan first, act later, or go ahead.
    #[command(flatten)]
    pub planning: Planning,
}

const UNDO_EXAMPLES: &str = "\
Examples:
  ckpt-hook undo                take back the last revert, redo, unrevert or restore
  ckpt-hook undo --dry-run      what that would do
  ckpt-hook log --operations    the operations, newest first

`undo` is an operation, too: a second `undo` takes back the first.";

/// `redo`.
#[derive(Debug, Args)]
#[command(after_help = REDO_EXAMPLES)]
pub struct RedoArguments {
    /// Go all the way, not one message
    #[arg(long)]
    pub all: bool,
    /// What redo and unrevert share.
    #[command(flatten)]
    pub forward: UnrevertArguments,
}

impl RedoArguments {
    /// The distance that they ask for.
    pub fn how_far(&self) -> Forward {
        match self.all {
            true => Forward::AllTheWay,
            false => Forward::OneMessage,
        }
    }
}

/// How far to go forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// One message: `redo`.
    OneMessage,
    /// All the way: `unrevert`, and `redo --all`.
    AllTheWay,
}

const REDO_EXAMPLES: &str = "\
Examples:
  ckpt-hook redo               bring back the first of the hidden messages
  ckpt-hook redo --all         bring back all of them, and what was undone alone
  ckpt-hook redo --dry-run     what would be brought back

`undo` takes a redo back.";

/// `unrevert`.
#[derive(Clone, Debug, Args)]
#[command(after_help = UNREVERT_EXAMPLES)]
pub struct UnrevertArguments {
    /// The session [default: the newest of this workspace that is reverted]
    #[arg(long, value_name = "ID", conflicts_with = "plan")]
    pub session: Option<String>,
    /// What to do with files that were changed while reverted [default: merge]
    #[arg(long, value_name = "HOW", value_enum, conflicts_with = "plan")]
    pub on_conflict: Option<OnConflictArgument>,
    /// Choose what to bring back hunk by hunk, as `git checkout -p` asks
    #[arg(short, long, conflicts_with_all = ["git", "plan"])]
    pub patch: bool,
    /// Also move HEAD, branches and the index; this is implied if the revert moved them
    #[arg(long, conflicts_with = "plan")]
    pub git: bool,
    /// Plan first, act later, or go ahead.
    #[command(flatten)]
    pub planning: Planning,
}

const UNREVERT_EXAMPLES: &str = "\
Examples:
  ckpt-hook unrevert                           nothing is reverted any more
  ckpt-hook unrevert --dry-run                 what would be brought back
  ckpt-hook unrevert --on-conflict overwrite   also over files that were changed while reverted

`undo` takes an unrevert back.";

/// `restore`.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub struct RestoreArguments {
    /// A snapshot, or the state just before a message, step or operation
    #[arg(
        value_name = "ID",
        required_unless_present = "plan",
        conflicts_with = "plan"
    )]
    pub id: Option<String>,
    /// Only these paths; without them, the captured files become exactly those of that state
    #[arg(value_name = "PATH", conflicts_with = "plan")]
    pub paths: Vec<PathBuf>,
    /// Choose what to put back hunk by hunk, as `git checkout -p` asks
    #[arg(short, long, conflicts_with_all = ["git", "plan"])]
    pub patch: bool,
    /// What to do with files that you changed since; those that you name go back all the same [default: ask on a terminal, else keep]
    #[arg(long, value_name = "HOW", value_enum, conflicts_with = "plan")]
    pub on_conflict: Option<MineArgument>,
    /// Also put HEAD, branches and the index back
    #[arg(long, conflicts_with_all = ["paths", "plan"])]
    pub git: bool,
    /// Plan first, act later, or go ahead.
    #[command(flatten)]
    pub planning: Planning,
}

/// What a restore does with a file that the user changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MineArgument {
    /// Keep it, and name it.
    Keep,
    /// Put the earlier version there; yours stays in the operation's snapshot.
    Overwrite,
}

const RESTORE_EXAMPLES: &str = "\
Examples:
  ckpt-hook restore last src/main.rs     one file as it was just before the newest message
  ckpt-hook restore 4b825dc6             all but what you changed since, as in that snapshot
  ckpt-hook restore last --dry-run       what would go back, and which files are yours

To take back what an agent did and keep what you did, use `ckpt-hook revert`. `ckpt-hook undo` takes a restore back.";
