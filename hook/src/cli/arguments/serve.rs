//! The arguments of the commands for front ends.

use clap::Args;

/// `serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SERVE_EXAMPLE)]
pub struct ServeArguments {
    /// Speak on the standard streams, until stdin ends
    #[arg(long)]
    pub stdio: bool,
}

const SERVE_EXAMPLE: &str = r#"Example:
  echo '{"jsonrpc":"2.0","id":1,"method":"messages","params":{}}' | ckpt-hook serve --stdio

`initialize` names the methods; `docs/embedding.md` describes them."#;

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
    /// Have systemd start it, now and whenever you log in
    #[arg(long, conflicts_with_all = ["json_lines", "uninstall"])]
    pub install: bool,
    /// Stop it, and have it started no more
    #[arg(long, conflicts_with = "json_lines")]
    pub uninstall: bool,
}

const WATCH_EXAMPLE: &str = "Examples:
  ckpt-hook watch &               hooks look only where something may have changed; ends after half an hour without hooks
  ckpt-hook watch --install       the same, whenever you are logged in
  ckpt-hook watch --json-lines    messages, steps and reverts, as they happen";
