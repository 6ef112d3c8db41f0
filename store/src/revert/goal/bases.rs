//! Finds the state of each path before it was first reverted, and where the reverts since moved it. Pure.
//!
//! A path is moved from its base: what the first operation of the chain that moved it found there. One that no operation
//! moved is moved from the present. So it does not matter when the path was first looked at, or who else moved it before.
//! What the agent wrote while reverted is a change like any other, and has to be undone, too: then the base is what the
//! revert that undid it found.

use std::collections::BTreeMap;

use ckpt_schema::report::{FileResult, OperationKind};

use crate::model::entry::{State, is_unstored};
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::sessions::ChainOperation;

/// The snapshots that saw the session's own changes of each path, by id; `None` for changes that only the present look saw
/// right now.
pub(crate) type Sightings<'a> = BTreeMap<&'a WorkspacePath, Vec<Option<i64>>>;

/// What a chain did to one path that it moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathPast {
    /// What was found there.
    pub base: State,
    /// The state that the newest operation on it asked for.
    pub goal: State,
    /// The newest snapshot whose changes have been dealt with.
    seen: i64,
}

/// Returns the effect of a chain on the paths that it moved. A path that the agent changed since is not among them: a revert
/// moves it from the present.
///
/// `own` are the sightings of all changes of the session, and `asked` those of the changes to undo. Redo passes none in
/// `asked`.
pub(crate) fn pasts(
    chain: &[ChainOperation],
    kind: OperationKind,
    own: &Sightings<'_>,
    asked: &Sightings<'_>,
) -> BTreeMap<WorkspacePath, PathPast> {
    let mut pasts: BTreeMap<WorkspacePath, PathPast> = BTreeMap::new();
    for operation in chain {
        // What was kept is still where it was. What could not be read was left alone.
        let is_done = |item: &&Item| item.result == FileResult::Done && !is_unstored(item.expected);
        for item in operation.items.iter().filter(is_done) {
            let past = pasts.get(&item.path);
            let seen = past.map_or(i64::MIN, |past| past.seen);
            let before = operation.row.before_snapshot_id.unwrap_or(seen);
            // The agent changed it again while it was reverted, and this revert undid that. What it found holds
            // that change, and the first base does not.
            let is_new = |at: &i64| (seen.saturating_add(1)..=before).contains(at);
            let is_asked_anew = operation.row.kind == OperationKind::Revert
                && own
                    .get(&item.path)
                    .is_some_and(|seen_in| seen_in.iter().flatten().any(is_new));
            let base = past.filter(|_| !is_asked_anew).map(|past| past.base);
            let past = PathPast {
                base: base.unwrap_or(item.expected),
                goal: item.goal,
                seen: before,
            };
            pasts.insert(item.path.clone(), past);
        }
    }
    if kind == OperationKind::Revert {
        // The same for a change that the revert being planned is to undo: it was seen after all operations so far.
        pasts.retain(|path, past| {
            let seen_in = asked.get(path).into_iter().flatten();
            !seen_in
                .into_iter()
                .any(|at| at.is_none_or(|at| at > past.seen))
        });
    }
    pasts
}
