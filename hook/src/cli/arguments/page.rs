//! The page in a web browser.

use std::time::Duration;

use clap::Args;

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
  ckpt-hook page              opens the page in the browser
  ckpt-hook page --no-open    prints its address: open it yourself

The server listens on 127.0.0.1 only. The address carries a secret: whoever has it can read the
history of this workspace and revert it. Ctrl-C ends the server.";
