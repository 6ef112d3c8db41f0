//! What an id means: ours or the agent's, a prefix of either, or `last`. Ids are opaque text.
//!
//! In order: `last` and `last~N`, then an exact id of ours, an exact id of the agent's, a prefix of ours, a prefix of the
//! agent's; the first of these that anything answers to decides. A prefix stands for one id: where several begin with it,
//! it is ambiguous. An id that several sessions know is the newest session's (the one heard of last), and in that session
//! a message that is not discarded comes before one that is. What is left in doubt then is an error that lists the
//! candidates.
//!
//! `last` is the newest message of the workspace (of the session, where one is given), and `last~N` the one N messages
//! before it in the same session. Live and hidden messages count, so that `last` does not move with the revert point;
//! discarded ones do not.

use std::cmp::Reverse;

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::all;
use crate::error::{Context, Error, Result};
use crate::sessions::{self, MessageRow, SessionRow, SnapshotRow, StepRow};

/// How many candidates an error lists.
const LISTED: usize = 10;

/// How many characters of an id an error repeats.
const SHOWN: usize = 80;

/// Whatever an id is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Any {
    /// A message.
    Message(MessageRow),
    /// A step.
    Step(StepRow),
    /// A session.
    Session(SessionRow),
    /// An operation.
    Operation(OperationRow),
    /// A snapshot.
    Snapshot(SnapshotRow),
}

/// Returns the message that an id means. A session may be named by any id; a sub-agent's stands for its root, which has
/// the messages.
///
/// Unavailable where the id is unknown, failed where it is ambiguous; so are the functions below.
pub(crate) fn message(
    connection: &Connection,
    workspace_id: i64,
    session: Option<&str>,
    id: &str,
) -> Result<MessageRow> {
    let scope = Scope::of(connection, workspace_id, session)?;
    if let Some(before) = last(id) {
        return scope.last(connection, before)?.ok_or_else(|| unknown(Some(Kind::Message), &scope, id));
    }
    let chosen = scope.choose(connection, &[Kind::Message], id)?;
    chosen.read(connection, sessions::message)
}

/// Returns the step that an id means; those of sub-agents belong to the session of their message.
pub(crate) fn step(connection: &Connection, workspace_id: i64, session: Option<&str>, id: &str) -> Result<StepRow> {
    let scope = Scope::of(connection, workspace_id, session)?;
    let chosen = scope.choose(connection, &[Kind::Step], id)?;
    chosen.read(connection, sessions::step)
}

/// Returns the session that an id means.
pub(crate) fn session(connection: &Connection, workspace_id: i64, id: &str) -> Result<SessionRow> {
    let chosen = Scope::whole(workspace_id).choose(connection, &[Kind::Session], id)?;
    chosen.read(connection, sessions::session)
}

/// Returns the session that an id means, of any workspace.
pub(crate) fn session_anywhere(connection: &Connection, id: &str) -> Result<SessionRow> {
    let chosen = Scope::default().choose(connection, &[Kind::Session], id)?;
    chosen.read(connection, sessions::session)
}

/// Returns whatever an id means; for a tree (four digits or more) or a label, the newest snapshot. An agent's id that is
/// of a message and of a step is the message's, and so on in the order of [`Any`]; our ids tell them apart.
pub(crate) fn any(connection: &Connection, workspace_id: i64, id: &str) -> Result<Any> {
    if last(id).is_some() {
        return message(connection, workspace_id, None, id).map(Any::Message);
    }
    let chosen = Scope::whole(workspace_id).choose(connection, &Kind::ALL, id)?;
    Ok(match chosen.kind {
        Kind::Message => Any::Message(chosen.read(connection, sessions::message)?),
        Kind::Step => Any::Step(chosen.read(connection, sessions::step)?),
        Kind::Session => Any::Session(chosen.read(connection, sessions::session)?),
        Kind::Operation => Any::Operation(chosen.read(connection, operation)?),
        Kind::Snapshot => Any::Snapshot(sessions::snapshot(connection, chosen.seq)?),
    })
}

/// An operation, as far as an id is about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationRow {
    /// Our id.
    pub id: String,
    /// The state before it.
    pub before_snapshot_id: Option<i64>,
}

fn operation(connection: &Connection, id: &str) -> Result<Option<OperationRow>> {
    connection
        .query_row("SELECT id, before_snapshot_id FROM operations WHERE id = ?1", [id], |row| {
            Ok(OperationRow { id: row.get("id")?, before_snapshot_id: row.get("before_snapshot_id")? })
        })
        .optional()
        .context(|| "cannot look an operation up")
}

/// Reads `last` and `last~N`: how many messages before the newest.
fn last(id: &str) -> Option<i64> {
    let rest = id.strip_prefix("last")?;
    if rest.is_empty() {
        return Some(0);
    }
    let digits = rest.strip_prefix('~')?;
    // `parse` would take a sign, too.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// What an id can be of, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Message,
    Step,
    Session,
    Operation,
    Snapshot,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Message, Self::Step, Self::Session, Self::Operation, Self::Snapshot];

    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Step => "step",
            Self::Session => "session",
            Self::Operation => "operation",
            Self::Snapshot => "snapshot",
        }
    }

    /// What lists the ids of the kind.
    fn hint(self) -> &'static str {
        match self {
            Self::Message => "`ckpt-hook log` lists the messages",
            Self::Step => "`ckpt-hook log` lists the messages, `ckpt-hook show MESSAGE` the steps of one",
            Self::Session => "`ckpt-hook sessions` lists the sessions",
            Self::Operation => "`ckpt-hook log --operations` lists the operations",
            Self::Snapshot => "`ckpt-hook show` names the snapshots of messages, steps and operations",
        }
    }

    /// The rows whose ids begin with ?3 (as bytes: text has wildcards, and its functions stop at NUL) in workspace ?1 and,
    /// where it is not NULL, session ?2; newest session first, and newest row first.
    fn sql(self) -> &'static str {
        match self {
            Self::Message => {
                "SELECT messages.seq AS seq, messages.id AS ours, messages.agent_id AS theirs,
                        messages.session_id AS session, messages.state = 'discarded' AS discarded
                   FROM sessions JOIN messages ON messages.session_id = sessions.id
                  WHERE (?1 IS NULL OR sessions.workspace_id = ?1) AND (?2 IS NULL OR sessions.id = ?2)
                    AND (substr(CAST(messages.id AS BLOB), 1, length(?3)) = ?3
                         OR substr(CAST(messages.agent_id AS BLOB), 1, length(?3)) = ?3)
                  ORDER BY sessions.last_event_at DESC, sessions.seq DESC, messages.seq DESC"
            }
            Self::Step => {
                "SELECT steps.seq AS seq, steps.id AS ours, steps.agent_id AS theirs,
                        messages.session_id AS session, messages.state = 'discarded' AS discarded
                   FROM sessions
                   JOIN messages ON messages.session_id = sessions.id
                   JOIN steps ON steps.message_id = messages.id
                  WHERE (?1 IS NULL OR sessions.workspace_id = ?1) AND (?2 IS NULL OR sessions.id = ?2)
                    AND (substr(CAST(steps.id AS BLOB), 1, length(?3)) = ?3
                         OR substr(CAST(steps.agent_id AS BLOB), 1, length(?3)) = ?3)
                  ORDER BY sessions.last_event_at DESC, sessions.seq DESC, steps.seq DESC"
            }
            Self::Session => {
                "SELECT seq, id AS ours, agent_id AS theirs, id AS session, 0 AS discarded
                   FROM sessions
                  WHERE (?1 IS NULL OR workspace_id = ?1) AND (?2 IS NULL OR id = ?2)
                    AND (substr(CAST(id AS BLOB), 1, length(?3)) = ?3
                         OR substr(CAST(agent_id AS BLOB), 1, length(?3)) = ?3)
                  ORDER BY last_event_at DESC, seq DESC"
            }
            Self::Operation => {
                "SELECT seq, id AS ours, NULL AS theirs, session_id AS session, 0 AS discarded
                   FROM operations
                  WHERE workspace_id = ?1 AND (?2 IS NULL OR session_id = ?2)
                    AND substr(CAST(id AS BLOB), 1, length(?3)) = ?3
                  ORDER BY seq DESC"
            }
            Self::Snapshot => {
                "SELECT id AS seq, tree AS ours, label AS theirs, NULL AS session, 0 AS discarded
                   FROM snapshots
                  WHERE workspace_id = ?1 AND ?2 IS NULL
                    AND ((length(?3) >= 4 AND substr(CAST(tree AS BLOB), 1, length(?3)) = ?3)
                         OR CAST(label AS BLOB) = ?3)
                  ORDER BY id DESC"
            }
        }
    }
}

/// Where an id is looked for: everywhere, in a workspace, or in a session and those of its sub-agents.
#[derive(Clone, Debug, Default)]
struct Scope {
    workspace_id: Option<i64>,
    session_id: Option<String>,
}

/// How an id fits, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Ours,
    Theirs,
    PrefixOfOurs,
    PrefixOfTheirs,
}

/// A row that an id may mean.
#[derive(Clone, Debug)]
struct Candidate {
    fit: Fit,
    /// The id that fits, in full.
    name: String,
    kind: Kind,
    seq: i64,
    id: String,
    session_id: Option<String>,
    discarded: bool,
}

impl Candidate {
    /// Reads its row, which may have gone in the meantime.
    fn read<T>(&self, connection: &Connection, read: impl FnOnce(&Connection, &str) -> Result<Option<T>>) -> Result<T> {
        read(connection, &self.id)?.ok_or_else(|| {
            Error::unavailable(format!("the {} {} was removed just now", self.kind.name(), quoted(&self.id)))
        })
    }
}

impl Scope {
    fn whole(workspace_id: i64) -> Self {
        Self { workspace_id: Some(workspace_id), session_id: None }
    }

    fn of(connection: &Connection, workspace_id: i64, session_id: Option<&str>) -> Result<Self> {
        let Some(id) = session_id else { return Ok(Self::whole(workspace_id)) };
        let root = sessions::root_of(connection, &session(connection, workspace_id, id)?)?;
        Ok(Self { session_id: Some(root.id), ..Self::whole(workspace_id) })
    }

    /// Returns the newest message, or the one so many before it in its session.
    fn last(&self, connection: &Connection, before: i64) -> Result<Option<MessageRow>> {
        let sql = "
            SELECT id FROM messages
             WHERE state <> 'discarded'
               AND session_id = (SELECT m.session_id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
                                  WHERE s.workspace_id = ?1 AND (?2 IS NULL OR s.id = ?2) AND m.state <> 'discarded'
                                  ORDER BY m.seq DESC LIMIT 1)
             ORDER BY seq DESC LIMIT 1 OFFSET ?3";
        let id: Option<String> = connection
            .query_row(sql, params![self.workspace_id, self.session_id, before], |row| row.get("id"))
            .optional()
            .context(|| "cannot look the newest message up")?;
        id.map_or(Ok(None), |id| sessions::message(connection, &id))
    }

    fn choose(&self, connection: &Connection, kinds: &[Kind], id: &str) -> Result<Candidate> {
        let kind = if let [kind] = kinds { Some(*kind) } else { None };
        let mut candidates = Vec::new();
        for kind in kinds.iter().filter(|_| !id.is_empty()) {
            candidates.extend(self.candidates(connection, *kind, id)?);
        }
        match choose(candidates) {
            Choice::One(candidate) => Ok(candidate),
            Choice::Many(candidates) => Err(ambiguous(kind, id, &candidates)),
            Choice::None => Err(unknown(kind, self, id)),
        }
    }

    fn candidates(&self, connection: &Connection, kind: Kind, id: &str) -> Result<Vec<Candidate>> {
        let parameters = params![self.workspace_id, self.session_id, id.as_bytes()];
        all(connection, kind.sql(), parameters, |row| {
            let ours: String = row.get("ours")?;
            let (fit, name) = fit(id, &ours, row.get("theirs")?);
            let (seq, session_id, discarded) = (row.get("seq")?, row.get("session")?, row.get("discarded")?);
            Ok(Candidate { fit, name, kind, seq, id: ours, session_id, discarded })
        })
    }
}

/// Says how an id fits a row that it is known to fit, and which of the row's ids.
fn fit(id: &str, ours: &str, theirs: Option<String>) -> (Fit, String) {
    match theirs {
        _ if ours == id => (Fit::Ours, ours.to_owned()),
        Some(theirs) if theirs == id => (Fit::Theirs, theirs),
        Some(theirs) if !ours.starts_with(id) => (Fit::PrefixOfTheirs, theirs),
        Some(_) | None => (Fit::PrefixOfOurs, ours.to_owned()),
    }
}

enum Choice {
    None,
    One(Candidate),
    Many(Vec<Candidate>),
}

/// Chooses by the rules in the module's header. Within a kind, candidates come newest session first.
fn choose(mut candidates: Vec<Candidate>) -> Choice {
    let Some(best) = candidates.iter().map(|candidate| candidate.fit).min() else { return Choice::None };
    candidates.retain(|candidate| candidate.fit == best);
    if candidates.iter().any(|candidate| candidate.name != candidates[0].name) {
        return Choice::Many(candidates);
    }
    candidates.sort_by_key(|candidate| candidate.kind);
    let (kind, session_id) = (candidates[0].kind, candidates[0].session_id.clone());
    candidates.retain(|candidate| candidate.kind == kind && candidate.session_id == session_id);
    if !candidates.iter().all(|candidate| candidate.discarded) {
        candidates.retain(|candidate| !candidate.discarded);
    }
    // The same tree or label again is a newer sight of the same thing, not another one.
    if candidates.len() == 1 || kind == Kind::Snapshot {
        Choice::One(candidates.swap_remove(0))
    } else {
        Choice::Many(candidates)
    }
}

fn ambiguous(kind: Option<Kind>, id: &str, candidates: &[Candidate]) -> Error {
    let mut candidates: Vec<_> = candidates.iter().collect();
    candidates.sort_by_key(|candidate| (candidate.kind, Reverse(candidate.seq)));
    let mut listed: Vec<_> = candidates.iter().map(|candidate| describe(candidate, kind.is_none())).collect();
    listed.dedup();
    let more = listed.len().saturating_sub(LISTED);
    listed.truncate(LISTED);
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    let subject = kind.map_or("id", Kind::name);
    Error::failed(format!("the {subject} {} is ambiguous: it may be {}", quoted(id), listed.join(", ")))
        .hint("give one of these ids, or more of it")
}

fn describe(candidate: &Candidate, with_kind: bool) -> String {
    let prefix = if with_kind { format!("{} ", candidate.kind.name()) } else { String::new() };
    if candidate.name == candidate.id {
        format!("{prefix}{}", quoted(&candidate.id))
    } else {
        format!("{prefix}{} ({})", quoted(&candidate.id), quoted(&candidate.name))
    }
}

fn unknown(kind: Option<Kind>, scope: &Scope, id: &str) -> Error {
    let place = match (&scope.session_id, scope.workspace_id) {
        (Some(id), _) => format!("session {}", quoted(id)),
        (None, Some(_)) => "this workspace".to_owned(),
        (None, None) => "the store".to_owned(),
    };
    let what = kind.map_or("nothing with the id".to_owned(), |kind| format!("no {}", kind.name()));
    Error::unavailable(format!("there is {what} {} in {place}", quoted(id))).hint(kind.unwrap_or(Kind::Message).hint())
}

/// Returns an id as errors show it: on one line, harmless to a terminal, and not longer than a line.
fn quoted(id: &str) -> String {
    let more = if id.chars().nth(SHOWN).is_some() { "…" } else { "" };
    let shown: String = id.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    format!("`{shown}{more}`")
}

#[cfg(test)]
mod tests;
