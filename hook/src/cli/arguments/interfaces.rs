//! The arguments of what shows the history or serves it: the browser, the page, and the servers for programs.

use std::time::Duration;

use clap::Args;

/// `ui`.
#[derive(Debug, Default, Args)]
#[command(after_help = UI_EXAMPLES)]
pub struct UiArguments {
    /// Begin with the operations
    #[arg(long)]
    pub operations: bool,
}

const UI_EXAMPLES: &str = "\
Examples:
  ckpt-hook ui                  messages, operations and your own changes; their files and patches
  ckpt-hook ui --operations     what was reverted and restored

Keys: Enter opens, Tab marks files or hunks, / filters prompts, paths and contents, r shows what a \
revert would do (a: of this message alone) and y does it, u undoes, o lists operations, b blames, \
y copies the id, ? lists every key, q leaves. `ckpt-hook revert` without an id opens it as well.";

/// `page`.
#[derive(Clone, Debug, Args)]
#[command(after_help = PAGE_EXAMPLES)]
pub struct PageArguments {
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_open: bool,
    /// The port [default: any that is free]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub port: u16,
    /// End when no browser has shown the page for this long
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = humantime::parse_duration)]
    pub idle: Duration,
}

const PAGE_EXAMPLES: &str = "\
Examples:
  ckpt-hook page                           opens the page in the browser
  ckpt-hook page --no-open                 prints its address: open it yourself
  ckpt-hook page --no-open --json-lines    a line with the address, for a program

The server listens on 127.0.0.1 only. The address contains a secret: anyone who has it can read the \
history of this workspace and revert it. Ctrl-C ends the server.";

/// `mcp`.
#[derive(Clone, Debug, Args)]
#[command(after_help = MCP_EXAMPLE)]
pub struct McpArguments {
    /// Let the model carry out what it planned; without it, it can only look
    #[arg(long)]
    pub allow_revert: bool,
}

const MCP_EXAMPLE: &str = r#"Example, in the settings of a client:
  {"mcpServers": {"ckpt-hook": {"command": "ckpt-hook", "args": ["mcp"]}}}

The server speaks on its standard streams, about the workspace in which it starts."#;

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
}

const WATCH_EXAMPLE: &str = "Examples:
  ckpt-hook watch &               faster hooks; ends after half an hour without any
  ckpt-hook watch --json-lines    messages, steps and reverts, as they happen";
