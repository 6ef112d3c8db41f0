//! What a plan would do to each file: its state now, and the state it would get.

use std::path::PathBuf;

use ckpt_schema::report::ChangeReport;

use super::compare;
use crate::error::Result;
use crate::model::entry::{Change, State};
use crate::model::path::{WorkspacePath, list_once};
use crate::model::request::PlanOrigin;
use crate::revert;
use crate::store::Store;

/// What a plan would do to each file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The directory of the workspace in which it was asked for.
    pub workspace: PathBuf,
    /// What it is of.
    pub origin: PlanOrigin,
    /// The files that it would change, by root and path. One in a root below another is listed there alone.
    pub files: Vec<Proposed>,
}

/// What a plan would do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// The directory of its workspace.
    pub workspace: PathBuf,
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
    let (workspace, planned) = revert::planned(store, token, &super::gone_states)?;
    let mut roots = Vec::new();
    for (place, plan) in planned.plans {
        let snapshots = place.snapshots()?;
        let merged: Vec<&[u8]> = plan.blobs.values().map(Vec::as_slice).collect();
        snapshots.write_blobs(&merged)?;
        let planned = plan.items.into_iter().filter(|item| item.is_planned());
        let files: Vec<Proposed> = planned
            .map(|item| {
                let change = Change {
                    path: item.path.clone(),
                    old: item.expected,
                    new: item.target,
                };
                Proposed {
                    workspace: place.root.clone(),
                    change: compare::report(&snapshots, &change),
                    path: item.path,
                    now: item.expected,
                    then: item.target,
                }
            })
            .collect();
        roots.push((place.root, files));
    }
    let lists = roots.iter_mut();
    let lists = lists.map(|(root, files)| (root.clone(), files));
    list_once(&mut lists.collect::<Vec<_>>(), |file| {
        &file.change.path.path
    });
    let files = roots.into_iter().flat_map(|(_, files)| files).collect();
    Ok(Proposal {
        workspace,
        origin: PlanOrigin::of(&planned.report),
        files,
    })
}
