//! What a plan would do to each file: its state now, and the state it would get.

use std::path::PathBuf;

use ckpt_schema::report::ChangeReport;

use super::compare;
use crate::error::Result;
use crate::model::entry::{Change, State};
use crate::model::path::WorkspacePath;
use crate::revert;
use crate::store::Store;
use crate::timeline::Place;

/// What a plan would do to each file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The directory of the workspace.
    pub workspace: PathBuf,
    /// The files that it would change, by path.
    pub files: Vec<Proposed>,
}

/// What a plan would do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// The path in the workspace.
    pub path: WorkspacePath,
    /// The state now.
    pub now: State,
    /// The state that it would get.
    pub then: State,
    /// The difference. The store holds the bytes of both sides, merged ones included.
    pub change: ChangeReport,
}

/// Makes the plan that a token asks for again, and returns what it would do to each file.
pub(crate) fn proposal(store: &mut Store, token: &str) -> Result<Proposal> {
    let (workspace, plan) = revert::planned(store, token, &super::gone_states)?;
    let snapshots = Place::known(store, &workspace)?.snapshots()?;
    let merged: Vec<&[u8]> = plan.blobs.values().map(Vec::as_slice).collect();
    snapshots.write_blobs(&merged)?;
    let planned = plan.items.into_iter().filter(|item| item.is_planned());
    let files = planned
        .map(|item| {
            let change = Change {
                path: item.path.clone(),
                old: item.expected,
                new: item.target,
            };
            Proposed {
                change: compare::report(&snapshots, &change),
                path: item.path,
                now: item.expected,
                then: item.target,
            }
        })
        .collect();
    Ok(Proposal { workspace, files })
}
