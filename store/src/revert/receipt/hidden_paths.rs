//! Compares with the disk what ignore rules, or the metadata around it, keep out of one of the two states. This module
//! does IO, but only reads.

use std::collections::BTreeMap;

use ckpt_schema::report::{Difference, DifferenceDetail, DifferenceReason};

use super::ReceiptComparison;
use super::facts::PathHistory;
use crate::error::Result;
use crate::model::entry::{Entry, EntryKind, State};
use crate::model::path::WorkspacePath;
use crate::snapshot::Presence;

impl ReceiptComparison<'_> {
    /// Says of paths out of view that they are not as they were, where that is known: the state that the operation went
    /// to holds the path, or rules showed it there, or a later change says what it was.
    pub(super) fn compared_on_disk(
        &self,
        paths: &[WorkspacePath],
        since: &BTreeMap<WorkspacePath, PathHistory>,
        mut differences: Vec<Difference>,
    ) -> Result<Vec<Difference>> {
        // What was forgotten, or was the operation's, says so in other words.
        let is_hidden = |(path, difference): &(&WorkspacePath, &mut Difference)| {
            let is_captured = self.items.contains_key(path) || difference.detail.is_some();
            match difference.reason {
                DifferenceReason::Ignored => true,
                DifferenceReason::NotCaptured => !is_captured,
                _ => false,
            }
        };
        let all = paths.iter().zip(&mut differences);
        let (hidden, said): (Vec<_>, Vec<_>) = all.filter(is_hidden).unzip();
        let hidden: Vec<WorkspacePath> = hidden.into_iter().cloned().collect();
        if hidden.is_empty() {
            return Ok(differences);
        }
        let now = self.now(&hidden)?;
        let then = self.known_then(&hidden, since)?;
        let states = then.into_iter().zip(now);
        for (difference, states) in said.into_iter().zip(states) {
            if let (Some(then), Some(now)) = states
                && (then.is_none_or(|then| then.is_stored()) || is_folder(then))
                && !is_same(then, now)
            {
                difference.detail = Some(DifferenceDetail::Different);
                difference.words = difference.phrase();
            }
        }
        Ok(differences)
    }

    /// Returns the former states of paths, as far as they are known.
    fn known_then(
        &self,
        paths: &[WorkspacePath],
        since: &BTreeMap<WorkspacePath, PathHistory>,
    ) -> Result<Vec<Option<State>>> {
        let states = self.snapshots.states(&self.then, paths)?;
        let are_folders = self.snapshots.are_directories(&self.then, paths)?;
        let presences = self.snapshots.presences(&self.then, paths)?;
        let all = paths.iter().zip(states);
        let all = all.zip(are_folders.into_iter().zip(presences));
        let known = all.map(|((path, state), (was_folder, presence))| match state {
            Some(_) => Some(state),
            None if was_folder => Some(Some(Entry::directory(0o755))),
            None if presence == Presence::Absent => Some(None),
            None => since.get(path).and_then(|past| past.first),
        });
        Ok(known.collect())
    }

    /// Returns the present or planned states of paths, as far as they can be read.
    fn now(&self, paths: &[WorkspacePath]) -> Result<Vec<Option<State>>> {
        let on_disk = self.snapshots.store_paths(&self.place.root, paths)?;
        let states = paths.iter().zip(on_disk);
        let now = states.map(|(path, on_disk)| {
            let planned = self.items.get(path).filter(|item| item.is_planned());
            planned.map(|item| item.target).or_else(|| on_disk.ok())
        });
        Ok(now.collect())
    }
}

fn is_folder(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory)
}

/// Returns whether two states are the same. A folder is the same whatever is in it.
fn is_same(then: State, now: State) -> bool {
    then == now || is_folder(then) && is_folder(now)
}
