//! Rows of `steps`, `tools` and `step_paths`.

use std::collections::BTreeSet;

use ckpt_schema::ToolKind;
use ckpt_schema::event::Event;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{feed, rows};
use crate::error::{Context, Result};
use crate::model::Milliseconds;
use crate::model::entry::{ObjectId, State};
use crate::model::path::WorkspacePath;
use crate::model::path_list;

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepRow {
    pub seq: i64,
    pub id: String,
    pub session_id: String,
    pub message_id: String,
    pub agent_id: Option<String>,
    /// Whether it was closed, or made, without its own finish and start.
    pub recovered: bool,
    pub unprotected: Option<String>,
    pub start_snapshot_id: Option<i64>,
    pub finish_snapshot_id: Option<i64>,
}

/// A step with what decides whose the changes of now are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenStep {
    pub row: StepRow,
    /// When it started.
    pub started_at: Milliseconds,
    /// Its tools, in the order in which they were told of.
    pub tools: Vec<ToolRow>,
    /// Where its agent shows that it lives.
    pub life: Life,
    /// The session at the top of its session's line of parents.
    pub root_session_id: String,
    /// Whether its agent sends tool events.
    pub tool_events: bool,
    /// When its session was last heard of.
    pub last_event_at: Milliseconds,
    /// Whether it has started a tool.
    pub has_tools: bool,
    /// Whether one of them has not finished.
    pub has_running: bool,
    /// The files that its edit tools named.
    pub paths: Vec<StepPath>,
}

/// A tool of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolRow {
    /// What it may change; none where that is anything.
    pub kind: Option<ToolKind>,
    /// The files that it names.
    pub paths: Vec<WorkspacePath>,
    pub started_at: Milliseconds,
    pub finished_at: Option<Milliseconds>,
    /// How long it ran, in milliseconds.
    pub ran_for: Option<Milliseconds>,
    /// Since when it waited for permission.
    pub waited_at: Option<Milliseconds>,
    /// Whether a command of it goes on in the background, as far as is known.
    pub is_in_background: bool,
}

/// Where an agent shows that it lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// Its process, once several calls have come from the same one.
    pub process: Option<String>,
    /// The path of its own record of the conversation.
    pub transcript: Option<String>,
    /// When the user interrupted it, as it told.
    pub interrupted_at: Option<Milliseconds>,
}

impl Life {
    /// Reads the columns of a session.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let is_believed = row.get::<_, i64>("process_seen")? > 1;
        Ok(Self {
            process: row
                .get::<_, Option<String>>("process")?
                .filter(|_| is_believed),
            transcript: row.get("transcript")?,
            interrupted_at: row.get("interrupted_at")?,
        })
    }
}

/// The columns of a session that [`Life`] is read from.
const LIFE: &str =
    "sessions.process, sessions.process_seen, sessions.transcript, sessions.interrupted_at";

/// A file that an edit tool named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepPath {
    pub path: WorkspacePath,
    /// What it was, where an ignore rule hid it from the snapshots then.
    pub hidden_before: Option<State>,
}

const COLUMNS: &str =
    "steps.seq, steps.id, steps.session_id, steps.message_id, steps.agent_id, steps.recovered, steps.unprotected,
                       steps.start_snapshot_id, steps.finish_snapshot_id";

impl StepRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get("seq")?,
            id: row.get("id")?,
            session_id: row.get("session_id")?,
            message_id: row.get("message_id")?,
            agent_id: row.get("agent_id")?,
            recovered: row.get("recovered")?,
            unprotected: row.get("unprotected")?,
            start_snapshot_id: row.get("start_snapshot_id")?,
            finish_snapshot_id: row.get("finish_snapshot_id")?,
        })
    }
}

/// A step with the snapshots that it lies between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepSides {
    pub step_id: String,
    pub session_id: String,
    pub message_id: String,
    pub message_seq: i64,
    pub start: i64,
    pub started_at: Milliseconds,
    /// None while it is open.
    pub finish: Option<i64>,
    /// Whether rules of the repository, the user or the settings are others at its end, or it changed an ignore file.
    pub changed_rules: bool,
}

/// Returns the steps of a session's messages, from one on, with those of its sub-agents, oldest first; not those of messages
/// that were reverted for good.
pub(crate) fn step_sides(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
) -> Result<Vec<StepSides>> {
    let mut statement = connection
        .prepare_cached(
            "SELECT steps.id AS step, steps.session_id AS session, messages.id AS message, messages.seq AS seq,
                    start_snapshot_id, finish_snapshot_id, began.taken_at AS started_at,
                    began.rules_blob IS NOT ended.rules_blob
                    OR EXISTS (SELECT 1 FROM changes
                                WHERE changes.step_id = steps.id
                                  AND (path = '.gitignore' OR path LIKE '%/.gitignore')) AS changed_rules
               FROM messages
               JOIN steps ON steps.message_id = messages.id
               JOIN snapshots AS began ON began.id = start_snapshot_id
               LEFT JOIN snapshots AS ended ON ended.id = finish_snapshot_id
              WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND messages.state <> 'discarded'
              ORDER BY steps.seq",
        )
        .context(|| "cannot read steps")?;
    let rows = statement
        .query_map(params![root_session, from_seq], |row| {
            Ok(StepSides {
                step_id: row.get("step")?,
                session_id: row.get("session")?,
                message_id: row.get("message")?,
                message_seq: row.get("seq")?,
                start: row.get("start_snapshot_id")?,
                started_at: row.get("started_at")?,
                finish: row.get("finish_snapshot_id")?,
                changed_rules: row.get("changed_rules")?,
            })
        })
        .context(|| "cannot read steps")?;
    rows.collect::<rusqlite::Result<_>>()
        .context(|| "cannot read steps")
}

/// Returns the step with our id.
pub(crate) fn step(connection: &Connection, id: &str) -> Result<Option<StepRow>> {
    connection
        .query_row(
            &format!("SELECT {COLUMNS} FROM steps WHERE id = ?1"),
            [id],
            StepRow::read,
        )
        .optional()
        .context(|| "cannot look a step up")
}

/// Returns the newest step of a session that the agent calls so.
pub(crate) fn find_step_by_agent_id(
    connection: &Connection,
    session: &str,
    agent_id: &str,
) -> Result<Option<StepRow>> {
    connection
        .query_row(
            &format!("SELECT {COLUMNS} FROM steps WHERE session_id = ?1 AND agent_id = ?2 ORDER BY seq DESC LIMIT 1"),
            [session, agent_id],
            StepRow::read,
        )
        .optional()
        .context(|| "cannot look a step up")
}

/// Returns the newest step of a session.
pub(crate) fn newest_step(connection: &Connection, session: &str) -> Result<Option<StepRow>> {
    connection
        .query_row(
            &format!("SELECT {COLUMNS} FROM steps WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1"),
            [session],
            StepRow::read,
        )
        .optional()
        .context(|| "cannot look a step up")
}

/// Returns the open steps of a workspace, in the order in which they started.
pub(crate) fn open_steps(connection: &Connection, workspace_id: i64) -> Result<Vec<OpenStep>> {
    steps_where(connection, workspace_id, "steps.state = 'open'")
}

/// Returns the steps of a workspace that have ended and of which a command goes on in the background, in the order in which
/// they started.
pub(crate) fn steps_in_background(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<OpenStep>> {
    let is_left = "steps.state = 'closed' AND sessions.ended_at IS NULL
               AND steps.id IN (SELECT step_id FROM tools WHERE background = 1 AND released_at IS NULL)";
    steps_where(connection, workspace_id, is_left)
}

fn steps_where(
    connection: &Connection,
    workspace_id: i64,
    condition: &str,
) -> Result<Vec<OpenStep>> {
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, steps.started_at, sessions.tool_events, sessions.last_event_at, sessions.parent_id, {LIFE}
               FROM steps JOIN sessions ON sessions.id = steps.session_id
              WHERE {condition} AND sessions.workspace_id = ?1 ORDER BY steps.seq"
        ))
        .context(|| "cannot read open steps")?;
    let rows = statement
        .query_map([workspace_id], |row| {
            let step = StepRow::read(row)?;
            let parent: Option<String> = row.get("parent_id")?;
            Ok(OpenStep {
                root_session_id: parent.unwrap_or_else(|| step.session_id.clone()),
                row: step,
                started_at: row.get("started_at")?,
                tool_events: row.get("tool_events")?,
                last_event_at: row.get("last_event_at")?,
                life: Life::read(row)?,
                ..OpenStep::default()
            })
        })
        .context(|| "cannot read open steps")?;
    let mut steps: Vec<OpenStep> = rows
        .collect::<rusqlite::Result<_>>()
        .context(|| "cannot read open steps")?;
    for step in &mut steps {
        if step.root_session_id != step.row.session_id {
            let parent = rows::session(connection, &step.root_session_id)?;
            let root = parent
                .map(|parent| rows::root_of(connection, &parent))
                .transpose()?;
            step.root_session_id = root.map_or_else(|| step.row.session_id.clone(), |root| root.id);
        }
        step.paths = step_paths(connection, &step.row.id)?;
        step.tools = tools(connection, &step.row.id)?;
        step.has_tools = !step.tools.is_empty();
        step.has_running = step.tools.iter().any(|tool| tool.finished_at.is_none());
    }
    Ok(steps)
}

/// Returns the tools of a step, in the order in which they were told of.
fn tools(connection: &Connection, step: &str) -> Result<Vec<ToolRow>> {
    let mut statement = connection
        .prepare_cached(
            "SELECT kind, paths, started_at, finished_at, ran_for, waited_at, background AND released_at IS NULL AS is_left
               FROM tools WHERE step_id = ?1 ORDER BY id",
        )
        .context(|| "cannot read the tools of a step")?;
    let rows = statement
        .query_map([step], |row| {
            let kind: Option<String> = row.get("kind")?;
            let paths: String = row.get("paths")?;
            Ok(ToolRow {
                kind: kind.as_deref().and_then(ToolKind::from_name),
                paths: path_list::from_json(&paths),
                started_at: row.get("started_at")?,
                finished_at: row.get("finished_at")?,
                ran_for: row.get("ran_for")?,
                waited_at: row.get("waited_at")?,
                is_in_background: row.get("is_left")?,
            })
        })
        .context(|| "cannot read the tools of a step")?;
    rows.collect::<rusqlite::Result<_>>()
        .context(|| "cannot read the tools of a step")
}

/// Adds an open step; `row.seq` is not looked at.
pub(crate) fn insert_step(connection: &Connection, row: &StepRow, now: Milliseconds) -> Result<()> {
    connection
        .execute(
            "INSERT INTO steps (id, session_id, message_id, agent_id, state, unprotected, start_snapshot_id, started_at)
             VALUES (?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7)",
            params![row.id, row.session_id, row.message_id, row.agent_id, row.unprotected, row.start_snapshot_id, now],
        )
        .context(|| "cannot add a step")?;
    feed::step_opened(connection, &row.id)
}

/// Moves the start of a step whose first tool is about to run to now.
pub(crate) fn move_step_start(
    connection: &Connection,
    step: &str,
    snapshot_id: Option<i64>,
    unprotected: Option<&str>,
    now: Milliseconds,
) -> Result<()> {
    connection
        .execute(
            "UPDATE steps SET start_snapshot_id = ?2, unprotected = ?3, started_at = ?4 WHERE id = ?1",
            params![step, snapshot_id, unprotected, now],
        )
        .context(|| "cannot move a step's start")?;
    Ok(())
}

/// Closes a step and its tools. An agent's id for it that is only known now is noted.
pub(crate) fn close_step(
    connection: &Connection,
    step: &str,
    agent_id: Option<&str>,
    finish: Option<i64>,
    recovered: bool,
    unprotected: Option<&str>,
    now: Milliseconds,
) -> Result<()> {
    connection
        .execute(
            "UPDATE steps SET state = 'closed', finish_snapshot_id = ?3, recovered = ?4, finished_at = ?6,
                    agent_id = ifnull(agent_id, ?2), unprotected = ifnull(unprotected, ?5) WHERE id = ?1",
            params![step, agent_id, finish, recovered, unprotected, now],
        )
        .context(|| "cannot close a step")?;
    feed::step_closed(connection, step)?;
    finish_tools(connection, step, None, now)
}

/// Adds a tool that is about to run, with the files that it names; one that is there already is not added again.
pub(crate) fn insert_tool(
    connection: &Connection,
    step: &str,
    event: &Event,
    paths: &[WorkspacePath],
    started_at: Milliseconds,
) -> Result<()> {
    // An edit tool of which no file is known, or one outside the workspace alone, is not known to change nothing else.
    let kind = event.tool_kind.map(ToolKind::name);
    connection
        .prepare_cached(
            "INSERT INTO tools (step_id, agent_id, name, started_at, kind, paths)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6
              WHERE ?2 IS NULL OR NOT EXISTS (SELECT 1 FROM tools WHERE step_id = ?1 AND agent_id = ?2)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                step,
                event.tool_use_id,
                event.tool_name,
                started_at,
                kind,
                path_list::to_json(paths),
            ])
        })
        .context(|| "cannot add a tool")?;
    Ok(())
}

/// Notes that a tool of a step waits for the user's permission: the one that the agent calls so, else the newest that runs.
pub(crate) fn note_wait(
    connection: &Connection,
    step: &str,
    event: &Event,
    now: Milliseconds,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE tools SET waited_at = ?2 WHERE id = (
               SELECT max(id) FROM tools WHERE step_id = ?1 AND finished_at IS NULL AND waited_at IS NULL
                  AND (?3 IS NULL OR agent_id = ?3))",
        )
        .and_then(|mut statement| statement.execute(params![step, now, event.tool_use_id]))
        .context(|| "cannot note that a tool waits")?;
    Ok(())
}

/// Notes what the end of a tool tells of it beside its time. One whose beginning was lost began with its step, or when its
/// duration says.
pub(crate) fn finish_tool(
    connection: &Connection,
    step: &str,
    event: &Event,
    now: Milliseconds,
) -> Result<()> {
    let ran_for = event
        .duration_ms
        .map(|duration| i64::try_from(duration).unwrap_or(i64::MAX));
    if event.tool_use_id.is_some() {
        let started_at = match ran_for {
            Some(ran_for) => now.saturating_sub(ran_for),
            None => step_started_at(connection, step)?,
        };
        insert_tool(connection, step, event, &[], started_at)?;
    }
    connection
        .prepare_cached(
            "UPDATE tools SET ran_for = ?3, background = ?4
              WHERE step_id = ?1 AND finished_at IS NULL AND (?2 = agent_id OR (?2 IS NULL AND id = (
                SELECT min(id) FROM tools WHERE step_id = ?1 AND finished_at IS NULL)))",
        )
        .and_then(|mut statement| {
            let is_left = event.background == Some(true);
            statement.execute(params![step, event.tool_use_id, ran_for, is_left])
        })
        .context(|| "cannot note how long a tool ran")?;
    finish_tools(connection, step, Some(event.tool_use_id.as_deref()), now)
}

fn step_started_at(connection: &Connection, step: &str) -> Result<Milliseconds> {
    connection
        .prepare_cached("SELECT started_at FROM steps WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([step], |row| row.get(0)))
        .context(|| "cannot read a step")
}

/// Notes that no command of a session goes on in the background.
pub(crate) fn release_background(
    connection: &Connection,
    session: &str,
    now: Milliseconds,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE tools SET released_at = ?2 WHERE background = 1 AND released_at IS NULL
                AND step_id IN (SELECT id FROM steps WHERE session_id = ?1)",
        )
        .and_then(|mut statement| statement.execute(params![session, now]))
        .context(|| "cannot note the end of a command in the background")?;
    Ok(())
}

/// Notes that a step's tool ended: the one that the agent calls so; where the agent does not name its tools, the oldest that
/// still runs; all of them where no tool is given.
pub(crate) fn finish_tools(
    connection: &Connection,
    step: &str,
    tool: Option<Option<&str>>,
    now: Milliseconds,
) -> Result<()> {
    let all = tool.is_none();
    let agent_id = tool.flatten();
    connection
        .prepare_cached(
            "UPDATE tools SET finished_at = ?2 WHERE step_id = ?1 AND finished_at IS NULL AND (
               ?3 OR agent_id = ?4 OR (?4 IS NULL AND id = (SELECT min(id) FROM tools WHERE step_id = ?1 AND finished_at IS NULL))
             )",
        )
        .and_then(|mut statement| statement.execute(params![step, now, all, agent_id]))
        .context(|| "cannot note the end of a tool")?;
    Ok(())
}

/// Notes a file that an edit tool names; the first time counts.
pub(crate) fn insert_step_path(
    connection: &Connection,
    step: &str,
    named: &StepPath,
) -> Result<()> {
    let before = named.hidden_before.flatten();
    connection
        .prepare_cached(
            "INSERT INTO step_paths (step_id, path, path_raw, captured, mode, blob) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                step,
                named.path.to_text(),
                named.path.raw(),
                named.hidden_before.is_some(),
                before.map(|entry| entry.mode),
                before.and_then(|entry| entry.blob),
            ])
        })
        .context(|| "cannot note a file that a tool names")?;
    Ok(())
}

/// Returns the files that a step's edit tools named.
pub(crate) fn step_paths(connection: &Connection, step: &str) -> Result<Vec<StepPath>> {
    let mut statement = connection
        .prepare_cached("SELECT path, path_raw, captured, mode, blob FROM step_paths WHERE step_id = ?1 ORDER BY path")
        .context(|| "cannot read the files that tools named")?;
    let rows = statement
        .query_map([step], |row| {
            let captured: bool = row.get("captured")?;
            let state = super::state(row, "mode", "blob")?;
            Ok(StepPath {
                path: super::path(row)?,
                hidden_before: captured.then_some(state),
            })
        })
        .context(|| "cannot read the files that tools named")?;
    rows.collect::<rusqlite::Result<_>>()
        .context(|| "cannot read the files that tools named")
}

/// Returns the files of a workspace that snapshots hold although an ignore rule hides them: edit tools named them.
pub(crate) fn forced_paths(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<WorkspacePath>> {
    let mut statement = connection
        .prepare_cached(
            "SELECT DISTINCT step_paths.path, step_paths.path_raw FROM step_paths
               JOIN steps ON steps.id = step_paths.step_id JOIN sessions ON sessions.id = steps.session_id
              WHERE step_paths.captured = 1 AND sessions.workspace_id = ?1",
        )
        .context(|| "cannot read the files that tools named")?;
    let rows = statement
        .query_map([workspace_id], super::path)
        .context(|| "cannot read the files that tools named")?;
    let paths: BTreeSet<WorkspacePath> = rows
        .collect::<rusqlite::Result<_>>()
        .context(|| "cannot read the files that tools named")?;
    Ok(paths.into_iter().collect())
}

/// The rows that were written last for a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastRows {
    /// The tree of its newest snapshot.
    pub tree: ObjectId,
    /// The newest message that was written with it, if any was.
    pub message: Option<String>,
    /// The newest step that was written with it, if any was.
    pub step: Option<String>,
}

/// Returns whether rows are there, whichever workspace has them by now.
pub(crate) fn has_rows(connection: &Connection, rows: &LastRows) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM snapshots WHERE tree = ?1)
                AND (?2 IS NULL OR EXISTS (SELECT 1 FROM messages WHERE id = ?2))
                AND (?3 IS NULL OR EXISTS (SELECT 1 FROM steps WHERE id = ?3))",
        )
        .and_then(|mut statement| {
            let values = params![rows.tree, rows.message, rows.step];
            statement.query_row(values, |row| row.get(0))
        })
        .context(|| "cannot look for the last rows")
}

/// Marks that rows of a workspace were lost: its open steps know no more what they did, and where none is open, the newest
/// message gets a step that was not recorded, from the newest snapshot until now.
pub(crate) fn mark_lost(
    connection: &Connection,
    workspace_id: i64,
    why: &str,
    now: Milliseconds,
) -> Result<()> {
    let what = || "cannot mark that rows were lost";
    let marked = connection
        .execute(
            "UPDATE steps SET unprotected = ifnull(unprotected, ?2)
              WHERE state = 'open' AND session_id IN (SELECT id FROM sessions WHERE workspace_id = ?1)",
            params![workspace_id, why],
        )
        .context(what)?;
    if marked > 0 {
        return Ok(());
    }
    connection
        .execute(
            "INSERT INTO steps (id, session_id, message_id, state, recovered, unprotected, start_snapshot_id, started_at, finished_at)
             SELECT ?2, messages.session_id, messages.id, 'closed', 1, ?3, newest.id,
                    ifnull(newest.taken_at, messages.created_at), ?4
               FROM messages JOIN sessions ON sessions.id = messages.session_id
               LEFT JOIN (SELECT max(id) AS id, taken_at FROM snapshots WHERE workspace_id = ?1) AS newest
              WHERE sessions.workspace_id = ?1 AND messages.state <> 'discarded'
              ORDER BY messages.seq DESC LIMIT 1",
            params![workspace_id, super::new_id(), why, now],
        )
        .context(what)?;
    Ok(())
}

/// Returns whether a step that was not recorded was at work between two snapshots, or since one.
pub(crate) fn was_unrecorded(
    connection: &Connection,
    workspace_id: i64,
    from_snapshot_id: Option<i64>,
    to_snapshot_id: Option<i64>,
) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (
               SELECT 1 FROM steps JOIN sessions ON sessions.id = steps.session_id
                WHERE sessions.workspace_id = ?1 AND steps.unprotected IS NOT NULL
                  AND steps.started_at <= ifnull((SELECT taken_at FROM snapshots WHERE id = ?3), steps.started_at)
                  AND ifnull(steps.finished_at >= (SELECT taken_at FROM snapshots WHERE id = ?2), 1))",
        )
        .and_then(|mut statement| {
            statement.query_row(params![workspace_id, from_snapshot_id, to_snapshot_id], |row| row.get(0))
        })
        .context(|| "cannot read steps")
}

/// Returns the steps of a session's messages, from a place in the order on, whose changes nobody saw, each with the reason.
pub(crate) fn unprotected_steps(
    connection: &Connection,
    root_session: &str,
    from_seq: Option<i64>,
) -> Result<Vec<(String, String)>> {
    let Some(from_seq) = from_seq else {
        return Ok(Vec::new());
    };
    let mut statement = connection
        .prepare_cached(
            "SELECT steps.id, steps.unprotected FROM messages JOIN steps ON steps.message_id = messages.id
              WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND messages.state <> 'discarded'
                AND steps.unprotected IS NOT NULL ORDER BY steps.seq",
        )
        .context(|| "cannot read unprotected steps")?;
    let rows = statement
        .query_map(params![root_session, from_seq], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .context(|| "cannot read unprotected steps")?;
    rows.collect::<rusqlite::Result<_>>()
        .context(|| "cannot read unprotected steps")
}
