//! The git side of a movement.

use rusqlite::Connection;

use crate::model::Milliseconds;
use crate::model::git_item::GitStateRow;
use crate::revert::goal::present::Scene;
use crate::snapshot::Snapshots;
use crate::timeline::Place;

/// The git side of a movement: the history that it goes back over, and the present state.
pub(crate) struct GitSide<'a> {
    pub connection: &'a Connection,
    pub place: &'a Place,
    pub snapshots: &'a Snapshots,
    pub now: Option<&'a GitStateRow>,
    pub at: Milliseconds,
}

impl<'a> GitSide<'a> {
    /// Returns the git side of what an operation finds.
    pub fn of(scene: Scene<'a>) -> Self {
        Self {
            connection: scene.connection(),
            place: scene.place,
            snapshots: scene.snapshots,
            now: scene.seen.git.as_ref(),
            at: scene.store.now(),
        }
    }
}
