//! Looks at the workspace: takes a snapshot and attributes the changes since the last one. Nothing is written to the
//! database until [`Look::write`].

use std::cell::{LazyCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use rusqlite::Connection;

use super::attribute::{Patch, attribute, consolidate, count_with};
use super::baseline::{Baseline, Last};
use super::deferred_files::LatePaths;
use super::evidence::{Dated, StepStanding, TICK};
use super::hindsight::hidden_steps;
use super::life;
use super::outer_tools::OuterAgent;
use super::retrace::retrace;
use super::undone_writes::{self, Returned};
use super::workers::{Workers, acting_steps};
use super::workspace::{Place, SnapshotOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::threads;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::Change;
use crate::model::git_item::GitStateRow;
use crate::model::label::Label;
use crate::model::path::WorkspacePath;
use crate::objects::pack::rebuild::QUICKLY_READ_SIZE;
use crate::sessions::{self, ChangeRow, NewSnapshot, OpenStep};
use crate::snapshot::{Budget, Gap, PatchSide, Snapshot, Snapshots, StoredSnapshot, Times};
use crate::store::{Store, Surroundings};

/// How many changes are written before the time is looked at.
const CHANGES_AT_ONCE: usize = 500;

/// The lines of a larger file are not counted, in bytes.
pub(crate) const MAX_COUNTED: u64 = 16 << 20;

/// How to look at the workspace.
#[derive(Clone, Copy, Default)]
pub(crate) struct LookOptions<'a> {
    /// The session of the event.
    pub session: Option<&'a str>,
    /// The open steps of the workspace.
    pub open: &'a [OpenStep],
    /// Those that ended before, and of which a tool went on until now.
    pub overtaken: &'a [OpenStep],
    /// Those that end with it, and how.
    pub closing: &'a [(&'a OpenStep, StepStanding)],
    /// Returns whether a change is recorded elsewhere, so that it needs no attribution.
    pub known: Option<&'a dyn Fn(&Change) -> bool>,
    /// Whether the directory took the place of the one that the last snapshot is of.
    pub is_replaced: bool,
    /// The options, the deadline and the progress callback.
    pub how: SnapshotOptions<'a>,
}

/// The workspace at this moment as a snapshot, and what changed since the one before.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub snapshot: Snapshot,
    /// What the snapshot does not hold, by path.
    pub gaps: Vec<Gap>,
    pub git: Option<GitStateRow>,
    /// The newest snapshot before it.
    pub previous: Option<i64>,
    /// What changed since, joined with the earlier changes of the steps that close now.
    pub changes: Vec<ChangeRow>,
    /// Rows that `changes` replaces.
    pub replaced: Vec<i64>,
    /// The files that tools of the steps that close now wrote, and that are as before.
    pub returned: Vec<Returned>,
    /// Whether it still depends on packs of the user's repository.
    pub borrows: bool,
    /// Whether there are so many packs that they should be joined.
    pub is_crowded: bool,
    /// Some of the ignore patterns that are too complicated to decide.
    pub undecided: Vec<String>,
    /// Ignore files that exist but could not be read.
    pub unread: Vec<String>,
    /// Whether a watcher missed a change.
    pub missed: bool,
    /// Why the last snapshot can no longer be read, if so: the changes since are unknown.
    pub lost: Option<String>,
    /// What changed since the last snapshot, without its authors.
    pub patch: Vec<Change>,
    /// The times of what changed.
    pub times: Times,
    /// Whether a watcher said where to look.
    pub is_hinted: bool,
    /// Whether files were not read, because the time was up.
    pub is_late: bool,
    /// What the last look did not reach for that reason.
    pub late_before: LatePaths,
    /// When to ask for no more times of what changed, and then when to give up writing it down.
    pub until: Option<Instant>,
}

impl Look {
    /// Takes a snapshot of the workspace and attributes what changed since the last snapshot.
    pub fn make(
        store: &Store,
        place: &Place,
        snapshots: &Snapshots,
        before: Baseline,
        looking: LookOptions<'_>,
    ) -> Result<Self> {
        let mut seen = Self::without_authors(store, place, snapshots, before, looking)?;
        seen.attribute_now(store, place, snapshots, looking)?;
        Ok(seen)
    }

    /// Takes a snapshot of the workspace, and leaves open whose the changes are.
    pub fn without_authors(
        store: &Store,
        place: &Place,
        snapshots: &Snapshots,
        before: Baseline,
        looking: LookOptions<'_>,
    ) -> Result<Self> {
        let previous = before.last.as_ref().map(|last| last.id);
        let until = looking.how.deadline;
        let (stored, mut patch, lost) =
            take_snapshot(store, place, snapshots, &before, looking.how)?;
        // An operation writes its own rows for its changes. They must not be attributed a second time.
        patch.retain(|change| !looking.known.is_some_and(|is_known| is_known(change)));
        // If they cannot be read, no change since is known either.
        let gaps_before = before.last.as_ref().map(|last| last.gaps(snapshots));
        let gaps_before = gaps_before.and_then(Result::ok).unwrap_or_default();
        Ok(Self {
            snapshot: stored.snapshot,
            gaps: stored.gaps(),
            git: stored.git,
            previous,
            changes: Vec::new(),
            replaced: Vec::new(),
            returned: Vec::new(),
            borrows: snapshots.borrows(),
            is_crowded: snapshots.is_crowded(),
            undecided: stored.undecided,
            unread: stored.unread,
            missed: stored.missed,
            lost,
            patch,
            times: stored.times,
            is_hinted: stored.is_hinted,
            is_late: stored.is_late,
            late_before: LatePaths::of(&gaps_before),
            until,
        })
    }

    /// Attributes what changed, in a read transaction of its own.
    pub fn attribute_now(
        &mut self,
        store: &Store,
        place: &Place,
        snapshots: &Snapshots,
        looking: LookOptions<'_>,
    ) -> Result<()> {
        if self.patch.is_empty() && looking.closing.is_empty() {
            return Ok(());
        }
        store.database.read(|connection| {
            self.attribute(connection, &store.surroundings, place, snapshots, looking)
        })
    }

    /// Attributes what changed, by what a transaction sees. What was attributed before by other rows is done anew.
    pub fn attribute(
        &mut self,
        connection: &Connection,
        surroundings: &Surroundings,
        place: &Place,
        snapshots: &Snapshots,
        looking: LookOptions<'_>,
    ) -> Result<()> {
        let before = std::mem::take(&mut self.changes);
        self.replaced.clear();
        self.returned.clear();
        let mut drafts = if self.patch.is_empty() {
            Vec::new()
        } else {
            self.attributed(connection, surroundings, place, looking)?
        };
        undone_writes::doubt(connection, place, &mut drafts)?;
        for (step, _) in looking.closing {
            // Before joining: an earlier look may hold a row for the same path.
            drafts.extend(hidden_changes(snapshots, &self.snapshot, step)?);
            let (replaced, changed) = join(connection, &mut drafts, &step.row.id)?;
            self.replaced.extend(replaced);
            let told = surroundings.file_times;
            let is_written = |path: &WorkspacePath, since| {
                self.times
                    .may_be_written(&place.root, path, |at| told(at) >= since)
            };
            self.returned
                .extend(undone_writes::of(step, &changed, is_written));
            let aside = undone_writes::put_aside(step, &place.root, &changed, &self.times, told);
            self.returned.extend(aside);
        }
        let known: HashMap<&Change, Option<(u64, u64)>> = before
            .iter()
            .map(|draft| (&draft.change, draft.lines))
            .collect();
        // Only now: joined rows are counted once, and from their first state to their last.
        let lines = threads::map(&drafts, |draft| match known.get(&draft.change) {
            Some(lines) => *lines,
            None if self.is_over() => None,
            None => count(snapshots, &draft.change),
        });
        drafts
            .iter_mut()
            .zip(lines)
            .for_each(|(draft, lines)| draft.lines = lines);
        self.changes = drafts;
        Ok(())
    }

    /// Writes the snapshot and the changes, and makes it the newest of the workspace. Returns the snapshot's row id.
    pub fn write(
        &self,
        connection: &Connection,
        workspace_id: i64,
        label: Option<&Label>,
        now: Milliseconds,
    ) -> Result<i64> {
        let git_state_id = self
            .git
            .as_ref()
            .map(|git| sessions::put_git_state(connection, workspace_id, git, now))
            .transpose()?;
        let row = NewSnapshot {
            workspace_id,
            snapshot: self.snapshot,
            gaps: self.gaps.len() as u64,
            git_state_id,
        };
        if self.lost.is_some() {
            // Before the new snapshot's row: the unrecorded step begins at the newest one, which must still be the
            // lost one.
            sessions::mark_lost(connection, workspace_id, LOST, now)?;
        }
        let id = sessions::put_snapshot(connection, &row, self.previous, now)?;
        if let Some(label) = label {
            sessions::put_label(
                connection,
                workspace_id,
                label,
                &sessions::Labelled::Snapshot(id),
                now,
            )?;
        }
        sessions::delete_changes(connection, &self.replaced)?;
        for file in &self.returned {
            sessions::note_returned(connection, &file.step, &file.path)?;
        }
        for changes in self.changes.chunks(CHANGES_AT_ONCE) {
            self.check_time()?;
            sessions::insert_changes(connection, workspace_id, changes, Some(id), now)?;
        }
        // The same state again gets the same row, and writing that it is the newest would cost each event a page.
        if self.previous != Some(id) {
            sessions::set_last_snapshot(connection, workspace_id, id, now)?;
        }
        Ok(id)
    }

    fn is_over(&self) -> bool {
        let is_over = |until| Instant::now() >= until;
        #[cfg(debug_assertions)]
        let is_over = |until| is_over(until) || crate::fault::is_time_up();
        self.until.is_some_and(is_over)
    }

    /// Returns whether no more times of changes are asked for.
    fn is_dated_enough(&self) -> bool {
        #[cfg(debug_assertions)]
        if crate::fault::is_dated_enough() {
            return true;
        }
        self.is_over()
    }

    fn check_time(&self) -> Result<()> {
        match self.is_over() {
            true => Err(Error::late("what changed was not recorded in time")),
            false => Ok(()),
        }
    }

    /// Returns whether nothing changed since a snapshot was written, and nothing was written since.
    pub fn is_as_after(&self, connection: &Connection, snapshot_id: Option<i64>) -> Result<bool> {
        let Some(id) =
            snapshot_id.filter(|_| self.previous == snapshot_id && self.changes.is_empty())
        else {
            return Ok(false);
        };
        Ok(sessions::snapshot(connection, id)?.snapshot == self.snapshot)
    }

    /// Returns how many paths a step changed, of those that this look writes.
    pub fn changes_of(&self, step: &str) -> u64 {
        self.changes
            .iter()
            .filter(|change| change.step_id.as_deref() == Some(step))
            .count() as u64
    }

    /// Returns the paths that the looks before did not reach: all, if one was missed.
    fn unseen_before(&self, connection: &Connection, workspace_id: i64) -> Result<LatePaths> {
        let is_missed = sessions::was_look_missed(connection, workspace_id, self.previous)?;
        Ok(match is_missed {
            true => LatePaths::all(),
            false => self.late_before.clone(),
        })
    }

    /// Returns the changes with their authors.
    fn attributed(
        &self,
        connection: &Connection,
        surroundings: &Surroundings,
        place: &Place,
        looking: LookOptions<'_>,
    ) -> Result<Vec<ChangeRow>> {
        let (changes, times, from) = (&self.patch, &self.times, self.previous);
        let workers = Workers::read(connection, place, from)?;
        // After the rows were read: one from the future would mean that the clock jumped.
        let now = (surroundings.clock)();
        let signed = |outer| {
            let signs = life::signs_around(&outer, now);
            (outer, signs)
        };
        let outer: Vec<OuterAgent> = workers.outer.into_iter().map(signed).collect();
        let acting = acting_steps(&workers.background, looking, now);
        let is_elsewhere = |path: &WorkspacePath, conversation: &str| {
            let is_other = |(_, own): &&(_, Option<String>)| own.as_deref() != Some(conversation);
            let mut others = workers.inner.iter().filter(is_other);
            others.any(|(root, _)| path.is_below(root))
        };
        let told = surroundings.file_times;
        // A look that is to come was before the clock was set back.
        let looked_at = place.looked_at.get().filter(|looked_at| *looked_at <= now);
        // A file's time may lag behind by a tick, so one that seems just older than the look may be younger.
        let is_since =
            |at: Milliseconds| looked_at.is_none_or(|looked_at| told(at) + TICK >= looked_at);
        // Lazy, because it compares every path that went with every one that came, and most looks have no step to ask
        // for it.
        let moved = LazyCell::new(|| times.of_moves(&place.root, changes, is_since));
        let untimed = RefCell::new(LatePaths::default());
        let time = |change: &Change| {
            if self.is_dated_enough() {
                untimed.borrow_mut().add(&change.path);
                return None;
            }
            let (time, came) = match moved.get(&change.path) {
                Some(came) => (came.at, Some(*came)),
                None => (times.of_change(&place.root, change)?, None),
            };
            let is_old = looked_at.is_some() && !is_since(time);
            let arrival = is_old.then(|| times.of_arrival(&place.root, change, is_since));
            let came = arrival.flatten().or(came);
            Some(Dated {
                at: told(came.map_or(time, |came| came.at)),
                since: looked_at.filter(|_| came.is_some_and(|came| !came.is_exact)),
                is_stale: is_old && came.is_none() && !times.may_have_come(change),
            })
        };
        let late = self.unseen_before(connection, place.row.id)?;
        let asks_for_ended = self.is_hinted || !late.is_empty();
        let ended = match asks_for_ended {
            true => hidden_steps(connection, place, changes.iter().filter_map(&time))?,
            false => Vec::new(),
        };
        let patch = Patch {
            changes: changes.clone(),
            time: &time,
            outer: &outer,
            has_started: &life::has_started,
            is_elsewhere: &is_elsewhere,
            is_replaced: looking.is_replaced,
            from,
            ended: &ended,
            looked_at,
            now,
        };
        let mut rows = attribute(patch, &acting, looking.session);
        untimed.take().doubt_untimed(&mut rows, asks_for_ended)?;
        if !self.late_before.is_empty() {
            let begin = sessions::first_look(connection, place.row.id)?;
            let is_older = |change: &Change| time(change).is_some_and(|time| time.at < begin);
            self.late_before.drop_unchanged(&mut rows, is_older);
        }
        late.doubt_ended(&mut rows, &ended);
        Ok(rows)
    }
}

/// Returns the present state, what changed since the last snapshot, and why that snapshot is lost if it is.
fn take_snapshot(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    before: &Baseline,
    how: SnapshotOptions<'_>,
) -> Result<(StoredSnapshot, Vec<Change>, Option<String>)> {
    let Baseline { named, last } = before;
    let stored = place.take_with(store, snapshots, named, how)?;
    match patch_or_new_index(last.as_ref(), place, snapshots, &stored, how.deadline) {
        Err(error) if error.kind == ErrorKind::Unavailable => {
            // If one object is lost, others that this snapshot relies on may be, too. Everything is read again and
            // stored whole, which heals what is still in the workspace.
            let anew = SnapshotOptions { anew: true, ..how };
            let stored = place.take_with(store, snapshots, named, anew)?;
            let (patch, lost) = patch_or_loss(store, last.as_ref(), place, snapshots, &stored)?;
            Ok((stored, patch, lost))
        }
        patch => Ok((stored, patch?, None)),
    }
}

/// Returns the changes since the last snapshot. If an object was found only in a pack whose index is damaged, rebuilds
/// that index.
fn patch_or_new_index(
    last: Option<&Last>,
    place: &Place,
    snapshots: &Snapshots,
    stored: &StoredSnapshot,
    until: Option<Instant>,
) -> Result<Vec<Change>> {
    let patch = patch_since(last, place, snapshots, stored, until);
    if snapshots.needs_indexes() {
        // It can be read without them as well, only slower.
        let _ = snapshots.rebuild_indexes(QUICKLY_READ_SIZE);
    }
    patch
}

/// Returns the changes since the last snapshot; or none, and why that snapshot is lost. What only it knew is gone,
/// but the next snapshot must not fail because of that. First its trees are made again from what rows know.
fn patch_or_loss(
    store: &Store,
    last: Option<&Last>,
    place: &Place,
    snapshots: &Snapshots,
    stored: &StoredSnapshot,
) -> Result<(Vec<Change>, Option<String>)> {
    let patch = patch_since(last, place, snapshots, stored, None);
    let is_damaged = patch.as_ref().is_err_and(Error::is_damage);
    let Some(last_tree) = last.map(|last| last.snapshot.tree).filter(|_| is_damaged) else {
        return or_loss(patch);
    };
    // What cannot be made again is lost, whatever the reason.
    let _ = retrace(
        store.database.connection(),
        place.row.id,
        snapshots,
        last_tree,
    );
    or_loss(patch_since(last, place, snapshots, stored, None))
}

fn or_loss(patch: Result<Vec<Change>>) -> Result<(Vec<Change>, Option<String>)> {
    match patch {
        Err(error) if error.kind == ErrorKind::Unavailable => {
            Ok((Vec::new(), Some(error.with_causes())))
        }
        healed => Ok((healed?, None)),
    }
}

/// The note on a step whose changes are unknown because the snapshot before them is lost.
pub(crate) const LOST: &str = "the snapshot before it was lost: the store is damaged";

fn patch_since(
    last: Option<&Last>,
    place: &Place,
    snapshots: &Snapshots,
    stored: &StoredSnapshot,
    until: Option<Instant>,
) -> Result<Vec<Change>> {
    // Without a snapshot before, there are no changes: files that existed already have no author.
    let Some(last) = last else {
        return Ok(Vec::new());
    };
    if last.snapshot == stored.snapshot {
        return Ok(Vec::new());
    }
    let (gaps_before, gaps) = (last.gaps(snapshots)?, stored.gaps());
    let old = PatchSide {
        snapshot: last.snapshot,
        gaps: &gaps_before,
    };
    let new = PatchSide {
        snapshot: stored.snapshot,
        gaps: &gaps,
    };
    let budget = Budget::of_event(last.taken_at, until);
    snapshots.patch_with_hidden(&place.root, old, new, budget)
}

/// Returns how the files changed that a step's tools named and that ignore rules hide.
fn hidden_changes(
    snapshots: &Snapshots,
    finish: &Snapshot,
    step: &OpenStep,
) -> Result<Vec<ChangeRow>> {
    let hidden: Vec<_> = step
        .paths
        .iter()
        .filter_map(|named| Some((named.path.clone(), named.hidden_before?)))
        .collect();
    if hidden.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<_> = hidden.iter().map(|(path, _)| path.clone()).collect();
    let states = snapshots.states(finish, &paths)?;
    let changes = hidden
        .into_iter()
        .zip(states)
        // A tool may name a file and leave it alone.
        .filter(|((_, old), new)| old != new);
    Ok(changes
        .map(|((path, old), new)| ChangeRow {
            id: None,
            step_id: Some(step.row.id.clone()),
            attribution: Attribution::Agent,
            reason: None,
            from_snapshot_id: step.row.start_snapshot_id,
            to_snapshot_id: None,
            change: Change { path, old, new },
            lines: None,
        })
        .collect())
}

/// Joins the earlier rows of a step with its drafts. Returns the rows that they replace, and the paths that changed with
/// the step.
fn join(
    connection: &Connection,
    drafts: &mut Vec<ChangeRow>,
    step: &str,
) -> Result<(Vec<i64>, HashSet<WorkspacePath>)> {
    let mut rows = sessions::changes_of_step(connection, step)?;
    let paths = |rows: &[ChangeRow]| rows.iter().map(|row| row.change.path.clone()).collect();
    if rows.is_empty() {
        return Ok((Vec::new(), paths(drafts)));
    }
    let (own, others) = std::mem::take(drafts)
        .into_iter()
        .partition(|draft| draft.step_id.as_deref() == Some(step));
    *drafts = others;
    let own: Vec<ChangeRow> = own;
    rows.extend(own);
    let (replaced, joined) = consolidate(&rows);
    drafts.extend(joined);
    rows.retain(|row| row.id.is_some_and(|id| !replaced.contains(&id)));
    let mut changed: HashSet<WorkspacePath> = paths(&rows);
    changed.extend(drafts.iter().map(|draft| draft.change.path.clone()));
    Ok((replaced, changed))
}

/// Returns how many lines a change adds and removes, or `None` for content without lines.
fn count(snapshots: &Snapshots, change: &Change) -> Option<(u64, u64)> {
    count_with(change, |blob| snapshots.comparable(blob, MAX_COUNTED))
}
