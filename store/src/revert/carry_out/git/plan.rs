//! Plans where HEAD, branches and the index go: by the rule for files, without merges. Pure.
//!
//! ```text
//!    base ──undo the agent's changes after the point──► goal
//!    where the reverts so far left it ──must be what is there now──► goal
//! ```
//!
//! HEAD, its branch and its commit are one thing; the index is another. The index moves with HEAD or not at all,
//! because staged changes mean nothing on top of another commit. Another branch moves if snapshots saw all of its way, or
//! if an earlier revert moved it. A branch that the agent created stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ckpt_schema::report::{FileResult, GitPart};

use super::refs::BranchTrace;
use crate::model::Milliseconds;
use crate::model::attribution::UNCLEAR;
use crate::model::entry::ObjectId;
use crate::model::git_item::{GitItem, GitReason, GitStateRow, Heads, plain};
use crate::revert::request::history::Author;

/// One change of git's state in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitChange {
    pub old: GitStateRow,
    pub new: GitStateRow,
    pub claim: GitClaim,
    /// The start of the step of this session in which it happened, if there was one.
    pub begin: Option<Milliseconds>,
}

/// Whose a change is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitClaim {
    /// The agent's, to be undone.
    Undo,
    /// Another author's: their name.
    Keep(String),
    /// It cannot be told from what another author did: their name.
    Shared(String),
    /// It may be the agent's or another author's, with what is known.
    Unclear(String),
}

impl GitClaim {
    /// Returns the claim on what belongs to no step.
    pub fn of_no_step(author: Author) -> Self {
        Self::Keep(author.to_string())
    }

    /// Returns why the change stays, or `None` if it is undone.
    pub fn why_it_stays(&self) -> Option<GitReason> {
        match self {
            Self::Undo => None,
            Self::Keep(by) => Some(changed_since(by).into()),
            Self::Shared(with) => Some(format!("changed while {with} was at work, too").into()),
            Self::Unclear(why) => Some(GitReason {
                text: format!("{UNCLEAR}{why}"),
                is_unclear: true,
            }),
        }
    }
}

/// The reason that a branch stays of which no snapshot shows how it moved.
const NOT_SEEN: &str = "no snapshot shows that the agent alone moved it";

/// Returns the reason that something was moved after the agent did.
fn changed_since(by: impl fmt::Display) -> String {
    format!("changed since by {by}")
}

/// A branch that the reverts so far moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedBranch {
    /// Its commit before the first of them.
    pub base: Option<String>,
    /// The commit that they left it at.
    pub left: Option<String>,
}

/// The questions to the repository while planning.
#[derive(Clone, Copy)]
pub(crate) struct RepositoryQueries<'a> {
    /// The commit that a branch names now.
    pub value_of: &'a dyn Fn(&str) -> Option<String>,
    /// Whether two indexes, by their blobs, stage the same.
    pub same_index: &'a dyn Fn(Option<ObjectId>, Option<ObjectId>) -> bool,
}

/// Everything that the plan is made from.
#[derive(Clone, Copy)]
pub(crate) struct GitMove<'a> {
    /// The state before the first revert.
    pub base: &'a GitStateRow,
    /// What happened from the point up to the first revert, newest first.
    pub changes: &'a [GitChange],
    /// The state in which the reverts so far left it, or `base` if they did not move it.
    pub left: &'a GitStateRow,
    /// The branches that they moved.
    pub moved: &'a BTreeMap<String, MovedBranch>,
    /// The branches that were written while a step to undo was open.
    pub traces: &'a BTreeMap<String, BranchTrace>,
    /// The present state.
    pub now: &'a GitStateRow,
    /// The repository.
    pub asked: RepositoryQueries<'a>,
}

impl GitMove<'_> {
    /// The commit of a branch before the first revert, if it is at `value` now.
    fn base_of<'a>(&'a self, name: &str, value: &'a Option<String>) -> &'a Option<String> {
        self.moved.get(name).map_or(value, |moved| &moved.base)
    }

    /// Leaves a branch that HEAD is not on for a reason, or because something else moved it since an earlier revert.
    fn unless_moved(&self, item: GitItem, seen: Goal<()>) -> GitItem {
        let moved = self.moved.get(&item.name);
        match seen {
            _ if moved.is_some_and(|moved| moved.left != item.expected) => {
                item.left(FileResult::Conflict, changed_since(Author::User))
            }
            Ok(()) => item,
            Err(reason) => item.left(FileResult::Conflict, reason),
        }
    }
}

/// A target state, or the reason for having none.
type Goal<T> = Result<T, GitReason>;

/// Plans to undo what the agent did.
pub(crate) fn plan(movement: GitMove<'_>) -> Vec<GitItem> {
    let GitMove {
        base,
        changes,
        asked,
        ..
    } = movement;
    let heads = fold(Heads::of(base), changes, Heads::of, |one, other| {
        one == other
    });
    let index = fold(
        base.index,
        changes,
        |state| state.index,
        |one, other| (asked.same_index)(*one, *other),
    );
    towards(movement, heads, index)
}

/// Plans to move git's state exactly to a captured one, no matter who changed it since: `restore`. Branches that
/// operations `moved` since, and that HEAD is not on, go back, too.
pub(crate) fn plan_exactly(
    wanted: &GitStateRow,
    now: &GitStateRow,
    moved: &BTreeMap<String, MovedBranch>,
    asked: RepositoryQueries<'_>,
) -> Vec<GitItem> {
    let movement = GitMove {
        base: now,
        changes: &[],
        left: now,
        moved,
        traces: &BTreeMap::new(),
        now,
        asked,
    };
    towards(movement, Ok(Heads::of(wanted)), Ok(wanted.index))
}

/// Undoes the agent's changes one after the other, and keeps everybody else's.
fn fold<'c, T>(
    base: T,
    changes: impl IntoIterator<Item = &'c GitChange>,
    part: impl Fn(&GitStateRow) -> T,
    is_same: impl Fn(&T, &T) -> bool,
) -> Goal<T> {
    let mut state = base;
    let mut other = GitClaim::of_no_step(Author::User);
    for change in changes {
        //     state      the change      then
        //     is new     is the agent's  the state becomes old
        //     is old     is the agent's  it stays: the change is undone already
        //     is other   is the agent's  it is unclear where it would be without the change
        //     is any     is another's    it stays, and explains the line above
        let mut why = None;
        let (old, new) = (part(&change.old), part(&change.new));
        if is_same(&old, &new) {
            continue;
        }
        match &change.claim {
            GitClaim::Keep(_) => other = change.claim.clone(),
            GitClaim::Shared(_) | GitClaim::Unclear(_) => why = change.claim.why_it_stays(),
            GitClaim::Undo if is_same(&state, &new) => state = old,
            GitClaim::Undo if is_same(&state, &old) => {}
            GitClaim::Undo => why = other.why_it_stays(),
        }
        if let Some(why) = why {
            return Err(why);
        }
    }
    Ok(state)
}

fn towards(
    movement: GitMove<'_>,
    heads: Goal<Heads>,
    index: Goal<Option<ObjectId>>,
) -> Vec<GitItem> {
    let (mut items, goal) = match heads {
        Ok(goal) => (heads_items(movement, &goal), goal),
        Err(reason) => {
            let goal = Heads::of(wanted(movement));
            let item = whole(movement, goal.clone());
            (vec![item.left(FileResult::Conflict, reason)], goal)
        }
    };
    let stays = items.iter().any(|item| !item.is_planned());
    let mut others = others(movement, &goal);
    if stays {
        super::repository::leave(&mut others, FileResult::Conflict, "it stays with HEAD");
    }
    // Before HEAD: after a crash, the rest of the plan begins with the branches again.
    let head = items
        .iter()
        .position(|item| item.part == GitPart::Head)
        .unwrap_or(items.len());
    items.splice(head..head, others);
    items.extend(index_item(movement, index, stays));
    items
}

/// Returns the state before the oldest change to undo: what a conflict is about.
fn wanted<'m>(movement: GitMove<'m>) -> &'m GitStateRow {
    let mut changes = movement.changes.iter();
    let oldest = changes.rfind(|change| change.claim == GitClaim::Undo);
    oldest.map_or(movement.base, |change| &change.old)
}

/// Returns HEAD and its branch as one part that stays for a reason.
fn whole(movement: GitMove<'_>, goal: Heads) -> GitItem {
    let now = Heads::of(movement.now);
    match &goal.branch {
        Some(branch) if now.branch == goal.branch => {
            GitItem::planned(GitPart::Branch, branch, now.commit, goal.commit)
        }
        _ => GitItem::planned(GitPart::Head, "HEAD", now.text(), goal.text()),
    }
}

fn heads_items(movement: GitMove<'_>, goal: &Heads) -> Vec<GitItem> {
    let now = Heads::of(movement.now);
    if let Some(reason) = why_not(movement, goal, &now) {
        return vec![whole(movement, goal.clone()).left(FileResult::Conflict, reason)];
    }
    let mut items = Vec::new();
    if let Some(branch) = &goal.branch {
        items.extend(branch_item(movement, branch, goal));
    }
    let head = GitItem::planned(GitPart::Head, "HEAD", now.text(), goal.text());
    let head = (now.text() != goal.text()).then_some(head);
    // On a branch that stays somewhere else, HEAD would be at a commit that was not asked for.
    if items.iter().any(|item| !item.is_planned()) {
        items.extend(
            head.map(|head| head.left(FileResult::Conflict, "it stays because the branch stays")),
        );
        return items;
    }
    items.extend(head);
    items
}

/// Returns why HEAD stays, or `None` if it may go or is there already.
fn why_not(movement: GitMove<'_>, goal: &Heads, now: &Heads) -> Option<String> {
    let is_there = now.is_at(goal);
    match (&now.doing, &goal.doing) {
        // Moving HEAD in the middle of it would leave git with a state that it cannot go on from.
        (Some(doing), None) => {
            return Some(format!("a {doing} has begun since and is not finished"));
        }
        (None, Some(doing)) => {
            return Some(format!(
                "a {doing} was under way then, and cannot be resumed"
            ));
        }
        (Some(doing), Some(_)) if !is_there || now.doing != goal.doing => {
            return Some(format!("a {doing} is under way"));
        }
        _ if is_there => return None,
        _ => {}
    }
    if goal.text().is_none() {
        return Some("HEAD could not be read then".to_owned());
    }
    (!now.is_at(&Heads::of(movement.left))).then(|| changed_since(Author::User))
}

/// Returns the item of the branch that HEAD goes back to.
fn branch_item(movement: GitMove<'_>, branch: &str, goal: &Heads) -> Option<GitItem> {
    let value = (movement.asked.value_of)(branch);
    if value == goal.commit {
        return None;
    }
    let item = GitItem::planned(GitPart::Branch, branch, value.clone(), goal.commit.clone());
    // It was removed or renamed. Creating it again destroys nothing.
    if movement.left.branch.as_deref() == Some(branch) || value.is_none() {
        return Some(item);
    }
    let base = movement.base_of(branch, &value);
    let seen = fold_branch(branch, base.clone(), movement.changes);
    let seen = seen.and_then(|seen| match seen == goal.commit {
        true => Ok(()),
        false => Err(NOT_SEEN.into()),
    });
    Some(movement.unless_moved(item, seen))
}

/// Returns the value of a branch before the agent's commits on it, as far as HEAD was on it when they were seen.
fn fold_branch(branch: &str, base: Option<String>, changes: &[GitChange]) -> Goal<Option<String>> {
    let is_on = |state: &GitStateRow| state.branch.as_deref() == Some(branch);
    let changes = changes.iter();
    let on = changes.filter(|change| is_on(&change.old) && is_on(&change.new));
    fold(
        base,
        on,
        |state| state.head.clone(),
        |one, other| one == other,
    )
}

/// Returns the items of the other branches: those that undone steps moved, and those that only an earlier revert moved,
/// which return to their former commits.
fn others(movement: GitMove<'_>, goal: &Heads) -> Vec<GitItem> {
    let names = movement.moved.keys().chain(movement.traces.keys());
    let names: BTreeSet<&String> = names
        .filter(|name| goal.branch.as_ref() != Some(*name))
        .collect();
    let item = |name: &String| {
        let value = (movement.asked.value_of)(name);
        let base = movement.base_of(name, &value);
        let (target, seen) = match movement.traces.get(name) {
            Some(BranchTrace::From(from)) => {
                match fold_branch(name, base.clone(), movement.changes) {
                    Ok(seen) if seen == *from => (seen, Ok(())),
                    Ok(_) => (from.clone(), Err(NOT_SEEN.into())),
                    Err(reason) => (from.clone(), Err(reason)),
                }
            }
            Some(BranchTrace::Made | BranchTrace::Unknown) | None => (base.clone(), Ok(())),
        };
        let item = GitItem::planned(GitPart::Branch, name, value.clone(), target);
        (item.expected != item.target).then(|| movement.unless_moved(item, seen))
    };
    names.into_iter().filter_map(item).collect()
}

fn index_item(movement: GitMove<'_>, goal: Goal<Option<ObjectId>>, stays: bool) -> Option<GitItem> {
    let same = movement.asked.same_index;
    let now = movement.now.index;
    let target = goal.clone().unwrap_or(wanted(movement).index);
    if same(now, target) {
        return None;
    }
    let text = |index: Option<ObjectId>| index.map(|blob| blob.to_string());
    let item = GitItem::planned(GitPart::Index, "index", text(now), text(target));
    Some(match goal {
        Err(reason) => item.left(FileResult::Conflict, reason),
        Ok(_) if stays => item.left(FileResult::Conflict, "it stays with HEAD"),
        Ok(_) if !same(now, movement.left.index) => {
            item.left(FileResult::Conflict, changed_since(Author::User))
        }
        Ok(_) => item,
    })
}

/// Returns the plan in a sentence for the reflog.
pub(crate) fn way(from: &str, to: &str) -> String {
    let name = |text: &str| plain(text.strip_prefix("ref: ").unwrap_or(text)).to_owned();
    format!("moving from {} to {}", name(from), name(to))
}
