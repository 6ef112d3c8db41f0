//! What a revert point asks for: from the state before the first revert, undo the agent's changes from the newest back, each
//! by the three-way rule. Pure; what is on disk now is [`plan`](super::plan)'s concern.
//!
//! A path is put back or left alone, never half of it: where one of its changes cannot be undone, all of them stay, and the
//! path is named. Before it comes to that, changes that follow on each other are tried as one: of a file that the agent
//! wrote in three steps the user may have taken all three back by hand, which no single step tells.

use std::collections::BTreeMap;

use crate::entry::State;
use crate::error::{Context, Result};
use crate::path::WorkspacePath;
use crate::revert::OnConflict;
use crate::revert::history::{Claim, History, PastChange};
use crate::revert::merge::Contents;
use crate::revert::reason::{Difference, Missing, Reason};
use crate::revert::rule::{Ruling, Sides, three_way};

/// What a revert point asks for at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What stood there before the first revert.
    pub base: State,
    /// What is to stand there.
    pub state: State,
    /// How it comes to that.
    pub verdict: Verdict,
}

/// How a target comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No change of it is undone: it is as before the first revert.
    Untouched,
    /// Somebody undid its changes before the first revert.
    Already,
    /// It is what it was before the changes.
    Undone,
    /// The changes are out, and what others did to it stays.
    Merged,
    /// Its changes cannot be undone: it is as before the first revert.
    Kept(Reason),
}

impl Target {
    /// Returns the target of a path that is to be exactly so, whoever changed it: what `restore` asks for.
    pub fn exactly(base: State, state: State) -> Self {
        Self { base, state, verdict: Verdict::Undone }
    }

    fn of(base: State, state: State, verdict: Verdict) -> Self {
        Self { base, state, verdict }
    }

    fn kept(base: State, reason: Reason) -> Self {
        Self { base, state: base, verdict: Verdict::Kept(reason) }
    }
}

/// Returns what the revert point asks for at every path of `base` and of `history`.
///
/// `base` holds what stood there just before the first revert of the chain; a path that it does not hold was absent. What
/// was there and is not stored must be in it as such an entry, also below a directory that could not be read. Fails
/// where a blob that a merge needs cannot be read.
pub fn target(
    base: &BTreeMap<WorkspacePath, State>,
    history: &History<'_>,
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<BTreeMap<WorkspacePath, Target>> {
    let mut targets = BTreeMap::new();
    for path in base.keys().chain(history.paths().filter(|path| !base.contains_key(*path))) {
        let state = base.get(path).copied().flatten();
        let target = target_of(path, state, history, contents, on_conflict)
            .context(|| format!("could not work out what `{}` was", path.to_text()))?;
        targets.insert(path.clone(), target);
    }
    Ok(targets)
}

fn target_of(
    path: &WorkspacePath,
    base: State,
    history: &History<'_>,
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<Target> {
    let changes: Vec<_> = history.of(path).iter().copied().filter(|past| past.claim != Claim::Keep).collect();
    let Some(oldest) = changes.last() else { return Ok(Target::of(base, base, Verdict::Untouched)) };
    if let Some(reason) = held_back(base, oldest, &changes) {
        return Ok(Target::kept(base, reason));
    }
    match undo(base, &changes, contents, on_conflict)? {
        Ok(undone) => Ok(judge(base, oldest.change.old, undone)),
        Err(Stop::Conflict(past, difference)) => {
            let authors = history.authors_since(path, past, base);
            Ok(Target::kept(base, Reason::Changed { difference, authors }))
        }
        Err(Stop::Missing(missing)) => Ok(Target::kept(base, Reason::Missing(missing))),
    }
}

/// Returns why a path's changes are not to be undone, whatever the rule says.
fn held_back(base: State, oldest: &PastChange, changes: &[&PastChange]) -> Option<Reason> {
    if base.is_some_and(|entry| !entry.is_stored()) {
        return Some(Reason::Missing(Missing::Now));
    }
    changes.iter().filter(|_| base != oldest.change.old).find_map(|past| match &past.claim {
        Claim::Shared(sources) => Some(Reason::Shared(sources.clone())),
        Claim::Undo | Claim::Keep => None,
    })
}

fn judge(base: State, oldest: State, undone: Undone) -> Target {
    let Undone { state, is_merged } = undone;
    if state == base {
        return Target::of(base, base, Verdict::Already);
    }
    if state.is_some_and(|entry| !entry.is_stored()) {
        return Target::kept(base, Reason::Missing(Missing::Before));
    }
    let verdict = if is_merged && state != oldest { Verdict::Merged } else { Verdict::Undone };
    Target::of(base, state, verdict)
}

/// A state with changes undone.
#[derive(Clone, Copy)]
struct Undone {
    state: State,
    is_merged: bool,
}

/// One change to undo, or several that follow on each other: the newest, and the two sides.
#[derive(Clone, Copy)]
struct Run<'a> {
    newest: &'a PastChange,
    old: State,
    new: State,
}

/// What stopped an undoing: the change that is in conflict, or bytes that are not stored.
enum Stop<'a> {
    Conflict(&'a PastChange, Difference),
    Missing(Missing),
}

/// Undoes changes, given newest first: one by one, else as one, and where that is asked for by force.
fn undo<'a>(
    base: State,
    changes: &[&'a PastChange],
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<std::result::Result<Undone, Stop<'a>>> {
    let gentle = if on_conflict == OnConflict::Overwrite { OnConflict::Merge } else { on_conflict };
    let single = singles(changes);
    let stopped = match undo_runs(base, &single, contents, gentle)? {
        Ok(undone) => return Ok(Ok(undone)),
        Err(stopped) => stopped,
    };
    match undo_runs(base, &join(&single), contents, gentle)? {
        Ok(undone) => Ok(Ok(undone)),
        Err(_) if on_conflict == OnConflict::Overwrite => undo_runs(base, &single, contents, on_conflict),
        Err(_) => Ok(Err(stopped)),
    }
}

fn singles<'a>(changes: &[&'a PastChange]) -> Vec<Run<'a>> {
    changes.iter().map(|past| Run { newest: past, old: past.change.old, new: past.change.new }).collect()
}

/// Joins the runs between which nothing happened.
fn join<'a>(runs: &[Run<'a>]) -> Vec<Run<'a>> {
    let mut joined: Vec<Run<'a>> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(newer) if newer.old == run.new => newer.old = run.old,
            _ => joined.push(*run),
        }
    }
    joined
}

fn undo_runs<'a>(
    base: State,
    runs: &[Run<'a>],
    contents: &mut Contents<'_>,
    on_conflict: OnConflict,
) -> Result<std::result::Result<Undone, Stop<'a>>> {
    let mut undone = Undone { state: base, is_merged: false };
    for run in runs {
        let sides = Sides { ancestor: run.new, theirs: run.old, ours: undone.state };
        match three_way(sides, contents, on_conflict)? {
            Ruling::Already => {}
            Ruling::Taken(state) => undone.state = state,
            Ruling::Merged(entry) => undone = Undone { state: Some(entry), is_merged: true },
            Ruling::Conflict(difference) => return Ok(Err(Stop::Conflict(run.newest, difference))),
            Ruling::Missing(missing) => return Ok(Err(Stop::Missing(missing))),
        }
    }
    Ok(Ok(undone))
}
