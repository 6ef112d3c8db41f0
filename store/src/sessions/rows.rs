//! Rows of `sessions` and `messages`.

use std::cmp::Reverse;
use std::path::Path;

use ckpt_schema::event::Event;
use ckpt_schema::report::MessageState;
use rusqlite::{Connection, Params, Row, params};

use super::read::{Columns, row};
use super::tools::runs_tool;
use super::words::{WordTable, word};
use super::{feed, read};
use crate::error::Result;
use crate::model::Milliseconds;

/// A conversation of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionRow {
    pub seq: i64,
    pub id: String,
    pub workspace_id: i64,
    pub agent: String,
    pub agent_id: String,
    pub parent_id: Option<String>,
    pub last_event_at: Milliseconds,
    pub last_event: Option<String>,
    pub tool_events: bool,
    /// In how many calls its process was seen: two, or more.
    pub process_seen: i64,
    pub revert_message_id: Option<String>,
    pub revert_base_id: Option<i64>,
    /// The session of which it is the part in another root.
    pub part_of: Option<String>,
    /// Whether it has such parts.
    pub has_parts: bool,
    /// Whether it was led away from a conversation, and no message has said yet which of the two goes on.
    pub has_left: bool,
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageRow {
    pub seq: i64,
    pub id: String,
    pub session_id: String,
    pub agent_id: Option<String>,
    pub turn_id: Option<String>,
    pub prompt: Option<String>,
    pub state: MessageState,
    pub snapshot_id: Option<i64>,
    pub pending: bool,
    pub unprotected: Option<String>,
}

/// A message that is about to be added. It is live, and comes after all others.
#[derive(Clone, Debug)]
pub(crate) struct NewMessage {
    pub id: String,
    pub session_id: String,
    pub agent_id: Option<String>,
    pub turn_id: Option<String>,
    pub prompt: Option<String>,
    pub snapshot_id: Option<i64>,
    pub pending: bool,
    pub unprotected: Option<String>,
}

pub(super) const SESSION: &str =
    "seq, id, workspace_id, agent, agent_id, parent_id, last_event_at, last_event, tool_events, process_seen,
                       revert_message_id, revert_base_id, part_of, has_parts, left_id IS NOT NULL AS has_left";
pub(super) const MESSAGE: &str =
    "seq, id, session_id, agent_id, turn_id, prompt, snapshot_id, pending, unprotected, state";

impl SessionRow {
    /// Returns the id that it has in the root where it began, if it works in several.
    pub fn whole(&self) -> Option<&str> {
        let own = self.has_parts.then_some(self.id.as_str());
        self.part_of.as_deref().or(own)
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            seq: columns.next()?,
            id: columns.next()?,
            workspace_id: columns.next()?,
            agent: columns.next()?,
            agent_id: columns.next()?,
            parent_id: columns.next()?,
            last_event_at: columns.next()?,
            last_event: columns.next()?,
            tool_events: columns.next()?,
            process_seen: columns.next()?,
            revert_message_id: columns.next()?,
            revert_base_id: columns.next()?,
            part_of: columns.next()?,
            has_parts: columns.next()?,
            has_left: columns.next()?,
        })
    }
}

impl MessageRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            seq: columns.next()?,
            id: columns.next()?,
            session_id: columns.next()?,
            agent_id: columns.next()?,
            turn_id: columns.next()?,
            prompt: columns.next()?,
            snapshot_id: columns.next()?,
            pending: columns.next()?,
            unprotected: columns.next()?,
            state: word(row, WordTable::Messages, "state")?,
        })
    }
}

fn one_session(
    connection: &Connection,
    rest: &str,
    parameters: impl Params,
) -> Result<Option<SessionRow>> {
    let sql = format!("SELECT {SESSION} FROM sessions {rest}");
    let what = "cannot look a session up";
    read::one_or_none(connection, what, &sql, parameters, SessionRow::read)
}

pub(super) fn one_message(
    connection: &Connection,
    rest: &str,
    parameters: impl Params,
) -> Result<Option<MessageRow>> {
    let sql = format!("SELECT {MESSAGE} FROM messages {rest}");
    let what = "cannot look a message up";
    read::one_or_none(connection, what, &sql, parameters, MessageRow::read)
}

/// Returns the session with our id.
pub(crate) fn session(connection: &Connection, id: &str) -> Result<Option<SessionRow>> {
    one_session(connection, "WHERE id = ?1", [id])
}

/// Returns the session of a workspace with an agent's id, or the one that a revert led away from that conversation.
pub(crate) fn find_session(
    connection: &Connection,
    agent: &str,
    agent_id: &str,
    workspace_id: i64,
) -> Result<Option<SessionRow>> {
    let named = find_session_named(connection, agent, agent_id, workspace_id)?;
    if named.is_some() {
        return Ok(named);
    }
    one_session(
        connection,
        "WHERE agent = ?1 AND left_id = ?2 AND workspace_id = ?3",
        params![agent, agent_id, workspace_id],
    )
}

/// Returns the session of a workspace that is in an agent's conversation.
pub(crate) fn find_session_named(
    connection: &Connection,
    agent: &str,
    agent_id: &str,
    workspace_id: i64,
) -> Result<Option<SessionRow>> {
    let mut rows = sessions_named(connection, agent, agent_id)?.into_iter();
    Ok(rows.find(|row| row.workspace_id == workspace_id))
}

/// Returns the sessions with an agent's id, one a workspace: first where the newest event was recorded. Each event asks
/// twice.
fn sessions_named(connection: &Connection, agent: &str, agent_id: &str) -> Result<Vec<SessionRow>> {
    let sql = format!("SELECT {SESSION} FROM sessions WHERE agent = ?1 AND agent_id = ?2");
    let what = "cannot look a session up";
    let mut rows = read::all_or(connection, what, &sql, [agent, agent_id], SessionRow::read)?;
    // Here, because there is one row as a rule, and SQLite would plan to sort it each time.
    let newest = |row: &SessionRow| Reverse((row.last_event.is_some(), row.last_event_at, row.seq));
    rows.sort_by_key(newest);
    Ok(rows)
}

/// Returns the session with an agent's id where it works: where its newest event was recorded, or, for an event that
/// names one of its running tools, where that tool began. A row that only the event of a sub-agent made, which works
/// elsewhere, comes last.
pub(crate) fn session_at_home(
    connection: &Connection,
    agent: &str,
    agent_id: &str,
    running_tool: Option<&str>,
) -> Result<Option<SessionRow>> {
    let mut rows = sessions_named(connection, agent, agent_id)?;
    rows.retain(|row| row.part_of.is_none());
    if let (Some(tool), 2..) = (running_tool, rows.len()) {
        let is_there = |row: &SessionRow| runs_tool(connection, &row.id, tool);
        for at in 0..rows.len() {
            if is_there(&rows[at])? {
                return Ok(Some(rows.swap_remove(at)));
            }
        }
    }
    let row = rows.into_iter().next();
    match row {
        Some(row) => Ok(Some(row)),
        None => one_session(
            connection,
            "WHERE agent = ?1 AND left_id = ?2 AND part_of IS NULL",
            params![agent, agent_id],
        ),
    }
}

/// Returns the session of a workspace that was heard of last from a process, leaving out those of sub-agents.
pub(crate) fn session_of_process(
    connection: &Connection,
    workspace_id: i64,
    process: &str,
) -> Result<Option<SessionRow>> {
    one_session(
        connection,
        "WHERE workspace_id = ?1 AND process = ?2 AND parent_id IS NULL ORDER BY last_event_at DESC, seq DESC LIMIT 1",
        params![workspace_id, process],
    )
}

/// Returns the session of a workspace that was reverted last and can be redone.
pub(crate) fn newest_reverted_session(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Option<SessionRow>> {
    one_session(
        connection,
        "WHERE workspace_id = ?1 AND revert_base_id IS NOT NULL
         ORDER BY (SELECT max(seq) FROM operations WHERE operations.session_id = sessions.id) DESC, seq DESC LIMIT 1",
        [workspace_id],
    )
}

/// Returns the session of a workspace that was reverted last of those that are reverted in another root.
pub(crate) fn newest_reverted_beside(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Option<SessionRow>> {
    one_session(
        connection,
        "WHERE workspace_id = ?1 AND (part_of IS NOT NULL OR has_parts)
           AND EXISTS (SELECT 1 FROM sessions AS other WHERE other.revert_base_id IS NOT NULL
                          AND ifnull(other.part_of, other.id) = ifnull(sessions.part_of, sessions.id))
         ORDER BY (SELECT max(seq) FROM operations WHERE operations.session_id = sessions.id) DESC, seq DESC LIMIT 1",
        [workspace_id],
    )
}

row! {
    /// A message without a recorded step.
    #[derive(Clone, Debug)]
    pub(crate) struct SteplessMessage {
        pub id: String,
        /// The workspace just before it.
        pub snapshot_id: i64,
        /// The snapshot before the session's next message, or `None` for the newest message.
        pub next_snapshot_id: Option<i64>,
    }
}

/// Returns the messages of a session that have a snapshot but no step, oldest first: those from one `seq` up to, but
/// not including, another, or to the end.
pub(crate) fn stepless_messages(
    connection: &Connection,
    session: &str,
    from_seq: i64,
    to_seq: Option<i64>,
) -> Result<Vec<SteplessMessage>> {
    let sql = "
        SELECT id, snapshot_id,
               (SELECT next.snapshot_id FROM messages AS next
                 WHERE next.session_id = ?1 AND next.seq > messages.seq AND next.snapshot_id IS NOT NULL
                   AND next.state <> 'discarded' ORDER BY next.seq LIMIT 1) AS next_snapshot_id
          FROM messages
         WHERE session_id = ?1 AND seq >= ?2 AND (?3 IS NULL OR seq < ?3) AND state <> 'discarded' AND snapshot_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.message_id = messages.id)
         ORDER BY seq";
    let values = params![session, from_seq, to_seq];
    read::all(connection, sql, values, SteplessMessage::read)
}

/// Returns the root of a session: the one at the top of its line of parents.
pub(crate) fn root_of(connection: &Connection, session: &SessionRow) -> Result<SessionRow> {
    let mut root = session.clone();
    // A line of parents is as long as sub-agents are nested. The limit is for rows that are not ours.
    for _ in 0..64 {
        let Some(parent_id) = &root.parent_id else {
            break;
        };
        match self::session(connection, parent_id)? {
            Some(parent) => root = parent,
            None => break,
        }
    }
    Ok(root)
}

/// Returns the session of an event, and adds it if it is new.
pub(crate) fn upsert_session(
    connection: &Connection,
    workspace_id: i64,
    event: &Event,
    parent_id: Option<&str>,
    cwd: &str,
    now: Milliseconds,
) -> Result<SessionRow> {
    let find = || find_session(connection, &event.agent, &event.session_id, workspace_id);
    if let Some(known) = find()? {
        return Ok(known);
    }
    let sql = "INSERT INTO sessions (id, workspace_id, agent, agent_id, parent_id, cwd, started_at, last_event_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)";
    let values = params![
        super::new_id(),
        workspace_id,
        event.agent,
        event.session_id,
        parent_id,
        cwd,
        now
    ];
    super::execute(connection, "cannot add a session", sql, values)?;
    find()?.ok_or_else(|| crate::error::Error::failed("a session that was just added is not there"))
}

/// The `last_event` of a session while the agent runs one of our commands that its user typed.
pub(crate) const COMMAND: &str = "command";

/// Notes an event of a session, and whether its agent reports tools. Once it has, it counts as doing so. A command of ours
/// that the user typed is not a sign of the agent's life, nor is its call of us.
///
/// What becomes of the row is computed here: each event writes it, and the same in SQL would take four times as long to
/// plan.
pub(crate) fn touch_session(
    connection: &Connection,
    session: &SessionRow,
    event: &Event,
    tells_of_tools: bool,
    now: Milliseconds,
) -> Result<()> {
    use ckpt_schema::EventKind::{SessionEnd, StepFinish, StepStart, UserMessage};
    let is_typed = event.is_command && event.event == UserMessage;
    let in_command = session.last_event.as_deref() == Some(COMMAND);
    // The mark of a command of ours stays while the model is only called to run it: that is not a step.
    let goes_on = event.is_command || matches!(event.event, StepStart | StepFinish);
    let is_marked = is_typed || (goes_on && in_command);
    let is_of_command = is_marked && (event.is_command || session.tool_events);
    let is_own = session.agent_id == event.session_id;
    let transcript = event.transcript_path.as_deref().filter(|_| is_own);
    let sql = "UPDATE sessions SET last_event_at = ?2, last_event = ?3, ended_at = ?4, tool_events = ?5,
                    transcript = ifnull(?6, transcript), interrupted_at = ifnull(?7, interrupted_at) WHERE id = ?1";
    let values = params![
        session.id,
        if is_of_command {
            session.last_event_at
        } else {
            now
        },
        if is_marked {
            COMMAND
        } else {
            event.event.name()
        },
        (event.event == SessionEnd).then_some(now),
        session.tool_events || tells_of_tools,
        transcript.and_then(Path::to_str),
        event.interrupted.then_some(now),
    ];
    super::execute(connection, "cannot note an event", sql, values)?;
    match &event.process {
        Some(process) => note_process(connection, session, process, event.is_long_lived),
        None => Ok(()),
    }
}

/// Notes that a process called for a session. One that is long-lived, or that called for its parent as well, counts as seen
/// twice.
fn note_process(
    connection: &Connection,
    session: &SessionRow,
    process: &str,
    is_long_lived: bool,
) -> Result<()> {
    let sql = "UPDATE sessions SET process = ?2, process_seen = iif(process IS ?2, min(process_seen + 1, 2), 1 +
                    (?3 OR EXISTS (SELECT 1 FROM sessions AS above WHERE above.id = sessions.parent_id AND above.process = ?2)))
              WHERE id = ?1";
    let values = params![session.id, process, is_long_lived];
    super::execute(connection, "cannot note the agent's process", sql, values)
}

/// Moves the revert point of a session; both are `None` once nothing is reverted.
pub(crate) fn set_revert_point(
    connection: &Connection,
    session: &str,
    message: Option<&str>,
    base: Option<i64>,
) -> Result<()> {
    let sql = "UPDATE sessions SET revert_message_id = ?2, revert_base_id = ?3 WHERE id = ?1";
    let what = "cannot move the revert point";
    super::execute(connection, what, sql, params![session, message, base])
}

/// Returns the message with our id.
pub(crate) fn message(connection: &Connection, id: &str) -> Result<Option<MessageRow>> {
    one_message(connection, "WHERE id = ?1", [id])
}

/// Returns whether a message came after an operation began, so that it is permanent.
pub(crate) fn has_message_since(connection: &Connection, operation: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM messages JOIN operations ON operations.id = ?1
                WHERE messages.session_id = operations.session_id AND messages.created_at >= started_at";
    read::any(connection, "cannot read messages", sql, [operation])
}

/// Returns when the message with our id was sent.
pub(crate) fn message_time(connection: &Connection, id: &str) -> Result<Milliseconds> {
    let sql = "SELECT created_at FROM messages WHERE id = ?1";
    read::value(connection, "cannot read a message", sql, [id])
}

/// Returns the message with an agent's id.
pub(crate) fn find_message_by_agent_id(
    connection: &Connection,
    session: &str,
    agent_id: &str,
) -> Result<Option<MessageRow>> {
    one_message(
        connection,
        "WHERE session_id = ?1 AND agent_id = ?2 ORDER BY seq DESC LIMIT 1",
        [session, agent_id],
    )
}

/// Returns how many messages of a session share a turn.
pub(crate) fn messages_of_turn(
    connection: &Connection,
    session: &str,
    turn_id: &str,
) -> Result<u64> {
    let sql = "SELECT count(*) FROM messages WHERE session_id = ?1 AND turn_id = ?2";
    let what = "cannot count a turn's messages";
    read::one(connection, what, sql, [session, turn_id], |row| {
        read::count(row, 0)
    })
}

/// Returns a session's newest message that is not discarded.
pub(crate) fn newest_message(connection: &Connection, session: &str) -> Result<Option<MessageRow>> {
    one_message(
        connection,
        "WHERE session_id = ?1 AND state <> 'discarded' ORDER BY seq DESC LIMIT 1",
        [session],
    )
}

/// Returns a session's newest message that is not discarded and has begun: one that was sent while a tool ran waits for
/// its snapshot.
pub(crate) fn newest_begun_message(
    connection: &Connection,
    session: &str,
) -> Result<Option<MessageRow>> {
    one_message(
        connection,
        "WHERE session_id = ?1 AND state <> 'discarded' AND pending = 0 ORDER BY seq DESC LIMIT 1",
        [session],
    )
}

/// Returns a session's first message that is not discarded, from a `seq` on.
pub(crate) fn message_at_or_after(
    connection: &Connection,
    session: &str,
    seq: i64,
) -> Result<Option<MessageRow>> {
    one_message(
        connection,
        "WHERE session_id = ?1 AND seq >= ?2 AND state <> 'discarded' ORDER BY seq LIMIT 1",
        params![session, seq],
    )
}

/// Returns the message after the revert point, to which a redo moves it.
pub(crate) fn next_hidden_message(
    connection: &Connection,
    session: &str,
    seq: i64,
) -> Result<Option<MessageRow>> {
    one_message(
        connection,
        "WHERE session_id = ?1 AND seq > ?2 AND state = 'hidden' ORDER BY seq LIMIT 1",
        params![session, seq],
    )
}

/// Adds a message.
pub(crate) fn insert_message(
    connection: &Connection,
    row: &NewMessage,
    now: Milliseconds,
) -> Result<()> {
    let sql = "INSERT INTO messages (id, session_id, agent_id, turn_id, prompt, snapshot_id, pending, unprotected, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        row.id,
        row.session_id,
        row.agent_id,
        row.turn_id,
        row.prompt,
        row.snapshot_id,
        row.pending,
        row.unprotected,
        now
    ];
    super::execute(connection, "cannot add a message", sql, values)?;
    feed::message_added(connection, &row.id, &row.session_id)
}

/// Gives the messages that were sent while a tool ran the snapshot of the boundary that has come.
pub(crate) fn bind_pending_messages(
    connection: &Connection,
    session: &str,
    snapshot_id: Option<i64>,
    unprotected: Option<&str>,
) -> Result<()> {
    let sql = "UPDATE messages SET pending = 0, snapshot_id = ?2, unprotected = ?3 WHERE session_id = ?1 AND pending = 1";
    let what = "cannot bind a message to its snapshot";
    let values = params![session, snapshot_id, unprotected];
    super::execute(connection, what, sql, values)
}

/// Hides the messages from a `seq` on, and shows those before it. Without one, shows all.
pub(crate) fn set_hidden_from(
    connection: &Connection,
    session: &str,
    seq: Option<i64>,
) -> Result<()> {
    feed::messages_hidden_from(connection, session, seq)?;
    let sql = "UPDATE messages SET state = iif(?2 IS NOT NULL AND seq >= ?2, 'hidden', 'live') WHERE session_id = ?1 AND state <> 'discarded'";
    let what = "cannot hide messages";
    super::execute(connection, what, sql, params![session, seq])
}

/// Makes a pending revert permanent: hidden messages are discarded.
pub(crate) fn discard_hidden_messages(connection: &Connection, session: &str) -> Result<usize> {
    feed::hidden_messages_discarded(connection, session)?;
    let sql = "UPDATE messages SET state = 'discarded' WHERE session_id = ?1 AND state = 'hidden'";
    super::changed(connection, "cannot discard hidden messages", sql, [session])
}

/// Returns the ids of a session's messages from a `seq` on, oldest first, without discarded ones.
pub(crate) fn messages_from(
    connection: &Connection,
    session: &str,
    seq: i64,
) -> Result<Vec<String>> {
    read::all_or(
        connection,
        "cannot read messages",
        "SELECT id FROM messages WHERE session_id = ?1 AND seq >= ?2 AND state <> 'discarded' ORDER BY seq",
        params![session, seq],
        |row| row.get(0),
    )
}
