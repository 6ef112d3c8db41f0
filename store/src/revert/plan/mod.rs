//! Decides what to do about each path, so that the workspace goes from one revert point to another. Pure: it decides,
//! and `apply` acts.
//!
//! ```text
//!   base ──undo──► old goal ──the difference──► new goal
//!                     │                            │
//!          edits made while reverted               │
//!                     ▼                            ▼
//!                  current ─────the same──────► target
//! ```
//!
//! A path that cannot be moved keeps its old goal: the next move starts from where it really is.

pub(crate) mod operation;
mod renames;

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{FileAction, FileResult, ReasonCode};

use crate::error::{Context, Result};
use crate::fs::threads;
use crate::model::entry::{Change, Entry, EntryKind, ObjectId, State, is_unstored};
use crate::model::gap::Covering;
use crate::model::item::{Item, ItemReason};
use crate::model::path::WorkspacePath;
use crate::model::request::OnConflict;
use crate::revert::goal::clash::{self, EntriesByPath, PathChange};
use crate::revert::goal::lines::Lines;
use crate::revert::goal::material::Material;
use crate::revert::goal::merge::MergeBlobs;
use crate::revert::goal::rule::{Ruling, ThreeWay, three_way};
use crate::revert::goal::states::{PathStates, something_below};
use crate::revert::goal::target::{Target, TargetReason, target};
use crate::revert::goal::user_changes::Yours;
use crate::revert::request::history::{History, Missing, Reason};
use crate::snapshot::Snapshots;
use crate::timeline::count_with;
use renames::{KeptTexts, Renames};

/// Longer files are not compared by their lines, in bytes.
const MAX_COMPARED: u64 = 1 << 20;

/// Where the workspace is moved from, and where to.
#[derive(Clone, Copy)]
pub struct StateMove<'a> {
    /// The goals of the operations so far, the newest of each path. A path without one is at the base of its target.
    pub goals: &'a BTreeMap<WorkspacePath, State>,
    /// What the new revert point asks for. Other paths are left alone.
    pub targets: &'a BTreeMap<WorkspacePath, Target>,
    /// What is on disk: every captured entry, or at least those at, above and below the paths of `targets`, including
    /// what is not stored. A path that is missing here is absent.
    pub current: &'a BTreeMap<WorkspacePath, State>,
    /// What happened to the paths, to say who changed them.
    pub history: &'a History<'a>,
}

impl StateMove<'_> {
    /// Returns where a path of the targets is moved from.
    pub fn old_goal(&self, path: &WorkspacePath) -> State {
        self.goals
            .get(path)
            .copied()
            .unwrap_or_else(|| self.targets.get(path).and_then(|target| target.base))
    }
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Every path of the move, in order: what is done, what stays and why, and what is already right. An item that is
    /// done but has a reason is done only in part: newer changes go, an older one stays.
    pub items: Vec<Item>,
    /// The bytes that merges made, to be stored before anything is done.
    pub blobs: BTreeMap<ObjectId, Vec<u8>>,
    /// What the files in conflict would become if the user chose their earlier versions.
    pub earlier: BTreeMap<WorkspacePath, State>,
}

impl Plan {
    /// Returns whether the plan changes anything in the workspace.
    pub fn has_work(&self) -> bool {
        self.items.iter().any(Item::is_planned)
    }

    /// Returns whether everything that was asked for can be done: no conflict, no gap, and nothing done in part.
    pub fn is_complete(&self) -> bool {
        self.items.iter().all(|item| item.reason.is_none())
    }
}

/// Plans a move. Fails if a blob that a merge needs cannot be read.
///
/// `contents` has to be the one that the targets were worked out with: it holds what was merged for them.
pub fn plan(
    step: StateMove<'_>,
    contents: &mut MergeBlobs<'_>,
    on_conflict: OnConflict,
) -> Result<Plan> {
    let goals = step
        .targets
        .keys()
        .filter_map(|path| Some((path, step.old_goal(path)?)))
        .collect();
    let mut items = Vec::new();
    for (path, target) in step.targets {
        let candidate = MovedPath::of(path, target, &goals, step);
        let item = candidate
            .decide(step.history, contents, on_conflict)
            .context(|| format!("could not plan what to do with `{}`", path.to_text()))?;
        items.extend(item);
    }
    resolve_clashes(&mut items, step);
    // Only now: what was merged for a file that has no place is not stored.
    let blobs = contents.take_made(&wanted(&items));
    Ok(Plan {
        items,
        blobs,
        earlier: BTreeMap::new(),
    })
}

/// Turns what has no place into conflicts, and drops empty directories that come and go with their contents.
fn resolve_clashes(items: &mut [Item], step: StateMove<'_>) {
    // Clashes come first: what has no place stays, and an empty directory is implied only by what will really be in it.
    let (indices, steps) = planned(items);
    let blocked: Vec<_> = clash::blocked(&steps, step.current)
        .into_iter()
        .map(|(at, by)| (indices[at], by))
        .collect();
    for (index, by) in blocked {
        let item = &mut items[index];
        item.target = item.expected;
        // It did not move. With the new goal, the next move would take what is there for an edit.
        item.goal = step.old_goal(&item.path);
        item.action = FileAction::Keep;
        item.result = FileResult::Conflict;
        item.reason = Some(Reason::Blocked(by).of_item());
    }
    let (indices, steps) = planned(items);
    let implied: Vec<_> = clash::implied(&steps, step.current)
        .into_iter()
        .map(|at| indices[at])
        .collect();
    // The directory comes or goes with its contents. As an item of its own it would find the directory filled, or
    // gone, and call that a conflict.
    for index in implied {
        items[index].target = None;
        items[index].action = FileAction::None;
        items[index].result = FileResult::Done;
    }
}

/// Returns the planned changes, with the items' indices.
fn planned(items: &[Item]) -> (Vec<usize>, Vec<PathChange<'_>>) {
    let planned = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.is_planned());
    planned
        .map(|(index, item)| {
            (
                index,
                PathChange {
                    path: &item.path,
                    before: item.expected,
                    after: item.target,
                },
            )
        })
        .unzip()
}

fn wanted(items: &[Item]) -> BTreeSet<ObjectId> {
    items
        .iter()
        .flat_map(|item| [item.target, item.goal])
        .flatten()
        .filter_map(|entry| entry.blob)
        .collect()
}

/// One path of a move.
struct MovedPath<'a> {
    path: &'a WorkspacePath,
    target: &'a Target,
    old_goal: State,
    /// The old goal as it is on disk: an empty directory is not an entry while something below it is wanted.
    expected: State,
    current: State,
}

impl<'a> MovedPath<'a> {
    fn of(
        path: &'a WorkspacePath,
        target: &'a Target,
        goals: &EntriesByPath<'a>,
        step: StateMove<'a>,
    ) -> Self {
        let current = step.current.get(path).copied().flatten();
        let old_goal = step.old_goal(path);
        let is_filled =
            old_goal.is_some_and(is_directory) && clash::first_below(goals, path).is_some();
        Self {
            path,
            target,
            old_goal,
            expected: old_goal.filter(|_| !is_filled || current.is_some_and(is_directory)),
            current,
        }
    }

    fn decide(
        &self,
        history: &History<'_>,
        contents: &mut MergeBlobs<'_>,
        on_conflict: OnConflict,
    ) -> Result<Option<Item>> {
        // First, because it needs nothing else: where both points ask for the same, the path is left alone even if
        // it is a gap, was edited since, or cannot be read.
        if self.expected == self.target.state {
            let is_concerned = self.target.verdict != TargetReason::Untouched;
            return Ok(is_concerned.then(|| self.already()));
        }
        if let Some(missing) = self.missing() {
            return Ok(Some(self.stay(&Reason::Missing(missing))));
        }
        let sides = ThreeWay {
            ancestor: self.expected,
            theirs: self.target.state,
            // The present is compared with where the path was left, not with the base: what the user did while
            // something was reverted is an edit like any other.
            ours: self.current,
        };
        Ok(Some(
            self.follow(three_way(sides, contents, on_conflict)?, history),
        ))
    }

    fn missing(&self) -> Option<Missing> {
        if is_unstored(self.current) {
            return Some(Missing::Now);
        }
        is_unstored(self.target.state).then_some(Missing::Before)
    }

    fn follow(&self, ruling: Ruling, history: &History<'_>) -> Item {
        match ruling {
            Ruling::Already => self.already(),
            Ruling::Taken(None) => self.put(None, FileAction::Delete),
            Ruling::Taken(state) if self.target.verdict == TargetReason::Merged => {
                self.put(state, FileAction::Merge)
            }
            Ruling::Taken(state) => self.put(state, FileAction::Write),
            Ruling::Merged(entry) => self.put(Some(entry), FileAction::Merge),
            Ruling::Missing(missing) => self.stay(&Reason::Missing(missing)),
            Ruling::Conflict(difference) => {
                let authors = vec![history.author_of(self.path, self.current)];
                self.stay(&Reason::Changed {
                    difference,
                    authors,
                })
            }
        }
    }

    /// Returns the item that writes something. It is done in part if the target says that a change stays.
    fn put(&self, target: State, action: FileAction) -> Item {
        let reason = self.target.kept.as_ref().map(|reason| ItemReason {
            text: format!("in part: {reason}"),
            ..reason.of_item()
        });
        Item {
            target,
            action,
            result: FileResult::Planned,
            reason,
            ..self.nothing()
        }
    }

    /// Returns the item of a path for which everything possible is done already.
    fn already(&self) -> Item {
        match &self.target.kept {
            Some(reason) => Item {
                goal: self.target.state,
                ..self.stay(reason)
            },
            None => self.nothing(),
        }
    }

    /// Returns the item of a path that stays for a reason.
    fn stay(&self, reason: &Reason) -> Item {
        let result = if reason.is_gap() {
            FileResult::Gap
        } else {
            FileResult::Conflict
        };
        let reason = Some(reason.of_item());
        Item {
            goal: self.old_goal,
            action: FileAction::Keep,
            result,
            reason,
            ..self.nothing()
        }
    }

    fn nothing(&self) -> Item {
        Item {
            path: self.path.clone(),
            expected: self.current,
            target: self.current,
            goal: self.target.state,
            action: FileAction::None,
            result: FileResult::Done,
            reason: None,
            lines: None,
        }
    }
}

fn is_directory(entry: Entry) -> bool {
    entry.mode.kind() == EntryKind::Directory
}

/// Makes the plan. `undoing` is the policy for changes that cannot be undone, `moving` for edits made while reverted.
/// The earlier versions of files in conflict are worked out from the same material, so nothing is looked at again.
pub(crate) fn plan_for(
    snapshots: &Snapshots,
    material: &Material,
    policies: (OnConflict, OnConflict),
) -> Result<Plan> {
    let mut plan = plan_with(snapshots, material, policies)?;
    let stays = |item: &&Item| matches!(item.result, FileResult::Conflict | FileResult::Gap);
    let staying = plan.items.iter().filter(stays);
    let staying: BTreeSet<WorkspacePath> = staying.map(|item| item.path.clone()).collect();
    if !staying.is_empty() {
        // A second plan, rather than a second rule: what the user would get is exactly what `--on-conflict overwrite`
        // does.
        let chosen = (OnConflict::Overwrite, OnConflict::Overwrite);
        let other = plan_with(snapshots, material, chosen)?;
        let others = other.items.into_iter();
        let others = others.filter(|item| staying.contains(&item.path));
        let (planned, staying): (Vec<_>, Vec<_>) = others.partition(Item::is_planned);
        plan.earlier = planned
            .into_iter()
            .map(|item| (item.path, item.target))
            .collect();
        name_blocked(&mut plan.items, staying);
        plan.blobs.extend(other.blobs);
    }
    Ok(plan)
}

/// Sets the reason of files in conflict that have no place even if they are overwritten: first, that has to go. Who changed
/// them since stays named.
fn name_blocked(items: &mut [Item], staying: Vec<Item>) {
    let staying = staying.into_iter();
    let blocked = staying.filter(|item| item.code() == Some(ReasonCode::Blocked));
    let mut blocked: BTreeMap<_, _> = blocked.map(|item| (item.path, item.reason)).collect();
    let conflicts = items
        .iter_mut()
        .filter(|item| item.result == FileResult::Conflict);
    for item in conflicts {
        if let Some(Some(blocked)) = blocked.remove(&item.path) {
            let by = item.reason.take().map(|reason| reason.by);
            item.reason = Some(ItemReason {
                by: by.unwrap_or_default(),
                ..blocked
            });
        }
    }
}

fn plan_with(
    snapshots: &Snapshots,
    material: &Material,
    (undoing, moving): (OnConflict, OnConflict),
) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = MergeBlobs::new(&read);
    let history =
        History::new(&material.changes).with_restored(&material.restored, &material.lacking);
    let targets = target(&material.base, &history, &mut contents, undoing)?;
    let step = StateMove {
        goals: &material.goals,
        targets: &targets,
        current: &material.current,
        history: &history,
    };
    let mut plan = plan(step, &mut contents, moving)?;
    let comparable = |blob| snapshots.comparable(blob, MAX_COMPARED);
    let elsewhere: &[_] = match undoing {
        OnConflict::Overwrite => &[],
        OnConflict::Keep | OnConflict::Merge => &material.elsewhere,
    };
    let renames = Renames {
        targets: &targets,
        history: &history,
        elsewhere,
        origins: renames::origins(&history, elsewhere),
        read: &comparable,
    };
    let mut kept = KeptTexts::default();
    while renames.hold_back(&mut plan.items, &mut kept, |path| step.old_goal(path)) {
        resolve_clashes(&mut plan.items, step);
    }
    leave_filled(&mut plan.items, &material.folders, &material.current);
    name_forgotten(&mut plan.items, &material.forgotten);
    Ok(plan)
}

/// Why a path stays as it is of which the content was forgotten.
pub(crate) const FORGOTTEN: &str = "forgotten: its content was removed from the store";

/// Sets the reason of paths that cannot be restored because they were forgotten.
fn name_forgotten(items: &mut [Item], forgotten: &[Vec<u8>]) {
    let forgotten = Covering::of(forgotten.iter().cloned());
    let gaps = items
        .iter_mut()
        .filter(|item| item.result == FileResult::Gap);
    for item in gaps {
        if forgotten.covers(&item.path) {
            item.reason = Some(ItemReason::new(ReasonCode::Forgotten, FORGOTTEN));
        }
    }
}

/// Plans to restore paths exactly, no matter who changed them since, except what is kept for a reason: `restore`.
pub(crate) fn plan_exactly(
    snapshots: &Snapshots,
    (wanted, current): (&PathStates, &PathStates),
    forgotten: &[Vec<u8>],
    mut kept: Yours,
) -> Result<Plan> {
    let read = |blob: ObjectId, limit: u64| snapshots.read_blob_up_to(blob, limit);
    let mut contents = MergeBlobs::new(&read);
    let state_now = |path: &WorkspacePath| current.get(path).copied().flatten();
    let earlier = kept
        .keys()
        .filter_map(|path| Some((path.clone(), *wanted.get(path)?)));
    let earlier = earlier.collect();
    let targets: BTreeMap<_, _> = wanted
        .iter()
        // What is there now counts as what was left, so that nothing conflicts, whichever author changed it since.
        .map(|(path, state)| {
            let target = Target::exactly(state_now(path), *state, kept.remove(path));
            (path.clone(), target)
        })
        .collect();
    let step = StateMove {
        goals: &PathStates::new(),
        targets: &targets,
        current,
        history: &History::default(),
    };
    let mut plan = plan(step, &mut contents, OnConflict::Overwrite)?;
    plan.earlier = earlier;
    name_forgotten(&mut plan.items, forgotten);
    Ok(plan)
}

/// Counts the lines that each planned item adds and removes, unless its change was counted when it was recorded.
pub(crate) fn count_lines(snapshots: &Snapshots, plan: &mut Plan, known: &Lines) {
    // What was merged is stored only when the plan is carried out.
    let read = |blob| match plan.blobs.get(&blob) {
        Some(bytes) => Some(bytes.clone()),
        None => snapshots.comparable(blob, crate::timeline::MAX_COUNTED),
    };
    let lines = threads::map(&plan.items, |item| {
        let change = Change {
            path: item.path.clone(),
            old: item.expected,
            new: item.target,
        };
        if !item.is_planned() {
            return item.lines;
        }
        known
            .get(&(change.old, change.new))
            .copied()
            .or_else(|| count_with(&change, read))
    });
    plan.items
        .iter_mut()
        .zip(lines)
        .for_each(|(item, lines)| item.lines = lines);
}

/// Makes the items of folders that are not empty those of no entry: that is what is found at such a path. It comes and
/// goes with what is in it.
fn leave_filled(items: &mut [Item], folders: &BTreeSet<WorkspacePath>, current: &PathStates) {
    let is_filled = |item: &Item| {
        item.expected
            .as_ref()
            .is_some_and(|entry| entry.mode.kind() == EntryKind::Directory)
            && folders.contains(&item.path)
            && something_below(current, &item.path)
    };
    for item in items.iter_mut().filter(|item| is_filled(item)) {
        item.expected = None;
        if !item.is_planned() {
            item.target = None;
        } else if item.target.is_none() {
            (item.action, item.result) = (FileAction::None, FileResult::Done);
        }
    }
}
