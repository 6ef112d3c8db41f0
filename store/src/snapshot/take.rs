//! Taking a snapshot: what is in view, the scan, the objects, and what is remembered for the next one. This module does IO.
//!
//! Where the check finds nothing changed, nothing is written and the last snapshot is the answer. Else the directories that
//! differ are looked at again, and trees are made along the paths to them. Objects are synced before the cache names them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::OFlags;

use super::cache::{Cache, Header};
use super::git::tracked::{self, Tracked};
use super::git::{self, Location, excludes, state};
use super::hash::{self, ObjectKind};
use super::objects::Objects;
use super::rules::{self, Rules};
use super::scan::assemble::{self, Listings};
use super::scan::check::{self, Check, Differences};
use super::scan::disk::{self, Stamp};
use super::scan::listing::{Item, Kind, State, parent};
use super::scan::sink::Sink;
use super::scan::threads;
use super::scan::walk::{self, Found, Names, Task, Walk};
use super::{GitState, Request, Snapshot, Taken};
use crate::entry::ObjectId;
use crate::error::{Context, Error, Result};

/// Takes a snapshot, with the stat cache in `folder`.
pub(crate) fn take(folder: &Path, objects: &Objects, request: &Request<'_>) -> Result<Taken> {
    let scene = Scene::open(objects, request)?;
    let boot = boot();
    let cache = Cache::read(folder, &boot);
    let is_trusted = cache.as_ref().is_some_and(|cache| scene.holds_all(cache, &boot));
    let cache = cache.filter(|cache| is_trusted || scene.verify(cache));
    let index = scene.index(cache.as_ref());
    let tasks = scene.tasks(cache.as_ref(), &index);
    if let Some(cache) = cache.as_ref().filter(|_| is_trusted && tasks.is_empty() && !index.is_new) {
        let header = cache.header.clone();
        return Ok(scene.taken(header.snapshot, header.gaps, index.blob));
    }
    scene.renew(folder, boot, cache.as_ref(), index, tasks)
}

/// What identifies this run of the machine.
fn boot() -> Vec<u8> {
    git::read_small(Path::new("/proc/sys/kernel/random/boot_id"), git::SMALL, OFlags::empty())
        .filter(|boot| !boot.is_empty())
        .or_else(|| std::fs::read("/proc/sys/kernel/random/boot_id").ok())
        .unwrap_or_default()
}

/// One snapshot in the making.
struct Scene<'a> {
    request: &'a Request<'a>,
    objects: &'a Objects,
    root: OwnedFd,
    store: Option<(u64, u64)>,
    location: Option<Location>,
    rules: Rules,
    now: i64,
    is_remote: bool,
}

/// What a scan gives.
struct Scanned {
    listings: Listings,
    /// The directories whose trees may have changed.
    touched: Vec<Vec<u8>>,
    /// The files that are captured although ignored.
    forced: BTreeSet<Vec<u8>>,
}

/// The user's index.
struct Index {
    tracked: OnceLock<Tracked>,
    stamp: Option<(Stamp, bool)>,
    blob: Option<ObjectId>,
    /// Whether it is another one than the cache knows.
    is_new: bool,
}

impl<'a> Scene<'a> {
    fn open(objects: &'a Objects, request: &'a Request<'a>) -> Result<Self> {
        let now = disk::now();
        let root = disk::open_root(request.root)
            .map_err(std::io::Error::from)
            .context(|| format!("cannot open the directory `{}`", request.root.display()))?;
        let location = Location::of(request.root);
        Ok(Self {
            request,
            objects,
            is_remote: disk::is_remote(root.as_fd()),
            store: request.store.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino())),
            rules: outer_rules(request, location.as_ref()),
            location,
            now,
            root,
        })
    }

    /// The hash of all that decides, besides the workspace itself, what is captured of it.
    fn wishes(&self) -> ObjectId {
        let sizes = self.request.whatever_size.iter().map(|path| [path.as_bytes(), b"\0"].concat());
        let sizes: Vec<u8> = sizes.flatten().chain(self.request.max_file_size.to_le_bytes()).collect();
        hash::hash(ObjectKind::Blob, &[self.rules.encode().unwrap_or_default(), sizes].concat())
    }

    fn named(&self) -> BTreeSet<Vec<u8>> {
        self.request.named.iter().map(|path| path.as_bytes().to_vec()).collect()
    }

    fn is_named(&self, path: &[u8]) -> bool {
        self.request.named.iter().any(|named| named.as_bytes() == path)
    }

    fn packs(&self) -> Stamp {
        let folder = self.objects.repository().join("objects/pack");
        rustix::fs::lstat(folder).map(|stat| Stamp::of(&stat)).unwrap_or_default()
    }

    /// Whether nobody but us can have touched the objects that a cache names.
    fn holds_all(&self, cache: &Cache, boot: &[u8]) -> bool {
        cache.header.boot == boot && cache.header.packs == self.packs() && cache.header.packs != Stamp::default()
    }

    /// Looks whether the store has every object that a cache names: the power may have failed, or `gc` have run.
    fn verify(&self, cache: &Cache) -> bool {
        let Ok(reader) = self.objects.reader() else { return false };
        if reader.refresh().is_err() {
            return false;
        }
        let header = &cache.header;
        let index = header.index.map(|(_, _, blob)| blob);
        let own = [Some(header.snapshot.tree), header.snapshot.attributes, header.snapshot.rules, index];
        own.into_iter().flatten().all(|id| reader.contains(id))
            && (0..cache.len()).all(|number| {
                cache.directory(number).is_some_and(|directory| {
                    directory.tree().is_none_or(|tree| reader.contains(tree))
                        && directory.items().filter_map(|item| item.content()).all(|blob| reader.contains(blob))
                })
            })
    }

    fn index(&self, cache: Option<&Cache>) -> Index {
        let old = cache.and_then(|cache| cache.header.index);
        let stamp = self.location.as_ref().and_then(tracked::stamp);
        if let (Some((old, true, blob)), Some(stamp)) = (old, stamp)
            && old == stamp
        {
            return Index { tracked: OnceLock::new(), stamp: Some((stamp, true)), blob: Some(blob), is_new: false };
        }
        let tracked = self.location.as_ref().map(Tracked::read).unwrap_or_default();
        let blob = tracked.bytes.as_ref().map(|bytes| hash::hash(ObjectKind::Blob, bytes));
        let stamp = stamp.filter(|_| blob.is_some()).map(|stamp| (stamp, stamp.is_settled(self.now, 0)));
        let is_new = cache.is_none()
            || old.map(|(_, _, blob)| blob) != blob
            || old.map(|(stamp, _, _)| stamp) != stamp.map(|(stamp, _)| stamp);
        Index { tracked: tracked.into(), stamp, blob, is_new }
    }

    fn tracked<'i>(&self, index: &'i Index) -> &'i Tracked {
        index.tracked.get_or_init(|| self.location.as_ref().map(Tracked::read).unwrap_or_default())
    }

    /// Returns the directories to look at: all, or those that the check found, and those where what is forced into view
    /// changed.
    fn tasks(&self, cache: Option<&Cache>, index: &Index) -> Vec<Task> {
        let Some(cache) = cache.filter(|cache| cache.header.wishes == self.wishes()) else {
            let view = if self.rules.scope.is_some() { rules::View::Passage } else { rules::View::Open };
            return vec![Task::Directory { path: Vec::new(), view, names: Names::AgainBelow }];
        };
        let differences = check::check(cache, &self.against());
        let again = self.again(cache, index);
        tasks_of(cache, &differences, &again)
    }

    fn against(&self) -> Check<'_> {
        Check {
            root: self.root.as_fd(),
            store: self.store,
            is_remote: self.is_remote,
            now: self.now,
            objects: self.objects,
            deadline: self.request.deadline,
        }
    }

    /// Returns the directories on the way to files that came or went as tracked or named ones.
    fn again(&self, cache: &Cache, index: &Index) -> HashSet<Vec<u8>> {
        let named = self.named();
        let old: BTreeSet<_> = cache.header.named.iter().cloned().collect();
        let mut paths: Vec<Vec<u8>> = named.symmetric_difference(&old).cloned().collect();
        if index.is_new {
            let tracked = self.tracked(index);
            let is_gone = |path: &&Vec<u8>| !tracked.holds(path, false);
            paths.extend(cache.header.forced.iter().filter(is_gone).cloned());
            paths.extend(uncaptured(cache, tracked).into_iter().map(<[u8]>::to_vec));
        }
        let mut again = HashSet::new();
        for path in &paths {
            let mut next = parent(path);
            while let Some(directory) = next
                && again.insert(directory.to_vec())
            {
                next = parent(directory);
            }
        }
        again
    }

    fn renew(
        &self,
        folder: &Path,
        boot: Vec<u8>,
        cache: Option<&Cache>,
        index: Index,
        tasks: Vec<Task>,
    ) -> Result<Taken> {
        let sink = Sink::new(self.objects)?;
        let wishes = self.wishes();
        let is_stale = tasks.iter().any(|task| matches!(task, Task::Directory { names: Names::AgainBelow, .. }));
        let known = cache.filter(|_| !is_stale && !index.is_new);
        let Scanned { mut listings, touched, forced } = self.scan(cache, known, &index, tasks, &sink)?;
        let tree = assemble::trees(&mut listings, &touched, &sink)?;
        let attributes = store(&sink, assemble::attributes(&listings).encode())?;
        let rules = Rules { forced: forced.clone(), ..self.rules.clone() };
        let rules = store(&sink, rules.encode())?;
        if index.is_new {
            store(&sink, index.tracked.get().and_then(|tracked| tracked.bytes.clone()))?;
        }
        let gaps = assemble::gaps(&listings);
        sink.finish()?;
        let snapshot = Snapshot { tree, attributes, rules };
        let header = Header {
            boot,
            packs: self.packs(),
            wishes,
            index: index.stamp.zip(index.blob).map(|((stamp, is_settled), blob)| (stamp, is_settled, blob)),
            named: self.named().into_iter().collect(),
            forced: forced.into_iter().collect(),
            snapshot,
            gaps: gaps.clone(),
        };
        if cache.is_none_or(|cache| cache.header != header || !is_same(cache, &listings, &touched)) {
            // A cache that cannot be written makes the next snapshot slower; this one is safe.
            let _ = Cache::write(folder, &header, listings.iter());
        }
        Ok(self.taken(snapshot, gaps, index.blob))
    }

    fn taken(&self, snapshot: Snapshot, gaps: Vec<super::Gap>, index: Option<ObjectId>) -> Taken {
        let git = self.location.as_ref().map(|location| {
            let (head, branch) = state::head(location);
            GitState { head, branch, index, doing: state::doing(location) }
        });
        Taken { snapshot, gaps, git }
    }

    /// Looks at the directories and stores what is new of them.
    fn scan(
        &self,
        cache: Option<&Cache>,
        known: Option<&Cache>,
        index: &Index,
        tasks: Vec<Task>,
        sink: &Sink<'_>,
    ) -> Result<Scanned> {
        let used = Mutex::new(HashMap::new());
        let matcher = self.rules.matcher(|directory| read_rules(&self.root, directory, &used));
        let named = self.named();
        let any_size: BTreeSet<_> = self.request.whatever_size.iter().map(|path| path.as_bytes()).collect();
        let old_forced: Option<BTreeSet<Vec<u8>>> = known.map(|cache| cache.header.forced.iter().cloned().collect());
        let hits = Mutex::new(BTreeSet::new());
        let looks_forced = |path: &[u8], is_directory: bool| {
            let is_named = if is_directory { rules::has_below(&named, path) } else { named.contains(path) };
            is_named
                || match &old_forced {
                    Some(forced) if is_directory => rules::has_below(forced, path),
                    Some(forced) => forced.contains(path) && self.tracked(index).holds(path, false),
                    None => self.tracked(index).holds(path, is_directory),
                }
        };
        let is_forced = |path: &[u8], is_directory: bool| {
            let is_forced = looks_forced(path, is_directory);
            if is_forced && !is_directory {
                hits.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_vec());
            }
            is_forced
        };
        let walk = Walk {
            root: self.root.try_clone().context(|| "cannot open the workspace twice")?,
            store: self.store,
            matcher: &matcher,
            is_forced: &is_forced,
            is_any_size: &|path| any_size.contains(path) || self.tracked(index).holds(path, false),
            max_file_size: self.request.max_file_size,
            remembered: &|path| cache.and_then(|cache| cache.listing(path)),
            remembered_view: &|path| cache.and_then(|cache| Some(cache.directory(cache.find(path)?)?.view())),
            seeded: &|_, _| None,
            sink,
            now: self.now,
            is_remote: self.is_remote,
            deadline: self.request.deadline,
            progress: self.request.progress,
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        let found = walk.run(tasks, threads::count())?;
        let mut listings = Listings::new();
        let is_whole =
            found.iter().any(|found| found.listings.iter().any(|(path, _)| path.is_empty() && known_root(cache, self)));
        if let Some(cache) = cache.filter(|_| !is_whole) {
            listings = all(cache);
        }
        let fresh: Vec<_> = found.iter().flat_map(|found| found.fresh.iter().cloned()).collect();
        let touched = merge(&mut listings, found, &walk)?;
        check_root(&listings, self.request.root)?;
        note_rules(&mut listings, &fresh, &used);
        let forced = match old_forced.filter(|_| known.is_some_and(|cache| cache.header.named.iter().eq(&named))) {
            Some(forced) => forced,
            None => {
                let mut candidates = hits.into_inner().unwrap_or_else(PoisonError::into_inner);
                candidates.extend(named);
                candidates.extend(cache.iter().flat_map(|cache| cache.header.forced.iter().cloned()));
                let tracked = self.tracked(index);
                candidates.retain(|path| tracked.holds(path, false) || self.is_named(path));
                candidates.extend(missing(&listings, tracked));
                candidates.retain(|path| matcher.is_ignored(path));
                candidates
            }
        };
        Ok(Scanned { listings, touched, forced })
    }
}

/// Whether all directories were looked at afresh, so that what the cache knew of others is of no interest.
fn known_root(cache: Option<&Cache>, scene: &Scene<'_>) -> bool {
    cache.is_none_or(|cache| cache.header.wishes != scene.wishes())
}

fn all(cache: &Cache) -> Listings {
    let directories = (0..cache.len()).filter_map(|number| cache.directory(number));
    directories.filter_map(|directory| Some((directory.path.to_vec(), directory.listing()?))).collect()
}

/// Whether the directories that were looked at are as the cache has them; all others are taken from it.
fn is_same(cache: &Cache, listings: &Listings, touched: &[Vec<u8>]) -> bool {
    cache.len() == listings.len() && touched.iter().all(|path| cache.listing(path).as_ref() == listings.get(path))
}

fn tasks_of(cache: &Cache, differences: &Differences, again: &HashSet<Vec<u8>>) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut stale: Vec<&[u8]> = Vec::new();
    for directory in differences.rules.iter().filter_map(|number| cache.directory(*number)) {
        // Paths come in order: what is below a stale directory comes after it.
        if !stale.iter().any(|outer| rules::is_below(directory.path, outer)) {
            stale.push(directory.path);
            let (path, view) = (directory.path.to_vec(), directory.view());
            tasks.push(Task::Directory { path, view, names: Names::AgainBelow });
        }
    }
    let is_stale = |path: &[u8]| stale.iter().any(|outer| path == *outer || rules::is_below(path, outer));
    let changed = differences.directories.iter().copied();
    let again_numbers = again.iter().filter_map(|path| cache.find(path));
    let numbers: BTreeSet<usize> = changed.chain(again_numbers).collect();
    for directory in numbers.into_iter().filter_map(|number| cache.directory(number)) {
        if !is_stale(directory.path) {
            let names = if again.contains(directory.path) { Names::Again } else { Names::Known };
            tasks.push(Task::Directory { path: directory.path.to_vec(), view: directory.view(), names });
        }
    }
    tasks
}

/// Returns the tracked paths that a cache has no content of: they are ignored, gaps, or not there.
fn uncaptured<'t>(cache: &Cache, tracked: &'t Tracked) -> Vec<&'t [u8]> {
    let mut directories: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    for path in tracked.paths() {
        directories.entry(parent(path).unwrap_or_default()).or_default().push(path);
    }
    let mut missing = Vec::new();
    for (directory, paths) in directories {
        let cached = cache.find(directory).and_then(|number| cache.directory(number));
        let names: HashSet<&[u8]> = cached
            .iter()
            .flat_map(|directory| directory.items())
            .filter_map(|item| item.content().map(|_| item.name))
            .collect();
        let skipped = if directory.is_empty() { 0 } else { directory.len() + 1 };
        missing.extend(paths.into_iter().filter(|path| !names.contains(&path[skipped..])));
    }
    missing
}

/// Notes by which ignore file each directory's contents were decided. Where that is another one than was captured, the next
/// snapshot looks again.
fn note_rules(listings: &mut Listings, touched: &[Vec<u8>], used: &Mutex<HashMap<Vec<u8>, Option<ObjectId>>>) {
    let used = used.lock().unwrap_or_else(PoisonError::into_inner);
    for path in touched {
        let Some(listing) = listings.get_mut(path) else { continue };
        let item = listing.items.iter_mut().find(|item| item.name == b".gitignore");
        let captured = item.as_ref().and_then(|item| match item.kind {
            Kind::Content(id) | Kind::Watched(id) => {
                (item.stamp.file_type() == 0o100_000 && item.stamp.size <= git::SMALL).then_some(id)
            }
            Kind::Directory | Kind::Gap(_) => None,
        });
        listing.rules = used.get(path).copied().unwrap_or(captured);
        if let Some(item) = item
            && listing.rules != captured
        {
            item.is_settled = false;
        }
    }
}

fn store(sink: &Sink<'_>, bytes: Option<Vec<u8>>) -> Result<Option<ObjectId>> {
    match bytes {
        Some(bytes) => sink.add(ObjectKind::Blob, &bytes),
        None => Ok(None),
    }
}

fn check_root(listings: &Listings, root: &Path) -> Result<()> {
    match listings.get(&b""[..]).map(|listing| &listing.state) {
        Some(State::Listed) => Ok(()),
        _ => Err(Error::failed(format!("cannot read the directory `{}`", root.display()))),
    }
}

/// Returns the tracked paths that no listing has the content of: they may be ignored without being there, and a later patch
/// must tell a deleted file from one that merely went out of view.
fn missing(listings: &Listings, tracked: &Tracked) -> Vec<Vec<u8>> {
    let is_missing = |path: &&Vec<u8>| {
        let name = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let item = listings.get(parent(path).unwrap_or_default()).and_then(|listing| listing.item(&path[name..]));
        !item.is_some_and(|item| matches!(item.kind, Kind::Content(_)))
    };
    tracked.paths().filter(is_missing).cloned().collect()
}

pub(super) fn outer_rules(request: &Request<'_>, location: Option<&Location>) -> Rules {
    let lines = |patterns: &[String]| rules::significant_lines(patterns.join("\n").as_bytes());
    Rules {
        global: rules::significant_lines(&excludes::of_user(request.home, request.config_home)),
        info: rules::significant_lines(&location.map(excludes::of_repository).unwrap_or_default()),
        above: request.scope.map(|scope| rules_above(request.root, scope.as_bytes())).unwrap_or_default(),
        scope: request.scope.map(|scope| scope.as_bytes().to_vec()),
        include: lines(request.include),
        exclude: lines(request.exclude),
        built_in: location.is_none(),
        forced: BTreeSet::new(),
    }
}

/// The ignore files of the directories above the scope are not files of the tree.
fn rules_above(root: &Path, scope: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Ok(root) = disk::open_root(root) else { return Vec::new() };
    let ends = std::iter::once(0).chain((0..scope.len()).filter(|end| scope[*end] == b'/'));
    let read = |end| {
        let directory = disk::open_directory(root.as_fd(), &scope[..end]).ok()?;
        let lines = rules::significant_lines(&walk::rules_of(directory.as_fd())?.0);
        (!lines.is_empty()).then(|| (scope[..end].to_vec(), lines))
    };
    ends.filter_map(read).collect()
}

/// Reads the ignore file of a directory, and notes which it was.
pub(super) fn read_rules(
    root: &impl AsFd,
    directory: &[u8],
    used: &Mutex<HashMap<Vec<u8>, Option<ObjectId>>>,
) -> Option<Vec<u8>> {
    let opened = disk::open_directory(root.as_fd(), directory).ok()?;
    let rules = walk::rules_of(opened.as_fd());
    let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
    used.insert(directory.to_vec(), rules.as_ref().map(|(_, id)| *id));
    rules.map(|(bytes, _)| bytes)
}

/// Puts together what the threads found, and reads the large files. Returns the directories whose trees may have changed:
/// those that were looked at, and all that hold them.
fn merge(listings: &mut Listings, found: Vec<Found>, walk: &Walk<'_>) -> Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    let mut large = Vec::new();
    let mut touched = HashSet::new();
    for found in found {
        for (path, listing) in found.listings {
            touch(&mut touched, &path);
            replace(listings, path, listing);
        }
        files.extend(found.files);
        large.extend(found.large);
    }
    for (path, name) in large {
        let item = walk.large(&path, &name)?;
        files.push((path, name, item));
    }
    let mut vanished: HashMap<Vec<u8>, HashSet<Vec<u8>>> = HashMap::new();
    for (path, name, item) in files {
        match item {
            Some(item) => fill(listings, &path, item),
            None => drop(vanished.entry(path).or_default().insert(name)),
        }
    }
    for (path, names) in vanished {
        if let Some(listing) = listings.get_mut(&path) {
            listing.items.retain(|item| !names.contains(&item.name));
        }
    }
    prune(listings);
    Ok(touched.into_iter().collect())
}

fn touch(touched: &mut HashSet<Vec<u8>>, path: &[u8]) {
    let mut next = Some(path);
    while let Some(directory) = next
        && touched.insert(directory.to_vec())
    {
        next = parent(directory);
    }
}

fn replace(listings: &mut Listings, path: Vec<u8>, listing: Option<super::scan::listing::Listing>) {
    match listing {
        // What was looked at twice (a directory that was found by its parent, too) counts as it was found last.
        Some(mut listing) => {
            listing.tree = listings.get(&path).and_then(|old| old.tree);
            listings.insert(path, listing);
        }
        None => drop(listings.remove(&path)),
    }
}

/// Drops the listings of directories that no directory holds any more, and the trust in those whose directories are gone.
fn prune(listings: &mut Listings) {
    let mut kept: HashSet<Vec<u8>> = HashSet::from([Vec::new()]);
    let mut torn = Vec::new();
    for (path, listing) in listings.iter() {
        // A directory's path comes before those of what it holds.
        if !kept.contains(path) {
            continue;
        }
        for item in listing.items.iter().filter(|item| item.kind == Kind::Directory) {
            let inner = super::scan::listing::join(path, &item.name);
            if !listings.contains_key(&inner) {
                torn.push(path.clone());
            }
            kept.insert(inner);
        }
    }
    listings.retain(|path, _| kept.contains(path));
    for path in torn {
        if let Some(listing) = listings.get_mut(&path) {
            listing.is_settled = false;
        }
    }
}

fn fill(listings: &mut Listings, path: &[u8], item: Item) {
    let Some(listing) = listings.get_mut(path) else { return };
    if let Ok(index) = listing.items.binary_search_by(|old| old.name.cmp(&item.name)) {
        listing.items[index] = item;
    }
}
