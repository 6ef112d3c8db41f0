//! What can be asked for, and how it is to be done.

use std::path::PathBuf;

use crate::model::entry::ObjectId;
use crate::model::request::{
    ConversationChoice, DryRun, Force, RedoRequest, RestoreRequest, RevertRequest, UndoRequest,
};
use crate::objects::hash::blob_id;
use crate::sessions::new_id;

/// A caller's own name for a request, of which only the hash is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestKey(ObjectId);

impl RequestKey {
    /// Returns the key with that name for a plan.
    pub fn of(name: &str, plan: &str) -> Self {
        Self(blob_id(format!("{name}\n{plan}").as_bytes()))
    }
}

/// As many digits as the id of any operation has.
const ID_LENGTH: usize = 32;

/// The options of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub dry_run: DryRun,
    pub force: Force,
    /// Whether a database takes a log of another state along, as `--force` says.
    pub takes_logs: bool,
    /// Whether HEAD, branches and the index move along.
    pub git: bool,
    /// The fingerprint of the only plan that may be carried out.
    pub expected: Option<ObjectId>,
    /// Whether a dry run reports the contents of the files.
    pub contents: bool,
    /// What becomes of the agent's conversation.
    pub conversation: ConversationChoice,
    /// What a caller names it by who may ask again, as it did not hear the answer: it is done once.
    pub key: Option<RequestKey>,
}

impl Options {
    /// Returns the options of an operation on files alone, without a plan that was made before.
    pub fn new(dry_run: DryRun, force: Force) -> Self {
        Self {
            dry_run,
            force,
            takes_logs: force.goes_on(),
            git: false,
            expected: None,
            contents: false,
            conversation: ConversationChoice::No,
            key: None,
        }
    }

    /// Returns the options with a caller's key.
    pub fn keyed(self, key: Option<RequestKey>) -> Self {
        Self { key, ..self }
    }

    /// Returns the id of the operation: that of its key, or a new one.
    pub fn operation(&self) -> String {
        match self.key {
            Some(RequestKey(key)) => key.to_string().chars().take(ID_LENGTH).collect(),
            None => new_id(),
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
