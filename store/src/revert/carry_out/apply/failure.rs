//! The outcome of an item, and why one was left alone.

use rustix::io::Errno;

use ckpt_schema::report::{FileResult, ReasonCode};

use crate::error::Error;
use crate::model::item::{Item, ItemOutcome, ItemReason, ReasonCase};

use super::present_file::Found;

/// Why an item was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemFailure {
    /// What is there is not what was expected.
    Conflict(String),
    /// A program has it open.
    Open(String),
    /// A system call failed; a later try may succeed.
    Failed(String),
}

/// What most functions of the writer return.
pub(super) type ItemResult<T> = Result<T, ItemFailure>;

impl ItemFailure {
    /// Returns the failure of an item that is left alone, for a reason.
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
            Self::Conflict(reason) | Self::Open(reason) | Self::Failed(reason) => {
                Self::Failed(reason)
            }
        }
    }

    /// Returns the failure for an entry whose directory cannot be entered.
    pub(super) fn not_entered(error: Errno) -> Self {
        Self::of("its directory cannot be entered", error).into_failure()
    }

    /// Returns the conflict for an entry whose directory is another one than when its item was begun.
    pub(super) fn elsewhere() -> Self {
        Self::conflict("its directory was moved or replaced meanwhile")
    }

    /// Returns the failure for what was written and may not have reached the disk.
    pub(super) fn not_synced(error: Errno) -> Self {
        Self::of("cannot be synced", error).into_failure()
    }

    /// Returns the failure for an error of the store, with its causes.
    pub(super) fn from_error(error: &Error) -> Self {
        Self::Failed(error.with_causes())
    }

    /// Adds the name under which bytes are that could not be put back in their place.
    pub(super) fn kept_in(self, own: &[u8]) -> Self {
        self.with(&format!(
            "what was there is beside it, in `{}`",
            String::from_utf8_lossy(own)
        ))
    }

    /// Adds the name under which the target is that could not be put into its place.
    pub(super) fn waits_in(self, own: &[u8]) -> Self {
        self.with(&format!(
            "the new content is beside it, in `{}`",
            String::from_utf8_lossy(own)
        ))
    }

    fn with(self, more: &str) -> Self {
        match self {
            Self::Conflict(reason) => Self::Conflict(format!("{reason}; {more}")),
            Self::Open(reason) => Self::Open(format!("{reason}; {more}")),
            Self::Failed(reason) => Self::Failed(format!("{reason}; {more}")),
        }
    }
}

impl From<ItemFailure> for ItemOutcome {
    fn from(failure: ItemFailure) -> Self {
        let (result, reason) = match failure {
            ItemFailure::Conflict(reason) => (
                FileResult::Conflict,
                ItemReason::new(ReasonCode::Moved, reason),
            ),
            ItemFailure::Open(reason) => (
                FileResult::Conflict,
                ItemReason::of(ReasonCode::Moved, ReasonCase::Open, reason),
            ),
            ItemFailure::Failed(reason) => (
                FileResult::Failed,
                ItemReason::new(ReasonCode::Failed, reason),
            ),
        };
        Self {
            result,
            reason: Some(reason),
        }
    }
}

/// Returns the outcome of an item: as planned if nothing was tried, or else whether it changed. `unsynced` says why a
/// change may be lost.
pub(super) fn outcome(
    item: &Item,
    tried: Option<ItemResult<bool>>,
    unsynced: Option<&ItemReason>,
) -> ItemOutcome {
    match tried {
        None => ItemOutcome {
            result: item.result,
            reason: item.reason.clone(),
        },
        Some(Err(failure)) => failure.into(),
        Some(Ok(is_changed)) => ItemOutcome {
            result: FileResult::Done,
            reason: unsynced.filter(|_| is_changed).cloned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use ckpt_schema::report::FileAction;

    use super::*;
    use crate::model::path::WorkspacePath;

    /// Only what changed may be lost in a power cut.
    #[test]
    fn only_changes_may_be_lost_without_power() {
        let item = Item {
            path: WorkspacePath::new("a").expect("legal"),
            expected: None,
            target: None,
            goal: None,
            action: FileAction::Keep,
            result: FileResult::Conflict,
            reason: Some(ItemReason::new(ReasonCode::Moved, "edited")),
            lines: None,
        };
        let unsynced = ItemReason::new(ReasonCode::NotSynced, "may be lost");
        let outcome = |tried| outcome(&item, tried, Some(&unsynced));
        let done = |reason| ItemOutcome {
            result: FileResult::Done,
            reason,
        };
        assert_eq!(outcome(Some(Ok(true))), done(Some(unsynced.clone())));
        assert_eq!(outcome(Some(Ok(false))), done(None), "it was there before");
        let failed = outcome(Some(Err(ItemFailure::Failed("no".to_owned()))));
        assert_eq!(failed.result, FileResult::Failed);
        let untried = outcome(None);
        assert_eq!(
            (untried.result, untried.reason),
            (item.result, item.reason.clone())
        );
    }
}
