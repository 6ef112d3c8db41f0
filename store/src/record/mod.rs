//! Turns an event into a snapshot, a patch and rows. `docs/architecture.md` draws the path, under "Recording".
//!
//! The steps are: find the place, read what is known (`view`), decide whether a snapshot is needed (`decide`, pure),
//! take it and attribute what changed (`timeline`), and write all rows in one transaction (`write`). Objects are on the
//! disk before the rows that name them. A failed snapshot is recorded as failed, never as an old tree.
//!
//! Tools that run side by side have events at the same time. The transaction that writes rows takes SQLite's write lock
//! first, and reads and decides again under it if another process has committed anything since (`known`).

#[cfg(test)]
mod collision_tests;
mod decide;
mod further_roots;
mod known_event;
pub(crate) mod label;
mod look;
pub(crate) mod lost_events;
mod missing_events;
mod new_rows;
mod recording;
mod view;
mod write;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::{EventReport, FinishedReport, SnapshotReport, VERSION};

use crate::error::{Error, ErrorKind, Result};
use crate::fs::layout::Lock;
use crate::model::Milliseconds;
use crate::model::label::Label;
use crate::model::progress::SnapshotProgress;
use crate::sessions::LastRows;
use crate::sessions::{self, Database, Diagnostic, DiagnosticLevel};
use crate::store::{Store, Surroundings};
use crate::timeline::{Baseline, LOCK_TIMEOUT, Look, LookOptions, Place, SnapshotOptions};
use known_event::KnownEvent;

/// The part of the deadline that is kept for the rows if a snapshot gives up, at least: a quarter of a longer one.
const RESERVE: Duration = Duration::from_millis(500);

/// How long a hook waits while another process looks for the first time at its workspace, or goes on with a look that was
/// stopped: either may take minutes.
const LONG_LOOK_TIMEOUT: Duration = Duration::from_secs(1);

/// How far an event has come.
#[derive(Default)]
struct RecordingTry {
    /// The row that says that it looks at the workspace.
    run: Option<i64>,
    is_recorded: bool,
    /// Whether it is tried again if it meets damage in the session store before it is recorded.
    has_another_try: bool,
}

impl RecordingTry {
    /// Returns the look, or its failure. Fails itself if the look met damage, and the event is tried again.
    fn unless_tried_again<T>(&self, seen: Result<T>) -> Result<Result<T>> {
        match seen {
            Err(error) if self.has_another_try && error.is_of_damaged_store() => Err(error),
            seen => Ok(seen),
        }
    }
}

/// Records one event. If a `forget` removes its workspace meanwhile, the event is the first one of a new history there.
pub(crate) fn record(store: &mut Store, event: &Event) -> Result<EventReport> {
    loop {
        match record_unless_damaged(store, event) {
            Err(error) if error.kind == ErrorKind::Stale => {}
            recorded => return recorded,
        }
    }
}

/// Records one event. If it meets damage in the session store, that is replaced, and the event is tried once more.
fn record_unless_damaged(store: &mut Store, event: &Event) -> Result<EventReport> {
    let begin = Instant::now();
    let mut first = RecordingTry {
        has_another_try: true,
        ..RecordingTry::default()
    };
    match attempt(store, event, begin, &mut first) {
        Err(error) if !first.is_recorded && sessions::is_stuck(&error) => {
            store.reopen()?;
            attempt(store, event, begin, &mut RecordingTry::default())
        }
        Err(error) if !first.is_recorded && error.is_of_damaged_store() => {
            let Surroundings {
                directory,
                settings,
                ..
            } = &store.surroundings;
            // If it cannot be replaced, what is whole of it may still take the event, without a look if need be.
            if let Ok(database) = Database::reopen(directory, settings.durability) {
                store.go_on_with(database)?;
            }
            if let Some(run) = first.run {
                // Otherwise it is told of as one that was killed.
                let ended = |connection: &_| sessions::end_run(connection, run);
                let _ = store.database.write(ended);
            }
            attempt(store, event, begin, &mut RecordingTry::default())
        }
        recorded => recorded,
    }
}

fn attempt(
    store: &mut Store,
    event: &Event,
    begin: Instant,
    progress: &mut RecordingTry,
) -> Result<EventReport> {
    // A program that is off adds no workspace, and one that is off for a workspace alone has to find that first.
    let is_on = store.surroundings.settings.enabled;
    let known = is_on.then(|| KnownEvent::of_event(store, event));
    let Some(mut known) = known
        .transpose()?
        .filter(|known| known.place.settings.enabled)
    else {
        return Ok(EventReport::of_nothing(Some(event.event.name().to_owned())));
    };
    known.parent_elsewhere = further_roots::parent_elsewhere(store, &known)?;
    let further = further_roots::places(store, &known)?;
    if further.is_empty() {
        return attempt_known(store, known, begin, progress);
    }
    let first = known.place.clone();
    let others: Vec<&Place> = further.iter().collect();
    let seen = further_roots::seen_from(&first, &others, event, true);
    known.see(store, &seen)?;
    let report = attempt_known(store, known, begin, progress);
    if report.is_err() && !progress.is_recorded {
        return report;
    }
    let elsewhere = further_roots::record(store, event, &first, &further, begin)?;
    let mut report = report?;
    report.went_back.extend(elsewhere);
    Ok(report)
}

/// Records an event of which the place is known.
fn attempt_known(
    store: &mut Store,
    known: KnownEvent<'_>,
    begin: Instant,
    progress: &mut RecordingTry,
) -> Result<EventReport> {
    let event = known.event;
    let completed = known
        .view
        .lacks_process(event)
        .then(|| with_process(store, event));
    let mut known = known;
    known.event = completed.as_ref().unwrap_or(event);
    let hook_deadline = known.place.settings.hook_deadline;
    let end = begin + hook_deadline;
    let until = |reserve| end.checked_sub(reserve).unwrap_or(begin).max(begin);
    let deadlines = Deadlines {
        look: until(RESERVE.max(hook_deadline / 4)),
        rows: until((RESERVE / 2).max(hook_deadline / 8)),
    };
    let mut held = None;
    // Nearly always once. What another process commits meanwhile may ask for a look, for a wider one, or for none.
    loop {
        // Without the lock first, because most events need no look, and an agent would wait for another's.
        if !known.needs_lock()
            && let Some(report) = write::without_look(store, &mut known)?
        {
            return Ok(report);
        }
        let lock = match held.take() {
            Some(lock) => Ok(lock),
            None => lock(store, &known.place, deadlines.look),
        };
        let begun = lock.and_then(|lock| Ok((begin_look(store, &mut known, &lock)?, lock)));
        let begun = match begun {
            Ok((None, lock)) => {
                held = Some(lock);
                continue;
            }
            Ok((Some(begun), lock)) => Ok((begun, lock)),
            Err(error) => Err(error),
        };
        let looked = with_look(store, &mut known, begun, deadlines, progress)?;
        match looked {
            ControlFlow::Break(report) => return Ok(report),
            ControlFlow::Continue(lock) => held = Some(lock),
        }
    }
}

/// When an event gives something up, so that the event itself is recorded before its own deadline.
#[derive(Clone, Copy)]
struct Deadlines {
    /// Reading more files, and asking for the times of changes.
    look: Instant,
    /// Writing down what changed.
    rows: Instant,
}

/// A look that has begun.
struct RunningLook {
    /// The row that says so.
    run: i64,
    /// The moment before anything was looked at.
    at: Milliseconds,
    before: Baseline,
}

/// Finishes what was left half-done in a workspace, and begins a look. `None` if another's look, which the lock was
/// waited for, made it superfluous.
fn begin_look(
    store: &mut Store,
    known: &mut KnownEvent<'_>,
    lock: &Lock,
) -> Result<Option<RunningLook>> {
    let clock = store.surroundings.clock;
    let workspace = known.place.row.id;
    let mut is_left = false;
    let begun = store.database.write(|connection| {
        let now = clock();
        // A killed operation shows only under the lock: without it, the operation may be one that is still at work.
        is_left = crate::timeline::has_lost_rows(connection, &known.place, lock)?
            || crate::sessions::has_open_operation(connection, workspace)?;
        if is_left {
            return Ok(None);
        }
        known.refresh(connection, now)?;
        if !known.decision.takes_snapshot() {
            return Ok(None);
        }
        // In the same transaction as the baseline: a commit of its own would cost every event another write to the
        // log.
        Ok(Some(RunningLook {
            run: crate::sessions::begin_run(connection, known.event, now)?,
            at: now,
            before: Baseline::of(connection, workspace)?,
        }))
    })?;
    if !is_left {
        return Ok(begun);
    }
    // Lost rows before killed operations: what a power cut took must be marked before anything new is written after
    // it.
    crate::timeline::notice(store, &known.place, lock)?;
    crate::revert::finish_open_operations(store, &known.place)?;
    known.outdate();
    begin_look(store, known, lock)
}

/// Returns an event with the agent's process. Only what begins a session or a turn names it, and one call alone may have
/// come through another process. So the first tool asks once more: without that, an agent that is killed in its first
/// turn would count as alive.
fn with_process(store: &Store, event: &Event) -> Event {
    let process = (store.surroundings.agent_process)();
    Event {
        is_long_lived: process
            .as_ref()
            .is_some_and(|process| process.is_long_lived),
        process: process.map(|process| process.name),
        ..event.clone()
    }
}

/// Looks at the workspace for an event, and writes its rows. Without the lock, the look has failed, and the rows say
/// why. Goes on with the lock if another process committed something meanwhile that asks for another look.
fn with_look(
    store: &mut Store,
    known: &mut KnownEvent<'_>,
    begun: Result<(RunningLook, Lock)>,
    deadlines: Deadlines,
    progress: &mut RecordingTry,
) -> Result<ControlFlow<EventReport, Lock>> {
    known.close_dead(store.now());
    // The lock is held until the rows are written: the next snapshot is compared with this one.
    //
    //   lock ─► look ─► objects ─sync─► rows, one commit ─► note in the lock file ─► unlock
    //
    // The commit is not synced: a power cut may take the last events, and the note shows that it did. Each of them
    // would otherwise cost the agent a sync.
    let (seen, run, lock) = match begun {
        Err(error) => (Err(error), None, None),
        Ok((begun, lock)) => {
            let run = (begun.run, begun.at);
            progress.run = Some(begun.run);
            (look(store, known, begun, deadlines), Some(run), Some(lock))
        }
    };
    let mut seen = progress.unless_tried_again(seen)?;
    // After a look around a few files, a path elsewhere may still be older than the last look and new all the same.
    let looked_at = run.filter(|_| known.decision.look.paths().is_none());
    let mut written = write::with_look(store, known, &mut seen, run);
    // With very many changes the rows may take longer than the look, and the event itself must not be lost with them.
    if written
        .as_ref()
        .is_err_and(|error| error.kind == ErrorKind::Late)
    {
        seen = seen.and(Err(Error::late("what changed was not recorded in time")));
        written = write::with_look(store, known, &mut seen, run);
    }
    progress.is_recorded = matches!(written, Ok(Some(_)));
    match (lock, &seen, &written) {
        (Some(lock), _, Ok(None)) => return Ok(ControlFlow::Continue(lock)),
        // The note follows the commit. Before it, a kill in between would make the next event believe that these
        // rows were lost.
        (Some(lock), Ok(seen), Ok(Some(report))) => {
            // Only now: until they are written, the changes are judged by the look before this one.
            if let Some((_, at)) = looked_at.filter(|_| !seen.is_late) {
                known.place.looked_at.set(Some(at));
            }
            let rows = LastRows {
                tree: seen.snapshot.tree,
                message: report.message.clone(),
                step: report.step.clone(),
            };
            crate::timeline::note(&lock, &rows, known.place.looked_at.get());
        }
        _ => {}
    }
    // The lock is free by now: what follows may copy objects or pack them, and the next event need not wait for that.
    if let Ok(seen) = &seen {
        // Even if the rows could not be written: the objects are on the disk, and what they borrow is not ours yet.
        finish_look(store, known, seen)?;
    }
    let report = written?;
    if seen?.is_late {
        return Err(Error::late(
            "the snapshot was not done in time: what was not read is unclear",
        ));
    }
    let unwritten = || Error::failed("an event without a look has no rows");
    Ok(ControlFlow::Break(report.ok_or_else(unwritten)?))
}

/// Locks the workspace. The wait for the lock ends at the deadline.
fn lock(store: &Store, place: &Place, deadline: Instant) -> Result<Lock> {
    let left = || deadline.saturating_duration_since(Instant::now());
    let locked = place.lock(left().min(LONG_LOOK_TIMEOUT));
    locked.or_else(|error| {
        // Waiting until the deadline would make the agent wait for a look that takes longer, once for each of its events:
        // the first one, or one that goes on in the background. It may be done by now, and the processes that waited for it
        // hold the lock in turn.
        let baseline = Baseline::of(store.database.connection(), place.row.id)?;
        match baseline.is_whole(place)? {
            true => place.lock(left()),
            false => Err(error),
        }
    })
}

/// Does what remains to be done after a look, once its rows are written and the lock is released.
fn finish_look(store: &mut Store, known: &KnownEvent<'_>, seen: &Look) -> Result<()> {
    let (place, event) = (&known.place, known.event);
    tell_of_doubts(store, place, event, &doubts(seen))?;
    if let Some(why) = &seen.lost {
        tell_of_loss(store, place, event, why)?;
    }
    store.is_unsettled = seen.borrows;
    // From here on the agent may run `git gc` or write into its packs. Until then the borrowed packs are unlikely to
    // change.
    if seen.borrows && matches!(event.event, EventKind::ToolStart | EventKind::StepStart) {
        store.is_unsettled = !crate::upkeep::adoption::before_a_tool(store, place);
    }
    // Not every agent reports the end of a session, so packs are joined once there are many.
    store.is_unsettled |= seen.is_crowded;
    Ok(())
}

/// How many characters of a pattern a diagnostic shows.
const LONGEST_PATTERN: usize = 80;

/// Returns the diagnostics about a snapshot's ignore rules.
fn doubts(look: &Look) -> Vec<String> {
    let undecided = look.undecided.iter().map(|pattern| {
        let pattern: String = pattern.chars().take(LONGEST_PATTERN).collect();
        format!("the ignore pattern `{pattern}` is too complicated: files that it may match are captured")
    });
    let unread = look.unread.iter().map(|file| {
        format!(
            "the ignore rules of `{file}` cannot be read: the files that they hid before stay hidden, or, if they were never read, \
             everything that git does not track"
        )
    });
    let missed = look.missed.then(|| {
        "the watcher did not report a change that a full look found: its hints are not used in this workspace until it is started again"
            .to_owned()
    });
    undecided.chain(unread).chain(missed).collect()
}

/// Reports each doubt about ignore rules once.
fn tell_of_doubts(
    store: &mut Store,
    place: &Place,
    event: &Event,
    doubts: &[String],
) -> Result<()> {
    let workspace = place.root.to_string_lossy().into_owned();
    doubts.iter().try_for_each(|message| {
        store.diagnose_once(&Diagnostic {
            message,
            ..Diagnostic::of_event(DiagnosticLevel::Warning, event, &workspace)
        })
    })
}

/// Reports that the last snapshot is lost beyond repair, so that the changes since are unknown.
fn tell_of_loss(store: &mut Store, place: &Place, event: &Event, why: &str) -> Result<()> {
    let workspace = place.root.to_string_lossy().into_owned();
    store.diagnose(&Diagnostic {
        message: "the last snapshot is lost: what changed since is unknown",
        detail: Some(why),
        ..Diagnostic::of_event(DiagnosticLevel::Error, event, &workspace)
    })
}

/// Takes a snapshot of the workspace, and attributes what changed. A row says that it does, so that a killed call leaves a trace.
fn look(
    store: &Store,
    known: &KnownEvent<'_>,
    begun: RunningLook,
    deadlines: Deadlines,
) -> Result<Look> {
    let place = &known.place;
    let snapshots = place.snapshots()?;
    let how = SnapshotOptions {
        only_around: known.decision.look.paths(),
        takes_hints: may_take_hints(known.event, begun.at),
        deadline: Some(deadlines.look),
        ..SnapshotOptions::default()
    };
    let looking = LookOptions {
        how,
        ..LookOptions::default()
    };
    let mut seen = Look::without_authors(store, place, &snapshots, begun.before, looking)?;
    known.looking(|looking| seen.attribute_now(store, place, &snapshots, looking))?;
    seen.until = Some(deadlines.rows);
    Ok(seen)
}

/// One event in so many looks at everything although a watcher could make it cheaper: a watcher that misses changes is
/// found out by that. `docs/watcher.md` says what follows from it.
const FULL_LOOK_EVERY: Milliseconds = 50;

/// Returns whether an event may rely on a watcher's hint. A message may not: a revert goes back to its snapshot.
fn may_take_hints(event: &Event, now: Milliseconds) -> bool {
    let begins = matches!(
        event.event,
        EventKind::SessionStart | EventKind::UserMessage
    );
    // The last digits of the time are random enough.
    !begins && now % FULL_LOOK_EVERY != 0
}

/// Takes a snapshot of the workspace by hand.
pub(crate) fn snapshot(
    store: &mut Store,
    cwd: &Path,
    label: Option<&str>,
    progress: Option<&(dyn Fn(SnapshotProgress) + Sync)>,
) -> Result<SnapshotReport> {
    // Before anything is looked at: a label that will be refused should not cost a full look.
    let label = label.map(label::checked).transpose()?;
    let place = Place::claim(store, cwd)?;
    let lock = place.lock(LOCK_TIMEOUT)?;
    crate::timeline::notice(store, &place, &lock)?;
    let recovered = crate::revert::finish_all_open(store, &place)?;
    // Whatever fails from here on, the caller must hear that an interrupted operation was finished: files
    // changed.
    let done = recovered.done();
    let mut notes = done.clone();
    notes.extend(crate::revert::fork_taken_back(store, &place).map(|note| note.to_string()));
    let finished = recovered.finished;
    snapshot_under_lock(store, &place, label.as_ref(), progress, notes, finished)
        .map_err(|error| error.after(done))
}

fn snapshot_under_lock(
    store: &mut Store,
    place: &Place,
    label: Option<&Label>,
    progress: Option<&(dyn Fn(SnapshotProgress) + Sync)>,
    mut notes: Vec<String>,
    finished: Vec<FinishedReport>,
) -> Result<SnapshotReport> {
    let snapshots = place.snapshots()?;
    // What changes while a long look goes on is since the look: it may have been read before.
    let now = store.now();
    let (open, before) = store.database.read(|connection| {
        let open = crate::sessions::open_steps(connection, place.row.id)?;
        Ok((open, Baseline::of(connection, place.row.id)?))
    })?;
    let look = Look::make(
        store,
        place,
        &snapshots,
        before,
        LookOptions {
            open: &open,
            how: SnapshotOptions {
                progress,
                ..SnapshotOptions::default()
            },
            ..LookOptions::default()
        },
    )?;
    notes.extend(store.database.write(|connection| {
        let moved = label::moved(connection, place, label)?;
        look.write(connection, place.row.id, label, now)?;
        Ok(moved)
    })?);
    let lost = crate::upkeep::adoption::under_lock(store, place)?;
    notes.extend(lost.map(|note| note.to_string()));
    crate::upkeep::check::name_to_git(store, place)?;
    Ok(SnapshotReport {
        version: VERSION,
        snapshot: look.snapshot.tree.to_string(),
        repository: snapshots.repository().display().to_string(),
        label: label.map(|label| label.as_str().to_owned()),
        gaps: look
            .gaps
            .iter()
            .map(crate::sessions::read::gap_report)
            .collect(),
        notes,
        finished,
    })
}
