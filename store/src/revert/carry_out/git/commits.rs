//! Names the commits that the agent made, which a revert without `--git` leaves. This module does IO, but only reads.

use super::plan::{GitChange, GitClaim};
use super::repository::Repository;
use crate::git::objects::{Commit, UserObjects};
use crate::model::number::count;

/// How many commits are searched. A fetched history is not the agent's work.
const LOOKED_AT: usize = 2000;
/// How many commits are named.
const NAMED: usize = 5;

/// Returns a sentence on the commits that undone steps made, with the ids of all, if there are any. `then` is HEAD's
/// commit before them.
pub(crate) fn sentence(
    repository: &Repository,
    changes: &[GitChange],
    then: Option<&str>,
) -> Option<(String, Vec<String>)> {
    let objects = UserObjects::open(&repository.location, repository.id_length);
    let mut made: Vec<(String, Commit)> = Vec::new();
    let undone = changes
        .iter()
        .rev()
        .filter(|change| change.claim == GitClaim::Undo && change.old.head != change.new.head);
    for change in undone {
        for (id, commit) in between(&objects, change) {
            if !made.iter().any(|(known, _)| *known == id) {
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
        .map(|(id, commit)| format!("{} {}", crate::ids::short(id), commit.subject))
        .collect();
    if number > NAMED {
        names.push(format!("and {} more", number - NAMED));
    }
    let way = match then.is_none_or(|then| objects.contains(then)) {
        true => "`--git` moves the branch back",
        // A note of its own says that the commit is gone.
        false => "no revert moves the branch back",
    };
    let text = format!(
        "the agent made {} since: {}; {way}",
        count(number as u64, "commit"),
        names.join(", ")
    );
    Some((text, made.into_iter().map(|(id, _)| id).collect()))
}

/// The commits on the way of first parents to a new commit, newest first: without an old one and its ancestors, and
/// without those that are older than a step.
fn between(objects: &UserObjects, change: &GitChange) -> impl Iterator<Item = (String, Commit)> {
    let find = |id: Option<String>| {
        let id = id.filter(|id| Some(id) != change.old.head.as_ref())?;
        // A commit's time is in whole seconds.
        let is_since =
            |commit: &Commit| change.begin.is_none_or(|begin| commit.time >= begin / 1000);
        let commit = objects.commit(&id).filter(is_since)?;
        Some((id, commit))
    };
    let next = move |(_, commit): &(String, Commit)| find(commit.parents.first().cloned());
    std::iter::successors(find(change.new.head.clone()), next).take(LOOKED_AT)
}
