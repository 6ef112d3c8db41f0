//! How changes are shown: what `diff`, `show` and `log` share.

use std::path::PathBuf;

use clap::Args;

/// The presentation of changes.
#[derive(Clone, Debug, Default, Args)]
pub struct ChangesArguments {
    /// Show a patch that `git apply` accepts
    #[arg(short, long)]
    pub patch: bool,
    /// Show one line per file, with its additions and deletions
    #[arg(long, conflicts_with = "patch")]
    pub stat: bool,
    /// Show only the names
    #[arg(long, conflicts_with_all = ["patch", "stat"])]
    pub name_only: bool,
    /// Show only the names, each with a letter: A, M, D, T, and R with a percentage for a rename
    #[arg(long, conflicts_with_all = ["patch", "stat", "name_only"])]
    pub name_status: bool,
    /// End each name with a NUL byte and do not quote it, for programs: with --name-only or --name-status
    #[arg(short = 'z')]
    pub raw: bool,
    /// The number of lines to show around a change
    #[arg(
        short = 'U',
        long = "unified",
        value_name = "COUNT",
        allow_negative_numbers = true,
        default_value_t = 3
    )]
    pub context: usize,
    /// Ignore white space; the patch is for reading only
    #[arg(short = 'w', long)]
    pub ignore_all_space: bool,
    /// Mark single words: [-gone-] and {+come+}
    #[arg(long)]
    pub word_diff: bool,
    /// Show the two sides next to each other
    #[arg(short = 'y', long, conflicts_with = "word_diff")]
    pub side_by_side: bool,
    /// Write one self-contained page to read in a browser, with the two sides next to each other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl ChangesArguments {
    /// Returns whether lines are asked for.
    pub fn wants_lines(&self) -> bool {
        self.patch || self.word_diff || self.side_by_side || self.ignore_all_space
    }
}
