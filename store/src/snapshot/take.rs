//! Taking a snapshot: what is in view, the scan, the objects, and what is remembered for the next one. This module does IO.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use super::git::tracked::Tracked;
use super::git::{Location, excludes, state};
use super::hash::ObjectKind;
use super::objects::Objects;
use super::rules::{self, Matcher, Rules};
use super::scan::assemble::{self, Listings};
use super::scan::listing::{Item, State};
use super::scan::sink::Sink;
use super::scan::walk::{self, Found, Task, Walk};
use super::scan::{disk, threads};
use super::{GitState, Request, Snapshot, Taken};
use crate::entry::ObjectId;
use crate::error::{Context, Error, Result};

/// Takes a snapshot.
pub(crate) fn take(objects: &Objects, request: &Request<'_>) -> Result<Taken> {
    let location = Location::of(request.root);
    let tracked = location.as_ref().map(Tracked::read).unwrap_or_default();
    let sink = Sink::new(objects)?;
    let (mut listings, rules) = scan(request, location.as_ref(), &tracked, &sink)?;
    let touched = listings.keys().cloned().collect();
    let tree = assemble::trees(&mut listings, touched, &sink)?;
    let attributes = store(&sink, assemble::attributes(&listings).encode())?;
    let rules = store(&sink, rules.encode())?;
    let index = store(&sink, tracked.bytes)?;
    let git = location.map(|location| git_state(&location, index));
    let gaps = assemble::gaps(&listings);
    sink.finish()?;
    Ok(Taken { snapshot: Snapshot { tree, attributes, rules }, gaps, git })
}

fn store(sink: &Sink<'_>, bytes: Option<Vec<u8>>) -> Result<Option<ObjectId>> {
    match bytes {
        Some(bytes) => sink.add(ObjectKind::Blob, &bytes),
        None => Ok(None),
    }
}

fn git_state(location: &Location, index: Option<ObjectId>) -> GitState {
    let (head, branch) = state::head(location);
    GitState { head, branch, index }
}

/// Looks at the workspace and stores what is new of it. Returns the listings, and the rules that decided.
fn scan(
    request: &Request<'_>,
    location: Option<&Location>,
    tracked: &Tracked,
    sink: &Sink<'_>,
) -> Result<(Listings, Rules)> {
    let now = disk::now();
    let root = disk::open_root(request.root)
        .map_err(std::io::Error::from)
        .context(|| format!("cannot open the directory `{}`", request.root.display()))?;
    let mut rules = outer_rules(request, location);
    let used = Mutex::new(HashMap::new());
    let matcher = rules.matcher(|directory| read_rules(&root, directory, &used));
    let named: BTreeSet<_> = request.named.iter().map(|path| path.as_bytes().to_vec()).collect();
    let any_size: BTreeSet<_> = request.whatever_size.iter().map(|path| path.as_bytes()).collect();
    let is_forced = |path: &[u8], is_directory: bool| {
        tracked.holds(path, is_directory)
            || if is_directory { rules::has_below(&named, path) } else { named.contains(path) }
    };
    let walk = Walk {
        root: root.try_clone().context(|| "cannot open the workspace twice")?,
        store: request.store.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino())),
        matcher: &matcher,
        is_forced: &is_forced,
        is_any_size: &|path| any_size.contains(path) || tracked.holds(path, false),
        max_file_size: request.max_file_size,
        remembered: &|_| None,
        seeded: &|_, _| None,
        sink,
        now,
        is_remote: disk::is_remote(root.as_fd()),
        deadline: request.deadline,
        progress: request.progress,
        files: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    };
    let start = Task::Directory { path: Vec::new(), view: matcher.root_view(), is_stale: false };
    let found = walk.run(vec![start], threads::count())?;
    let mut listings = Listings::new();
    merge(&mut listings, found, &walk)?;
    check_root(&listings, request.root)?;
    let forced = forced(&matcher, tracked, &named);
    drop(matcher);
    rules.forced = forced;
    Ok((listings, rules))
}

fn check_root(listings: &Listings, root: &Path) -> Result<()> {
    match listings.get(&b""[..]).map(|listing| &listing.state) {
        Some(State::Listed) => Ok(()),
        _ => Err(Error::failed(format!("cannot read the directory `{}`", root.display()))),
    }
}

/// The files that rules leave out and that are captured all the same, whether they are there or not: a later patch must
/// tell a deleted one from one that merely went out of view.
fn forced(matcher: &Matcher<'_>, tracked: &Tracked, named: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    tracked.paths().chain(named).filter(|path| matcher.is_ignored(path)).cloned().collect()
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

/// Puts together what the threads found, and reads the large files.
fn merge(listings: &mut Listings, found: Vec<Found>, walk: &Walk<'_>) -> Result<()> {
    let mut files = Vec::new();
    let mut large = Vec::new();
    for found in found {
        for (path, listing) in found.listings {
            match listing {
                Some(listing) => drop(listings.insert(path, listing)),
                None => drop(listings.remove(&path)),
            }
        }
        files.extend(found.files);
        large.extend(found.large);
    }
    for (path, name) in large {
        let item = walk.large(&path, &name)?;
        files.push((path, name, item));
    }
    let mut vanished: HashMap<Vec<u8>, BTreeSet<Vec<u8>>> = HashMap::new();
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
    Ok(())
}

fn fill(listings: &mut Listings, path: &[u8], item: Item) {
    let Some(listing) = listings.get_mut(path) else { return };
    if let Ok(index) = listing.items.binary_search_by(|old| old.name.cmp(&item.name)) {
        listing.items[index] = item;
    }
}
