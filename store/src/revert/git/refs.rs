//! Finds the refs of the user's repository that were written since a moment, by their reflogs and the times of their
//! files. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::reflog::{self, FileTimes, Moment, RefMove};
use super::removed::{self, Removed};
use super::repository::{Repository, is_branch};
use crate::model::Milliseconds;

/// How many names are looked at. What a fetch brings is not the agent's work.
const LOOKED_AT: usize = 10_000;

/// The refs that were written since a moment. HEAD is not among them: it has its own reflog.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// The reflogs of local branches, by their full names.
    pub branches: BTreeMap<String, Vec<RefMove>>,
    /// Local branches that were written and have no reflog, and when.
    pub unlogged: Vec<(String, Moment)>,
    /// The reflog of `refs/stash`.
    pub stash: Vec<RefMove>,
    /// The reflogs of branches of remotes.
    pub remotes: BTreeMap<String, Vec<RefMove>>,
    /// When tags were written. Nothing is known about a packed one.
    pub tags: Vec<(String, Moment)>,
    /// HEAD's own reflog.
    pub head: Vec<RefMove>,
    /// When tags and entries of the stash were removed.
    pub removed: Removed,
    elsewhere: BTreeSet<MoveKey>,
}

/// The ids and the second of a line, which HEAD's reflog and the branch's share.
type MoveKey = (Option<String>, Option<String>, Milliseconds);

impl Refs {
    /// Reads them.
    pub fn since(repository: &Repository, since: Milliseconds) -> Self {
        let location = &repository.location;
        let log = |name: &str| reflog::moves(location, &location.common, name, since);
        let logs = |folder: &str| -> BTreeMap<String, Vec<RefMove>> {
            let written = written_since(&location.common.join("logs"), folder, since);
            let logs = written.files.into_iter().map(|(name, _)| {
                let log = log(&name);
                (name, log)
            });
            logs.filter(|(_, log)| !log.is_empty()).collect()
        };
        let path = location.directory.join("logs/HEAD");
        let log_of_head = FileTimes::of(&path);
        let head = log_of_head.map_or_else(Vec::new, |times| {
            reflog::moves_in(location, &path, times, since)
        });
        let own: BTreeSet<MoveKey> = head.iter().map(identity).collect();
        let elsewhere = repository
            .elsewhere()
            .iter()
            .flat_map(|folder| reflog::moves(location, folder, "HEAD", since))
            .map(|line| identity(&line))
            .filter(|line| !own.contains(line))
            .collect();
        let mut branches = logs("refs/heads");
        branches.retain(|name, _| is_branch(name));
        let has_log = |name: &str| location.common.join("logs").join(name).exists();
        // If HEAD has a reflog, branches have theirs, too.
        let mut unlogged = match log_of_head {
            Some(_) => Vec::new(),
            None => written_since(&location.common, "refs/heads", since).files,
        };
        unlogged.retain(|(name, _)| is_branch(name) && !has_log(name));
        let tags = written_since(&location.common, "refs/tags", since);
        let removed = Removed::since(repository, since, &tags.files, &tags.folders);
        Self {
            branches,
            unlogged,
            stash: log("refs/stash"),
            remotes: logs("refs/remotes"),
            tags: tags.files,
            head,
            removed,
            elsewhere,
        }
    }

    /// Returns whether a branch was moved from another worktree of the repository. That is not ours to undo.
    pub fn is_elsewhere(&self, line: &RefMove) -> bool {
        self.elsewhere.contains(&identity(line))
    }
}

fn identity(line: &RefMove) -> MoveKey {
    (
        line.old.clone(),
        line.new.clone(),
        line.moment.earliest / 1000,
    )
}

/// What changed below a folder.
#[derive(Default)]
struct Written {
    /// The files that were written, by their names below the folder above, and when.
    files: Vec<(String, Moment)>,
    /// When the names in each directory of tags last changed.
    folders: Vec<Milliseconds>,
}

/// Returns what was written below a folder since a moment.
fn written_since(above: &Path, folder: &str, since: Milliseconds) -> Written {
    let mut found = Written::default();
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        if folder.starts_with("refs/tags") {
            let changed_at = removed::changed_in_old(&above.join(&folder), since);
            found.folders.extend(changed_at);
        }
        let entries = std::fs::read_dir(above.join(&folder)).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            looked_at += 1;
            if looked_at > LOOKED_AT {
                return found;
            }
            // A name that is not UTF-8 is not a ref that we could write.
            let Ok(leaf) = entry.file_name().into_string() else {
                continue;
            };
            let name = format!("{folder}/{leaf}");
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                folders.push(name);
            } else if let Some(written) = reflog::written_at(&entry.path())
                && written / 1000 >= since / 1000
                && !leaf.ends_with(".lock")
            {
                let moment = Moment {
                    earliest: written,
                    latest: written,
                };
                found.files.push((name, moment));
            }
        }
    }
    found.files.sort_by(|one, other| one.0.cmp(&other.0));
    found
}
