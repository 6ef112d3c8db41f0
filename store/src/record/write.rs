//! Writes the rows of an event in one transaction, each after the rows that it refers to.

use ckpt_schema::EventKind;
use ckpt_schema::event::ToolKind;
use ckpt_schema::report::{EventReport, VERSION};
use rusqlite::Connection;

use super::decide::Action;
use super::known_event::KnownEvent;
use super::recording::{EventOutcome, Recording, Seen};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::sessions::{self, StepPath};
use crate::store::Store;
use crate::timeline::Look;

/// Writes an event that needs no look. `None`, with nothing written, if it needs one by what was committed meanwhile.
pub(super) fn without_look(
    store: &mut Store,
    known: &mut KnownEvent<'_>,
) -> Result<Option<EventReport>> {
    // Before the transaction, because it reads files: SQLite's write lock is everybody's.
    let named = named_paths(store, known)?;
    let clock = store.surroundings.clock;
    store.database.write(|connection| {
        // Under the lock: no row of another process is from the future then.
        let now = clock();
        known.refresh(connection, now)?;
        if known.needs_lock() {
            return Ok(None);
        }
        let written = rows(connection, known, &named, None, None, now)?;
        Ok(Some(report(known, written, None)))
    })
}

/// Writes an event with the look at the workspace that was made for it. If that failed, whatever depends on it
/// is marked unprotected. In both cases the `run` of the look ends: a failure is not a kill. `None`, with nothing else
/// written, if the look saw too little by what was committed meanwhile.
pub(super) fn with_look(
    store: &mut Store,
    known: &mut KnownEvent<'_>,
    seen: &mut Result<Look>,
    run: Option<(i64, Milliseconds)>,
) -> Result<Option<EventReport>> {
    // Reads files, so it comes before the transaction: SQLite's write lock is everybody's.
    let named = named_paths(store, known)?;
    let (database, surroundings) = (&mut store.database, &store.surroundings);
    database.write(|connection| {
        let now = (surroundings.clock)();
        if let Some((run, _)) = run {
            sessions::end_run(connection, run)?;
        }
        if let Some(before) = known.refresh(connection, now)? {
            known.close_dead(now);
            if let Ok(seen) = seen {
                if !before.look.covers(&known.decision.look) {
                    return Ok(None);
                }
                // A tool that ended meanwhile, or began, is evidence, too. This is rare, and the look is the dear part.
                let (place, snapshots) = (&known.place, known.place.snapshots()?);
                known.looking(|looking| {
                    seen.attribute(connection, surroundings, place, &snapshots, looking)
                })?;
            }
        }
        let looked_from = run.map(|(_, at)| at);
        let written = rows(connection, known, &named, Some(seen), looked_from, now)?;
        Ok(Some(report(known, written, seen.as_ref().ok())))
    })
}

/// Writes the rows of an event. The objects are already on disk. The rows are written in the order of time: first the
/// changes, which belong to the steps that were open until now; then those steps end; then messages that waited for such
/// a boundary begin; and last whatever the event itself begins, so that none of the changes that were seen belong to it.
fn rows(
    connection: &Connection,
    known: &KnownEvent<'_>,
    named: &[StepPath],
    look: Option<&Result<Look>>,
    looked_from: Option<Milliseconds>,
    now: Milliseconds,
) -> Result<EventOutcome> {
    let (place, decision) = (&known.place, &known.decision);
    let mut recording = Recording::of(connection, known, named, now)?;
    recording.looked_from = looked_from;
    let seen = look.and_then(|look| look.as_ref().ok());
    // An inferred step has to be there before its changes.
    let supposed = recording.suppose(decision, seen)?;
    // Before the new changes are written: it releases what earlier looks gave to the step while the model was thinking.
    if decision.action == Action::MoveStart {
        recording.release_thinking()?;
    }
    let seen = match look {
        Some(Ok(look)) => Seen::At {
            snapshot_id: look.write(connection, place.row.id, None, now)?,
            look,
        },
        Some(Err(error)) if decision.takes_snapshot() => Seen::Failed(error.with_causes()),
        // A look that is not needed still is a boundary: the step ends, or begins, at the last one. For others, the row
        // need not be read.
        _ if decision.is_boundary() => {
            Seen::AsBefore(sessions::workspace(connection, place.row.id)?.last_snapshot_id)
        }
        _ => Seen::AsBefore(None),
    };
    //   rows in the order of time:
    //
    //   an inferred step ─► the changes ─► steps end ─► waiting messages begin ─► what the event begins
    //
    // With the new step first, the changes before it would be inside it.
    recording.end_steps(decision, &seen, supposed.as_deref())?;
    if look.is_some() && decision.is_boundary() {
        recording.bind_messages(&seen)?;
    }
    recording.act(decision.action, &seen)?;
    recording.end(&seen)
}

/// Returns the files that an edit tool is about to touch, with the present state of those that an ignore rule hides.
fn named_paths(store: &Store, known: &KnownEvent<'_>) -> Result<Vec<StepPath>> {
    let (place, event) = (&known.place, known.event);
    let is_edit = event.event == EventKind::ToolStart && event.tool_kind != Some(ToolKind::Read);
    if !is_edit || event.paths.is_empty() {
        return Ok(Vec::new());
    }
    let snapshots = place.snapshots()?;
    let named_before = |path| {
        let own = known.view.own_step();
        own.is_some_and(|step| step.paths.iter().any(|named| named.path == path))
    };
    let paths = event
        .paths
        .iter()
        .flat_map(|path| place.named(event.cwd.as_deref(), path).inside)
        // The state of interest is that from before the step touched the file. A second tool that names it would
        // see the first one's edit.
        .filter(|path| !named_before(path.clone()));
    Ok(paths
        .map(|path| {
            // A pipe, a name that is too long, or a directory that may not be entered: there is no state to note, and
            // the tool is recorded all the same.
            let is_hidden = place.hides(store, &snapshots, &path).unwrap_or_default();
            let before = is_hidden.then(|| snapshots.store_path(&place.root, &path).ok());
            StepPath {
                path,
                hidden_before: before.flatten(),
            }
        })
        .collect())
}

fn report(known: &KnownEvent<'_>, written: EventOutcome, look: Option<&Look>) -> EventReport {
    EventReport {
        version: VERSION,
        event: Some(known.event.event.name().to_owned()),
        session: written.session,
        message: written.message,
        step: written.step,
        snapshot: look.map(|look| look.snapshot.tree.to_string()),
        looked: look.and_then(|_| known.decision.look.report()),
        changes: written.changes,
        gaps: look.map(|look| look.gaps.len() as u64),
        went_back: written.went_back,
        operation: written.operation,
    }
}
