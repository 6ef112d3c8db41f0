//! Takes a snapshot: what is in view, the scan, the objects, and what is remembered for the next one. This module does
//! IO.
//!
//! If the check finds no change, nothing is written and the last snapshot is the result. Otherwise the directories that
//! differ are looked at again (`tasks`, `scan`), and trees are made along the paths to them. Objects are synced before
//! the cache names them.

mod hint;
mod index;
mod outer;
mod scan;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::attributes::Attributes;
use super::borrowed_packs::{self, Borrowed};
use super::cache::{Cache, CacheHeader, Extent};
use super::repository_note;
use super::rules::{Rules, significant_lines};
use super::scan::assemble;
use super::scan::overlay::Overlay;
use super::scan::sink::Sink;
use super::scan::walk::{RememberedNames, Task};
use super::times::Times;
use super::{Request, Snapshot, Snapshots, StoredSnapshot};
use crate::error::{Result, contained};
use crate::fs::beneath;
use crate::fs::disk::Stamp;
use crate::fs::lease::Writers;
use crate::git::{Location, state};
use crate::model::FileTime;
use crate::model::entry::ObjectId;
use crate::model::gap::reported;
use crate::model::git_item::GitStateRow;
use crate::model::path::{WorkspacePath, parent};
use crate::objects::Objects;
use crate::objects::hash::{self, ObjectKind};
use hint::Hint;
pub(crate) use hint::seen;
use index::UserIndex;
pub(crate) use outer::{hides, outer_rules};
use scan::Scanned;

impl Snapshots {
    /// Takes a snapshot of the workspace. All objects are synced to the disk when it returns.
    pub fn take(&self, request: &Request<'_>) -> Result<StoredSnapshot> {
        let (folder, objects) = (&self.directory, &self.objects);
        //   ask the watcher ─► read the cache ─► check ─► scan ─► objects ─sync─► cache ─► the watcher's token
        //
        // Each is as old as what relies on it, or older. A kill at any point leaves a cache that names only objects on
        // the disk, and a token that belongs to that cache or to an older one: then the next answer names too much,
        // which costs time only.
        let scene = SnapshotBuilder::open(folder, objects, request)?;
        // This comes before any look: what changes from now on is in the next answer.
        let hint = match request.only_around {
            None => Hint::ask(folder, &scene),
            Some(_) => None,
        };
        // `anew` is asked for to find and heal damage, so nothing that was seen before counts.
        let cache = if request.anew {
            None
        } else {
            contained(|| Cache::read(folder, scene.extent(hint.as_ref()))).flatten()
        };
        let stored = match scene.look(folder, cache, hint.as_ref())? {
            // A body of the cache was damaged.
            // The look that met the damage is thrown away as a whole: what it took from the cache before may have been
            // damaged, too.
            None => scene.look(folder, None, hint.as_ref())?,
            stored => stored,
        };
        let missed = hint.as_ref().is_some_and(Hint::missed);
        let stored = stored.expect("without a cache, none is torn");
        Ok(StoredSnapshot {
            missed,
            is_hinted: hint.is_some(),
            ..stored
        })
    }

    /// Takes the snapshot of the workspace as it will be once other ignore files are in place of those on disk: their bytes, none
    /// for one that goes. No later snapshot knows of it.
    pub(crate) fn foresee(
        &self,
        request: &Request<'_>,
        ignore_files: &BTreeMap<WorkspacePath, Vec<u8>>,
    ) -> Result<StoredSnapshot> {
        let (folder, objects) = (&self.directory, &self.objects);
        let mut scene = SnapshotBuilder::open(folder, objects, request)?;
        scene.is_foreseen = true;
        let planned: BTreeMap<&[u8], Vec<u8>> = ignore_files
            .iter()
            .map(|(path, bytes)| (parent(path.as_bytes()), bytes))
            .map(|(directory, bytes)| (directory.unwrap_or_default(), significant_lines(bytes)))
            .collect();
        let untracked = &mut scene.rules.untracked;
        untracked.retain(|(directory, _)| !planned.contains_key(&directory[..]));
        untracked.extend(
            planned
                .into_iter()
                .map(|(directory, lines)| (directory.to_vec(), lines)),
        );
        // With other rules, it lists every directory, and knows the contents of files.
        let cache = contained(|| Cache::read(folder, Extent::Whole)).flatten();
        let stored = match scene.look(folder, cache, None)? {
            None => scene.look(folder, None, None)?,
            stored => stored,
        };
        Ok(stored.expect("without a cache, none is torn"))
    }
}

/// Returns the id of this boot of the machine.
pub(crate) fn boot() -> Vec<u8> {
    // One call reads it, because its size is known.
    let mut id = [0; 64];
    let read = std::fs::File::open("/proc/sys/kernel/random/boot_id")
        .and_then(|mut file| std::io::Read::read(&mut file, &mut id));
    id[..read.unwrap_or_default()].to_vec()
}

/// Returns the present stamp of the folder with the packs.
pub(super) fn stamp_of_packs(objects: &Objects) -> Stamp {
    rustix::fs::lstat(objects.packs())
        .map(|stat| Stamp::of(&stat))
        .unwrap_or_default()
}

/// One snapshot in the making.
struct SnapshotBuilder<'a> {
    request: &'a Request<'a>,
    objects: &'a Objects,
    root: OwnedFd,
    store: Option<(u64, u64)>,
    location: Option<Location>,
    rules: Rules,
    /// The ignore files that exist but could not be read.
    unread: Vec<String>,
    now: FileTime,
    is_remote: bool,
    writers: Writers,
    /// Whether it is of a state that a plan leads to. Then nothing of it is remembered.
    is_foreseen: bool,
}

impl<'a> SnapshotBuilder<'a> {
    fn open(folder: &Path, objects: &'a Objects, request: &'a Request<'a>) -> Result<Self> {
        // Held open to the end: a directory that takes its place meanwhile is not the one that is captured.
        let root = beneath::open_workspace(request.root)?;
        let location = Location::of(request.root);
        let outer = outer_rules(request, location.as_ref(), || last_rules(folder, objects));
        let unread = outer.unread.iter();
        Ok(Self {
            request,
            objects,
            // On a server's file system, another machine's clock makes the times, and attributes come late: no
            // stamp of a directory says that nothing happened in it.
            is_remote: crate::fs::system::is_remote(root.as_fd()),
            writers: Writers::default(),
            store: request
                .store
                .metadata()
                .ok()
                .map(|metadata| (metadata.dev(), metadata.ino())),
            rules: outer.rules,
            unread: unread
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            location,
            now: request.now,
            is_foreseen: false,
            root,
        })
    }

    /// Returns how much of the cache is needed.
    fn extent(&self, hint: Option<&Hint>) -> Extent {
        let is_hinted = self.request.takes_hints && hint.is_some_and(Hint::is_narrow);
        match is_hinted || self.request.only_around.is_some() {
            true => Extent::Front,
            false => Extent::Whole,
        }
    }

    /// Looks at the workspace, and stores what is new. Returns `None` if the cache turned out to be torn.
    fn look(
        &self,
        folder: &Path,
        cache: Option<Cache>,
        hint: Option<&Hint>,
    ) -> Result<Option<StoredSnapshot>> {
        let boot = boot();
        let is_trusted = cache
            .as_ref()
            .is_some_and(|cache| self.holds_all(cache, &boot));
        // The cheap question comes first: in the same boot and with the same folder of packs, nothing can have gone
        // that the cache names. Otherwise every object that it names is looked up.
        let cache = cache.filter(|cache| is_trusted || self.verify(cache));
        let index = UserIndex::look(self.location.as_ref(), cache.as_ref(), self.now);
        let tasks = self.tasks(cache.as_ref(), &index, hint);
        // A restamped index changes nothing in the snapshot, but unless the cache learns of it, it is read again by
        // every look.
        // Without trust, a cache that names all the right things is written anew all the same, with today's boot
        // and packs, so that the next look need not verify it again.
        let is_same = is_trusted && tasks.is_empty() && !index.is_new && !index.is_restamped;
        let Some(cache) = cache.as_ref().filter(|_| is_same) else {
            return self.renew(folder, boot, cache.as_ref(), index, tasks, hint);
        };
        if cache.is_torn() {
            return Ok(None);
        }
        let header = cache.header.clone();
        self.objects.note_borrowing(!header.borrowed.is_empty());
        let (seen, blob) = (header.seen, index.blob);
        hint.iter().for_each(|hint| hint.note());
        let (undecided, times) = (Vec::new(), Times::default());
        Ok(Some(self.stored(
            header.snapshot,
            seen,
            blob,
            undecided,
            times,
        )))
    }

    /// Returns the hash of everything besides the workspace itself that decides what is captured.
    fn snapshot_key(&self) -> ObjectId {
        // With another limit, a file that did not change becomes a gap, or stops being one.
        let sizes = self
            .request
            .whatever_size
            .iter()
            .map(|path| [path.as_bytes(), b"\0"].concat());
        let sizes: Vec<u8> = sizes
            .flatten()
            .chain(self.request.max_file_size.to_le_bytes())
            // What is known to be metadata of version control. With other rules, every directory is listed again.
            .chain(*b"4")
            .collect();
        hash::hash(
            ObjectKind::Blob,
            &[self.rules.encode().unwrap_or_default(), sizes].concat(),
        )
    }

    fn named(&self) -> BTreeSet<Vec<u8>> {
        self.request
            .named
            .iter()
            .map(|path| path.as_bytes().to_vec())
            .collect()
    }

    fn packs(&self) -> Stamp {
        stamp_of_packs(self.objects)
    }

    /// Returns whether the packs that a cache relies on and that are still the user's files are unchanged.
    fn borrows_the_same(&self, cache: &Cache) -> bool {
        let packs = self.objects.packs();
        let is_same = |(name, stamp): &Borrowed| borrowed_packs::stamp(&packs, name) == *stamp;
        cache.header.borrowed.iter().all(is_same)
    }

    /// Returns the packs that are still the user's files: those that a cache knows, in their present state, or those
    /// that were just taken.
    fn borrowed(&self, cache: Option<&Cache>) -> Result<Vec<Borrowed>> {
        let packs = self.objects.packs();
        let Some(cache) = cache else {
            return borrowed_packs::list(&packs);
        };
        let names = cache.header.borrowed.iter().map(|(name, _)| name.clone());
        let stamped = names.map(|name| (borrowed_packs::stamp(&packs, &name), name));
        Ok(stamped
            .filter(|(stamp, _)| *stamp != Stamp::default())
            .map(|(stamp, name)| (name, stamp))
            .collect())
    }

    /// Returns whether no other process can have touched the objects that a cache names.
    fn holds_all(&self, cache: &Cache, boot: &[u8]) -> bool {
        cache.header.boot == boot
            && cache.header.packs == self.packs()
            && cache.header.packs != Stamp::default()
            && self.borrows_the_same(cache)
    }

    /// Checks whether the store has every object that a cache names: the power may have failed, or `gc` may have run.
    fn verify(&self, cache: &Cache) -> bool {
        let Ok(reader) = self.objects.reader() else {
            return false;
        };
        if reader.refresh().is_err() {
            return false;
        }
        // All bodies are needed here, and one read is faster than one for each.
        cache.load();
        let packs = self.objects.packs();
        let mut borrowed = cache.header.borrowed.iter();
        // Only the times changed: `git gc` does that to a pack that we hold, but so does a forger.
        if borrowed.any(|(name, stamp)| {
            let now = borrowed_packs::stamp(&packs, name);
            now != *stamp && now != Stamp::default() && !borrowed_packs::is_sound(&packs, name)
        }) {
            return false;
        }
        let header = &cache.header;
        let index = header.index.map(|(_, _, blob)| blob);
        let own = [
            Some(header.snapshot.tree),
            header.snapshot.attributes,
            header.snapshot.rules,
            header.snapshot.seen,
            index,
        ];
        let mut ids: Vec<ObjectId> = own.into_iter().flatten().collect();
        for number in 0..cache.len() {
            let Some(directory) = cache.directory(number) else {
                return false;
            };
            ids.extend(directory.tree());
            ids.extend(directory.items().filter_map(|item| item.content()));
        }
        reader.has_all(ids)
    }

    /// Looks at what differs, and stores what is new. Returns `None` if the cache turned out to be torn.
    fn renew(
        &self,
        folder: &Path,
        boot: Vec<u8>,
        cache: Option<&Cache>,
        index: UserIndex<'_>,
        tasks: Vec<Task>,
        hint: Option<&Hint>,
    ) -> Result<Option<StoredSnapshot>> {
        let sink = Sink::new(self.objects)?.keeping(cache.is_some());
        let snapshot_key = self.snapshot_key();
        // Which paths are forced holds only as long as the same paths are tracked and no rule changed.
        let known = cache.filter(|_| !tasks.iter().any(reads_names_again) && !index.is_new);
        let Scanned {
            mut overlay,
            touched,
            forced,
            watched,
            undecided,
            times,
            is_late,
        } = self.scan(cache, known, &index, tasks, &sink)?;
        let tree = assemble::trees(&mut overlay, &touched, &sink)?;
        let (attributes, seen) = (assemble::attributes(&overlay), assemble::seen(&overlay));
        // Only now: a part of the cache is read when it is needed, so a damaged one shows up during the scan.
        if cache.is_some_and(Cache::is_torn) {
            return Ok(None);
        }
        let mut snapshot = stored(&sink, tree, &attributes, &self.rules_of(&forced, &watched))?;
        // Mostly, it is the list of the last snapshot.
        snapshot.seen = match cache.filter(|cache| cache.header.seen == seen) {
            Some(cache) => cache.header.snapshot.seen,
            None => store(&sink, super::seen_entries::encode(&seen))?,
        };
        store(&sink, index.new_bytes())?;
        // Objects are on the disk before the cache names them, and before any row does.
        self.finish(sink, cache, snapshot, &seen)?;
        let borrowed = self.borrowed(cache)?;
        self.objects.note_borrowing(!borrowed.is_empty());
        let header = CacheHeader {
            boot,
            // Stamped after the pack was added; otherwise the next look would have to verify every object.
            packs: self.packs(),
            borrowed,
            snapshot_key,
            index: index.remembered(),
            named: self.named().into_iter().collect(),
            forced: forced.into_iter().collect(),
            watched: watched.into_iter().collect(),
            snapshot,
            seen: seen.clone(),
        };
        self.remember(folder, cache, &header, &overlay, hint);
        let blob = index.blob;
        let stored = self.stored(snapshot, seen, blob, undecided, times);
        Ok(Some(StoredSnapshot { is_late, ..stored }))
    }

    /// Syncs what is new, with a note about the snapshot if it is another one than that of the cache.
    fn finish(
        &self,
        sink: Sink<'_>,
        cache: Option<&Cache>,
        snapshot: Snapshot,
        seen: &[super::Gap],
    ) -> Result<()> {
        let known = cache.map(|cache| cache.header.snapshot);
        // Without new objects there is no pack that could hold the note, and a pack for it alone would cost syncs.
        if known != Some(snapshot) && !sink.is_empty() && !self.is_foreseen {
            repository_note::add(&sink, self.request, snapshot, reported(seen))?;
        }
        sink.finish().map(drop)
    }

    /// Writes the cache if it differs from the existing one. Nothing is remembered of what is only foreseen.
    fn remember(
        &self,
        folder: &Path,
        cache: Option<&Cache>,
        header: &CacheHeader,
        overlay: &Overlay<'_>,
        hint: Option<&Hint>,
    ) {
        if self.is_foreseen {
            return;
        }
        let is_same = cache.is_some_and(|cache| cache.header == *header) && overlay.is_same();
        // If the cache cannot be written, the next snapshot is slower; this one is safe.
        let is_written = is_same || Cache::write(folder, header, overlay).is_ok();
        // If the cache was not written, the next answer has to contain everything again, so the token stays old.
        hint.filter(|_| is_written).into_iter().for_each(Hint::note);
    }

    /// Returns the rules of the snapshot that are not files in its tree.
    fn rules_of(&self, forced: &BTreeSet<Vec<u8>>, watched: &BTreeMap<Vec<u8>, Vec<u8>>) -> Rules {
        let mut rules = Rules {
            forced: forced.clone(),
            ..self.rules.clone()
        };
        let is_new = |directory: &[u8]| rules.untracked.iter().all(|(above, _)| above != directory);
        let own = watched
            .iter()
            .filter(|(directory, lines)| !lines.is_empty() && is_new(directory));
        let own: Vec<_> = own
            .map(|(directory, lines)| (directory.clone(), lines.clone()))
            .collect();
        rules.untracked.extend(own);
        rules
    }

    fn stored(
        &self,
        snapshot: Snapshot,
        seen: Vec<super::Gap>,
        index: Option<ObjectId>,
        undecided: Vec<String>,
        times: Times,
    ) -> StoredSnapshot {
        let git = self.location.as_ref().map(|location| {
            let (head, branch) = state::head(location);
            GitStateRow {
                head,
                branch,
                index,
                doing: state::doing(location),
            }
        });
        StoredSnapshot {
            snapshot,
            seen,
            git,
            undecided,
            unread: self.unread.clone(),
            times,
            missed: false,
            is_late: false,
            is_hinted: false,
        }
    }
}

/// Returns the rules of the snapshot that a cache belongs to.
fn last_rules(folder: &Path, objects: &Objects) -> Option<Rules> {
    let cache = contained(|| Cache::read(folder, Extent::Front)).flatten()?;
    match cache.header.snapshot.rules {
        Some(blob) => Rules::decode(&objects.reader().ok()?.blob(blob).ok()?).ok(),
        None => Some(Rules::default()),
    }
}

/// Stores what belongs to a tree, and returns the snapshot.
fn stored(
    sink: &Sink<'_>,
    tree: ObjectId,
    attributes: &Attributes,
    rules: &Rules,
) -> Result<Snapshot> {
    Ok(Snapshot {
        tree,
        attributes: store(sink, attributes.encode())?,
        rules: store(sink, rules.encode())?,
        seen: None,
    })
}

fn store(sink: &Sink<'_>, bytes: Option<Vec<u8>>) -> Result<Option<ObjectId>> {
    match bytes {
        Some(bytes) => sink.add(ObjectKind::Blob, &bytes),
        None => Ok(None),
    }
}

/// Returns whether a task reads names again in directories that the cache knows. Then nothing below them is known.
fn reads_names_again(task: &Task) -> bool {
    matches!(
        task,
        Task::Directory {
            names: RememberedNames::AgainBelow,
            ..
        }
    )
}
