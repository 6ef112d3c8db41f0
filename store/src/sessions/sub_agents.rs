//! When the step of a sub-agent may have ended, as the rows of its parent tell.

use ckpt_schema::EventKind;
use rusqlite::{Connection, params};

use super::steps::OpenStep;
use super::{SessionRow, read, rows};
use crate::error::Result;
use crate::model::Milliseconds;

/// Returns when the tools of a sub-agent's parent ended that ran when its step began, if nothing was heard of the sub-agent
/// since: its own end was lost.
pub(super) fn ended_with_parent(
    connection: &Connection,
    step: &OpenStep,
    root: &SessionRow,
) -> Result<Option<Milliseconds>> {
    // A sub-agent that works elsewhere has a part of its parent's session there, or a row that no event of it uses.
    let home = match (&root.part_of, &root.last_event) {
        (Some(whole), _) => rows::session(connection, whole)?,
        (None, Some(_)) => None,
        (None, None) => rows::session_at_home(connection, &root.agent, &root.agent_id, None)?,
    };
    // Few tools run at a time, so the newest steps hold all of them.
    let sql = "SELECT ifnull(sum(finished_at IS NULL OR background = 1 AND released_at IS NULL), 0) > 0,
                      max(finished_at) FILTER (WHERE finished_at >= ?2)
                 FROM tools WHERE started_at <= ?2
                  AND step_id IN (SELECT id FROM steps WHERE session_id = ?1 AND started_at <= ?2 ORDER BY seq DESC LIMIT 8)";
    let what = "cannot read what started a sub-agent";
    let parent = home.as_ref().unwrap_or(root);
    let parameters = params![parent.id, step.started_at];
    let (goes_on, ended): (bool, Option<Milliseconds>) =
        read::one(connection, what, sql, parameters, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok(ended.filter(|ended| !goes_on && *ended >= step.last_event_at))
}

/// Returns when the conversation of a sub-agent went on after its step began: with the next message, or with the end of a
/// turn or of the session. Whether the sub-agent works on in the background, no event tells.
pub(super) fn left_at(
    connection: &Connection,
    step: &OpenStep,
    root: &SessionRow,
) -> Result<Option<Milliseconds>> {
    let sql = "SELECT min(created_at) FROM messages WHERE session_id = ?1 AND created_at > ?2 AND NOT pending";
    let what = "cannot read the message after a step";
    let next: Option<Milliseconds> =
        read::value(connection, what, sql, params![root.id, step.started_at])?;
    let ends = [EventKind::TurnEnd, EventKind::SessionEnd];
    let has_ended = ends
        .iter()
        .any(|end| root.last_event.as_deref() == Some(end.name()));
    let ended = Some(root.last_event_at).filter(|at| has_ended && *at >= step.started_at);
    Ok(next.or(ended))
}
