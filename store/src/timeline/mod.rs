//! The line of a workspace's snapshots: which workspace it is, what it looks like now, and who made each change since
//! the last look. Recording and reverting both build on it.

mod adoption;
mod attribute;
mod baseline;
#[cfg(test)]
mod day_tests;
mod deferred_files;
pub(crate) mod evidence;
mod file_clock;
mod hindsight;
pub(crate) mod life;
mod links;
mod look;
mod losses;
pub(crate) mod orphans;
mod outer_tools;
mod process;
mod retrace;
pub(crate) mod root;
mod transcript;
mod undone_writes;
mod workers;
mod workspace;

pub(crate) use adoption::{
    adopt, check_exact, found_again, list as list_workspaces, name_present_paths, offered,
};
pub(crate) use attribute::count_with;
pub(crate) use baseline::Baseline;
pub(crate) use hindsight::step_afterwards;
pub(crate) use look::{Look, LookOptions, MAX_COUNTED};
pub(crate) use losses::{
    check as check_losses, has_lost_rows, note, note_newest, notice, renew as renew_note,
};
pub(crate) use process::uptime;
pub(crate) use retrace::retrace;
pub(crate) use workspace::{
    LOCK_TIMEOUT, Place, SnapshotOptions, neighbour, normal, parent_of, root_of,
};

use crate::error::Result;
use crate::snapshot::StoredSnapshot;
use crate::store::Store;

/// Takes a snapshot of the workspace without a row, to compare something with its present state.
pub(crate) fn current(store: &mut Store, place: &Place) -> Result<StoredSnapshot> {
    let lock = place.lock(LOCK_TIMEOUT)?;
    renew_note(store.database.connection(), place, &lock)?;
    let snapshots = place.snapshots()?;
    place.take(store, &snapshots, SnapshotOptions::default())
}
