//! Finds changes that no row holds, because no single step saw all of them: a file that one step hid from view and
//! another removed, and an empty folder that is left of one that was made and emptied again. The snapshots around the
//! steps show both. An empty folder that ignore rules hide shows nowhere but on the disk. This module does IO, but only
//! reads.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::folders::Folders;
use super::search::UnseenSearch;
use super::seen_history::SeenHistory;
use super::spans::StepSpans;
use crate::error::Result;
use crate::fs::{presence, times};
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::{Change, Entry, Mode, ObjectId, State};
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::revert::request::scope::is_covered;
use crate::sessions::{self, ChangeRow, LiveChange, StepSides};
use crate::snapshot::{Budget, Presence, Snapshot, Times};
use crate::timeline::evidence::{self, Changed, Doubt, Evidence, Verdict};
use crate::timeline::step_afterwards;

impl UnseenSearch<'_> {
    /// Adds them to the changes that rows hold, from the message with `first_seq` on, each as a change of the step that
    /// caused it. Returns all of them, newest first, and the folders in question. `reference` is the snapshot that the
    /// movement goes to.
    pub fn completed(
        &self,
        first_seq: i64,
        reference: Option<i64>,
    ) -> Result<(Vec<LiveChange>, Folders, SeenHistory)> {
        let spans = sessions::step_sides(self.connection, self.session.0, first_seq)?;
        let history = SeenHistory::of(self.connection, self.snapshots, self.seen, &spans)?;
        let spans = StepSpans::of(&spans, self.now);
        let mut first = BTreeMap::new();
        for item in self.chain.iter().flat_map(|operation| &operation.items) {
            first.entry(&item.path).or_insert(item);
        }
        // They are newer than any row, but for what was made before one.
        let (mut changes, mut oldest) = (Vec::new(), Vec::new());
        if !self.scopes.is_empty() {
            changes.extend(self.removed_while_hidden(&spans, &first)?);
            let (before_rows, newer) =
                self.made_while_hidden(&spans, &history, &first, reference)?;
            oldest = before_rows;
            changes.extend(newer);
            changes.extend(self.hidden_folders(&spans, &history, &first)?);
            changes.extend(self.hidden_folders_taken(&spans, &history, &first, &changes)?);
        }
        let mut folders = self.folders(&first, reference)?;
        let is_known = |change: &LiveChange| {
            spans
                .all
                .iter()
                .any(|span| Some(&span.step_id) == change.row.step_id.as_ref())
        };
        for change in self.live.iter().filter(|change| !is_known(change)) {
            folders.remove(&change.row.change.path);
        }
        let of_folders = self.folders_changed(&folders, &spans, &first)?;
        let key =
            |change: &LiveChange| (change.row.step_id.clone(), change.row.change.path.clone());
        let told: BTreeSet<_> = of_folders.iter().map(key).collect();
        changes.extend(self.folders_made(&folders, &of_folders, &spans, &first, reference)?);
        // What came after the end of a step, as of a command in the background, is not between its looks.
        let others = self
            .live
            .iter()
            .filter(|change| !told.contains(&key(change)));
        changes.extend(of_folders.into_iter().chain(others.cloned()));
        changes.extend(oldest);
        // A folder that was there then did not come since, though rules hid it.
        let was_hidden = self.hidden_in(reference, &folders)?;
        let is_folder = |state: State| state.is_some_and(|entry| entry.is_empty_directory());
        changes.retain(|LiveChange { row, .. }| {
            let Change { path, old, new } = &row.change;
            old.is_some() || !is_folder(*new) || !was_hidden.contains(path)
        });
        Ok((changes, folders, history))
    }

    /// Returns the folders that a snapshot only saw.
    fn hidden_in(
        &self,
        snapshot: Option<i64>,
        folders: &Folders,
    ) -> Result<BTreeSet<WorkspacePath>> {
        let Some(snapshot) = snapshot.filter(|_| !folders.is_empty()) else {
            return Ok(BTreeSet::new());
        };
        let snapshot = sessions::snapshot(self.connection, snapshot)?.snapshot;
        let paths = folders.keys().cloned().collect();
        let is_seen = |presence| presence == Presence::SeenDirectory;
        let hidden = self.snapshots.with_presence(&snapshot, paths, is_seen)?;
        Ok(hidden.into_iter().collect())
    }

    /// Finds files that a step hid and that are gone, or something else by now. No look saw who did that, because they
    /// were hidden; only their absence is certain. Such a file comes back if nothing took its place, and is otherwise
    /// kept and named.
    fn removed_while_hidden(
        &self,
        spans: &StepSpans<'_>,
        first: &BTreeMap<&WorkspacePath, &Item>,
    ) -> Result<Vec<LiveChange>> {
        let mut hidden: BTreeMap<WorkspacePath, (Entry, &StepSides)> = BTreeMap::new();
        for span in spans.all.iter().filter(|span| span.changed_rules) {
            let Some((start, finish)) = self.sides(span)? else {
                continue;
            };
            for (path, entry) in self.snapshots.went_out_of_view(&start, &finish)? {
                hidden.insert(path, (entry, span));
            }
        }
        // Almost always: an agent rarely changes ignore rules, and the rows below need not be read then.
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let mut newest: BTreeMap<&WorkspacePath, State> = BTreeMap::new();
        for change in self.live {
            let row = &change.row.change;
            newest.entry(&row.path).or_insert(row.new);
        }
        let removed_by_others = self.removed_by_others()?;
        hidden.retain(|path, (entry, _)| {
            // If rows explain its absence, there is nothing to add.
            match newest.get(path) {
                Some(Some(state)) => *entry = *state,
                Some(None) => return false,
                None => {}
            }
            !removed_by_others.contains(path)
        });
        let differing = self.differing(&hidden, first, |path| !newest.contains_key(path))?;
        let taken_away = match differing.is_empty() {
            true => BTreeSet::new(),
            false => sessions::brought_back_and_taken_away(self.connection, self.place.row.id)?,
        };
        let mut changes = Vec::new();
        for (path, (entry, span)) in hidden {
            if differing.contains(&path) {
                // The times are those of the operation that took it away.
                let judged = match taken_away.contains(&path) {
                    true => None,
                    false => self.weigh(spans, span, &path, entry)?,
                };
                // A user who takes what is unclear takes what is there.
                let new = match (judged, first.get(&path)) {
                    (None, _) => None,
                    (Some(_), Some(item)) => item.expected,
                    (Some(_), None) => self.snapshots.store_path(&self.place.root, &path)?,
                };
                changes.extend(self.change(span, path, Some(entry), new, judged));
            }
        }
        Ok(changes)
    }

    /// Finds files that came while rules hid them, or in a folder that did, and that came into view: those that rows say more
    /// of, and those that are in view now or were when they were first moved. No row says that they came.
    fn made_while_hidden(
        &self,
        spans: &StepSpans<'_>,
        history: &SeenHistory,
        first: &BTreeMap<&WorkspacePath, &Item>,
        reference: Option<i64>,
    ) -> Result<(Vec<LiveChange>, Vec<LiveChange>)> {
        let (mut before_rows, mut newer) = (Vec::new(), Vec::new());
        let came = history.came_by_path();
        let Some(reference) = reference.filter(|_| !came.is_empty()) else {
            return Ok((before_rows, newer));
        };
        let step_of = |path: &WorkspacePath| {
            let mut ways = path.clone().at_and_above();
            ways.find_map(|way| came.get(way.as_bytes()).copied())
        };
        let reference = sessions::snapshot(self.connection, reference)?.snapshot;
        let now = self.snapshots.difference(&reference, &self.seen.snapshot)?;
        let now = now.into_iter().filter(|change| change.old.is_none());
        let now = now.filter_map(|change| Some((change.path, change.new?)));
        let moved = first.iter();
        let moved = moved.filter_map(|(path, item)| Some(((*path).clone(), item.expected?)));
        let mut found: BTreeMap<WorkspacePath, Entry> = now.chain(moved).collect();
        // Newest first, so the oldest of a path stays.
        let rows = self.live.iter().map(|change| &change.row);
        let rows: BTreeMap<&WorkspacePath, &ChangeRow> =
            rows.map(|row| (&row.change.path, row)).collect();
        newer.extend(self.made_again_while_hidden(spans, history, &found)?);
        found.retain(|path, _| !rows.contains_key(path));
        // The oldest row of a path says what it was when it had come.
        found.extend(
            rows.iter()
                .filter_map(|(path, row)| Some(((*path).clone(), row.change.old?))),
        );
        found.retain(|path, entry| !entry.is_empty_directory() && step_of(path).is_some());
        let paths: Vec<WorkspacePath> = found.keys().cloned().collect();
        let mut presences = self.snapshots.presences(&reference, &paths)?.into_iter();
        found.retain(|_, _| presences.next() == Some(Presence::Absent));
        for (path, entry) in found {
            let creator = self.creator(spans, &path)?;
            let span = creator.or_else(|| Some(&spans.all[step_of(&path)?]));
            let Some(span) = span else { continue };
            let is_alone = !sessions::is_another_at_work(self.connection, self.place.row.id, span)?;
            // If its own name came, a look saw that. Of what is in a folder that came, only its time tells.
            let is_sure = is_alone && came.contains_key(path.as_bytes())
                || creator.is_some()
                || first.contains_key(&path);
            let doubt = (!is_sure).then_some(Doubt::Hidden);
            let row = rows.get(&path);
            let Some(mut change) = self.change(span, path, None, Some(entry), doubt) else {
                continue;
            };
            // Beside the row that it came before, in their order.
            change.row.id = row.and_then(|row| row.id);
            match row {
                Some(_) => before_rows.push(change),
                None => newer.push(change),
            }
        }
        Ok((before_rows, newer))
    }

    /// Finds those of some files that had gone, as the newest row says, before a step made them again while rules hid them.
    fn made_again_while_hidden(
        &self,
        spans: &StepSpans<'_>,
        history: &SeenHistory,
        found: &BTreeMap<WorkspacePath, Entry>,
    ) -> Result<Vec<LiveChange>> {
        let mut newest: BTreeMap<&WorkspacePath, &ChangeRow> = BTreeMap::new();
        for LiveChange { row, .. } in self.live {
            newest.entry(&row.change.path).or_insert(row);
        }
        let mut changes = Vec::new();
        for came in &history.came {
            let span = &spans.all[came.step];
            let Ok(path) = WorkspacePath::new(&came.entry.path[..]) else {
                continue;
            };
            let gone = newest
                .get(&path)
                .filter(|row| row.change.new.is_none() && row.to_snapshot_id <= Some(span.start));
            if let Some((entry, _)) = found.get(&path).zip(gone) {
                let is_alone =
                    !sessions::is_another_at_work(self.connection, self.place.row.id, span)?;
                let doubt = (!is_alone).then_some(Doubt::Hidden);
                changes.extend(self.change(span, path, None, Some(*entry), doubt));
            }
        }
        Ok(changes)
    }

    /// Judges whether a step removed what an earlier one had hidden. The only known time is that of the present entry,
    /// or of the directory that it is missing from. That is the time of the last change there, which may be later than
    /// the removal. So a time at which no tool ran proves nothing, and an unclear case stays. Without a credible time,
    /// the step that hid the path is held responsible.
    fn weigh(
        &self,
        spans: &StepSpans<'_>,
        hiding: &StepSides,
        path: &WorkspacePath,
        entry: Entry,
    ) -> Result<Option<Doubt>> {
        let is_there = self.on_disk(path).symlink_metadata().is_ok();
        let since = Change {
            path: path.clone(),
            old: Some(entry),
            // What it is by now does not matter, only whose time to take.
            new: is_there.then_some(entry),
        };
        let at = Times::default().of_change(&self.place.root, &since);
        let at = at.map(self.file_times);
        let Some(at) = at.filter(|at| *at <= self.now.saturating_add(evidence::TICK)) else {
            return Ok(None);
        };
        // A revert that came before may have put something else into that directory, or taken it out.
        let around = (
            at.saturating_sub(evidence::TICK),
            at.saturating_add(evidence::TICK),
        );
        if sessions::was_operation_at_work(self.connection, self.place.row.id, around)? {
            return Ok(None);
        }
        let ended = spans.ended_by(at, hiding.started_at);
        let ended = ended.unwrap_or(hiding.started_at);
        let mut later = spans.at(at, evidence::TICK);
        later.retain(|span| span.started_at >= hiding.started_at);
        let (_, verdict) = self.judge(later, path, at)?;
        Ok(match verdict {
            // A step changed it last. It is unclear what it was in between.
            Verdict::Agent(_) | Verdict::Shared(_) if is_there => Some(Doubt::Hidden),
            Verdict::Agent(_) | Verdict::Shared(_) => None,
            Verdict::Unclear(_, doubt) => Some(doubt),
            Verdict::Outside => Some(Doubt::Ended {
                after: at.saturating_sub(ended).max(0),
            }),
        })
    }

    /// Judges which of the steps that were at work at a moment changed a path then. Returns those of which there are
    /// still rows, and the verdict.
    fn judge<'s>(
        &self,
        spans: Vec<&'s StepSides>,
        path: &WorkspacePath,
        at: Milliseconds,
    ) -> Result<(Vec<&'s StepSides>, Verdict)> {
        let (mut those, mut at_work) = (Vec::new(), Vec::new());
        for span in spans {
            if let Some(step) = sessions::step_with_tools(self.connection, &span.step_id)? {
                those.push(span);
                at_work.push(step_afterwards(&step, span.finished_at, self.now));
            }
        }
        let changed = Changed { path, at: Some(at) };
        // By the rules of a look: what no look saw is no easier to blame on a step than what one did.
        let verdict = Evidence::new(&at_work, &[changed], self.now).judge(changed, None);
        Ok((those, verdict))
    }

    /// Returns the hidden paths that are gone or something else. Only some are checked for other bytes in the same
    /// file.
    fn differing(
        &self,
        hidden: &BTreeMap<WorkspacePath, (Entry, &StepSides)>,
        first: &BTreeMap<&WorkspacePath, &Item>,
        is_read: impl Fn(&WorkspacePath) -> bool,
    ) -> Result<BTreeSet<WorkspacePath>> {
        let paths: Vec<WorkspacePath> = hidden.keys().cloned().collect();
        // The kinds first: that is one `lstat` each, and shows most of what is gone. Contents are read only of the
        // rest.
        let kinds = self.snapshots.kinds_now(&self.place.root, &paths)?;
        let (mut differing, mut same) = (BTreeSet::new(), Vec::new());
        for (path, kind) in paths.into_iter().zip(kinds) {
            let (entry, _) = hidden[&path];
            match first.get(&path) {
                // Its state before the reverts began.
                Some(item) if item.expected != Some(entry) => _ = differing.insert(path),
                Some(_) => {}
                None if kind != Some(entry.mode.kind()) => _ = differing.insert(path),
                None if is_read(&path) => same.push((path, entry)),
                None => {}
            }
        }
        let since = hidden.values().map(|(_, span)| span.started_at).min();
        let budget = Budget::of_event(since.unwrap_or_default(), None);
        differing.extend(self.snapshots.rewritten(&self.place.root, same, budget)?);
        Ok(differing)
    }

    /// Returns the paths that others are known to have removed.
    fn removed_by_others(&self) -> Result<BTreeSet<WorkspacePath>> {
        let oldest = self.live.iter().filter_map(|change| change.row.id).min();
        let others = sessions::changes_of_others(
            self.connection,
            self.place.row.id,
            self.session.0,
            oldest.unwrap_or_default(),
        )?;
        let removed = others
            .into_iter()
            .filter(|change| change.row.change.new.is_none());
        Ok(removed.map(|change| change.row.change.path).collect())
    }

    /// Returns those of some folders at which, or below which, something came from one snapshot to another.
    pub(crate) fn came(
        &self,
        start: &Snapshot,
        finish: &Snapshot,
        folders: &Folders,
    ) -> Result<Folders> {
        let mut came = Folders::new();
        let mut seen = BTreeSet::new();
        for path in self.snapshots.came(start, finish)? {
            let mut above = Some(path);
            while let Some(path) = above.filter(|path| !seen.contains(path)) {
                if let Some(entry) = folders.get(&path) {
                    came.insert(path.clone(), *entry);
                }
                above = path.parent();
                seen.insert(path);
            }
        }
        Ok(came)
    }

    /// Returns the step that created a folder, as far as the file system knows when that was.
    pub(crate) fn creator<'s>(
        &self,
        spans: &StepSpans<'s>,
        path: &WorkspacePath,
    ) -> Result<Option<&'s StepSides>> {
        let created = times::created_at(&self.on_disk(path)).map(self.file_times);
        let is_past = |at: &Milliseconds| *at <= self.now.saturating_add(evidence::TICK);
        let Some(created) = created.filter(is_past) else {
            return Ok(None);
        };
        // A file's time is no later than the change, so what a step made was made before it ended.
        let (those, verdict) = self.judge(spans.at(created, 0), path, created)?;
        let creator = match verdict {
            Verdict::Agent(at) => those.get(at).copied(),
            Verdict::Shared(_) | Verdict::Unclear(..) | Verdict::Outside => None,
        };
        let Some(creator) = creator else {
            return Ok(None);
        };
        // The snapshot before the step may be older than the step.
        let step = sessions::step_with_tools(self.connection, &creator.step_id)?;
        let has_begun = step.is_some_and(|step| step.started_at <= created);
        Ok(has_begun.then_some(creator))
    }

    /// Finds folders that ignore rules hide, in which there is nothing, and that a step created while no other session
    /// was at work. No snapshot shows them.
    fn hidden_folders(
        &self,
        spans: &StepSpans<'_>,
        history: &SeenHistory,
        first: &BTreeMap<&WorkspacePath, &Item>,
    ) -> Result<Vec<LiveChange>> {
        let mut changes = Vec::new();
        for (path, step) in history.came_by_path() {
            let Ok(path) = WorkspacePath::new(path) else {
                continue;
            };
            let on_disk = self.on_disk(&path);
            let mode = match on_disk.symlink_metadata() {
                Ok(found) if found.is_dir() => Mode::directory(found.permissions().mode()),
                _ => continue,
            };
            if !presence::is_empty_directory(&on_disk) || first.contains_key(&path) {
                continue;
            }
            let span = &spans.all[step];
            let start = sessions::snapshot(self.connection, span.start)?.snapshot;
            let then = self.snapshots.states(&start, std::slice::from_ref(&path))?;
            // One that was as empty before came only out of view.
            if then.iter().any(Option::is_some) {
                continue;
            }
            if !sessions::is_another_at_work(self.connection, self.place.row.id, span)? {
                let entry = Entry::stored(mode, ObjectId::EMPTY_TREE);
                changes.extend(self.change(span, path, None, Some(entry), None));
            }
        }
        Ok(changes)
    }

    /// Returns the first step that a revert took back with a folder.
    fn known_creator<'s>(
        &self,
        spans: &StepSpans<'s>,
        path: &WorkspacePath,
    ) -> Result<Option<&'s StepSides>> {
        let to = sessions::taken_away_to(self.connection, self.place.row.id, path)?;
        Ok(to.and_then(|seq| spans.first_since(seq)))
    }

    /// Finds the hidden folders that reverts of the chain took away, and of which nothing else says so.
    fn hidden_folders_taken(
        &self,
        spans: &StepSpans<'_>,
        history: &SeenHistory,
        first: &BTreeMap<&WorkspacePath, &Item>,
        found: &[LiveChange],
    ) -> Result<Vec<LiveChange>> {
        let came = history.came_by_path();
        let told = self.live.iter().chain(found);
        let told: BTreeSet<&WorkspacePath> = told.map(|change| &change.row.change.path).collect();
        let mut changes = Vec::new();
        for (path, item) in first {
            let folder = item.expected.filter(Entry::is_empty_directory);
            if item.target.is_some() || told.contains(path) {
                continue;
            }
            let Some(folder) = folder else { continue };
            let span = match came.get(path.as_bytes()) {
                Some(step) => Some(&spans.all[*step]),
                None => self.known_creator(spans, path)?,
            };
            if let Some(span) = span {
                changes.extend(self.change(span, (*path).clone(), None, Some(folder), None));
            }
        }
        Ok(changes)
    }

    fn on_disk(&self, path: &WorkspacePath) -> PathBuf {
        path.on_disk(&self.place.root)
    }

    /// Returns the snapshots around a step. An open step ends with the present state.
    pub(crate) fn sides(&self, span: &StepSides) -> Result<Option<(Snapshot, Snapshot)>> {
        let start = sessions::snapshot(self.connection, span.start)?.snapshot;
        let finish = match span.finish {
            Some(finish) => sessions::snapshot(self.connection, finish)?.snapshot,
            None => self.seen.snapshot,
        };
        Ok((start != finish).then_some((start, finish)))
    }

    /// Returns a change as the step's, if it is to be undone.
    pub(crate) fn change(
        &self,
        span: &StepSides,
        path: WorkspacePath,
        old: State,
        new: State,
        doubt: Option<Doubt>,
    ) -> Option<LiveChange> {
        let change = LiveChange {
            row: ChangeRow {
                id: None,
                step_id: Some(span.step_id.clone()),
                attribution: match doubt {
                    Some(_) => Attribution::Unclear,
                    None => Attribution::Agent,
                },
                reason: doubt.map(|doubt| doubt.to_string()),
                from_snapshot_id: Some(span.start),
                to_snapshot_id: span.finish,
                change: Change { path, old, new },
                lines: None,
            },
            session_id: span.session_id.clone(),
            message_id: span.message_id.clone(),
            message_seq: span.message_seq,
            agent: self.session.1.to_owned(),
        };
        let is_asked_for = is_covered(self.scopes, &change);
        is_asked_for.then_some(change)
    }
}
