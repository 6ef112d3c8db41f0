//! The material of a plan, read from rows and snapshots: the history, the state before the first revert, what the reverts
//! since asked for, and what is there now.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::FileResult;
use rusqlite::Connection;

use super::bases::{Base, Sightings, pasts};
use super::history::{Author, Claim, PastChange, Source};
use super::movement::{Movement, Scope};
use super::planning::{Lines, known_lines};
use super::unseen::Unseen;
use crate::error::Result;
use crate::model::attribution::Attribution;
use crate::model::entry::{Entry, EntryKind, Mode, State};
use crate::model::path::WorkspacePath;
use crate::model::request::Unclear;
use crate::sessions::{self, ChainOperation, ChangeRow, GapRow, LiveChange, StepGap};
use crate::snapshot::{GapReason, Snapshot, Snapshots};
use crate::store::Store;
use crate::timeline::{Observation, Place, gaps_of_rows, snapshot_of};

/// States by path.
pub(crate) type States = BTreeMap<WorkspacePath, State>;

/// What a plan is made of.
#[derive(Debug, Default)]
pub(crate) struct Material {
    /// Newest first.
    pub changes: Vec<PastChange>,
    /// The lines of the session's own.
    pub lines: Lines,
    pub base: States,
    pub goals: States,
    pub current: States,
    /// The steps in question whose changes nobody saw, by id, with the reason.
    pub unprotected: Vec<(String, String)>,
    /// The directories that could not be read when one of the steps in question began or ended, with the reason.
    pub unread: Vec<GapRow>,
    /// The paths that were named and at or below which nothing of what is asked for ever changed.
    pub unknown: Vec<WorkspacePath>,
}

/// Gathers the material for a movement, with the workspace as it was just seen.
pub(crate) fn gather(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    movement: &Movement,
    chain: &[ChainOperation],
    seen: &Observation,
    unclear: Unclear,
) -> Result<Material> {
    let connection = store.database.connection();
    let base = movement.session.revert_base_id;
    let scopes = movement.scopes(store, chain)?;
    let mut live = live_changes(connection, movement, chain, seen)?;
    let unseen = Unseen {
        connection,
        place,
        snapshots,
        seen,
        session: (&movement.session.id, &movement.session.agent),
        scopes: &scopes,
        base,
        chain,
        live: &live,
    };
    let first = movement.first_seq(connection, chain)?;
    let reference = movement.reference_snapshot(base);
    let unseen = match first {
        Some(first) => unseen.changes(first, reference)?,
        None => Vec::new(),
    };
    // They are newer than what rows tell of.
    live.splice(0..0, unseen);
    let paths = paths_in_question(movement, chain, &live, &scopes);
    let asked = Asked {
        scopes: &scopes,
        unclear,
    };
    let changes = past_changes(connection, place, movement, seen, &live, asked, &paths)?;
    let current = current_states(place, snapshots, &seen.snapshot, &paths)?;
    let places = with_directories_above(&paths);
    let (base_states, goals) = match base {
        Some(base) => {
            let mut states = base_states(connection, snapshots, chain, base, &places)?;
            let asked = sightings(
                live.iter()
                    .filter(|change| scopes.iter().any(|scope| scope.covers(change))),
            );
            let own = sightings(live.iter());
            let mut hidden = hidden_then(connection, snapshots, base, &states, &paths)?;
            hidden.extend(emptied_since(
                connection, snapshots, base, chain, &states, &current,
            )?);
            let mut goals = States::new();
            for (path, past) in pasts(chain, base, movement.kind, &hidden, &own, &asked) {
                let found = match past.base {
                    Base::Snapshot => None,
                    Base::Found(state) => Some(state),
                    Base::Current => Some(current.get(&path).copied().flatten()),
                };
                if let Some(state) = states.get_mut(&path) {
                    *state = found.unwrap_or(*state);
                }
                goals.extend(past.goal.map(|goal| (path, goal)));
            }
            read_since(&mut states, chain, &current);
            (states, goals)
        }
        None => {
            let now = |path: WorkspacePath| {
                let state = current.get(&path).copied().flatten();
                (path, state)
            };
            (places.into_iter().map(now).collect(), States::new())
        }
    };
    let unprotected =
        sessions::unprotected_steps(connection, &movement.session.id, first_seq(&scopes))?;
    let unread = unread(connection, movement, &scopes, seen)?;
    let unknown = unknown_paths(movement, &live);
    let lines = known_lines(live.iter().map(|change| &change.row));
    Ok(Material {
        changes,
        lines,
        base: base_states,
        goals,
        current,
        unprotected,
        unread,
        unknown,
    })
}

fn unknown_paths(movement: &Movement, live: &[LiveChange]) -> Vec<WorkspacePath> {
    let Some(scope) = movement.part.as_ref().map(Scope::of_part) else {
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
    scope
        .only()
        .iter()
        .filter(|named| !is_known(named))
        .cloned()
        .collect()
}

/// What was made or removed below a directory that could not be read at one side of a step is not in the step's patch, and what
/// could not be read at either side and can be now may be the agent's, too. One that could never be read is told as a gap of now.
fn unread(
    connection: &Connection,
    movement: &Movement,
    scopes: &[Scope],
    seen: &Observation,
) -> Result<Vec<GapRow>> {
    let Some(first) = first_seq(scopes) else {
        return Ok(Vec::new());
    };
    let is_now = |gap: &GapRow| seen.gaps.iter().any(|now| now.path == gap.path);
    let is_uncertain = |around: &StepGap| {
        let at_finish = around.at_finish.unwrap_or_else(|| is_now(&around.gap));
        around.at_start != at_finish || !is_now(&around.gap)
    };
    let mut gaps = sessions::gaps_around_steps(connection, &movement.session.id, first)?;
    gaps.retain(|around| is_unread_directory(&around.gap) && is_uncertain(around));
    let mut unread: Vec<GapRow> = gaps.into_iter().map(|around| around.gap).collect();
    unread.sort_by(|one, other| one.path.cmp(&other.path));
    unread.dedup_by(|one, other| one.path == other.path);
    Ok(unread)
}

/// A directory has no size; neither has a file that could not even be looked at, of which no more is known.
fn is_unread_directory(gap: &GapRow) -> bool {
    gaps_of_rows(std::slice::from_ref(gap)).iter().any(|gap| {
        gap.size.is_none() && matches!(gap.reason, GapReason::Unreadable(_) | GapReason::Mount)
    })
}

/// The changes of the session's messages since the first that any of the reverts is about, newest first; those that are only
/// being observed come before all rows.
fn live_changes(
    connection: &Connection,
    movement: &Movement,
    chain: &[ChainOperation],
    seen: &Observation,
) -> Result<Vec<LiveChange>> {
    let mut live: Vec<LiveChange> = Vec::new();
    for row in seen.changes.iter().rev() {
        // The step may have ended before, where a command of it went on in the background.
        let step = match row.step_id.as_deref() {
            Some(id) => sessions::step(connection, id)?,
            None => None,
        };
        let Some(step) = step else { continue };
        if let Some(message) = sessions::message(connection, &step.message_id)?
            && message.session_id == movement.session.id
        {
            live.push(LiveChange {
                row: ChangeRow {
                    id: i64::MAX,
                    ..row.clone()
                },
                session_id: step.session_id,
                message_id: message.id,
                message_seq: message.seq,
                agent: movement.session.agent.clone(),
            });
        }
    }
    let first = movement.first_seq(connection, chain)?;
    let rows = match first {
        Some(first) => sessions::live_changes(connection, &movement.session.id, first)?,
        None => Vec::new(),
    };
    live.extend(
        rows.into_iter()
            .filter(|change| !seen.replaced.contains(&change.row.id)),
    );
    Ok(live)
}

fn paths_in_question(
    movement: &Movement,
    chain: &[ChainOperation],
    live: &[LiveChange],
    scopes: &[Scope],
) -> BTreeSet<WorkspacePath> {
    let undone = live
        .iter()
        .filter(|change| scopes.iter().any(|scope| scope.covers(change)));
    let mut paths: BTreeSet<WorkspacePath> = undone
        .map(|change| change.row.change.path.clone())
        .collect();
    paths.extend(
        chain
            .iter()
            .flat_map(|operation| &operation.items)
            .map(|item| item.path.clone()),
    );
    let of_step: BTreeSet<(&str, &WorkspacePath)> = live
        .iter()
        .filter_map(|change| Some((change.row.step_id.as_deref()?, &change.row.change.path)))
        .collect();
    paths.retain(|path| {
        movement.moves(path, |step| of_step.contains(&(step, path)))
            && !path.is_in_version_control()
    });
    paths
}

/// The session's own changes of the paths with whether they are undone, and everybody else's since, to tell who it was.
fn past_changes(
    connection: &Connection,
    place: &Place,
    movement: &Movement,
    seen: &Observation,
    live: &[LiveChange],
    asked: Asked<'_>,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<Vec<PastChange>> {
    let own = live
        .iter()
        .filter(|change| paths.contains(&change.row.change.path))
        .map(|change| {
            let claim = claim(connection, change, asked)?;
            Ok((
                change.row.id,
                PastChange {
                    change: change.row.change.clone(),
                    author: author(change),
                    claim,
                },
            ))
        });
    let mut changes: Vec<(i64, PastChange)> = own.collect::<Result<_>>()?;
    let oldest = changes.iter().map(|(id, _)| *id).min().unwrap_or(i64::MAX);
    let mut nobodys = Nobodys {
        connection,
        workspace_id: place.row.id,
        known: BTreeMap::new(),
    };
    for other in
        sessions::changes_of_others(connection, place.row.id, &movement.session.id, oldest)?
    {
        if paths.contains(&other.row.change.path) {
            let author = if other.row.step_id.is_some() {
                author(&other)
            } else {
                nobodys.author(&other.row)?
            };
            changes.push((
                other.row.id,
                PastChange {
                    change: other.row.change,
                    author,
                    claim: Claim::Keep,
                },
            ));
        }
    }
    for row in seen
        .changes
        .iter()
        .filter(|row| row.step_id.is_none() && paths.contains(&row.change.path))
    {
        let author = nobodys.author(row)?;
        changes.push((
            i64::MAX,
            PastChange {
                change: row.change.clone(),
                author,
                claim: Claim::Keep,
            },
        ));
    }
    changes.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    Ok(changes.into_iter().map(|(_, change)| change).collect())
}

/// What is to be undone of the session's own changes.
#[derive(Clone, Copy)]
struct Asked<'a> {
    scopes: &'a [Scope],
    /// Whether what is unclear is among it.
    unclear: Unclear,
}

fn claim(connection: &Connection, change: &LiveChange, asked: Asked<'_>) -> Result<Claim> {
    let Asked { scopes, unclear } = asked;
    if !scopes.iter().any(|scope| scope.covers(change)) {
        return Ok(Claim::Keep);
    }
    let by_name = scopes
        .iter()
        .any(|scope| scope.covers(change) && scope.names(&change.row.change.path));
    Ok(match change.row.attribution {
        Attribution::Shared if !by_name => {
            let others = sessions::sharers(connection, &change.row)?;
            Claim::Shared(others.iter().map(source).collect())
        }
        // A directory's name says nothing about what of it is meant: what is unclear is asked for as such.
        Attribution::Unclear if unclear == Unclear::Keep => {
            Claim::Unclear(change.row.reason.clone().unwrap_or_default())
        }
        Attribution::Agent | Attribution::Shared | Attribution::Outside | Attribution::Unclear => {
            Claim::Undo
        }
    })
}

/// Who made the changes that belong to no step: where one was at work that was not recorded, it may have been that one.
struct Nobodys<'a> {
    connection: &'a Connection,
    workspace_id: i64,
    /// Between two snapshots it is the same for all changes.
    known: BTreeMap<(Option<i64>, Option<i64>), Author>,
}

impl Nobodys<'_> {
    fn author(&mut self, row: &ChangeRow) -> Result<Author> {
        let between = (row.from_snapshot_id, row.to_snapshot_id);
        if let Some(author) = self.known.get(&between) {
            return Ok(author.clone());
        }
        let is_unsure =
            sessions::was_unrecorded(self.connection, self.workspace_id, between.0, between.1)?;
        let author = if is_unsure {
            Author::Unrecorded
        } else {
            Author::User
        };
        self.known.insert(between, author.clone());
        Ok(author)
    }
}

fn author(change: &LiveChange) -> Author {
    Author::Agent(source(change))
}

fn source(change: &LiveChange) -> Source {
    Source {
        step: change.row.step_id.clone().unwrap_or_default(),
        session: change.session_id.clone(),
        message: change.message_id.clone(),
        agent: change.agent.clone(),
    }
}

/// What is there now, at, above and below the paths. What no snapshot holds, because an ignore rule hides it or because it is
/// too large, is captured one by one: nothing that is not stored is ever replaced.
pub(crate) fn current_states(
    place: &Place,
    snapshots: &Snapshots,
    now: &Snapshot,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<States> {
    let wanted: Vec<WorkspacePath> = paths.iter().cloned().collect();
    let mut current: States = snapshots
        .around(now, &wanted)?
        .into_iter()
        .map(|(path, entry)| (path, Some(entry)))
        .collect();
    let is_unknown = |path: &WorkspacePath| {
        current.get(path).copied().flatten().is_none() && !has_below(&current, path)
    };
    let unknown: Vec<WorkspacePath> = wanted.into_iter().filter(is_unknown).collect();
    let may_be_there = snapshots.may_be_there(&place.root, &unknown)?;
    let (there, gone): (Vec<_>, Vec<_>) = unknown
        .into_iter()
        .zip(may_be_there)
        .partition(|(_, may_be)| *may_be);
    current.extend(gone.into_iter().map(|(path, _)| (path, None)));
    let there: Vec<WorkspacePath> = there.into_iter().map(|(path, _)| path).collect();
    let captured = snapshots.capture_all(&place.root, &there)?;
    for (path, state) in there.into_iter().zip(captured) {
        current.insert(path, state.unwrap_or(Some(unreadable())));
    }
    // A directory is no entry where what is in it is known; what else there may be in it keeps it from going.
    let is_occupied = |path: &WorkspacePath, state: &State| {
        state.is_some_and(|entry| entry.mode.kind() == EntryKind::Directory && !entry.is_stored())
            && something_below(&current, path)
    };
    let occupied: Vec<WorkspacePath> = current
        .iter()
        .filter(|(path, state)| is_occupied(path, state))
        .map(|(path, _)| path.clone())
        .collect();
    for path in occupied {
        current.insert(path, None);
    }
    Ok(current)
}

/// Returns whether something is known to stand below a directory.
fn something_below(states: &States, directory: &WorkspacePath) -> bool {
    let Ok(first) = directory.join(b"\x01") else {
        return false;
    };
    states
        .range(first..)
        .take_while(|(path, _)| path.is_below(directory))
        .any(|(_, state)| state.is_some())
}

/// What is there and cannot be read.
fn unreadable() -> Entry {
    Entry {
        mode: Mode::file(0o600),
        blob: None,
    }
}

/// Returns whether there is a path below a directory. Nothing sorts before the name of one byte that is 1.
fn has_below(states: &States, directory: &WorkspacePath) -> bool {
    let first = directory.join(b"\x01").ok();
    first
        .and_then(|first| states.range(first..).next())
        .is_some_and(|(path, _)| path.is_below(directory))
}

/// What could be in a path's way stands at it or above it.
fn with_directories_above(paths: &BTreeSet<WorkspacePath>) -> BTreeSet<WorkspacePath> {
    let above = paths
        .iter()
        .flat_map(|path| std::iter::successors(path.parent(), WorkspacePath::parent));
    above.chain(paths.iter().cloned()).collect()
}

/// What stood there before the first revert of a chain. What its snapshot did not hold, its operation wrote down.
fn base_states(
    connection: &Connection,
    snapshots: &Snapshots,
    chain: &[ChainOperation],
    base: i64,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<States> {
    let snapshot = snapshot_of(&sessions::snapshot(connection, base)?);
    let wanted: Vec<WorkspacePath> = paths.iter().cloned().collect();
    let states = snapshots.states(&snapshot, &wanted)?;
    let mut base_states: States = wanted.into_iter().zip(states).collect();
    if let Some(first) = chain
        .first()
        .filter(|first| first.row.before_snapshot_id == Some(base))
    {
        base_states.extend(
            first
                .items
                .iter()
                .filter(|item| paths.contains(&item.path))
                .map(|item| (item.path.clone(), item.expected)),
        );
    }
    Ok(base_states)
}

/// Returns the paths that are not in a snapshot because ignore rules hid them.
fn hidden_then(
    connection: &Connection,
    snapshots: &Snapshots,
    snapshot: i64,
    states: &States,
    paths: &BTreeSet<WorkspacePath>,
) -> Result<BTreeSet<WorkspacePath>> {
    let absent: Vec<WorkspacePath> = paths
        .iter()
        .filter(|path| states.get(path).copied().flatten().is_none())
        .cloned()
        .collect();
    if absent.is_empty() {
        return Ok(BTreeSet::new());
    }
    let snapshot = snapshot_of(&sessions::snapshot(connection, snapshot)?);
    let are_hidden = snapshots.are_hidden(&snapshot, &absent)?;
    let hidden = absent.into_iter().zip(are_hidden);
    Ok(hidden
        .filter(|(_, is_hidden)| *is_hidden)
        .map(|(path, _)| path)
        .collect())
}

/// Returns the directories that are, or were when they were first moved, empty, and that held others in a snapshot: no entries
/// there.
fn emptied_since(
    connection: &Connection,
    snapshots: &Snapshots,
    snapshot: i64,
    chain: &[ChainOperation],
    states: &States,
    current: &States,
) -> Result<Vec<WorkspacePath>> {
    let mut first = BTreeMap::new();
    for item in chain.iter().flat_map(|operation| &operation.items) {
        first.entry(&item.path).or_insert(item.expected);
    }
    let is_empty = |path: &WorkspacePath| {
        let now = || current.get(path).copied().flatten();
        let state = first.get(path).copied().unwrap_or_else(now);
        state.as_ref().is_some_and(Entry::is_empty_directory)
    };
    let empty: Vec<WorkspacePath> = states
        .iter()
        .filter(|(path, state)| state.is_none() && is_empty(path))
        .map(|(path, _)| path.clone())
        .collect();
    if empty.is_empty() {
        return Ok(Vec::new());
    }
    let snapshot = snapshot_of(&sessions::snapshot(connection, snapshot)?);
    let were_there = snapshots.are_directories(&snapshot, &empty)?;
    let emptied = empty.into_iter().zip(were_there);
    Ok(emptied
        .filter(|(_, was_there)| *was_there)
        .map(|(path, _)| path)
        .collect())
}

/// What could not be read before the first revert was left alone as long as that was so: it stood there when it was moved at
/// last, or stands there now.
fn read_since(base_states: &mut States, chain: &[ChainOperation], current: &States) {
    let mut first_moved = BTreeMap::new();
    for item in chain
        .iter()
        .flat_map(|operation| &operation.items)
        .filter(|item| item.result == FileResult::Done)
    {
        first_moved.entry(&item.path).or_insert(item.expected);
    }
    for (path, state) in base_states
        .iter_mut()
        .filter(|(_, state)| state.is_some_and(|entry| !entry.is_stored()))
    {
        *state = first_moved
            .get(path)
            .copied()
            .unwrap_or_else(|| current.get(path).copied().flatten());
    }
}

/// Returns when changes were first seen, by path.
fn sightings<'a>(changes: impl Iterator<Item = &'a LiveChange>) -> Sightings<'a> {
    let mut sightings = Sightings::new();
    for change in changes {
        sightings
            .entry(&change.row.change.path)
            .or_default()
            .push(change.row.to_snapshot_id);
    }
    sightings
}

fn first_seq(scopes: &[Scope]) -> Option<i64> {
    scopes
        .iter()
        .filter_map(|scope| {
            if let Scope::From { seq, .. } = scope {
                Some(*seq)
            } else {
                None
            }
        })
        .min()
}
