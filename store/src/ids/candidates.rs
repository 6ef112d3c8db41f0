//! Finds the rows that an id may mean, and chooses among them. Ids are compared as bytes, in one statement per kind.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::Word;
use ckpt_schema::report::MessageState;
use rusqlite::{Connection, params};

use super::errors;
use super::prefixes::MIN_LENGTH;
use crate::error::{Error, Result};
use crate::model::instruction::Instruction;
use crate::sessions::read::{self, all};
use crate::sessions::{self, Labelled, MessageRow};

ckpt_schema::words! {
    /// The kinds of things that have ids, in order of precedence.
    #[derive(PartialOrd, Ord)]
    pub(super) enum IdKind {
        Message = "message",
        Step = "step",
        Session = "session",
        Operation = "operation",
        Snapshot = "snapshot",
    }
}

/// Where an id is known that means nothing here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// The workspaces, by their paths.
    pub paths: BTreeSet<String>,
    /// Whether one of them stood at this path before.
    pub was_here: bool,
}

impl IdKind {
    /// Returns the hint that says which command lists the ids of this kind.
    pub(super) fn hint(self) -> String {
        match self {
            Self::Message => format!("{} lists the messages", Instruction::Messages),
            Self::Step => {
                format!(
                    "{} lists the messages, {} the steps of one",
                    Instruction::Messages,
                    Instruction::ShowMessage
                )
            }
            Self::Session => format!("{} lists the sessions", Instruction::Sessions),
            Self::Operation => format!("{} lists the operations", Instruction::Operations),
            Self::Snapshot => {
                format!(
                    "{} names the snapshots of messages, steps and operations",
                    Instruction::Show
                )
            }
        }
    }

    /// Selects the rows of workspace ?1 (and of session ?2, unless NULL) whose id is at least ?3 and less than ?4, or
    /// whose agent's id is ?3; newest session first, then newest row first. A range of plain ids uses the index.
    /// SQLite's text functions would not do: some have wildcards, others stop at NUL. `CROSS JOIN` keeps the order of
    /// the tables: first the one with the ids, which leaves few rows.
    fn sql(self) -> &'static str {
        match self {
            Self::Message => {
                "SELECT messages.seq AS seq, messages.id AS ours, messages.agent_id AS theirs,
                        messages.session_id AS session, messages.state = 'discarded' AS discarded, sessions.workspace_id AS workspace
                   FROM messages CROSS JOIN sessions ON sessions.id = messages.session_id
                  WHERE ((messages.id >= ?3 AND messages.id < ?4) OR messages.agent_id = ?3)
                    AND (?1 IS NULL OR sessions.workspace_id = ?1) AND (?2 IS NULL OR sessions.id = ?2)
                  ORDER BY sessions.last_event_at DESC, sessions.seq DESC, messages.seq DESC"
            }
            Self::Step => {
                "SELECT steps.seq AS seq, steps.id AS ours, steps.agent_id AS theirs,
                        messages.session_id AS session, messages.state = 'discarded' AS discarded, sessions.workspace_id AS workspace
                   FROM steps
                   CROSS JOIN messages ON messages.id = steps.message_id
                   CROSS JOIN sessions ON sessions.id = messages.session_id
                  WHERE ((steps.id >= ?3 AND steps.id < ?4) OR steps.agent_id = ?3)
                    AND (?1 IS NULL OR sessions.workspace_id = ?1) AND (?2 IS NULL OR sessions.id = ?2)
                  ORDER BY sessions.last_event_at DESC, sessions.seq DESC, steps.seq DESC"
            }
            Self::Session => {
                // Of a session that a revert led away from a conversation, either one is a name.
                "SELECT seq, id AS ours, iif(left_id = ?3, left_id, agent_id) AS theirs, id AS session, 0 AS discarded,
                        workspace_id AS workspace
                   FROM sessions
                  WHERE ((id >= ?3 AND id < ?4) OR agent_id = ?3 OR left_id = ?3)
                    AND (?1 IS NULL OR workspace_id = ?1) AND (?2 IS NULL OR id = ?2)
                  ORDER BY last_event_at DESC, seq DESC"
            }
            Self::Operation => {
                "SELECT seq, id AS ours, NULL AS theirs, session_id AS session, 0 AS discarded, workspace_id AS workspace
                   FROM operations
                  WHERE id >= ?3 AND id < ?4 AND (?1 IS NULL OR workspace_id = ?1) AND (?2 IS NULL OR session_id = ?2)
                  ORDER BY seq DESC"
            }
            Self::Snapshot => {
                "SELECT id AS seq, tree AS ours, NULL AS theirs, NULL AS session, 0 AS discarded, workspace_id AS workspace
                   FROM snapshots
                  WHERE (?1 IS NULL OR workspace_id = ?1) AND ?2 IS NULL AND tree >= ?3 AND tree < ?4
                  ORDER BY id DESC"
            }
        }
    }

    /// Returns the exclusive end of the range of ids that an id may mean: all that begin with it if it is long enough
    /// for a prefix, or else that id alone.
    fn end(id: &str) -> String {
        let next = if id.len() < MIN_LENGTH {
            '\0'
        } else {
            char::MAX
        };
        format!("{id}{next}")
    }
}

/// Where to look for an id: everywhere, in a workspace, or in a session and those of its sub-agents.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchScope {
    pub(super) workspace_id: Option<i64>,
    pub(super) session_id: Option<String>,
}

/// How an id matches, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Label,
    Ours,
    Theirs,
    PrefixOfOurs,
}

/// A row that an id may mean.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    fit: Fit,
    /// The id that matches, in full.
    pub(super) name: String,
    pub(super) kind: IdKind,
    pub(super) seq: i64,
    pub(super) id: String,
    session_id: Option<String>,
    workspace_id: Option<i64>,
    discarded: bool,
}

impl Candidate {
    /// Reads its row, which may have been removed meanwhile.
    pub(super) fn read<T>(
        &self,
        connection: &Connection,
        read: impl FnOnce(&Connection, &str) -> Result<Option<T>>,
    ) -> Result<T> {
        read(connection, &self.id)?.ok_or_else(|| {
            Error::unavailable(format!(
                "the {} {} was removed just now",
                self.kind.name(),
                errors::quoted(&self.id)
            ))
        })
    }
}

impl SearchScope {
    pub(super) fn whole(workspace_id: i64) -> Self {
        Self {
            workspace_id: Some(workspace_id),
            session_id: None,
        }
    }

    pub(super) fn of(
        connection: &Connection,
        workspace_id: i64,
        session_id: Option<&str>,
    ) -> Result<Self> {
        let Some(id) = session_id else {
            return Ok(Self::whole(workspace_id));
        };
        let root = sessions::root_of(connection, &super::session(connection, workspace_id, id)?)?;
        Ok(Self {
            session_id: Some(root.id),
            ..Self::whole(workspace_id)
        })
    }

    /// Returns the newest message, or the one `before` rows below it in the log of the workspace, or of the session if
    /// one is given.
    pub(super) fn last(
        &self,
        connection: &Connection,
        before: i64,
        id: &str,
    ) -> Result<MessageRow> {
        // `CROSS JOIN` walks back from the newest message and stops at the one that is meant. Beginning with the
        // sessions, SQLite would read and sort every message of the workspace.
        let sql = "
            SELECT messages.id FROM messages CROSS JOIN sessions ON sessions.id = messages.session_id
             WHERE sessions.workspace_id = ?1 AND (?2 IS NULL OR sessions.id = ?2)
             ORDER BY messages.seq DESC LIMIT 1 OFFSET ?3";
        let what = "cannot look up the newest message";
        let values = params![self.workspace_id, self.session_id, before];
        let found: Option<String> = read::value_or_none(connection, what, sql, values)?;
        let message = found.map_or(Ok(None), |id| sessions::message(connection, &id))?;
        message.ok_or_else(|| match before {
            0 => errors::unknown(Some(IdKind::Message), self, id, &Elsewhere::default()),
            before => errors::before_the_first(id, before),
        })
    }

    pub(super) fn choose(
        &self,
        connection: &Connection,
        kinds: &[IdKind],
        id: &str,
    ) -> Result<Candidate> {
        let kind = if let [kind] = kinds {
            Some(*kind)
        } else {
            None
        };
        let labelled = self.labelled(connection, id)?;
        let meant = |candidate: &&Candidate| kinds.contains(&candidate.kind);
        let label = labelled.as_ref().filter(meant);
        let mut candidates = Vec::new();
        for kind in kinds.iter().filter(|_| !id.is_empty()) {
            candidates.extend(self.candidates(connection, *kind, id)?);
            // No match is better, and our ids are unique.
            if candidates.iter().any(|found| found.fit == Fit::Ours) {
                break;
            }
        }
        let choice = match label {
            Some(label) => choose_with_label(label, candidates),
            None => choose(candidates),
        };
        match choice {
            IdChoice::One(candidate) => Ok(candidate),
            IdChoice::Many(candidates) => {
                let titles = titles(connection, &candidates)?;
                Err(errors::ambiguous(kind, id, &candidates, &titles))
            }
            IdChoice::None => {
                if let (Some(candidate), Some(kind)) = (&labelled, kind) {
                    return Err(errors::other_kind(kind, candidate));
                }
                let elsewhere = self.elsewhere(connection, kinds, id)?;
                Err(errors::unknown(kind, self, id, &elsewhere))
            }
        }
    }

    /// Returns the target of a label.
    fn labelled(&self, connection: &Connection, text: &str) -> Result<Option<Candidate>> {
        let Some(workspace_id) = self.workspace_id else {
            return Ok(None);
        };
        let Some(label) = sessions::label(connection, workspace_id, text)? else {
            return Ok(None);
        };
        let candidate = match &label.on {
            Labelled::Message(id) => sessions::message(connection, id)?.map(|message| Candidate {
                fit: Fit::Label,
                name: label.text.clone(),
                kind: IdKind::Message,
                seq: message.seq,
                id: message.id,
                session_id: Some(message.session_id),
                workspace_id: Some(workspace_id),
                discarded: message.state == MessageState::Discarded,
            }),
            Labelled::Snapshot(id) => Some(Candidate {
                fit: Fit::Label,
                name: label.text.clone(),
                kind: IdKind::Snapshot,
                seq: *id,
                id: sessions::snapshot_row(connection, *id)?
                    .snapshot
                    .tree
                    .to_string(),
                session_id: None,
                workspace_id: Some(workspace_id),
                discarded: false,
            }),
        };
        let is_in_scope = |candidate: &Candidate| {
            self.session_id.is_none() || candidate.session_id == self.session_id
        };
        Ok(candidate.filter(is_in_scope))
    }

    /// Returns whether this text is exactly one of our ids or of an agent's.
    pub(super) fn has_exactly(&self, connection: &Connection, id: &str) -> Result<bool> {
        for &kind in IdKind::ALL {
            let candidates = self.candidates(connection, kind, id)?;
            if candidates
                .iter()
                .any(|candidate| candidate.fit != Fit::PrefixOfOurs)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the paths of the other workspaces that know an id which this one does not: those in which it is a full
    /// id, or else those in which it is a prefix.
    pub(super) fn elsewhere(
        &self,
        connection: &Connection,
        kinds: &[IdKind],
        id: &str,
    ) -> Result<Elsewhere> {
        let Some(here) = self.workspace_id else {
            return Ok(Elsewhere::default());
        };
        if self.session_id.is_some() || id.is_empty() {
            return Ok(Elsewhere::default());
        }
        // A label is matched as a whole, so it is a better guess than any prefix of an id.
        if let Some(path) = sessions::workspaces_with_label(connection, id)?.pop() {
            return Ok(Elsewhere {
                paths: BTreeSet::from([path]),
                was_here: false,
            });
        }
        let here = sessions::workspace(connection, here)?.path;
        let mut candidates = Vec::new();
        for kind in kinds {
            candidates.extend(Self::default().candidates(connection, *kind, id)?);
        }
        let best = candidates.iter().map(|candidate| candidate.fit).min();
        let best = candidates
            .iter()
            .filter(|candidate| Some(candidate.fit) == best)
            .filter_map(|candidate| candidate.workspace_id)
            .collect::<BTreeSet<i64>>();
        let mut elsewhere = Elsewhere::default();
        for workspace_id in best {
            let workspace = sessions::workspace(connection, workspace_id)?;
            elsewhere.was_here |= workspace.path == here && workspace.replaced_at.is_some();
            let path = workspace.path.to_string_lossy().into_owned();
            elsewhere.paths.insert(path);
        }
        Ok(elsewhere)
    }

    fn candidates(
        &self,
        connection: &Connection,
        kind: IdKind,
        id: &str,
    ) -> Result<Vec<Candidate>> {
        let parameters = params![self.workspace_id, self.session_id, id, IdKind::end(id)];
        all(connection, kind.sql(), parameters, |row| {
            let ours: String = row.get("ours")?;
            let (fit, name) = fit(id, &ours, row.get("theirs")?);
            let (seq, session_id, discarded) =
                (row.get("seq")?, row.get("session")?, row.get("discarded")?);
            Ok(Candidate {
                fit,
                name,
                kind,
                seq,
                id: ours,
                session_id,
                workspace_id: row.get("workspace")?,
                discarded,
            })
        })
    }
}

/// Returns the first lines of the prompts of the candidates that are messages, by id.
fn titles(connection: &Connection, candidates: &[Candidate]) -> Result<BTreeMap<String, String>> {
    let mut titles = BTreeMap::new();
    let messages = candidates
        .iter()
        .filter(|candidate| candidate.kind == IdKind::Message);
    for candidate in messages.take(errors::LISTED) {
        let prompt = sessions::message(connection, &candidate.id)?.and_then(|row| row.prompt);
        let prompt = prompt.unwrap_or_default();
        let mut lines = prompt.lines().map(str::trim);
        if let Some(line) = lines.find(|line| !line.is_empty()) {
            titles.insert(candidate.id.clone(), line.to_owned());
        }
    }
    Ok(titles)
}

/// Returns how an id matches a row, and which of the row's ids it is. The row is known to match.
fn fit(id: &str, ours: &str, theirs: Option<String>) -> (Fit, String) {
    match theirs {
        _ if ours == id => (Fit::Ours, ours.to_owned()),
        Some(theirs) if theirs == id => (Fit::Theirs, theirs),
        Some(_) | None => (Fit::PrefixOfOurs, ours.to_owned()),
    }
}

enum IdChoice {
    None,
    One(Candidate),
    Many(Vec<Candidate>),
}

/// Chooses what a label is on, unless the text is a full id of something else: an agent may choose for its next
/// message what somebody wrote as a label long ago.
fn choose_with_label(label: &Candidate, mut candidates: Vec<Candidate>) -> IdChoice {
    candidates.retain(|other| {
        other.fit != Fit::PrefixOfOurs && (other.kind, &other.id) != (label.kind, &label.id)
    });
    if candidates.is_empty() {
        return IdChoice::One(label.clone());
    }
    candidates.push(label.clone());
    IdChoice::Many(candidates)
}

/// Chooses by the rules in the module's header. Within a kind, candidates come newest session first.
fn choose(mut candidates: Vec<Candidate>) -> IdChoice {
    let Some(best) = candidates.iter().map(|candidate| candidate.fit).min() else {
        return IdChoice::None;
    };
    candidates.retain(|candidate| candidate.fit == best);
    if candidates
        .iter()
        .any(|candidate| candidate.name != candidates[0].name)
    {
        return IdChoice::Many(candidates);
    }
    candidates.sort_by_key(|candidate| candidate.kind);
    let (kind, session_id) = (candidates[0].kind, candidates[0].session_id.clone());
    candidates.retain(|candidate| candidate.kind == kind && candidate.session_id == session_id);
    if !candidates.iter().all(|candidate| candidate.discarded) {
        candidates.retain(|candidate| !candidate.discarded);
    }
    // The same tree or label again is the same thing seen later, not another one.
    if candidates.len() == 1 || kind == IdKind::Snapshot {
        IdChoice::One(candidates.swap_remove(0))
    } else {
        IdChoice::Many(candidates)
    }
}
