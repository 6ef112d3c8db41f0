//! Rows of `tools` and `step_paths`: what ran in a step, and the files that it named.

use std::collections::HashMap;
use std::path::Path;

use ckpt_schema::ToolKind;
use ckpt_schema::event::Event;
use rusqlite::{Connection, params};

use super::WorkspaceRow;
use super::read::{self, Columns};
use super::steps::{Life, OpenStep, step_with_tools};
use super::words::{WordTable, optional_word};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::State;
use crate::model::path::WorkspacePath;
use crate::model::path_list;

/// A tool of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolRow {
    /// The agent's id of this use of it.
    pub agent_id: Option<String>,
    /// What it may change; `None` means anything.
    pub kind: Option<ToolKind>,
    /// The files that it names.
    pub paths: Vec<WorkspacePath>,
    pub started_at: Milliseconds,
    pub finished_at: Option<Milliseconds>,
    /// How long it ran, in milliseconds.
    pub ran_for: Option<Milliseconds>,
    /// When it began to wait for permission.
    pub waited_at: Option<Milliseconds>,
    /// Whether it is known to have a command running in the background.
    pub is_in_background: bool,
    /// Whether neither its start nor its end was reported, only that it ran in its step. Not in the row: it matters
    /// when the step ends.
    pub is_unheard: bool,
}

/// A file that an edit tool named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepPath {
    pub path: WorkspacePath,
    /// Its state before, if an ignore rule hid it from snapshots.
    pub hidden_before: Option<State>,
}

/// Returns the tools of a step, in the order in which they were reported.
pub(super) fn tools(connection: &Connection, step: &str) -> Result<Vec<ToolRow>> {
    let sql = "SELECT agent_id, paths, started_at, finished_at, ran_for, waited_at, background AND released_at IS NULL, kind, id
               FROM tools WHERE step_id = ?1 ORDER BY id";
    let what = "cannot read the tools of a step";
    read::all_or(connection, what, sql, [step], |row| {
        let mut columns = Columns::of(row);
        Ok(ToolRow {
            agent_id: columns.next()?,
            paths: path_list::from_damaged_json(&columns.next::<String>()?),
            started_at: columns.next()?,
            finished_at: columns.next()?,
            ran_for: columns.next()?,
            waited_at: columns.next()?,
            is_in_background: columns.next()?,
            kind: optional_word(row, WordTable::Tools, "kind")?,
            is_unheard: false,
        })
    })
}

/// A tool of an agent in a workspace around another one, or a whole step of one that does not report tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OuterTool {
    pub session_id: String,
    /// The tool, with the files that it named in the inner workspace, by their paths there. There are none if it may
    /// change any file.
    pub tool: ToolRow,
    /// When the last event of its session came.
    pub last_event_at: Milliseconds,
    /// Where its agent shows that it lives.
    pub life: Life,
}

/// The tools of agents in workspaces around one that had not ended when a snapshot was taken; the whole step if an
/// agent does not report tools. If an agent has sent no event since, only what still runs can have changed anything.
/// A shell of a conversation that works in the inner workspace as well, by a sub-agent, is no rival of its own.
/// `CROSS JOIN` keeps the order of the tables: most workspaces have none around them, and then nothing else is read.
// Not `LIKE`, which takes a `_` or `%` of a path for a wildcard, and ignores case.
const OUTER_TOOLS: &str = "
    WITH since (at) AS (SELECT ifnull((SELECT taken_at FROM snapshots WHERE id = ?2), 0)),
         around (id, path) AS MATERIALIZED (
           SELECT id, path FROM workspaces WHERE replaced_at IS NULL AND path_raw IS NULL
              AND substr(?1, 1, length(path) + 1) = path || '/'),
         worked (path, session, step) AS (
           SELECT around.path, sessions.seq, steps.seq FROM since CROSS JOIN around
            CROSS JOIN sessions ON sessions.workspace_id = around.id CROSS JOIN steps ON steps.session_id = sessions.id
            WHERE sessions.last_event_at >= since.at AND ifnull(steps.finished_at >= since.at, 1)
            UNION ALL
           SELECT around.path, sessions.seq, steps.seq FROM since CROSS JOIN around
            CROSS JOIN steps ON steps.state = 'open' CROSS JOIN sessions ON sessions.id = steps.session_id
            WHERE sessions.workspace_id = around.id AND sessions.last_event_at < since.at AND sessions.ended_at IS NULL)
    SELECT worked.path, steps.session_id, last_event_at, process, process_seen, transcript, interrupted_at, last_event, ran_for, waited_at,
           ifnull(tools.started_at, steps.started_at), iif(tools.id IS NULL, steps.finished_at, tools.finished_at),
           ifnull(paths, '[]'), ifnull(paths, '[]') = '[]'
      FROM worked CROSS JOIN sessions ON sessions.seq = worked.session CROSS JOIN steps ON steps.seq = worked.step
      LEFT JOIN tools ON tools.step_id = steps.id
     WHERE iif(tools.id IS NULL, sessions.tool_events = 0, tools.paths <> '[]' OR tools.kind IS NOT 'read')
       AND ifnull(tools.finished_at >= (SELECT at FROM since), 1)
       AND (ifnull(paths, '[]') <> '[]' OR NOT EXISTS (
           SELECT 1 FROM sessions AS here
            WHERE here.workspace_id = ?3 AND here.agent = sessions.agent AND here.agent_id = sessions.agent_id))";

/// Returns the tools in workspaces around one that named files in it, or may have changed any, and had not ended when
/// a snapshot was taken.
pub(crate) fn outer_tools(
    connection: &Connection,
    inner: &WorkspaceRow,
    since_snapshot: Option<i64>,
) -> Result<Vec<OuterTool>> {
    let what = "cannot read the tools of agents around a workspace";
    let values = params![inner.path.to_string_lossy(), since_snapshot, inner.id];
    let tools: Vec<Option<OuterTool>> =
        read::all_or(connection, what, OUTER_TOOLS, values, |row| {
            let mut columns = Columns::of(row);
            let around: String = columns.next()?;
            let mut outer = OuterTool {
                session_id: columns.next()?,
                last_event_at: columns.next()?,
                life: Life::next(&mut columns)?,
                tool: ToolRow {
                    ran_for: columns.next()?,
                    waited_at: columns.next()?,
                    started_at: columns.next()?,
                    finished_at: columns.next()?,
                    ..ToolRow::default()
                },
            };
            let paths = path_list::from_damaged_json(&columns.next::<String>()?);
            outer.tool.paths = within(&inner.path, Path::new(&around), &paths);
            let is_shell: bool = columns.next()?;
            let reaches_in = is_shell || !outer.tool.paths.is_empty();
            Ok(reaches_in.then_some(outer))
        })?;
    Ok(tools.into_iter().flatten().collect())
}

/// Returns the paths that are in an inner workspace, relative to it.
fn within(inner: &Path, around: &Path, paths: &[WorkspacePath]) -> Vec<WorkspacePath> {
    let below = |path: &WorkspacePath| WorkspacePath::in_workspace(inner, &path.on_disk(around));
    paths.iter().filter_map(below).collect()
}

/// Returns whether a tool with the agent's id was reported in a session, by its start or by its end.
pub(crate) fn is_tool_known(
    connection: &Connection,
    session: &str,
    agent_id: &str,
) -> Result<bool> {
    let sql = "SELECT 1 FROM steps CROSS JOIN tools ON tools.step_id = steps.id
                WHERE steps.session_id = ?1 AND tools.agent_id = ?2";
    read::any(
        connection,
        "cannot look up a tool",
        sql,
        [session, agent_id],
    )
}

/// Returns whether a tool with the agent's id runs in an open step of a session.
pub(super) fn runs_tool(connection: &Connection, session: &str, agent_id: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM steps CROSS JOIN tools ON tools.step_id = steps.id
                WHERE steps.session_id = ?1 AND steps.state = 'open' AND tools.agent_id = ?2
                  AND tools.finished_at IS NULL";
    read::any(
        connection,
        "cannot look up a tool",
        sql,
        [session, agent_id],
    )
}

/// Returns the ended step of a session's tool. If the tool may have changed something and nothing told of its end yet, it
/// has none.
pub(crate) fn ended_step_of_tool(
    connection: &Connection,
    session: &str,
    tool: &str,
) -> Result<Option<OpenStep>> {
    // The end of a step ends the tools that run, for want of a better time.
    let sql = "SELECT steps.id, tools.kind IS NOT 'read' AND tools.finished_at = steps.finished_at
                 FROM steps CROSS JOIN tools ON tools.step_id = steps.id
                WHERE steps.session_id = ?1 AND tools.agent_id = ?2 AND steps.state = 'closed'
                ORDER BY steps.seq DESC LIMIT 1";
    let what = "cannot look up a tool";
    let found: Option<(String, bool)> =
        read::one_or_none(connection, what, sql, [session, tool], |row| row.try_into())?;
    let Some((step, went_on)) = found else {
        return Ok(None);
    };
    let mut step = step_with_tools(connection, &step)?;
    for row in step.iter_mut().flat_map(|step| &mut step.tools) {
        if went_on && row.agent_id.as_deref() == Some(tool) {
            row.finished_at = None;
        }
    }
    Ok(step)
}

/// Adds a tool that is about to run, with the files that it names. A tool that was added before is not added again.
pub(crate) fn insert_tool(
    connection: &Connection,
    step: &str,
    event: &Event,
    paths: &[WorkspacePath],
    outside: &[String],
    command: Option<&str>,
    started_at: Milliseconds,
) -> Result<()> {
    // An edit tool without a known file, or only with one outside the workspace, may change other files as well.
    let kind = event.tool_kind.map(ToolKind::name);
    let sql =
        "INSERT INTO tools (step_id, agent_id, name, started_at, kind, paths, outside, command)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = params![
        step,
        event.tool_use_id,
        event.tool_name,
        started_at,
        kind,
        path_list::to_json(paths),
        serde_json::Value::from(outside).to_string(),
        command,
    ];
    super::execute(connection, "cannot add a tool", sql, values)
}

/// Returns the paths outside the workspace that tools of a session's messages named or ran in, and those in which steps
/// ran, from a `seq` on, sorted.
pub(crate) fn files_outside(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
) -> Result<Vec<String>> {
    let sql = "WITH of_messages AS (
                 SELECT steps.id, steps.outside FROM messages JOIN steps ON steps.message_id = messages.id
                  WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND messages.state <> 'discarded')
               SELECT named.value AS path
                 FROM of_messages
                 JOIN tools ON tools.step_id = of_messages.id
                 JOIN json_each(tools.outside) AS named
                WHERE tools.kind IS NOT 'read'
                UNION SELECT outside FROM of_messages WHERE outside IS NOT NULL
                ORDER BY path";
    read::all(connection, sql, params![root_session, from_seq], |row| {
        row.get("path")
    })
}

/// Notes that a step ran in a directory outside its workspace. The first one counts.
pub(crate) fn note_directory(connection: &Connection, step: &str, directory: &str) -> Result<()> {
    let sql = "UPDATE steps SET outside = ifnull(outside, ?2) WHERE id = ?1";
    let what = "cannot note where a step ran";
    super::execute(connection, what, sql, [step, directory])
}

/// Notes that a tool of a step waits for the user's permission: the one with the agent's id, or else the newest that
/// runs.
pub(crate) fn note_wait(
    connection: &Connection,
    step: &str,
    event: &Event,
    now: Milliseconds,
) -> Result<()> {
    let sql = "UPDATE tools SET waited_at = ?2 WHERE id = (
               SELECT max(id) FROM tools WHERE step_id = ?1 AND finished_at IS NULL AND waited_at IS NULL
                  AND (?3 IS NULL OR agent_id = ?3))";
    let what = "cannot note that a tool waits";
    super::execute(connection, what, sql, params![step, now, event.tool_use_id])
}

/// Notes the end of a tool, and what the event says about it.
pub(crate) fn finish_tool(
    connection: &Connection,
    step: &str,
    event: &Event,
    now: Milliseconds,
) -> Result<()> {
    let ran_for = event
        .duration_ms
        .map(|duration| i64::try_from(duration).unwrap_or(i64::MAX));
    // Before its end is noted, by the lack of which the tool is found.
    let sql = "UPDATE tools SET ran_for = ?3, background = ?4
              WHERE step_id = ?1 AND finished_at IS NULL AND (?2 = agent_id OR (?2 IS NULL AND id = (
                SELECT min(id) FROM tools WHERE step_id = ?1 AND finished_at IS NULL)))";
    let is_left = event.background == Some(true);
    let values = params![step, event.tool_use_id, ran_for, is_left];
    super::execute(connection, "cannot note how long a tool ran", sql, values)?;
    let ended = match event.tool_use_id.as_deref() {
        Some(agent_id) => EndedTools::Named(agent_id),
        None => EndedTools::Oldest,
    };
    finish_tools(connection, step, ended, now)
}

/// Notes when a tool really ended whose step had ended before.
pub(crate) fn note_late_end(
    connection: &Connection,
    step: &str,
    event: &Event,
    now: Milliseconds,
) -> Result<()> {
    let is_left = event.background == Some(true);
    let sql =
        "UPDATE tools SET finished_at = ?3, background = ?4 WHERE step_id = ?1 AND agent_id = ?2";
    let values = params![step, event.tool_use_id, now, is_left];
    super::execute(connection, "cannot note the end of a tool", sql, values)
}

/// Notes that no command of a session runs in the background any more.
pub(crate) fn release_background(
    connection: &Connection,
    session: &str,
    now: Milliseconds,
) -> Result<()> {
    let sql = "UPDATE tools SET released_at = ?2 WHERE background = 1 AND released_at IS NULL
                AND EXISTS (SELECT 1 FROM steps WHERE steps.id = tools.step_id AND steps.session_id = ?1)";
    let what = "cannot note the end of a command in the background";
    super::execute(connection, what, sql, params![session, now])
}

/// Which tools of a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedTools<'a> {
    /// All that still run, as the step ends.
    All,
    /// The one with the agent's id.
    Named(&'a str),
    /// The oldest that still runs: the agent does not name its tools.
    Oldest,
}

/// Notes that tools of a step ended.
pub(super) fn finish_tools(
    connection: &Connection,
    step: &str,
    ended: EndedTools<'_>,
    now: Milliseconds,
) -> Result<()> {
    let (all, agent_id) = match ended {
        EndedTools::All => (true, None),
        EndedTools::Named(agent_id) => (false, Some(agent_id)),
        EndedTools::Oldest => (false, None),
    };
    let sql = "UPDATE tools SET finished_at = ?2 WHERE step_id = ?1 AND finished_at IS NULL AND (
               ?3 OR agent_id = ?4 OR (?4 IS NULL AND id = (SELECT min(id) FROM tools WHERE step_id = ?1 AND finished_at IS NULL))
             )";
    let what = "cannot note the end of a tool";
    super::execute(connection, what, sql, params![step, now, all, agent_id])
}

/// Notes a file that an edit tool names. Only the first time counts.
pub(crate) fn insert_step_path(
    connection: &Connection,
    step: &str,
    named: &StepPath,
) -> Result<()> {
    let before = named.hidden_before.flatten();
    let sql = "INSERT INTO step_paths (step_id, path, path_raw, captured, mode, blob) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING";
    let values = params![
        step,
        named.path.to_text(),
        named.path.raw(),
        named.hidden_before.is_some(),
        before.map(|entry| entry.mode),
        before.and_then(|entry| entry.blob),
    ];
    let what = "cannot note a file that a tool names";
    super::execute(connection, what, sql, values)
}

/// Returns the files that a step's edit tools named.
pub(super) fn step_paths(connection: &Connection, step: &str) -> Result<Vec<StepPath>> {
    read::all_or(
        connection,
        "cannot read the files that tools named",
        "SELECT path, path_raw, captured, mode, blob FROM step_paths WHERE step_id = ?1 ORDER BY path",
        [step],
        |row| {
            let captured: bool = row.get("captured")?;
            let state = super::state(row, "mode", "blob")?;
            Ok(StepPath {
                path: super::path(row)?,
                hidden_before: captured.then_some(state),
            })
        },
    )
}

/// Notes that a file that a tool of a step named was written and yet as before when the step ended.
pub(crate) fn note_returned(
    connection: &Connection,
    step: &str,
    path: &WorkspacePath,
) -> Result<()> {
    let sql = "INSERT INTO step_paths (step_id, path, path_raw, returned) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT DO UPDATE SET returned = 1";
    let what = "cannot note what became of a file that a tool wrote";
    let values = params![step, path.to_text(), path.raw()];
    super::execute(connection, what, sql, values)
}

/// Returns the files of a workspace that tools of live messages wrote, that were yet as before when their steps ended, and
/// that nothing changed since, each with the newest of these steps.
pub(crate) fn returned_paths(
    connection: &Connection,
    workspace_id: i64,
) -> Result<HashMap<WorkspacePath, String>> {
    let sql = "SELECT step_paths.path, step_paths.path_raw, steps.id FROM step_paths
               CROSS JOIN steps ON steps.id = step_paths.step_id JOIN sessions ON sessions.id = steps.session_id
               JOIN messages ON messages.id = steps.message_id
              WHERE step_paths.returned = 1 AND sessions.workspace_id = ?1 AND messages.state = 'live'
                AND NOT EXISTS (SELECT 1 FROM changes
                                 WHERE changes.workspace_id = ?1 AND changes.path = step_paths.path
                                   AND changes.happened_at > steps.finished_at)
              ORDER BY steps.seq";
    let what = "cannot read the files that tools named";
    let rows = read::all_or(connection, what, sql, [workspace_id], |row| {
        Ok((super::path_at(row, 0, 1)?, row.get(2)?))
    })?;
    Ok(rows.into_iter().collect())
}

/// Returns the files of a workspace that snapshots hold even if an ignore rule hides them: edit tools named them.
pub(crate) fn forced_paths(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<WorkspacePath>> {
    // In this order: few paths are captured this way, but every workspace has many steps.
    let sql = "SELECT DISTINCT step_paths.path, step_paths.path_raw FROM step_paths
               CROSS JOIN steps ON steps.id = step_paths.step_id JOIN sessions ON sessions.id = steps.session_id
              WHERE step_paths.captured = 1 AND sessions.workspace_id = ?1";
    let mut paths = read::all_or(
        connection,
        "cannot read the files that tools named",
        sql,
        [workspace_id],
        super::path,
    )?;
    paths.sort_unstable();
    Ok(paths)
}
