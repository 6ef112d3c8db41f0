//! What can be asked for, and how it is to be done.

use std::path::PathBuf;

use crate::model::entry::ObjectId;
use crate::model::request::{
    ConversationChoice, DryRun, Force, RedoRequest, RestoreRequest, RevertRequest, UndoRequest,
};

/// The options of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub dry_run: DryRun,
    pub force: Force,
    /// Whether HEAD, branches and the index move along.
    pub git: bool,
    /// The fingerprint of the only plan that may be carried out.
    pub expected: Option<ObjectId>,
    /// Whether a dry run reports the contents of the files.
    pub contents: bool,
    /// What becomes of the agent's conversation.
    pub conversation: ConversationChoice,
}

impl Options {
    /// Returns the options of an operation on files alone, without a plan that was made before.
    pub fn new(dry_run: DryRun, force: Force) -> Self {
        Self {
            dry_run,
            force,
            git: false,
            expected: None,
            contents: false,
            conversation: ConversationChoice::No,
        }
    }
}

/// A request for an operation. A plan's token stands for one.
#[derive(Clone, Debug)]
pub(crate) enum PlanRequest {
    Revert(RevertRequest),
    Redo(RedoRequest),
    Restore(RestoreRequest),
    Undo(UndoRequest),
    /// Put back files that are gone, at or below these paths or with that name.
    Recover(Vec<PathBuf>),
}

impl PlanRequest {
    /// Returns the options that it names itself.
    pub fn options(&self) -> Options {
        let (dry_run, force, git, contents) = match self {
            Self::Revert(it) => (it.dry_run, it.force, it.git, it.contents),
            Self::Redo(it) => (it.dry_run, it.force, it.git, it.contents),
            Self::Restore(it) => (it.dry_run, it.force, it.git, it.contents),
            Self::Undo(it) => (it.dry_run, it.force, false, it.contents),
            Self::Recover(_) => (false, Force::No, false, false),
        };
        let conversation = match self {
            Self::Revert(it) => it.conversation,
            _ => ConversationChoice::No,
        };
        Options {
            git,
            contents,
            conversation,
            ..Options::new(DryRun::asked(dry_run), force)
        }
    }
}
