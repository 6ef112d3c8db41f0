//! A request becomes a plan, and a plan is carried out: design section 6.

pub mod apply;
pub mod item;

use std::path::Path;

use ckpt_schema::report;

use crate::error::Result;
use crate::{RedoRequest, RestoreRequest, RevertRequest, Store};

/// What to do with a file that is not what the agent left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Merge where the edits do not overlap, else keep.
    #[default]
    Merge,
    /// Keep it and report it.
    Keep,
    /// Put the old side there; the user's bytes stay in the operation's snapshot.
    Overwrite,
}

pub(crate) fn revert(_store: &mut Store, _cwd: &Path, _request: &RevertRequest) -> Result<report::OperationReport> {
    todo!("the revert room")
}

pub(crate) fn redo(_store: &mut Store, _cwd: &Path, _request: &RedoRequest) -> Result<report::OperationReport> {
    todo!("the revert room")
}

pub(crate) fn restore(_store: &mut Store, _cwd: &Path, _request: &RestoreRequest) -> Result<report::OperationReport> {
    todo!("the revert room")
}
