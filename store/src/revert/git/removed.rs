//! Finds out whether tags, branches or entries of the stash were removed since a moment. This module does IO, but only
//! reads.
//!
//! Git keeps no record of that: the file goes, and with it the reflog or the line in it. What remains is the time of a
//! directory or a log in which nothing was written at that time. `git gc` leaves such times, too, so what its other
//! traces explain does not count. Only the last removal is seen, and only if nothing was written there since.

use std::fs::Metadata;
use std::path::Path;

use super::reflog::{self, Moment};
use super::repository::Repository;
use crate::fs::times;
use crate::git::state::PACKED_REFS;
use crate::model::Milliseconds;
use crate::model::git_item::BRANCHES;
use crate::timeline::evidence::TICK;

/// Two traces of one git command are at most this far apart.
const TOGETHER: Milliseconds = 2_000;

/// How long after packing refs `git gc` may still pack objects. It writes `objects/info/packs` last, minutes later in a
/// large repository. If it takes even longer, the revert names a removal that was none; if this were longer, `git gc`
/// would hide a removal that came soon before the packing of objects.
const LONGEST_UPKEEP: Milliseconds = 600_000;

/// When tags, branches and entries of the stash were last removed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Removed {
    pub tags: Option<Moment>,
    pub branches: Option<Moment>,
    pub stash: Option<Moment>,
}

/// What was written below a folder of refs or of their logs since a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traces<'a> {
    /// When names came there, or were replaced.
    pub written: &'a [Milliseconds],
    /// When the names in each directory last changed.
    pub folders: &'a [Milliseconds],
}

impl Traces<'_> {
    /// Returns the last change of names that nothing written explains, if it was not before `since`.
    fn removed_at(self, since: Milliseconds) -> Option<Milliseconds> {
        let is_writing = |at| self.written.iter().any(|time| is_together(*time, at));
        let recent = self.folders.iter().copied().filter(|at| *at >= since);
        recent.filter(|at| !is_writing(*at)).max()
    }
}

impl Removed {
    /// Looks for removals since a moment, given the traces of tags, and of the logs of branches. When a branch was
    /// renamed, its log was beside that of the stash for a moment.
    pub fn since(
        repository: &Repository,
        since: Milliseconds,
        (tags, branches): (Traces<'_>, Traces<'_>),
        renamed: &[Milliseconds],
    ) -> Self {
        let is_renaming = |at: &Milliseconds| renamed.iter().any(|time| is_together(*time, *at));
        let stash = stash_removed_at(repository, since).filter(|at| !is_renaming(at));
        let (tags, branches) = (tags.removed_at(since), branches.removed_at(since));
        if tags.is_none() && branches.is_none() && stash.is_none() {
            return Self::default();
        }
        // Only now, since it reads every reflog, and most reverts see no removal at all.
        let upkeep = Upkeep::of(repository);
        let by_somebody = |at: &Milliseconds| !upkeep.explains(*at);
        let moment = |at: Option<Milliseconds>| at.filter(by_somebody).map(Moment::exact);
        Self {
            tags: moment(tags),
            branches: moment(branches),
            stash: moment(stash),
        }
    }
}

/// Returns when an entry of the stash was last removed, if its log shows that and it was not before `since`.
fn stash_removed_at(repository: &Repository, since: Milliseconds) -> Option<Milliseconds> {
    let common = &repository.location.common;
    let logs = common.join("logs/refs");
    let logs_at = changed_at(&logs)?;
    if let Some(at) = reflog::written_at(&logs.join("stash")) {
        return (at >= since)
            .then(|| rewritten_at(repository, common, "refs/stash"))
            .flatten();
    }
    // With the last entry, the ref and its log go, one right after the other.
    let at = Some(logs_at).filter(|at| *at >= since)?;
    let ref_at = changed_at(&common.join("refs"))?;
    (is_together(at, ref_at) && !has_child_born_at(&logs, at)).then_some(at)
}

/// Returns when a reflog was written without a line that says so.
fn rewritten_at(repository: &Repository, folder: &Path, name: &str) -> Option<Milliseconds> {
    let at = reflog::written_at(&folder.join("logs").join(name))?;
    let moves = reflog::moves(&repository.location, folder, name, 0);
    let last = moves.last().map(|line| line.moment.latest)?;
    (at > last + TOGETHER).then_some(at)
}

/// The traces of `git gc`: it rewrites all reflogs, packs refs, and then objects.
struct Upkeep {
    logs: Vec<Milliseconds>,
    packed: Option<(Milliseconds, Milliseconds)>,
}

impl Upkeep {
    fn of(repository: &Repository) -> Self {
        let location = &repository.location;
        let heads = location.common.join("logs/refs/heads");
        let names = std::fs::read_dir(heads).into_iter().flatten();
        let names = names
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .map(|name| format!("{BRANCHES}{name}"));
        let branches = names.filter_map(|name| rewritten_at(repository, &location.common, &name));
        let head = rewritten_at(repository, &location.directory, "HEAD");
        let refs = reflog::written_at(&location.common.join(PACKED_REFS));
        let objects = reflog::written_at(&location.common.join("objects/info/packs"));
        Self {
            logs: branches.chain(head).collect(),
            packed: refs.zip(objects),
        }
    }

    fn explains(&self, at: Milliseconds) -> bool {
        let is_packing = |(refs, objects): (Milliseconds, Milliseconds)| {
            is_together(refs, at) && (at..at + LONGEST_UPKEEP).contains(&objects)
        };
        self.logs.iter().any(|log| is_together(*log, at)) || self.packed.is_some_and(is_packing)
    }
}

fn is_together(one: Milliseconds, other: Milliseconds) -> bool {
    (one - other).abs() <= TOGETHER
}

/// Returns whether a directory was created at a moment: one for logs of another kind, such as those of a remote, is
/// made in the same place.
fn has_child_born_at(folder: &Path, at: Milliseconds) -> bool {
    let children = std::fs::read_dir(folder).into_iter().flatten();
    let found = children.filter_map(|child| child.ok()?.metadata().ok());
    let mut born = found.filter_map(|found| times::created(&found));
    born.any(|born| (born - at).abs() <= TICK)
}

/// Returns when the names in a directory last changed. One that was created since held nothing earlier.
pub(super) fn changed_in_old(folder: &Path, since: Milliseconds) -> Option<Milliseconds> {
    let found = folder.symlink_metadata().ok()?;
    let is_new = times::created(&found).is_some_and(|born| born + TICK >= since);
    if is_new { None } else { names_changed(&found) }
}

/// Returns when the names in a directory last changed.
fn changed_at(folder: &Path) -> Option<Milliseconds> {
    names_changed(&folder.symlink_metadata().ok()?)
}

fn names_changed(found: &Metadata) -> Option<Milliseconds> {
    found.is_dir().then(|| times::written(found))
}
