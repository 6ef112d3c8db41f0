//! Turns an event into a snapshot, a patch and rows. `docs/architecture.md` draws the path, under "Recording".
//!
//! The steps are: find the place, read what is known (`view`), decide whether a snapshot is needed (`decide`, pure),
//! take it and attribute what changed (`timeline`), and write all rows in one transaction (`write`). Objects are on the
//! disk before the rows that name them. A failed snapshot is recorded as failed, never as an old tree.

#[cfg(test)]
mod collision_tests;
mod decide;
pub(crate) mod label;
mod look;
pub(crate) mod lost;
mod new_rows;
mod recording;
mod unheard;
mod view;
mod write;

use std::path::Path;
use std::time::{Duration, Instant};

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use ckpt_schema::report::{EventReport, FinishedReport, SnapshotReport, VERSION};

use crate::error::Result;
use crate::fs::layout::Lock;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;
use crate::model::label::Label;
use crate::model::note::{self, Note};
use crate::model::progress::SnapshotProgress;
use crate::sessions::LastRows;
use crate::sessions::{Diagnostic, DiagnosticLevel};
use crate::store::Store;
use crate::timeline::{Baseline, CaptureOptions, Looking, Observation, PATIENCE, Place};
use decide::Decision;
use look::LookScope;
use view::{EventContext, dead_at};

/// The part of the deadline that is kept for the rows if a snapshot gives up.
const RESERVE: Duration = Duration::from_millis(500);

/// How long a hook waits while another process takes the first snapshot of its workspace, which may take minutes.
const PATIENCE_AT_FIRST: Duration = Duration::from_secs(1);

/// Records one event.
pub(crate) fn record(store: &mut Store, event: &Event) -> Result<EventReport> {
    let begin = Instant::now();
    if !store.surroundings.settings.enabled {
        return Ok(EventReport::of_nothing(Some(event.event.name().to_owned())));
    }
    let KnownEvent {
        place,
        view,
        has_open_operation,
    } = KnownEvent::of_event(store, event)?;
    if !place.settings.enabled {
        return Ok(EventReport::of_nothing(Some(event.event.name().to_owned())));
    }
    let deadline = begin + place.settings.hook_deadline.saturating_sub(RESERVE);
    // Decided twice. Without the lock first, because most events need none, and an agent would wait for another's
    // look. Under the lock again, because the other's look may have changed what this one has to do.
    let decision = decided(&place, event, &view)?;
    // An event without a snapshot still looks at what a tool is about to change, so a killed operation has to be
    // finished first.
    if !decision.takes_snapshot() && !has_open_operation {
        return write::without_snapshot(store, &place, event, &view, &decision);
    }
    let ready = lock(store, &place, deadline)
        .and_then(|lock| Ok((view_under_lock(store, &place, event, &lock)?, lock)));
    // What was read before the lock was taken, and before a killed operation was finished, may be outdated by now.
    let (view, ready) = match ready {
        Ok((view, lock)) => (view, Ok(lock)),
        Err(error) => (EventContext::of(store, &place, event)?, Err(error)),
    };
    let decision = decided(&place, event, &view)?;
    if !decision.takes_snapshot() {
        return write::without_snapshot(store, &place, event, &view, &decision);
    }
    with_a_look(store, &place, event, &view, decision, ready, deadline)
}

/// Looks at the workspace for an event, and writes its rows. Without the lock, the look has failed, and the rows say
/// why.
fn with_a_look(
    store: &mut Store,
    place: &Place,
    event: &Event,
    view: &EventContext,
    mut decision: Decision,
    lock: Result<Lock>,
    deadline: Instant,
) -> Result<EventReport> {
    // Here, not in `decide`: whether a process lives is read from the system, and only an event that looks anyway
    // pays for it.
    decision.close_dead(view, dead_at(store.now()));
    let mut begun = None;
    // The lock is held until the rows are written: the next snapshot is compared with this one.
    //
    //   lock ─► look ─► objects ─sync─► rows, one commit ─► note in the lock file ─► unlock
    //
    // The commit is not synced: a power cut may take the last events, and the note shows that it did. Each of them
    // would otherwise cost the agent a sync.
    let (observation, lock) = match lock {
        Err(error) => (Err(error), None),
        Ok(lock) => (
            look(store, place, event, view, &decision, deadline, &mut begun),
            Some(lock),
        ),
    };
    // A kind of error of its own: the hook then has a process in the background take the first snapshot, without a
    // deadline.
    let is_first = place.row.last_snapshot_id.is_none();
    let is_late = is_first && observation.is_err() && Instant::now() >= deadline;
    let aftermath = observation.as_ref().map(Aftermath::of).unwrap_or_default();
    let report = write::with_snapshot(store, place, event, view, &decision, observation, begun);
    // The note follows the commit. Before it, a kill in between would make the next event believe that these
    // rows were lost.
    if let (Some(lock), Some(tree), Ok(report)) = (&lock, aftermath.tree, &report) {
        let (message, step) = (report.message.clone(), report.step.clone());
        let rows = LastRows {
            tree,
            message,
            step,
        };
        crate::timeline::note(lock, &rows, place.looked_at.get());
    }
    // What follows may copy objects or pack them, and the next event need not wait for that.
    drop(lock);
    // Even if the rows could not be written: the objects are on the disk, and what they borrow is not ours yet.
    aftermath.settle(store, place, event)?;
    report.map_err(|error| if is_late { error.late() } else { error })
}

/// What is known about an event before its workspace is locked.
struct KnownEvent {
    place: Place,
    view: EventContext,
    /// Whether a killed operation is to be finished.
    has_open_operation: bool,
}

impl KnownEvent {
    /// Reads it, in one transaction if the session is known: otherwise each statement would take SQLite's locks anew.
    fn of_event(store: &mut Store, event: &Event) -> Result<Self> {
        let known = store.database.read(|_| {
            let place = Place::of_session(store, event)?;
            place
                .map(|place| Self::read(store, place, event))
                .transpose()
        })?;
        match known {
            Some(known) => {
                known.place.note_birth(store)?;
                Ok(known)
            }
            None => {
                let place = Place::of_new_session(store, event)?;
                store.database.read(|_| Self::read(store, place, event))
            }
        }
    }

    fn read(store: &Store, place: Place, event: &Event) -> Result<Self> {
        Ok(Self {
            view: EventContext::of(store, &place, event)?,
            has_open_operation: crate::revert::is_open(store, &place)?,
            place,
        })
    }
}

/// Finishes what was left half-done in a workspace, and returns what is known then. There is almost never anything to
/// finish, so this takes one transaction.
fn view_under_lock(
    store: &mut Store,
    place: &Place,
    event: &Event,
    lock: &Lock,
) -> Result<EventContext> {
    let view = store.database.read(|connection| {
        // A killed operation shows only under the lock: without it, the operation may be one that is still at work.
        let is_left = crate::timeline::has_lost_rows(connection, place, lock)?
            || crate::revert::is_open(store, place)?;
        (!is_left)
            .then(|| EventContext::of(store, place, event))
            .transpose()
    })?;
    if let Some(view) = view {
        return Ok(view);
    }
    // Lost rows before killed operations: what a power cut took must be marked before anything new is written after
    // it.
    crate::timeline::notice(store, place, lock)?;
    crate::revert::finish_open_operations(store, place)?;
    EventContext::of(store, place, event)
}

/// Locks the workspace. The wait for the lock ends at the deadline.
fn lock(store: &Store, place: &Place, deadline: Instant) -> Result<Lock> {
    let left = || deadline.saturating_duration_since(Instant::now());
    if place.row.last_snapshot_id.is_some() {
        return place.lock(left());
    }
    // Waiting until the deadline would make the agent wait for somebody else's first snapshot, once for each of
    // its events.
    place.lock(left().min(PATIENCE_AT_FIRST)).or_else(|error| {
        // The first snapshot may be done by now, and the processes that waited for it hold the lock in turn.
        let row = crate::sessions::workspace(store.database.connection(), place.row.id)?;
        match row.last_snapshot_id {
            Some(_) => place.lock(left()),
            None => Err(error),
        }
    })
}

/// What remains to be done after a look at the workspace, once its rows are written and the lock is released. A failed
/// look leaves nothing to do.
#[derive(Debug, Default)]
struct Aftermath {
    tree: Option<ObjectId>,
    /// Whether the snapshot relies on objects in the user's repository.
    borrows: bool,
    /// Whether the store has too many packs.
    is_crowded: bool,
    /// Diagnostics about the ignore rules.
    doubts: Vec<String>,
    /// Why the last snapshot is lost.
    lost: Option<String>,
}

impl Aftermath {
    fn of(observation: &Observation) -> Self {
        Self {
            tree: Some(observation.snapshot.tree),
            borrows: observation.borrows,
            is_crowded: observation.is_crowded,
            doubts: doubts(observation),
            lost: observation.lost.clone(),
        }
    }

    fn settle(&self, store: &mut Store, place: &Place, event: &Event) -> Result<()> {
        tell_of_doubts(store, place, event, &self.doubts)?;
        if let Some(why) = &self.lost {
            tell_of_loss(store, place, event, why)?;
        }
        store.is_unsettled = self.borrows;
        // From here on the agent may run `git gc` or write into its packs. Until then nobody is likely to touch
        // what is borrowed.
        if self.borrows && matches!(event.event, EventKind::ToolStart | EventKind::StepStart) {
            store.is_unsettled = !crate::upkeep::settle::before_a_tool(store, place);
        }
        // Not every agent reports the end of a session, so packs are joined once there are many.
        store.is_unsettled |= self.is_crowded;
        Ok(())
    }
}

/// Decides what to do about an event. While a command runs in the background, every boundary looks everywhere, because
/// the command may change any file. So does the event that says the command ended: later, nobody could tell that a
/// change was made before that.
fn decided(place: &Place, event: &Event, view: &EventContext) -> Result<Decision> {
    let mut decision = decide::decide(event, view, &place.settings);
    if view.is_in_background && (decision.is_boundary() || ends_background(event)) {
        decision.look = LookScope::Everywhere;
    }
    Ok(decision)
}

/// Returns whether the event says that no command of its session runs in the background any more.
fn ends_background(event: &Event) -> bool {
    match event.event {
        EventKind::TurnEnd => event.background == Some(false),
        kind => kind == EventKind::SessionEnd,
    }
}

/// How many characters of a pattern a diagnostic shows.
const LONGEST_PATTERN: usize = 80;

/// Returns the diagnostics about a snapshot's ignore rules.
fn doubts(observation: &Observation) -> Vec<String> {
    let undecided = observation.undecided.iter().map(|pattern| {
        let pattern: String = pattern.chars().take(LONGEST_PATTERN).collect();
        format!("the ignore pattern `{pattern}` is too complicated: files that it may match are captured")
    });
    let unread = observation.unread.iter().map(|file| {
        format!(
            "the ignore rules of `{file}` cannot be read: the files that they hid before stay hidden, or, if they were never read, \
             everything that git does not track"
        )
    });
    let missed = observation.missed.then(|| {
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
            level: DiagnosticLevel::Warning,
            agent: Some(&event.agent),
            event: Some(event.event.name()),
            session: Some(&event.session_id),
            workspace: Some(&workspace),
            message,
            detail: None,
        })
    })
}

/// Reports that the last snapshot is lost beyond repair, so that nobody knows what changed since.
fn tell_of_loss(store: &mut Store, place: &Place, event: &Event, why: &str) -> Result<()> {
    let workspace = place.root.to_string_lossy().into_owned();
    store.diagnose(&Diagnostic {
        level: DiagnosticLevel::Error,
        agent: Some(&event.agent),
        event: Some(event.event.name()),
        session: Some(&event.session_id),
        workspace: Some(&workspace),
        message: "the last snapshot is lost: what changed since is unknown",
        detail: Some(why),
    })
}

/// A look that has begun.
#[derive(Clone, Copy)]
struct Begun {
    /// The row that says so.
    run: i64,
    /// The moment before anything was looked at.
    at: Milliseconds,
}

/// Captures the workspace. A row says so while it does, so that a killed call leaves a trace.
fn look(
    store: &mut Store,
    place: &Place,
    event: &Event,
    view: &EventContext,
    decision: &Decision,
    deadline: Instant,
    begun: &mut Option<Begun>,
) -> Result<Observation> {
    let now = store.now();
    let (run, before) = store.database.write(|connection| {
        // In the same transaction as the baseline: a commit of its own would cost every event another write to the
        // log.
        let run = crate::sessions::begin_run(connection, event, now)?;
        Ok((run, Baseline::of(connection, place.row.id)?))
    })?;
    *begun = Some(Begun { run, at: now });
    let snapshots = place.snapshots()?;
    let open = view.open_with(decision, place);
    let closing: Vec<_> = decision
        .closing
        .iter()
        .filter_map(|closing| {
            let step = open.iter().find(|step| step.row.id == closing.step)?;
            Some((step, closing.standing))
        })
        .collect();
    let session = view.session.as_ref().map(|session| session.id.as_str());
    let looking = Looking {
        session,
        open: &open,
        closing: &closing,
        known: None,
        is_replaced: false,
        how: CaptureOptions {
            only_around: match &decision.look {
                LookScope::Around(paths) => Some(paths),
                LookScope::Nowhere | LookScope::Everywhere => None,
            },
            takes_hints: may_take_hints(event, now),
            deadline: Some(deadline),
            ..CaptureOptions::default()
        },
    };
    let observation = Observation::make(store, place, &snapshots, before, looking)?;
    // After a look around a few files, a path elsewhere may still be older than the last look and new all the
    // same.
    if looking.how.only_around.is_none() {
        place.looked_at.set(Some(now));
    }
    Ok(observation)
}

/// One event in so many looks at everything although a watcher could make it cheaper: a watcher that misses changes is
/// found out by that. `docs/architecture.md` says what follows from it.
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

/// Captures the workspace by hand.
pub(crate) fn snapshot(
    store: &mut Store,
    cwd: &Path,
    label: Option<&str>,
    progress: Option<&(dyn Fn(SnapshotProgress) + Sync)>,
) -> Result<SnapshotReport> {
    // Before anything is looked at: a label that will be refused should not cost a full look.
    let label = label.map(label::checked).transpose()?;
    let place = Place::claim(store, cwd)?;
    let lock = place.lock(PATIENCE)?;
    crate::timeline::notice(store, &place, &lock)?;
    let finished = crate::revert::finish_open_operations(store, &place)?;
    let (notes, finished): (Vec<Note>, Vec<FinishedReport>) = finished.into_iter().unzip();
    // Whatever fails from here on, the caller must hear that an interrupted operation was finished: files
    // changed.
    let notes = note::texts(&notes);
    let done = notes.clone();
    snapshot_under_lock(store, &place, label.as_ref(), progress, (notes, finished))
        .map_err(|error| error.after(done))
}

fn snapshot_under_lock(
    store: &mut Store,
    place: &Place,
    label: Option<&Label>,
    progress: Option<&(dyn Fn(SnapshotProgress) + Sync)>,
    (mut notes, finished): (Vec<String>, Vec<FinishedReport>),
) -> Result<SnapshotReport> {
    let snapshots = place.snapshots()?;
    let (open, before) = store.database.read(|connection| {
        let open = crate::sessions::open_steps(connection, place.row.id)?;
        Ok((open, Baseline::of(connection, place.row.id)?))
    })?;
    let observation = Observation::make(
        store,
        place,
        &snapshots,
        before,
        Looking {
            open: &open,
            how: CaptureOptions {
                progress,
                ..CaptureOptions::default()
            },
            ..Looking::default()
        },
    )?;
    let now = store.now();
    notes.extend(store.database.write(|connection| {
        let moved = label::moved(connection, place, label)?;
        observation.write(connection, place.row.id, label, now)?;
        Ok(moved)
    })?);
    notes.extend(crate::upkeep::settle::under_lock(store, place)?);
    crate::upkeep::check::name_to_git(store, place)?;
    Ok(SnapshotReport {
        version: VERSION,
        snapshot: observation.snapshot.tree.to_string(),
        repository: snapshots.repository().display().to_string(),
        label: label.map(|label| label.as_str().to_owned()),
        gaps: observation
            .gaps
            .iter()
            .map(crate::sessions::read::gap_report)
            .collect(),
        notes,
        finished,
    })
}
