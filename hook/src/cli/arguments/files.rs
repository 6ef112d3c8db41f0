//! What asks about one file.

use std::path::PathBuf;

use clap::Args;

/// `blame`.
#[derive(Debug, Args)]
#[command(after_help = BLAME_EXAMPLES)]
pub struct BlameArguments {
    /// The file
    #[arg(value_name = "PATH")]
    pub file: PathBuf,
    /// Only these lines: `10,20`, `10,+5`, `10,` or `,20`
    #[arg(short = 'L', long, value_name = "RANGE")]
    pub lines: Option<String>,
}

const BLAME_EXAMPLES: &str = "\
Examples:
  ckpt-hook blame src/main.rs                which prompt wrote each line, or that you did
  ckpt-hook blame src/main.rs -L 40,+10      ten lines of it
  ckpt-hook blame src/main.rs --json         for an editor: runs of lines, with agent, message and prompt

What a revert brought back belongs to who wrote it first; a rename by an agent is followed.";
