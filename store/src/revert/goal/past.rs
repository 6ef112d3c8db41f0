//! What happened to the paths of a movement, according to rows and the look at the workspace.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::bases::Sightings;
use crate::error::Result;
use crate::model::entry::Change;
use crate::model::path::WorkspacePath;
use crate::revert::request::authors::Authors;
use crate::revert::request::history::{Author, Claim, PastChange};
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::RevertScope;
use crate::revert::request::scope::{Coverage, UndoScope, is_covered};
use crate::sessions::{self, ChainOperation, ChangeRow, LiveChange};
use crate::timeline::{Look, Place};

/// Returns the changes of the session's messages since the first one that any of the reverts is about, newest first.
/// Those that only the present look saw come before all rows.
pub(super) fn live_changes(
    connection: &Connection,
    movement: &Movement,
    chain: &[ChainOperation],
    seen: &Look,
) -> Result<Vec<LiveChange>> {
    let mut live: Vec<LiveChange> = Vec::new();
    for row in seen.changes.iter().rev() {
        // The step may have ended already, while a command of it went on in the background.
        let step = match row.step_id.as_deref() {
            Some(id) => sessions::step(connection, id)?,
            None => None,
        };
        let Some(step) = step else { continue };
        if let Some(message) = sessions::message(connection, &step.message_id)?
            && message.session_id == movement.session.id
        {
            live.push(LiveChange {
                row: ChangeRow {
                    id: None,
                    ..row.clone()
                },
                session_id: step.session_id,
                message_id: message.id,
                message_seq: message.seq,
                agent: movement.session.agent.clone(),
            });
        }
    }
    let first = movement.first_seq(connection, chain)?;
    let rows = match first {
        Some(first) => sessions::live_changes(connection, &movement.session.id, first)?,
        None => Vec::new(),
    };
    live.extend(
        rows.into_iter()
            // The look joined these rows with what it saw, and is not written yet: counted twice, they would be
            // undone twice.
            .filter(|change| !change.row.id.is_some_and(|id| seen.replaced.contains(&id))),
    );
    Ok(live)
}

/// Returns the paths that a movement moves: those with a change to undo, and those that the chain has moved.
pub(super) fn paths_in_question(
    movement: &Movement,
    chain: &[ChainOperation],
    live: &[LiveChange],
    scopes: &[RevertScope],
) -> BTreeSet<WorkspacePath> {
    let undone = live.iter().filter(|change| is_covered(scopes, change));
    let mut paths: BTreeSet<WorkspacePath> = undone
        .map(|change| change.row.change.path.clone())
        .collect();
    paths.extend(
        chain
            .iter()
            .flat_map(|operation| &operation.items)
            .map(|item| item.path.clone()),
    );
    movement.moved(live, &mut paths);
    paths
}

/// Returns the session's own changes of the paths, with whether they are undone, and everybody else's since, to say who
/// made them.
pub(super) fn past_changes(
    connection: &Connection,
    place: &Place,
    movement: &Movement,
    seen: &Look,
    live: &[LiveChange],
    asked: UndoScope<'_>,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<Vec<PastChange>> {
    let mut authors = Authors::new(connection, place.row.id).beside(&movement.session);
    let mut changes = Vec::new();
    for change in live
        .iter()
        .filter(|change| paths.contains(&change.row.change.path))
    {
        let past = PastChange {
            change: change.row.change.clone(),
            author: authors.of(change)?,
            claim: claim(connection, &authors, change, asked)?,
        };
        changes.push((change.row.id, past));
    }
    let others = match changes.iter().filter_map(|(id, _)| *id).min() {
        Some(oldest) => {
            sessions::changes_of_others(connection, place.row.id, &movement.session.id, oldest)?
        }
        None => Vec::new(),
    };
    for other in others
        .into_iter()
        .filter(|other| paths.contains(&other.row.change.path))
    {
        let author = authors.of(&other)?;
        changes.push((other.row.id, kept(other.row.change, author)));
    }
    for row in seen
        .changes
        .iter()
        .filter(|row| row.step_id.is_none() && paths.contains(&row.change.path))
    {
        let author = authors.of_no_step(row)?;
        changes.push((None, kept(row.change.clone(), author)));
    }
    // Newest first: what only the present look saw has no row yet, and is newer than all rows.
    changes.sort_by_key(|(id, _)| (id.is_some(), std::cmp::Reverse(*id)));
    Ok(changes.into_iter().map(|(_, change)| change).collect())
}

/// A change that is not the session's to undo.
fn kept(change: Change, author: Author) -> PastChange {
    PastChange {
        change,
        author,
        claim: Claim::Keep,
    }
}

fn claim(
    connection: &Connection,
    authors: &Authors<'_>,
    change: &LiveChange,
    asked: UndoScope<'_>,
) -> Result<Claim> {
    Ok(match asked.of(change) {
        Coverage::No => Claim::Keep,
        Coverage::Shared => {
            let others = sessions::sharers(connection, &change.row)?;
            Claim::Shared(others.iter().map(|other| authors.source(other)).collect())
        }
        Coverage::Unclear => Claim::Unclear(change.row.reason.clone().unwrap_or_default()),
        Coverage::Undo => Claim::Undo,
    })
}

/// Returns when changes were first seen, by path.
pub(super) fn sightings<'a>(changes: impl Iterator<Item = &'a LiveChange>) -> Sightings<'a> {
    let mut sightings = Sightings::new();
    for change in changes {
        sightings
            .entry(&change.row.change.path)
            .or_default()
            .push(change.row.to_snapshot_id);
    }
    sightings
}
