//! Answers questions: turns rows and trees into reports. Nothing here changes the workspace or a row.
//!
//! A question reads all its rows before it does anything slow with them: an open statement holds back the checkpoints
//! of every other process.

mod blame;
mod cat;
mod changed_files;
mod check;
mod choose;
mod compare;
mod confidential_files;
mod diff;
mod feed;
mod files;
mod graph;
mod history;
mod label;
mod lists;
mod missing_files;
mod net_changes;
mod operations;
mod proposal;
mod renames;
mod roots;
mod search;
mod show;
mod status;
mod totals;
mod usage;

use std::collections::BTreeSet;
use std::path::PathBuf;

use ckpt_schema::report::MessageState;

use crate::model::Milliseconds;

pub use blame::Blame;
pub(crate) use blame::blame;
pub use cat::CapturedFile;
pub(crate) use cat::cat;
pub(crate) use changed_files::changes_of;
pub use changed_files::{BlobReader, ChangeDetail, ListedKind};
pub(crate) use check::{check_all, row_counts};
pub use confidential_files::Withheld;
pub(crate) use diff::diff;
pub use feed::Feed;
pub(crate) use feed::{agents_at_work, feed, newest};
pub(crate) use graph::{snapshots, timeline};
pub(crate) use history::{log, sessions};
pub(crate) use label::{label, labels};
pub(crate) use missing_files::{gone, gone_states, last_states, note_renames_since, recovered};
pub(crate) use operations::operations;
pub(crate) use proposal::proposal;
pub use proposal::{Proposal, Proposed};
pub use search::Searched;
pub(crate) use search::search;
pub(crate) use show::{prompt, show};
pub(crate) use status::status;
pub(crate) use totals::{of_unsummed, wrong as wrong_totals};
pub use usage::{MessageUsage, UsageReader, UsageRecord};

/// The filter of `log`.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Only those of this session, given by any of its ids.
    pub session: Option<String>,
    /// The maximum number.
    pub limit: Option<usize>,
    /// Those of every workspace, not only the one that holds the current directory.
    pub everywhere: bool,
    /// Only those with a higher `seq`, the order of all messages.
    pub after: Option<i64>,
    /// Only those from this time on.
    pub since: Option<Milliseconds>,
    /// Only those up to this time.
    pub until: Option<Milliseconds>,
    /// Only those of this agent, by name.
    pub agent: Option<String>,
    /// Only those in this state.
    pub state: Option<MessageState>,
    /// Only those whose prompt contains this, in any case.
    pub grep: Option<String>,
    /// Only those whose prompt, or the path of a file that they changed, contains this, in any case.
    pub search: Option<String>,
    /// Also messages with these ids, even if `search` finds nothing in their prompts and paths.
    pub found: BTreeSet<String>,
    /// Only those that changed how often this occurs in a file, like `git log -S`.
    pub text: Option<String>,
    /// Only those that changed something at or below these, relative to the current directory.
    pub paths: Vec<PathBuf>,
}

/// The states that `diff` compares.
///
/// A message or an operation stands for the state just before it. A step alone stands for what it changed; compared
/// with another state, it is its start on the left and its finish on the right.
#[derive(Clone, Debug, Default)]
pub struct DiffRequest {
    /// The left side; by default that of the newest message.
    pub from: Option<String>,
    /// The right side; by default `current`.
    pub to: Option<String>,
    /// Only paths at or below these, relative to the current directory.
    pub paths: Vec<PathBuf>,
}
