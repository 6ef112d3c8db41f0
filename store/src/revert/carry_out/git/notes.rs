//! Notes on the refs that stay. This module reads the present values of branches, and nothing else.

use super::history::GitHistory;
use super::refs::{BranchTrace, REMOTES};
use super::repository::Repository;
use crate::model::git_item::{GitStateRow, TAGS, plain};
use crate::model::note::{self, Note};
use crate::revert::plan::operation::GitFate;

/// The notes on refs that were written while a step to undo was open, and stay. Without `--git`, those on HEAD say what
/// is to be said of its branches; with it, parts of the plan do, and the branch that HEAD was on is made again.
pub(super) fn on_refs(
    history: &GitHistory,
    repository: &Repository,
    now: Option<&GitStateRow>,
    git: GitFate,
) -> Vec<Note> {
    let then = history.line.first().and_then(|seen| seen.state.as_ref());
    let then = then.and_then(|state| state.branch.as_deref());
    let now = now.and_then(|state| state.branch.as_deref());
    let is_on_head = |name: &str| [then, now].contains(&Some(name));
    let is_made_again = |name: &str| git == GitFate::Along && then == Some(name);
    let refs = &history.refs;
    let is_there = |name: &str| repository.value_of(name).is_some();
    let renamed = refs.renamed.iter();
    let renamed = renamed.filter(|(old, new)| !is_there(old) && is_there(new));
    let renamed = renamed.filter(|(old, _)| !is_made_again(old));
    let made = refs.branches.iter().filter(|(name, trace)| {
        let is_new = **trace == BranchTrace::Made && then != Some(&name[..]);
        is_new && refs.renamed.iter().all(|(_, new)| new != *name)
    });
    let gone = refs.gone.iter().map(|(name, commit)| (name, commit));
    let gone = gone.filter(|(name, _)| !is_made_again(name));
    let stays = refs.branches.iter().filter(|(name, _)| !is_on_head(name));
    let stays = stays.filter_map(|(name, trace)| moved(repository, name, trace, git));
    let owned = |name: &str| plain(name).to_owned();
    let renamed = renamed.map(|(old, new)| Note::BranchRenamed {
        old: owned(old),
        new: owned(new),
    });
    let gone = gone.map(|(name, commit)| Note::BranchGone {
        name: owned(name),
        was: commit.clone(),
        comes_with_git: then == Some(name),
    });
    let made = made.map(|(name, _)| owned(name)).collect();
    let made = note::on(made, |names| Note::BranchesMade { names });
    let all = stays.chain(renamed).chain(gone).chain(made);
    all.chain(on_others(history)).collect()
}

/// The note on a branch that was moved and stays. With `--git`, the plan names it if it is known from where.
fn moved(repository: &Repository, name: &str, trace: &BranchTrace, git: GitFate) -> Option<Note> {
    let to = repository.value_of(name);
    let name = plain(name).to_owned();
    match trace {
        BranchTrace::From(from) if git == GitFate::Stays && *from != to => {
            let from = from.clone();
            Some(Note::BranchMoved { name, from, to })
        }
        BranchTrace::Unknown => Some(Note::BranchUntraced { name }),
        BranchTrace::From(_) | BranchTrace::Made => None,
    }
}

/// The notes on tags, the stash, pushes, and refs without a name.
fn on_others(history: &GitHistory) -> impl Iterator<Item = Note> {
    let refs = &history.refs;
    let below = |names: &[String], folder: &str| -> Vec<String> {
        let names = names.iter().filter_map(|name| name.strip_prefix(folder));
        names.map(str::to_owned).collect()
    };
    let named = [
        note::on(below(&refs.tags, TAGS), |names| Note::Tags { names }),
        note::on(refs.stashed.clone(), |names| Note::Stashed { names }),
        note::on(below(&refs.pushed, REMOTES), |names| Note::Pushed { names }),
    ];
    let lost = [
        refs.has_lost_stash.then_some(Note::StashDropped),
        refs.has_lost_tag.then_some(Note::TagsLost),
        refs.has_lost_branch.then_some(Note::BranchesLost),
    ];
    named.into_iter().chain(lost).flatten()
}
