//! Finds the steps that other paths block: a file where a directory is needed, or the reverse. Pure.
//!
//! No path can be a file while another below it exists. Neither the disk nor any past state has such a pair: it arises
//! from a path that changes and another that stays. Dropping the change resolves it and makes no new pair, since what
//! remains is what was there before.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::model::entry::{Entry, EntryKind, State};
use crate::model::path::WorkspacePath;

/// A path that is to change.
#[derive(Clone, Copy, Debug)]
pub struct PathChange<'a> {
    /// The path that changes.
    pub path: &'a WorkspacePath,
    /// The present state.
    pub before: State,
    /// The target state.
    pub after: State,
}

/// The paths that exist, with their entries.
pub type EntriesByPath<'a> = BTreeMap<&'a WorkspacePath, Entry>;

/// Returns the blocked steps, by index, each with the path that blocks it. `before` is the present state, including the
/// steps' own paths.
pub fn blocked(
    steps: &[PathChange<'_>],
    before: &BTreeMap<WorkspacePath, State>,
) -> Vec<(usize, WorkspacePath)> {
    if steps.is_empty() {
        return Vec::new();
    }
    //    a       a file that stays
    //    a/b     to be made: blocked by `a`
    //    a/b/c   to be made below it: blocked by `a` as well, and not by `a/b`, which will not be there
    let mut standing = standing(steps, before);
    // First the steps below a file that stays. What they would have made will not exist, so it must not block others.
    let below_files: Vec<_> = meet(steps, |step| file_above(&standing, before, step)).collect();
    for (index, _) in &below_files {
        standing.remove(steps[*index].path);
    }
    let above_entries = meet(steps, |step| entry_below_file(&standing, step));
    above_entries.chain(below_files.iter().cloned()).collect()
}

/// Returns the steps, by index, that make or remove an empty directory that is not empty afterwards. Such a directory
/// exists in any case, and is not an entry of its own.
pub fn implied(steps: &[PathChange<'_>], before: &BTreeMap<WorkspacePath, State>) -> Vec<usize> {
    if steps.is_empty() {
        return Vec::new();
    }
    let standing = standing(steps, before);
    meet(steps, |step| entry_below_directory(&standing, step))
        .map(|(index, _)| index)
        .collect()
}

/// Returns the first existing path below another.
pub fn first_below<'a>(
    standing: &EntriesByPath<'a>,
    path: &WorkspacePath,
) -> Option<&'a WorkspacePath> {
    // If any path is below, the next one is.
    let start = path.first_below();
    let (first, _) = standing
        .range::<WorkspacePath, _>((Bound::Included(&start), Bound::Unbounded))
        .next()?;
    first.is_below(path).then_some(*first)
}

/// Returns the paths that exist once the steps are taken.
fn standing<'a>(
    steps: &[PathChange<'a>],
    before: &'a BTreeMap<WorkspacePath, State>,
) -> EntriesByPath<'a> {
    let mut standing: EntriesByPath<'a> = before
        .iter()
        .filter_map(|(path, state)| state.map(|entry| (path, entry)))
        .collect();
    for step in steps {
        match step.after {
            Some(entry) => standing.insert(step.path, entry),
            None => standing.remove(step.path),
        };
    }
    standing
}

/// Returns the steps that meet something, by index, and what they meet.
fn meet<'a>(
    steps: &'a [PathChange<'_>],
    meets: impl Fn(&PathChange<'_>) -> Option<WorkspacePath> + 'a,
) -> impl Iterator<Item = (usize, WorkspacePath)> + 'a {
    steps
        .iter()
        .enumerate()
        .filter_map(move |(index, step)| Some((index, meets(step)?)))
}

/// Returns a file above a path to be made, if it is there before and after.
fn file_above(
    standing: &EntriesByPath<'_>,
    before: &BTreeMap<WorkspacePath, State>,
    step: &PathChange<'_>,
) -> Option<WorkspacePath> {
    if step.after.is_none() || step.before.is_some() {
        return None;
    }
    let mut above = step.path.parent();
    while let Some(path) = above {
        let was_there = before.get(&path).copied().flatten().is_some_and(is_file);
        if was_there && standing.get(&path).copied().is_some_and(is_file) {
            return Some(path);
        }
        above = path.parent();
    }
    None
}

/// Returns an entry below a path at which a file is to replace a directory.
fn entry_below_file(standing: &EntriesByPath<'_>, step: &PathChange<'_>) -> Option<WorkspacePath> {
    let is_made = step.after.is_some_and(is_file) && !step.before.is_some_and(is_file);
    is_made
        .then(|| first_below(standing, step.path).cloned())
        .flatten()
}

fn entry_below_directory(
    standing: &EntriesByPath<'_>,
    step: &PathChange<'_>,
) -> Option<WorkspacePath> {
    let comes_or_goes = match (step.before, step.after) {
        (Some(directory), None) | (None, Some(directory)) => !is_file(directory),
        _ => false,
    };
    comes_or_goes
        .then(|| first_below(standing, step.path).cloned())
        .flatten()
}

fn is_file(entry: Entry) -> bool {
    match entry.mode.kind() {
        EntryKind::File | EntryKind::Symlink => true,
        EntryKind::Directory => false,
    }
}
