//! Names the commits that the agent made, which a revert without `--git` leaves. This module does IO, but only reads.

use super::plan::{GitChange, GitClaim};
use super::repository::Repository;
use crate::git::objects::{Commit, UserObjects};
use crate::model::note::{self, Note};

/// How many commits are searched. A fetched history is not the agent's work.
const LOOKED_AT: usize = 2000;

/// Returns the note on the commits that undone steps made, if there are any. `then` is HEAD's commit before them.
pub(crate) fn note(
    repository: &Repository,
    changes: &[GitChange],
    then: Option<&str>,
) -> Option<Note> {
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
    let is_old_there = then.is_none_or(|then| objects.contains(then));
    let commits = made.into_iter().map(|(id, commit)| (id, commit.subject));
    note::on(commits.collect(), |commits| Note::Commits {
        commits,
        is_old_there,
    })
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
