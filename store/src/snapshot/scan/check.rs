//! The check: finds the directories that differ from what the last snapshot saw. This module does IO.
//!
//! It costs one open and `fstat` per directory and one `fstatat` per file, and is all that a snapshot without changes
//! does. It decides only between *same* and *look again*; `walk` looks. A file that is too young for its stamp to be
//! trusted is read and its hash compared: right after an edit, that is much less work than another look at its
//! directory.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::directory;
use super::listing::ItemKind;
use super::read::{self, ReadOutcome};
use crate::fs::beneath::{self, Anchor};
use crate::fs::disk::Stamp;
use crate::fs::lease::Writers;
use crate::fs::system;
use crate::fs::threads;
use crate::model::FileTime;
use crate::model::entry::file_type;
use crate::model::path::IGNORE_FILE;
use crate::objects::hash;
use crate::snapshot::GapReason;
use crate::snapshot::cache::{Cache, CachedItem, Directory};
use crate::snapshot::rules::UNKNOWN_RULES;

/// How many directories a thread takes at a time.
const BATCH: usize = 16;

/// What differs, as numbers of directories in the cache.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Directories to look at again.
    pub directories: Vec<usize>,
    /// Directories whose ignore file changed. Everything below them has to be listed again.
    pub rules: Vec<usize>,
}

impl Differences {
    /// Notes how a directory compares.
    fn note(&mut self, number: usize, freshness: Freshness) {
        match freshness {
            Freshness::Same => {}
            Freshness::Rules => self.rules.push(number),
            Freshness::Changed => self.directories.push(number),
        }
    }
}

/// How many files with stamps that cannot be trusted yet are read at each look rather than written down.
const MAX_UNSETTLED: usize = 32;

/// How much of a directory is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All of it.
    Whole,
    /// The directory itself, and what the cache is not sure of: a watcher says that nothing else changed.
    Unsure,
}

/// What a cache is compared with.
pub(crate) struct CacheCheck<'a> {
    /// The workspace's root, open.
    pub root: BorrowedFd<'a>,
    /// The store's directory: device and inode.
    pub store: Option<(u64, u64)>,
    /// Whether directory times cannot be trusted.
    pub is_remote: bool,
    /// Whether the file system tells of every writer.
    pub writers: &'a Writers,
    /// How many files with stamps that cannot be trusted yet were met.
    pub young: AtomicUsize,
    /// The moment before the scan began, by the clock of file times.
    pub now: FileTime,
    /// From then on, no file is read here: it is left to the walk, which gives up.
    pub deadline: Option<Instant>,
}

/// Compares directories of a cache with the disk: those with these numbers, or all.
pub(crate) fn check(
    cache: &Cache,
    numbers: Option<&[(usize, Depth)]>,
    against: &CacheCheck<'_>,
) -> Differences {
    let share = Share {
        cache,
        numbers,
        next: AtomicUsize::new(0),
        count: numbers.map_or(cache.len(), <[_]>::len),
    };
    let threads = if share.count <= BATCH {
        1
    } else {
        threads::count()
    };
    let mut all = Differences::default();
    for found in threads::run(threads, |_| share.compare(against)) {
        all.directories.extend(found.directories);
        all.rules.extend(found.rules);
    }
    all.directories.sort_unstable();
    all.rules.sort_unstable();
    all
}

/// The directories that the threads of a check share.
struct Share<'a> {
    cache: &'a Cache,
    numbers: Option<&'a [(usize, Depth)]>,
    /// How many of them are taken.
    next: AtomicUsize,
    count: usize,
}

impl Share<'_> {
    /// Takes a batch after the other, until none is left, and returns what differs in them.
    fn compare(&self, against: &CacheCheck<'_>) -> Differences {
        let mut found = Differences::default();
        // One for each thread: it stays on the path of the directories that come one after the other.
        let mut anchor = Anchor::default();
        loop {
            let start = self.next.fetch_add(BATCH, Ordering::Relaxed);
            if start >= self.count {
                return found;
            }
            for place in start..self.count.min(start + BATCH) {
                let (number, depth) = self
                    .numbers
                    .map_or((place, Depth::Whole), |numbers| numbers[place]);
                let directory = self.cache.directory(number);
                let freshness =
                    directory.map(|directory| against.compare(&directory, depth, &mut anchor));
                found.note(number, freshness.unwrap_or(Freshness::Changed));
            }
        }
    }
}

enum Freshness {
    Same,
    Changed,
    Rules,
}

impl CacheCheck<'_> {
    fn compare(&self, cached: &Directory<'_>, depth: Depth, anchor: &mut Anchor) -> Freshness {
        // Gone, unreadable or a link by now: the walk finds out which.
        let Ok(directory) = anchor.open_directory(self.root, cached.path) else {
            return Freshness::Changed;
        };
        let Ok(stat) = rustix::fs::fstat(&directory) else {
            return Freshness::Changed;
        };
        // By identity: the store may have been moved into the workspace since.
        let is_store = self.store == Some((system::device(&stat), stat.st_ino));
        if is_store || cached.is_left_out() {
            return if is_store && cached.is_left_out() {
                Freshness::Same
            } else {
                Freshness::Changed
            };
        }
        let has_names =
            // A server's directory times may come from a cache of attributes, seconds late.
            cached.is_settled() && !self.is_remote && cached.stamp() == Stamp::of(&stat);
        let mut changed = !has_names;
        let mut young = Vec::new();
        let is_sure = |item: &CachedItem<'_>| item.content().is_some() && item.is_settled;
        let is_compared = |item: &CachedItem<'_>| depth == Depth::Whole || !is_sure(item);
        // Cheapest first, and nothing is opened: with one difference found, the walk looks at the directory anyhow.
        for item in cached.items().filter(is_compared) {
            match self.compare_item(&item, directory.as_fd()) {
                Likeness::Same => {}
                Likeness::Young => young.push(item),
                Likeness::Other => changed = true,
            }
            // The walk looks at the whole directory, and its rules are compared below: the other items decide nothing.
            if changed {
                break;
            }
        }
        // Files are read here only if nothing else requires a look at the directory, which would read them again.
        let is_read_here = !changed && !self.is_worth_a_look(&young);
        if is_read_here
            && young
                .iter()
                .all(|item| self.is_as_remembered(item, directory.as_fd()))
        {
            return Freshness::Same;
        }
        let rules = match directory::rules_of(directory.as_fd()) {
            Ok(rules) => rules.map(|(_, id)| id),
            // Until it can be read, its last known rules apply.
            Err(_) => cached.rules().or(Some(UNKNOWN_RULES)),
        };
        if rules == cached.rules() {
            Freshness::Changed
        } else {
            Freshness::Rules
        }
    }

    fn compare_item(&self, item: &CachedItem<'_>, directory: BorrowedFd<'_>) -> Likeness {
        let stamp = || beneath::stat(directory, item.name).ok();
        if item.content().is_some() {
            return match stamp() == Some(item.stamp) {
                true if item.is_settled => Likeness::Same,
                true if self.is_young(item) => Likeness::Young,
                _ => Likeness::Other,
            };
        }
        let is_same = match item.kind() {
            Some(ItemKind::Content(_) | ItemKind::Watched(_)) => {
                item.is_settled && stamp() == Some(item.stamp)
            }
            Some(ItemKind::Gap(GapReason::TooLarge | GapReason::KeptTooLarge)) => {
                stamp() == Some(item.stamp)
            }
            // A write to a pipe changes its times, and all that is captured of it is that it is there.
            Some(ItemKind::Gap(GapReason::Special(_))) => {
                stamp().is_some_and(|now| now.file_type() == item.stamp.mode)
            }
            // A directory is compared by itself, and a name that is reserved or too deep stays a gap. An ignored file
            // may change at will; if it goes, the stamp of its directory changes.
            Some(
                ItemKind::Directory
                | ItemKind::Gap(
                    GapReason::Ignored
                    | GapReason::Metadata
                    | GapReason::MoreIgnored
                    | GapReason::ReservedName
                    | GapReason::TooDeep
                    | GapReason::Repository,
                ),
            ) => true,
            // What could not be captured may be readable by now, so it is tried at every look.
            Some(ItemKind::Gap(
                GapReason::Unreadable(_)
                | GapReason::Changing
                | GapReason::Late
                | GapReason::Mount
                | GapReason::Forgotten
                | GapReason::ForgottenDirectory,
            ))
            | None => false,
        };
        if is_same {
            Likeness::Same
        } else {
            Likeness::Other
        }
    }

    /// Returns whether a look at these files would remember that no program can write to them, and so many were met
    /// that to read them once is worth the writing of a new cache.
    fn is_worth_a_look(&self, young: &[CachedItem<'_>]) -> bool {
        let is_past_the_tick = |item: &CachedItem<'_>| item.stamp.is_settled(self.now, 0);
        let met = young.len() + self.young.fetch_add(young.len(), Ordering::Relaxed);
        met > MAX_UNSETTLED
            && young.iter().any(is_past_the_tick)
            && self.writers.are_told(self.root)
    }

    /// Returns whether the stamp of a file cannot be trusted yet. If it can by now, the walk looks, so that the next
    /// cache says so. An unsettled ignore file may not be the one that decided, so the walk looks at that, too.
    fn is_young(&self, item: &CachedItem<'_>) -> bool {
        item.name != IGNORE_FILE
            && item.stamp.file_type() == file_type::REGULAR
            && item.stamp.size <= read::STREAMED
            && !item
                .stamp
                .is_settled(self.now, read::margin(self.is_remote))
    }

    /// Reads a file, and returns whether its stamp and hash are those that are remembered.
    fn is_as_remembered(&self, item: &CachedItem<'_>, directory: BorrowedFd<'_>) -> bool {
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return false;
        }
        match read::file(directory, item.name, &|_| false) {
            Ok(ReadOutcome::Bytes(bytes, stamp, _)) => {
                stamp == item.stamp && Some(hash::blob_id(&bytes)) == item.content()
            }
            Ok(
                ReadOutcome::Large(_)
                | ReadOutcome::Gone
                | ReadOutcome::Gap(_)
                | ReadOutcome::Other,
            )
            | Err(_) => false,
        }
    }
}

/// How an entry compares with the remembered one.
enum Likeness {
    Same,
    /// Its stamp is the same, but cannot be trusted yet.
    Young,
    Other,
}
