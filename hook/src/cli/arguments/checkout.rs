//! The arguments of what lays recorded states out elsewhere.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `branch`.
#[derive(Debug, Args)]
#[command(after_help = BRANCH_EXAMPLES)]
pub struct BranchArguments {
    /// A message, step or operation, for the state just before that; or a snapshot
    #[arg(value_name = "ID")]
    pub id: String,
    /// The new directory, outside the workspace
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
    /// Make it a git work tree, on a new branch with the directory's name, at the commit that was checked out in that state
    #[arg(long)]
    pub worktree: bool,
}

const BRANCH_EXAMPLES: &str = "\
Examples:
  ckpt-hook branch last ../other-way               as it was just before the newest message
  ckpt-hook branch 'before lunch' ../other-way     as it is in a snapshot with a label
  ckpt-hook branch last ../other-way --worktree    the same, as a git work tree on the branch `other-way`

The workspace stays as it is. What no snapshot holds, such as most ignored files, is not in the new \
directory. It has no history of its own until an agent works there.";

/// `bisect`.
#[derive(Debug, Args)]
#[command(after_help = BISECT_EXAMPLES)]
pub struct BisectArguments {
    /// Begin just before this message, step or operation [default: with the oldest state]
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const BISECT_EXAMPLES: &str = "\
Examples:
  ckpt-hook bisect -- cargo test                            where the tests began to fail
  ckpt-hook bisect --from 7c1e -- make check                not before that message
  ckpt-hook bisect -- sh -c 'npm ci >/dev/null && npm test'  with what is ignored, and so in no snapshot

The command runs in a scratch directory with a recorded state, one after the other; the workspace is \
not touched. An exit code of 0 means that it succeeds, 125 that the state cannot be tested, any other up to 127 \
that it fails. Above that, or by a signal, it ends the search. What it prints goes to stderr.";
