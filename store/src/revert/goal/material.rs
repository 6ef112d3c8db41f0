//! Gathers the material of a plan from rows and snapshots: the history, the state before the first revert, what the
//! reverts since asked for, and the present state.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::bases::pasts;
use super::folders::{Folders, standing};
use super::lines::{Lines, known_lines};
use super::past::{live_changes, past_changes, paths_in_question, sightings};
use super::search::UnseenSearch;
use super::seen_history::{SeenHistory, messages_of};
use super::states::{PathStates, current_states, with_directories_above};
use crate::error::Result;
use crate::model::entry::{Change, State};
use crate::model::path::WorkspacePath;
use crate::revert::goal::present::Scene;
use crate::revert::request::history::PastChange;
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::{Part, RevertScope};
use crate::revert::request::scope::{UndoScope, is_covered};
use crate::revert::request::unclear::UnclearPolicy;
use crate::sessions::{self, ChainOperation, LiveChange};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::{Look, Place};

/// The input of a plan.
#[derive(Debug, Default)]
pub(crate) struct Material {
    /// Newest first.
    pub changes: Vec<PastChange>,
    /// The counts of lines of the session's own changes.
    pub lines: Lines,
    pub base: PathStates,
    pub goals: PathStates,
    pub current: PathStates,
    /// The steps in question whose changes no look saw, by id, with the reason.
    pub unprotected: Vec<(String, String)>,
    /// What the steps in question did to paths that no snapshot stores.
    pub seen: SeenHistory,
    /// The paths that were forgotten; a directory stands for everything below it.
    pub forgotten: Vec<Vec<u8>>,
    /// The agent's changes that a part leaves alone, at other paths than its own, each with what is there now.
    pub elsewhere: Vec<(Change, State)>,
    /// What `restore` brought since the first message in question.
    pub restored: PathStates,
    /// What any operation brought since then without all that the file had.
    pub lacking: PathStates,
    /// The folders among the paths. One that is not empty is an entry here.
    pub folders: BTreeSet<WorkspacePath>,
    /// The paths that the user named without any change in question at or below them.
    pub unknown: Vec<WorkspacePath>,
}

/// Gathers the material for a movement, with the workspace as it was just seen.
pub(crate) fn gather(
    scene: Scene<'_>,
    movement: &Movement,
    chain: &[ChainOperation],
    (scopes, taking): (&[RevertScope], &UnclearPolicy),
) -> Result<Material> {
    let Scene {
        store,
        place,
        snapshots,
        seen,
    } = scene;
    let connection = scene.connection();
    let base = movement.session.revert_base_id;
    let (live, folders, history) = all_live_changes(scene, movement, (chain, scopes))?;
    let mut paths = paths_in_question(movement, chain, &live, scopes);
    let folders = folders_in_question(movement, chain, folders, &paths);
    paths.extend(folders.keys().cloned());
    let asked = UndoScope {
        scopes,
        taken: &taking.scopes,
    };
    let changes = past_changes(connection, place, movement, seen, &live, asked, &paths)?;
    let mut current = current_states(scene, &paths)?;
    for (path, state) in standing(snapshots, &seen.snapshot, &folders)? {
        let now = current.entry(path).or_default();
        *now = now.or(state);
    }
    // What no operation of the chain moved is moved from the present.
    let mut base_states = only_states(&current, with_directories_above(&paths));
    let mut goals = PathStates::new();
    let stood = match base {
        Some(base) => {
            let base = sessions::snapshot(connection, base)?.snapshot;
            standing(snapshots, &base, &folders)?
        }
        None => PathStates::new(),
    };
    for (path, (then, now)) in taken_folders(&stood, &current) {
        goals.insert(path.clone(), now);
        base_states.insert(path, then);
    }
    let asked = sightings(live.iter().filter(|change| is_covered(scopes, change)));
    for (path, past) in pasts(chain, movement.kind, &sightings(live.iter()), &asked) {
        // A directory above that an earlier part moved is none of this one's: it stays as it is.
        let is_moved = paths.contains(&path);
        if let Some(state) = base_states.get_mut(&path).filter(|_| is_moved) {
            *state = past.base.or(stood.get(&path).copied().flatten());
            let goal = left_by(chain, &path, past.goal, &current);
            goals.insert(path, goal);
        }
    }
    // A path is where the newest operation left it, which may be a restore.
    let [restored, lacking] = restored(connection, place, movement, chain)?;
    for (path, state) in &restored {
        if current.get(path) == Some(state)
            && let Some(goal) = goals.get_mut(path)
        {
            *goal = *state;
        }
    }
    Ok(Material {
        changes,
        lines: known_lines(live.iter().map(|change| &change.row)),
        base: base_states,
        goals,
        current,
        unprotected: unprotected(connection, movement, scopes)?,
        seen: history.within(scopes),
        forgotten: forgotten(store, place)?,
        elsewhere: elsewhere(snapshots, movement, &live, &paths, seen)?,
        restored,
        lacking,
        folders: folders.into_keys().collect(),
        unknown: unknown_paths(place, movement, &live),
    })
}

fn is_folder(state: State) -> bool {
    state.is_some_and(|entry| entry.is_empty_directory())
}

/// Returns where a chain left a path, of which the newest item asked for a state.
fn left_by(
    chain: &[ChainOperation],
    path: &WorkspacePath,
    goal: State,
    current: &PathStates,
) -> State {
    let is_gone = is_folder(goal) && current.get(path) == Some(&None);
    goal.filter(|_| !(is_gone && went_with_contents(chain, path)))
}

/// Returns whether the newest operation that moved a folder may have taken it away with its contents. No item says so.
fn went_with_contents(chain: &[ChainOperation], folder: &WorkspacePath) -> bool {
    let newest = chain.iter().rev().find_map(|operation| {
        let directories = &operation.row.directories;
        let mut items = operation.items.iter();
        let goes = directories.leaving.contains(folder);
        let is_moved =
            directories.made.contains_key(folder) || items.any(|item| item.path == *folder);
        (goes || is_moved).then_some(goes)
    });
    newest.unwrap_or_default()
}

/// Returns the folders from before the first revert that operations may have taken away, each as it was then and as they left
/// it. They take one away with what is in it, and then no item says so. What stands instead of a folder, or a folder instead
/// of a file, they would have an item for: it is the user's.
fn taken_folders(
    stood: &PathStates,
    current: &PathStates,
) -> BTreeMap<WorkspacePath, (State, State)> {
    let folders = stood.iter().filter(|(_, then)| is_folder(**then));
    let moves = folders.map(|(path, then)| {
        let now = current.get(path).copied().flatten();
        let is_replaced = now.is_some() && !is_folder(now);
        (path.clone(), (*then, if is_replaced { *then } else { now }))
    });
    moves.collect()
}

/// Returns the agent's changes of files at paths that a part is not about, each with what is there now.
fn elsewhere(
    snapshots: &Snapshots,
    movement: &Movement,
    live: &[LiveChange],
    paths: &BTreeSet<WorkspacePath>,
    seen: &Look,
) -> Result<Vec<(Change, State)>> {
    let changes = live.iter().map(|change| &change.row.change);
    let changes: Vec<Change> = changes
        .filter(|change| {
            movement.part.is_some() && change.old.is_some() && !paths.contains(&change.path)
        })
        .cloned()
        .collect();
    let places: Vec<WorkspacePath> = changes.iter().map(|change| change.path.clone()).collect();
    let now = snapshots.states(&seen.snapshot, &places)?;
    Ok(changes.into_iter().zip(now).collect())
}

/// Returns the states that `restore` brought since the first message that any of the reverts is about, and those that any
/// operation brought without all that the file had. One message or step alone undoes its own changes, and what a restore
/// brought may be older than these.
fn restored(
    connection: &Connection,
    place: &Place,
    movement: &Movement,
    chain: &[ChainOperation],
) -> Result<[PathStates; 2]> {
    let session = &movement.session.id;
    let message = match movement.first_seq(connection, chain)? {
        Some(first) => sessions::message_at_or_after(connection, session, first)?,
        None => None,
    };
    let Some(message) = message else {
        return Ok([PathStates::new(), PathStates::new()]);
    };
    let since = sessions::message_time(connection, &message.id)?;
    let [mut restored, lacking] = sessions::restored_states(connection, place.row.id, since)?;
    if matches!(
        movement.part,
        Some(Part::Message { .. } | Part::Step { .. })
    ) {
        restored.clear();
    }
    Ok([restored, lacking])
}

/// Returns the paths of a workspace that were forgotten; a directory stands for everything below it.
pub(crate) fn forgotten(store: &Store, place: &Place) -> Result<Vec<Vec<u8>>> {
    let lists = sessions::forget::seen_with_forgotten(store.database.connection(), place.row.id)?;
    let snapshots = place.snapshots()?;
    let mut paths = Vec::new();
    for id in lists {
        let seen = snapshots.seen(Some(id))?.into_iter();
        let forgotten = seen.filter(|entry| entry.reason.is_forgotten());
        paths.extend(forgotten.map(|entry| entry.path));
    }
    Ok(paths)
}

/// Returns the changes in question, newest first: those of rows, and those that no row holds but that the looks around
/// steps reveal. With them come the folders in question.
fn all_live_changes(
    scene: Scene<'_>,
    movement: &Movement,
    (chain, scopes): (&[ChainOperation], &[RevertScope]),
) -> Result<(Vec<LiveChange>, Folders, SeenHistory)> {
    let Scene {
        store,
        place,
        snapshots,
        seen,
    } = scene;
    let connection = scene.connection();
    let live = live_changes(connection, movement, chain, seen)?;
    let Some(first) = movement.first_seq(connection, chain)? else {
        return Ok((live, Folders::new(), SeenHistory::default()));
    };
    let unseen = UnseenSearch {
        connection,
        place,
        snapshots,
        seen,
        session: (&movement.session.id, &movement.session.agent),
        scopes,
        base: movement.session.revert_base_id,
        chain,
        live: &live,
        now: store.now(),
        file_times: store.surroundings.file_times,
    };
    unseen.completed(first, movement.reference_snapshot(unseen.base))
}

fn unprotected(
    connection: &Connection,
    movement: &Movement,
    scopes: &[RevertScope],
) -> Result<Vec<(String, String)>> {
    let mut steps = Vec::new();
    for messages in messages_of(scopes) {
        let of_these = sessions::unprotected_steps(connection, &movement.session.id, messages)?;
        steps.extend(of_these);
    }
    Ok(steps)
}

/// Returns the present state of each place, including absent ones: the base of a path that was never reverted.
pub(crate) fn only_states(current: &PathStates, places: BTreeSet<WorkspacePath>) -> PathStates {
    let now = |path: WorkspacePath| {
        let state = current.get(&path).copied().flatten();
        (path, state)
    };
    places.into_iter().map(now).collect()
}

/// Returns the folders that a movement may move: those of its paths, and where a chain goes on, all of its part, because
/// operations may have taken them away with their contents.
fn folders_in_question(
    movement: &Movement,
    chain: &[ChainOperation],
    mut folders: Folders,
    paths: &BTreeSet<WorkspacePath>,
) -> Folders {
    folders.retain(|path, _| {
        let is_of_part = match &movement.part {
            Some(Part::Message { .. } | Part::Step { .. }) => false,
            Some(Part::Paths { only, .. }) => path.is_at_or_below(only),
            None => true,
        };
        paths.contains(path) || is_of_part && !chain.is_empty()
    });
    folders
}

/// Returns the paths of a part without a change. A link and where it leads are one name for both.
fn unknown_paths(place: &Place, movement: &Movement, live: &[LiveChange]) -> Vec<WorkspacePath> {
    let Some(scope) = movement.part.as_ref().map(RevertScope::of_part) else {
        return Vec::new();
    };
    let changed: Vec<&WorkspacePath> = live
        .iter()
        .filter(|change| scope.covers(change))
        .map(|change| &change.row.change.path)
        .collect();
    let is_known = |named: &&WorkspacePath| {
        changed
            .iter()
            .any(|path| path.is_at_or_below(std::slice::from_ref(*named)))
    };
    let (known, mut unknown): (Vec<_>, Vec<_>) = scope.only().iter().partition(is_known);
    unknown.retain(|named| !place.is_also_named(named, &known));
    unknown.into_iter().cloned().collect()
}
