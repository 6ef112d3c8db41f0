//! The plan for git, from states alone.

use std::collections::BTreeMap;

use ckpt_schema::report::{FileResult, GitPart};

use super::plan::{
    GitChange, GitClaim, GitMove, MovedBranch, RepositoryQueries, plan, plan_exactly,
};
use crate::model::entry::ObjectId;
use crate::model::git_item::GitItem;
use crate::model::git_item::GitStateRow;

fn index(number: u8) -> Option<ObjectId> {
    Some(ObjectId::new([number; 20]))
}

/// HEAD at a commit of a branch (detached if the name is empty), with an index.
fn at(branch: &str, commit: &str, number: u8) -> GitStateRow {
    GitStateRow {
        head: Some(commit.to_owned()),
        branch: (!branch.is_empty()).then(|| format!("refs/heads/{branch}")),
        index: index(number),
        doing: None,
    }
}

fn change(old: &GitStateRow, new: &GitStateRow, claim: GitClaim) -> GitChange {
    GitChange {
        old: old.clone(),
        new: new.clone(),
        claim,
        begin: None,
    }
}

fn user() -> GitClaim {
    GitClaim::Keep("you or another program".to_owned())
}

/// A repository without reflogs.
fn asked(value_of: &dyn Fn(&str) -> Option<String>) -> RepositoryQueries<'_> {
    RepositoryQueries {
        value_of,
        same_index: &|one, other| one == other,
    }
}

/// What branches there are; indexes are equal where their numbers are.
fn planned(
    base: &GitStateRow,
    changes: &[GitChange],
    left: &GitStateRow,
    now: &GitStateRow,
    moved: &[(&str, &str, &str)],
    others: &[(&str, &str)],
) -> Vec<GitItem> {
    let value_of = |name: &str| {
        let on_head = now
            .head
            .clone()
            .filter(|_| now.branch.as_deref() == Some(name));
        on_head.or_else(|| {
            others
                .iter()
                .find(|(other, _)| *other == name)
                .map(|(_, commit)| (*commit).to_owned())
        })
    };
    let moved: BTreeMap<String, MovedBranch> = moved
        .iter()
        .map(|(name, base, left)| {
            (
                (*name).to_owned(),
                MovedBranch {
                    base: Some((*base).to_owned()),
                    left: Some((*left).to_owned()),
                },
            )
        })
        .collect();
    let asked = asked(&value_of);
    plan(GitMove {
        base,
        changes,
        left,
        moved: &moved,
        traces: &BTreeMap::new(),
        now,
        asked,
    })
}

/// A first revert: what is there is what it starts from.
fn first(now: &GitStateRow, changes: &[GitChange], others: &[(&str, &str)]) -> Vec<GitItem> {
    planned(now, changes, now, now, &[], others)
}

fn results(items: &[GitItem]) -> Vec<(GitPart, Option<&str>, FileResult)> {
    items
        .iter()
        .map(|item| (item.part, item.target.as_deref(), item.result))
        .collect()
}

use FileResult::{Conflict, Planned};
use GitPart::{Branch, Head, Index};

/// Commits of the agent are undone one after the other.
#[test]
fn commits_of_the_agent_are_undone_in_turn() {
    let (x, a, b) = (at("main", "x", 1), at("main", "a", 2), at("main", "b", 3));
    let items = first(
        &b,
        &[
            change(&a, &b, GitClaim::Undo),
            change(&x, &a, GitClaim::Undo),
        ],
        &[],
    );
    let blob = index(1).map(|blob| blob.to_string());
    assert_eq!(
        results(&items),
        [
            (Branch, Some("x"), Planned),
            (Index, blob.as_deref(), Planned)
        ],
        "back to the first"
    );
}

/// A commit of the user in between or afterwards keeps everything.
#[test]
fn users_commit_in_between_keeps_everything() {
    let (x, a, u) = (at("main", "x", 1), at("main", "a", 2), at("main", "u", 3));
    let items = first(
        &u,
        &[change(&a, &u, user()), change(&x, &a, GitClaim::Undo)],
        &[],
    );
    assert!(
        items.iter().all(|item| item.result == Conflict),
        "HEAD and index: {items:?}"
    );
    let b = at("main", "b", 4);
    let changes = [
        change(&u, &b, GitClaim::Undo),
        change(&a, &u, user()),
        change(&x, &a, GitClaim::Undo),
    ];
    assert!(
        first(&b, &changes, &[])
            .iter()
            .all(|item| item.result == Conflict),
        "never half of it"
    );
}

/// What the user did and took back is no matter.
#[test]
fn users_round_trip_is_no_matter() {
    let (x, a, u) = (at("main", "x", 1), at("main", "a", 2), at("main", "u", 3));
    let changes = [
        change(&u, &a, user()),
        change(&a, &u, user()),
        change(&x, &a, GitClaim::Undo),
    ];
    assert!(
        first(&a, &changes, &[])
            .iter()
            .all(|item| item.result == Planned),
        "it stands where the agent left it"
    );
}

/// What the user committed before the agent is kept.
#[test]
fn users_commit_before_the_agents_is_kept() {
    let (x, u, a) = (at("main", "x", 1), at("main", "u", 1), at("main", "a", 1));
    let items = first(
        &a,
        &[change(&u, &a, GitClaim::Undo), change(&x, &u, user())],
        &[],
    );
    assert_eq!(
        results(&items),
        [(Branch, Some("u"), Planned)],
        "only the agent's"
    );
}

#[test]
fn what_two_sessions_did_at_once_is_left() {
    let (x, a) = (at("main", "x", 1), at("main", "a", 2));
    let items = first(
        &a,
        &[change(
            &x,
            &a,
            GitClaim::Shared("pi (session `t`)".to_owned()),
        )],
        &[],
    );
    assert!(
        items.iter().all(|item| item.result == Conflict),
        "{items:?}"
    );
    assert!(
        items[0]
            .reason
            .as_ref()
            .is_some_and(|reason| reason.text.contains("pi")),
        "and it says who: {items:?}"
    );
}

/// Head goes back to a branch that stayed where it was.
#[test]
fn head_goes_back_to_a_branch_that_stayed() {
    let (x, f) = (at("main", "x", 1), at("feature", "f", 1));
    let items = first(
        &f,
        &[change(&x, &f, GitClaim::Undo)],
        &[("refs/heads/main", "x")],
    );
    assert_eq!(
        results(&items),
        [(Head, Some("ref: refs/heads/main"), Planned)],
        "`feature` is kept"
    );
    let items = first(
        &f,
        &[change(&x, &f, GitClaim::Undo)],
        &[("refs/heads/main", "elsewhere")],
    );
    let expected = [
        (Branch, Some("x"), Conflict),
        (Head, Some("ref: refs/heads/main"), Conflict),
    ];
    assert_eq!(
        results(&items),
        expected,
        "nobody saw who moved `main`, and HEAD goes to it or stays: {items:?}"
    );
    let items = first(&f, &[change(&x, &f, GitClaim::Undo)], &[]);
    assert_eq!(
        results(&items)[0],
        (Branch, Some("x"), Planned),
        "one that is gone is made again: {items:?}"
    );
}

/// A merge that began since keeps everything and one that goes on only head.
#[test]
fn unfinished_merge_keeps_head() {
    let (x, a) = (at("main", "x", 1), at("main", "a", 2));
    let merging = |state: &GitStateRow| GitStateRow {
        doing: Some("merge".to_owned()),
        ..state.clone()
    };
    let items = first(
        &merging(&a),
        &[change(&x, &merging(&a), GitClaim::Undo)],
        &[],
    );
    assert!(
        items.iter().all(|item| item.result == Conflict),
        "in the middle of it: {items:?}"
    );
    let resolved = GitStateRow {
        index: index(2),
        ..merging(&x)
    };
    let items = first(
        &resolved,
        &[change(&merging(&x), &resolved, GitClaim::Undo)],
        &[],
    );
    let blob = index(1).map(|blob| blob.to_string());
    assert_eq!(
        results(&items),
        [(Index, blob.as_deref(), Planned)],
        "what was resolved in the user's own merge"
    );
}

/// On the way back everything is what it was before the first revert.
#[test]
fn way_back_restores_gits_first_state() {
    let (base, left) = (at("feature", "f", 3), at("main", "x", 1));
    let moved = [("refs/heads/main", "a", "x")];
    let items = planned(
        &base,
        &[],
        &left,
        &left,
        &moved,
        &[("refs/heads/feature", "f")],
    );
    let blob = index(3).map(|blob| blob.to_string());
    let expected = [
        (Branch, Some("a"), Planned),
        (Head, Some("ref: refs/heads/feature"), Planned),
        (Index, blob.as_deref(), Planned),
    ];
    assert_eq!(
        results(&items),
        expected,
        "the branch that was moved, HEAD and the index"
    );
    let now = at("main", "u", 1);
    let items = planned(
        &base,
        &[],
        &left,
        &now,
        &moved,
        &[("refs/heads/feature", "f")],
    );
    assert_eq!(
        items[0].result, Conflict,
        "the user committed while reverted: {items:?}"
    );
}

#[test]
fn what_is_there_already_is_not_touched() {
    let (x, a) = (at("main", "x", 1), at("main", "a", 2));
    assert_eq!(first(&x, &[], &[]), [], "nothing happened");
    let items = planned(&a, &[change(&x, &a, GitClaim::Undo)], &a, &x, &[], &[]);
    assert_eq!(items, [], "somebody was there before us");
}

/// Restore asks nobody but moves no branch behind heads back.
#[test]
fn restore_of_git_moves_no_other_branch() {
    let (x, u) = (at("main", "x", 1), at("main", "u", 2));
    let asked = asked(&|_| Some("u".to_owned()));
    let items = plan_exactly(&x, &u, &BTreeMap::new(), asked);
    assert!(
        items.iter().all(|item| item.result == Planned),
        "whoever committed: {items:?}"
    );
    let elsewhere = at("feature", "f", 2);
    let items = plan_exactly(&x, &elsewhere, &BTreeMap::new(), asked);
    let is_left = |item: &GitItem| item.result == Conflict;
    assert!(
        items.iter().all(is_left),
        "the snapshot before it would not hold where `main` was: {items:?}"
    );
}
