//! The table `feed`: events in one order, for clients that resume where they stopped. Every row is written in the same
//! transaction as the change it reports.

use rusqlite::{Connection, params};

use crate::error::Result;

/// Notes that a message was added.
pub(super) fn message_added(connection: &Connection, id: &str, session: &str) -> Result<()> {
    note(
        connection,
        "SELECT 'message', workspace_id, ?1 FROM sessions WHERE id = ?2",
        params![id, session],
    )
}

/// Notes which messages of a session are about to change their state: those from a position on become hidden, those
/// before it live; without a position, all become live.
pub(super) fn messages_hidden_from(
    connection: &Connection,
    session: &str,
    seq: Option<i64>,
) -> Result<()> {
    note(
        connection,
        "SELECT 'message', sessions.workspace_id, messages.id
           FROM messages JOIN sessions ON sessions.id = messages.session_id
          WHERE messages.session_id = ?1 AND messages.state <> 'discarded'
            AND messages.state <> iif(?2 IS NOT NULL AND messages.seq >= ?2, 'hidden', 'live')
          ORDER BY messages.seq",
        params![session, seq],
    )
}

/// Notes that the hidden messages of a session are about to be discarded.
pub(super) fn hidden_messages_discarded(connection: &Connection, session: &str) -> Result<()> {
    note(
        connection,
        "SELECT 'message', sessions.workspace_id, messages.id
           FROM messages JOIN sessions ON sessions.id = messages.session_id
          WHERE messages.session_id = ?1 AND messages.state = 'hidden' ORDER BY messages.seq",
        params![session],
    )
}

/// Notes that a step ended, and that it may have new gaps: what a snapshot could not hold is reported once, not with every
/// later snapshot.
pub(super) fn step_closed(connection: &Connection, id: &str) -> Result<()> {
    step(connection, id)?;
    note(
        connection,
        "SELECT 'gap', workspace_id, ?1
           FROM snapshots
          WHERE id = (SELECT finish_snapshot_id FROM steps WHERE id = ?1) AND gaps > 0
            AND seen_blob IS NOT (SELECT seen_blob FROM snapshots
                                   WHERE id = (SELECT start_snapshot_id FROM steps WHERE steps.id = ?1))",
        params![id],
    )
}

/// Notes that a step began or ended.
pub(super) fn step(connection: &Connection, id: &str) -> Result<()> {
    note(
        connection,
        "SELECT 'step', sessions.workspace_id, steps.id
           FROM steps JOIN sessions ON sessions.id = steps.session_id WHERE steps.id = ?1",
        params![id],
    )
}

/// Notes that an operation was begun or closed.
pub(super) fn operation(connection: &Connection, id: &str) -> Result<()> {
    note(
        connection,
        "SELECT 'operation', workspace_id, id FROM operations WHERE id = ?1",
        params![id],
    )
}

/// Notes the newest diagnostic if it is an error.
pub(super) fn diagnostic(connection: &Connection, id: i64) -> Result<()> {
    note(
        connection,
        "SELECT 'failed', (SELECT id FROM workspaces WHERE path = diagnostics.workspace AND replaced_at IS NULL),
                CAST(id AS TEXT)
           FROM diagnostics WHERE id = ?1 AND level = 'error'",
        params![id],
    )
}

/// Adds the rows that a query gives: the kind, the workspace and the subject of each.
fn note(connection: &Connection, rows: &str, parameters: impl rusqlite::Params) -> Result<()> {
    let sql = format!("INSERT INTO feed (kind, workspace_id, subject) {rows}");
    super::execute(connection, "cannot note what happened", &sql, parameters)
}
