//! The present state of the user's repository, as far as a plan needs it. This module does IO, but only reads.
//!
//! It reads by itself: neither git nor libgit2 ever sees the user's repository.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileResult, GitPart};
use rustix::fs::OFlags;

use crate::fs::{presence, times};
use crate::git::index::{self, Meaning, Staged};
use crate::git::objects::UserObjects;
use crate::git::state::PACKED_REFS;
use crate::git::tracked::LARGEST;
use crate::git::{Location, SMALL, config, read_small, state};
use crate::model::entry::file_type;
use crate::model::git_item::{BRANCHES, GitItem, plain};
use crate::model::hex::Hex;
use crate::model::{Milliseconds, metadata};

/// The user's repository.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    pub location: Location,
    /// The length of an id in bytes.
    pub id_length: usize,
}

impl Repository {
    /// Returns the repository of a workspace.
    pub fn of(root: &Path) -> Option<Self> {
        let location = Location::of(root)?;
        let id_length = location.id_length();
        Some(Self {
            location,
            id_length,
        })
    }

    /// Returns when it was made, if the file system knows. Git makes `objects` once.
    pub fn made_at(&self) -> Option<Milliseconds> {
        let common = &self.location.common;
        let folders = [common.clone(), common.join(metadata::OBJECTS)];
        folders.iter().filter_map(|it| times::created_at(it)).max()
    }

    /// Returns why nothing in it may be written, if so.
    pub fn obstacle(&self) -> Option<String> {
        if self
            .config("extensions", "refstorage")
            // Files that look like refs mean nothing there (reftable), and writing them would be the opposite of a
            // revert.
            .is_some_and(|storage| !storage.eq_ignore_ascii_case(b"files"))
        {
            return Some("the repository does not keep its refs in files".to_owned());
        }
        let user = rustix::process::geteuid();
        let is_foreign = |folder: &PathBuf| {
            folder.symlink_metadata().map_or(true, |metadata| {
                !metadata.is_dir() || metadata.uid() != user.as_raw()
            })
        };
        let folders = [&self.location.directory, &self.location.common];
        if !user.is_root() && folders.into_iter().any(is_foreign) {
            return Some("the repository belongs to another user".to_owned());
        }
        None
    }

    /// Returns the commit that a ref names now.
    pub fn value_of(&self, name: &str) -> Option<String> {
        state::value(&self.location, name)
    }

    /// Returns the present content of `HEAD`, without the end of the line.
    pub fn head(&self) -> Option<String> {
        head_of(&self.location.directory)
    }

    /// Returns the commit that a text in HEAD stands for once some parts are moved.
    pub fn stands_for(&self, head: &str, moved: &[&GitItem]) -> Option<String> {
        match normal(head) {
            (true, branch) => match moved.iter().find(|item| item.name == branch) {
                Some(item) => item.target.clone(),
                None => self.value_of(branch),
            },
            (false, commit) => Some(commit.to_owned()).filter(|commit| !commit.is_empty()),
        }
    }

    /// Returns the operation that git is in the middle of, such as a merge.
    pub fn doing(&self) -> Option<String> {
        state::doing(&self.location)
    }

    /// Returns the meaning of an index, or `None` if it is damaged. A split index is read together with its shared
    /// index, if that exists.
    pub fn meaning(&self, index: &[u8]) -> Option<Meaning> {
        let own = index::meaning(index, self.id_length)?;
        let joined = self
            .shared(&own)
            .and_then(|shared| index::join_split(&own, shared, self.id_length));
        Some(joined.unwrap_or(own))
    }

    fn shared(&self, split: &Meaning) -> Option<Meaning> {
        let id = Hex(split.link.as_deref()?.get(..self.id_length)?).to_string();
        if id.bytes().all(|digit| digit == b'0') {
            return Some(Meaning::default());
        }
        let path = self.location.directory.join(format!("sharedindex.{id}"));
        index::meaning(
            &read_small(&path, LARGEST, OFlags::NOFOLLOW)?,
            self.id_length,
        )
    }

    /// Returns the folder that holds a part's file, and the file's name below it.
    pub fn place<'a>(&'a self, item: &'a GitItem) -> (&'a Path, &'a str) {
        match item.part {
            GitPart::Branch => (&self.location.common, &item.name),
            GitPart::Head | GitPart::Index => (&self.location.directory, &item.name),
        }
    }

    /// Marks the items that cannot be done, with the reason, so that nothing is begun that is bound to fail. `indexes`
    /// are the present index and its replacement.
    pub fn check(&self, items: &mut [GitItem], indexes: Option<(Meaning, Meaning)>) {
        let refusal = self
            .obstacle()
            .or_else(|| items.iter().find_map(|item| self.why_not(item)));
        if let Some(reason) = refusal {
            refuse(items, |_| true, &reason);
        }
        if let Some(reason) = indexes.and_then(|(now, then)| self.why_not_index(&now, &then)) {
            refuse(items, |item| item.part == GitPart::Index, &reason);
        }
    }

    fn config(&self, section: &str, key: &str) -> Option<Vec<u8>> {
        let text = read_small(
            &self.location.common.join("config"),
            SMALL,
            OFlags::NOFOLLOW,
        )?;
        config::value(&text, section, key)
    }

    fn why_not(&self, item: &GitItem) -> Option<String> {
        if !item.is_planned() {
            return None;
        }
        let (folder, name) = self.place(item);
        let lock = lock_of(name);
        match presence::metadata(&folder.join(&lock)) {
            Ok(None) => {}
            Ok(Some(_)) => return Some(locked(&lock)),
            Err(error) => return Some(error.with_causes()),
        }
        match presence::metadata(&folder.join(name)) {
            Ok(Some(found)) if found.is_symlink() => {
                return Some(format!("`{name}` is a symbolic link"));
            }
            Ok(_) => {}
            Err(error) => return Some(error.with_causes()),
        }
        match (item.part, &item.target) {
            (GitPart::Branch, None) => self
                .why_not_branch(name)
                .or_else(|| self.why_not_removed(name)),
            (GitPart::Branch, Some(commit)) => self
                .why_not_branch(name)
                .or_else(|| self.why_not_commit(commit)),
            (GitPart::Head, Some(text)) => match text.strip_prefix("ref: ") {
                Some(branch) => self.why_not_branch(branch),
                None => self.why_not_commit(text),
            },
            (GitPart::Head, None) | (GitPart::Index, _) => None,
        }
    }

    fn why_not_branch(&self, name: &str) -> Option<String> {
        if !is_branch(name) {
            return Some(format!("`{name}` is not a branch"));
        }
        let elsewhere = self
            .elsewhere()
            .into_iter()
            // Git refuses that as well: the other work tree would seem to have changed all that differs.
            .find(|folder| head_of(folder) == Some(format!("ref: {name}")))?;
        Some(format!(
            "`{}` is checked out in another worktree (`{}`)",
            plain(name),
            elsewhere.display()
        ))
    }

    /// Returns the folders of the repository's other worktrees. That of the main one is the common folder.
    fn elsewhere(&self) -> Vec<PathBuf> {
        let linked = std::fs::read_dir(self.location.common.join("worktrees"))
            .into_iter()
            .flatten();
        let linked = linked.filter_map(|entry| Some(entry.ok()?.path()));
        let Location { directory, common } = &self.location;
        let mut others: Vec<PathBuf> = linked.chain([common.clone()]).collect();
        others.retain(|folder| folder != directory);
        // It is nearly always the only one, and then no path has to be resolved.
        if !others.is_empty() {
            let own = directory.canonicalize().ok();
            others.retain(|folder| folder.canonicalize().ok() != own);
        }
        others
    }

    /// The branches that other worktrees have checked out. They belong to the person or agent who works there.
    pub fn branches_elsewhere(&self) -> BTreeSet<String> {
        let heads = self.elsewhere().into_iter();
        let heads = heads.filter_map(|folder| head_of(&folder));
        heads
            .filter_map(|head| Some(head.strip_prefix("ref: ")?.to_owned()))
            .collect()
    }

    fn why_not_removed(&self, name: &str) -> Option<String> {
        state::packed(&self.location, name)?;
        let lock = lock_of(PACKED_REFS);
        self.location
            .common
            .join(&lock)
            .symlink_metadata()
            .is_ok()
            .then(|| locked(&lock))
    }

    fn why_not_commit(&self, commit: &str) -> Option<String> {
        let objects = UserObjects::open(&self.location, self.id_length);
        let is_whole = objects
            .commit(commit)
            .is_some_and(|commit| objects.contains(&commit.tree));
        (!is_whole).then(|| {
            format!(
                "commit {} is no longer in the repository",
                crate::model::id::short(commit)
            )
        })
    }

    /// Returns why the index cannot go back: what was staged then, and is not now, may be gone.
    fn why_not_index(&self, now: &Meaning, then: &Meaning) -> Option<String> {
        if then.link.is_some() {
            return Some("the shared index that it adds to is gone".to_owned());
        }
        // There, git fetches what is missing when it needs it.
        if self.config("extensions", "partialclone").is_some() {
            return None;
        }
        let known: BTreeSet<&Staged> = now.entries.iter().collect();
        let objects = UserObjects::open(&self.location, self.id_length);
        let is_gone = |entry: &&Staged| {
            !known.contains(entry)
                // A submodule's commit is in another repository.
                && entry.mode != file_type::SUBMODULE
                && !objects.contains(&Hex(&entry.id).to_string())
        };
        let gone = then.entries.iter().find(is_gone)?;
        Some(format!(
            "what was staged of `{}` is no longer in the repository",
            String::from_utf8_lossy(&gone.path)
        ))
    }
}

fn head_of(folder: &Path) -> Option<String> {
    let text = read_small(&folder.join("HEAD"), SMALL, OFlags::NOFOLLOW)?;
    Some(String::from_utf8(text).ok()?.trim_end().to_owned())
}

/// Returns whether a text in HEAD names a branch, and what it names.
pub(super) fn normal(text: &str) -> (bool, &str) {
    match text.strip_prefix("ref:") {
        Some(branch) => (true, branch.trim()),
        None => (false, text.trim()),
    }
}

/// Returns the reason for a lock that another program holds.
pub(super) fn locked(lock: &str) -> String {
    format!("`{lock}` is there: git is at work, or was interrupted")
}

/// Returns the name of the file by which git locks a file, as this program does before it changes that.
pub(super) fn lock_of(name: &str) -> String {
    format!("{name}.lock")
}

/// Returns whether a name is a branch name that git would accept (`git check-ref-format`, abridged). A replacement
/// character means that the name was not UTF-8, so its bytes are lost.
pub(super) fn is_branch(name: &str) -> bool {
    let is_plain =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_odd = |byte: u8| byte <= b' ' || byte == 0x7f || b"~^:?*[\\".contains(&byte);
    name.strip_prefix(BRANCHES)
        .is_some_and(|rest| rest.split('/').all(is_plain))
        && !name.bytes().any(is_odd)
        && !name.contains("..")
        && !name.contains(char::REPLACEMENT_CHARACTER)
}

/// Leaves planned parts as they are, for a reason.
pub(super) fn refuse(items: &mut [GitItem], which: impl Fn(&GitItem) -> bool, reason: &str) {
    for item in items.iter_mut().filter(|item| which(item)) {
        leave(std::slice::from_mut(item), FileResult::Failed, reason);
    }
}

/// Gives planned parts another result.
pub(super) fn leave(items: &mut [GitItem], result: FileResult, reason: &str) {
    for item in items.iter_mut().filter(|item| item.is_planned()) {
        *item = item.clone().left(result, reason);
    }
}
