//! What keeps the store small: `gc` and `du`.

use clap::{Args, ValueEnum};

/// `gc`.
#[derive(Debug, Args)]
#[command(after_help = GC_HELP)]
pub struct GcArguments {
    /// Only show what would be removed, and why
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

const GC_HELP: &str = "\
Removes the snapshots of sessions that have been unused for longer than the setting `keep`. If the
store is larger than `max_store_size`, the sessions unused for longest go, too. Open or reverted
sessions, labelled messages and snapshots, and anything younger than a day always stay. `log` and
`show` keep the prompts, files and numbers. `gc` runs by itself once a day, in the background.

Examples:
  ckpt-hook gc --dry-run            what would be removed, and why
  ckpt-hook gc                      make the store small now";

/// `du`.
#[derive(Debug, Args)]
#[command(after_help = DU_HELP)]
pub struct DuArguments {
    /// How to group the bytes
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub by: By,
}

const DU_HELP: &str = "\
The size in a row is the compressed size of the objects that this row was the first to need.

Examples:
  ckpt-hook du                      the size of each workspace
  ckpt-hook du --by session         the size of each session";

/// How bytes are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The workspace
    #[default]
    Workspace,
    /// The session
    Session,
    /// The message
    Message,
    /// How long ago it was
    Age,
}
