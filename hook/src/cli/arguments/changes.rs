//! How changes are shown: what `diff`, `show` and `log` share.

use std::path::PathBuf;

use clap::Args;

/// How changes are shown.
#[derive(Clone, Debug, Default, Args)]
pub struct ChangesArguments {
    /// Show the patch, as `git apply` takes it
    #[arg(short, long)]
    pub patch: bool,
    /// Only a line a file, with its additions and deletions
    #[arg(long, conflicts_with = "patch")]
    pub stat: bool,
    /// Only the names
    #[arg(long, conflicts_with_all = ["patch", "stat"])]
    pub name_only: bool,
    /// Only the names, with a letter for what happened: A, M, D, T, and R with a percentage for renamed
    #[arg(long, conflicts_with_all = ["patch", "stat", "name_only"])]
    pub name_status: bool,
    /// Names as they are, each with a NUL byte behind it, for programs: with --name-only or --name-status
    #[arg(short = 'z')]
    pub raw: bool,
    /// How many lines around a change are shown
    #[arg(
        short = 'U',
        long = "unified",
        value_name = "COUNT",
        default_value_t = 3
    )]
    pub context: usize,
    /// Ignore white space: such a patch is for reading
    #[arg(short = 'w', long)]
    pub ignore_all_space: bool,
    /// Mark single words: [-gone-] and {+come+}
    #[arg(long)]
    pub word_diff: bool,
    /// Both sides beside each other
    #[arg(short = 'y', long, conflicts_with = "word_diff")]
    pub side_by_side: bool,
    /// Write one page to read in a browser: both sides beside each other, everything in one file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl ChangesArguments {
    /// Returns whether lines are asked for.
    pub fn wants_lines(&self) -> bool {
        self.patch || self.word_diff || self.side_by_side || self.ignore_all_space
    }
}
