//! The server for models.

use clap::Args;

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
