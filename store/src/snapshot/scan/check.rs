//! The check: which directories differ from what the last snapshot saw. This module does IO.
//!
//! It costs one open and `fstat` a directory and one `fstatat` a file, and is all that a snapshot without changes does. It
//! decides nothing but *same* or *look again*; `walk` looks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::disk::{self, Stamp};
use super::listing::Kind;
use super::{threads, walk};
use crate::snapshot::GapReason;
use crate::snapshot::cache::{Cache, CachedItem, Directory};

/// How many directories a thread takes at a time.
const BATCH: usize = 16;

/// What differs, as numbers of the cache's directories.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Directories to look at again.
    pub directories: Vec<usize>,
    /// Directories whose ignore file is another one: all below has to be listed again.
    pub rules: Vec<usize>,
}

/// Compares every directory of a cache with the disk.
pub(crate) fn check(cache: &Cache, root: BorrowedFd<'_>, store: Option<(u64, u64)>, is_remote: bool) -> Differences {
    let next = AtomicUsize::new(0);
    let work = |_| {
        let mut found = Differences::default();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            if start >= cache.len() {
                return found;
            }
            for number in start..cache.len().min(start + BATCH) {
                match cache.directory(number).map(|directory| compare(&directory, root, store, is_remote)) {
                    Some(Verdict::Same) => {}
                    Some(Verdict::Rules) => found.rules.push(number),
                    Some(Verdict::Changed) | None => found.directories.push(number),
                }
            }
        }
    };
    let few = cache.len() <= BATCH;
    let mut all = Differences::default();
    for found in threads::run(if few { 1 } else { threads::count() }, work) {
        all.directories.extend(found.directories);
        all.rules.extend(found.rules);
    }
    all.directories.sort_unstable();
    all.rules.sort_unstable();
    all
}

enum Verdict {
    Same,
    Changed,
    Rules,
}

fn compare(cached: &Directory<'_>, root: BorrowedFd<'_>, store: Option<(u64, u64)>, is_remote: bool) -> Verdict {
    let Ok(directory) = disk::open_directory(root, cached.path) else { return Verdict::Changed };
    let Ok(stat) = rustix::fs::fstat(&directory) else { return Verdict::Changed };
    let is_store = store == Some((stat.st_dev, stat.st_ino));
    if is_store || cached.is_left_out() {
        return if is_store && cached.is_left_out() { Verdict::Same } else { Verdict::Changed };
    }
    let has_names = cached.is_settled() && !is_remote && cached.stamp() == Stamp::of(&stat);
    let mut changed = !has_names;
    for item in cached.items() {
        if !is_same(&item, directory.as_fd()) {
            changed = true;
            if item.name == b".gitignore" {
                break;
            }
        }
        if changed && item.name > &b".gitignore"[..] {
            break;
        }
    }
    if !changed {
        return Verdict::Same;
    }
    let rules = walk::rules_of(directory.as_fd()).map(|(_, id)| id);
    if rules == cached.rules() { Verdict::Changed } else { Verdict::Rules }
}

fn is_same(item: &CachedItem<'_>, directory: BorrowedFd<'_>) -> bool {
    let stamp = || disk::stat(directory, item.name).ok();
    if item.content().is_some() {
        return item.is_settled && stamp() == Some(item.stamp);
    }
    match item.kind() {
        Some(Kind::Content(_) | Kind::Watched(_)) => item.is_settled && stamp() == Some(item.stamp),
        Some(Kind::Gap(GapReason::TooLarge)) => stamp() == Some(item.stamp),
        Some(Kind::Gap(GapReason::Special(_))) => stamp().is_some_and(|now| now.file_type() == item.stamp.mode),
        // A directory is compared by itself; of a name that says why, nothing else matters.
        Some(Kind::Directory | Kind::Gap(GapReason::ReservedName | GapReason::TooDeep)) => true,
        Some(Kind::Gap(GapReason::Unreadable(_) | GapReason::Changing | GapReason::Mount)) | None => false,
    }
}
