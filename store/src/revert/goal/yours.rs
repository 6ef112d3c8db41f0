//! What the user changed since a state. A restore to that state keeps it, unless the user names the very file or says
//! that theirs go as well; then it is marked as theirs. This module does IO; it reads.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::states::PathStates;
use crate::error::Result;
use crate::model::attribution::Attribution;
use crate::model::path::WorkspacePath;
use crate::revert::request::authors::Authors;
use crate::revert::request::history::{Author, Reason};
use crate::sessions::{self, ChangeRow};
use crate::timeline::Observation;

/// The user's files, with why they count as theirs.
pub(crate) type Yours = BTreeMap<WorkspacePath, Reason>;

/// Returns the user's changes since a snapshot, certain or possible, that a state would replace or remove.
pub(crate) fn since(
    connection: &Connection,
    (workspace, since): (i64, i64),
    seen: &Observation,
    (wanted, current): (&PathStates, &PathStates),
) -> Result<Yours> {
    let now = |path: &WorkspacePath| current.get(path).copied().flatten();
    let is_going = |path: &WorkspacePath, wanted| now(path).is_some() && now(path) != wanted;
    if !wanted.iter().any(|(path, state)| is_going(path, *state)) {
        return Ok(Yours::new());
    }
    let put = sessions::put_since(connection, workspace, since)?;
    // What an operation set to the very state that is wanted now is gone from the file already.
    let is_over = |row: &ChangeRow, wanted| {
        let later = put.get(&row.change.path).into_iter().flatten();
        let mut later = later.filter(|(_, target)| *target == wanted);
        let seen_in = row.to_snapshot_id;
        seen_in.is_some_and(|seen_in| later.any(|(before, _)| *before >= seen_in))
    };
    let replaced: BTreeSet<i64> = seen.replaced.iter().copied().collect();
    let written = sessions::changes_since(connection, workspace, since, None)?;
    let written = written.into_iter().map(|since| since.change.row);
    let written = written.filter(|row| row.id.is_none_or(|id| !replaced.contains(&id)));
    let mut authors = Authors::new(connection, workspace);
    let mut yours = Yours::new();
    for row in seen.changes.iter().cloned().chain(written) {
        let path = &row.change.path;
        let Some(wanted) = wanted.get(path).copied() else {
            continue;
        };
        if !is_going(path, wanted) || is_over(&row, wanted) {
            continue;
        }
        let author = match (&row.step_id, row.attribution) {
            (None, _) => authors.of_nobody(&row)?,
            (Some(_), Attribution::Unclear) => Author::Unrecorded,
            (Some(_), _) => continue,
        };
        // What is certainly the user's comes before what may be.
        let known = yours
            .entry(row.change.path)
            .or_insert(Reason::Yours(author.clone()));
        if author == Author::User {
            *known = Reason::Yours(author);
        }
    }
    Ok(yours)
}
