//! The present state of a workspace: its open steps, and a look at it. This module does IO, but only reads.

use rusqlite::Connection;

use crate::error::Result;
use crate::model::progress::OperationProgress;
use crate::sessions::{self, OpenStep};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{Baseline, Look, LookOptions, Place, SnapshotOptions};

/// A workspace as an operation finds it.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub store: &'a Store,
    pub place: &'a Place,
    pub snapshots: &'a Snapshots,
    /// The look at it.
    pub seen: &'a Look,
}

impl<'a> Scene<'a> {
    /// Returns the connection to the session store, to read from.
    pub fn connection(self) -> &'a Connection {
        self.store.database.connection()
    }
}

/// Returns the open steps of a workspace, and what is known before the look at it, in one transaction: otherwise each
/// query would take SQLite's locks anew.
pub(crate) fn known(store: &Store, place: &Place) -> Result<(Vec<OpenStep>, Baseline)> {
    store.database.read(|connection| {
        let open = sessions::open_steps(connection, place.row.id)?;
        Ok((open, Baseline::of(connection, place.row.id)?))
    })
}

/// Looks at the workspace, and reports the progress to the watcher.
pub(crate) fn look(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    before: Baseline,
    looking: LookOptions<'_>,
) -> Result<Look> {
    let report = store.reporter();
    let tell = |progress| report(OperationProgress::Looking(progress));
    let how = SnapshotOptions {
        progress: Some(&tell),
        ..looking.how
    };
    Look::make(
        store,
        place,
        snapshots,
        before,
        LookOptions { how, ..looking },
    )
}
