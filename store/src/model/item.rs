//! One path of a plan: what must be there before it is touched, what is there afterwards, and why it stays if it does.

use std::fmt;
use std::ops::Deref;

use ckpt_schema::report::{AuthorReport, FileAction, FileResult, ReasonCode};

use super::entry::State;
use super::path::WorkspacePath;

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

impl Item {
    /// Returns whether it is taken from a program that has it open to write: its reason says what is lost by that.
    pub fn is_taken(&self) -> bool {
        let code = self.reason.as_ref().and_then(|reason| reason.code);
        matches!(self.result, FileResult::Planned | FileResult::Done)
            && code == Some(ReasonCode::Database)
    }

    /// Returns whether its file was written or removed.
    pub fn has_moved(&self) -> bool {
        let moves = match self.action {
            FileAction::Write | FileAction::Delete | FileAction::Merge => true,
            FileAction::Keep | FileAction::None => false,
        };
        moves && self.result == FileResult::Done
    }
}

/// How it went with one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemOutcome {
    /// `Done`, `Conflict` (it was not in the expected state any more, and was left alone) or `Failed` (left as it was).
    pub result: FileResult,
    /// The reason, unless it is `Done`.
    pub reason: Option<ItemReason>,
}

/// Why a path stays as it is, all or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemReason {
    /// The sentence.
    pub text: String,
    /// The same for programs; none in rows of older binaries.
    pub code: Option<ReasonCode>,
    /// Whose changes it names.
    pub by: Vec<AuthorReport>,
}

impl ItemReason {
    /// Returns a reason that names nobody.
    pub fn new(code: ReasonCode, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: Some(code),
            by: Vec::new(),
        }
    }
}

/// Most who look at a reason want its sentence.
impl Deref for ItemReason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ItemReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
