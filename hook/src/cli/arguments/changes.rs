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
    #[arg(long, group = "names", conflicts_with_all = ["patch", "stat"])]
    pub name_only: bool,
    /// Show only the names, each with a letter: A, M, D, T, and R with a percentage for a rename
    #[arg(long, group = "names", conflicts_with_all = ["patch", "stat", "name_only"])]
    pub name_status: bool,
    /// End each name with a NUL byte and do not quote it, for programs: with --name-only or --name-status
    #[arg(short = 'z', requires = "names")]
    pub raw: bool,
    /// Show a patch with this many lines around a change [default: 3]
    #[arg(
        short = 'U',
        long = "unified",
        value_name = "COUNT",
        allow_negative_numbers = true,
        conflicts_with_all = ["stat", "names", "html"]
    )]
    pub context: Option<usize>,
    /// Ignore white space; the patch is for reading only
    #[arg(short = 'w', long, conflicts_with_all = ["stat", "names", "html"])]
    pub ignore_all_space: bool,
    /// Mark single words: [-gone-] and {+come+}
    #[arg(long, conflicts_with_all = ["stat", "names", "html"])]
    pub word_diff: bool,
    /// Show the two sides next to each other
    #[arg(short = 'y', long, conflicts_with_all = ["word_diff", "stat", "names", "html"])]
    pub side_by_side: bool,
    /// Write one self-contained page to read in a browser, with the two sides next to each other
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "stat", "names"])]
    pub html: Option<PathBuf>,
}

impl ChangesArguments {
    /// Returns whether lines are asked for.
    pub fn wants_lines(&self) -> bool {
        self.patch
            || self.context.is_some()
            || self.word_diff
            || self.side_by_side
            || self.ignore_all_space
    }
}
