//! Chooses the directories to look at: all, or those that differ from the cache. This module does IO.

use std::collections::{BTreeSet, HashSet};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicUsize;

use super::SnapshotBuilder;
use super::hint::Hint;
use super::index::UserIndex;
use crate::git::tracked::Tracked;
use crate::model::path::{PathKind, WorkspacePath, above, join};
use crate::snapshot::cache::Cache;
use crate::snapshot::rules::DirectoryView;
use crate::snapshot::scan::check::{self, CacheCheck, Depth, Differences};
use crate::snapshot::scan::walk::{RememberedNames, Task};

impl SnapshotBuilder<'_> {
    /// Returns the directories to look at: all, or those that the check found and those where the forced paths changed.
    pub(super) fn tasks(
        &self,
        cache: Option<&Cache>,
        index: &UserIndex<'_>,
        hint: Option<&Hint>,
    ) -> Vec<Task> {
        // With other settings or excludes, anything may have come into view, anywhere.
        let Some(cache) = cache.filter(|cache| cache.header.snapshot_key == self.snapshot_key())
        else {
            return vec![Task::Directory {
                path: Vec::new(),
                view: DirectoryView::Open,
                names: RememberedNames::AgainBelow,
            }];
        };
        let numbers = match self.request.only_around {
            Some(paths) => {
                let numbers = numbers_around(cache, paths).into_iter();
                Some(numbers.map(|number| (number, Depth::Whole)).collect())
            }
            None => hint
                .filter(|_| self.request.takes_hints)
                .and_then(|hint| hint.numbers(cache)),
        };
        // Reading one body after the other is slower than all at once, where many are needed.
        if index.is_new
            || numbers
                .as_ref()
                .is_none_or(|few| few.len() > cache.len() / 8)
        {
            cache.load();
        }
        let differences = check::check(cache, numbers.as_deref(), &self.against());
        if let (None, Some(hint)) = (&numbers, hint) {
            hint.judge(self, cache, &differences);
        }
        // Paths that are forced into view, or no longer, change no directory's stamp. So the directories on the way
        // to them are listed again, whatever the check says.
        let again = self.again(cache, index);
        tasks_of(cache, &differences, &again)
    }

    pub(super) fn against(&self) -> CacheCheck<'_> {
        CacheCheck {
            root: self.root.as_fd(),
            store: self.store,
            is_remote: self.is_remote,
            writers: &self.writers,
            young: AtomicUsize::new(0),
            now: self.now,
            deadline: self.request.deadline,
        }
    }

    /// Returns the directories on the way to files that became, or ceased to be, tracked or named.
    fn again(&self, cache: &Cache, index: &UserIndex<'_>) -> HashSet<Vec<u8>> {
        let named = self.named();
        let old: BTreeSet<_> = cache.header.named.iter().cloned().collect();
        let mut paths: Vec<Vec<u8>> = named.symmetric_difference(&old).cloned().collect();
        if index.is_new {
            let tracked = index.tracked();
            let is_gone = |path: &&Vec<u8>| !tracked.holds(path, PathKind::File);
            paths.extend(cache.header.forced.iter().filter(is_gone).cloned());
            // Git does not ignore what it tracks, so `git add -f` brings a path into view that no rule mentions.
            paths.extend(uncaptured(cache, tracked));
        }
        let mut again = HashSet::new();
        for path in &paths {
            note_above(path, |directory| again.insert(directory.to_vec()));
        }
        again
    }
}

/// Notes the directories above a path, up to the first one that was noted before: those above it were noted with it.
/// Without this, a deep tree would cost its depth for every path.
pub(super) fn note_above(path: &[u8], mut is_new: impl FnMut(&[u8]) -> bool) {
    above(path).find(|directory| !is_new(directory));
}

/// Notes the number of a directory, if the cache knows it. Returns false if it was noted before.
pub(super) fn note_known(cache: &Cache, directory: &[u8], numbers: &mut BTreeSet<usize>) -> bool {
    let number = cache.find(directory);
    number.is_none_or(|number| numbers.insert(number))
}

/// Returns the numbers of the directories above, at and below some paths.
fn numbers_around(cache: &Cache, paths: &BTreeSet<WorkspacePath>) -> Vec<usize> {
    let mut numbers = BTreeSet::new();
    for path in paths {
        note_above(path.as_bytes(), |directory| {
            note_known(cache, directory, &mut numbers)
        });
        numbers.extend(cache.find(path.as_bytes()));
        numbers.extend(numbers_below(cache, path.as_bytes()));
    }
    numbers.into_iter().collect()
}

/// Returns the numbers of the directories below one, or all for the root.
pub(super) fn numbers_below(cache: &Cache, path: &[u8]) -> impl Iterator<Item = usize> {
    let start = match path {
        b"" => Vec::new(),
        path => [path, b"/"].concat(),
    };
    (cache.first_from(&start)..cache.len()).take_while(move |number| {
        cache
            .directory(*number)
            .is_some_and(|directory| directory.path.starts_with(&start))
    })
}

fn tasks_of(cache: &Cache, differences: &Differences, again: &HashSet<Vec<u8>>) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut stale: HashSet<&[u8]> = HashSet::new();
    for directory in differences
        .rules
        .iter()
        .filter_map(|number| cache.directory(*number))
    {
        // Paths are in order, so what is below a stale directory comes after it.
        if !is_in_or_below(&stale, directory.path) {
            stale.insert(directory.path);
            let (path, view) = (directory.path.to_vec(), directory.view());
            tasks.push(Task::Directory {
                path,
                view,
                names: RememberedNames::AgainBelow,
            });
        }
    }
    let changed = differences.directories.iter().copied();
    let again_numbers = again.iter().filter_map(|path| cache.find(path));
    let numbers: BTreeSet<usize> = changed.chain(again_numbers).collect();
    for directory in numbers
        .into_iter()
        .filter_map(|number| cache.directory(number))
    {
        if !is_in_or_below(&stale, directory.path) {
            let names = if again.contains(directory.path) {
                RememberedNames::Again
            } else {
                RememberedNames::Known
            };
            tasks.push(Task::Directory {
                path: directory.path.to_vec(),
                view: directory.view(),
                names,
            });
        }
    }
    tasks
}

fn is_in_or_below(directories: &HashSet<&[u8]>, path: &[u8]) -> bool {
    directories.contains(path) || above(path).any(|directory| directories.contains(directory))
}

/// Returns the tracked paths without content in a cache: they are ignored, gaps, or do not exist.
fn uncaptured(cache: &Cache, tracked: &Tracked) -> Vec<Vec<u8>> {
    let mut missing = Vec::new();
    for (directory, names) in tracked.by_directory() {
        let cached = cache
            .find(directory)
            .and_then(|number| cache.directory(number));
        let items = cached.iter().flat_map(|directory| directory.items());
        let captured = items.filter_map(|item| item.content().map(|_| item.name));
        missing.extend(not_among(names, captured).map(|name| join(directory, name)));
    }
    missing
}

/// Returns the names that are not among others. Both lists have to be sorted; if they are not, it may return too many.
pub(super) fn not_among<'a>(
    names: impl Iterator<Item = &'a [u8]>,
    others: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    let mut others = others.peekable();
    names.filter(move |name| {
        while others.next_if(|other| other < name).is_some() {}
        others.peek() != Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that are not among others are found in one pass.
    #[test]
    fn missing_names_are_found_in_one_pass() {
        let bytes = |names: &'static [&str]| names.iter().map(|name| name.as_bytes());
        let of = |names, others| -> Vec<&[u8]> { not_among(bytes(names), bytes(others)).collect() };
        assert_eq!(of(&["a", "b", "d"], &["b", "c"]), [b"a", b"d"]);
        assert_eq!(
            of(&["b", "b", "c"], &["b"]),
            [b"c"],
            "an unmerged path comes more than once"
        );
        assert_eq!(of(&["a"], &[]), [b"a"], "nothing is captured");
        assert!(of(&[], &["a"]).is_empty());
    }
}
