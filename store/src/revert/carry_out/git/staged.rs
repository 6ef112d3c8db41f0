//! Names the files that a revert writes and of which something else stays staged. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::GitPart;

use super::indexes::Indexes;
use super::repository::Repository;
use super::{GitSide, state_of};
use crate::error::Result;
use crate::git::index::{INTENT_TO_ADD, Meaning, STAGE, Staged};
use crate::git::objects::{UserObjects, entries};
use crate::model::entry::{EntryKind, State, file_type};
use crate::model::git_item::{GitItem, GitStateRow, Heads};
use crate::model::hex::{self, Hex};
use crate::model::note::{self, Note};
use crate::revert::plan::Plan;
use crate::revert::request::movement::Movement;

/// What the index or a commit has at a path: a mode and an id.
type Staging = (u32, Vec<u8>);

impl GitSide<'_> {
    /// Names the files of a plan with content in the index that is neither that of HEAD nor that of the plan: the next
    /// commit would take it. What was staged then, too, is as it is to be.
    pub fn staged(
        &self,
        movement: &Movement,
        plan: &Plan,
        items: Option<&[GitItem]>,
    ) -> Result<Option<Note>> {
        let moves_index = |item: &GitItem| item.part == GitPart::Index && item.is_planned();
        let planned = items.unwrap_or_default();
        let is_written = plan.items.iter().any(|item| item.is_planned());
        let (Some(repository), Some(now)) = (Repository::of(&self.place.root), self.now) else {
            return Ok(None);
        };
        if planned.iter().any(moves_index) || !is_written {
            return Ok(None);
        }
        let then = movement.reference_snapshot(None);
        let then = then.map(|id| state_of(self.connection, id)).transpose()?;
        let then = then.flatten().and_then(|then| then.index);
        let indexes = Indexes {
            repository: &repository,
            snapshots: self.snapshots,
        };
        let index = now.index.filter(|now| then != Some(*now));
        let Some(index) = index.and_then(|blob| indexes.meaning(blob)) else {
            return Ok(None);
        };
        let then = then.and_then(|blob| indexes.meaning(blob));
        let head = head_after(planned, now, &repository);
        let Some(mut head) = CommittedFiles::of(&repository, head.as_deref()) else {
            return Ok(None);
        };
        let mut about = Vec::new();
        for item in plan.items.iter().filter(|item| item.is_planned()) {
            let path = item.path.as_bytes();
            let staged = content(&index, path);
            let was_so = then
                .as_ref()
                .is_some_and(|then| content(then, path) == staged);
            let is_target = staged
                .as_ref()
                .is_some_and(|it| *it == of_state(item.target));
            let Some(staged) = staged.filter(|_| !was_so && !is_target) else {
                continue;
            };
            if let Some(committed) = head.content(path).filter(|it| *it != staged) {
                about.push(StagedChange {
                    path: item.path.to_text(),
                    staged,
                    committed,
                });
            }
        }
        let changes = with_renames(&about);
        let paths = about.into_iter().map(|change| change.path).collect();
        Ok(note::on(changes, |changes| Note::Staged {
            changes,
            paths,
            moves_with_git: items.is_none(),
        }))
    }
}

/// A file of which the index has something else than HEAD.
struct StagedChange {
    path: String,
    staged: Option<Staging>,
    committed: Option<Staging>,
}

/// Returns the paths of staged changes as `git status` shows them, each with what it was renamed from: a file that went and one with its bytes that came are one rename.
fn with_renames(changes: &[StagedChange]) -> Vec<(Option<String>, String)> {
    let mut went: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
    for change in changes.iter().rev() {
        if let (None, Some((_, id))) = (&change.staged, &change.committed) {
            went.entry(id).or_default().push(&change.path);
        }
    }
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    for change in changes {
        if let (Some((_, id)), None) = (&change.staged, &change.committed)
            && let Some(old) = went.get_mut(&id[..]).and_then(Vec::pop)
        {
            from.insert(&change.path, old);
        }
    }
    let renamed: BTreeSet<&str> = from.values().copied().collect();
    let rows = changes.iter().map(|change| &change.path[..]);
    let rows = rows.filter(|path| !renamed.contains(path));
    rows.map(|path| (from.get(path).map(|old| (*old).to_owned()), path.to_owned()))
        .collect()
}

/// Returns the commit that HEAD stands for once a plan is carried out.
fn head_after(items: &[GitItem], now: &GitStateRow, repository: &Repository) -> Option<String> {
    let mut heads = items.iter().filter(|item| item.part == GitPart::Head);
    let target = match heads.find(|item| item.is_planned()) {
        Some(head) => head.target.clone(),
        None => Heads::of(now).text(),
    };
    let moved: Vec<&GitItem> = items.iter().filter(|item| item.is_planned()).collect();
    repository.stands_for(&target?, &moved)
}

/// Returns the entry of an index at a path: none, one content, or `None` if it is unmerged.
fn content(index: &Meaning, path: &[u8]) -> Option<Option<Staging>> {
    let from = index
        .entries
        .partition_point(|entry| &entry.path[..] < path);
    let mut found = index.entries[from..].iter();
    let found = found.by_ref().take_while(|entry| entry.path == path);
    match found.collect::<Vec<&Staged>>()[..] {
        [] => Some(None),
        [entry] if entry.flags & STAGE == 0 => {
            let is_staged = entry.extended & INTENT_TO_ADD == 0;
            Some(is_staged.then(|| (entry.mode, entry.id.clone())))
        }
        _ => None,
    }
}

/// Returns the entry that git would stage for a state.
fn of_state(state: State) -> Option<Staging> {
    let entry = state?;
    let mode = match entry.mode.kind() {
        EntryKind::Directory => return None,
        EntryKind::Symlink => file_type::LINK,
        EntryKind::File if entry.mode.is_executable() => file_type::REGULAR | 0o755,
        EntryKind::File => file_type::REGULAR | 0o644,
    };
    Some((mode, entry.blob?.as_bytes().to_vec()))
}

/// The files of a commit. Each of its trees is read once.
struct CommittedFiles {
    objects: UserObjects,
    /// Its tree; none before the first commit.
    root: Option<String>,
    trees: BTreeMap<String, Option<Vec<u8>>>,
}

impl CommittedFiles {
    /// Returns the files of a commit, or `None` if it cannot be read.
    fn of(repository: &Repository, commit: Option<&str>) -> Option<Self> {
        let objects = UserObjects::open(&repository.location, repository.id_length);
        let root = match commit {
            Some(commit) => Some(objects.commit(commit)?.tree),
            None => None,
        };
        Some(Self {
            objects,
            root,
            trees: BTreeMap::new(),
        })
    }

    /// Returns the entry of the commit at a path, or `None` if that cannot be read.
    fn content(&mut self, path: &[u8]) -> Option<Option<Staging>> {
        let Some(root) = self.root.clone() else {
            return Some(None);
        };
        let mut found = (file_type::DIRECTORY, root);
        for name in path.split(|byte| *byte == b'/') {
            let (objects, id) = (&self.objects, found.1);
            let tree = self.trees.entry(id);
            let tree = tree.or_insert_with_key(|id| objects.tree(id));
            let mut entries = entries(tree.as_ref()?, self.objects.id_length);
            match entries.find(|(_, entry, _)| *entry == name) {
                Some((mode, _, id)) => found = (mode, Hex(id).to_string()),
                None => return Some(None),
            }
        }
        Some(Some((found.0, hex::decode(&found.1)?)))
    }
}
