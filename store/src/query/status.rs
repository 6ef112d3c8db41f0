//! `status`: the revert banner, and what the user should know about the recording.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{DiagnosticReport, GapReport, StatusReport, UnclearReport, VERSION};
use rusqlite::{Connection, Row, params};

use super::check::served_by_another;
use super::renames::of_operation;
use super::roots;
use crate::error::{Context, Error, Result};
use crate::fs::layout;
use crate::ids;
use crate::model::Milliseconds;
use crate::model::id::short;
use crate::model::item::Item;
use crate::revert::interrupted;
use crate::revert::request::chain::{reverted_files, undone_alone};
use crate::sessions::read::{self, all, count, gap_reports, path};
use crate::sessions::{self, DiagnosticLevel, OpenStep, SessionRow};
use crate::store::Store;
use crate::timeline::life::is_at_work;
use crate::timeline::root::Workspace;
use crate::timeline::{Place, offered};

/// How many unprotected steps and messages are named.
const UNPROTECTED: u32 = 20;

/// How many diagnostics are shown.
const DIAGNOSTICS: u32 = 5;

/// Returns the state of the workspace that holds a directory, or an empty one if nothing was recorded.
///
/// The default session is the one that `redo` would move: the one reverted last, or else the newest that is not a
/// sub-agent's.
pub(crate) fn status(store: &Store, cwd: &Path, session: Option<&str>) -> Result<StatusReport> {
    let connection = store.database.connection();
    // One read transaction for all that follows, so that the answers fit together. It is short.
    let _moment = connection
        .unchecked_transaction()
        .context(|| "cannot read the session store")?;
    let root = root_of(store, cwd)?;
    let mut report = empty(&root);
    report.adoptable = offered(store, &root)?;
    (report.diagnostics, report.latest_diagnostics) = (
        count_diagnostics(connection)?,
        latest_diagnostics(connection)?,
    );
    tell_of_server(store, &mut report);
    let Some(place) = Place::find(store, cwd)? else {
        report.unknown_workspaces = store.unknown_workspaces()? as u64;
        // An unknown session is an error that says so.
        return if session.is_some() {
            Place::known(store, cwd).map(|_| report)
        } else {
            Ok(report)
        };
    };
    let session = session_of(connection, place.row.id, session)?;
    let own = session.as_ref().map(|session| session.id.clone());
    report.also_reverted =
        sessions::other_reverted_sessions(connection, place.row.id, own.as_deref())?;
    let agents = store.surroundings.conversations;
    report.conversation = session
        .as_ref()
        .map(|session| agents.abilities(&session.agent));
    if let Some(session) = &session {
        report.roots = readable(roots::reverted(store, session), store.now(), &mut report);
        let pending = crate::revert::pending(connection, session)?;
        if let (Some(abilities), Some((_, fork))) = (&mut report.conversation, pending) {
            (abilities.argv, abilities.directory) = (fork.argv, fork.directory);
        }
    }
    match session {
        Some(session) => banner(connection, session, store.now(), &mut report)?,
        None => report.unknown_workspaces = store.unknown_workspaces()? as u64,
    }
    if !report.files.is_empty()
        && let Ok(snapshots) = place.snapshots()
    {
        of_operation(&snapshots, &mut report.files);
    }
    let open_steps = sessions::open_steps(connection, place.row.id)?;
    report.open_steps = open_steps.len() as u64;
    report.agents_at_work = agents_at_work(connection, &open_steps, store.now())?;
    report.first_snapshot_goes_on =
        place.row.last_snapshot_id.is_none() && layout::is_locked(&place.folder);
    readable(objects_are_there(&place), store.now(), &mut report);
    let losses = crate::timeline::check_losses(connection, &place);
    readable(losses, store.now(), &mut report);
    let interrupted = interrupted(store, &place);
    report.interrupted = readable(interrupted, store.now(), &mut report);
    report.unprotected = unprotected(connection, place.row.id)?;
    if let Some(session) = report.session.as_deref() {
        report.unclear = unclear(connection, session)?;
        report.left = crate::revert::left(store, session)?;
    }
    let gaps = gaps(store, &place);
    report.gaps = readable(gaps, store.now(), &mut report);
    Ok(report)
}

/// Returns the paths that the newest snapshot could not hold.
fn gaps(store: &Store, place: &Place) -> Result<Vec<GapReport>> {
    let Some(id) = place.row.last_snapshot_id else {
        return Ok(Vec::new());
    };
    let row = sessions::snapshot_row(store.database.connection(), id)?;
    if row.gaps == 0 {
        return Ok(Vec::new());
    }
    let snapshots = place.snapshots()?;
    Ok(gap_reports(&snapshots.gaps(&row.snapshot)?))
}

/// Returns the session that the answer is about: the one that is asked for, or the default.
fn session_of(
    connection: &Connection,
    workspace_id: i64,
    asked: Option<&str>,
) -> Result<Option<SessionRow>> {
    if let Some(id) = asked {
        return ids::session(connection, workspace_id, id).map(Some);
    }
    // The banner is there for a pending revert, so that session comes first.
    match sessions::newest_reverted_session(connection, workspace_id)? {
        Some(session) => Ok(Some(session)),
        None => newest_session(connection, workspace_id),
    }
}

/// Fails where snapshots were taken and the repository with their files is gone.
fn objects_are_there(place: &Place) -> Result<()> {
    if place.row.last_snapshot_id.is_none() || place.has_objects()? {
        return Ok(());
    }
    let folder = place.folder.display();
    Err(Error::damaged(format!(
        "the snapshots of this workspace are gone: `{folder}` has no repository"
    )))
}

fn root_of(store: &Store, cwd: &Path) -> Result<PathBuf> {
    let surroundings = &store.surroundings;
    let workspace = Workspace::of(
        cwd,
        surroundings.home.as_deref(),
        &surroundings.directory,
        &surroundings.settings,
    )?;
    Ok(workspace.root)
}

/// Returns the most recently active session that is not a sub-agent's.
fn newest_session(connection: &Connection, workspace_id: i64) -> Result<Option<SessionRow>> {
    let sql = "SELECT id FROM sessions WHERE workspace_id = ?1 AND parent_id IS NULL
                ORDER BY last_event_at DESC, seq DESC LIMIT 1";
    let what = "cannot read the sessions";
    let id: Option<String> = read::value_or_none(connection, what, sql, [workspace_id])?;
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
        undone_alone: Vec::new(),
        left: Vec::new(),
        files: Vec::new(),
        roots: Vec::new(),
        redo: false,
        conversation: None,
        also_reverted: Vec::new(),
        adoptable: Vec::new(),
        unrecorded: Vec::new(),
        open_steps: 0,
        agents_at_work: Vec::new(),
        first_snapshot_goes_on: false,
        interrupted: Vec::new(),
        unprotected: Vec::new(),
        unclear: Vec::new(),
        gaps: Vec::new(),
        diagnostics: 0,
        latest_diagnostics: Vec::new(),
        unknown_workspaces: 0,
    }
}

/// Fills in the effect of the session's reverts so far.
fn banner(
    connection: &Connection,
    session: SessionRow,
    now: Milliseconds,
    report: &mut StatusReport,
) -> Result<()> {
    report.messages_hidden = all(
        connection,
        "SELECT id FROM messages WHERE session_id = ?1 AND state = 'hidden' ORDER BY seq",
        [&session.id],
        |row| row.get("id"),
    )?;
    if let Some(base_id) = session.revert_base_id {
        let alone = undone_alone(connection, &session.id, base_id);
        report.undone_alone = readable(alone, now, report);
        let files = reverted_files(connection, &session.id, base_id);
        let files = readable(files, now, report);
        report.files = files.iter().map(Item::report).collect();
    }
    report.redo = session.revert_base_id.is_some();
    (report.session, report.agent) = (Some(session.id), Some(session.agent));
    report.revert_point = session.revert_message_id;
    Ok(())
}

/// Returns the readable rows. A damaged row becomes a diagnostic, so that it does not hide everything else.
fn readable<T: Default>(read: Result<T>, now: Milliseconds, report: &mut StatusReport) -> T {
    read.unwrap_or_else(|error| {
        report.diagnostics += 1;
        let diagnostic = DiagnosticReport {
            time: now,
            level: DiagnosticLevel::Error.name().to_owned(),
            agent: None,
            event: None,
            message: error.to_string(),
            detail: Some(error.causes().join(": ")),
        };
        report.latest_diagnostics.insert(0, diagnostic);
        T::default()
    })
}

/// Says that the store is on a network file system, if it is.
fn tell_of_server(store: &Store, report: &mut StatusReport) {
    let Some(text) = served_by_another(store) else {
        return;
    };
    report.diagnostics += 1;
    report.latest_diagnostics.insert(
        0,
        DiagnosticReport {
            time: store.now(),
            level: DiagnosticLevel::Info.name().to_owned(),
            agent: None,
            event: None,
            message: text.to_owned(),
            detail: None,
        },
    );
}

/// Names the sessions at work, because of which a revert would be refused.
pub(super) fn agents_at_work(
    connection: &Connection,
    steps: &[OpenStep],
    now: Milliseconds,
) -> Result<Vec<String>> {
    let busy: BTreeSet<_> = steps
        .iter()
        .filter(|step| is_at_work(step, now))
        .map(|step| &step.row.session_id)
        .collect();
    let name = |session: SessionRow| format!("{} {}", session.agent, short(&session.id));
    let names = busy
        .into_iter()
        .map(|id| Ok(sessions::session(connection, id)?.map(name)));
    names.filter_map(Result::transpose).collect()
}

/// Names the newest steps and messages that cannot be put back, and why.
fn unprotected(connection: &Connection, workspace_id: i64) -> Result<Vec<String>> {
    // `CROSS JOIN` makes SQLite read the small indexes of what is unprotected, and not every session of the workspace.
    let sql = "
        SELECT 'message ' || messages.id || ': ' || messages.unprotected AS text, messages.created_at AS at
          FROM messages CROSS JOIN sessions ON sessions.id = messages.session_id
         WHERE messages.unprotected IS NOT NULL AND sessions.workspace_id = ?1
        UNION ALL
        SELECT 'step ' || steps.id || ' of message ' || steps.message_id || ': ' || steps.unprotected, steps.started_at
          FROM steps CROSS JOIN sessions ON sessions.id = steps.session_id
         WHERE steps.unprotected IS NOT NULL AND sessions.workspace_id = ?1
         ORDER BY at DESC LIMIT ?2";
    all(connection, sql, params![workspace_id, UNPROTECTED], |row| {
        row.get("text")
    })
}

/// Names the files that a session may or may not have changed, each with the newest reason for the doubt.
fn unclear(connection: &Connection, session: &str) -> Result<Vec<UnclearReport>> {
    // SQLite takes the other columns of a group from the row with its `max`. Names that differ only in bytes
    // that are not UTF-8 have the same text, so the bytes tell them apart.
    let sql = "
        SELECT changes.path, changes.path_raw, messages.id AS message, changes.reason, max(changes.id)
          FROM messages JOIN steps ON steps.message_id = messages.id JOIN changes ON changes.step_id = steps.id
         WHERE messages.session_id = ?1 AND messages.state = 'live' AND changes.attribution = 'unclear'
           AND changes.undone_by IS NULL
         GROUP BY ifnull(changes.path_raw, changes.path) ORDER BY changes.path";
    all(connection, sql, [session], |row| {
        Ok(UnclearReport {
            path: path(row)?,
            message: row.get("message")?,
            reason: row.get::<_, Option<String>>("reason")?.unwrap_or_default(),
        })
    })
}

fn count_diagnostics(connection: &Connection) -> Result<u64> {
    let (sql, what) = (
        "SELECT count(*) FROM diagnostics",
        "cannot count the diagnostics",
    );
    read::one(connection, what, sql, [], |row| count(row, 0))
}

/// Selects what [`read_diagnostic`] reads.
const SELECT_DIAGNOSTICS: &str = "SELECT at, level, agent, event, message, detail FROM diagnostics";

fn latest_diagnostics(connection: &Connection) -> Result<Vec<DiagnosticReport>> {
    let sql = format!("{SELECT_DIAGNOSTICS} ORDER BY id DESC LIMIT ?1");
    all(connection, &sql, [DIAGNOSTICS], read_diagnostic)
}

/// Returns a diagnostic by the text of its number, or `None` if it was deleted.
pub(super) fn diagnostic(connection: &Connection, id: &str) -> Result<Option<DiagnosticReport>> {
    let sql = format!("{SELECT_DIAGNOSTICS} WHERE id = CAST(?1 AS INTEGER)");
    let what = "cannot read the diagnostics";
    read::one_or_none(connection, what, &sql, [id], read_diagnostic)
}

fn read_diagnostic(row: &Row<'_>) -> rusqlite::Result<DiagnosticReport> {
    Ok(DiagnosticReport {
        time: row.get("at")?,
        level: row.get("level")?,
        agent: row.get("agent")?,
        event: row.get("event")?,
        message: row.get("message")?,
        detail: row.get("detail")?,
    })
}
