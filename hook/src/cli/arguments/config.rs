//! What is asked of the settings.

use clap::{Args, Subcommand};

/// `config`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct ConfigArguments {
    /// What to do; without it, show every setting
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,
}

/// What is done with one setting.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the value of one setting
    Get {
        /// The setting
        key: String,
    },
    /// Write a setting to the file; with --workspace, for that directory and everything below it
    Set {
        /// The setting
        key: String,
        /// Its value: `true`, `title`, `"256 MiB"`, `["*.iso", "/data/"]`
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a setting from the file; with --workspace, from that directory's section
    Unset {
        /// The setting
        key: String,
    },
}

const EXAMPLES: &str = "\
Examples:
  ckpt-hook config                                        every setting, and where it comes from
  ckpt-hook config get keep                               one value
  ckpt-hook config set record_prompts title               for every workspace
  ckpt-hook config set exclude '[\"*.iso\", \"/data/\"]'
  ckpt-hook config set enabled false --workspace ~/secret for one directory and everything below it
  ckpt-hook config unset record_prompts                   the default applies again

The file's comments and order stay as they are.";
