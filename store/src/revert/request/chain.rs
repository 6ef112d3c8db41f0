//! The chain of reverts that a session is in: the moves of its revert point since it was first reverted.
//!
//! There are three questions about a chain, and each is answered only here:
//!
//! - Does a move *take all back*? It asks for nothing to be reverted after it: [`takes_all_back`]. From then on no
//!   revert before it is in force, not even where the move could not write every file.
//! - Has the chain *ended*? The move took all back, and could write every file: [`has_ended`]. Where one failed, the
//!   state before the first revert is still needed: the same command again goes on from there.
//! - Which moves does the chain *hold*? Those after the last that ended it or that a message made permanent:
//!   [`holding`].
//!
//! ```text
//!   revert   revert --only   unrevert (a file failed)   revert   redo to the end
//!   └──────────────── one chain, as nothing ended it ─────────────────────────┘ ended
//!   └─── taken back, so not in force ───┘               └ taken back
//! ```
//!
//! The chain also holds what a session's agent does not know yet: the files that the user put back since its last
//! message. No row says that the agent was told. The next message tells it, and at the same time makes the reverts
//! permanent and becomes the last message; so it is told once.
//!
//! A new message makes a chain permanent: what was undone is never undone again ([`make_permanent`]). What a revert
//! could not put back, because of an error or a conflict, was not undone: its changes stay those of the agent, though
//! their message is discarded, and a later revert takes them up.

use std::collections::BTreeMap;

use ckpt_schema::report::{FileAction, FileReport, FileResult, OperationKind, PathText};
use rusqlite::{Connection, params};

use super::scope::{RevertScope, ScopePaths, is_covered};
use crate::error::Result;
use crate::model::entry::State;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::model::request::OnConflict;
use crate::revert::request::conversation::JournalledConversation;
use crate::sessions::read::all;
use crate::sessions::{self, ChainOperation, MessageRow, SessionRow};

/// Returns whether a move asks for nothing to be reverted after it: a redo or unrevert to behind the last message.
///
/// `point` is the revert point after it. A revert never takes anything back: where only a part is reverted there is no
/// point either. A restore moves no point.
pub(crate) fn takes_all_back(kind: OperationKind, point: Option<&str>) -> bool {
    match kind {
        OperationKind::Redo | OperationKind::Unrevert => point.is_none(),
        OperationKind::Revert | OperationKind::Restore => false,
    }
}

/// Returns whether a move that was carried out ended its chain: it took all back, and wrote every file.
///
/// A file that stayed because of a conflict or a gap does not keep the chain open: the same command again would leave
/// it, too.
pub(crate) fn has_ended(kind: OperationKind, point: Option<&str>, has_failed: bool) -> bool {
    takes_all_back(kind, point) && !has_failed
}

/// Returns the moves that a chain holds, of those that name the same state as the one before the first revert, oldest
/// first.
///
/// That state does not tell chains apart: where a move changed nothing, the next chain may begin at the same snapshot.
pub(crate) fn holding(mut moves: Vec<ChainOperation>) -> Vec<ChainOperation> {
    let is_over = |operation: &ChainOperation| {
        let row = &operation.row;
        operation.is_permanent
            || has_ended(row.kind, row.message_id.as_deref(), operation.has_failed)
    };
    let first = moves.iter().rposition(is_over).map_or(0, |last| last + 1);
    moves.split_off(first)
}

/// Returns the reverts of a chain that no later move took back.
pub(crate) fn reverts_that_hold(chain: &[ChainOperation]) -> impl Iterator<Item = &ChainOperation> {
    let is_end = |operation: &ChainOperation| {
        takes_all_back(operation.row.kind, operation.row.message_id.as_deref())
    };
    let first = chain.iter().rposition(is_end).map_or(0, |last| last + 1);
    chain[first..]
        .iter()
        .filter(|operation| operation.row.kind == OperationKind::Revert)
}

/// Returns the parts of a chain's reverts that are still in force.
pub(crate) fn parts_of_chain(
    connection: &Connection,
    chain: &[ChainOperation],
) -> Result<Vec<RevertScope>> {
    let mut scopes = Vec::new();
    for operation in reverts_that_hold(chain) {
        scopes.extend(scope_of_part(connection, operation)?);
    }
    Ok(scopes)
}

/// Returns the part of the history that a revert of a part is about. `None` for any other revert, and for one of which
/// restores put every file back.
pub(crate) fn scope_of_part(
    connection: &Connection,
    operation: &ChainOperation,
) -> Result<Option<RevertScope>> {
    if operation.is_taken_back() {
        return Ok(None);
    }
    let paths = ScopePaths {
        only: operation.row.only_paths.clone(),
        except: operation.taken_back.clone(),
    };
    if let Some(step) = &operation.row.step_id {
        let id = step.clone();
        return Ok(Some(RevertScope::Step { id, paths }));
    }
    let Some(message) = operation.row.part_message_id.as_deref() else {
        return Ok(None);
    };
    let is_part = operation.row.is_alone || !paths.only.is_empty();
    let message = sessions::message(connection, message)?.filter(|_| is_part);
    Ok(
        message.map(|MessageRow { id, seq, .. }| match operation.row.is_alone {
            true => RevertScope::Message { id, seq, paths },
            false => RevertScope::From { seq, paths },
        }),
    )
}

/// Returns the chain of reverts that began at a snapshot, with its files, oldest first.
pub(crate) fn chain(
    connection: &Connection,
    session_id: &str,
    base_id: i64,
) -> Result<Vec<ChainOperation>> {
    let mut chain = holding(sessions::moves_since(connection, session_id, base_id)?);
    for operation in &mut chain {
        operation.read_items(connection, session_id)?;
    }
    Ok(chain)
}

/// Returns the newest move of the chain of reverts that began at a snapshot; no files are read.
pub(crate) fn newest_of_chain(
    connection: &Connection,
    session_id: &str,
    base_id: i64,
) -> Result<Option<ChainOperation>> {
    let moves = sessions::moves_since(connection, session_id, base_id)?;
    Ok(holding(moves).pop())
}

/// Returns the acts of a session's pending reverts, and of restores since its last message, on files of which the conversation
/// with that id knows, by path.
pub(crate) fn went_back(
    connection: &Connection,
    workspace_id: i64,
    session: &SessionRow,
    agent_id: &str,
) -> Result<Vec<FileReport>> {
    let mut items = match session.revert_base_id {
        // A conversation that was forked before them never knew them.
        Some(base_id) if !is_fork_of(connection, session, base_id, agent_id)? => {
            reverted_files(connection, &session.id, base_id)?
        }
        _ => Vec::new(),
    };
    items.extend(restored_files(connection, workspace_id, &session.id)?);
    let moved = items.iter().filter(|item| item.has_moved());
    let by_path: BTreeMap<PathText, FileReport> = moved
        .map(|item| (item.path.to_report(), item.report()))
        .collect();
    Ok(by_path.into_values().collect())
}

/// Returns whether a conversation of the agent is the one that the last revert of a chain forked: it holds nothing of
/// what went back.
fn is_fork_of(
    connection: &Connection,
    session: &SessionRow,
    base: i64,
    agent_id: &str,
) -> Result<bool> {
    let chain = chain(connection, &session.id, base)?;
    let newest = newest_revert(&chain);
    let Some(newest) = newest else {
        return Ok(false);
    };
    let row = sessions::conversation_of_operation(connection, &newest.row.id)?;
    let made = JournalledConversation::of_row(row.as_deref());
    Ok(made
        .and_then(|it| it.to)
        .is_some_and(|to| to.session == agent_id))
}

/// Returns the files that were restored since the last message. An agent without a message believes nothing about them
/// yet.
fn restored_files(
    connection: &Connection,
    workspace_id: i64,
    session_id: &str,
) -> Result<Vec<Item>> {
    let sql = "
        SELECT id FROM operations
         WHERE workspace_id = ?1 AND kind = 'restore' AND state = 'done'
           AND started_at > (SELECT max(created_at) FROM messages WHERE session_id = ?2)
         ORDER BY seq";
    let restores: Vec<String> = all(connection, sql, params![workspace_id, session_id], |row| {
        row.get(0)
    })?;
    let mut files = Vec::new();
    // Each message asks for this, and seldom is there one.
    for id in restores {
        files.extend(sessions::operation_items(connection, &id)?);
    }
    Ok(files)
}

/// What the chain so far did to a path.
struct Reverted {
    /// The state before the chain first touched it.
    base: State,
    /// The newest item that did something, or could not do it.
    shown: Option<Item>,
}

/// Returns the effect on each file, by path, of the chain of reverts that began at a snapshot.
pub(crate) fn reverted_files(
    connection: &Connection,
    session_id: &str,
    base_id: i64,
) -> Result<Vec<Item>> {
    let mut paths: BTreeMap<PathText, Reverted> = BTreeMap::new();
    for operation in chain(connection, session_id, base_id)? {
        if operation.is_taken_back() {
            continue;
        }
        for item in operation.items {
            let base = item.expected;
            paths
                .entry(item.path.to_report())
                .or_insert(Reverted { base, shown: None })
                .take(item);
        }
    }
    Ok(paths.into_values().filter_map(|path| path.shown).collect())
}

impl Reverted {
    /// Takes the next item. The newest one wins; a path that is back at its state before the chain is no longer
    /// reverted.
    fn take(&mut self, item: Item) {
        let is_settled = item.action == FileAction::None || item.result == FileResult::Done;
        if is_settled && item.goal == self.base {
            self.shown = None;
        } else if item.action != FileAction::None {
            self.shown = Some(item);
        }
    }
}

/// Returns the messages that the chain which began at a snapshot undoes alone, in the order in which that was asked
/// for.
pub(crate) fn undone_alone(
    connection: &Connection,
    session_id: &str,
    base_id: i64,
) -> Result<Vec<String>> {
    let chain = chain(connection, session_id, base_id)?;
    let mut alone = Vec::new();
    for operation in reverts_that_hold(&chain) {
        if let Some(message) = operation.row.part_message_id.as_ref()
            && operation.row.is_alone
            // Some files of it are not the message.
            && operation.row.only_paths.is_empty()
            && !operation.is_taken_back()
            && !alone.contains(message)
        {
            alone.push(message.clone());
        }
    }
    Ok(alone)
}

/// Discards the hidden messages of a session and marks what was undone. The operations stay: what they put aside can be
/// restored from them.
pub(crate) fn make_permanent(connection: &Connection, session: &SessionRow) -> Result<()> {
    let Some(base) = session.revert_base_id else {
        return Ok(());
    };
    let chain = chain(connection, &session.id, base)?;
    if let Some(newest) = chain.last() {
        sessions::mark_undone(
            connection,
            &undone(connection, session, &chain)?,
            &newest.row.id,
        )?;
    }
    // Discarded messages alone do not show that the chain is over: a chain of parts has none.
    sessions::note_permanent(connection, &chain)?;
    sessions::discard_hidden_messages(connection, &session.id)?;
    sessions::set_revert_point(connection, &session.id, None, None)
}

/// Returns the changes that are undone: those of the messages after the point, those of discarded messages that an
/// earlier revert had left, and those that parts name. A change that was only seen after an operation was made while
/// reverted, and does not count.
fn undone(
    connection: &Connection,
    session: &SessionRow,
    chain: &[ChainOperation],
) -> Result<Vec<i64>> {
    let moved = moved_by(chain);
    let is_back = |path: &WorkspacePath, seen_in: Option<i64>| {
        moved.get(path).is_some_and(|before| {
            before.is_some_and(|before| seen_in.is_none_or(|seen| seen <= before))
        })
    };
    let reverted = sessions::reverted_changes(connection, &session.id)?;
    let mut ids: Vec<i64> = reverted
        .into_iter()
        .filter(|change| is_back(&change.path, change.seen_in))
        .map(|change| change.id)
        .collect();
    // A part moves no revert point, so its changes belong to messages that are still live.
    let parts = parts_of_chain(connection, chain)?;
    if !parts.is_empty() {
        let live = sessions::live_changes(connection, &session.id, 0)?;
        let of_parts = live.iter().filter(|change| {
            is_back(&change.row.change.path, change.row.to_snapshot_id)
                && is_covered(&parts, change)
        });
        ids.extend(of_parts.filter_map(|change| change.row.id));
    }
    Ok(ids)
}

/// Returns for each path of a chain the snapshot before the operation that moved it last, or `None` if that operation
/// did not bring the path to its target.
fn moved_by(chain: &[ChainOperation]) -> BTreeMap<&WorkspacePath, Option<i64>> {
    let mut moved = BTreeMap::new();
    for operation in chain {
        for item in &operation.items {
            // Done with a reason is done in part: the change that stayed is still the agent's.
            let is_whole =
                item.result == FileResult::Done && (item.reason.is_none() || item.is_remarked());
            moved.insert(
                &item.path,
                operation.row.before_snapshot_id.filter(|_| is_whole),
            );
        }
    }
    moved
}

/// Returns the last revert's decisions about changes that cannot be undone. A redo follows it, so that it does not
/// bring back what was overwritten.
pub(crate) fn policy(chain: &[ChainOperation]) -> OnConflict {
    newest_revert(chain)
        .map(|operation| operation.row.on_conflict)
        .unwrap_or_default()
}

/// Returns the newest revert.
pub(crate) fn newest_revert(chain: &[ChainOperation]) -> Option<&ChainOperation> {
    chain
        .iter()
        .rfind(|operation| operation.row.kind == OperationKind::Revert)
}
