//! `--git`: HEAD, branches and the index move along with a revert.
//!
//! ```text
//! rows of snapshots ─► history ─► plan (pure) ─► check ─► (journal) ─► apply
//! ```
//!
//! Git, its hooks and its filters never run, libgit2 never sees the repository, and below `.git` only these three,
//! their locks and their reflogs are written. Objects stay: a commit that no branch names any more is in the reflog.

mod apply;
mod commits;
mod history;
mod indexes;
mod notes;
mod plan;
#[cfg(test)]
mod plan_tests;
mod reflog;
mod refs;
mod repository;
mod side;
mod staged;

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report::{FileResult, GitPart, OperationKind};
use rusqlite::Connection;

use crate::error::Result;
use crate::git::Location;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;
use crate::model::git_item::{BRANCHES, GitItem, GitStateRow, Heads};
use crate::model::note::{MADE_ANEW, Note};
use crate::model::request::Unclear;
use crate::revert::plan::operation::{Findings, GitFate};
use crate::revert::request::movement::Movement;
use crate::sessions::{self, ChainOperation, SeenGit};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::Place;
use history::GitHistory;
use indexes::Indexes;
use plan::{GitMove, MovedBranch, RepositoryQueries};
use repository::Repository;

pub(crate) use side::GitSide;

impl GitSide<'_> {
    /// Plans how a movement of the revert point moves git's state, and finds what stays of it. Without a policy for unclear
    /// changes, all of it stays.
    pub fn plan(
        &self,
        movement: &Movement,
        chain: &[ChainOperation],
        policy: Option<Unclear>,
    ) -> Result<GitPlan> {
        let is_revert = movement.kind == OperationKind::Revert;
        let repository = Repository::of(&self.place.root);
        let Some(repository) = repository.filter(|_| is_revert || policy.is_some()) else {
            let note = match policy {
                Some(_) => why_nothing(&self.place.root),
                None => self.head_stays(movement)?,
            };
            return Ok(GitPlan {
                items: policy.map(|_| Vec::new()),
                notes: note.into_iter().collect(),
            });
        };
        let base = movement.session.revert_base_id;
        let history = self.history(&repository, movement, base, policy.unwrap_or(Unclear::Keep))?;
        let to = movement.to.as_ref();
        let is_anew = self.is_made_anew(&repository, to.and_then(|to| to.snapshot_id))?;
        let items = match (policy, self.now) {
            (Some(_), Some(now)) => Some(match to {
                Some(to) if to.snapshot_id.is_none() => {
                    let reason = "what it was before the message was not captured";
                    vec![unknown(now, reason)]
                }
                _ if is_anew => vec![unknown(now, MADE_ANEW)],
                _ => self.moves(&repository, now, chain, &history)?,
            }),
            (Some(_), None) => Some(Vec::new()),
            (None, _) => None,
        };
        let fate = GitFate::of(items.as_deref());
        let mut notes = Vec::new();
        if fate == GitFate::Stays {
            let then = history.line.first().and_then(|seen| seen.state.as_ref());
            let then = then.and_then(|then| then.head.as_deref());
            let commits = commits::note(&repository, &history.changes, then);
            notes.extend(match commits.filter(|_| to.is_some()) {
                Some(commits) => Some(commits),
                None => self.head_stays(movement)?,
            });
        }
        if is_revert && to.is_some() {
            notes.extend(is_anew.then_some(Note::RepositoryMadeAnew));
            notes.extend(notes::on_refs(&history, &repository, self.now, fate));
        }
        Ok(GitPlan { items, notes })
    }

    /// Plans the moves over a history of git's state.
    fn moves(
        &self,
        repository: &Repository,
        now: &GitStateRow,
        chain: &[ChainOperation],
        history: &GitHistory,
    ) -> Result<Vec<GitItem>> {
        let state = |seen: &SeenGit| seen.state.clone();
        let first = history.line.first().and_then(state);
        let base = history.line.last().and_then(state);
        let (Some(_), Some(base)) = (first, base) else {
            return Ok(vec![never_seen(now)]);
        };
        let (moved, left) = self.moved(chain, &base)?;
        Ok(self.checked(repository, |asked| {
            plan::plan(GitMove {
                base: &base,
                changes: &history.changes,
                left: &left,
                moved: &moved,
                traces: &history.refs.branches,
                now,
                asked,
            })
        }))
    }

    /// Returns the note on HEAD if it is not where it was in the state that a movement goes to.
    fn head_stays(&self, movement: &Movement) -> Result<Option<Note>> {
        let (Some(then), Some(now)) = (movement.reference_snapshot(None), self.now) else {
            return Ok(None);
        };
        let Some(then) = state_of(self.connection, then)? else {
            return Ok(None);
        };
        let (then, now) = (Heads::of(&then), Heads::of(now));
        Ok((!then.is_at(&now)).then_some(Note::HeadStays { then, now }))
    }

    /// Plans to make git's state that of a snapshot.
    pub fn plan_exactly(&self, snapshot_id: i64) -> Result<Vec<GitItem>> {
        let (Some(repository), Some(now)) = (Repository::of(&self.place.root), self.now) else {
            return Ok(Vec::new());
        };
        let Some(wanted) = state_of(self.connection, snapshot_id)? else {
            return Ok(vec![never_seen(now)]);
        };
        if self.is_made_anew(&repository, Some(snapshot_id))? {
            return Ok(vec![unknown(now, MADE_ANEW)]);
        }
        let moved = self.moved_since(snapshot_id)?;
        Ok(self.checked(&repository, |asked| {
            plan::plan_exactly(&wanted, now, &moved, asked)
        }))
    }

    /// Returns whether the repository was made in a step since a snapshot that saw one: what is recorded is of another one,
    /// even where the same commits are in both. A whole log that has the commit of then is of the same one, whatever the
    /// clock says.
    fn is_made_anew(&self, repository: &Repository, since: Option<i64>) -> Result<bool> {
        let (Some(since), Some(made)) = (since, repository.made_at()) else {
            return Ok(false);
        };
        let spans = sessions::step_spans(self.connection, self.place.row.id, since)?;
        let is_within = |span| history::is_open_in(span, &(made..=made));
        let Some(then) = state_of(self.connection, since)? else {
            return Ok(false);
        };
        let log = reflog::moves(&repository.location.directory, "HEAD", 0);
        let is_whole =
            |first: &reflog::RefMove| first.old.is_none() && !first.what.starts_with("clone");
        let has_it = |line: &reflog::RefMove| line.old == then.head || line.new == then.head;
        let goes_on =
            log.first().is_some_and(is_whole) && then.head.is_some() && log.iter().any(has_it);
        Ok(!goes_on && spans.iter().any(is_within))
    }

    /// Makes a plan, and leaves out what the repository does not let go.
    fn checked(
        &self,
        repository: &Repository,
        plan: impl FnOnce(RepositoryQueries<'_>) -> Vec<GitItem>,
    ) -> Vec<GitItem> {
        let indexes = Indexes {
            repository,
            snapshots: self.snapshots,
        };
        let mut items = plan(RepositoryQueries {
            value_of: &|name| repository.value_of(name),
            same_index: &|one, other| indexes.same(one, other),
        });
        let meaning = |blob: &Option<String>| match blob.as_deref().and_then(ObjectId::from_hex) {
            Some(blob) => indexes.meaning(blob),
            None => Some(Default::default()),
        };
        let index = items
            .iter()
            .find(|item| item.part == GitPart::Index && item.is_planned());
        let meanings = index.and_then(|item| meaning(&item.expected).zip(meaning(&item.target)));
        repository.check(&mut items, meanings);
        items
    }

    /// Returns the branches that the reverts so far moved, and the state in which the last of them left everything, which
    /// is `base` if none moved it. A restore that went on from there, as `undo` does, left it in another one.
    fn moved(
        &self,
        chain: &[ChainOperation],
        base: &GitStateRow,
    ) -> Result<(BTreeMap<String, MovedBranch>, GitStateRow)> {
        let mut moved = BTreeMap::new();
        let mut left = base.clone();
        let before = chain
            .iter()
            .filter_map(|operation| operation.row.before_snapshot_id);
        let Some(first) = before.min() else {
            return Ok((moved, left));
        };
        let state = |id: Option<i64>| id.map_or(Ok(None), |id| state_of(self.connection, id));
        for operation in sessions::git_operations_since(self.connection, self.place.row.id, first)?
        {
            let mut own = chain.iter();
            let is_next = match operation.is_restore {
                true => {
                    // Only a restore that began where the reverts had left HEAD goes on from there. Any other one is
                    // the user's own move.
                    state(operation.before)?.is_some_and(|it| Heads::of(&it) == Heads::of(&left))
                }
                false => own.any(|own| own.seq == operation.seq),
            };
            if is_next {
                left = state(operation.after)?.unwrap_or_else(|| base.clone());
                note_branches(&mut moved, operation.done);
            }
        }
        Ok((moved, left))
    }

    /// Returns the branches that operations moved since a snapshot.
    fn moved_since(&self, snapshot_id: i64) -> Result<BTreeMap<String, MovedBranch>> {
        let mut moved = BTreeMap::new();
        let workspace = self.place.row.id;
        for operation in sessions::git_operations_since(self.connection, workspace, snapshot_id)? {
            note_branches(&mut moved, operation.done);
        }
        Ok(moved)
    }
}

/// Notes where the branches of an operation were, unless an earlier one moved them, and where it left them.
fn note_branches(moved: &mut BTreeMap<String, MovedBranch>, done: Vec<GitItem>) {
    for item in done.into_iter().filter(|item| item.part == GitPart::Branch) {
        let entry = moved.entry(item.name).or_insert(MovedBranch {
            base: item.expected,
            left: None,
        });
        entry.left = item.target;
    }
}

/// A plan for git's own state.
pub(crate) struct GitPlan {
    /// What moves, or why it does not; `None` if all of it is to stay.
    pub items: Option<Vec<GitItem>>,
    /// On what stays.
    pub notes: Vec<Note>,
}

impl GitPlan {
    /// Returns what it found. A branch that was moved or removed and stays so is less than `--git` asks for.
    pub fn into_findings(self) -> Findings {
        let is_of_branch = |note: &Note| {
            matches!(
                note,
                Note::BranchRenamed { .. }
                    | Note::BranchMoved { .. }
                    | Note::BranchUntraced { .. }
                    | Note::BranchGone { .. }
                    | Note::BranchesLost
            )
        };
        Findings {
            is_incomplete: self.items.is_some() && self.notes.iter().any(is_of_branch),
            notes: self.notes,
        }
    }
}

/// Returns whether a revert of a chain moved git's state: going forward takes it along.
pub(crate) fn was_moved(connection: &Connection, chain: &[ChainOperation]) -> Result<bool> {
    for operation in chain {
        let items = sessions::git_items(connection, &operation.row.id)?;
        if items.iter().any(|item| item.result == FileResult::Done) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Carries out the rest of the plan for git's state in an operation's rows.
pub(crate) fn carry_out(
    store: &Store,
    place: &Place,
    snapshots: &Snapshots,
    operation: &str,
    kind: OperationKind,
    mut items: Vec<GitItem>,
) -> Vec<GitItem> {
    if !items.iter().any(GitItem::is_planned) {
        return items;
    }
    match Repository::of(&place.root) {
        Some(repository) => {
            let indexes = Indexes {
                repository: &repository,
                snapshots,
            };
            let work = apply::GitWork {
                repository: &repository,
                operation,
                kind: kind.name(),
                indexes,
                now: store.now(),
            };
            apply::carry_out(&work, &mut items);
        }
        None => repository::refuse(&mut items, |_| true, "the repository is gone"),
    }
    items
}

/// Returns the locks below `.git` that a killed operation left: those that are links to a file under its own name.
pub(crate) fn own_locks(store: &Store, place: &Place, operation: &str) -> Result<Vec<String>> {
    let items = sessions::git_items(store.database.connection(), operation)?;
    let Some(repository) = Repository::of(&place.root) else {
        return Ok(Vec::new());
    };
    let planned = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.is_planned());
    let locks = |(position, item): (usize, &GitItem)| {
        apply::own_locks(&repository, item, operation, position)
    };
    Ok(planned
        .flat_map(locks)
        .map(|lock| format!("`{}`", lock.display()))
        .collect())
}

fn state_of(connection: &Connection, snapshot_id: i64) -> Result<Option<GitStateRow>> {
    let row = sessions::snapshot(connection, snapshot_id)?;
    row.git_state_id
        .map(|id| sessions::git_state(connection, id))
        .transpose()
}

/// Returns the item if there was no repository then, or no look saw it.
fn never_seen(now: &GitStateRow) -> GitItem {
    unknown(now, "there was no repository then, and it stays as it is")
}

fn unknown(now: &GitStateRow, reason: &str) -> GitItem {
    let heads = Heads::of(now);
    GitItem::planned(GitPart::Head, "HEAD", heads.text(), None).left(FileResult::Conflict, reason)
}

/// Returns whether HEAD or a branch of a repository moved since a moment, by the log of HEAD and the times of refs.
pub(crate) fn has_moved(location: &Location, since: Milliseconds) -> bool {
    // Upkeep writes the log without a line.
    !reflog::moves(&location.directory, "HEAD", since).is_empty()
        || reflog::written_at(&location.directory.join("HEAD")).is_some_and(|at| at >= since)
        // A linked worktree shares its branches with others.
        || location.directory == location.common
            && !refs::written_since(&location.common, BRANCHES, since).files.is_empty()
}

/// Returns why `--git` has nothing to move, if so.
pub(crate) fn why_nothing(root: &Path) -> Option<Note> {
    Repository::of(root).is_none().then_some(Note::NoRepository)
}
