//! What a watcher says changed in the workspace since the stat cache was written, and how far to believe it. This
//! module does IO.
//!
//! The token that belongs to the cache is beside it, in `watched`. It is as old as the cache or older: the watcher is
//! asked before a look, and the token is noted after the cache is written. So a hint may name too much, but not too
//! little.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::SnapshotBuilder;
use super::tasks::{note_above, note_known, numbers_below};
use crate::error::Context;
use crate::fs::layout;
use crate::fs::names::WATCHED;
use crate::fs::system;
use crate::hints::{Answer, ChangedPlaces, Question, WatchToken, WatcherClient};
use crate::snapshot::cache::{Cache, Extent};
use crate::snapshot::scan::check::{self, CacheCheck, Depth, Differences};

/// Comes before the name of the watch in this file if the watcher missed something.
const OFF: &str = "off ";

/// What a watcher says.
pub(super) struct Hint {
    file: PathBuf,
    /// The token of the cache, if there is one.
    old: Option<WatchToken>,
    answer: Answer,
    /// Whether it named too little.
    missed: Cell<bool>,
}

impl Hint {
    /// Asks the watcher. Returns `None` if there is no watcher, or it missed something before.
    pub fn ask(folder: &Path, scene: &SnapshotBuilder<'_>) -> Option<Self> {
        if scene.is_remote {
            return None;
        }
        // Watchers are rare. Without one, nothing is read.
        let watcher = WatcherClient::find(scene.request.store)?;
        let file = folder.join(WATCHED);
        let noted = std::fs::read_to_string(&file).unwrap_or_default();
        let old = WatchToken::decode(noted.trim_end());
        let answer = watcher.ask(&scene.question(old.clone(), folder)?)?;
        let watch = answer.token.as_ref().map(|token| token.watch.as_str());
        let off = noted.strip_prefix(OFF).map(str::trim_end);
        // A watcher that was started again has another name, and is believed again.
        let is_off = off.is_some() && off == watch;
        (!is_off).then(|| Self {
            file,
            old,
            answer,
            missed: Cell::new(false),
        })
    }

    /// Returns whether the watcher knows where something may have changed.
    pub fn is_narrow(&self) -> bool {
        self.answer.places.is_some()
    }

    /// Returns the numbers of the directories to look at: those where something may have changed since the cache was
    /// written, and those that the cache itself is not sure of. `None` if that may be all.
    pub fn numbers(&self, cache: &Cache) -> Option<Vec<(usize, Depth)>> {
        let told = numbers_of(cache, self.answer.places.as_ref()?);
        let mut numbers: BTreeMap<usize, Depth> = unsure(cache)
            .map(|number| (number, Depth::Unsure))
            .collect();
        // After the others, since the whole of a directory is more than what is unsure in it.
        numbers.extend(told.into_iter().map(|number| (number, Depth::Whole)));
        Some(numbers.into_iter().collect())
    }

    /// Compares the findings of a full look with the hint. A change that the watcher did not report means that it may
    /// miss more.
    pub fn judge(&self, scene: &SnapshotBuilder<'_>, cache: &Cache, differences: &Differences) {
        let is_too_little =
            |answer: &Answer| is_too_little(answer, cache, differences, &scene.against());
        if !is_too_little(&self.answer) {
            return;
        }
        // The directory may have changed since the question, so ask again.
        let folder = self.file.parent().unwrap_or(&self.file);
        let again = WatcherClient::find(scene.request.store)
            .zip(scene.question(self.old.clone(), folder))
            .and_then(|(watcher, question)| watcher.ask(&question));
        self.missed
            .set(again.is_some_and(|again| is_too_little(&again)));
    }

    /// Returns whether the watcher named too little.
    pub fn missed(&self) -> bool {
        self.missed.get()
    }

    /// Notes the token that belongs to the cache now. If that fails, the next hint names more, or there is none.
    pub fn note(&self) {
        let Some(new) = &self.answer.token else {
            return;
        };
        let text = if self.missed.get() {
            format!("{OFF}{}\n", new.watch)
        } else if self.old.as_ref() != Some(new) {
            format!("{}\n", new.encode())
        } else {
            return;
        };
        // A token that is cut off is an older one, or none.
        let _ = layout::open_private(&self.file).and_then(|mut file| {
            file.set_len(0)
                .and_then(|()| file.write_all(text.as_bytes()))
                .context(|| format!("cannot write `{}`", self.file.display()))
        });
    }
}

impl SnapshotBuilder<'_> {
    fn question<'q>(&'q self, token: Option<WatchToken>, folder: &'q Path) -> Option<Question<'q>> {
        let stat = rustix::fs::fstat(self.root.as_fd()).ok()?;
        Some(Question {
            identity: (system::device(&stat), stat.st_ino),
            token,
            root: self.request.root.as_os_str().as_bytes(),
            folder: folder.as_os_str().as_bytes(),
        })
    }
}

/// Returns the directories that the last look saw, from the folder of a workspace's snapshots.
pub(crate) fn seen(folder: &Path) -> Option<BTreeSet<Vec<u8>>> {
    let cache = Cache::read(folder, Extent::Front)?;
    let directories = (0..cache.len()).map(|number| Some(cache.directory(number)?.path.to_vec()));
    directories.collect()
}

/// Returns the numbers of places, and of the directories above them. An unknown place counts as the nearest known one
/// above; one that is left out and unknown is not in view.
fn numbers_of(cache: &Cache, places: &ChangedPlaces) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    let left_out = places
        .left_out
        .iter()
        .filter(|path| cache.find(path).is_some());
    let trees: Vec<&Vec<u8>> = places.trees.iter().chain(left_out).collect();
    for path in places.directories.iter().chain(trees.iter().copied()) {
        if note_known(cache, path, &mut numbers) {
            note_above(path, |directory| note_known(cache, directory, &mut numbers));
        }
    }
    for path in trees {
        numbers.extend(numbers_below(cache, path));
    }
    numbers
}

/// Returns the numbers of the directories that have to be checked whatever a watcher says: something in them was too
/// young, or could not be captured.
fn unsure(cache: &Cache) -> impl Iterator<Item = usize> + '_ {
    (0..cache.len()).filter(|number| {
        cache
            .directory(*number)
            .is_none_or(|directory| !directory.is_sure())
    })
}

/// Returns whether an answer omits a directory that differs, although the cache was sure of what differs in it.
fn is_too_little(
    answer: &Answer,
    cache: &Cache,
    differences: &Differences,
    against: &CacheCheck<'_>,
) -> bool {
    let Some(places) = &answer.places else {
        return false;
    };
    let told = numbers_of(cache, places);
    let found = differences.directories.iter().chain(&differences.rules);
    let untold: Vec<usize> = found
        .filter(|number| !told.contains(number))
        .copied()
        .collect();
    let unsure: BTreeSet<usize> = unsure(cache).collect();
    let looked_at: Vec<(usize, Depth)> = untold
        .iter()
        .filter(|number| unsure.contains(number))
        .map(|number| (*number, Depth::Unsure))
        .collect();
    if looked_at.len() < untold.len() {
        return true;
    }
    // A directory that was looked at for what is unsure in it differs for that alone, which no watcher can
    // know.
    let seen = check::check(cache, Some(&looked_at), against);
    seen.directories.len() + seen.rules.len() < untold.len()
}
