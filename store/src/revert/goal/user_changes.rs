//! What the user changed since a state. A restore to that state keeps it, unless the user names the very file or says
//! that theirs go as well; then it is marked as theirs. This module does IO; it reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::Connection;

use super::states::PathStates;
use crate::error::Result;
use crate::model::attribution::Attribution;
use crate::model::entry::{Change, EntryKind, State, is_unstored};
use crate::model::path::WorkspacePath;
use crate::revert::request::authors::Authors;
use crate::revert::request::history::{Author, Reason};
use crate::sessions::{self, ChangeRow, Put};
use crate::timeline::Look;

/// The user's files, with why they count as theirs.
pub(crate) type Yours = BTreeMap<WorkspacePath, Reason>;

/// Returns the files with the user's changes since a snapshot, certain or possible, that a state would replace or remove.
pub(crate) fn since(
    connection: &Connection,
    (workspace, since): (i64, i64),
    seen: &Look,
    (wanted, current): (&PathStates, &PathStates),
) -> Result<Yours> {
    let now = |path: &WorkspacePath| current.get(path).copied().flatten();
    let is_going =
        |(path, state): &(&WorkspacePath, &State)| now(path).is_some() && now(path) != **state;
    let going = wanted.iter().filter(is_going);
    let mut going: BTreeMap<_, _> = going
        .map(|(path, state)| (path, Owners::of(*state, since)))
        .collect();
    if going.is_empty() {
        return Ok(Yours::new());
    }
    let replaced: BTreeSet<i64> = seen.replaced.iter().copied().collect();
    let written = sessions::rows_since(connection, workspace, since)?;
    let written = written
        .into_iter()
        .filter(|row| row.id.is_none_or(|id| !replaced.contains(&id)));
    let mut events = Vec::new();
    let mut authors = Authors::new(connection, workspace);
    for row in written.chain(seen.changes.iter().cloned()) {
        if going.contains_key(&row.change.path) {
            events.push(PathEvent::of_row(row, &mut authors)?);
        }
    }
    let put = sessions::put_since(connection, workspace, since)?;
    events.extend(put.into_iter().map(PathEvent::of_operation));
    // An operation comes after what the snapshot before it shows.
    events.sort_by_key(|event| event.until);
    for event in events {
        if let Some(owners) = going.get_mut(&event.change.path) {
            owners.take(&event);
        }
    }
    let yours = going.into_iter().filter_map(|(path, owners)| {
        let author = owners.of_state(now(path))?;
        Some((path.clone(), Reason::Yours(author)))
    });
    Ok(yours.collect())
}

/// A change of a path, by anyone.
struct PathEvent {
    /// The snapshots between which it was made.
    from: Option<i64>,
    until: PathMoment,
    change: Change,
    by: By,
}

/// A snapshot, and whether it is after the operation that began there.
type PathMoment = (i64, bool);

enum By {
    Agent,
    /// The user, or perhaps the user.
    Other(Author),
    Operation,
}

impl PathEvent {
    fn of_row(row: ChangeRow, authors: &mut Authors<'_>) -> Result<Self> {
        let by = match (&row.step_id, row.attribution) {
            (None, _) => By::Other(authors.of_no_step(&row)?),
            (Some(_), Attribution::Unclear) => By::Other(Author::Unrecorded),
            (Some(_), _) => By::Agent,
        };
        Ok(Self {
            from: row.from_snapshot_id,
            until: (row.to_snapshot_id.unwrap_or(i64::MAX), false),
            change: row.change,
            by,
        })
    }

    fn of_operation(put: Put) -> Self {
        Self {
            from: Some(put.before),
            until: (put.before, true),
            change: put.change,
            by: By::Operation,
        }
    }
}

/// Whose each state of a path is. What no event explains may be the user's: they may have written it while rules hid the
/// file.
struct Owners {
    wanted: State,
    /// `None` for a state that holds nothing of the user's.
    by_state: HashMap<State, Option<Author>>,
    newest: Option<Author>,
    until: PathMoment,
}

impl Owners {
    fn of(wanted: State, since: i64) -> Self {
        Self {
            wanted,
            by_state: HashMap::from([(wanted, None)]),
            newest: None,
            until: (since, false),
        }
    }

    fn of_state(&self, state: State) -> Option<Author> {
        // The same content is needed to tell, and a directory comes and goes with what is in it.
        let is_directory =
            |state: State| state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory);
        match self.by_state.get(&state) {
            _ if is_unstored(state) => self.newest.clone(),
            Some(owner) => owner.clone(),
            None if is_directory(state) => self.newest.clone(),
            None => Some(Author::Unrecorded),
        }
    }

    fn take(&mut self, event: &PathEvent) {
        let Change { old, new, .. } = event.change;
        // What began before the last event does not show what that one left.
        let is_next = event.from.is_some_and(|from| (from, false) >= self.until);
        let is_operation = matches!(event.by, By::Operation);
        let before = match is_next || is_operation {
            true => self.of_state(old),
            false => self.newest.clone(),
        };
        self.by_state.entry(old).or_insert_with(|| before.clone());
        let known = self.by_state.get(&new).filter(|_| !is_unstored(new));
        let after = match (&event.by, known) {
            _ if new == self.wanted => None,
            // What an operation puts back is still whose it was.
            (By::Operation, Some(owner)) => owner.clone(),
            (By::Operation | By::Agent, _) => before,
            // What differs from bytes that are not stored, or were forgotten, need not be a change.
            (By::Other(_), _) if is_unstored(old) => before.or(Some(Author::Unrecorded)),
            (By::Other(Author::User), _) => Some(Author::User),
            (By::Other(author), _) => before.or_else(|| Some(author.clone())),
        };
        self.by_state.insert(new, after.clone());
        self.newest = after;
        self.until = event.until;
    }
}
