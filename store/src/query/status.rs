//! `status`: the revert banner, and what the user should know of the recording.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{DiagnosticReport, FileAction, FileReport, FileResult, PathText, StatusReport, VERSION};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::ids;
use super::rows::{all, count, gaps, operation_file};
use crate::error::{Context, Result};
use crate::record::Place;
use crate::sessions::{self, SessionRow};
use crate::workspace::Workspace;
use crate::{Milliseconds, Store};

/// How long a session whose agent sends no tool events counts as at work after an event (design, section 4).
const BUSY_AFTER_EVENT: Milliseconds = 30_000;

/// How many unprotected steps and messages are named.
const UNPROTECTED: u32 = 20;

/// How many diagnostics are shown.
const DIAGNOSTICS: u32 = 5;

/// Tells the state of the workspace that holds a directory. Without a session, of the newest one that is not a sub-agent's;
/// where nothing was recorded, that nothing was.
pub(crate) fn status(store: &Store, cwd: &Path, session: Option<&str>) -> Result<StatusReport> {
    let connection = store.database.connection();
    // One moment for all that follows; nothing of it is slow.
    let _moment = connection.unchecked_transaction().context(|| "cannot read the session store")?;
    let mut report = empty(&root_of(store, cwd)?);
    (report.diagnostics, report.latest_diagnostics) = (count_diagnostics(connection)?, latest_diagnostics(connection)?);
    let Some(place) = Place::find(store, cwd)? else {
        // It fails, and says why.
        return if session.is_some() { Place::known(store, cwd).map(|_| report) } else { Ok(report) };
    };
    let session = match session {
        Some(id) => Some(ids::session(connection, place.row.id, id)?),
        None => newest_session(connection, place.row.id)?,
    };
    if let Some(session) = session {
        banner(connection, session, &mut report)?;
    }
    report.open_steps = count_open_steps(connection, place.row.id)?;
    report.agents_at_work = agents_at_work(connection, place.row.id, (store.surroundings.clock)())?;
    report.unprotected = unprotected(connection, place.row.id)?;
    report.gaps = place.row.last_snapshot_id.map_or(Ok(Vec::new()), |snapshot_id| gaps(connection, snapshot_id))?;
    Ok(report)
}

fn root_of(store: &Store, cwd: &Path) -> Result<PathBuf> {
    let surroundings = &store.surroundings;
    let workspace = Workspace::of(cwd, surroundings.home.as_deref(), &surroundings.directory, &surroundings.settings)?;
    Ok(workspace.root)
}

/// Returns the session that was heard of last, leaving out those of sub-agents.
fn newest_session(connection: &Connection, workspace_id: i64) -> Result<Option<SessionRow>> {
    let sql = "SELECT id FROM sessions WHERE workspace_id = ?1 AND parent_id IS NULL
                ORDER BY last_event_at DESC, seq DESC LIMIT 1";
    let id: Option<String> = connection
        .query_row(sql, [workspace_id], |row| row.get("id"))
        .optional()
        .context(|| "cannot read the sessions")?;
    id.map_or(Ok(None), |id| sessions::session(connection, &id))
}

fn empty(workspace: &Path) -> StatusReport {
    StatusReport {
        version: VERSION,
        workspace: workspace.to_string_lossy().into_owned(),
        session: None,
        agent: None,
        revert_point: None,
        messages_hidden: Vec::new(),
        files: Vec::new(),
        redo: false,
        open_steps: 0,
        agents_at_work: Vec::new(),
        unprotected: Vec::new(),
        gaps: Vec::new(),
        diagnostics: 0,
        latest_diagnostics: Vec::new(),
    }
}

/// Fills in what the session's reverts so far did.
fn banner(connection: &Connection, session: SessionRow, report: &mut StatusReport) -> Result<()> {
    report.messages_hidden = all(
        connection,
        "SELECT id FROM messages WHERE session_id = ?1 AND state = 'hidden' ORDER BY seq",
        [&session.id],
        |row| row.get("id"),
    )?;
    if let Some(base_id) = session.revert_base_id {
        report.files = reverted_files(connection, &session.id, base_id)?;
    }
    report.redo = session.revert_base_id.is_some();
    (report.session, report.agent) = (Some(session.id), Some(session.agent));
    report.revert_point = session.revert_message_id;
    Ok(())
}

/// A mode and a blob, as they are stored.
type Stored = (Option<String>, Option<String>);

/// A path of one operation of the chain, oldest first.
struct ChainFile {
    report: FileReport,
    expected: Stored,
    goal: Stored,
}

/// What became of a path in the chain so far.
struct Reverted {
    /// What stood there before the chain first looked at it.
    base: Stored,
    /// The newest row that did, or could not do, something.
    shown: Option<FileReport>,
}

/// Returns what the chain of reverts that began at a snapshot did to each file, by path.
fn reverted_files(connection: &Connection, session_id: &str, base_id: i64) -> Result<Vec<FileReport>> {
    // A chain that ended in an unrevert may have begun at the same snapshot.
    let sql = "
        SELECT operation_files.*
          FROM operations JOIN operation_files ON operation_id = operations.id
         WHERE session_id = ?1 AND base_snapshot_id = ?2 AND state = 'done' AND kind <> 'restore'
           AND seq > (SELECT ifnull(max(ended.seq), 0) FROM operations AS ended
                       WHERE ended.session_id = ?1 AND ended.state = 'done' AND ended.message_id IS NULL
                         AND ended.kind IN ('redo', 'unrevert'))
         ORDER BY seq, position";
    let rows = all(connection, sql, params![session_id, base_id], read_chain_file)?;
    let mut paths: BTreeMap<PathText, Reverted> = BTreeMap::new();
    for row in rows {
        let base = row.expected.clone();
        paths.entry(row.report.path.clone()).or_insert(Reverted { base, shown: None }).take(row);
    }
    Ok(paths.into_values().filter_map(|path| path.shown).collect())
}

impl Reverted {
    /// The newest row wins; a path that is what it was before the chain again is no longer reverted.
    fn take(&mut self, row: ChainFile) {
        let is_settled = row.report.action == FileAction::None || row.report.result == FileResult::Done;
        if is_settled && row.goal == self.base {
            self.shown = None;
        } else if row.report.action != FileAction::None {
            self.shown = Some(row.report);
        }
    }
}

fn read_chain_file(row: &Row<'_>) -> rusqlite::Result<ChainFile> {
    Ok(ChainFile {
        report: operation_file(row)?,
        expected: (row.get("expected_mode")?, row.get("expected_blob")?),
        goal: (row.get("goal_mode")?, row.get("goal_blob")?),
    })
}

fn count_open_steps(connection: &Connection, workspace_id: i64) -> Result<u64> {
    let sql = "SELECT count(*) AS open FROM steps JOIN sessions ON sessions.id = steps.session_id
                WHERE steps.state = 'open' AND sessions.workspace_id = ?1";
    connection.query_row(sql, [workspace_id], |row| count(row, "open")).context(|| "cannot count the steps")
}

/// Names the sessions of which a tool has started and not finished, or, where the agent sends no tool events, of which a
/// step is open and something was heard just now.
fn agents_at_work(connection: &Connection, workspace_id: i64, now: Milliseconds) -> Result<Vec<String>> {
    let sql = "
        SELECT DISTINCT sessions.seq, sessions.agent || ' ' || substr(sessions.id, 1, 8) AS name
          FROM steps JOIN sessions ON sessions.id = steps.session_id
         WHERE steps.state = 'open' AND sessions.workspace_id = ?1
           AND (EXISTS (SELECT 1 FROM tools WHERE tools.step_id = steps.id AND tools.finished_at IS NULL)
                OR (sessions.tool_events = 0 AND sessions.last_event_at > ?2))
         ORDER BY sessions.seq";
    all(connection, sql, [workspace_id, now - BUSY_AFTER_EVENT], |row| row.get("name"))
}

/// Names the newest steps and messages that cannot be put back, and why.
fn unprotected(connection: &Connection, workspace_id: i64) -> Result<Vec<String>> {
    let sql = "
        SELECT 'message ' || messages.id || ': ' || messages.unprotected AS text, messages.created_at AS at
          FROM messages JOIN sessions ON sessions.id = messages.session_id
         WHERE messages.unprotected IS NOT NULL AND sessions.workspace_id = ?1
        UNION ALL
        SELECT 'step ' || steps.id || ' of message ' || steps.message_id || ': ' || steps.unprotected, steps.started_at
          FROM steps JOIN sessions ON sessions.id = steps.session_id
         WHERE steps.unprotected IS NOT NULL AND sessions.workspace_id = ?1
         ORDER BY at DESC LIMIT ?2";
    all(connection, sql, params![workspace_id, UNPROTECTED], |row| row.get("text"))
}

fn count_diagnostics(connection: &Connection) -> Result<u64> {
    connection
        .query_row("SELECT count(*) AS all_of_them FROM diagnostics", [], |row| count(row, "all_of_them"))
        .context(|| "cannot count the diagnostics")
}

fn latest_diagnostics(connection: &Connection) -> Result<Vec<DiagnosticReport>> {
    let sql = "SELECT at, level, agent, event, message, detail FROM diagnostics ORDER BY id DESC LIMIT ?1";
    all(connection, sql, [DIAGNOSTICS], |row| {
        Ok(DiagnosticReport {
            time: row.get("at")?,
            level: row.get("level")?,
            agent: row.get("agent")?,
            event: row.get("event")?,
            message: row.get("message")?,
            detail: row.get("detail")?,
        })
    })
}
