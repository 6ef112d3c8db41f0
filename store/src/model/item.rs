//! One path of a plan: what must be there before it is touched, and what is there afterwards.

use ckpt_schema::report::{FileAction, FileResult};

use super::entry::State;
use super::path::WorkspacePath;
use super::reason::ItemReason;

/// One path of a plan. A plan is a list of these, by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The path in the workspace.
    pub path: WorkspacePath,
    /// The state in the snapshot before the operation; nothing else is ever replaced or removed.
    pub expected: State,
    /// The new state.
    pub target: State,
    /// What the revert point asks for, without edits that were made while reverted: where the next move starts from.
    pub goal: State,
    /// The action.
    pub action: FileAction,
    /// `Planned` if there is something to do, else why not.
    pub result: FileResult,
    /// The reason, where it is not plain.
    pub reason: Option<ItemReason>,
    /// Lines that it adds to what is expected, and lines that it takes away; none for what has no lines.
    pub lines: Option<(u64, u64)>,
}

/// How it went with one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemOutcome {
    /// `ItemOutcome`, `Conflict` (it was not in the expected state any more, and was left alone) or `Failed` (left as it was).
    pub result: FileResult,
    /// The reason, where it is not `ItemOutcome`.
    pub reason: Option<ItemReason>,
}
