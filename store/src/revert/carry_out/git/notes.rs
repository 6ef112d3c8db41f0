//! Notes on the refs that stay. This module reads the present values of branches, and nothing else.

use ckpt_schema::report::NoteCode;

use super::history::GitHistory;
use super::refs::{BranchTrace, REMOTES};
use super::repository::Repository;
use crate::ids::short;
use crate::model::git_item::{GitStateRow, TAGS, plain};
use crate::model::note::Note;
use crate::model::number::first_quoted;
use crate::revert::plan::operation::GitFate;

/// How many names a note has.
pub(super) const NAMED: usize = 5;

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
    stays
        .chain(renamed.map(|(old, new)| {
            let (old, new) = (plain(old).to_owned(), plain(new).to_owned());
            let text = format!("branch `{old}` was renamed to `{new}` since, and keeps that name");
            Note::about(NoteCode::BranchMoved, text, vec![old, new])
        }))
        .chain(gone.map(|(name, commit)| {
            let again = match then == Some(name) {
                true => "`--git` makes it again",
                false => "no revert makes it again",
            };
            let (name, commit) = (plain(name).to_owned(), commit_name(commit.as_deref()));
            let text = format!("branch `{name}` (was {commit}) gone since: {again}");
            Note::about(NoteCode::BranchGone, text, vec![name])
        }))
        .chain(of_names(
            NoteCode::BranchMade,
            ["made since: branch", "made since: branches"],
            made.map(|(name, _)| plain(name).to_owned()).collect(),
            ", and it stays",
        ))
        .chain(on_others(history))
        .collect()
}

/// The note on a branch that was moved and stays. With `--git`, the plan names it if it is known from where.
fn moved(repository: &Repository, name: &str, trace: &BranchTrace, git: GitFate) -> Option<Note> {
    let now = repository.value_of(name);
    let name = plain(name);
    let text = match trace {
        BranchTrace::From(from) if git == GitFate::Stays && *from != now => {
            let (from, now) = (commit_name(from.as_deref()), commit_name(now.as_deref()));
            format!("`{name}` was moved from {from} to {now} since, and it stays")
        }
        BranchTrace::Unknown => {
            format!("`{name}` was moved or made since, and it stays: no reflog says from where")
        }
        BranchTrace::From(_) | BranchTrace::Made => return None,
    };
    Some(Note::about(
        NoteCode::BranchMoved,
        text,
        vec![name.to_owned()],
    ))
}

/// The notes on tags, the stash, pushes, and refs without a name.
fn on_others(history: &GitHistory) -> impl Iterator<Item = Note> {
    let refs = &history.refs;
    let below = |names: &[String], folder: &str| -> Vec<String> {
        let names = names.iter().filter_map(|name| name.strip_prefix(folder));
        names.map(str::to_owned).collect()
    };
    let lost = |is_lost: bool, code, text: &str| is_lost.then(|| Note::new(code, text));
    let names = [
        of_names(
            NoteCode::Tags,
            ["tag", "tags"],
            below(&refs.tags, TAGS),
            " made or moved since: no revert takes that back",
        ),
        of_names(
            NoteCode::Stashed,
            ["stashed since:", "stashed since:"],
            refs.stashed.clone(),
            " in `git stash list`",
        ),
        of_names(
            NoteCode::Pushed,
            ["pushed since:", "pushed since:"],
            below(&refs.pushed, REMOTES),
            " which no revert takes back",
        ),
        lost(
            refs.has_lost_stash,
            NoteCode::StashDropped,
            "an entry of the stash was dropped since, and no revert puts it back: `git fsck --unreachable --no-reflogs` names its commit",
        ),
        lost(
            refs.has_lost_tag,
            NoteCode::TagsGone,
            "tags were removed since; git keeps no record of them, and no revert makes them again",
        ),
        lost(
            refs.has_lost_branch,
            NoteCode::BranchGone,
            "branches were removed since; git keeps no record of them, and no revert makes them again",
        ),
    ];
    names.into_iter().flatten()
}

/// The note on some names, unless there are none.
pub(super) fn of_names(
    code: NoteCode,
    [one, many]: [&str; 2],
    names: Vec<String>,
    end: &str,
) -> Option<Note> {
    let what = if names.len() == 1 { one } else { many };
    let text = format!("{what} {}{end}", first_quoted(&names, NAMED));
    (!names.is_empty()).then(|| Note::about(code, text, names))
}

/// What people call a commit, or the absence of one.
fn commit_name(commit: Option<&str>) -> &str {
    commit.map_or("nothing", short)
}
