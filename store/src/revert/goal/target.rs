//! Finds the target of each path at a revert point: starts from the state before the first revert, and undoes the
//! agent's changes, newest first, each by the three-way rule. Pure; what is on disk now is [`plan`](crate::revert::plan)'s
//! concern.
//!
//! A change that cannot be undone keeps the older ones of its path, because it was made on top of them. So a path
//! always has the state just before one of the messages, plus what others did to it. The further back the point is, the
//! more is undone, on whatever way it was reached. Before a change is kept, consecutive changes are tried as one: if
//! the agent wrote a file in three steps and the user took back all three, no single step shows that.

use std::collections::BTreeMap;

use super::clash::{self, PathChange};
use super::merge::MergeBlobs;
use super::rule::{Ruling, ThreeWay, three_way};
use crate::error::{Context, Result};
use crate::model::entry::{Entry, EntryKind, Mode, State, is_unstored};
use crate::model::path::WorkspacePath;
use crate::model::request::OnConflict;
use crate::revert::request::history::{Claim, History, PastChange, Source};
use crate::revert::request::history::{ConflictKind, Missing, Reason};

/// What a revert point asks for at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The state before the first revert.
    pub base: State,
    /// The target state.
    pub state: State,
    /// Why this is the target.
    pub verdict: TargetReason,
    /// Why some or all of its changes stay, or `None` if all are undone.
    pub kept: Option<Reason>,
}

/// How a target was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetReason {
    /// No change is to be undone: the target is the state before the first revert.
    Untouched,
    /// It is as before the first revert: the changes are undone already, or they stay.
    Same,
    /// It is as it was before a change.
    Undone,
    /// Changes are undone, and what others did stays.
    Merged,
}

impl Target {
    /// Returns the target of a path that is to have exactly this state, no matter who changed it: what `restore` asks
    /// for. If there is a reason to keep it, it stays.
    pub fn exactly(base: State, state: State, kept: Option<Reason>) -> Self {
        Self {
            base,
            state: if kept.is_some() { base } else { state },
            verdict: TargetReason::Undone,
            kept,
        }
    }
}

/// Returns the goal at every path of `base` and of `history`.
///
/// `base` holds the states just before the first revert of the chain; a path that is not in it was absent. A path that
/// existed but is not stored must be in it as such an entry, also below a directory that could not be read. It must
/// hold the places of the history ([`History::places`]), and should hold everything below them. Fails if a blob that a
/// merge needs cannot be read.
pub fn target(
    base: &BTreeMap<WorkspacePath, State>,
    history: &History<'_>,
    contents: &mut MergeBlobs<'_>,
    on_conflict: OnConflict,
) -> Result<BTreeMap<WorkspacePath, Target>> {
    let mut targets = BTreeMap::new();
    for path in base
        .keys()
        .chain(history.paths().filter(|path| !base.contains_key(*path)))
    {
        let state = base.get(path).copied().flatten();
        let target = target_of(path, state, history, contents, on_conflict)
            .context(|| format!("could not work out what `{}` was", path.to_text()))?;
        targets.insert(path.clone(), target);
    }
    keep_blocked(&mut targets, base);
    Ok(targets)
}

/// Keeps the paths that have no place beside what stays, so that a point's targets fit together, whatever is on disk.
fn keep_blocked(
    targets: &mut BTreeMap<WorkspacePath, Target>,
    base: &BTreeMap<WorkspacePath, State>,
) {
    let changed = targets
        .iter()
        .filter(|(_, target)| target.state != target.base);
    let steps: Vec<_> = changed
        .map(|(path, target)| PathChange {
            path,
            before: target.base,
            after: target.state,
        })
        .collect();
    let blocked: Vec<_> = clash::blocked(&steps, base)
        .into_iter()
        .map(|(at, by)| (steps[at].path.clone(), by))
        .collect();
    for (path, by) in blocked {
        if let Some(target) = targets.get_mut(&path) {
            let kept = Some(Reason::Blocked(by));
            *target = Target {
                state: target.base,
                verdict: TargetReason::Same,
                kept,
                base: target.base,
            };
        }
    }
}

fn target_of(
    path: &WorkspacePath,
    base: State,
    history: &History<'_>,
    contents: &mut MergeBlobs<'_>,
    on_conflict: OnConflict,
) -> Result<Target> {
    let runs: Vec<_> = history
        .of(path)
        .iter()
        .filter_map(|past| ChangeRun::of(past))
        .collect();
    if runs.is_empty() {
        return Ok(Target {
            base,
            state: base,
            verdict: TargetReason::Untouched,
            kept: None,
        });
    }
    let present = Present {
        state: base,
        is_restored: history.is_restored(path, base),
        lacks_something: history.lacks_something(path, base),
    };
    let undone = undo(present, &runs, contents, on_conflict)?;
    let kept = undone.stop.map(|stop| match stop {
        Stop::Held(held) => held.reason(),
        Stop::Missing(missing) => Reason::Missing(missing),
        Stop::Conflict(change, difference) => Reason::Changed {
            difference,
            authors: history.authors_since(path, change, base),
        },
    });
    let verdict = match undone.is_merged {
        _ if undone.state == base => TargetReason::Same,
        true => TargetReason::Merged,
        false => TargetReason::Undone,
    };
    Ok(Target {
        base,
        state: undone.state,
        verdict,
        kept,
    })
}

/// A change to undo, or several consecutive ones: the two sides, the newest change, and what blocks undoing it.
#[derive(Clone, Copy)]
struct ChangeRun<'a> {
    old: State,
    new: State,
    newest: &'a PastChange,
    held: Option<ChangeHolder<'a>>,
}

/// What blocks undoing a change.
#[derive(Clone, Copy)]
enum ChangeHolder<'a> {
    /// Others may have made it, at the same time.
    Shared(&'a [Source]),
    /// It is unclear who made it.
    Unclear(&'a str),
}

impl ChangeHolder<'_> {
    fn reason(self) -> Reason {
        match self {
            Self::Shared(sources) => Reason::Shared(sources.to_vec()),
            Self::Unclear(known) => Reason::Unclear(known.to_owned()),
        }
    }
}

impl<'a> ChangeRun<'a> {
    fn of(past: &'a PastChange) -> Option<Self> {
        let held = match &past.claim {
            Claim::Undo => None,
            Claim::Shared(sources) => Some(ChangeHolder::Shared(sources)),
            Claim::Unclear(known) => Some(ChangeHolder::Unclear(known)),
            Claim::Keep => return None,
        };
        Some(Self {
            old: past.change.old,
            new: past.change.new,
            newest: past,
            held,
        })
    }
}

/// How far undoing has got.
struct Undone<'a> {
    state: State,
    is_merged: bool,
    stop: Option<Stop<'a>>,
}

/// The change that stopped it.
enum Stop<'a> {
    Conflict(&'a PastChange, ConflictKind),
    Missing(Missing),
    Held(ChangeHolder<'a>),
}

/// The state before the first revert.
#[derive(Clone, Copy)]
struct Present {
    state: State,
    /// Whether a `restore` brought it.
    is_restored: bool,
    /// Whether an operation brought it, and could not give the file all that it had.
    lacks_something: bool,
}

impl Present {
    /// Returns whether it is a state, but perhaps for what a lost ACL took from the group.
    fn is(self, state: State) -> bool {
        let is_narrower = || {
            let (Some(own), Some(state)) = (self.state, state) else {
                return false;
            };
            let widened = Mode::file(own.mode.permissions() | state.mode.permissions() & 0o070);
            let is_file = own.mode.kind() == EntryKind::File;
            is_file
                && Entry {
                    mode: widened,
                    ..own
                } == state
        };
        self.state == state || self.lacks_something && is_narrower()
    }
}

/// Undoes changes, given newest first: one by one, or else all as one, or else from the state to which an author took the
/// path back, or else as far as possible, or by force if asked to.
fn undo<'a>(
    present: Present,
    runs: &[ChangeRun<'a>],
    contents: &mut MergeBlobs<'_>,
    on_conflict: OnConflict,
) -> Result<Undone<'a>> {
    let base = present.state;
    // There are no bytes to undo anything in.
    if is_unstored(base) {
        return Ok(Undone {
            state: base,
            is_merged: false,
            stop: Some(Stop::Missing(Missing::Now)),
        });
    }
    // Force takes what others wrote, so it is for what cannot be undone without it.
    let gentle = if on_conflict == OnConflict::Overwrite {
        OnConflict::Merge
    } else {
        on_conflict
    };
    let undone = undo_runs(base, runs, contents, gentle)?;
    if undone.stop.is_none() {
        return Ok(undone);
    }
    let joined = undo_runs(base, &join(runs), contents, gentle)?;
    if joined.stop.is_none() {
        return Ok(joined);
    }
    for (from, rest) in taken_back(present, runs) {
        let undone = undo_runs(from, rest, contents, gentle)?;
        if undone.stop.is_none() {
            return Ok(undone);
        }
    }
    if on_conflict == OnConflict::Overwrite {
        // By force one by one, too: a step that can be undone gently then still is, and others' lines in it stay.
        undo_runs(base, runs, contents, on_conflict)
    } else {
        Ok(undone)
    }
}

/// Returns the states to begin with where the present one is no edit of anybody's, each with the changes that are left to
/// undo there. The session itself passed through it, so the agent's own undo, or git, took back what came after it; where
/// its newest change left the path, nothing was taken back. What a `restore` brought is in the store, and stands for what
/// it replaced.
fn taken_back<'r, 'a>(
    present: Present,
    runs: &'r [ChangeRun<'a>],
) -> impl Iterator<Item = (State, &'r [ChangeRun<'a>])> {
    let newest = runs.first().filter(|newest| newest.held.is_none());
    let is_left = newest.is_some_and(|newest| present.state == newest.new);
    let older = if is_left { &[] } else { runs };
    let passed = older.iter().enumerate().filter_map(move |(at, run)| {
        let is_new = present.is(run.new);
        let rest = &runs[at + usize::from(!is_new)..];
        let passed = if is_new { run.new } else { run.old };
        let from = if rest.is_empty() {
            present.state
        } else {
            passed
        };
        (is_new || present.is(run.old)).then_some((from, rest))
    });
    let newest = runs.first().filter(|_| present.is_restored);
    passed.chain(newest.map(|newest| (newest.new, runs)))
}

/// Joins runs with nothing in between.
fn join<'a>(runs: &[ChangeRun<'a>]) -> Vec<ChangeRun<'a>> {
    let mut joined: Vec<ChangeRun<'a>> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(newer) if newer.old == run.new => {
                newer.old = run.old;
                // A doubt about one of them is a doubt about all that go with it.
                newer.held = newer.held.or(run.held);
            }
            _ => joined.push(*run),
        }
    }
    joined
}

fn undo_runs<'a>(
    base: State,
    runs: &[ChangeRun<'a>],
    contents: &mut MergeBlobs<'_>,
    on_conflict: OnConflict,
) -> Result<Undone<'a>> {
    let mut undone = Undone {
        state: base,
        is_merged: false,
        stop: None,
    };
    // The newest state with bytes. If undoing ends in a gap, the path goes back only as far as this.
    let mut stored = base;
    for run in runs {
        undone.step(run, contents, on_conflict)?;
        if undone.stop.is_some() {
            break;
        }
        if !is_unstored(undone.state) {
            stored = undone.state;
        }
    }
    if is_unstored(undone.state) {
        // A gap between two stored states is skipped. A gap at the end cannot be restored.
        undone.state = stored;
        undone.stop = undone.stop.or(Some(Stop::Missing(Missing::Before)));
    }
    Ok(undone)
}

impl<'a> Undone<'a> {
    fn step(
        &mut self,
        run: &ChangeRun<'a>,
        contents: &mut MergeBlobs<'_>,
        on_conflict: OnConflict,
    ) -> Result<()> {
        if is_unstored(run.old) && is_unstored(run.new) && self.state != run.old {
            // It changed from one state without stored bytes to another. The two only look equal.
            self.stop = Some(Stop::Missing(Missing::Before));
            return Ok(());
        }
        let sides = ThreeWay {
            ancestor: run.new,
            theirs: run.old,
            ours: self.state,
        };
        match (three_way(sides, contents, on_conflict)?, run.held) {
            // First: what need not be undone any more cannot be held up by a doubt about its author.
            (Ruling::Already, _) => {}
            (_, Some(held)) => self.stop = Some(Stop::Held(held)),
            (Ruling::Taken(state), None) => (self.state, self.is_merged) = (state, false),
            (Ruling::Merged(entry), None) => (self.state, self.is_merged) = (Some(entry), true),
            (Ruling::Conflict(difference), None) => {
                self.stop = Some(Stop::Conflict(run.newest, difference))
            }
            (Ruling::Missing(missing), None) => self.stop = Some(Stop::Missing(missing)),
        }
        Ok(())
    }
}
