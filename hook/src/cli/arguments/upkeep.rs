//! The arguments of `gc`, `du` and `forget`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `gc`.
#[derive(Debug, Args)]
#[command(after_help = GC_HELP)]
pub struct GcArguments {
    /// Only show what would be removed, and why
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How long unused sessions stay, such as "30 days", by this machine's clock, even if that was set
    #[arg(long, value_name = "AGE", value_parser = ckpt_command::config::parse_age)]
    pub keep: Option<std::time::Duration>,
}

const GC_HELP: &str = "\
Removes the snapshots of sessions that have been unused for longer than the setting `keep`. If the \
store is larger than `max_store_size`, the sessions unused for longest go, too. Open or reverted \
sessions, labelled messages and snapshots, and anything younger than a day always stay. `log` and \
`show` keep the prompts, files and numbers. `gc` runs by itself once a day, in the background.

Examples:
  ckpt-hook gc --dry-run            what would be removed, and why
  ckpt-hook gc                      make the store small now
  ckpt-hook gc --keep \"7 days\"     the same, also of what was unused for 7 days";

/// `du`.
#[derive(Debug, Args)]
#[command(after_help = DU_HELP)]
pub struct DuArguments {
    /// How to group the bytes
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub by: GroupingArgument,
}

const DU_HELP: &str = "\
The size in a row is the compressed size of the objects that this row was the first to need.

Examples:
  ckpt-hook du                      the size of each workspace
  ckpt-hook du --by session         the size of each session";

/// The grouping of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GroupingArgument {
    /// The workspace
    #[default]
    Workspace,
    /// The session
    Session,
    /// The message
    Message,
    /// How long ago it was
    Age,
    /// The machine that it came from
    Machine,
}

/// `forget`.
#[derive(Debug, Args)]
#[command(after_help = FORGET_HELP)]
pub struct ForgetArguments {
    /// Everything that was ever at these paths of the workspace: a pattern as in an ignore file, from the workspace's
    /// root
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["session", "message", "all"])]
    pub path: Option<String>,
    /// The prompts of a session and its sub-agents, and what they wrote
    #[arg(long, value_name = "ID", conflicts_with_all = ["message", "all"])]
    pub session: Option<String>,
    /// The prompt of a message, and what its steps wrote
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub message: Option<String>,
    /// The whole history of a workspace; beside --path, --session or --message the workspace that is meant [default:
    /// this one]
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with = "all")]
    pub workspace: Option<Option<PathBuf>>,
    /// Everything that was ever recorded
    #[arg(long)]
    pub all: bool,
    /// Only say what would go
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

const FORGET_HELP: &str = "\
Afterwards the bytes are nowhere in the store, and nothing brings them back. The files of the workspace \
are not touched; what is still there is captured again by the next snapshot, unless an ignore rule or \
the setting `exclude` hides it. Messages stay in `log` with their numbers and file names. A revert \
leaves files alone whose content it would need. It asks first; without a terminal, pass --yes.

Examples:
  ckpt-hook forget --path .env --dry-run    what would go
  ckpt-hook forget --path '*.pem'           files of that name, in every folder
  ckpt-hook forget --message last --yes     the newest prompt, and what the agent wrote for it
  ckpt-hook forget --workspace              all that was recorded in this workspace";
