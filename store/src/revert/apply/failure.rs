//! Why an item was left alone, and the words for it.

use rustix::io::Errno;

use ckpt_schema::report::{FileResult, ReasonCode};

use crate::error::Error;
use crate::model::item::ItemOutcome;
use crate::model::reason::ItemReason;

use super::found::Found;

/// Why an item was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemFailure {
    /// What is there is not what was expected.
    Conflict(String),
    /// The system said no; a later try may go better.
    Failed(String),
}

/// What most functions of the writer return.
pub(super) type ItemResult<T> = Result<T, ItemFailure>;

impl ItemFailure {
    pub(super) fn conflict(reason: impl Into<String>) -> Self {
        Self::Conflict(reason.into())
    }

    /// Returns the conflict for something that is not what was expected.
    pub(super) fn unexpected(found: &Found) -> Self {
        Self::Conflict(format!("it is not what was expected: {}", found.name()))
    }

    /// Sorts the error of a system call: some of them say that the workspace is not what was expected. `ELOOP` is not
    /// one of these, because no link is ever followed.
    pub(super) fn of(what: &str, error: Errno) -> Self {
        let reason = format!("{what}: {error}");
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::EXIST | Errno::NOTEMPTY => Self::Conflict(reason),
            _ => Self::Failed(reason),
        }
    }

    /// Turns any error into a failure. Use it for calls whose errors say nothing about the workspace's state.
    pub(super) fn into_failure(self) -> Self {
        match self {
            Self::Conflict(reason) | Self::Failed(reason) => Self::Failed(reason),
        }
    }

    /// Returns the failure for an error of the store, with its causes.
    pub(super) fn from_error(error: &Error) -> Self {
        Self::Failed(error.with_causes())
    }

    /// Adds where bytes are that could not be put back in their place.
    pub(super) fn kept_in(self, own: &[u8]) -> Self {
        self.with(&format!(
            "what was there is beside it, in `{}`",
            String::from_utf8_lossy(own)
        ))
    }

    /// Adds where the target is that could not be put into its place.
    pub(super) fn waits_in(self, own: &[u8]) -> Self {
        self.with(&format!(
            "the new content is beside it, in `{}`",
            String::from_utf8_lossy(own)
        ))
    }

    fn with(self, more: &str) -> Self {
        match self {
            Self::Conflict(reason) => Self::Conflict(format!("{reason}; {more}")),
            Self::Failed(reason) => Self::Failed(format!("{reason}; {more}")),
        }
    }
}

impl From<ItemFailure> for ItemOutcome {
    fn from(failure: ItemFailure) -> Self {
        match failure {
            ItemFailure::Conflict(reason) => Self {
                result: FileResult::Conflict,
                reason: Some(ItemReason::new(ReasonCode::Moved, reason)),
            },
            ItemFailure::Failed(reason) => Self {
                result: FileResult::Failed,
                reason: Some(ItemReason::new(ReasonCode::Failed, reason)),
            },
        }
    }
}
