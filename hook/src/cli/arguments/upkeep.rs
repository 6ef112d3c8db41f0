//! What keeps the store small: `gc` and `du`.

use clap::{Args, ValueEnum};

/// `gc`.
#[derive(Debug, Args)]
#[command(after_help = GC_HELP)]
pub struct GcArguments {
    /// Only say what would go, and why
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

const GC_HELP: &str = "\
The snapshots of sessions that were not used for longer than the setting `keep` go; where the store is
larger than `max_store_size`, those of the longest unused. Never: open sessions, what is reverted,
labelled messages and snapshots, what is younger than a day. Prompts, files and numbers of what went
stay in `log` and `show`. It runs by itself once a day, in the background.

Examples:
  ckpt-hook gc --dry-run            what would go, and why
  ckpt-hook gc                      make the store small now";

/// `du`.
#[derive(Debug, Args)]
#[command(after_help = DU_HELP)]
pub struct DuArguments {
    /// What to tell the bytes apart by
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub by: By,
}

const DU_HELP: &str = "\
The bytes of a row are those of the objects that it was the first to need, as they are compressed.

Examples:
  ckpt-hook du                      what each workspace takes
  ckpt-hook du --by session         what each session took";

/// By what bytes are told apart.
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
