//! Names the commits that the agent made, which a revert without `--git` leaves. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};

use super::plan::{GitChange, GitClaim};
use super::repository::Repository;
use crate::git::objects::{Commit, UserObjects};
use crate::model::number::count;

/// How many commits are searched. A fetched history is not the agent's work, and nobody reads more names.
const LOOKED_AT: usize = 2000;
/// How many commits are named.
const NAMED: usize = 5;

/// Returns a sentence on the commits that undone steps made, with the ids of all, if there are any.
pub(crate) fn sentence(
    repository: &Repository,
    changes: &[GitChange],
) -> Option<(String, Vec<String>)> {
    let objects = UserObjects::open(&repository.location, repository.id_length);
    let mut made: Vec<(String, Commit)> = Vec::new();
    let undone = changes
        .iter()
        .rev()
        .filter(|change| change.claim == GitClaim::Undo && change.old.head != change.new.head);
    for change in undone {
        for (id, commit) in between(&objects, change.old.head.as_ref(), change.new.head.as_ref()) {
            // A commit's time is in whole seconds.
            let is_since = change
                .span
                .is_none_or(|(begin, _)| commit.time >= begin / 1000);
            if is_since && !made.iter().any(|(known, _)| *known == id) {
                made.push((id, commit));
            }
        }
    }
    let number = made.len();
    if number == 0 {
        return None;
    }
    let mut names: Vec<String> = made
        .iter()
        .take(NAMED)
        .map(|(id, commit)| format!("{} {}", super::short(id), commit.subject))
        .collect();
    if number > NAMED {
        names.push(format!("and {} more", number - NAMED));
    }
    let text = format!(
        "the agent made {} since: {}",
        count(number as u64, "commit"),
        names.join(", ")
    );
    Some((text, made.into_iter().map(|(id, _)| id).collect()))
}

/// Returns whether a commit is another one or an ancestor of it, within the limit of the search.
pub(crate) fn is_before(repository: &Repository, one: &str, other: &str) -> bool {
    let objects = UserObjects::open(&repository.location, repository.id_length);
    let mut known = BTreeSet::from([other.to_owned()]);
    let mut queue = VecDeque::from([other.to_owned()]);
    while let Some(id) = queue.pop_front().filter(|_| known.len() < LOOKED_AT) {
        if id == one {
            return true;
        }
        let parents = objects
            .commit(&id)
            .map(|commit| commit.parents)
            .unwrap_or_default();
        queue.extend(
            parents
                .into_iter()
                .filter(|parent| known.insert(parent.clone())),
        );
    }
    false
}

/// Returns the commits that are reachable from the new one but not from the old one, newest first (`git rev-list new
/// ^old`).
fn between(
    objects: &UserObjects,
    old: Option<&String>,
    new: Option<&String>,
) -> Vec<(String, Commit)> {
    let mut queue: BinaryHeap<(i64, String)> = BinaryHeap::new();
    let mut is_old: HashMap<String, bool> = HashMap::new();
    let mut commits: BTreeMap<String, Commit> = BTreeMap::new();
    let mut order = Vec::new();
    for (id, old) in [(new, false), (old, true)] {
        if let Some(id) = id {
            is_old
                .entry(id.clone())
                .and_modify(|known| *known |= old)
                .or_insert(old);
            queue.push((
                objects.commit(id).map_or(0, |commit| commit.time),
                id.clone(),
            ));
        }
    }
    // Newest first, as in `git rev-list`: so what is reachable from the old commit is known early.
    while let Some((_, id)) = queue.pop() {
        // All that is left is reachable from the old one.
        if order.len() > LOOKED_AT || (is_old[&id] && queue.iter().all(|(_, id)| is_old[id])) {
            break;
        }
        let Some(commit) = objects.commit(&id) else {
            continue;
        };
        for parent in &commit.parents {
            let old = is_old[&id];
            // A commit that was met as new may turn out to be old later, by another parent. Then its parents are,
            // too.
            let is_news = is_old.get(parent).is_none_or(|known| old && !known);
            if is_news {
                is_old.insert(parent.clone(), old);
                queue.push((
                    objects.commit(parent).map_or(0, |commit| commit.time),
                    parent.clone(),
                ));
            }
        }
        if commits.insert(id.clone(), commit).is_none() {
            order.push(id);
        }
    }
    let new = order.into_iter().filter(|id| !is_old[id]);
    new.filter_map(|id| Some((id.clone(), commits.remove(&id)?)))
        .collect()
}
