//! Steps whose changes no look saw, and how lost rows are noticed.

use rusqlite::{Connection, params};

use super::read;
use super::snapshots::MessageSpan;
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;

/// The rows that were written last for a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastRows {
    /// The tree of its newest snapshot.
    pub tree: ObjectId,
    /// The newest message that was written with it, if any.
    pub message: Option<String>,
    /// The newest step that was written with it, if any.
    pub step: Option<String>,
}

/// Returns whether rows exist, in whichever workspace they are by now.
pub(crate) fn has_rows(connection: &Connection, rows: &LastRows) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM snapshots WHERE tree = ?1)
                AND (?2 IS NULL OR EXISTS (SELECT 1 FROM messages WHERE id = ?2))
                AND (?3 IS NULL OR EXISTS (SELECT 1 FROM steps WHERE id = ?3))";
    let values = params![rows.tree, rows.message, rows.step];
    read::value(connection, "cannot look for the last rows", sql, values)
}

/// Marks that rows of a workspace were lost: what its open steps did is unknown, and if none is open, the newest
/// message gets an unrecorded step from the newest snapshot until now.
pub(crate) fn mark_lost(
    connection: &Connection,
    workspace_id: i64,
    why: &str,
    now: Milliseconds,
) -> Result<()> {
    let what = "cannot mark that rows were lost";
    let sql = "UPDATE steps SET unprotected = ifnull(unprotected, ?2)
              WHERE state = 'open' AND session_id IN (SELECT id FROM sessions WHERE workspace_id = ?1)";
    let marked = super::changed(connection, what, sql, params![workspace_id, why])?;
    // An open step was there when the rows were lost, and now says so itself. A second one would count the same time
    // twice.
    if marked > 0 {
        return Ok(());
    }
    let step = super::new_id();
    let sql = "INSERT INTO steps (id, session_id, message_id, state, recovered, unprotected, start_snapshot_id, started_at, finished_at)
             SELECT ?2, messages.session_id, messages.id, 'closed', 1, ?3, newest.id,
                    ifnull(newest.taken_at, messages.created_at), ?4
               FROM messages JOIN sessions ON sessions.id = messages.session_id
               LEFT JOIN (SELECT max(id) AS id, taken_at FROM snapshots WHERE workspace_id = ?1) AS newest
              WHERE sessions.workspace_id = ?1 AND messages.state <> 'discarded'
              ORDER BY messages.seq DESC LIMIT 1";
    super::execute(connection, what, sql, params![workspace_id, step, why, now])?;
    super::totals::outdate(connection, [step.as_str()])
}

/// Returns whether an unrecorded step was at work between two snapshots, or since one.
pub(crate) fn was_unrecorded(
    connection: &Connection,
    workspace_id: i64,
    from_snapshot_id: Option<i64>,
    to_snapshot_id: Option<i64>,
) -> Result<bool> {
    // In this order: few steps are unprotected, but a workspace may have thousands of sessions.
    let sql = "SELECT 1 FROM steps CROSS JOIN sessions ON sessions.id = steps.session_id
                WHERE sessions.workspace_id = ?1 AND steps.unprotected IS NOT NULL
                  AND steps.started_at <= ifnull((SELECT taken_at FROM snapshots WHERE id = ?3), steps.started_at)
                  AND ifnull(steps.finished_at >= (SELECT taken_at FROM snapshots WHERE id = ?2), 1)";
    let values = params![workspace_id, from_snapshot_id, to_snapshot_id];
    read::any(connection, "cannot read steps", sql, values)
}

/// Returns the steps of a session's messages, from a `seq` on, whose changes no look saw, each with the reason.
pub(crate) fn unprotected_steps(
    connection: &Connection,
    root_session: &str,
    messages: MessageSpan,
) -> Result<Vec<(String, String)>> {
    let sql = "SELECT steps.id, steps.unprotected FROM messages JOIN steps ON steps.message_id = messages.id
              WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND (?3 IS NULL OR messages.seq <= ?3) AND messages.state <> 'discarded'
                AND steps.unprotected IS NOT NULL ORDER BY steps.seq";
    read::all_or(
        connection,
        "cannot read unprotected steps",
        sql,
        params![root_session, messages.first, messages.last],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}
