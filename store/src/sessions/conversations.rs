//! Which conversation of its agent a session is in, and in which one each message was sent.
//!
//! A fork is the same session in another conversation: its history goes on with what was before the fork. The messages
//! that were sent in the old conversation name it from then on.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::{SessionRow, read};
use crate::error::Result;
use crate::model::conversation::AgentConversation;

/// The conversations of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionConversations {
    /// The one that it is in.
    pub present: AgentConversation,
    /// The one that a revert left for a fork, until the next message.
    pub left: Option<AgentConversation>,
    /// The directory in which the agent was started.
    pub directory: String,
}

/// Returns the conversations of a session.
pub(crate) fn conversations(
    connection: &Connection,
    session: &str,
) -> Result<SessionConversations> {
    let sql =
        "SELECT agent_id, transcript, left_id, left_transcript, ifnull(cwd, path) FROM sessions
                 JOIN workspaces ON workspaces.id = workspace_id WHERE sessions.id = ?1";
    let what = "cannot read which conversation a session is in";
    read::one(connection, what, sql, [session], |row| {
        let left: Option<String> = row.get(2)?;
        Ok(SessionConversations {
            present: conversation(row.get(0)?, row.get(1)?),
            left: match left {
                Some(left) => Some(conversation(left, row.get(3)?)),
                None => None,
            },
            directory: row.get(4)?,
        })
    })
}

/// Returns the process that a session was heard of from, if the session has not ended.
pub(crate) fn process_of(connection: &Connection, session: &str) -> Result<Option<String>> {
    let sql = "SELECT process FROM sessions WHERE id = ?1 AND ended_at IS NULL";
    let what = "cannot read which process a session is in";
    let process = read::value_or_none(connection, what, sql, [session])?;
    Ok(process.flatten())
}

/// Returns the newest live messages that were sent in the conversation that a session is in, oldest first.
pub(crate) fn messages_of_conversation(
    connection: &Connection,
    session: &str,
    most: i64,
) -> Result<Vec<String>> {
    let sql = "SELECT id FROM (SELECT messages.id, messages.seq FROM messages JOIN sessions ON sessions.id = session_id
                                WHERE session_id = ?1 AND ifnull(conversation, sessions.agent_id) = sessions.agent_id
                                  AND state = 'live'
                                ORDER BY messages.seq DESC LIMIT ?2) ORDER BY seq";
    read::all(connection, sql, params![session, most], |row| row.get(0))
}

/// Returns the newest messages of a session that are older than the first of another one, oldest first.
pub(crate) fn messages_before(
    connection: &Connection,
    session: &str,
    other: &str,
    most: i64,
) -> Result<Vec<String>> {
    let sql = "SELECT id FROM (SELECT id, seq FROM messages WHERE session_id = ?1
                                  AND seq < (SELECT min(seq) FROM messages WHERE session_id = ?2)
                                ORDER BY seq DESC LIMIT ?3) ORDER BY seq";
    read::all(connection, sql, params![session, other, most], |row| {
        row.get(0)
    })
}

/// Returns the reverted sessions of a workspace, each with one of the same agent that began with a message after the revert.
pub(crate) fn sessions_after_reverts(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<(String, String)>> {
    let sql = "SELECT reverted.id, other.id FROM sessions AS reverted
                 JOIN sessions AS other ON other.workspace_id = reverted.workspace_id AND other.agent = reverted.agent
                WHERE reverted.workspace_id = ?1 AND reverted.revert_base_id IS NOT NULL
                  AND other.id <> reverted.id AND other.parent_id IS NULL
                  AND EXISTS (SELECT 1 FROM messages WHERE session_id = other.id AND created_at >=
                      (SELECT max(started_at) FROM operations WHERE session_id = reverted.id))";
    read::all(connection, sql, [workspace_id], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// Returns the live messages that the conversation of a session does not have, because it was forked and the files stayed.
pub(crate) fn messages_left_behind(connection: &Connection, session: &str) -> Result<Vec<String>> {
    let sql = "SELECT messages.id FROM sessions
                 JOIN operations ON operations.workspace_id = sessions.workspace_id
                 JOIN json_each(iif(json_valid(operations.conversation), operations.conversation, '{}'), '$.messages') AS behind
                 JOIN messages ON messages.id = behind.value
                WHERE sessions.id = ?1 AND operations.kind = 'restore' AND operations.state = 'done'
                  AND messages.session_id = ?1 AND messages.state = 'live'
                  AND operations.conversation ->> '$.to.session' = sessions.agent_id
                GROUP BY messages.id ORDER BY messages.seq";
    read::all(connection, sql, [session], |row| row.get(0))
}

/// Returns whether a conversation was forked and every file stayed.
pub(crate) fn went_back_alone(
    connection: &Connection,
    conversation: &AgentConversation,
) -> Result<bool> {
    let sql = "SELECT kind = 'restore' FROM operations
                WHERE iif(json_valid(conversation), conversation, '{}') ->> '$.to.session' = ?1
                ORDER BY seq DESC LIMIT 1";
    let what = "cannot read what became of a conversation";
    let row = read::value_or_none(connection, what, sql, [&conversation.session])?;
    Ok(row.unwrap_or_default())
}

/// Returns the newest operation on a session's conversation since its last message, with what its row says of it.
pub(crate) fn newest_conversation(
    connection: &Connection,
    session: &str,
) -> Result<Option<(String, String)>> {
    let sql = "SELECT id, conversation FROM operations
                WHERE state = 'done' AND iif(json_valid(conversation), conversation, '{}') ->> '$.of' = ?1
                  AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = ?1 AND created_at >= started_at)
                ORDER BY seq DESC LIMIT 1";
    let what = "cannot read what became of a conversation";
    read::one_or_none(connection, what, sql, [session], |row| row.try_into())
}

/// Returns the conversation in which a message was sent, how many messages were sent in it before, and the turn of the
/// one before it.
pub(crate) fn conversation_of(
    connection: &Connection,
    message: &str,
) -> Result<(AgentConversation, u64, Option<String>)> {
    // A fork holds what was live before it, wherever that was sent.
    let sql = "
        WITH earlier AS (
            SELECT earlier.seq, earlier.turn_id FROM messages AS own
              JOIN sessions ON sessions.id = own.session_id
              JOIN messages AS earlier ON earlier.session_id = own.session_id AND earlier.seq < own.seq
             WHERE own.id = ?1
               AND (earlier.state = 'live'
                    OR ifnull(earlier.conversation, sessions.agent_id) = ifnull(own.conversation, sessions.agent_id)))
        SELECT ifnull(own.conversation, sessions.agent_id), iif(own.conversation IS NULL, sessions.transcript, own.transcript),
               (SELECT count(*) FROM earlier), (SELECT turn_id FROM earlier ORDER BY seq DESC LIMIT 1)
          FROM messages AS own JOIN sessions ON sessions.id = own.session_id WHERE own.id = ?1";
    let what = "cannot read in which conversation a message was sent";
    read::one(connection, what, sql, [message], |row| {
        let conversation = conversation(row.get(0)?, row.get(1)?);
        Ok((conversation, read::count(row, 2)?, row.get(3)?))
    })
}

fn conversation(session: String, transcript: Option<String>) -> AgentConversation {
    AgentConversation {
        session,
        transcript: transcript.map(PathBuf::from),
    }
}

/// Has a session go on in another conversation. While something of it is reverted, the first one that it `left` stays
/// known: unrevert goes back there, and a message in it is one of the session's. Returns whether it does: not if
/// another session of ours holds messages of that conversation.
pub(crate) fn go_on_in(
    connection: &Connection,
    session: &SessionRow,
    to: &AgentConversation,
    left: Option<&AgentConversation>,
) -> Result<bool> {
    let other = super::find_session_named(
        connection,
        &session.agent,
        &to.session,
        session.workspace_id,
    )?;
    if let Some(other) = other.filter(|other| other.id != session.id)
        && !forget_if_empty(connection, &other.id)?
    {
        return Ok(false);
    }
    let transcript = to.transcript.as_deref().map(Path::to_string_lossy);
    let what = "cannot note which conversation a session is in";
    let sql = "UPDATE messages SET conversation = sessions.agent_id, transcript = sessions.transcript FROM sessions
              WHERE sessions.id = ?1 AND session_id = ?1 AND conversation IS NULL AND sessions.agent_id <> ?2";
    super::execute(connection, what, sql, [&session.id, &to.session])?;
    let sql = "UPDATE sessions SET left_id = iif(?4 IS NULL, NULL, ifnull(left_id, ?4)),
                    left_transcript = iif(?4 IS NULL, NULL, iif(left_id IS NULL, ?5, left_transcript)),
                    agent_id = ?2, transcript = ?3 WHERE id = ?1";
    let values = params![
        session.id,
        to.session,
        transcript,
        left.map(|left| &left.session),
        left.and_then(AgentConversation::path)
    ];
    super::execute(connection, what, sql, values)?;
    for part in super::parts(connection, &session.id)? {
        go_on_in(connection, &part, to, left)?;
    }
    Ok(true)
}

/// Removes a session in which nothing happened: the agent's program may tell of a fork before its maker does.
fn forget_if_empty(connection: &Connection, session: &str) -> Result<bool> {
    let sql = "DELETE FROM sessions WHERE id = ?1
                  AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = ?1)
                  AND NOT EXISTS (SELECT 1 FROM steps WHERE session_id = ?1)
                  AND NOT EXISTS (SELECT 1 FROM sessions WHERE parent_id = ?1)";
    let removed = super::changed(connection, "cannot remove an empty session", sql, [session])?;
    Ok(removed > 0)
}

/// Decides in which conversation a session goes on: the one of its new message.
pub(crate) fn resolve_conversation(
    connection: &Connection,
    session: &SessionRow,
    agent_id: &str,
) -> Result<()> {
    let known = conversations(connection, &session.id)?;
    let Some(left) = known.left else {
        return Ok(());
    };
    let to = match left.session == agent_id {
        true => left,
        false => known.present,
    };
    go_on_in(connection, session, &to, None)?;
    Ok(())
}

/// Notes what becomes of the conversation of an operation.
pub(crate) fn note_conversation(
    connection: &Connection,
    operation: &str,
    conversation: &str,
) -> Result<()> {
    let sql = "UPDATE operations SET conversation = ?2 WHERE id = ?1";
    let what = "cannot note what became of a conversation";
    super::execute(connection, what, sql, params![operation, conversation])
}

/// Returns the plan for the conversation of an operation.
pub(crate) fn conversation_of_operation(
    connection: &Connection,
    operation: &str,
) -> Result<Option<String>> {
    let sql = "SELECT conversation FROM operations WHERE id = ?1";
    let what = "cannot read what became of a conversation";
    Ok(read::value_or_none(connection, what, sql, [operation])?.flatten())
}
