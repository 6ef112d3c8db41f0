//! Writes the rows of an event in one transaction, each after the rows that it refers to.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::{EventReport, VERSION};

use super::Begun;
use super::decide::{Action, Decision};
use super::recording::{EventOutcome, Recording, Seen};
use super::view::EventContext;
use crate::error::Result;
use crate::sessions::{self, StepPath};
use crate::store::Store;
use crate::timeline::{Observation, Place};

/// Writes an event that needs no snapshot.
pub(super) fn without_snapshot(
    store: &mut Store,
    place: &Place,
    event: &Event,
    view: &EventContext,
    decision: &Decision,
) -> Result<EventReport> {
    let now = store.now();
    // Before the transaction, because it reads files: SQLite's write lock is everybody's.
    let named = if decision.action == Action::AddTool {
        named_paths(store, place, event, view)?
    } else {
        Vec::new()
    };
    let written = store.database.write(|connection| {
        let mut recording = Recording::of(connection, place, event, view, &named, now)?;
        // Nothing else refers to a snapshot, so the row need not be read.
        // A look that is not needed still is a boundary: the step ends, or begins, at the last one.
        let last = if decision.is_boundary() {
            sessions::workspace(connection, place.row.id)?.last_snapshot_id
        } else {
            None
        };
        let seen = Seen::AsBefore(last);
        // In the same order as after a look: what ends is written before what begins.
        recording.end_steps(decision, &seen, None)?;
        recording.act(decision.action, &seen)?;
        recording.end(&seen)
    })?;
    Ok(report(event, decision, written, None))
}

/// Writes an event with the observation of the workspace that was made for it. If that failed, whatever depends on it
/// is marked unprotected, and the error is returned once the rows are written. In both cases the run of the look that
/// has `begun` ends: a failure is not a kill.
///
/// The objects are already on disk. The rows are written in the order of time: first the changes, which belong to the
/// steps that were open until now; then those steps end; then messages that waited for such a boundary begin; and last
/// whatever the event itself begins, so that none of the observed changes belong to it.
pub(super) fn with_snapshot(
    store: &mut Store,
    place: &Place,
    event: &Event,
    view: &EventContext,
    decision: &Decision,
    observation: Result<Observation>,
    begun: Option<Begun>,
) -> Result<EventReport> {
    let now = store.now();
    // Reads files, so it comes before the transaction: SQLite's write lock is everybody's.
    let named = named_paths(store, place, event, view)?;
    let written = store.database.write(|connection| {
        let mut recording = Recording::of(connection, place, event, view, &named, now)?;
        recording.looked_from = begun.map(|begun| begun.at);
        // An inferred step has to be there before its changes.
        let supposed = recording.suppose(decision, observation.as_ref().ok())?;
        // Before the new changes are written: it releases what earlier looks gave to the step while the model was
        // thinking.
        if decision.action == Action::MoveStart {
            recording.release_thinking()?;
        }
        let seen = match &observation {
            Ok(observation) => Seen::At {
                snapshot_id: observation.write(connection, place.row.id, None, now)?,
                observation,
            },
            Err(error) => Seen::Failed(error.with_causes()),
        };
        //   rows in the order of time:
        //
        //   an inferred step ─► the changes ─► steps end ─► waiting messages begin ─► what the event begins
        //
        // With the new step first, the changes before it would be inside it.
        recording.end_steps(decision, &seen, supposed.as_deref())?;
        if decision.is_boundary() {
            recording.bind_messages(&seen)?;
        }
        recording.act(decision.action, &seen)?;
        let written = recording.end(&seen)?;
        begun
            .map(|begun| sessions::end_run(connection, begun.run))
            .transpose()?;
        Ok(written)
    })?;
    // Only now: the rows of a failed look are committed, and the caller still learns why it failed.
    let observation = observation?;
    Ok(report(event, decision, written, Some(&observation)))
}

/// Returns the files that an edit tool is about to touch, with the present state of those that an ignore rule hides.
fn named_paths(
    store: &Store,
    place: &Place,
    event: &Event,
    view: &EventContext,
) -> Result<Vec<StepPath>> {
    if event.event != EventKind::ToolStart || event.paths.is_empty() {
        return Ok(Vec::new());
    }
    let snapshots = place.snapshots()?;
    let named_before = |path| {
        view.own_step()
            .is_some_and(|step| step.paths.iter().any(|named| named.path == path))
    };
    let paths = event
        .paths
        .iter()
        .filter_map(|path| place.path_of(path))
        // The state of interest is that from before the step touched the file. A second tool that names it would
        // see the first one's edit.
        .filter(|path| !named_before(path.clone()));
    paths
        .map(|path| {
            let is_hidden = place.hides(store, &snapshots, &path)?;
            let hidden_before = if is_hidden {
                Some(snapshots.capture(&place.root, &path)?)
            } else {
                None
            };
            Ok(StepPath {
                path,
                hidden_before,
            })
        })
        .collect()
}

fn report(
    event: &Event,
    decision: &Decision,
    written: EventOutcome,
    observation: Option<&Observation>,
) -> EventReport {
    EventReport {
        version: VERSION,
        event: Some(event.event.name().to_owned()),
        session: written.session,
        message: written.message,
        step: written.step,
        snapshot: observation.map(|observation| observation.snapshot.tree.to_string()),
        looked: observation.and_then(|_| decision.look.told()),
        changes: written.changes,
        gaps: observation.map(|observation| observation.gaps.len() as u64),
        went_back: written.went_back,
    }
}
