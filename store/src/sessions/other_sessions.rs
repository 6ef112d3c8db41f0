//! What is known of the other sessions of a workspace.

use ckpt_schema::report::RevertedSession;
use rusqlite::{Connection, params};

use super::read::{self, row};
use crate::error::Result;

row! {
    /// A message of another session.
    #[derive(Clone, Debug)]
    pub(crate) struct OthersMessage {
        pub id: String,
        pub prompt: Option<String>,
        pub agent: String,
        pub session: String,
    }
}

/// Returns the messages after a place in the order that are other sessions' and in force, newest first.
pub(crate) fn newer_of_others(
    connection: &Connection,
    workspace_id: i64,
    session: &str,
    seq: i64,
) -> Result<Vec<OthersMessage>> {
    let sql = "SELECT messages.id, messages.prompt, sessions.agent, sessions.id AS session
                 FROM messages JOIN sessions ON sessions.id = messages.session_id
                WHERE messages.seq > ?3 AND sessions.workspace_id = ?1 AND sessions.id <> ?2
                  AND messages.state = 'live' ORDER BY messages.seq DESC";
    let parameters = params![workspace_id, session, seq];
    let what = "cannot read messages";
    read::all_or(connection, what, sql, parameters, OthersMessage::read)
}

/// Returns the sessions of a workspace in which something is reverted, the one reverted last first, except one of them.
pub(crate) fn other_reverted_sessions(
    connection: &Connection,
    workspace_id: i64,
    without: Option<&str>,
) -> Result<Vec<RevertedSession>> {
    let sql = "
        SELECT id, agent, revert_message_id,
               (SELECT count(*) FROM messages WHERE session_id = sessions.id AND state = 'hidden') AS hidden
          FROM sessions
         WHERE workspace_id = ?1 AND revert_base_id IS NOT NULL AND (?2 IS NULL OR id <> ?2)
         ORDER BY (SELECT max(seq) FROM operations WHERE operations.session_id = sessions.id) DESC, seq DESC";
    read::all(connection, sql, params![workspace_id, without], |row| {
        Ok(RevertedSession {
            session: row.get("id")?,
            agent: row.get("agent")?,
            revert_point: row.get("revert_message_id")?,
            messages_hidden: read::count(row, "hidden")?,
        })
    })
}
