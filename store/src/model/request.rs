//! The requests of a person: a revert, a redo or a restore, or the chosen parts of a plan.

use std::path::PathBuf;

use ckpt_schema::report::{OperationKind, OperationReport};

use super::entry::{Mode, State};
use super::path::WorkspacePath;

ckpt_schema::words! {
    /// What to do with a file that differs from what the agent left.
    #[derive(Default)]
    pub enum OnConflict {
        /// Merge if the edits do not overlap, otherwise keep.
        #[default]
        Merge = "merge",
        /// Keep it and report it.
        Keep = "keep",
        /// Write the old side. The user's bytes stay in the operation's snapshot.
        Overwrite = "overwrite",
    }
}

ckpt_schema::words! {
    /// What to do with an unclear change.
    #[derive(Default)]
    pub enum Unclear {
        /// Keep it and report it.
        #[default]
        Keep = "keep",
        /// Undo it like the agent's own.
        Take = "take",
    }
}

ckpt_schema::words! {
    /// What becomes of the agent's conversation.
    #[derive(Default)]
    pub enum ConversationChoice {
        /// It stays, and the next message tells the agent which files went back.
        #[default]
        No = "no",
        /// A new one ends just before the message. The old one stays, too.
        Fork = "fork",
        /// The same, and every file stays.
        Only = "only",
        /// It is shortened itself.
        Cut = "cut",
    }
}

/// What to take back.
#[derive(Clone, Debug, Default)]
pub struct UndoRequest {
    /// The operation, by its full id.
    pub operation: String,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether a plan reports the contents of the files before and after.
    pub contents: bool,
    /// What `--force` overrides.
    pub force: Force,
}

/// What to revert, and how.
#[derive(Clone, Debug, Default)]
pub struct RevertRequest {
    /// The message (or, for a single step, the step) to go back to: any id that `ids` resolves.
    pub message: String,
    /// Only this message, and nothing that came after it.
    pub alone: bool,
    /// Only this step, instead of a message and everything after it.
    pub step: Option<String>,
    /// The session, by any of its ids.
    pub session: Option<String>,
    /// The paths to which it is limited, relative to `cwd`.
    pub only: Vec<PathBuf>,
    /// What to do with files that differ from what the agent left.
    pub on_conflict: OnConflict,
    /// The policy for unclear changes; by default that of the settings.
    pub unclear: Option<Unclear>,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether a plan reports the contents of the files before and after.
    pub contents: bool,
    /// What `--force` overrides.
    pub force: Force,
    /// Whether HEAD, branches and the index of the user's repository move along.
    pub git: bool,
    /// What becomes of the agent's conversation.
    pub conversation: ConversationChoice,
}

impl RevertRequest {
    /// Returns whether it is about some files, or about a single message or step: then the revert point stays.
    pub fn is_part(&self) -> bool {
        self.alone || self.step.is_some() || !self.only.is_empty()
    }
}

/// Whether something is done, or only planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It is done.
    #[default]
    No,
    /// It is planned and reported, and nothing is changed.
    Yes,
}

impl DryRun {
    /// Returns the mode of a dry run, if one is asked for.
    pub fn asked(is_given: bool) -> Self {
        match is_given {
            true => Self::Yes,
            false => Self::No,
        }
    }

    /// Returns whether nothing is changed.
    pub fn is_dry(self) -> bool {
        self == Self::Yes
    }
}

/// Whether an operation goes on where it would refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// It refuses while an agent is at work and where the system fails to read a file, and keeps a database with a log
    /// that is in no snapshot.
    #[default]
    No,
    /// It goes on, and takes such a log with its database. A command that runs inside an agent uses this, because that
    /// agent itself is at work. It never takes a database from a program that has it open.
    Yes,
}

impl Force {
    /// Returns the meaning of `--force`, if it is given.
    pub fn asked(is_given: bool) -> Self {
        if is_given { Self::Yes } else { Self::No }
    }

    /// Returns whether an agent at work does not matter.
    pub fn goes_on(self) -> bool {
        self == Self::Yes
    }
}

/// A redo or unrevert.
#[derive(Clone, Debug, Default)]
pub struct RedoRequest {
    /// The session, by any of its ids.
    pub session: Option<String>,
    /// Whether to go all the way (`unrevert`), not one message.
    pub all: bool,
    /// What to do with files that were changed while reverted; merge by default.
    pub on_conflict: Option<OnConflict>,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether a plan reports the contents of the files before and after.
    pub contents: bool,
    /// What `--force` overrides.
    pub force: Force,
    /// Whether HEAD, branches and the index of the user's repository move along.
    pub git: bool,
}

/// A restore.
#[derive(Clone, Debug, Default)]
pub struct RestoreRequest {
    /// A snapshot, message, step or operation.
    pub id: String,
    /// The paths to which it is limited, relative to `cwd`; all if empty.
    pub paths: Vec<PathBuf>,
    /// Whether files that the user changed since go back as well. A file that is named always does.
    pub overwrite_mine: bool,
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether a plan reports the contents of the files before and after.
    pub contents: bool,
    /// What `--force` overrides.
    pub force: Force,
    /// Whether HEAD, branches and the index of the user's repository move along.
    pub git: bool,
}

/// What a plan is of from which parts are chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanOrigin {
    /// The operation that it takes back, if it is an undo.
    pub undoes: Option<String>,
    /// The message of which, or since which, it undoes changes.
    pub message: Option<String>,
}

impl PlanOrigin {
    /// Returns that of a plan, by its report.
    pub fn of(report: &OperationReport) -> Self {
        let is_back = matches!(report.kind, OperationKind::Revert | OperationKind::Restore);
        let message = report
            .subject()
            .filter(|_| is_back && report.undoes.is_none());
        Self {
            undoes: report.undoes.clone(),
            message: message.map(str::to_owned),
        }
    }
}

/// The choice for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The directory of its workspace.
    pub workspace: PathBuf,
    /// Its path in the workspace.
    pub path: WorkspacePath,
    /// Its state when it was shown. Nothing else is replaced or removed.
    pub seen: State,
    /// The content that it gets.
    pub content: ChosenContent,
}

/// The new content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenContent {
    /// A state that the store holds, or nothing.
    State(State),
    /// A file with these bytes.
    Text {
        /// Its mode.
        mode: Mode,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

impl Chosen {
    /// Returns the bytes that the store does not hold yet.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            ChosenContent::State(_) => None,
            ChosenContent::Text { bytes, .. } => Some(bytes),
        }
    }
}
