//! What asks about one file.

use std::ffi::OsString;
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
    #[arg(short = 'L', long, value_name = "RANGE", allow_hyphen_values = true)]
    pub lines: Option<String>,
}

const BLAME_EXAMPLES: &str = "\
Examples:
  ckpt-hook blame src/main.rs                which prompt wrote each line, or that you did
  ckpt-hook blame src/main.rs:40             one line, as compilers name it
  ckpt-hook blame src/main.rs -L 40,+10      ten lines of it
  ckpt-hook blame src/main.rs --json         for an editor: runs of lines, and whose they are

A line that a revert brought back belongs to its first author. Renames by an agent are followed.";

/// `cat`.
#[derive(Debug, Args)]
#[command(after_help = CAT_EXAMPLES)]
pub struct CatArguments {
    /// A message, step or operation, and a file as it was just before that; or a snapshot, and a file as it is in it
    #[arg(value_name = "ID:PATH")]
    pub file: OsString,
}

const CAT_EXAMPLES: &str = "\
Examples:
  ckpt-hook cat last:src/main.rs               the file as it was just before the newest message
  ckpt-hook cat 'before lunch':notes.md        as it is in a snapshot with a label
  ckpt-hook cat 7c1e:logo.png > logo.png       byte for byte

It prints what `ckpt-hook restore ID PATH` would write. On a terminal, control characters are \
escaped.";

/// `recover`.
#[derive(Debug, Args)]
#[command(after_help = RECOVER_EXAMPLES)]
pub struct RecoverArguments {
    /// The file, the directory that it was in, or only its name
    #[arg(value_name = "PATH", conflicts_with = "deleted")]
    pub path: Option<PathBuf>,
    /// List all files that are gone, most recently removed first, and put nothing back
    #[arg(long)]
    pub deleted: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Go ahead even if an agent is at work, a database has a log that is in no snapshot, or the workspace belongs to another user
    #[arg(long, requires = "path")]
    pub force: bool,
}

const RECOVER_EXAMPLES: &str = "\
Examples:
  ckpt-hook recover                     which files are gone, and whose change took them
  ckpt-hook recover src/notes.md        put its last version back
  ckpt-hook recover notes.md            the same, wherever it was
  ckpt-hook recover src/ --dry-run      what would come back below src/

`ckpt-hook cat ID:PATH` shows an older version, `ckpt-hook restore ID PATH` puts one back.";
