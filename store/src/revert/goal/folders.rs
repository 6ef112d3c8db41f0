//! Folders that come, go and become something else. While something is in a folder, it is no entry of a snapshot, so rows of
//! its path do not say everything. Here, a folder is one whatever is in it. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};

use super::search::UnseenSearch;
use super::spans::StepSpans;
use super::states::PathStates;
use crate::error::Result;
use crate::model::entry::{Change, Entry};
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, LiveChange};
use crate::snapshot::{Presence, Snapshot, Snapshots};

/// Folders, each as an empty one.
pub(crate) type Folders = BTreeMap<WorkspacePath, Entry>;

/// Returns the states of some paths in a snapshot. A folder is one whatever is in it.
pub(crate) fn standing(
    snapshots: &Snapshots,
    snapshot: &Snapshot,
    folders: &Folders,
) -> Result<PathStates> {
    let paths: Vec<WorkspacePath> = folders.keys().cloned().collect();
    let states = snapshots.states(snapshot, &paths)?;
    let are_folders = snapshots.are_directories(snapshot, &paths)?;
    let states = states.into_iter().zip(are_folders).zip(folders);
    let states = states.map(|((state, is_folder), (path, folder))| {
        (path.clone(), state.or(is_folder.then_some(*folder)))
    });
    Ok(states.collect())
}

impl UnseenSearch<'_> {
    /// Returns the paths that were an empty folder at one of the moments in question, each with that entry.
    pub(crate) fn folders(
        &self,
        first: &BTreeMap<&WorkspacePath, &Item>,
        reference: Option<i64>,
    ) -> Result<Folders> {
        let mut empty = self.snapshots.empty_directories(&self.seen.snapshot)?;
        for id in [self.base, reference].into_iter().flatten() {
            let snapshot = sessions::snapshot(self.connection, id)?.snapshot;
            empty.extend(self.snapshots.empty_directories(&snapshot)?);
        }
        let rows = self.live.iter().map(|change| &change.row.change);
        let rows = rows.flat_map(|change| [(&change.path, change.old), (&change.path, change.new)]);
        let items = first.iter();
        let items = items.flat_map(|(path, item)| [(*path, item.expected), (*path, item.goal)]);
        let found = rows.chain(items).filter_map(|(path, state)| {
            let entry = state.filter(Entry::is_empty_directory)?;
            Some((path.clone(), entry))
        });
        Ok(empty.into_iter().chain(found).collect())
    }

    /// Returns the changes of steps to the paths of folders. An empty folder that is filled is the same folder, but not an
    /// entry any more, so rows of its path say less.
    pub(crate) fn folders_changed(
        &self,
        folders: &Folders,
        spans: &StepSpans<'_>,
        first: &BTreeMap<&WorkspacePath, &Item>,
    ) -> Result<Vec<LiveChange>> {
        let mut rows: BTreeMap<&WorkspacePath, Vec<&LiveChange>> = BTreeMap::new();
        for change in self.live {
            let of_path = rows.entry(&change.row.change.path).or_default();
            of_path.push(change);
        }
        let mut touched: BTreeMap<&str, Vec<(&WorkspacePath, &LiveChange)>> = BTreeMap::new();
        for path in folders.keys() {
            let below = rows.range(path.first_below()..);
            let below = below.take_while(|(row, _)| row.is_below(path));
            let all = rows
                .get(path)
                .into_iter()
                .chain(below.map(|(_, rows)| rows));
            for row in all.flatten() {
                let of_step = touched.entry(row.row.step_id.as_deref().unwrap_or_default());
                let of_step = of_step.or_default();
                if of_step.last().is_none_or(|(last, _)| *last != path) {
                    of_step.push((path, row));
                }
            }
        }
        let mut changes = Vec::new();
        // Newest first, like rows.
        for span in spans.all.iter().rev() {
            let Some(touched) = touched.get(span.step_id.as_str()) else {
                continue;
            };
            let Some((start, finish)) = self.sides(span)? else {
                continue;
            };
            let asked = touched.iter();
            let asked: Folders = asked
                .map(|(path, _)| ((*path).clone(), folders[*path]))
                .collect();
            let before = standing(self.snapshots, &start, &asked)?;
            let after = standing(self.snapshots, &finish, &asked)?;
            let hidden = self.hidden_before(&before, &start, spans, first)?;
            for (path, row) in touched {
                let (old, new) = (before[*path], after[*path]);
                if old != new && !hidden.contains(*path) {
                    let mut change = (*row).clone();
                    change.row.change = Change {
                        path: (*path).clone(),
                        old,
                        new,
                    };
                    changes.push(change);
                }
            }
        }
        Ok(changes)
    }

    /// Finds the folders that did not exist before and that a step made although nothing that it left there has a row, as
    /// when ignore rules hide all of it.
    pub(crate) fn folders_made(
        &self,
        folders: &Folders,
        told: &[LiveChange],
        spans: &StepSpans<'_>,
        first: &BTreeMap<&WorkspacePath, &Item>,
        reference: Option<i64>,
    ) -> Result<Vec<LiveChange>> {
        let Some(reference) = reference else {
            return Ok(Vec::new());
        };
        let reference = sessions::snapshot(self.connection, reference)?.snapshot;
        let before = standing(self.snapshots, &reference, folders)?;
        let mut open = folders.clone();
        open.retain(|path, _| before[path].is_none());
        for change in told
            .iter()
            .chain(self.live)
            .map(|change| &change.row.change)
        {
            open.remove(&change.path);
        }
        let mut changes = Vec::new();
        for span in spans.all {
            if open.is_empty() {
                break;
            }
            let Some((start, finish)) = self.sides(span)? else {
                continue;
            };
            // Only what differs is looked at: the folders of a long history times its steps are too many.
            let came = self.came(&start, &finish, &open)?;
            let before = standing(self.snapshots, &start, &came)?;
            let hidden = self.hidden_before(&before, &start, spans, first)?;
            for (path, after) in standing(self.snapshots, &finish, &came)? {
                if before[&path].is_none() && after.is_some() && !hidden.contains(&path) {
                    open.remove(&path);
                    changes.extend(self.change(span, path, None, after, None));
                }
            }
        }
        Ok(changes)
    }

    /// Returns the folders that were only seen when a step began, or may have been there. A folder that a step created, or
    /// that an earlier revert took for its own, was only out of view.
    fn hidden_before(
        &self,
        before: &PathStates,
        start: &Snapshot,
        spans: &StepSpans<'_>,
        first: &BTreeMap<&WorkspacePath, &Item>,
    ) -> Result<BTreeSet<WorkspacePath>> {
        let absent = before.iter().filter(|(_, state)| state.is_none());
        let absent: Vec<WorkspacePath> = absent.map(|(path, _)| path.clone()).collect();
        let presences = self.snapshots.presences(start, &absent)?;
        let mut hidden = BTreeSet::new();
        for (path, presence) in absent.into_iter().zip(presences) {
            let was_taken = first.get(&path).is_some_and(|item| item.target.is_none());
            let is_known =
                presence == Presence::Absent || was_taken || self.creator(spans, &path)?.is_some();
            if !is_known {
                hidden.insert(path);
            }
        }
        Ok(hidden)
    }
}
