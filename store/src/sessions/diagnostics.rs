//! Rows of `diagnostics`: what went wrong, for `status` and `doctor`.

use ckpt_schema::event::Event;
use rusqlite::{Connection, params};

use super::{feed, read};
use crate::error::Result;
use crate::model::Milliseconds;

ckpt_schema::words! {
    /// The level of a diagnostic.
    #[derive(Default)]
    pub enum DiagnosticLevel {
        /// Something was not done, or is lost.
        #[default]
        Error = "error",
        /// It was done, and a person should look at something.
        Warning = "warning",
        /// Nothing is wrong.
        Info = "info",
    }
}

/// Something that went wrong in a hook.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diagnostic<'a> {
    /// Its level.
    pub level: DiagnosticLevel,
    /// The agent, if known.
    pub agent: Option<&'a str>,
    /// The event, if known.
    pub event: Option<&'a str>,
    /// The agent's session id, if known.
    pub session: Option<&'a str>,
    /// The workspace, if known.
    pub workspace: Option<&'a str>,
    /// What happened. Never contains a prompt or a file's content.
    pub message: &'a str,
    /// The causes.
    pub detail: Option<&'a str>,
    /// Whether a person is to be told with the next command: an event was lost for a reason of the store's own.
    pub is_untold: bool,
}

impl<'a> Diagnostic<'a> {
    /// Begins one about an event in a workspace.
    pub fn of_event(level: DiagnosticLevel, event: &'a Event, workspace: &'a str) -> Self {
        Self {
            level,
            agent: Some(&event.agent),
            event: Some(event.event.name()),
            session: Some(&event.session_id),
            workspace: Some(workspace),
            ..Self::default()
        }
    }
}

/// How many diagnostics are kept: the newest.
const KEPT_DIAGNOSTICS: i64 = 1_000;

/// Adds a diagnostic, and removes the oldest ones: what fails in each event would otherwise fill the store.
pub(crate) fn insert_diagnostic(
    connection: &Connection,
    diagnostic: &Diagnostic<'_>,
    now: Milliseconds,
) -> Result<()> {
    let what = "cannot note a diagnostic";
    let sql = "INSERT INTO diagnostics (level, agent, event, session, workspace, message, detail, at, untold)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        diagnostic.level.name(),
        diagnostic.agent,
        diagnostic.event,
        diagnostic.session,
        diagnostic.workspace,
        diagnostic.message,
        diagnostic.detail,
        now,
        diagnostic.is_untold
    ];
    super::execute(connection, what, sql, values)?;
    let id = connection.last_insert_rowid();
    let sql = "DELETE FROM diagnostics WHERE id <= ?1";
    super::execute(connection, what, sql, [id - KEPT_DIAGNOSTICS])?;
    feed::diagnostic(connection, id)
}

/// Returns whether the same diagnostic was noted for the same workspace before.
pub(crate) fn is_noted(connection: &Connection, diagnostic: &Diagnostic<'_>) -> Result<bool> {
    let sql = "SELECT 1 FROM diagnostics WHERE message = ?1 AND workspace IS ?2";
    let values = params![diagnostic.message, diagnostic.workspace];
    read::any(connection, "cannot read the diagnostics", sql, values)
}
