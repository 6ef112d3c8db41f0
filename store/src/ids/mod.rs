//! Resolves ids: ours or the agent's, a prefix of ours, a label, or `last`. Ids are opaque text.
//!
//! ```text
//! last, last~N    the newest message, and the row of the log that is N rows below it
//! a label         never looks like an id that is known; one that an agent took later makes it ambiguous
//! an id of ours   whole
//! an agent's id   whole, because agents count: `1` is not `12`
//! a prefix        of an id of ours, at least four characters: a shorter one is more likely a mistyped number
//! ```
//!
//! The first match in this order decides. A prefix of several ids is ambiguous. If several sessions know an id, the
//! most recently active one wins, and in it a message that is not discarded. An id that is still ambiguous is an error
//! that lists the candidates.
//!
//! `last` is the newest message of the workspace (of the session, if one is given), and `last~N` the one N rows below
//! it in its log. All messages count, whatever their state and session, as they do for who reads that list.

mod candidates;
mod errors;
mod prefixes;

#[cfg(test)]
mod tests;

use ckpt_schema::Word;
use rusqlite::Connection;

use crate::error::{ErrorKind, Result};
use crate::sessions::{self, MessageRow, SessionRow, SnapshotRow, StepRow, read};
use candidates::{IdKind, SearchScope};

pub use prefixes::{MIN_LENGTH, Prefixes};

/// Anything that has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Any {
    /// A message.
    Message(MessageRow),
    /// A step.
    Step(StepRow),
    /// A session.
    Session(SessionRow),
    /// An operation.
    Operation(OperationSummary),
    /// A snapshot.
    Snapshot(SnapshotRow),
}

/// Returns the message that an id means. A session may be given by any of its ids; a sub-agent's stands for its root,
/// which has the messages.
///
/// An unknown id is an `Unavailable` error, an ambiguous one a `Failed` error, here and in the functions below.
pub(crate) fn message(
    connection: &Connection,
    workspace_id: i64,
    session: Option<&str>,
    id: &str,
) -> Result<MessageRow> {
    let scope = SearchScope::of(connection, workspace_id, session)?;
    if let Some(before) = last(id) {
        return scope.last(connection, before, id);
    }
    let chosen = scope.choose(connection, &[IdKind::Message], id)?;
    chosen.read(connection, sessions::message)
}

/// Returns the step that an id means. Those of sub-agents belong to the session of their message.
pub(crate) fn step(
    connection: &Connection,
    workspace_id: i64,
    session: Option<&str>,
    id: &str,
) -> Result<StepRow> {
    let scope = SearchScope::of(connection, workspace_id, session)?;
    let chosen = scope.choose(connection, &[IdKind::Step], id)?;
    chosen.read(connection, sessions::step)
}

/// Returns the session that an id means.
pub(crate) fn session(connection: &Connection, workspace_id: i64, id: &str) -> Result<SessionRow> {
    let chosen = SearchScope::whole(workspace_id).choose(connection, &[IdKind::Session], id)?;
    chosen.read(connection, sessions::session)
}

/// Returns the session that an id means, of any workspace.
pub(crate) fn session_anywhere(connection: &Connection, id: &str) -> Result<SessionRow> {
    let chosen = SearchScope::default().choose(connection, &[IdKind::Session], id)?;
    chosen.read(connection, sessions::session)
}

/// Returns whether text is a full id in a workspace, ours or an agent's.
pub(crate) fn is_known(connection: &Connection, workspace_id: i64, id: &str) -> Result<bool> {
    SearchScope::whole(workspace_id).has_exactly(connection, id)
}

/// Fails if text is not a full id.
pub(crate) fn check_exact(connection: &Connection, workspace_id: i64, id: &str) -> Result<()> {
    // Everywhere else, `last` is the newest message, even if an agent calls one of its own so.
    if !id.is_empty() && last(id).is_none() && is_known(connection, workspace_id, id)? {
        return Ok(());
    }
    match any(connection, workspace_id, id) {
        Err(error) if error.kind != ErrorKind::Ambiguous => Err(error),
        _ => Err(errors::inexact(id)),
    }
}

/// Returns the item that an id names; for a tree (four digits or more), the newest snapshot of it. An agent's id that belongs to
/// a message and a step means the message, and so on in the order of [`Any`]; our ids tell them apart.
pub(crate) fn any(connection: &Connection, workspace_id: i64, id: &str) -> Result<Any> {
    if last(id).is_some() {
        return message(connection, workspace_id, None, id).map(Any::Message);
    }
    let chosen = SearchScope::whole(workspace_id).choose(connection, IdKind::ALL, id)?;
    Ok(match chosen.kind {
        IdKind::Message => Any::Message(chosen.read(connection, sessions::message)?),
        IdKind::Step => Any::Step(chosen.read(connection, sessions::step)?),
        IdKind::Session => Any::Session(chosen.read(connection, sessions::session)?),
        IdKind::Operation => Any::Operation(chosen.read(connection, operation)?),
        IdKind::Snapshot => Any::Snapshot(sessions::snapshot_row(connection, chosen.seq)?),
    })
}

/// The part of an operation that resolving an id needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationSummary {
    /// Our id.
    pub id: String,
    /// The state before it.
    pub before_snapshot_id: Option<i64>,
}

fn operation(connection: &Connection, id: &str) -> Result<Option<OperationSummary>> {
    let sql = "SELECT id, before_snapshot_id FROM operations WHERE id = ?1";
    let what = "cannot look an operation up";
    read::one_or_none(connection, what, sql, [id], |row| {
        Ok(OperationSummary {
            id: row.get("id")?,
            before_snapshot_id: row.get("before_snapshot_id")?,
        })
    })
}

/// Parses `last` and `last~N`: how many rows below the newest.
fn last(id: &str) -> Option<i64> {
    let rest = id.strip_prefix("last")?;
    if rest.is_empty() {
        return Some(0);
    }
    let digits = rest.strip_prefix('~')?;
    // `parse` would accept a sign, too.
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}
