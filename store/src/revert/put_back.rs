//! Sets files to entries of their own: from snapshots of any time, or with the parts of a plan that the user chose. It
//! is a restore without a single state that it goes to. The operation's snapshot holds the present, so this can be
//! undone like every operation.

use std::path::Path;

use ckpt_schema::report::OperationKind;

use super::execute::Executed;
use super::goal::lines::Lines;
use super::goal::material;
use super::goal::seen_history::SeenHistory;
use super::goal::states::{PathStates, current_states};
use super::plan::operation::{Operation, Options};
use super::plan::plan_exactly;
use super::recover::Recovered;
use super::restore::restoring;
use crate::error::{Error, Result};
use crate::model::request::{OnConflict, Unclear};
use crate::store::Store;
use crate::timeline::Place;

/// The entries that files get, and what they must be before.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub states: &'a PathStates,
    /// The states that the user saw while choosing. A path without one may be anything.
    pub seen: &'a PathStates,
    /// The operation that it takes back, if it is an undo.
    pub undoes: Option<&'a str>,
}

/// Sets paths to entries. If one of them is not what the user saw, the error is `Stale`, and nothing is changed.
pub(crate) fn put_back(
    store: &mut Store,
    cwd: &Path,
    wanted: Wanted<'_>,
    options: Options,
) -> Result<Executed> {
    let place = Place::known(store, cwd)?;
    super::or_mended(store, &place, |store| {
        let (_lock, recovered) = super::enter(store, &place, options.dry_run)?;
        let done = recovered.done.clone();
        under_lock(store, &place, wanted, options, recovered).map_err(|error| error.after(done))
    })
}

fn refuse_stale(wanted: Wanted<'_>, current: &PathStates) -> Result<()> {
    let state_now = |path| current.get(path).copied().flatten();
    let mut changed = wanted
        .seen
        .iter()
        .filter(|(path, seen)| state_now(path) != **seen);
    match changed.next() {
        None => Ok(()),
        Some((path, _)) => Err(Error::stale(format!(
            "`{}` has changed since it was shown",
            path.to_text().escape_debug()
        ))),
    }
}

fn under_lock(
    store: &mut Store,
    place: &Place,
    wanted: Wanted<'_>,
    options: Options,
    recovered: Recovered,
) -> Result<Executed> {
    restoring(store, place, options, |store, snapshots, seen| {
        let paths = wanted.states.keys().cloned().collect();
        let current = current_states(place, snapshots, &seen.snapshot, &paths)?;
        refuse_stale(wanted, &current)?;
        let forgotten = material::forgotten(store, place)?;
        Ok(Operation {
            kind: OperationKind::Restore,
            movement: None,
            undoes: wanted.undoes.map(str::to_owned),
            plan: plan_exactly(snapshots, wanted.states, &current, &forgotten)?,
            lines: Lines::new(),
            git: None,
            on_conflict: OnConflict::Overwrite,
            unclear: Unclear::default(),
            base: None,
            reference: None,
            history: SeenHistory::default(),
            warnings: recovered.warnings,
            finished: recovered.finished,
            // The files come from several states, so there is none to compare with.
            expectation: None,
            is_incomplete: false,
        })
    })
}
