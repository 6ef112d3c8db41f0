//! What puts the hook into agents' settings and takes it out.

use clap::Args;

/// `install`.
#[derive(Clone, Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub struct InstallArguments {
    /// The agents
    #[arg(value_name = "AGENT")]
    pub agents: Vec<String>,
    /// Every agent on this machine
    #[arg(long, conflicts_with = "agents")]
    pub all: bool,
    /// List the agents and where the hook is installed, and change nothing
    #[arg(long, conflicts_with_all = ["agents", "all", "dry_run", "trust", "user", "project"])]
    pub list: bool,
    /// In the settings of this project
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// In your own settings, for every project (the default)
    #[arg(long)]
    pub user: bool,
    /// Show what would change, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Tell the agent to trust the hook if it would ask you to review it first
    #[arg(long)]
    pub trust: bool,
}

/// `uninstall`.
#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_EXAMPLES)]
pub struct UninstallArguments {
    /// The agents
    #[arg(value_name = "AGENT")]
    pub agents: Vec<String>,
    /// Every agent on this machine
    #[arg(long, conflicts_with = "agents")]
    pub all: bool,
    /// List the agents and where the hook is installed, and change nothing
    #[arg(long, conflicts_with_all = ["agents", "all", "dry_run", "user", "project", "purge"])]
    pub list: bool,
    /// In the settings of this project
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// In your own settings, for every project (the default)
    #[arg(long)]
    pub user: bool,
    /// Show what would change, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Take the hook out of every agent, and then remove the store with everything that was ever recorded
    #[arg(long, conflicts_with_all = ["agents", "project"])]
    pub purge: bool,
    /// Do not ask before --purge
    #[arg(short, long, requires = "purge")]
    pub yes: bool,
}

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  ckpt-hook uninstall claude-code codex          out of the settings of these two
  ckpt-hook uninstall --all --dry-run            what would change for every agent on this machine
  ckpt-hook uninstall --purge                    out of all of them, and the store goes as well";

const INSTALL_EXAMPLES: &str = "\
Examples:
  ckpt-hook install --all                        into the settings of every agent on this machine
  ckpt-hook install --all --dry-run              what that would change
  ckpt-hook install --list                       the agents, and where the hook is installed
  ckpt-hook install claude-code codex            into the settings of these two
  ckpt-hook uninstall --all                      remove it from all of them";
