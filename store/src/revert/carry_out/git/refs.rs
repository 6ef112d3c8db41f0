//! Finds the refs of the user's repository that were written while a step was open: no snapshot holds them. This module
//! does IO, but only reads.
//!
//! Git keeps no record of a ref that was removed: the file goes, and its reflog with it. The time of the directory
//! remains. Only the last removal is seen, and only if nothing was written there since.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::ops::RangeInclusive;
use std::path::Path;

use super::reflog::{self, RefMove};
use super::repository::{Repository, is_branch};
use crate::fs::times;
use crate::git::state::PACKED_REFS;
use crate::model::Milliseconds;
use crate::model::git_item::{BRANCHES, TAGS};
use crate::timeline::evidence::TICK;

/// The largest number of names that are read. A fetch brings more, and they are not the agent's work.
const MAX_NAMES: usize = 10_000;

/// The largest distance between two traces of one git command.
const SAME_COMMAND: Milliseconds = 2_000;

/// The longest time from packing refs to packing objects in one `git gc`.
const LONGEST_GC: Milliseconds = 600_000;

/// Where the refs of remotes are.
pub(super) const REMOTES: &str = "refs/remotes/";

/// How git calls a new name in a branch's log, followed by the names.
const RENAMED: &str = "Branch: renamed ";

/// Whether a step to undo was open at some time of a range.
type IsUndone<'a> = &'a dyn Fn(RangeInclusive<Milliseconds>) -> bool;

/// A branch that was written while a step to undo was open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BranchTrace {
    /// It was created since. It stays: nothing else names its commits.
    Made,
    /// It was at this commit, or moved to another one in the second of the message.
    From(Option<String>),
    /// It has no reflog that says where it was.
    Unknown,
}

/// The refs that were written while a step to undo was open.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// Local branches, by their full names.
    pub branches: BTreeMap<String, BranchTrace>,
    /// The old and new names of branches.
    pub renamed: Vec<(String, String)>,
    /// The branches that HEAD was on and that are gone, with their last commits.
    pub gone: Vec<(String, Option<String>)>,
    pub tags: Vec<String>,
    /// The descriptions of stashed changes.
    pub stashed: Vec<String>,
    /// The branches of remotes that were pushed to.
    pub pushed: Vec<String>,
    /// Whether another branch was removed.
    pub has_lost_branch: bool,
    pub has_lost_tag: bool,
    pub has_lost_stash: bool,
}

impl Refs {
    /// Finds them. `log` is HEAD's.
    pub fn written(
        repository: &Repository,
        since: Milliseconds,
        log: Vec<RefMove>,
        is_undone: IsUndone<'_>,
    ) -> Self {
        // The kernel stamps files with the time of its last tick.
        let written = since - TICK;
        let common = &repository.location.common;
        let logs = common.join("logs");
        let moves = |name: &str| reflog::moves(common, name, since);
        let is_ours = |line: &RefMove| is_undone(line.second.clone());
        let mut refs = Self {
            gone: gone(repository, log.iter().filter(|line| is_ours(line))),
            ..Self::default()
        };
        let elsewhere = repository.branches_elsewhere();
        let logged = written_since(&logs, BRANCHES, written);
        let mut come = Vec::new();
        for (name, _) in &logged.files {
            let moves = moves(name);
            let is_new = |line: &&RefMove| line.old.is_none() || line.what.starts_with(RENAMED);
            come.extend(moves.iter().filter(is_new).map(|line| *line.second.end()));
            if is_branch(name) && !elsewhere.contains(name) && moves.iter().any(is_ours) {
                let names = moves.iter().filter_map(|line| renaming(&line.what));
                refs.renamed.extend(names);
                // The log is as old as its first line, and a file has finer times.
                let born = times::created_at(&logs.join(name));
                let was_there = born.is_none_or(|born| born < since);
                refs.branches.insert(name.clone(), trace(&moves, was_there));
            }
        }
        let is_asked = |at: &Milliseconds| is_undone(*at..=*at);
        // Without a log of HEAD, branches have none, either.
        if !repository.location.directory.join("logs/HEAD").exists() {
            let mut files = written_since(common, BRANCHES, written).files;
            files.retain(|(name, at)| is_branch(name) && is_asked(at));
            let unknown = files
                .into_iter()
                .map(|(name, _)| (name, BranchTrace::Unknown));
            refs.branches.extend(unknown);
        }
        let tags = written_since(common, TAGS, written);
        let asked = tags.files.iter().filter(|(_, at)| is_asked(at));
        refs.tags = asked.map(|(name, _)| name.clone()).collect();
        let stashed = moves("refs/stash").into_iter().filter(is_ours);
        refs.stashed = stashed.map(|line| line.what).collect();
        // Git's words for a push. A fetch writes others, and publishes nothing.
        let is_push = |line: &RefMove| line.what == "update by push" && is_ours(line);
        let pushed = written_since(&logs, REMOTES, written).files.into_iter();
        let pushed = pushed.filter(|(name, _)| moves(name).iter().any(is_push));
        refs.pushed = pushed.map(|(name, _)| name).collect();

        let is_loss = |at: &Milliseconds| is_asked(at) && !is_packing(common, *at);
        let tagged: Vec<Milliseconds> = tags.files.iter().map(|(_, at)| *at).collect();
        refs.has_lost_tag = lost(&tags.folders, &tagged).any(|at| is_loss(&at));
        let is_lost = lost(&logged.folders, &come).any(|at| is_loss(&at));
        refs.has_lost_branch = is_lost && refs.gone.is_empty();
        let dropped = stash_dropped_at(common, since).filter(|_| refs.renamed.is_empty());
        refs.has_lost_stash = dropped.is_some_and(|at| is_loss(&at));
        refs
    }
}

/// Finds out where a branch was, by the lines of its log since the second of a moment, at which the log may have been there.
fn trace(moves: &[RefMove], was_there: bool) -> BranchTrace {
    match moves {
        [made, next, ..] if made.old.is_none() && was_there => BranchTrace::From(next.old.clone()),
        [made, ..] if made.old.is_none() || made.what.starts_with(RENAMED) => BranchTrace::Made,
        [first, ..] => BranchTrace::From(first.old.clone()),
        [] => BranchTrace::Unknown,
    }
}

/// Reads the old and the new name of a renamed branch.
fn renaming(what: &str) -> Option<(String, String)> {
    let (old, new) = what.strip_prefix(RENAMED)?.split_once(" to ")?;
    Some((old.to_owned(), new.to_owned()))
}

/// The deleted branches that HEAD went to or came from, with their last commits.
fn gone<'l>(
    repository: &Repository,
    lines: impl Iterator<Item = &'l RefMove>,
) -> Vec<(String, Option<String>)> {
    let mut gone = BTreeMap::new();
    for line in lines {
        let way = line.what.strip_prefix("checkout: moving from ");
        let Some((from, to)) = way.and_then(|way| way.split_once(" to ")) else {
            continue;
        };
        for (name, commit) in [(from, &line.old), (to, &line.new)] {
            let names = [format!("{BRANCHES}{name}"), format!("{TAGS}{name}")];
            // `git checkout COMMIT` writes the same line, with the commit or its tag in the place of a branch's name.
            let is_commit = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            let is_there = names.iter().any(|name| repository.value_of(name).is_some());
            if is_branch(&names[0]) && !is_commit && !is_there {
                gone.insert(names[0].clone(), commit.clone());
            }
        }
    }
    gone.into_iter().collect()
}

/// The times at which names went from directories: those at which none came.
fn lost(folders: &[Milliseconds], written: &[Milliseconds]) -> impl Iterator<Item = Milliseconds> {
    let is_written = |at: &Milliseconds| written.iter().any(|time| is_together(*time, *at));
    folders.iter().copied().filter(move |at| !is_written(at))
}

fn is_together(one: Milliseconds, other: Milliseconds) -> bool {
    (one - other).abs() <= SAME_COMMAND
}

/// Returns whether `git gc` explains that refs went from their directories: it packs them, and then objects.
fn is_packing(common: &Path, at: Milliseconds) -> bool {
    let refs = reflog::written_at(&common.join(PACKED_REFS));
    let objects = reflog::written_at(&common.join("objects/info/packs"));
    let is_of = |(refs, objects): (Milliseconds, Milliseconds)| {
        is_together(refs, at) && (at..at + LONGEST_GC).contains(&objects)
    };
    refs.zip(objects).is_some_and(is_of)
}

/// Finds out when an entry of the stash was last dropped: its log was written without a line that says so, or went
/// together with the ref.
fn stash_dropped_at(common: &Path, since: Milliseconds) -> Option<Milliseconds> {
    let logs = common.join("logs/refs");
    if let Some(at) = reflog::written_at(&logs.join("stash")) {
        let moves = reflog::moves(common, "refs/stash", 0);
        let last = moves.last().map(|line| *line.second.end())?;
        return (at >= since && at > last + SAME_COMMAND).then_some(at);
    }
    let at = changed_in_old(&logs, since)?;
    let ref_at = changed_in_old(&common.join("refs"), since)?;
    (is_together(at, ref_at) && !has_child_born_at(&logs, at)).then_some(at)
}

/// Returns whether a directory was created in another at a moment, such as that for the logs of remotes.
fn has_child_born_at(folder: &Path, at: Milliseconds) -> bool {
    let children = std::fs::read_dir(folder).into_iter().flatten();
    let found = children.filter_map(|child| child.ok()?.metadata().ok());
    let mut born = found.filter_map(|found| times::created(&found));
    born.any(|born| (born - at).abs() <= TICK)
}

/// Finds out when the names in a directory last changed, if that was since a moment. One that was created since held no
/// names before.
fn changed_in_old(folder: &Path, since: Milliseconds) -> Option<Milliseconds> {
    let found = folder.symlink_metadata().ok().filter(Metadata::is_dir)?;
    let is_new = times::created(&found).is_some_and(|born| born + TICK >= since);
    Some(times::written(&found)).filter(|at| *at >= since && !is_new)
}

/// Changes below a folder.
#[derive(Default)]
pub(super) struct Written {
    /// The files that were written, by the full names of refs, and when.
    pub files: Vec<(String, Milliseconds)>,
    /// When the names in each directory last changed.
    folders: Vec<Milliseconds>,
}

pub(super) fn written_since(above: &Path, folder: &str, since: Milliseconds) -> Written {
    let mut found = Written::default();
    let mut folders = vec![folder.trim_end_matches('/').to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        found
            .folders
            .extend(changed_in_old(&above.join(&folder), since));
        let entries = std::fs::read_dir(above.join(&folder)).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if seen > MAX_NAMES {
                return found;
            }
            // A name that is not UTF-8 is not a ref that we could write.
            let Ok(leaf) = entry.file_name().into_string() else {
                continue;
            };
            let name = format!("{folder}/{leaf}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(name);
            } else if let Some(written) = reflog::written_at(&entry.path())
                && written >= since
                // Git is writing that one right now.
                && !leaf.ends_with(".lock")
            {
                found.files.push((name, written));
            }
        }
    }
    found.files.sort_unstable();
    found
}
