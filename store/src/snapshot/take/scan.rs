//! Looks at directories, and puts together what the threads found. This module does IO.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::SnapshotBuilder;
use super::index::UserIndex;
use super::outer::{UnreadRules, read_rules};
use super::tasks::{not_among, note_above};
use crate::error::{Context, Error, Result, contained};
use crate::fs::disk::Stamp;
use crate::fs::threads;
use crate::git;
use crate::git::tracked::Tracked;
use crate::model::entry::{ObjectId, file_type};
use crate::model::path::{IGNORE_FILE, PathKind, join};
use crate::snapshot::cache::Cache;
use crate::snapshot::rules;
use crate::snapshot::scan::listing::{ItemKind, ListedItem, ListingState};
use crate::snapshot::scan::overlay::Overlay;
use crate::snapshot::scan::sink::Sink;
use crate::snapshot::scan::walk::{Task, ThreadFindings, TimeLimits, Walk};
use crate::snapshot::seed::Seeds;
use crate::snapshot::times::Times;

/// The result of a scan.
pub(super) struct Scanned<'c> {
    /// All directories.
    pub overlay: Overlay<'c>,
    /// Those whose trees may have changed.
    pub touched: Vec<Vec<u8>>,
    /// The files that are captured even though they are ignored.
    pub forced: BTreeSet<Vec<u8>>,
    /// The significant lines of the ignore files that ignore themselves or cannot be read, by directory.
    pub watched: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Some of the patterns that were too complicated to decide.
    pub undecided: Vec<String>,
    /// The times of the last change of what was read.
    pub times: Times,
    /// Whether something was not looked at because the time was up.
    pub is_late: bool,
}

impl SnapshotBuilder<'_> {
    /// Returns the part of the user's repository that the first snapshot can use.
    fn seeds<'s>(&'s self, cache: Option<&Cache>, index: &'s UserIndex<'_>) -> Option<Seeds<'s>> {
        let (None, Some(location), Some(stamp)) = (cache, self.location.as_ref(), index.stamp())
        else {
            return None;
        };
        // Seeds are believed by their stamps, and here every file is to be read.
        if self.request.anew || self.is_foreseen {
            return None;
        }
        contained(|| {
            Seeds::take(
                self.request,
                location,
                &self.root,
                index.tracked(),
                &stamp,
                self.objects,
            )
        })
        .flatten()
    }

    /// Looks at the directories and stores what is new. `known` is the cache if what it says about forced files is
    /// still valid.
    pub(super) fn scan<'c>(
        &self,
        cache: Option<&'c Cache>,
        known: Option<&Cache>,
        index: &UserIndex<'_>,
        tasks: Vec<Task>,
        sink: &Sink<'_>,
    ) -> Result<Scanned<'c>> {
        let (used, anchor) = (Mutex::new(HashMap::new()), Mutex::default());
        let unread = UnreadRules::new(cache, self.objects);
        let matcher = self.rules.matcher(|directory| {
            read_rules(&self.root, directory, &used, &anchor)
                .unwrap_or_else(|_| Some(unread.rules(directory, &used)))
        });
        let any_size = self.of_any_size();
        let forced = Forced::new(self.named(), known, index);
        let seeds = self.seeds(cache, index);
        let walk = Walk {
            root: self.root_again()?,
            store: self.store,
            matcher: &matcher,
            is_forced: &|path, kind| forced.note(path, kind),
            is_tracked: &|path| index.tracked().holds(path, PathKind::Directory),
            is_any_size: &|path| {
                any_size.contains(path) || index.tracked().holds(path, PathKind::File)
            },
            max_file_size: self.request.max_file_size,
            remembered: &|path| cache.and_then(|cache| cache.listing(path)),
            remembered_view: &|path| {
                cache.and_then(|cache| Some(cache.directory(cache.find(path)?)?.view()))
            },
            seeded: &|path, stamp| seeded(seeds.as_ref(), path, stamp),
            listed: &|directory, has| note_listed(&matcher, seeds.as_ref(), directory, has),
            sink,
            now: self.now,
            is_remote: self.is_remote,
            writers: &self.writers,
            limits: self.request.deadline.map(TimeLimits::before),
            #[cfg(debug_assertions)]
            most_files: crate::fault::most_files(),
            goes_on: self.request.deadline.is_some() && cache.is_some_and(Cache::is_late),
            is_late: AtomicBool::new(false),
            progress: self.request.progress,
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            watched: Mutex::default(),
            times: Mutex::default(),
        };
        let found = walk.run(tasks, threads::count())?;
        let times = self.times(cache, &found, &walk);
        let (overlay, touched) = self.put_together(cache, found, &walk, &used)?;
        let is_late = walk.is_late.into_inner();
        let seen = walk.watched;
        let forced = forced.of_snapshot(cache, &overlay, &matcher);
        let watched = watched(&overlay, seen, unread.lines());
        Ok(Scanned {
            overlay,
            touched,
            forced,
            watched,
            undecided: undecided(&matcher),
            times,
            is_late,
        })
    }

    /// Returns the times of the last change of what was read.
    fn times(&self, cache: Option<&Cache>, found: &[ThreadFindings], walk: &Walk<'_>) -> Times {
        let noted = threads::lock(&walk.times);
        let before = cache.map(|cache| move |path: &[u8]| cache.stamp(path));
        let before = before.as_ref().map(|before| before as _);
        Times::of(found, &noted, before, self.now, self.is_remote)
    }

    /// Returns the paths that are captured whatever their size.
    fn of_any_size(&self) -> BTreeSet<&[u8]> {
        let paths = self.request.whatever_size.iter();
        paths.map(|path| path.as_bytes()).collect()
    }

    fn root_again(&self) -> Result<OwnedFd> {
        self.root
            .try_clone()
            .context(|| "cannot open the workspace twice")
    }

    /// Puts together what the cache and the walk know. Returns that, and the directories whose trees may have changed.
    fn put_together<'c>(
        &self,
        cache: Option<&'c Cache>,
        found: Vec<ThreadFindings>,
        walk: &Walk<'_>,
        used: &Mutex<HashMap<Vec<u8>, Option<ObjectId>>>,
    ) -> Result<(Overlay<'c>, Vec<Vec<u8>>)> {
        let fresh: Vec<_> = found
            .iter()
            .flat_map(|found| found.fresh.iter().cloned())
            .collect();
        // With another snapshot key, every directory was listed again, so whatever else the cache knows is outdated.
        let known = cache.filter(|cache| cache.header.snapshot_key == self.snapshot_key());
        let mut overlay = Overlay::over(known);
        let touched = merge(&mut overlay, found, walk)?;
        check_root(&overlay, self.request.root)?;
        note_rules(&mut overlay, &fresh, used);
        Ok((overlay, touched))
    }
}

/// Returns the id from the user's repository for a file that matches its index, so that it need not be read. A damaged
/// repository costs speed, never the snapshot: a panic in there counts as "unknown".
fn seeded(seeds: Option<&Seeds<'_>>, path: &[u8], stamp: &Stamp) -> Option<ObjectId> {
    let seeds = seeds?;
    contained(|| seeds.id(path, stamp)).flatten()
}

/// Notes which of the files that decide about others a listed directory has. Without this, the matcher would try to
/// open an ignore file, and the seeds an attributes file, in every directory: a system call each, mostly for a file
/// that does not exist.
fn note_listed(
    matcher: &rules::Matcher<'_>,
    seeds: Option<&Seeds<'_>>,
    directory: &[u8],
    has: &dyn Fn(&[u8]) -> bool,
) {
    if !has(IGNORE_FILE) {
        matcher.note_without_rules(directory);
    }
    if let Some(seeds) = seeds {
        seeds.note_listed(directory, has);
    }
}

/// Returns the patterns that were too complicated to decide about, as text.
fn undecided(matcher: &rules::Matcher<'_>) -> Vec<String> {
    let patterns = matcher.undecided();
    let text = |pattern: &Vec<u8>| String::from_utf8_lossy(pattern).into_owned();
    patterns.iter().map(text).collect()
}

/// The paths that are captured even if they are ignored: those that an edit tool named, and those that the user's
/// repository tracks, because git itself does not ignore what it tracks.
///
/// Knowing what is tracked requires reading the index, which takes longer than the rest of a snapshot. So if neither
/// the index nor the ignore rules changed, a path is forced if it was for the last snapshot, and a directory is entered
/// if a path below it was.
struct Forced<'a> {
    /// The files that edit tools named.
    named: BTreeSet<Vec<u8>>,
    /// The paths that the last snapshot forced, if they are still valid.
    old: Option<BTreeSet<Vec<u8>>>,
    /// Whether edit tools had named the same files for the last snapshot.
    is_same: bool,
    index: &'a UserIndex<'a>,
    /// The files that the walk met and forced.
    met: Mutex<BTreeSet<Vec<u8>>>,
}

impl<'a> Forced<'a> {
    fn new(named: BTreeSet<Vec<u8>>, known: Option<&Cache>, index: &'a UserIndex<'a>) -> Self {
        Self {
            old: known.map(|cache| cache.header.forced.iter().cloned().collect()),
            is_same: known.is_some_and(|cache| cache.header.named.iter().eq(&named)),
            named,
            index,
            met: Mutex::default(),
        }
    }

    /// Returns whether a path, or one below a directory, is forced. A forced file is noted.
    fn note(&self, path: &[u8], kind: PathKind) -> bool {
        let is_forced = self.is_named(path, kind) || self.is_tracked(path, kind);
        if is_forced && kind == PathKind::File {
            let mut met = threads::lock(&self.met);
            met.insert(path.to_vec());
        }
        is_forced
    }

    fn is_named(&self, path: &[u8], kind: PathKind) -> bool {
        match kind {
            PathKind::Directory => rules::has_below(&self.named, path),
            PathKind::File => self.named.contains(path),
        }
    }

    fn is_tracked(&self, path: &[u8], kind: PathKind) -> bool {
        match &self.old {
            // A directory is entered for any path below it, and the index would have to be read to learn that. So
            // here the last snapshot decides, and at the file itself, the index does.
            Some(old) if kind == PathKind::Directory => rules::has_below(old, path),
            // It may have been named only for the last snapshot.
            Some(old) => old.contains(path) && self.index.tracked().holds(path, PathKind::File),
            None => self.index.tracked().holds(path, kind),
        }
    }

    /// Returns the forced paths that a later snapshot and a patch have to know: those that would be ignored otherwise.
    fn of_snapshot(
        self,
        cache: Option<&Cache>,
        overlay: &Overlay<'_>,
        matcher: &rules::Matcher<'_>,
    ) -> BTreeSet<Vec<u8>> {
        // Which paths are forced belongs to the snapshot, although most of them are in its tree: a later patch has
        // to know whether a path that is missing then was in view now, or only tracked.
        let is_complete = self.old.is_some();
        // Nothing changed that decides about them, so the index need not be read.
        if let (Some(old), true) = (self.old, self.is_same) {
            return old;
        }
        let mut candidates = threads::unlocked(self.met);
        // The walk does not meet what is below unchanged directories.
        let remembered = cache.iter().flat_map(|cache| cache.header.forced.iter());
        candidates.extend(remembered.cloned());
        candidates.extend(self.named.iter().cloned());
        // With the same index and rules, the last snapshot knew them all.
        if !is_complete {
            candidates.extend(missing(overlay, self.index.tracked()));
        }
        candidates.retain(|path| matcher.is_ignored(path));
        // Few paths are ignored, so the index, which is as large as the work tree, is rarely read.
        let index = self.index;
        candidates.retain(|path| {
            self.named.contains(path) || index.tracked().holds(path, PathKind::File)
        });
        candidates
    }
}

/// Returns the ignore files that ignore themselves or cannot be read: from `seen` and `unread` for the directories that
/// were looked at, and from the cache for the others.
fn watched(
    overlay: &Overlay<'_>,
    seen: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    unread: BTreeMap<Vec<u8>, Vec<u8>>,
) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let seen = threads::unlocked(seen);
    let remembered = overlay
        .below()
        .into_iter()
        .flat_map(|cache| cache.header.watched.iter().cloned());
    remembered
        .chain(unread)
        .chain(seen)
        .filter(|(directory, _)| overlay.is_watched(directory))
        .collect()
}

/// Notes which ignore file decided about each directory's contents. If that is not the one that was captured, the next
/// snapshot looks again.
fn note_rules(
    overlay: &mut Overlay<'_>,
    touched: &[Vec<u8>],
    used: &Mutex<HashMap<Vec<u8>, Option<ObjectId>>>,
) {
    let used = threads::lock(used);
    for path in touched {
        let Some(listing) = overlay.fresh_mut(path) else {
            continue;
        };
        let item = listing
            .items
            .iter_mut()
            .find(|item| item.name == IGNORE_FILE);
        let captured = item.as_ref().and_then(|item| match item.kind {
            ItemKind::Content(id) | ItemKind::Watched(id) => {
                (item.stamp.file_type() == file_type::REGULAR && item.stamp.size <= git::SMALL)
                    .then_some(id)
            }
            ItemKind::Directory | ItemKind::Gap(_) => None,
        });
        listing.rules = used.get(path).copied().unwrap_or(captured);
        if let Some(item) = item
            && listing.rules != captured
        {
            item.is_settled = false;
        }
    }
}

/// Returns the tracked paths without content in any listing. A later patch must distinguish a deleted file from one
/// that merely went out of view, so ignored paths have to be known even if they do not exist.
fn missing(overlay: &Overlay<'_>, tracked: &Tracked) -> Vec<Vec<u8>> {
    let mut missing = Vec::new();
    for (directory, names) in tracked.by_directory() {
        let contents = overlay.contents(directory);
        let names = not_among(names, contents.into_iter());
        missing.extend(names.map(|name| join(directory, name)));
    }
    missing
}

fn check_root(overlay: &Overlay<'_>, root: &Path) -> Result<()> {
    let is_known = overlay.fresh(b"").map_or(overlay.contains(b""), |listing| {
        listing.state == ListingState::Listed
    });
    // A root that cannot be read is not an empty workspace: a patch would say that everything was deleted.
    if is_known {
        Ok(())
    } else {
        Err(Error::failed(format!(
            "cannot read the directory `{}`",
            root.display()
        )))
    }
}

/// Puts together what the threads found, and reads the large files. Returns the directories whose trees may have
/// changed: those that were looked at, and all directories above them.
fn merge(
    overlay: &mut Overlay<'_>,
    found: Vec<ThreadFindings>,
    walk: &Walk<'_>,
) -> Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    let mut large = Vec::new();
    let mut touched = HashSet::new();
    // Listings first: one thread reads the files of a directory that another one listed.
    for found in found {
        for (path, listing) in found.listings {
            touch(&mut touched, &path);
            overlay.put(path, listing);
        }
        files.extend(found.files);
        large.extend(found.large);
    }
    // Only now that the threads are done: a large file is streamed into the pack, which nothing else can be
    // added to meanwhile.
    for (path, name) in large {
        let item = walk.large(&path, &name)?;
        files.push((path, name, item));
    }
    let mut vanished: HashMap<Vec<u8>, HashSet<Vec<u8>>> = HashMap::new();
    for (path, name, item) in files {
        match item {
            Some(item) => fill(overlay, &path, item),
            None => drop(vanished.entry(path).or_default().insert(name)),
        }
    }
    // A file that vanished between its directory and its turn is not captured; the directory's stamp shows it
    // next time.
    for (path, names) in vanished {
        if let Some(listing) = overlay.fresh_mut(&path) {
            listing.items.retain(|item| !names.contains(&item.name));
        }
    }
    overlay.prune();
    Ok(touched.into_iter().collect())
}

fn touch(touched: &mut HashSet<Vec<u8>>, path: &[u8]) {
    if touched.insert(path.to_vec()) {
        note_above(path, |directory| touched.insert(directory.to_vec()));
    }
}

fn fill(overlay: &mut Overlay<'_>, path: &[u8], item: ListedItem) {
    let Some(listing) = overlay.fresh_mut(path) else {
        return;
    };
    if let Ok(index) = listing
        .items
        .binary_search_by(|old| old.name.cmp(&item.name))
    {
        listing.items[index] = item;
    }
}
