//! Rows of `steps`.

use std::ops::RangeInclusive;

use rusqlite::{Connection, Params, Row, params};

use super::read::{self, Columns, row};
use super::tools::{EndedTools, StepPath, ToolRow, finish_tools, step_paths, tools};
use super::{MessageRow, feed, rows, sub_agents, totals};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepRow {
    pub id: String,
    pub session_id: String,
    pub message_id: String,
    pub agent_id: Option<String>,
    /// Whether it was closed without its own finish, or made without its own start.
    pub recovered: bool,
    pub unprotected: Option<String>,
    pub start_snapshot_id: Option<i64>,
    pub finish_snapshot_id: Option<i64>,
}

/// A step, with what attributing changes to it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenStep {
    pub row: StepRow,
    /// The time of its start.
    pub started_at: Milliseconds,
    /// Its tools, in the order in which they were reported.
    pub tools: Vec<ToolRow>,
    /// Where signs of its agent's life are found.
    pub life: Life,
    /// The root of its session: the one at the top of its line of parents.
    pub root_session_id: String,
    /// Whether its agent sends tool events.
    pub tool_events: bool,
    /// When the last event of its session came.
    pub last_event_at: Milliseconds,
    /// Whether it has started a tool.
    pub has_tools: bool,
    /// Whether one of them is still running.
    pub has_running: bool,
    /// The files that its edit tools named.
    pub paths: Vec<StepPath>,
}

impl OpenStep {
    /// Returns the last moment that is known of the step itself.
    pub fn last_moment(&self) -> Milliseconds {
        let moments = |tool: &ToolRow| [Some(tool.started_at), tool.waited_at, tool.finished_at];
        let told = self.tools.iter().flat_map(moments).flatten();
        told.chain([self.started_at]).max().unwrap_or_default()
    }
}

/// Where signs of an agent's life are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// Its process, once several calls have come from the same one.
    pub process: Option<String>,
    /// The process that its last call came from: the agent's, or one between the agent and the hook.
    pub caller: Option<String>,
    /// The path of the agent's transcript.
    pub transcript: Option<String>,
    /// When the user interrupted it, as it reported.
    pub interrupted_at: Option<Milliseconds>,
    /// Whether nothing was heard of it since its user typed one of our own commands.
    pub is_commanded: bool,
    /// When its conversation first went on without a sub-agent that tells of no tools: by a message, or the end of a turn.
    pub left_at: Option<Milliseconds>,
}

impl Life {
    /// Reads the next columns, which are those of [`LIFE`].
    pub(super) fn next(columns: &mut Columns<'_>) -> rusqlite::Result<Self> {
        let caller: Option<String> = columns.next()?;
        // One call alone may have come through a shell, which is gone by now: its end says nothing about the agent.
        let is_believed = columns.next::<i64>()? > 1;
        Ok(Self {
            process: caller.clone().filter(|_| is_believed),
            caller,
            transcript: columns.next()?,
            interrupted_at: columns.next()?,
            is_commanded: columns.next::<Option<String>>()?.as_deref() == Some(rows::COMMAND),
            left_at: None,
        })
    }
}

/// The columns of a session that [`Life`] is read from.
const LIFE: &str = "sessions.process, sessions.process_seen, sessions.transcript, sessions.interrupted_at, sessions.last_event";

const COLUMNS: &str =
    "steps.id, steps.session_id, steps.message_id, steps.agent_id, steps.recovered, steps.unprotected,
                       steps.start_snapshot_id, steps.finish_snapshot_id";

impl StepRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Self::next(&mut Columns::of(row))
    }

    /// Reads the next columns.
    fn next(columns: &mut Columns<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: columns.next()?,
            session_id: columns.next()?,
            message_id: columns.next()?,
            agent_id: columns.next()?,
            recovered: columns.next()?,
            unprotected: columns.next()?,
            start_snapshot_id: columns.next()?,
            finish_snapshot_id: columns.next()?,
        })
    }
}

row! {
    /// A step with the snapshots that it lies between.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct StepSides {
        pub step_id: String,
        pub session_id: String,
        pub message_id: String,
        pub message_seq: i64,
        pub start: i64,
        pub started_at: Milliseconds,
        /// `None` while it is open.
        pub finish: Option<i64>,
        /// The time of its end, which may be later than its last snapshot if nothing changed.
        pub finished_at: Option<Milliseconds>,
        /// Whether the rules of the repository, the user or the settings changed until its end, or it changed an ignore
        /// file.
        pub changed_rules: bool,
        /// The seen entries of its snapshots; none after it while it is open.
        pub seen: (Option<ObjectId>, Option<ObjectId>) = |row| Ok((row.get("seen_before")?, row.get("seen_after")?)),
    }
}

/// Returns the steps of a session's messages from a `seq` on, including its sub-agents', oldest first. Messages that
/// were reverted for good are left out.
pub(crate) fn step_sides(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
) -> Result<Vec<StepSides>> {
    let sql = "SELECT steps.id AS step_id, steps.session_id, messages.id AS message_id, messages.seq AS message_seq,
                    start_snapshot_id AS start, finish_snapshot_id AS finish, steps.finished_at AS finished_at, began.taken_at AS started_at,
                    began.seen_blob AS seen_before, ended.seen_blob AS seen_after,
                    began.rules_blob IS NOT ended.rules_blob
                    OR EXISTS (SELECT 1 FROM changes
                                WHERE changes.step_id = steps.id
                                  AND (path = '.gitignore' OR path LIKE '%/.gitignore')) AS changed_rules
               FROM messages
               JOIN steps ON steps.message_id = messages.id
               JOIN snapshots AS began ON began.id = start_snapshot_id
               LEFT JOIN snapshots AS ended ON ended.id = finish_snapshot_id
              WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND messages.state <> 'discarded'
              ORDER BY steps.seq";
    read::all_or(
        connection,
        "cannot read steps",
        sql,
        params![root_session, from_seq],
        StepSides::read,
    )
}

/// Returns the snapshots before and after the steps of a workspace that changed what a git tree does not tell, such as permissions
/// of directories, newest first. An open step has none after it.
pub(crate) fn steps_with_attributes(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<(i64, Option<i64>)>> {
    let sql = "SELECT start_snapshot_id, finish_snapshot_id FROM steps
               JOIN snapshots AS began ON began.id = start_snapshot_id
               LEFT JOIN snapshots AS ended ON ended.id = finish_snapshot_id
              WHERE began.workspace_id = ?1 AND began.pruned_at IS NULL AND ended.pruned_at IS NULL
                AND (ended.id IS NULL OR began.attributes_blob IS NOT ended.attributes_blob)
              ORDER BY steps.seq DESC";
    read::all_or(
        connection,
        "cannot read steps",
        sql,
        [workspace_id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Returns whether a step of another conversation in a workspace was open during a part of one.
pub(crate) fn is_another_at_work(
    connection: &Connection,
    workspace_id: i64,
    span: &StepSides,
) -> Result<bool> {
    let sql = "SELECT 1 FROM steps
                 JOIN messages ON messages.id = steps.message_id
                 JOIN sessions ON sessions.id = messages.session_id
                WHERE sessions.workspace_id = ?1 AND steps.started_at <= ifnull(?4, steps.started_at)
                  AND ifnull(steps.finished_at, ?3) >= ?3
                  AND messages.session_id <> (SELECT session_id FROM messages WHERE id = ?2)";
    let values = params![
        workspace_id,
        span.message_id,
        span.started_at,
        span.finished_at
    ];
    read::any(connection, "cannot read who was at work", sql, values)
}

fn one_step(
    connection: &Connection,
    rest: &str,
    parameters: impl Params,
) -> Result<Option<StepRow>> {
    let sql = format!("SELECT {COLUMNS} FROM steps {rest}");
    let what = "cannot look up a step";
    read::one_or_none(connection, what, &sql, parameters, StepRow::read)
}

/// Returns the step with our id.
pub(crate) fn step(connection: &Connection, id: &str) -> Result<Option<StepRow>> {
    one_step(connection, "WHERE id = ?1", [id])
}

/// Returns the newest step of a session with an agent's id.
pub(crate) fn find_step_by_agent_id(
    connection: &Connection,
    session: &str,
    agent_id: &str,
) -> Result<Option<StepRow>> {
    one_step(
        connection,
        "WHERE session_id = ?1 AND agent_id = ?2 ORDER BY seq DESC LIMIT 1",
        [session, agent_id],
    )
}

/// Returns the newest step of a session.
pub(crate) fn newest_step(connection: &Connection, session: &str) -> Result<Option<StepRow>> {
    one_step(
        connection,
        "WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1",
        [session],
    )
}

/// Returns the step of a session and of a message that had begun last at a moment, and when it did.
pub(crate) fn step_at(
    connection: &Connection,
    session: &str,
    message: &str,
    at: Milliseconds,
) -> Result<Option<(StepRow, Milliseconds)>> {
    let sql = format!(
        "SELECT {COLUMNS}, started_at FROM steps
          WHERE session_id = ?1 AND message_id = ?2 AND started_at <= ?3 ORDER BY seq DESC LIMIT 1"
    );
    let values = params![session, message, at];
    read::one_or_none(connection, "cannot look up a step", &sql, values, |row| {
        Ok((StepRow::read(row)?, row.get("started_at")?))
    })
}

/// Gives the steps of one message to another from a step on. What a sub-agent does that began before that step stays
/// with the message in which it was started.
pub(crate) fn hand_over_steps(
    connection: &Connection,
    from: &str,
    step: &str,
    to: &str,
) -> Result<()> {
    let sql = "UPDATE steps SET message_id = ?3
              WHERE message_id = ?1 AND seq >= (SELECT seq FROM steps WHERE id = ?2)
                AND (session_id = (SELECT session_id FROM steps WHERE id = ?2)
                     OR NOT EXISTS (SELECT 1 FROM steps AS earlier
                                     WHERE earlier.session_id = steps.session_id AND earlier.message_id = ?1
                                       AND earlier.seq < (SELECT seq FROM steps WHERE id = ?2)))";
    let what = "cannot give steps to another message";
    super::execute(connection, what, sql, [from, step, to])?;
    totals::forget_totals(connection, &[from.to_owned()])
}

/// Returns when the last step of a session ended before one, or when that one's message was sent, whichever is later.
pub(crate) fn boundary_before(connection: &Connection, step: &str) -> Result<Milliseconds> {
    let sql = "SELECT max(ifnull((SELECT max(finished_at) FROM steps AS earlier
                                 WHERE earlier.session_id = steps.session_id AND earlier.seq < steps.seq), 0),
                        (SELECT created_at FROM messages WHERE id = steps.message_id))
               FROM steps WHERE id = ?1";
    let what = "cannot read when a step may have begun";
    read::value(connection, what, sql, [step])
}

/// Returns the open steps of a workspace, in the order in which they started.
pub(crate) fn open_steps(connection: &Connection, workspace_id: i64) -> Result<Vec<OpenStep>> {
    let is_here = |workspace, _| workspace == workspace_id;
    steps_where(connection, "state = 'open'", [], is_here)
}

/// Returns how many steps a message has, its sub-agents' included.
pub(crate) fn count_steps(connection: &Connection, message: &str) -> Result<i64> {
    let sql = "SELECT count(*) FROM steps WHERE message_id = ?1";
    read::value(connection, "cannot count a message's steps", sql, [message])
}

/// Returns a step, open or not, with what attributing changes to it needs.
pub(crate) fn step_with_tools(connection: &Connection, id: &str) -> Result<Option<OpenStep>> {
    Ok(steps_where(connection, "id = ?1", [id], |_, _| true)?.pop())
}

/// Closes open steps of a workspace at its newest snapshot: what changed since is not theirs, or it is unknown for a
/// reason.
pub(crate) fn close_open_steps(
    connection: &Connection,
    workspace_id: i64,
    which: impl Fn(&OpenStep) -> bool,
    unprotected: Option<&str>,
    now: Milliseconds,
) -> Result<()> {
    let newest = super::workspace(connection, workspace_id)?.last_snapshot_id;
    let open = open_steps(connection, workspace_id)?;
    for step in open.iter().filter(|step| which(step)) {
        let end = StepEnd {
            unprotected,
            ..StepEnd::recovered(newest)
        };
        close_step(connection, &step.row.id, end, now)?;
    }
    Ok(())
}

/// Returns the ended steps of a workspace that left a command running in the background, in the order in which they
/// started.
pub(crate) fn steps_in_background(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<OpenStep>> {
    let is_left = "state = 'closed'
               AND id IN (SELECT step_id FROM tools WHERE background = 1 AND released_at IS NULL)";
    let is_here = |workspace, goes_on| goes_on && workspace == workspace_id;
    steps_where(connection, is_left, [], is_here)
}

/// Returns the steps of a workspace that had ended and that went on at some moment of a span, each with when it ended, in
/// the order in which they started. Those of its two newest messages and since: everything was looked at for a message.
pub(crate) fn steps_ended_around(
    connection: &Connection,
    workspace_id: i64,
    span: RangeInclusive<Milliseconds>,
) -> Result<Vec<(OpenStep, Milliseconds)>> {
    let sql = "SELECT steps.id, steps.finished_at
                 FROM sessions JOIN steps ON steps.session_id = sessions.id
                WHERE sessions.workspace_id = ?1 AND steps.state = 'closed'
                  AND steps.started_at <= ?3 AND steps.finished_at >= ?2
                  AND steps.started_at >= (
                      SELECT min(created_at) FROM (
                          SELECT messages.created_at
                            FROM sessions AS own JOIN messages ON messages.session_id = own.id
                           WHERE own.workspace_id = ?1 ORDER BY messages.seq DESC LIMIT 2))
                ORDER BY steps.seq";
    let what = "cannot read the steps that ended lately";
    let parameters = params![workspace_id, span.start(), span.end()];
    let ended = read::all_or(connection, what, sql, parameters, |row| {
        Ok((row.get::<_, String>(0)?, row.get(1)?))
    })?;
    ended
        .into_iter()
        .map(|(id, ended_at)| Ok(step_with_tools(connection, &id)?.map(|step| (step, ended_at))))
        .filter_map(Result::transpose)
        .collect()
}

/// Returns whether a step of a workspace, one of the newest, ended without a look after the snapshot with this id.
pub(crate) fn was_look_missed(
    connection: &Connection,
    workspace_id: i64,
    since: Option<i64>,
) -> Result<bool> {
    const NEWEST: u32 = 64;
    let sql = "SELECT 1 FROM (SELECT session_id, unprotected, finished_at FROM steps ORDER BY seq DESC LIMIT ?3)
                 JOIN sessions ON sessions.id = session_id
                WHERE workspace_id = ?1 AND unprotected IS NOT NULL
                  AND finished_at > (SELECT taken_at FROM snapshots WHERE id = ?2)";
    let what = "cannot look for steps without a look";
    read::any(connection, what, sql, params![workspace_id, since, NEWEST])
}

/// Returns whether there is such a step. Each event asks, and the answer is nearly always no, which the tools alone
/// tell.
pub(crate) fn has_steps_in_background(connection: &Connection, workspace_id: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM tools WHERE background = 1 AND released_at IS NULL";
    let what = "cannot look for commands in the background";
    let has_tool = read::any(connection, what, sql, [])?;
    Ok(has_tool && !steps_in_background(connection, workspace_id)?.is_empty())
}

/// Returns the steps that fit a condition, of the sessions that are meant: by their workspace, and by whether they go on.
fn steps_where(
    connection: &Connection,
    condition: &str,
    parameters: impl Params,
    is_meant: impl Fn(i64, bool) -> bool,
) -> Result<Vec<OpenStep>> {
    // Whatever the condition, few steps fit it, and mostly none: to ask for their sessions as well would cost each event
    // twice as much.
    let what = "cannot read open steps";
    let sql = format!("SELECT {COLUMNS}, started_at, seq FROM steps WHERE {condition}");
    let mut found = read::all_or(connection, what, &sql, parameters, |row| {
        let mut columns = Columns::of(row);
        let row = StepRow::next(&mut columns)?;
        let started_at: Milliseconds = columns.next()?;
        Ok((columns.next::<i64>()?, row, started_at))
    })?;
    found.sort_unstable_by_key(|(seq, ..)| *seq);
    let mut steps = Vec::new();
    for (_, row, started_at) in found {
        let sql = format!(
            "SELECT workspace_id, ended_at IS NULL, parent_id, tool_events, last_event_at, {LIFE}
               FROM sessions WHERE id = ?1"
        );
        let session_id = row.session_id.clone();
        let step = read::one(connection, what, &sql, [&session_id], |session| {
            let mut columns = Columns::of(session);
            if !is_meant(columns.next()?, columns.next()?) {
                return Ok(None);
            }
            let parent: Option<String> = columns.next()?;
            Ok(Some(OpenStep {
                root_session_id: parent.unwrap_or_else(|| row.session_id.clone()),
                row,
                started_at,
                tool_events: columns.next()?,
                last_event_at: columns.next()?,
                life: Life::next(&mut columns)?,
                ..OpenStep::default()
            }))
        })?;
        steps.extend(step);
    }
    for step in &mut steps {
        step.paths = step_paths(connection, &step.row.id)?;
        step.tools = tools(connection, &step.row.id)?;
        step.has_tools = !step.tools.is_empty();
        step.has_running = step.tools.iter().any(|tool| tool.finished_at.is_none());
        if step.root_session_id != step.row.session_id {
            let parent = rows::session(connection, &step.root_session_id)?;
            let root = parent
                .map(|parent| rows::root_of(connection, &parent))
                .transpose()?;
            if let Some(root) = root.as_ref().filter(|_| step.has_running) {
                let ended = sub_agents::ended_with_parent(connection, step, root)?;
                step.life.interrupted_at = step.life.interrupted_at.max(ended);
            } else if let Some(root) = root.as_ref().filter(|_| !step.tool_events) {
                step.life.left_at = sub_agents::left_at(connection, step, root)?;
            }
            step.root_session_id = root.map_or_else(|| step.row.session_id.clone(), |root| root.id);
        }
    }
    Ok(steps)
}

/// Adds an open step, or one that has ended. A session has one open step at most.
pub(crate) fn insert_step(
    connection: &Connection,
    row: &StepRow,
    started_at: Milliseconds,
    ended_at: Option<Milliseconds>,
) -> Result<()> {
    let sql = "INSERT INTO steps (id, session_id, message_id, agent_id, state, recovered, unprotected, start_snapshot_id, started_at, finished_at)
             VALUES (?1, ?2, ?3, ?4, iif(?9 IS NULL, 'open', 'closed'), ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        row.id,
        row.session_id,
        row.message_id,
        row.agent_id,
        row.recovered,
        row.unprotected,
        row.start_snapshot_id,
        started_at,
        ended_at
    ];
    super::execute(connection, "cannot add a step", sql, values)?;
    totals::outdate(connection, [row.id.as_str()])?;
    feed::step(connection, &row.id)?;
    match ended_at {
        Some(_) => feed::step_closed(connection, &row.id),
        None => Ok(()),
    }
}

/// Moves the start of a step to now: its first tool is about to run.
pub(crate) fn move_step_start(
    connection: &Connection,
    step: &str,
    snapshot_id: Option<i64>,
    unprotected: Option<&str>,
    now: Milliseconds,
) -> Result<()> {
    let sql =
        "UPDATE steps SET start_snapshot_id = ?2, unprotected = ?3, started_at = ?4 WHERE id = ?1";
    let values = params![step, snapshot_id, unprotected, now];
    super::execute(connection, "cannot move a step's start", sql, values)
}

/// How a step ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepEnd<'a> {
    /// The agent's id for the step, if it gave one only now.
    pub agent_id: Option<&'a str>,
    /// The snapshot at its end; `None` if the workspace could not be captured.
    pub snapshot_id: Option<i64>,
    /// Whether no event reported this end.
    pub recovered: bool,
    /// Why its changes were not seen, if so.
    pub unprotected: Option<&'a str>,
}

impl StepEnd<'_> {
    /// Returns an end that no event reported.
    pub fn recovered(snapshot_id: Option<i64>) -> Self {
        Self {
            snapshot_id,
            recovered: true,
            ..Self::default()
        }
    }
}

/// Closes a step and its tools.
pub(crate) fn close_step(
    connection: &Connection,
    step: &str,
    end: StepEnd<'_>,
    now: Milliseconds,
) -> Result<()> {
    let StepEnd {
        agent_id,
        snapshot_id,
        recovered,
        unprotected,
    } = end;
    let sql = "UPDATE steps SET state = 'closed', finish_snapshot_id = ?3, recovered = ?4, finished_at = ?6,
                    agent_id = ifnull(agent_id, ?2), unprotected = ifnull(unprotected, ?5) WHERE id = ?1";
    let values = params![step, agent_id, snapshot_id, recovered, unprotected, now];
    super::execute(connection, "cannot close a step", sql, values)?;
    totals::outdate(connection, [step])?;
    feed::step_closed(connection, step)?;
    finish_tools(connection, step, EndedTools::All, now)
}

/// Returns the snapshot at the start of the first step that has one, of a message or a later one of its session.
pub(crate) fn first_start_since(
    connection: &Connection,
    message: &MessageRow,
) -> Result<Option<i64>> {
    let sql = "SELECT start_snapshot_id FROM steps JOIN messages ON messages.id = message_id
              WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND start_snapshot_id IS NOT NULL
              ORDER BY steps.seq LIMIT 1";
    let what = "cannot read the steps of a message";
    let values = params![message.session_id, message.seq];
    read::value_or_none(connection, what, sql, values)
}
