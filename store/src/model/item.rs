//! One path of a plan: what must be there before it is touched, what is there afterwards, and why it stays if it does.

use std::fmt;
use std::ops::Deref;

use ckpt_schema::report::{AuthorReport, FileAction, FileReport, FileResult, ReasonCode};

use super::entry::{State, blob_text, mode_text};
use super::instruction::reason_shown;
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
    /// What the revert point asks for, without edits that were made while reverted. The next move starts from here.
    pub goal: State,
    /// The action.
    pub action: FileAction,
    /// `Planned` if there is something to do, or else why not.
    pub result: FileResult,
    /// The reason, unless it is obvious.
    pub reason: Option<ItemReason>,
    /// The numbers of lines that it adds and removes, or `None` for content without lines.
    pub lines: Option<(u64, u64)>,
}

impl Item {
    /// Returns whether there is still something to do at its path.
    pub fn is_planned(&self) -> bool {
        self.result == FileResult::Planned
    }

    /// Returns whether it is still to remove or replace something, to which only the store leads back afterwards.
    pub fn takes_away(&self) -> bool {
        self.is_planned() && self.expected.is_some()
    }

    /// Returns whether nothing is at its path once it is done, which is still to do.
    pub fn empties(&self) -> bool {
        self.is_planned() && self.target.is_none()
    }

    /// Returns whether its reason only says what is lost by it, or whose it was: all of its content went back.
    pub fn is_remarked(&self) -> bool {
        matches!(self.code(), Some(ReasonCode::NotKept | ReasonCode::Yours))
    }

    /// Returns the code of its reason.
    pub fn code(&self) -> Option<ReasonCode> {
        self.reason.as_ref().and_then(|reason| reason.code)
    }

    /// Returns the case of its reason.
    pub fn case(&self) -> Option<ReasonCase> {
        self.reason.as_ref().and_then(|reason| reason.case)
    }

    /// Returns its report.
    pub(crate) fn report(&self) -> FileReport {
        let reason = self.reason.as_ref();
        FileReport {
            path: self.path.to_report(),
            action: self.action,
            result: self.result,
            reason: reason.map(|reason| reason_shown(&reason.text, reason.case)),
            reason_code: self.code(),
            by: reason.map_or_else(Vec::new, |reason| reason.by.clone()),
            old_mode: mode_text(self.expected),
            new_mode: mode_text(self.target),
            old_blob: blob_text(self.expected),
            new_blob: blob_text(self.target),
            contents: None,
            unclear: self.code() == Some(ReasonCode::Unclear),
            choices: Vec::new(),
            moved_from: None,
            additions: self.lines.map(|(additions, _)| additions),
            deletions: self.lines.map(|(_, deletions)| deletions),
        }
    }

    /// Returns whether its file was written or removed.
    pub fn has_moved(&self) -> bool {
        changes_file(self.action) && self.result == FileResult::Done
    }
}

/// Returns whether an action writes or removes the file at its path.
pub fn changes_file(action: FileAction) -> bool {
    match action {
        FileAction::Write | FileAction::Delete | FileAction::Merge => true,
        FileAction::Keep | FileAction::None => false,
    }
}

/// The outcome of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemOutcome {
    /// `Done`, `Conflict` (it was no longer in the expected state, and was left alone) or `Failed` (left as it was).
    pub result: FileResult,
    /// The reason, unless it is `Done`.
    pub reason: Option<ItemReason>,
}

/// Why a path stays as it is, completely or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemReason {
    /// The sentence.
    pub text: String,
    /// The same for programs; `None` in rows of older versions.
    pub code: Option<ReasonCode>,
    /// Which of the cases with that code it is, where they are told apart.
    pub case: Option<ReasonCase>,
    /// Whose changes it names.
    pub by: Vec<AuthorReport>,
}

impl ItemReason {
    /// Returns a reason that names no author.
    pub fn new(code: ReasonCode, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: Some(code),
            case: None,
            by: Vec::new(),
        }
    }

    /// Returns the reason for one of the cases with a code.
    pub(crate) fn of(code: ReasonCode, case: ReasonCase, text: impl Into<String>) -> Self {
        Self {
            case: Some(case),
            ..Self::new(code, text)
        }
    }
}

ckpt_schema::words! {
    /// The cases of `not_captured`, `database` and `moved`.
    pub enum ReasonCase {
        /// The state before is not stored.
        Before = "before",
        /// The state that the agent left is not stored.
        After = "after",
        /// The present state is not stored.
        Now = "now",
        /// It is an object of git.
        GitObject = "git_object",
        /// A part of the repository is missing.
        BrokenRepository = "broken_repository",
        /// A program has the database, or the file, open.
        Open = "open",
        /// The database is version control's.
        VersionControl = "version_control",
        /// The log of the database was written since.
        Log = "log",
    }
}

impl ReasonCase {
    /// Returns it in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Before => "no snapshot holds its state before",
            Self::After => {
                "no snapshot holds what the agent left, so edits since cannot be told from it"
            }
            Self::Now => "no snapshot holds what is there now",
            Self::GitObject => "it is an object of a git repository",
            Self::BrokenRepository => "it may be of a repository of which a part is missing",
            Self::Open => "a program has the database open",
            Self::VersionControl => "version control's own",
            Self::Log => "a database and its log go back together or not at all",
        }
    }
}

/// Most callers want the sentence of a reason.
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
