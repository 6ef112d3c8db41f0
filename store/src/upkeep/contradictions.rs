//! Finds changes that contradict their snapshots. A snapshot is named by its hash. A row of the session store is not,
//! so that SQLite knows nothing of a bit that flipped in a path or an object id.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::model::entry::{State, is_unstored};
use crate::model::path::WorkspacePath;
use crate::sessions::{self, ChangeRow};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;

/// Returns the paths whose changes do not lead from one snapshot to the next. It compares the changes of a workspace
/// with the snapshots that they are between, the newest first, for as long as `goes_on`.
pub(super) fn find(
    store: &Store,
    place: &Place,
    goes_on: &dyn Fn() -> bool,
) -> Result<BTreeSet<WorkspacePath>> {
    let connection = store.database.connection();
    let rows = sessions::changes_between_kept(connection, place.row.id)?;
    let named = sessions::forced_paths(connection, place.row.id)?;
    let comparison = Comparison {
        store,
        snapshots: place.snapshots()?,
        named: named.into_iter().collect(),
    };
    let between = |row: &ChangeRow| row.from_snapshot_id.zip(row.to_snapshot_id);
    let mut found = BTreeSet::new();
    for rows in rows.chunk_by(|one, other| between(one) == between(other)) {
        if !goes_on() {
            break;
        }
        let between = rows.first().and_then(between);
        // Lost objects are told of where all of them are read.
        let contradictions = between.and_then(|ends| comparison.between(ends, rows).ok());
        found.extend(contradictions.unwrap_or_default());
    }
    Ok(found)
}

/// What the changes of a workspace are compared with.
struct Comparison<'a> {
    store: &'a Store,
    snapshots: Snapshots,
    /// The files that edit tools named. Rows may hold what snapshots leave out of these.
    named: BTreeSet<WorkspacePath>,
}

impl Comparison<'_> {
    /// Returns the contradictions between two snapshots. Several changes of a path are a chain.
    fn between(&self, ends: (i64, i64), rows: &[ChangeRow]) -> Result<Vec<WorkspacePath>> {
        let mut changes: BTreeMap<&WorkspacePath, (State, State)> = BTreeMap::new();
        for row in rows {
            let change = &row.change;
            changes
                .entry(&change.path)
                .and_modify(|(_, new)| *new = change.new)
                .or_insert((change.old, change.new));
        }
        let paths: Vec<WorkspacePath> = changes.keys().map(|path| (*path).clone()).collect();
        let (old, new): (Vec<State>, Vec<State>) = changes.into_values().unzip();
        let old = self.contradicts(ends.0, &paths, &old)?;
        let new = self.contradicts(ends.1, &paths, &new)?;
        let found = paths.into_iter().zip(old.into_iter().zip(new));
        let found = found.filter(|(_, (old, new))| *old || *new);
        Ok(found.map(|(path, _)| path).collect())
    }

    /// Returns for each path whether a snapshot has another state of it than is told. What was out of view, what edit
    /// tools named, and what was not stored need not be in the snapshot.
    fn contradicts(
        &self,
        snapshot: i64,
        paths: &[WorkspacePath],
        told: &[State],
    ) -> Result<Vec<bool>> {
        let row = sessions::snapshot(self.store.database.connection(), snapshot)?;
        let snapshot = row.snapshot;
        let states = self.snapshots.states(&snapshot, paths)?;
        let presences = self.snapshots.presences(&snapshot, paths)?;
        let known = states.into_iter().zip(presences).zip(paths);
        Ok(known
            .zip(told)
            .map(|(((state, presence), path), told)| {
                let may_be_left_out = presence.is_out_of_view() || self.named.contains(path);
                let is_unknown = is_unstored(*told) || state.is_none() && may_be_left_out;
                state != *told && !is_unknown
            })
            .collect())
    }
}
