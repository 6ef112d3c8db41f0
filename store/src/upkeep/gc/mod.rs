//! `gc`: removes the snapshots of long unused sessions, and repacks the rest.
//!
//! ```text
//! sessions ──► policy ──► snapshots that are pruned ──► rows ──► what rows reach ──► one pack ──► the others go
//!              pure: which, why
//! ```
//!
//! Only one runs at a time, under the lock of upkeep. It takes a workspace's own lock only to mark rows and to replace
//! packs. In the background, it yields to every process that wants the workspace.

pub(crate) mod age;
pub(crate) mod pack;
pub(crate) mod policy;
pub(crate) mod sizes;

use std::collections::HashMap;
use std::time::Duration;

use ckpt_schema::report::{GcReport, GcSession, GcWorkspace, VERSION};

use super::du::{Grouping, du};
use crate::error::{Error, Result};
use crate::fs::layout;
use crate::model::Milliseconds;
use crate::model::request::DryRun;
use crate::sessions::{self, Pruning, SessionUse, WorkspacePresence};
use crate::store::Store;
use crate::timeline::root::Identity;
use crate::timeline::{LOCK_TIMEOUT, Place, found_again, life};
use age::{Ages, Agreement, ClockReading};
use policy::{Pin, PolicySession, Retention, RetentionLimits, Why};

/// How often it runs by itself, in milliseconds.
const GC_INTERVAL: Milliseconds = 24 * 3600 * 1000;
/// The same after a run that was interrupted or yielded: what it left half-done takes space twice.
const UNFINISHED_GC_INTERVAL: Milliseconds = 3600 * 1000;
/// The note of a run that did not finish.
const UNFINISHED: &str = "unfinished";
/// How long a background run waits for a workspace's lock.
const BACKGROUND_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The options of `gc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GcOptions {
    pub dry_run: DryRun,
    pub priority: Priority,
    pub ages: Ages,
}

/// Whether `gc` yields to processes that want a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Priority {
    /// It keeps the workspace: a person waits for it to finish.
    #[default]
    Foreground,
    /// It yields: no person waits for it, and the next run does the rest.
    Background,
}

impl Priority {
    /// Returns how long it waits for a workspace's lock.
    fn patience(self) -> Duration {
        match self {
            Self::Foreground => LOCK_TIMEOUT,
            Self::Background => BACKGROUND_LOCK_TIMEOUT,
        }
    }
}

/// A session that has snapshots, and the verdict on it.
struct Judged {
    session: SessionUse,
    verdict: Retention,
    bytes: Option<u64>,
}

/// The verdicts on all sessions that have snapshots.
struct Judgement {
    judged: Vec<Judged>,
    /// The workspaces whose sessions are not judged, by id, because they cannot be measured, and why.
    unmeasured: HashMap<i64, Error>,
}

/// Runs `gc` by hand; by the clock, if a person names how long unused sessions stay.
pub(crate) fn by_hand(
    store: &mut Store,
    dry_run: DryRun,
    keep: Option<Duration>,
) -> Result<GcReport> {
    if store.is_missing {
        return Ok(GcReport {
            version: VERSION,
            dry_run: dry_run.is_dry(),
            ..GcReport::default()
        });
    }
    let lock = layout::lock_upkeep(&store.surroundings.directory, LOCK_TIMEOUT)?;
    let agreement = agreed(store, lock.note().as_deref());
    let ages = match keep {
        Some(_) => Ages::by_clock(store.now()),
        None => agreement.ages_by_hand(),
    };
    store.surroundings.settings.keep = keep.unwrap_or(store.surroundings.settings.keep);
    let how = GcOptions {
        dry_run,
        priority: Priority::Foreground,
        ages,
    };
    if dry_run.is_dry() {
        let mut report = run(store, how)?;
        // Besides what is pruned, it removes what nothing needs.
        let freed = du(store, Grouping::Workspace, ages)?.reclaimable;
        report.bytes_after = report.bytes_before.saturating_sub(freed);
        return Ok(report);
    }
    run_and_note(store, &lock, how, &agreement)
}

/// Returns the ages by which a run by hand would go now.
pub(crate) fn ages(store: &Store) -> Ages {
    let note = layout::upkeep_note(&store.surroundings.directory);
    agreed(store, note.as_deref()).ages_by_hand()
}

/// Returns the reading of the clock on which this run and the last one, which left the note, agree.
fn agreed(store: &Store, note: Option<&str>) -> Agreement {
    let keep = i64::try_from(store.surroundings.settings.keep.as_millis()).unwrap_or(i64::MAX);
    let before = note.and_then(last_agreement);
    Agreement::of(before.as_ref(), ClockReading::now(store.now()), keep)
}

fn last_agreement(note: &str) -> Option<Agreement> {
    let (clock, rest) = note.trim().split_once(' ')?;
    Agreement::read(clock.parse().ok()?, rest)
}

/// Runs it, and notes when, and whether it finished.
fn run_and_note(
    store: &mut Store,
    lock: &layout::Lock,
    how: GcOptions,
    agreement: &Agreement,
) -> Result<GcReport> {
    let note = agreement.words();
    // Before the work: a run that is killed leaves this note, and is made up for within the hour.
    lock.set_note(&format!("{note} {UNFINISHED}\n"));
    super::forget::finish_begun(store)?;
    let report = run(store, how);
    lock.touch();
    let report = report?;
    let is_finished = report.workspaces.iter().all(|row| row.skipped.is_none());
    if is_finished && agreement.is_confirmed {
        lock.set_note(&format!("{note}\n"));
    }
    Ok(report)
}

/// Returns whether a run is due, judging by the note of the last one. `None` if there never was one.
fn is_due(note: Option<&str>, now: Milliseconds) -> Option<bool> {
    let note = note?.trim();
    let last = note.split(' ').next()?;
    let pause = if note.ends_with(UNFINISHED) {
        UNFINISHED_GC_INTERVAL
    } else {
        GC_INTERVAL
    };
    let last: Milliseconds = last.parse().ok()?;
    // A note from the future, after the clock was set back, must not put it off for years.
    Some(!(0..pause).contains(&now.saturating_sub(last)))
}

/// Runs `gc` in the background if the last run is long enough ago. The packs of this one workspace are joined in any
/// case if there are many. Does nothing while another process runs it.
pub(crate) fn in_background(store: &mut Store, place: &Place) -> Result<()> {
    // Another process runs it already, perhaps for minutes. This one need not be there for the rest.
    let Ok(lock) = layout::lock_upkeep(&store.surroundings.directory, Duration::ZERO) else {
        return Ok(());
    };
    let note = lock.note();
    let agreement = agreed(store, note.as_deref());
    let how = GcOptions {
        dry_run: DryRun::No,
        priority: Priority::Background,
        ages: agreement.ages(note.as_deref().and_then(last_agreement).is_some()),
    };
    // A damaged store is told of where it is opened and checked. It is packed all the same.
    let _ = sessions::back_up(
        &store.database,
        &store.surroundings.directory,
        store.surroundings.now_in_seconds(),
    );
    match is_due(note.as_deref(), store.now()) {
        Some(true) => run_and_note(store, &lock, how, &agreement).map(drop),
        Some(false) => pack::join(place),
        // A new store has nothing to prune.
        None => {
            lock.set_note(&format!("{}\n", agreement.words()));
            pack::join(place)
        }
    }
}

fn run(store: &mut Store, how: GcOptions) -> Result<GcReport> {
    let now = store.now();
    let before = sizes::of_store(store)?;
    let Judgement {
        judged,
        mut unmeasured,
    } = judge(store, now, before.limited(), how)?;
    let mut report = GcReport {
        version: VERSION,
        dry_run: how.dry_run.is_dry(),
        bytes_before: before.bytes,
        bytes_after: before.bytes,
        ..GcReport::default()
    };
    for presence in sessions::presences(store.database.connection())? {
        let done = match unmeasured.remove(&presence.id) {
            None => tidy_up(store, &presence, &judged, now, how),
            Some(error) => Err(error),
        };
        report.workspaces.push(match done {
            Ok(done) => done,
            // One damaged workspace must not keep all others from being packed.
            Err(error) => skipped(store, presence.id, &error).map_err(packed)?,
        });
    }
    for Judged {
        session,
        verdict,
        bytes,
    } in judged
    {
        let path = sessions::workspace(store.database.connection(), session.workspace_id);
        report.sessions.push(GcSession {
            workspace: path
                .map(|row| row.path.to_string_lossy().into_owned())
                .unwrap_or_default(),
            session: session.ids.into_iter().next().unwrap_or_default(),
            agent: session.agent,
            used_at: session.used_at,
            goes: matches!(verdict, Retention::Goes(_)),
            reason: match how.ages.doubts(session.used_at) {
                true if matches!(verdict, Retention::Stays | Retention::Pinned(Pin::Young)) => {
                    "clock"
                }
                _ => reason(verdict),
            }
            .to_owned(),
            bytes,
        });
    }
    if !how.dry_run.is_dry() {
        let swept = sizes::sweep(store, how).and_then(|()| sizes::of_store(store));
        report.bytes_after = swept.map_err(packed)?.bytes;
    }
    Ok(report)
}

/// Says that an error came after workspaces were pruned and packed.
fn packed(error: Error) -> Error {
    error.after([
        "workspaces were pruned and packed before: the next `ckpt-hook gc` does the rest"
            .to_owned(),
    ])
}

/// Returns how many bytes a run would free now.
pub(crate) fn prunable_bytes(store: &Store, ages: Ages) -> Result<u64> {
    let how = GcOptions {
        dry_run: DryRun::Yes,
        priority: Priority::Foreground,
        ages,
    };
    let Judgement { judged, .. } =
        judge(store, store.now(), sizes::of_store(store)?.limited(), how)?;
    let goes = |judged: &&Judged| matches!(judged.verdict, Retention::Goes(_));
    Ok(judged
        .iter()
        .filter(goes)
        .filter_map(|judged| judged.bytes)
        .sum())
}

/// Returns the report's word for a verdict.
fn reason(verdict: Retention) -> &'static str {
    match verdict {
        Retention::Goes(Why::Unused) => "unused",
        Retention::Goes(Why::Size) => "size",
        Retention::Stays => "recent",
        Retention::Pinned(Pin::Open) => "open",
        Retention::Pinned(Pin::Reverted) => "reverted",
        Retention::Pinned(Pin::Operation) => "operation",
        Retention::Pinned(Pin::Label) => "label",
        Retention::Pinned(Pin::Young) => "young",
    }
}

/// Judges the sessions that still have snapshots, the longest unused first.
fn judge(store: &Store, now: Milliseconds, size: u64, how: GcOptions) -> Result<Judgement> {
    let settings = &store.surroundings.settings;
    let limits = RetentionLimits {
        ages: how.ages,
        keep: i64::try_from(settings.keep.as_millis()).unwrap_or(i64::MAX),
        max_size: settings.max_store_size,
    };
    let mut uses = sessions::session_uses(store.database.connection(), now)?;
    uses.retain(|session| session.has_snapshots);
    // Measuring walks every tree, and is needed only where size decides.
    let mut bytes = None;
    let mut unmeasured = HashMap::new();
    if how.dry_run.is_dry() || size > limits.max_size {
        let may_go =
            |session: &SessionUse| policy::pin(session, lives(session), how.ages).is_none();
        let may_go: Vec<bool> = uses.iter().map(may_go).collect();
        let mut sizes = sizes::of_sessions(store, &uses, &may_go, how)?;
        // What cannot be measured is left as it is, and others go in its place.
        let is_measured =
            |session: &SessionUse| !sizes.unmeasured.contains_key(&session.workspace_id);
        let mut measured = uses.iter().map(is_measured);
        sizes.bytes.retain(|_| measured.next() == Some(true));
        uses.retain(is_measured);
        bytes = Some(sizes.bytes);
        unmeasured = sizes.unmeasured;
    }
    let lives: Vec<Option<bool>> = uses.iter().map(lives).collect();
    let candidates: Vec<PolicySession<'_>> = uses
        .iter()
        .zip(&lives)
        .enumerate()
        .map(|(number, (session, lives))| PolicySession {
            session,
            lives: *lives,
            bytes: bytes.as_ref().map_or(0, |bytes| bytes[number]),
        })
        .collect();
    let verdicts = policy::judge(&candidates, limits, size);
    let judged = uses
        .into_iter()
        .zip(verdicts)
        .enumerate()
        .map(|(number, (session, verdict))| Judged {
            session,
            verdict,
            bytes: bytes.as_ref().map(|bytes| bytes[number]),
        })
        .collect();
    Ok(Judgement { judged, unmeasured })
}

/// Returns whether a process of a session's agent is alive, or `None` if none is known.
fn lives(session: &SessionUse) -> Option<bool> {
    let processes = &session.processes;
    (!processes.is_empty()).then(|| processes.iter().any(|process| !life::is_gone(process)))
}

/// Prunes and packs a workspace. Returns the report on it.
fn tidy_up(
    store: &mut Store,
    presence: &WorkspacePresence,
    judged: &[Judged],
    now: Milliseconds,
    how: GcOptions,
) -> Result<GcWorkspace> {
    let row = sessions::workspace(store.database.connection(), presence.id)?;
    let place = Place::of_row(store, row);
    let keep = i64::try_from(place.settings.keep.as_millis()).unwrap_or(i64::MAX);
    let mut report = GcWorkspace {
        workspace: place.root.to_string_lossy().into_owned(),
        ..GcWorkspace::default()
    };
    if place.has_objects()? {
        let sizes = place.snapshots()?.pack_sizes()?;
        (report.bytes_before, report.packs_before) = (sizes.bytes, sizes.packs);
    }
    // Before the pruning: of a directory that is gone for good, nothing has to be packed first.
    if is_gone_for_good(store, presence, &place, now, keep, how)? {
        if !how.dry_run.is_dry() {
            let _lock = place.lock(how.priority.patience())?;
            sizes::remove_workspace(store, &place)?;
        }
        report.removed = true;
        return Ok(report);
    }
    let goes = sessions_that_go(judged, presence.id);
    let kept: Vec<String> = kept_sessions(store, presence.id, judged, now)?;
    let newest_gone = goes.iter().map(|judged| judged.session.used_at);
    let pruning = Pruning {
        workspace_id: presence.id,
        kept: &kept,
        unused_before: newest_gone.fold(how.ages.before(keep), i64::max),
        young_since: how.ages.before(policy::MIN_PRUNE_AGE),
        now,
    };
    if how.dry_run.is_dry() {
        report.pruned = sessions::prunable(store.database.connection(), pruning)?.len();
        report.packs_after = report.packs_before;
        let freed: u64 = goes.iter().filter_map(|judged| judged.bytes).sum();
        report.bytes_after = report.bytes_before.saturating_sub(freed);
        return Ok(report);
    }
    report.pruned = prune(store, &place, pruning, now, how)?;
    pack_what_stays(store, presence, &place, how, &mut report)?;
    Ok(report)
}

/// Packs what the rows of a workspace still name, and forgets the rest for good.
fn pack_what_stays(
    store: &mut Store,
    presence: &WorkspacePresence,
    place: &Place,
    how: GcOptions,
    report: &mut GcWorkspace,
) -> Result<()> {
    if presence.is_unswept {
        // Forgotten names and prompts stay in free pages of the database until these are overwritten.
        super::forget::scrub(store)?;
    }
    if place.has_objects()? {
        let leftovers = pack::Leftovers::of(presence.is_unswept);
        pack::whole(store, place, how, leftovers)?;
        let sizes = place.snapshots()?.pack_sizes()?;
        (report.bytes_after, report.packs_after) = (sizes.bytes, sizes.packs);
        sizes::note(store, place, how)?;
    } else if presence.is_unswept {
        let _lock = place.lock(how.priority.patience())?;
        pack::note_swept(store, place)?;
    }
    Ok(())
}

fn sessions_that_go(judged: &[Judged], workspace_id: i64) -> Vec<&Judged> {
    judged
        .iter()
        .filter(|judged| judged.session.workspace_id == workspace_id)
        .filter(|judged| matches!(judged.verdict, Retention::Goes(_)))
        .collect()
}

/// Marks the snapshots that go as pruned, under the workspace's lock. Returns their number.
fn prune(
    store: &mut Store,
    place: &Place,
    pruning: Pruning<'_>,
    now: Milliseconds,
    how: GcOptions,
) -> Result<usize> {
    // Rows first, objects after them: killed in between, the store holds more than its rows name, which the next
    // run packs. The other way round, rows would name what is gone.
    let _lock = place.lock(how.priority.patience())?;
    store.database.write(|connection| {
        let ids = sessions::prunable(connection, pruning)?;
        sessions::mark_pruned(connection, &ids, now)?;
        Ok(ids.len())
    })
}

/// Returns the sessions of a workspace that stay, including sub-agents and those without snapshots.
fn kept_sessions(
    store: &Store,
    workspace_id: i64,
    judged: &[Judged],
    now: Milliseconds,
) -> Result<Vec<String>> {
    let gone: std::collections::HashSet<&String> = judged
        .iter()
        .filter(|judged| matches!(judged.verdict, Retention::Goes(_)))
        .flat_map(|judged| &judged.session.ids)
        .collect();
    let uses = sessions::session_uses(store.database.connection(), now)?;
    let of_it = uses
        .into_iter()
        .filter(|session| session.workspace_id == workspace_id);
    Ok(of_it
        .flat_map(|session| session.ids)
        .filter(|id| !gone.contains(id))
        .collect())
}

/// Returns whether a workspace's directory has been gone, or replaced by another one, for as long as unused sessions
/// are kept. The time counts from when this is first noticed: a disk that is not mounted may come back.
fn is_gone_for_good(
    store: &mut Store,
    presence: &WorkspacePresence,
    place: &Place,
    now: Milliseconds,
    keep: Milliseconds,
    how: GcOptions,
) -> Result<bool> {
    let is_away = match place.root.symlink_metadata() {
        Ok(found) => presence.replaced_at.is_some() && !place.row.is(&Identity::of(&found)),
        // Any other error, such as a server that does not answer, is no absence.
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_away != presence.gone_at.is_some() && !how.dry_run.is_dry() {
        let gone_at = is_away.then_some(now);
        store
            .database
            .write(|connection| sessions::note_gone(connection, presence.id, gone_at))?;
    }
    let since = match how.priority {
        Priority::Foreground => presence.replaced_at.or(presence.gone_at),
        // A hook noted that it was replaced, by its own clock.
        Priority::Background => presence.gone_at,
    };
    let is_long_ago =
        since.is_some_and(|since| how.ages.unused_for(since) > keep.max(policy::MIN_PRUNE_AGE));
    // One that made way for another may be beside it, and no event need have come there.
    let made_way = || presence.replaced_at.is_some() && found_again(&place.row, None).is_some();
    Ok(is_away && is_long_ago && !presence.is_pinned && !made_way())
}

fn skipped(store: &Store, id: i64, error: &Error) -> Result<GcWorkspace> {
    let row = sessions::workspace(store.database.connection(), id)?;
    let place = Place::of_row(store, row);
    let sizes = place
        .snapshots()
        .and_then(|snapshots| snapshots.pack_sizes())
        .unwrap_or_default();
    Ok(GcWorkspace {
        workspace: place.root.to_string_lossy().into_owned(),
        bytes_before: sizes.bytes,
        bytes_after: sizes.bytes,
        packs_before: sizes.packs,
        packs_after: sizes.packs,
        pruned: 0,
        removed: false,
        skipped: Some(error.with_causes()),
    })
}

#[cfg(test)]
mod tests {
    use super::{GC_INTERVAL, UNFINISHED_GC_INTERVAL, is_due};

    /// A run that was cut off is made up for soon and any other seldom.
    #[test]
    fn cut_off_run_is_made_up_for_soon() {
        let now = 1_700_000_000_000;
        assert_eq!(is_due(None, now), None, "there was none");
        assert_eq!(is_due(Some("nonsense\n"), now), None);
        for (note, pause) in [("", GC_INTERVAL), (" unfinished", UNFINISHED_GC_INTERVAL)] {
            let at = |ago| is_due(Some(&format!("{}{note}\n", now - ago)), now);
            assert_eq!(at(pause - 1), Some(false), "{note}");
            assert_eq!(at(pause), Some(true), "{note}");
            assert_eq!(at(-1), Some(true), "{note}: the clock was put back");
            let read = |text: &str| is_due(Some(text), now);
            assert_eq!(read(&format!("{} 0 5 boot:a{note}", now - 1)), Some(false));
        }
    }
}
