//! Rows as they are stored, between SQL and the domain. Nothing here decides anything.

use ckpt_schema::report::MessageState;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Milliseconds;
use crate::entry::ObjectId;
use crate::error::{Context, Error, Result};
use crate::snapshot::Snapshot;

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// In the order in which sessions were first heard of.
    pub seq: i64,
    /// Our id.
    pub id: String,
    /// Its workspace.
    pub workspace_id: i64,
    /// Its agent.
    pub agent: String,
    /// The agent's id.
    pub agent_id: String,
    /// The session that started it.
    pub parent_id: Option<String>,
    /// When it was last heard of.
    pub last_event_at: Milliseconds,
    /// Whether its agent sends tool events.
    pub tool_events: bool,
    /// The revert point.
    pub revert_message_id: Option<String>,
    /// The snapshot before the first revert.
    pub revert_base_id: Option<i64>,
}

impl SessionRow {
    const COLUMNS: &'static str = "seq, id, workspace_id, agent, agent_id, parent_id, last_event_at, tool_events, \
                                   revert_message_id, revert_base_id";

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get("seq")?,
            id: row.get("id")?,
            workspace_id: row.get("workspace_id")?,
            agent: row.get("agent")?,
            agent_id: row.get("agent_id")?,
            parent_id: row.get("parent_id")?,
            last_event_at: row.get("last_event_at")?,
            tool_events: row.get("tool_events")?,
            revert_message_id: row.get("revert_message_id")?,
            revert_base_id: row.get("revert_base_id")?,
        })
    }

    /// Returns the session with one of our ids.
    pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Self> {
        one(connection, &format!("SELECT {} FROM sessions WHERE id = ?1", Self::COLUMNS), id, Self::read)
    }

    /// Returns the session at the top of the line of parents; the session itself where it has none.
    pub(crate) fn root(connection: &Connection, id: &str) -> Result<Self> {
        // UNION, not UNION ALL: a circle of parents, which nothing of ours writes, would never end.
        let sql = format!(
            "WITH RECURSIVE line (ancestor) AS (
               SELECT ?1 UNION SELECT parent_id FROM sessions JOIN line ON id = ancestor WHERE parent_id IS NOT NULL)
             SELECT {} FROM sessions JOIN line ON id = ancestor ORDER BY parent_id IS NOT NULL LIMIT 1",
            Self::COLUMNS
        );
        one(connection, &sql, id, Self::read)
    }

    /// Returns the session of a workspace that was heard of last, leaving out those of sub-agents.
    pub(crate) fn newest(connection: &Connection, workspace_id: i64) -> Result<Option<Self>> {
        let sql = format!(
            "SELECT {} FROM sessions WHERE workspace_id = ?1 AND parent_id IS NULL
              ORDER BY last_event_at DESC, seq DESC LIMIT 1",
            Self::COLUMNS
        );
        connection.query_row(&sql, [workspace_id], Self::read).optional().context(|| "cannot read the sessions")
    }
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageRow {
    /// In the order in which messages came.
    pub seq: i64,
    /// Our id.
    pub id: String,
    /// Its session.
    pub session_id: String,
    /// The agent's id.
    pub agent_id: Option<String>,
    /// Whether it is live, hidden or discarded.
    pub state: MessageState,
    /// The snapshot just before it.
    pub snapshot_id: Option<i64>,
    /// Whether it still waits for the next boundary of a step.
    pub pending: bool,
    /// Why there is no snapshot.
    pub unprotected: Option<String>,
    /// When it came.
    pub created_at: Milliseconds,
}

impl MessageRow {
    const COLUMNS: &'static str = "seq, id, session_id, agent_id, state, snapshot_id, pending, unprotected, created_at";

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get("seq")?,
            id: row.get("id")?,
            session_id: row.get("session_id")?,
            agent_id: row.get("agent_id")?,
            state: word(row, "state", message_state)?,
            snapshot_id: row.get("snapshot_id")?,
            pending: row.get("pending")?,
            unprotected: row.get("unprotected")?,
            created_at: row.get("created_at")?,
        })
    }

    /// Returns the message with one of our ids.
    pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Self> {
        one(connection, &format!("SELECT {} FROM messages WHERE id = ?1", Self::COLUMNS), id, Self::read)
    }

    /// Returns the newest message of a workspace, or of a session of it, that is not discarded, or the one so many
    /// messages before it in the same session.
    pub(crate) fn last(
        connection: &Connection,
        workspace_id: i64,
        session_id: Option<&str>,
        before: i64,
    ) -> Result<Option<Self>> {
        let sql = format!(
            "SELECT {} FROM messages
              WHERE state <> 'discarded'
                AND session_id = (SELECT m.session_id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
                                   WHERE s.workspace_id = ?1 AND (?2 IS NULL OR s.id = ?2) AND m.state <> 'discarded'
                                   ORDER BY m.seq DESC LIMIT 1)
              ORDER BY seq DESC LIMIT 1 OFFSET ?3",
            Self::COLUMNS
        );
        connection
            .query_row(&sql, params![workspace_id, session_id, before], Self::read)
            .optional()
            .context(|| "cannot read the messages")
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepRow {
    /// In the order in which steps began.
    pub seq: i64,
    /// Our id.
    pub id: String,
    /// Its session; a sub-agent's where that ran it.
    pub session_id: String,
    /// The message in which it ran.
    pub message_id: String,
    /// Whether it is still open.
    pub open: bool,
    /// Why its changes cannot be put back.
    pub unprotected: Option<String>,
    /// The snapshot at its start.
    pub start_snapshot_id: Option<i64>,
    /// The snapshot at its finish.
    pub finish_snapshot_id: Option<i64>,
}

impl StepRow {
    /// Returns the step with one of our ids.
    pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Self> {
        let sql = "SELECT seq, id, session_id, message_id, state = 'open' AS open, unprotected, start_snapshot_id,
                          finish_snapshot_id
                     FROM steps WHERE id = ?1";
        one(connection, sql, id, |row| {
            Ok(Self {
                seq: row.get("seq")?,
                id: row.get("id")?,
                session_id: row.get("session_id")?,
                message_id: row.get("message_id")?,
                open: row.get("open")?,
                unprotected: row.get("unprotected")?,
                start_snapshot_id: row.get("start_snapshot_id")?,
                finish_snapshot_id: row.get("finish_snapshot_id")?,
            })
        })
    }
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationRow {
    /// In the order in which operations began.
    pub seq: i64,
    /// Our id.
    pub id: String,
    /// Whose messages it moved over.
    pub session_id: Option<String>,
    /// The state before it.
    pub before_snapshot_id: Option<i64>,
    /// The state after it.
    pub after_snapshot_id: Option<i64>,
}

impl OperationRow {
    /// Returns the operation with one of our ids.
    pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Self> {
        let sql = "SELECT seq, id, session_id, before_snapshot_id, after_snapshot_id FROM operations WHERE id = ?1";
        one(connection, sql, id, |row| {
            Ok(Self {
                seq: row.get("seq")?,
                id: row.get("id")?,
                session_id: row.get("session_id")?,
                before_snapshot_id: row.get("before_snapshot_id")?,
                after_snapshot_id: row.get("after_snapshot_id")?,
            })
        })
    }
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotRow {
    /// In the order in which snapshots were taken.
    pub id: i64,
    /// Its objects.
    pub snapshot: Snapshot,
    /// Its label.
    pub label: Option<String>,
    /// When it was taken.
    pub taken_at: Milliseconds,
}

impl SnapshotRow {
    /// Returns the snapshot of a row number.
    pub(crate) fn by_id(connection: &Connection, id: i64) -> Result<Self> {
        let sql = "SELECT id, tree, attributes_blob, rules_blob, label, taken_at FROM snapshots WHERE id = ?1";
        one(connection, sql, id, |row| {
            Ok(Self {
                id: row.get("id")?,
                snapshot: Snapshot {
                    tree: word(row, "tree", ObjectId::from_hex)?,
                    attributes: optional_word(row, "attributes_blob", ObjectId::from_hex)?,
                    rules: optional_word(row, "rules_blob", ObjectId::from_hex)?,
                },
                label: row.get("label")?,
                taken_at: row.get("taken_at")?,
            })
        })
    }
}

/// Reads the one row that an id of ours names.
fn one<T>(
    connection: &Connection,
    sql: &str,
    id: impl rusqlite::ToSql + std::fmt::Display,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<T> {
    connection
        .query_row(sql, [&id], read)
        .optional()
        .context(|| format!("cannot read the row `{id}`"))?
        .ok_or_else(|| Error::unavailable(format!("the row `{id}` is not there any more")))
}

/// Reads a column of words; a word that is none of ours is an error of the database's.
pub(crate) fn word<T>(row: &Row<'_>, column: &str, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    optional_word(row, column, parse)?.ok_or_else(|| unreadable(row, column, "it is NULL".to_owned()))
}

/// Like [`word`], for a column that may be NULL.
pub(crate) fn optional_word<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    let Some(text) = row.get::<_, Option<String>>(column)? else { return Ok(None) };
    parse(&text).map(Some).ok_or_else(|| unreadable(row, column, format!("`{text}` is not a value of it")))
}

fn unreadable(row: &Row<'_>, column: &str, why: String) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, format!("the column `{column}`: {why}").into())
}

/// Reads the state of a message.
pub(crate) fn message_state(name: &str) -> Option<MessageState> {
    match name {
        "live" => Some(MessageState::Live),
        "hidden" => Some(MessageState::Hidden),
        "discarded" => Some(MessageState::Discarded),
        _ => None,
    }
}
