//! `watch`: what happens, as it happens.

use clap::Args;

/// `watch`.
#[derive(Clone, Debug, Args)]
#[command(after_help = WATCH_EXAMPLE)]
pub struct WatchArguments {
    /// Begin after this position, the `seq` of an earlier line [default: now]
    #[arg(long, value_name = "SEQ", requires = "json_lines")]
    pub since: Option<i64>,
    /// Report on every workspace, not only this one
    #[arg(long, requires = "json_lines")]
    pub everywhere: bool,
}

const WATCH_EXAMPLE: &str = "Examples:
  ckpt-hook watch &               faster hooks; ends after half an hour without any
  ckpt-hook watch --json-lines    messages, steps and reverts, as they happen";
