//! One path of a plan: what must be there before it is touched, and what is there afterwards.

use ckpt_schema::report::{FileAction, FileResult};

use super::entry::State;
use super::path::WorkspacePath;
use super::reason::ItemReason;

/// One path of a plan. A plan is a list of these, by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Where in the workspace.
    pub path: WorkspacePath,
    /// What the snapshot before the operation holds there; nothing else is ever replaced or removed.
    pub expected: State,
    /// What is put there.
    pub target: State,
    /// What the revert point asks for, without edits that were made while reverted: where the next move starts from.
    pub goal: State,
    /// What is done.
    pub action: FileAction,
    /// `Planned` where something is to be done, else why not.
    pub result: FileResult,
    /// The reason, where it is not plain.
    pub reason: Option<ItemReason>,
    /// Lines that it adds to what is expected, and lines that it takes away; none for what has no lines.
    pub lines: Option<(u64, u64)>,
}

/// How it went with one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// `Done`, `Conflict` (it was not what was expected when it came to it; left alone) or `Failed` (left as it was).
    pub result: FileResult,
    /// The reason, where it is not `Done`.
    pub reason: Option<ItemReason>,
}
