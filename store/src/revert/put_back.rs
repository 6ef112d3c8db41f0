//! Puts single files back, each to an entry that was captured, whenever that was: a restore of no one state. The present is in the
//! operation's snapshot, so this has a way back like every operation.

use std::path::Path;

use ckpt_schema::report::{OperationKind, OperationReport};

use super::gather::States;
use super::gather::states::current_states;
use super::operate;
use super::operation::{Operation, Options};
use super::plan::{Lines, plan_exactly};
use super::recover::Recovered;
use super::refuse;
use crate::error::Result;
use crate::model::request::{OnConflict, Unclear};
use crate::sessions;
use crate::store::Store;
use crate::timeline::{Looking, Place};

/// Puts paths back to entries.
pub(crate) fn put_back(
    store: &mut Store,
    cwd: &Path,
    wanted: &States,
    options: Options,
) -> Result<OperationReport> {
    let place = Place::known(store, cwd)?;
    let (_lock, Recovered { warnings, done }) = super::enter(store, &place, options.dry_run)?;
    under_lock(store, &place, wanted, options, warnings).map_err(|error| error.after(done))
}

fn under_lock(
    store: &mut Store,
    place: &Place,
    wanted: &States,
    options: Options,
    warnings: Vec<String>,
) -> Result<OperationReport> {
    let open = sessions::open_steps(store.database.connection(), place.row.id)?;
    let who = "an agent is at work in this workspace";
    let busy = refuse::while_busy(who, &open, store.now(), options)?;
    let snapshots = place.snapshots()?;
    let looking = Looking {
        open: &open,
        ..Looking::default()
    };
    let seen = operate::observe(store, place, &snapshots, looking)?;
    let paths = wanted.keys().cloned().collect();
    let current = current_states(place, &snapshots, &seen.snapshot, &paths)?;
    let operation = Operation {
        kind: OperationKind::Restore,
        movement: None,
        plan: plan_exactly(&snapshots, wanted, &current)?,
        lines: Lines::new(),
        git: None,
        on_conflict: OnConflict::Overwrite,
        unclear: Unclear::default(),
        base: None,
        reference: None,
        warnings,
        // The files come from several states: there is no one to compare with.
        expectation: None,
        is_incomplete: false,
    };
    let report = operate::execute(store, place, &snapshots, operation, &seen, &[], options)?;
    Ok(OperationReport { busy, ..report })
}
