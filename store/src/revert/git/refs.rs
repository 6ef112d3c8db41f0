//! Finds the refs of the user's repository that were written since a moment, by their reflogs and the times of their
//! files. This module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::reflog::{self, FileTimes, Moment, RefMove};
use super::removed::{self, Removed, Traces};
use super::repository::{Repository, is_branch};
use crate::model::Milliseconds;

/// How many names are looked at. What a fetch brings is not the agent's work.
const LOOKED_AT: usize = 10_000;

/// How git calls a new name in a branch's log, followed by the names.
pub(super) const RENAMED: &str = "Branch: renamed ";

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
    /// When tags, branches and entries of the stash were removed.
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
        let written = |folder: &str| written_since(&location.common.join("logs"), folder, since);
        let logs = |written: &Written| -> BTreeMap<String, Vec<RefMove>> {
            let names = written.files.iter().map(|(name, _)| name);
            let logs = names.map(|name| (name.clone(), log(name)));
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
            // A branch that is checked out here and was moved here is in our own log of HEAD as well.
            .filter(|line| !own.contains(line))
            .collect();
        let logs_of_branches = written("refs/heads");
        let mut branches = logs(&logs_of_branches);
        branches.retain(|name, _| is_branch(name));
        let has_log = |name: &str| location.common.join("logs").join(name).exists();
        // If HEAD has a reflog, branches have theirs, too.
        let mut unlogged = match log_of_head {
            Some(_) => Vec::new(),
            None => written_since(&location.common, "refs/heads", since).files,
        };
        unlogged.retain(|(name, _)| is_branch(name) && !has_log(name));
        let tags = written_since(&location.common, "refs/tags", since);
        let removed = removed_since(repository, since, &tags, (&branches, &logs_of_branches));
        Self {
            branches,
            unlogged,
            stash: log("refs/stash"),
            remotes: logs(&written("refs/remotes")),
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

/// Returns when tags, branches and entries of the stash were removed. `branches` are the moves of branches, and what
/// was written of their logs.
fn removed_since(
    repository: &Repository,
    since: Milliseconds,
    tags: &Written,
    (branches, logs): (&BTreeMap<String, Vec<RefMove>>, &Written),
) -> Removed {
    let written: Vec<Milliseconds> = tags.files.iter().map(|(_, at)| at.latest).collect();
    let tags = Traces {
        written: &written,
        folders: &tags.folders,
    };
    let times = |is_it: fn(&RefMove) -> bool| -> Vec<Milliseconds> {
        let lines = branches.values().flatten().filter(|line| is_it(line));
        lines.map(|line| line.moment.latest).collect()
    };
    // A log comes with its branch, or with a new name of it. Any other line is added to a log that is there.
    let renamed = times(|line| line.what.starts_with(RENAMED));
    let came = times(|line| line.old.is_none() || line.what.starts_with(RENAMED));
    let branches = Traces {
        written: &came,
        folders: &logs.folders,
    };
    Removed::since(repository, since, (tags, branches), &renamed)
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
    /// When the names in each directory of tags, and of logs of branches, last changed, without directories created
    /// since.
    folders: Vec<Milliseconds>,
}

/// Returns what was written below a folder since a moment.
fn written_since(above: &Path, folder: &str, since: Milliseconds) -> Written {
    let mut found = Written::default();
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    let is_of_logs = above.ends_with("logs");
    while let Some(folder) = folders.pop() {
        // Names that went from elsewhere are not told of.
        if folder.starts_with("refs/tags") || is_of_logs && folder.starts_with("refs/heads") {
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
                // Git is writing that one right now.
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
