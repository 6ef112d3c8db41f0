//! An operation on a session that works in several roots: the same movement in each of them.
//!
//! Every root has its own chain of operations, and so a movement, a plan and a journal of its own. They are planned and
//! checked together under the locks of all roots, and [`execute`](super::execute) begins none before all of them can be
//! carried out.

use std::path::{Path, PathBuf};

use super::execute::{Executed, PlannedRoot, execute};
use super::operate::{plan_movement, planned};
use super::plan::operation::Findings;
use super::recover::Recovered;
use super::request::movement::{Movement, limits};
use super::request::options::{Options, PlanRequest};
use super::restore::{Wanted, WantedInRoots, plan_restore, plan_wanted};
use super::undo::UndoneOperation;
use crate::error::{self, Error, Result};
use crate::ids::{self, Any};
use crate::model::instruction::Instruction;
use crate::model::note::{self, Note};
use crate::model::request::{PlanOrigin, RestoreRequest, RevertRequest};
use crate::model::shell::quoted;
use crate::revert::request::conversation::JournalledConversation;
use crate::sessions::{self, OperationRow, SessionRow, WorkspaceRow};
use crate::store::Store;
use crate::timeline::Place;

/// The other roots of the session that a request moves.
#[derive(Default)]
pub(super) struct Beside {
    pub places: Vec<Place>,
    /// Those that are not there now.
    away: Vec<WorkspaceRow>,
    /// Whether the session changed something in one of them, or may have.
    is_left: bool,
    /// Whether the history of one was forgotten.
    are_gone: bool,
}

impl Beside {
    /// Finds them, unless the request is limited to one workspace. A request that makes no sense has none: it is refused
    /// where it is carried out.
    pub fn of(store: &Store, place: &Place, request: &PlanRequest) -> Result<Self> {
        if store.is_limited || store.machine.is_some() {
            return Ok(Self::default());
        }
        let beside = error::found(Self::find(store, place, request))?;
        Ok(beside.unwrap_or_default())
    }

    fn find(store: &Store, place: &Place, request: &PlanRequest) -> Result<Self> {
        let connection = store.database.connection();
        let session = |id: &str| sessions::session(connection, id);
        let (session, operation) = match request {
            PlanRequest::Revert(request) => {
                let anywhere = RevertRequest {
                    only: Vec::new(),
                    ..request.clone()
                };
                let movement = Movement::of_revert(store, place, &anywhere)?;
                (Some(movement.session), None)
            }
            PlanRequest::Redo(request) => {
                let movement = Movement::of_redo(store, place, request)?;
                (movement.map(|movement| movement.session), None)
            }
            PlanRequest::Undo(request) => (None, Some(request.operation.clone())),
            PlanRequest::Restore(request) => match ids::any(connection, place.row.id, &request.id)?
            {
                Any::Message(message) => (session(&message.session_id)?, None),
                Any::Step(step) => (session(&step.session_id)?, None),
                Any::Operation(operation) => (None, Some(operation.id)),
                Any::Session(_) | Any::Snapshot(_) => (None, None),
            },
            PlanRequest::Recover(_) => {
                return Ok(Self {
                    places: roots_of_sessions(store, place)?.0,
                    ..Self::default()
                });
            }
        };
        let mut beside = Self::default();
        let mut rows = match &session {
            Some(session) => {
                beside.are_gone = sessions::has_forgotten_roots(connection, &session.id)?;
                sessions::roots_beside(connection, session)?
            }
            None => Vec::new(),
        };
        for part in operation_parts(store, operation.as_deref())? {
            if part.workspace_id != place.row.id {
                rows.push(sessions::workspace(connection, part.workspace_id)?);
            }
        }
        for row in rows {
            match row.is_there() {
                true => beside.places.push(Place::of_row(store, row)),
                false => {
                    let has_changes = sessions::has_changes(connection, row.id, session.as_ref())?;
                    beside.is_left |= has_changes || was_taken_away(&row);
                    beside.away.push(row);
                }
            }
        }
        Ok(beside)
    }

    /// Returns whether the roots that are there are the same.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        let ids = |beside: &Self| -> Vec<i64> {
            let places = beside.places.iter();
            places.map(|place| place.row.id).collect()
        };
        ids(self) == ids(other)
    }

    /// Divides the paths of a request among the roots that hold them: those of the first root, with those that are in no
    /// root, and those of each other one, which are none if the request names no path. Fails if all are in other roots.
    pub fn divide(
        &self,
        place: &Place,
        paths: &[PathBuf],
    ) -> Result<(Vec<PathBuf>, Vec<Vec<PathBuf>>)> {
        if paths.is_empty() {
            return Ok(Default::default());
        }
        let mut own = Vec::new();
        let mut others = vec![Vec::new(); self.places.len()];
        for path in paths {
            let path = place.cwd.join(path);
            let holds = |place: &Place| place.is_root(&path) || place.path_of(&path).is_some();
            // A root below another holds its own paths.
            let depth = |place: &Place| place.root.components().count();
            let inner = (0..self.places.len())
                .filter(|at| holds(&self.places[*at]))
                .max_by_key(|at| depth(&self.places[*at]));
            match inner.filter(|at| !holds(place) || depth(place) < depth(&self.places[*at])) {
                Some(at) => others[at].push(path),
                None => own.push(path),
            }
        }
        match own.is_empty() {
            true => Err(self.only_elsewhere(&others)),
            false => Ok((own, others)),
        }
    }

    /// Says where paths are that are in another root of the session alone.
    fn only_elsewhere(&self, paths: &[Vec<PathBuf>]) -> Error {
        let mut roots = self.places.iter().zip(paths);
        let root = roots.find(|(_, paths)| !paths.is_empty());
        let root = root.map_or_else(String::new, |(place, _)| quoted(&shown(&place.root)));
        Error::usage("the paths are in another directory in which the session worked")
            .hint(Instruction::AskThere(&root).to_string())
    }

    /// Names the roots that are away, and tells of those whose history was forgotten.
    fn notes(&self) -> Vec<Note> {
        let names: Vec<String> = self.away.iter().map(|row| shown(&row.path)).collect();
        let away = note::on(names, |roots| Note::RootsAway { roots });
        let gone = self.are_gone.then_some(Note::RootForgotten);
        away.into_iter().chain(gone).collect()
    }
}

/// Returns whether a root that is not there was removed or replaced, as far as that can be told: where one is unmounted, its
/// directory is empty, or gone with the one above.
fn was_taken_away(row: &WorkspaceRow) -> bool {
    match row.path.read_dir() {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => row.path.parent().is_some_and(Path::is_dir),
    }
}

/// Returns the other roots of a workspace's sessions, unless the request is limited to one workspace: those that are there,
/// and those that are not.
pub(crate) fn roots_of_sessions(
    store: &Store,
    place: &Place,
) -> Result<(Vec<Place>, Vec<WorkspaceRow>)> {
    if store.is_limited || store.machine.is_some() {
        return Ok(Default::default());
    }
    let rows = sessions::roots_of_sessions(store.database.connection(), place.row.id)?;
    let (there, away): (Vec<_>, _) = rows.into_iter().partition(WorkspaceRow::is_there);
    let there = there.into_iter().map(|row| Place::of_row(store, row));
    Ok((there.collect(), away))
}

/// Moves the revert point of a session, or undoes a part of it, in all its roots. `own` is the movement in the first one, if
/// the request is about it, and `paths` are those that a part is limited to in each other root.
pub(super) fn operate_movements(
    store: &mut Store,
    place: &Place,
    own: Movement,
    (beside, paths): (&Beside, &[Vec<PathBuf>]),
    (options, prepared): (Options, Option<&JournalledConversation>),
    recovered: Vec<Recovered>,
) -> Result<Executed> {
    let mut movements = vec![(place, own)];
    let whole = movements[0].1.session.clone();
    for (at, other) in beside.places.iter().enumerate() {
        let only = match paths.get(at) {
            Some(paths) => {
                let on_conflict = movements[0].1.on_conflict;
                limits(store.database.connection(), other, paths, on_conflict)?
            }
            None => Vec::new(),
        };
        let is_asked = paths.get(at).is_none_or(|paths| !paths.is_empty());
        let part = part_in(store, &whole, other)?.filter(|_| is_asked);
        if let Some(part) = part
            && let Some(movement) = movements[0].1.beside(store, &part, only)?
        {
            movements.push((other, movement));
        }
    }
    let going = movements.iter().map(|(place, _)| place.row.id);
    let away = beside.away.iter().map(|row| row.id);
    let along: Vec<i64> = going.chain(away).collect();
    for (_, movement) in &mut movements {
        movement.along.clone_from(&along);
    }
    let mut still = match movements[0].1.takes_all_back() {
        true => still_reverted(store, &movements)?,
        false => None,
    };
    let mut planned = Vec::new();
    let mut recovered = recovered_of(place, beside, recovered);
    for (place, movement) in &movements {
        let recovered = take(&mut recovered, place);
        let prepared = prepared.filter(|_| planned.is_empty());
        let mut root = plan_movement(store, place, movement, options, recovered, prepared)?;
        let joined = joined_later(store, &movements[0].1, movement)?;
        root.operation.found.session = joined.into_iter().chain(still.take()).collect();
        planned.push(of_root(root, planned.is_empty()));
    }
    finish(store, planned, beside, options, recovered)
}

/// Says to which state a root goes that became one after the message that is asked for.
fn joined_later(store: &Store, own: &Movement, movement: &Movement) -> Result<Option<Note>> {
    let (Some(asked), Some(there)) = (&own.asked_for, &movement.asked_for) else {
        return Ok(None);
    };
    let connection = store.database.connection();
    let session = &movement.session.id;
    if sessions::part_in(connection, "messages", session, asked)?.is_some() {
        return Ok(None);
    }
    let first = sessions::message_at_or_after(connection, session, 0)?;
    let is_first = first.is_some_and(|first| first.id == *there);
    Ok(is_first.then(|| Note::JoinedLater {
        message: there.clone(),
    }))
}

/// Names the roots in which the session is still reverted after it went all the way forward in the first.
fn still_reverted(store: &Store, movements: &[(&Place, Movement)]) -> Result<Option<Note>> {
    let connection = store.database.connection();
    let goes_forward = |part: &SessionRow| {
        let same = |(_, movement): &&(_, Movement)| movement.session.id == part.id;
        let movement = movements.iter().find(same);
        movement.is_some_and(|(_, movement)| movement.takes_all_back())
    };
    let parts = sessions::other_parts(connection, &movements[0].1.session)?;
    let still = parts.into_iter();
    let still = still.filter(|part| part.revert_base_id.is_some() && !goes_forward(part));
    note_of_reverted(store, still)
}

/// Says in which roots parts of a session are reverted.
pub(super) fn note_of_reverted(
    store: &Store,
    parts: impl Iterator<Item = SessionRow>,
) -> Result<Option<Note>> {
    let connection = store.database.connection();
    let names = parts
        .filter(|part| part.revert_base_id.is_some())
        .map(|part| {
            let workspace = sessions::workspace(connection, part.workspace_id)?;
            Ok(shown(&workspace.path))
        });
    let names = names.collect::<Result<Vec<_>>>()?;
    Ok(note::on(names, |roots| Note::StillReverted { roots }))
}

/// Puts the roots of a session back to the state that an id stands for, or the paths of them that are named.
pub(super) fn restore(
    store: &mut Store,
    place: &Place,
    request: &RestoreRequest,
    beside: &Beside,
    options: Options,
    recovered: Vec<Recovered>,
) -> Result<Executed> {
    let (own, paths) = beside.divide(place, &request.paths)?;
    let mut recovered = recovered_of(place, beside, recovered);
    let only = place.paths_asked_for(&own)?;
    let first = take(&mut recovered, place);
    let mut planned = vec![plan_restore(store, place, request, &only, options, first)?];
    for (at, other) in beside.places.iter().enumerate() {
        let only = match paths.get(at) {
            Some(paths) if paths.is_empty() => continue,
            Some(paths) => other.paths_asked_for(paths)?,
            None => Vec::new(),
        };
        let Some((id, is_later)) = id_in(store, place, &request.id, other)? else {
            continue;
        };
        let there = RestoreRequest {
            id: id.clone(),
            ..request.clone()
        };
        let before = take(&mut recovered, other);
        let mut root = plan_restore(store, other, &there, &only, options, before)?;
        let joined = is_later.then_some(Note::JoinedLater { message: id });
        root.operation.found.session = joined.into_iter().collect();
        planned.push(root);
    }
    finish(store, planned, beside, options, recovered)
}

/// Sets paths of roots to entries, and changes nothing in any if a path in one of them is not what the user saw. `undoes`
/// is the operation that it takes back, if it is an undo.
pub(super) fn put_back(
    store: &mut Store,
    place: &Place,
    beside: &Beside,
    (wanted, origin): (&WantedInRoots, &PlanOrigin),
    options: Options,
    recovered: Vec<Recovered>,
) -> Result<Executed> {
    let undone = operation_parts(store, origin.undoes.as_deref())?;
    let mut recovered = recovered_of(place, beside, recovered);
    let mut planned = Vec::new();
    let none = Wanted::default();
    for there in std::iter::once(place).chain(&beside.places) {
        let wanted = wanted.get(&there.row.id);
        if wanted.is_none() && !planned.is_empty() {
            continue;
        }
        let part = undone.iter().find(|row| row.workspace_id == there.row.id);
        let origin = PlanOrigin {
            undoes: part.map(|row| row.id.clone()),
            // The parts of a session in other roots have messages of their own.
            message: origin
                .message
                .clone()
                .filter(|_| there.row.id == place.row.id),
        };
        let before = take(&mut recovered, there);
        let wanted = wanted.unwrap_or(&none);
        planned.push(plan_wanted(store, there, wanted, origin, options, before)?);
    }
    finish(store, planned, beside, options, recovered)
}

/// Returns the name of an id of one root in another, and whether that is something later: the root had joined the
/// session only then.
fn id_in(store: &Store, place: &Place, id: &str, other: &Place) -> Result<Option<(String, bool)>> {
    let connection = store.database.connection();
    let part = |session: &str| match sessions::session(connection, session)? {
        Some(session) => part_in(store, &session, other),
        None => Ok(None),
    };
    Ok(match ids::any(connection, place.row.id, id)? {
        Any::Message(message) => match part(&message.session_id)? {
            Some(part) => {
                let same = sessions::part_in(connection, "messages", &part.id, &message.id)?;
                let there = sessions::message_beside(connection, &part.id, &message.id)?;
                there.map(|there| (there.id, same.is_none()))
            }
            None => None,
        },
        Any::Step(step) => match part(&step.session_id)? {
            Some(part) => sessions::part_in(connection, "steps", &part.id, &step.id)?,
            None => None,
        }
        .map(|id| (id, false)),
        Any::Operation(operation) => {
            let mut parts = operation_parts(store, Some(&operation.id))?.into_iter();
            let there = parts.find(|row| row.workspace_id == other.row.id);
            there.map(|row| (row.id, false))
        }
        Any::Session(_) | Any::Snapshot(_) => None,
    })
}

fn operation_parts(store: &Store, id: Option<&str>) -> Result<Vec<OperationRow>> {
    match id {
        Some(id) => sessions::operation_parts(store.database.connection(), id),
        None => Ok(Vec::new()),
    }
}

/// Takes an operation back in all roots in which it has a part.
pub(super) fn undo(
    store: &mut Store,
    place: &Place,
    operation: &str,
    beside: &Beside,
    options: Options,
    recovered: Vec<Recovered>,
) -> Result<Executed> {
    let connection = store.database.connection();
    let mut parts: Vec<(&Place, OperationRow, Option<Movement>)> = Vec::new();
    let places = std::iter::once(place).chain(&beside.places);
    for row in sessions::operation_parts(connection, operation)? {
        let mut places = places.clone();
        if let Some(place) = places.find(|place| place.row.id == row.workspace_id) {
            let movement = Movement::of_undo(store, &row)?;
            parts.push((place, row, movement));
        }
    }
    let first = parts.iter().position(|(_, row, _)| row.id == operation);
    parts.swap(0, first.unwrap_or_default());
    let along: Vec<i64> = parts.iter().map(|(place, ..)| place.row.id).collect();
    for movement in parts
        .iter_mut()
        .filter_map(|(.., movement)| movement.as_mut())
    {
        movement.along.clone_from(&along);
    }
    let mut planned_all = Vec::new();
    let mut recovered = recovered_of(place, beside, recovered);
    for (place, row, movement) in &parts {
        let recovered = take(&mut recovered, place);
        let options = Options {
            git: row.git,
            ..options
        };
        let root = match movement {
            Some(movement) => plan_movement(store, place, movement, options, recovered, None)?,
            None => planned(store, place, None, options, recovered, |scene| {
                UndoneOperation { scene, row }.files_back(options)
            })?,
        };
        planned_all.push(of_root(root, planned_all.is_empty()));
    }
    finish(store, planned_all, beside, options, recovered)
}

/// The agent's conversation moves with the first root.
fn of_root(mut planned: PlannedRoot<'_>, is_first: bool) -> PlannedRoot<'_> {
    if !is_first {
        planned.operation.conversation = None;
    }
    planned
}

/// What was finished first, by the workspace.
type RecoveredRoots = Vec<(i64, Recovered)>;

fn recovered_of(place: &Place, beside: &Beside, recovered: Vec<Recovered>) -> RecoveredRoots {
    let places = std::iter::once(place).chain(&beside.places);
    places.map(|place| place.row.id).zip(recovered).collect()
}

fn take(recovered: &mut RecoveredRoots, place: &Place) -> Recovered {
    let at = recovered.iter().position(|(id, _)| *id == place.row.id);
    at.map_or_else(Recovered::default, |at| recovered.swap_remove(at).1)
}

fn finish(
    store: &mut Store,
    mut planned: Vec<PlannedRoot<'_>>,
    beside: &Beside,
    options: Options,
    rest: RecoveredRoots,
) -> Result<Executed> {
    if let Some(first) = planned.first_mut() {
        let rest = rest.into_iter().map(|(_, recovered)| recovered);
        let rest = rest.reduce(Recovered::and).unwrap_or_default();
        first.operation.finished.extend(rest.finished);
        first.operation.found.roots = Findings {
            notes: [rest.notes, beside.notes()].concat(),
            // What was done there is still to be taken back.
            is_incomplete: beside.is_left,
        };
    }
    execute(store, planned, options)
}

/// Returns the part of a session in a root.
fn part_in(store: &Store, session: &SessionRow, place: &Place) -> Result<Option<SessionRow>> {
    let parts = sessions::other_parts(store.database.connection(), session)?;
    Ok(parts
        .into_iter()
        .find(|part| part.workspace_id == place.row.id))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
