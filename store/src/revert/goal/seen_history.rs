//! What steps did to paths that no snapshot stores: what came, what went, and where no look could reach. The snapshots
//! around each step say so; nothing of it is put back or removed. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use rusqlite::Connection;

use crate::error::Result;
use crate::model::entry::{Entry, EntryKind, ObjectId};
use crate::model::gap::{Gap, GapReason};
use crate::model::path::{WorkspacePath, parent};
use crate::revert::request::scope::RevertScope;
use crate::sessions::{self, MessageSpan, StepSides};
use crate::snapshot::{Presence, Snapshot, Snapshots};
use crate::timeline::Look;

/// What a step did to a path that no snapshot stores.
#[derive(Clone, Debug)]
pub(crate) struct SeenChange {
    pub entry: Gap,
    /// The number of the step, of those that were looked at.
    pub step: usize,
    /// The message of the step.
    message_seq: i64,
    step_id: Rc<str>,
}

/// What steps did to paths that no snapshot stores, in the order of the steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenHistory {
    pub came: Vec<SeenChange>,
    pub went: Vec<SeenChange>,
    /// What could not be read before a step, after it, or both, so that the step may have changed what is below it.
    pub unread: Vec<SeenChange>,
}

impl SeenHistory {
    /// Compares the snapshots around steps. The last one of an open step is the present.
    pub fn of(
        connection: &Connection,
        snapshots: &Snapshots,
        now: &Look,
        steps: &[StepSides],
    ) -> Result<Self> {
        let mut search = HistorySearch {
            connection,
            snapshots,
            now,
            lists: HashMap::new(),
            history: Self::default(),
        };
        let entries = search.list(now.snapshot.seen)?;
        let unread = entries.iter().filter(|entry| is_unread(entry));
        let unread: HashSet<&[u8]> = unread.map(|entry| &entry.path[..]).collect();
        for (number, step) in steps.iter().enumerate() {
            search.look(number, step, &unread)?;
        }
        Ok(search.history)
    }

    /// Returns the history of the messages and single steps that scopes ask to undo.
    pub fn within(&self, scopes: &[RevertScope]) -> Self {
        let messages = messages_of(scopes);
        let is_asked = |change: &&SeenChange| {
            let seq = change.message_seq;
            let mut spans = messages.iter();
            let is_step = |scope: &RevertScope| matches!(scope, RevertScope::Step { id, .. } if **id == *change.step_id);
            spans.any(|span| span.first <= seq && span.last.is_none_or(|last| seq <= last))
                || scopes.iter().any(is_step)
        };
        let asked = |all: &[SeenChange]| all.iter().filter(is_asked).cloned().collect();
        Self {
            came: asked(&self.came),
            went: asked(&self.went),
            unread: asked(&self.unread),
        }
    }

    /// Returns the entries that came and are not stored, by path, each with the number of the first step that began without it.
    pub fn came_by_path(&self) -> BTreeMap<&[u8], usize> {
        let newest_first = self.came.iter().rev();
        newest_first
            .map(|change| (&change.entry.path[..], change.step))
            .collect()
    }

    /// Returns the paths that went.
    pub fn gone(&self) -> BTreeSet<&[u8]> {
        let went = self.went.iter();
        went.map(|change| &change.entry.path[..]).collect()
    }

    /// Returns the unreadable entries, by path.
    pub fn unread(&self) -> Vec<Gap> {
        let unread = self.unread.iter();
        let by_path = unread.map(|change| (&change.entry.path, &change.entry));
        let by_path: BTreeMap<_, _> = by_path.collect();
        by_path.into_values().cloned().collect()
    }
}

struct HistorySearch<'a> {
    connection: &'a Connection,
    snapshots: &'a Snapshots,
    now: &'a Look,
    /// Most snapshots have the list of the one before.
    lists: HashMap<Option<ObjectId>, Rc<Vec<Gap>>>,
    history: SeenHistory,
}

impl HistorySearch<'_> {
    fn list(&mut self, id: Option<ObjectId>) -> Result<Rc<Vec<Gap>>> {
        if let Some(list) = self.lists.get(&id) {
            return Ok(Rc::clone(list));
        }
        let list = Rc::new(self.snapshots.seen(id)?);
        self.lists.insert(id, Rc::clone(&list));
        Ok(list)
    }

    /// Compares the snapshots around a step. `unread_now` is what cannot be read at present.
    fn look(&mut self, number: usize, step: &StepSides, unread_now: &HashSet<&[u8]>) -> Result<()> {
        let (start, finish) = step.seen;
        let finish = if step.finish.is_some() {
            finish
        } else {
            self.now.snapshot.seen
        };
        let (before, after) = (self.list(start)?, self.list(finish)?);
        let step_id: Rc<str> = Rc::from(&step.step_id[..]);
        let change = |entry: &Gap| SeenChange {
            entry: entry.clone(),
            step: number,
            message_seq: step.message_seq,
            step_id: Rc::clone(&step_id),
        };
        if start == finish {
            // If it could be read on neither side but can be now, the agent may have changed it. What still cannot be
            // read is reported as a gap of the present.
            let unread = before.iter().filter(|entry| is_unread(entry));
            let unread = unread.filter(|entry| !unread_now.contains(&entry.path[..]));
            self.history.unread.extend(unread.map(change));
            return Ok(());
        }
        let paths = |list: &[Gap]| -> HashSet<Vec<u8>> {
            list.iter().map(|entry| entry.path.clone()).collect()
        };
        let (paths_before, paths_after) = (paths(&before), paths(&after));
        for entry in before
            .iter()
            .chain(&*after)
            .filter(|entry| is_unread(entry))
        {
            let path = &entry.path;
            let is_on_both = paths_before.contains(path) && paths_after.contains(path);
            if !is_on_both || !unread_now.contains(&path[..]) {
                self.history.unread.push(change(entry));
            }
        }
        let is_new = |entry: &&Gap| is_name(entry) && !paths_before.contains(&entry.path);
        let is_gone = |entry: &&Gap| is_name(entry) && !paths_after.contains(&entry.path);
        let came: Vec<&Gap> = after.iter().filter(is_new).collect();
        let went: Vec<&Gap> = before.iter().filter(is_gone).collect();
        if !came.is_empty() {
            let start = self.snapshot(Some(step.start))?;
            let came = self.absent(&start, came, false)?;
            self.history.came.extend(came.into_iter().map(change));
        }
        if !went.is_empty() {
            let finish = self.snapshot(step.finish)?;
            // What is in a folder that rules hide whole by now may have gone then, or later.
            let went = self.absent(&finish, went, true)?;
            self.history.went.extend(went.into_iter().map(change));
        }
        Ok(())
    }

    fn snapshot(&self, id: Option<i64>) -> Result<Snapshot> {
        match id {
            Some(id) => Ok(sessions::snapshot(self.connection, id)?.snapshot),
            None => Ok(self.now.snapshot),
        }
    }

    /// Returns the entries that a snapshot shows to have been absent, and if that is asked for, those of which it tells
    /// nothing.
    fn absent<'g>(
        &self,
        snapshot: &Snapshot,
        entries: Vec<&'g Gap>,
        or_unknown: bool,
    ) -> Result<Vec<&'g Gap>> {
        // Of a name that is reserved, or a repository's, the directory that it is in says whether it was looked at.
        let asked = entries.iter().map(|entry| {
            let own = WorkspacePath::new(&entry.path[..]);
            let own = own.ok().filter(|_| entry.reason != GapReason::Repository);
            own.map(|path| (path, true)).or_else(|| {
                let directory = parent(&entry.path).unwrap_or_default();
                Some((WorkspacePath::new(directory).ok()?, false))
            })
        });
        let asked: Vec<Option<(WorkspacePath, bool)>> = asked.collect();
        let paths: Vec<WorkspacePath> = asked
            .iter()
            .flatten()
            .map(|(path, _)| path.clone())
            .collect();
        let mut presences = self.snapshots.presences(snapshot, &paths)?.into_iter();
        let mut absent = Vec::new();
        for (entry, asked) in entries.into_iter().zip(asked) {
            let presence = asked.as_ref().and_then(|_| presences.next());
            let is_absent = match (asked, presence) {
                // Nothing is stored of a pipe: a file in its place is another thing. So is one in a folder's, and a folder
                // in a file's. A folder is an entry only where nothing is left in it.
                (Some((path, true)), Some(Presence::Stored)) => {
                    let stored = self.snapshots.states(snapshot, &[path])?;
                    let stored = stored.first().copied().flatten();
                    let is_file = |entry: Entry| entry.mode.kind() != EntryKind::Directory;
                    matches!(entry.reason, GapReason::Special(_))
                        || entry.reason == GapReason::Ignored
                            && match entry.is_directory {
                                true => stored.is_some(),
                                false => !stored.is_some_and(is_file),
                            }
                }
                (Some(_), Some(Presence::Unknown)) => or_unknown,
                (Some((_, is_own)), Some(presence)) => {
                    presence == Presence::Absent || !is_own && presence == Presence::Stored
                }
                // It is in the workspace itself.
                (None, _) | (_, None) => true,
            };
            if is_absent {
                absent.push(entry);
            }
        }
        Ok(absent)
    }
}

/// Returns whether an entry is something of which only the name, or the kind, is known.
pub(crate) fn is_name(entry: &Gap) -> bool {
    matches!(
        entry.reason,
        GapReason::Ignored
            | GapReason::Metadata
            | GapReason::Repository
            | GapReason::Special(_)
            | GapReason::ReservedName
    )
}

/// Returns whether an entry is a directory that could not be read: it has no size. Neither does a file that could not
/// even be looked at, but nothing more is known about that.
fn is_unread(entry: &Gap) -> bool {
    entry.size.is_none() && matches!(entry.reason, GapReason::Unreadable(_) | GapReason::Mount)
}

/// Returns the messages, by `seq`, that scopes ask to undo: all from the first on, and each single one before it. A
/// single step is not a message.
pub(crate) fn messages_of(scopes: &[RevertScope]) -> Vec<MessageSpan> {
    let seqs = |of: fn(&RevertScope) -> Option<i64>| scopes.iter().filter_map(of);
    let first = seqs(|scope| match scope {
        RevertScope::From { seq, .. } => Some(*seq),
        RevertScope::Message { .. } | RevertScope::Step { .. } => None,
    })
    .min();
    let alone: BTreeSet<i64> = seqs(|scope| match scope {
        RevertScope::Message { seq, .. } => Some(*seq),
        RevertScope::From { .. } | RevertScope::Step { .. } => None,
    })
    .filter(|seq| first.is_none_or(|first| *seq < first))
    .collect();
    let alone = alone.into_iter().map(MessageSpan::only);
    alone.chain(first.map(MessageSpan::from)).collect()
}
