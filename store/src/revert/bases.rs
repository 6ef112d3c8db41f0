//! Finds the state of each path before it was first reverted, and where the reverts since moved it. Pure.
//!
//! A path is moved from its base, the state before the first revert of a chain. In three cases, a later state is the
//! base instead. A path that ignore rules hid then is in no snapshot, and stays as it is until it is moved. A path that
//! was only kept, because of a conflict or a gap, was never reverted, so by now the user may have made it revertable.
//! And what the agent wrote while reverted is a change like any other, and has to be undone, too.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileResult, OperationKind};

use crate::model::entry::State;
use crate::model::path::WorkspacePath;
use crate::sessions::ChainOperation;

/// The snapshots that saw the session's own changes of each path, by id; `None` for changes that are being observed
/// right now.
pub(super) type Sightings<'a> = BTreeMap<&'a WorkspacePath, Vec<Option<i64>>>;

/// What a chain did to one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathPast {
    /// Where the path is moved from.
    pub base: Base,
    /// The state that the newest operation on it asked for, or `None` if it is still at its base.
    pub goal: Option<State>,
}

/// Where the base of a path is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Base {
    /// The snapshot before the first revert.
    #[default]
    Snapshot,
    /// What an operation found there.
    Found(State),
    /// The present state.
    Current,
}

/// Returns what a chain that began at the snapshot `base` did to its paths, and to those that the agent changed since.
///
/// `hidden` are the paths that ignore rules kept out of the snapshot, `own` the sightings of all changes of the
/// session, and `asked` those of the changes to undo. Redo passes none in `asked`.
pub(super) fn pasts(
    chain: &[ChainOperation],
    base: i64,
    kind: OperationKind,
    hidden: &BTreeSet<WorkspacePath>,
    own: &Sightings<'_>,
    asked: &Sightings<'_>,
) -> BTreeMap<WorkspacePath, PathPast> {
    let mut walks: BTreeMap<&WorkspacePath, PathWalk> = BTreeMap::new();
    for path in hidden {
        let walk = PathWalk {
            was_kept: true,
            ..PathWalk::since(base)
        };
        walks.insert(path, walk);
    }
    for operation in chain {
        for item in &operation.items {
            let walk = walks.entry(&item.path).or_insert(PathWalk::since(base));
            // It is still where it was, so the base is not touched. If this was the first time, the base is what
            // was found there when it first moves.
            if item.result != FileResult::Done {
                walk.was_kept = true;
                continue;
            }
            let before = operation.row.before_snapshot_id.unwrap_or(walk.seen);
            // The agent changed it again while it was reverted, and this revert undid that. What it found holds
            // that change, and the snapshot before the first revert does not.
            let is_asked_anew = operation.row.kind == OperationKind::Revert
                && own.get(&item.path).is_some_and(|seen_in| {
                    let is_new = |seen: &i64| (walk.seen.saturating_add(1)..=before).contains(seen);
                    seen_in.iter().flatten().any(is_new)
                });
            if is_asked_anew || (walk.was_kept && !walk.was_moved) {
                walk.past.base = Base::Found(item.expected);
            }
            walk.past.goal = Some(item.goal);
            (walk.was_moved, walk.seen) = (true, before);
        }
    }
    for (path, seen_in) in asked {
        let walk = walks.entry(path).or_insert(PathWalk::since(base));
        // The same for a change that the revert being planned is to undo: it was seen after all operations so far.
        let is_new = |seen: &Option<i64>| seen.is_none_or(|seen| seen > walk.seen);
        if kind == OperationKind::Revert && seen_in.iter().any(is_new) {
            walk.past = PathPast {
                base: Base::Current,
                goal: None,
            };
            walk.was_moved = true;
        }
    }
    walks
        .into_iter()
        .map(|(path, walk)| (path.clone(), walk.end()))
        .collect()
}

/// One path while the chain is walked.
struct PathWalk {
    past: PathPast,
    /// Whether it stayed where it was, or was not seen.
    was_kept: bool,
    was_moved: bool,
    /// The newest snapshot whose changes have been dealt with.
    seen: i64,
}

impl PathWalk {
    fn since(base: i64) -> Self {
        Self {
            past: PathPast::default(),
            was_kept: false,
            was_moved: false,
            seen: base,
        }
    }

    /// Returns what the chain did to the path. If it always left it alone, the base is the present state.
    fn end(self) -> PathPast {
        match self.was_kept && !self.was_moved {
            true => PathPast {
                base: Base::Current,
                goal: None,
            },
            false => self.past,
        }
    }
}
