//! What a request asks for: to move a session's revert point, or to revert a part of the session.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ckpt_schema::report::{MessageState, OperationKind};
use rusqlite::Connection;

use super::chain::{parts_of_chain, takes_all_back};
use super::scope::{Part, RevertScope};
use crate::error::{Error, Result};
use crate::ids;
use crate::model::id::short;
use crate::model::instruction::Instruction;
use crate::model::path::WorkspacePath;
use crate::model::request::{OnConflict, RedoRequest, RevertRequest, Unclear};
use crate::sessions::{
    self, ChainOperation, LiveChange, MessageRow, OperationRow, SessionRow, StepRow,
};
use crate::store::Store;
use crate::timeline::Place;

/// A movement of one session's revert point, or the revert of a part of the session.
#[derive(Clone, Debug)]
pub(crate) struct Movement {
    pub kind: OperationKind,
    pub session: SessionRow,
    /// The revert point before it.
    pub from: Option<MessageRow>,
    /// The revert point after it, or `None` if everything is redone.
    pub to: Option<MessageRow>,
    /// The `seq` of the message that a revert asked for. If that is discarded, it lies before the point.
    pub since: Option<i64>,
    /// The id of the message that a revert asked for.
    pub asked_for: Option<String>,
    /// The snapshot of that message, which the files go back to.
    pub since_snapshot: Option<i64>,
    /// The part that is reverted while the point stays: some paths since a message, or a single message or step.
    pub part: Option<Part>,
    /// The policy for conflicts, if the user chose one; a revert always has one.
    pub on_conflict: Option<OnConflict>,
    /// The policy for unclear changes, if the user chose one.
    pub unclear: Option<Unclear>,
    /// The operation that it takes back, if it is an undo.
    pub undoes: Option<String>,
    /// The workspaces of the session's roots in which the same is done along with it.
    pub along: Vec<i64>,
}

/// Returns the paths that a part is limited to. Where edits are overwritten, a link that an agent changed stands for itself
/// alone: the user did not agree to lose the file that it leads to by now.
pub(crate) fn limits(
    connection: &Connection,
    place: &Place,
    named: &[PathBuf],
    on_conflict: Option<OnConflict>,
) -> Result<Vec<WorkspacePath>> {
    let mut paths = place.paths_asked_for(named)?;
    if on_conflict == Some(OnConflict::Overwrite) {
        let own: BTreeSet<_> = named
            .iter()
            .filter_map(|path| place.path_of(path))
            .collect();
        let mut ends = BTreeSet::new();
        for path in &own {
            if sessions::has_step_changed(connection, place.row.id, path)? {
                ends.extend(place.ends_of(path));
            }
        }
        paths.retain(|path| own.contains(path) || !ends.contains(path));
    }
    Ok(paths)
}

/// A revert that moves the point: back to just before a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeRevert<'a> {
    pub session: &'a SessionRow,
    /// The revert point after it.
    pub to: &'a MessageRow,
    /// The `seq` of the message that was asked for. If that is discarded, it lies before the point.
    pub since: i64,
}

impl Movement {
    /// Returns the movement that `revert` asks for.
    pub fn of_revert(store: &Store, place: &Place, request: &RevertRequest) -> Result<Self> {
        let connection = store.database.connection();
        let only = limits(connection, place, &request.only, Some(request.on_conflict))?;
        let workspace_id = place.row.id;
        let session_id = request.session.as_deref();
        let part_step = match &request.step {
            Some(id) => Some(found(sessions::step(
                connection,
                &ids::step(connection, workspace_id, session_id, id)?.id,
            )?)?),
            None => None,
        };
        let message_id = match &part_step {
            Some(step) => step.message_id.clone(),
            None => ids::message(connection, workspace_id, session_id, &request.message)?.id,
        };
        let message = found(sessions::message(connection, &message_id)?)?;
        let session = found(sessions::session(connection, &message.session_id)?)?;
        refuse_discarded(connection, &session, &message, part_step.as_ref())?;
        let from = point_of(store, &session)?;
        let part = match part_step {
            Some(step) => Some(Part::Step { step, only }),
            None if request.alone => Some(Part::Message {
                message: message.clone(),
                only,
            }),
            None if !only.is_empty() => Some(Part::Paths {
                message: message.clone(),
                only,
            }),
            None => None,
        };
        // A part leaves the revert point where it is: what comes after it stays in force.
        let to = if part.is_some() {
            from.clone()
        } else {
            sessions::message_at_or_after(connection, &session.id, message.seq)?
        };
        let (kind, since, on_conflict) = (
            OperationKind::Revert,
            Some(message.seq),
            Some(request.on_conflict),
        );
        Ok(Self {
            kind,
            session,
            from,
            to,
            since,
            since_snapshot: message.snapshot_id,
            asked_for: Some(message.id),
            part,
            on_conflict,
            unclear: request.unclear,
            undoes: None,
            along: Vec::new(),
        })
    }

    /// Returns the movement back to where the revert point was before an operation. `None` if that did not move it, or if
    /// a message has made it permanent. The first revert of a chain is taken back to where nothing is reverted.
    pub fn of_undo(store: &Store, row: &OperationRow) -> Result<Option<Self>> {
        let connection = store.database.connection();
        let Some(session) = &row.session_id else {
            return Ok(None);
        };
        if !row.moves_point() || sessions::has_message_since(connection, &row.id)? {
            return Ok(None);
        }
        let is_first = row.is_first_revert();
        let session = found(sessions::session(connection, session)?)?;
        let to = match row.from_message_id.as_deref().filter(|_| !is_first) {
            Some(id) => Some(found(sessions::message(connection, id)?)?),
            None => None,
        };
        Ok(Some(Self {
            kind: match is_first {
                true => OperationKind::Unrevert,
                false => OperationKind::Revert,
            },
            from: point_of(store, &session)?,
            session,
            since: to.as_ref().map(|message| message.seq),
            since_snapshot: to.as_ref().and_then(|message| message.snapshot_id),
            asked_for: to.as_ref().map(|message| message.id.clone()),
            to,
            part: None,
            on_conflict: None,
            unclear: None,
            undoes: Some(row.id.clone()),
            along: Vec::new(),
        }))
    }

    /// Returns the movement that `redo` and `unrevert` ask for, or `None` if nothing is reverted.
    pub fn of_redo(store: &Store, place: &Place, request: &RedoRequest) -> Result<Option<Self>> {
        let connection = store.database.connection();
        let session = match &request.session {
            Some(id) => {
                let named = found(sessions::session(
                    connection,
                    &ids::session(connection, place.row.id, id)?.id,
                )?)?;
                let session = sessions::root_of(connection, &named)?;
                let is_beside = || {
                    let parts = sessions::other_parts(connection, &session)?;
                    Ok(parts.iter().any(|part| part.revert_base_id.is_some()))
                };
                let is_reverted =
                    session.revert_base_id.is_some() || !store.is_limited && is_beside()?;
                is_reverted.then_some(session)
            }
            None => match sessions::newest_reverted_session(connection, place.row.id)? {
                // What is still reverted in another root was away when it went forward here.
                None if !store.is_limited => {
                    sessions::newest_reverted_beside(connection, place.row.id)?
                }
                session => session,
            },
        };
        let Some(session) = session else {
            return Ok(None);
        };
        let kind = if request.all {
            OperationKind::Unrevert
        } else {
            OperationKind::Redo
        };
        Self::forward(store, session, kind, request.on_conflict).map(Some)
    }

    /// Returns the movement that takes back what is reverted in a session: all of it, or that of one message.
    fn forward(
        store: &Store,
        session: SessionRow,
        kind: OperationKind,
        on_conflict: Option<OnConflict>,
    ) -> Result<Self> {
        let connection = store.database.connection();
        let from = point_of(store, &session)?;
        let to = match &from {
            // One message forward. Behind the last hidden one there is none, and then nothing is reverted any more.
            Some(from) if kind == OperationKind::Redo => {
                sessions::next_hidden_message(connection, &session.id, from.seq)?
            }
            _ => None,
        };
        Ok(Self {
            kind,
            session,
            from,
            to,
            since: None,
            asked_for: None,
            since_snapshot: None,
            part: None,
            on_conflict,
            unclear: None,
            undoes: None,
            along: Vec::new(),
        })
    }

    /// Returns the same movement in another root of its session, for the paths that it is limited to there. `None` if it
    /// has nothing to do there: nothing of what is asked for happened in that root.
    pub fn beside(
        &self,
        store: &Store,
        part: &SessionRow,
        only: Vec<WorkspacePath>,
    ) -> Result<Option<Self>> {
        let connection = store.database.connection();
        let is_forward = matches!(self.kind, OperationKind::Redo | OperationKind::Unrevert);
        if is_forward && self.undoes.is_none() && self.session.revert_base_id.is_none() {
            // It is forward already in the root where it was asked for, and goes on from where the other one is.
            return Self::forward(store, part.clone(), self.kind, self.on_conflict)
                .map(|it| Some(it).filter(|it| it.session.revert_base_id.is_some()));
        }
        let message = |id: &str| match sessions::part_in(connection, "messages", &part.id, id)? {
            Some(id) => sessions::message(connection, &id),
            None => Ok(None),
        };
        let since = |id: &str| match message(id)? {
            Some(message) => Ok(Some(message)),
            None => sessions::message_beside(connection, &part.id, id),
        };
        let asked = match &self.asked_for {
            Some(id) => since(id)?,
            None => None,
        };
        let undone = match &self.part {
            None => None,
            Some(Part::Message { message: own, .. }) => match message(&own.id)? {
                Some(message) => Some(Part::Message { message, only }),
                None => return Ok(None),
            },
            Some(Part::Paths { message: own, .. }) => match since(&own.id)? {
                Some(message) => Some(Part::Paths { message, only }),
                None => return Ok(None),
            },
            Some(Part::Step { step, .. }) => {
                let id = sessions::part_in(connection, "steps", &part.id, &step.id)?;
                let step = id.map(|id| sessions::step(connection, &id));
                match step.transpose()?.flatten() {
                    Some(step) => Some(Part::Step { step, only }),
                    None => return Ok(None),
                }
            }
        };
        let from = point_of(store, part)?;
        let to = match (&undone, &self.to) {
            (Some(_), _) => from.clone(),
            (None, Some(to)) => sessions::message_beside(connection, &part.id, &to.id)?,
            (None, None) => None,
        };
        let is_reverted = part.revert_base_id.is_some();
        let kind = match (&undone, &to, self.kind) {
            // Nothing since then happened there, so nothing of it stays reverted.
            (None, None, _) if !is_reverted => return Ok(None),
            (None, None, OperationKind::Revert) => OperationKind::Unrevert,
            (_, Some(_), OperationKind::Redo | OperationKind::Unrevert) if !is_reverted => {
                return Ok(None);
            }
            (.., kind) => kind,
        };
        let is_revert = kind == OperationKind::Revert;
        let asked = asked.filter(|_| is_revert);
        Ok(Some(Self {
            kind,
            session: part.clone(),
            from,
            to,
            since: asked.as_ref().map(|message| message.seq),
            since_snapshot: asked.as_ref().and_then(|message| message.snapshot_id),
            asked_for: asked.map(|message| message.id),
            part: undone,
            along: Vec::new(),
            ..self.clone()
        }))
    }

    /// Returns the movement of an operation's row, or `None` for a restore.
    pub fn of_row(connection: &Connection, row: &OperationRow) -> Result<Option<Self>> {
        let Some(session) = &row.session_id else {
            return Ok(None);
        };
        let message = |id: Option<&String>| match id {
            Some(id) => found(sessions::message(connection, id)?).map(Some),
            None => Ok(None),
        };
        let only = row.only_paths.clone();
        let part = match (&row.step_id, message(row.part_message_id.as_ref())?) {
            (Some(step), _) => Some(Part::Step {
                step: found(sessions::step(connection, step)?)?,
                only,
            }),
            (None, Some(message)) if row.is_alone => Some(Part::Message { message, only }),
            (None, Some(message)) => Some(Part::Paths { message, only }),
            (None, None) => None,
        };
        let to = message(row.message_id.as_ref())?;
        let asked_for = message(row.asked_message_id.as_ref())?;
        Ok(Some(Self {
            kind: row.kind,
            session: found(sessions::session(connection, session)?)?,
            from: message(row.from_message_id.as_ref())?,
            since: asked_for.as_ref().map(|message| message.seq),
            since_snapshot: asked_for.as_ref().and_then(|message| message.snapshot_id),
            asked_for: asked_for.map(|message| message.id),
            to,
            part,
            on_conflict: None,
            unclear: None,
            undoes: row.undoes.clone(),
            along: Vec::new(),
        }))
    }

    /// Returns whether it is a revert, and not of a part only.
    pub fn is_whole_revert(&self) -> bool {
        self.kind == OperationKind::Revert && self.part.is_none()
    }

    /// Returns the point that a whole revert goes back to, or `None` for any other movement.
    pub fn whole_revert(&self) -> Option<WholeRevert<'_>> {
        self.is_whole_revert().then_some(())?;
        Some(WholeRevert {
            session: &self.session,
            to: self.to.as_ref()?,
            since: self.since?,
        })
    }

    /// Returns the step that it undoes alone, if any.
    pub fn step(&self) -> Option<&str> {
        match &self.part {
            Some(Part::Step { step, .. }) => Some(&step.id),
            Some(Part::Paths { .. } | Part::Message { .. }) | None => None,
        }
    }

    /// Returns the message that it undoes alone, if any.
    pub fn alone(&self) -> Option<&str> {
        match &self.part {
            Some(Part::Message { message, .. }) => Some(&message.id),
            Some(Part::Paths { .. } | Part::Step { .. }) | None => None,
        }
    }

    /// Returns the message of which, or from which on, only a part is undone.
    pub fn in_part(&self) -> Option<&str> {
        match &self.part {
            Some(Part::Paths { message, .. }) => Some(&message.id),
            Some(Part::Step { step, .. }) => Some(&step.message_id),
            Some(Part::Message { .. }) | None => None,
        }
    }

    /// Returns the message that was asked for: that of a part, else the one to go to. A step alone has none.
    pub fn message(&self) -> Option<&MessageRow> {
        match &self.part {
            Some(Part::Paths { message, .. } | Part::Message { message, .. }) => Some(message),
            Some(Part::Step { .. }) => None,
            None => self.to.as_ref(),
        }
    }

    /// Returns whether the revert point stays where it is.
    pub fn is_same_point(&self) -> bool {
        let id = |message: &Option<MessageRow>| message.as_ref().map(|message| message.id.clone());
        let is_forward = self.takes_all_back() && self.session.revert_base_id.is_some();
        id(&self.from) == id(&self.to) && !is_forward
    }

    /// Returns whether nothing is to be reverted any more after it.
    pub fn takes_all_back(&self) -> bool {
        takes_all_back(self.kind, self.to.as_ref().map(|to| to.id.as_str()))
    }

    /// Returns which parts of the history are undone afterwards: everything after the point, and the parts that earlier
    /// reverts undid.
    pub fn scopes(&self, store: &Store, chain: &[ChainOperation]) -> Result<Vec<RevertScope>> {
        if self.takes_all_back() {
            return Ok(Vec::new());
        }
        let mut scopes = self.whole();
        scopes.extend(parts_of_chain(store.database.connection(), chain)?);
        scopes.extend(self.part.iter().map(RevertScope::of_part));
        Ok(scopes)
    }

    /// Returns the scope of everything after the new point, if there is one.
    pub fn whole(&self) -> Vec<RevertScope> {
        let first = self
            .to
            .as_ref()
            .map(|to| self.whole_since().unwrap_or(to.seq).min(to.seq));
        first.map(RevertScope::from).into_iter().collect()
    }

    /// Returns whether it puts paths back to before a message that is already reverted.
    pub fn is_behind_the_point(&self) -> bool {
        match (&self.part, &self.from) {
            (Some(Part::Paths { message, .. }), Some(point)) => point.seq <= message.seq,
            _ => false,
        }
    }

    /// Returns the `seq` from which on a whole revert undoes everything.
    fn whole_since(&self) -> Option<i64> {
        self.since.filter(|_| self.part.is_none())
    }

    /// Keeps the paths that it moves: all of them, or those of its part.
    ///
    /// A single message or step moves only what it changed, according to `live`.
    pub fn moved(&self, live: &[LiveChange], paths: &mut BTreeSet<WorkspacePath>) {
        match &self.part {
            None => {}
            Some(Part::Paths { only, .. }) => paths.retain(|path| path.is_at_or_below(only)),
            Some(part @ (Part::Message { .. } | Part::Step { .. })) => {
                let scope = RevertScope::of_part(part);
                let own: BTreeSet<&WorkspacePath> = live
                    .iter()
                    .filter(|change| scope.covers(change))
                    .map(|change| &change.row.change.path)
                    .collect();
                paths.retain(|path| own.contains(path));
            }
        }
    }

    /// Returns the `seq` of the first message that this movement or an operation of the chain is about, if any. Nothing
    /// before it is touched.
    pub fn first_seq(
        &self,
        connection: &Connection,
        chain: &[ChainOperation],
    ) -> Result<Option<i64>> {
        let rows = chain.iter().map(|operation| &operation.row);
        let mut messages: BTreeSet<&str> = rows
            .clone()
            .flat_map(|row| [&row.from_message_id, &row.message_id, &row.part_message_id])
            .filter_map(Option::as_deref)
            .collect();
        messages.extend(
            self.from
                .iter()
                .chain(&self.to)
                .map(|message| message.id.as_str()),
        );
        let mut steps: Vec<StepRow> = Vec::new();
        for id in rows.filter_map(|row| row.step_id.as_deref()) {
            steps.push(found(sessions::step(connection, id)?)?);
        }
        match &self.part {
            Some(Part::Paths { message, .. } | Part::Message { message, .. }) => {
                _ = messages.insert(&message.id);
            }
            Some(Part::Step { step, .. }) => steps.push(step.clone()),
            None => {}
        }
        messages.extend(steps.iter().map(|step| step.message_id.as_str()));
        let mut first = self.whole_since();
        for id in messages {
            // A message whose row is gone has no place in the order, so everything counts: too much is read, never
            // too little.
            let seq = sessions::message(connection, id)?.map_or(0, |message| message.seq);
            first = Some(first.map_or(seq, |first| first.min(seq)));
        }
        Ok(first)
    }

    /// Returns the snapshot that the workspace should equal afterwards. A discarded message is not a revert point, but
    /// the rest of its changes go back to just before it.
    pub fn goal_snapshot(&self) -> Option<i64> {
        let is_before_the_point = self
            .whole_since()
            .zip(self.to.as_ref())
            .is_some_and(|(since, to)| since < to.seq);
        if is_before_the_point {
            self.since_snapshot
        } else {
            self.reference_snapshot(self.session.revert_base_id)
        }
    }

    /// Returns the snapshot that shows which directories existed before: that of the state it goes to.
    pub fn reference_snapshot(&self, base: Option<i64>) -> Option<i64> {
        match (&self.part, self.message()) {
            (Some(Part::Step { step, .. }), _) => step.start_snapshot_id,
            (_, Some(message)) => message.snapshot_id,
            (_, None) => base,
        }
    }
}

fn point_of(store: &Store, session: &SessionRow) -> Result<Option<MessageRow>> {
    match &session.revert_message_id {
        Some(id) => sessions::message(store.database.connection(), id),
        None => Ok(None),
    }
}

/// Refuses a discarded message with nothing left to undo: a revert to it would undo later messages that were not asked
/// about. What could not be put back is still the agent's, and can be reverted.
fn refuse_discarded(
    connection: &Connection,
    session: &SessionRow,
    message: &MessageRow,
    step: Option<&StepRow>,
) -> Result<()> {
    if message.state != MessageState::Discarded {
        return Ok(());
    }
    let is_of_it = |change: &LiveChange| {
        change.message_id == message.id
            && step.is_none_or(|step| change.row.step_id.as_ref() == Some(&step.id))
    };
    if sessions::live_changes(connection, &session.id, message.seq)?
        .iter()
        .any(is_of_it)
    {
        return Ok(());
    }
    let id = step.map_or(&message.id, |step| &step.id);
    let what = match step {
        Some(_) => format!("the message of the step `{}`", short(id)),
        None => format!("the message `{}`", short(id)),
    };
    Err(Error::unavailable(format!(
        "{what} is discarded: it was reverted before the next one was sent"
    ))
    .hint(format!(
        "{} lists what can be reverted; {} puts files back to just before it",
        Instruction::LiveMessages,
        Instruction::Restore(short(id))
    )))
}

/// Returns a row that another row names.
fn found<T>(row: Option<T>) -> Result<T> {
    row.ok_or_else(|| {
        Error::failed("the session store refers to a missing row").hint("run `ckpt-hook doctor`")
    })
}
