//! The parts of a session that works in several roots.
//!
//! A session has a row in each of its workspaces, and so has each message: the whole, which is in the root where the
//! session began, and a part of it in each other root. The id of a part begins with that of the whole, so that what
//! names the whole names the part in its workspace.

use rusqlite::{Connection, params};

use super::rows::{SESSION, one_message};
use super::{
    MessageRow, OperationRow, SessionRow, WorkspaceRow, new_id, operation, read, workspace,
};
use crate::error::Result;

/// What the rows of an event in a further root are parts of.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub session: String,
    pub message: Option<String>,
    pub step: Option<String>,
}

/// Returns the id of a part: that of the whole and the number of its workspace, unless that is taken.
pub(crate) fn part_id(
    connection: &Connection,
    table: &str,
    whole: &str,
    workspace_id: i64,
) -> Result<String> {
    let id = format!("{whole}-{workspace_id}");
    let sql = format!("SELECT 1 FROM {table} WHERE id = ?1");
    let is_taken = read::any(connection, "cannot look an id up", &sql, [&id])?;
    Ok(if is_taken { new_id() } else { id })
}

/// Notes that a session is the part of another in its workspace.
pub(crate) fn note_part(connection: &Connection, part: &SessionRow, whole: &str) -> Result<()> {
    let what = "cannot note in which roots a session works";
    let sql = "UPDATE sessions SET part_of = ?2 WHERE id = ?1";
    super::execute(connection, what, sql, [&part.id, whole])?;
    let sql = "UPDATE sessions SET has_parts = 1 WHERE id = ?1";
    super::execute(connection, what, sql, [whole])
}

/// Notes that a message or a step is the part of another in its workspace.
pub(crate) fn note_part_of(
    connection: &Connection,
    table: &str,
    id: &str,
    whole: &str,
) -> Result<()> {
    let sql = format!("UPDATE {table} SET part_of = ?2 WHERE id = ?1");
    let what = "cannot note what a part belongs to";
    super::execute(connection, what, &sql, [id, whole])
}

/// Returns the parts of a session in other roots, the first first.
pub(crate) fn parts(connection: &Connection, whole: &str) -> Result<Vec<SessionRow>> {
    let sql = format!("SELECT {SESSION} FROM sessions WHERE part_of = ?1 ORDER BY seq");
    read::all(connection, &sql, [whole], SessionRow::read)
}

/// Returns the rows of a session in its other roots.
pub(crate) fn other_parts(
    connection: &Connection,
    session: &SessionRow,
) -> Result<Vec<SessionRow>> {
    let Some(whole) = session.whole() else {
        return Ok(Vec::new());
    };
    let sql = format!(
        "SELECT {SESSION} FROM sessions WHERE (id = ?1 OR part_of = ?1) AND id <> ?2 ORDER BY seq"
    );
    read::all(connection, &sql, [whole, &session.id], SessionRow::read)
}

/// Returns the other roots of a session.
pub(crate) fn roots_beside(
    connection: &Connection,
    session: &SessionRow,
) -> Result<Vec<WorkspaceRow>> {
    let parts = other_parts(connection, session)?.into_iter();
    parts
        .map(|part| workspace(connection, part.workspace_id))
        .collect()
}

/// The sessions of a workspace that work in several roots, by their wholes.
const WHOLES: &str = "WITH wholes AS (SELECT ifnull(part_of, id) AS id FROM sessions
                                       WHERE workspace_id = ?1 AND (part_of IS NOT NULL OR has_parts))";

/// Returns the other roots of all sessions of a workspace.
pub(crate) fn roots_of_sessions(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<WorkspaceRow>> {
    let sql = format!(
        "{WHOLES} SELECT DISTINCT workspace_id FROM sessions
           WHERE workspace_id <> ?1 AND (id IN (SELECT id FROM wholes) OR part_of IN (SELECT id FROM wholes))"
    );
    let ids: Vec<i64> = read::all(connection, &sql, [workspace_id], |row| row.get(0))?;
    let rows = ids.into_iter().map(|id| workspace(connection, id));
    rows.collect()
}

/// Notes in the other parts of a workspace's sessions that its history is forgotten.
pub(crate) fn note_forgotten_root(connection: &Connection, workspace_id: i64) -> Result<()> {
    let sql = format!(
        "{WHOLES} UPDATE sessions SET roots_gone = 1
           WHERE workspace_id <> ?1 AND (id IN (SELECT id FROM wholes) OR part_of IN (SELECT id FROM wholes))"
    );
    let what = "cannot note in which roots a session works";
    super::execute(connection, what, &sql, [workspace_id])
}

/// Returns whether the history of another root of a session was forgotten.
pub(crate) fn has_forgotten_roots(connection: &Connection, session: &str) -> Result<bool> {
    let sql = "SELECT roots_gone FROM sessions WHERE id = ?1";
    read::value(connection, "cannot look a session up", sql, [session])
}

/// Returns whether a session changed something in one of its roots; without a session, any did.
pub(crate) fn has_changes(
    connection: &Connection,
    workspace_id: i64,
    session: Option<&SessionRow>,
) -> Result<bool> {
    let sql = "SELECT 1 FROM changes JOIN steps ON steps.id = step_id JOIN messages ON messages.id = message_id
                               JOIN sessions ON sessions.id = messages.session_id
                WHERE changes.workspace_id = ?1 AND (?2 IS NULL OR ?2 IN (sessions.id, sessions.part_of))";
    let whole = session.and_then(SessionRow::whole);
    let what = "cannot read what a session changed";
    read::any(connection, what, sql, params![workspace_id, whole])
}

/// Returns the first message of a session, without discarded ones, that is no older than a message of the same session in
/// another root.
pub(crate) fn message_beside(
    connection: &Connection,
    session: &str,
    message: &str,
) -> Result<Option<MessageRow>> {
    let rest = "WHERE session_id = ?1 AND state <> 'discarded'
                  AND ifnull((SELECT whole.seq FROM messages AS whole WHERE whole.id = messages.part_of), seq)
                   >= (SELECT ifnull((SELECT whole.seq FROM messages AS whole WHERE whole.id = own.part_of), own.seq)
                         FROM messages AS own WHERE own.id = ?2)
                ORDER BY seq LIMIT 1";
    one_message(connection, rest, [session, message])
}

/// Returns the part that a message or a step has in a session.
pub(crate) fn part_in(
    connection: &Connection,
    table: &str,
    session: &str,
    id: &str,
) -> Result<Option<String>> {
    let sql = format!(
        "SELECT id FROM {table} WHERE session_id = ?1
            AND ifnull(part_of, id) = (SELECT ifnull(part_of, id) FROM {table} WHERE id = ?2)"
    );
    read::value_or_none(connection, "cannot look a part up", &sql, [session, id])
}

/// Returns an operation and its parts in other roots.
pub(crate) fn operation_parts(connection: &Connection, id: &str) -> Result<Vec<OperationRow>> {
    let sql = "SELECT id FROM operations
                WHERE ifnull(part_of, id) = (SELECT ifnull(part_of, id) FROM operations WHERE id = ?1) ORDER BY seq";
    let ids: Vec<String> = read::all(connection, sql, [id], |row| row.get(0))?;
    ids.iter().map(|id| operation(connection, id)).collect()
}

/// Returns the workspaces in which a part of an operation is open of which another part is in this workspace.
pub(crate) fn workspaces_left_beside(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<i64>> {
    let sql = "SELECT DISTINCT workspace_id FROM operations AS open
                WHERE state = 'open' AND workspace_id <> ?1
                  AND EXISTS (SELECT 1 FROM operations AS own WHERE own.workspace_id = ?1
                                 AND ifnull(own.part_of, own.id) = ifnull(open.part_of, open.id))";
    read::all(connection, sql, [workspace_id], |row| row.get(0))
}

/// Returns every message that is a part of another in a further root, with that other one.
pub(crate) fn message_parts(connection: &Connection) -> Result<Vec<(String, String)>> {
    // By the few sessions that are parts: a scan of all messages would read their prompts.
    let sql = "SELECT messages.id, messages.part_of
                 FROM sessions CROSS JOIN messages ON messages.session_id = sessions.id
                WHERE sessions.part_of IS NOT NULL AND messages.part_of IS NOT NULL";
    read::all(connection, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Returns the workspace of a message.
pub(crate) fn workspace_of_message(connection: &Connection, id: &str) -> Result<WorkspaceRow> {
    let sql = "SELECT workspace_id FROM messages JOIN sessions ON sessions.id = session_id WHERE messages.id = ?1";
    let found = read::value(connection, "cannot look a message up", sql, [id])?;
    workspace(connection, found)
}
