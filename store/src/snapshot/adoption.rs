//! Copies what snapshots need of borrowed packs, and gives the packs back. This module does IO.
//!
//! ```text
//! roots ──► trees and blobs ──► those in no pack of ours ──► entries as they stand, into one pack, synced
//!           that they reach                                  hashed; else the file that still holds the bytes
//! ```
//!
//! It does not copy a large history: only what the roots reach, and the bases of deltas among that.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use super::Snapshots;
use super::cache::{Cache, Extent};
use super::scan::overlay::Overlay;
use super::scan::read::{self, ReadOutcome};
use crate::error::{Error, Result};
use crate::fs::beneath;
use crate::model::entry::{ObjectId, Roots};
use crate::model::path::{join, split};
use crate::objects::borrowed_packs;
use crate::objects::hash::{ObjectKind, blob_id};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::copy::{Copied, CopiedEntries};
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::ObjectReader;
use crate::objects::tree::TreeMode;

/// The result of making borrowed objects the store's own.
#[derive(Debug, Default)]
pub(crate) struct AdoptionResult {
    /// How many objects were copied.
    pub objects: usize,
    /// The bytes of their entries.
    pub bytes: u64,
    /// How many were damaged and stored again from the workspace's files.
    pub healed: usize,
    /// The lost objects, each with its path, if known.
    pub missing: Vec<(ObjectId, Option<Vec<u8>>)>,
}

impl AdoptionResult {
    /// Adds the result of settling again. What is lost in the end is what the last run reports.
    pub fn add(&mut self, again: Self) {
        self.objects += again.objects;
        self.bytes += again.bytes;
        self.healed += again.healed;
        self.missing = again.missing;
    }
}

/// The objects that the roots reach.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Trees and blobs, each with a path that it has. The root's path is empty, and a blob that no tree names has none.
    pub objects: BTreeMap<ObjectId, Option<Vec<u8>>>,
    /// The same objects in the order in which they were reached: those of the newest snapshots first.
    pub order: Vec<ObjectId>,
    /// Trees that cannot be read, with what is wrong.
    pub torn: Vec<(ObjectId, Vec<u8>, Error)>,
    /// Trees that were read.
    seen: HashSet<ObjectId>,
    /// Blobs that were noted.
    noted: HashSet<ObjectId>,
}

impl Reached {
    /// Returns whether an object is a tree that was read.
    pub fn is_tree(&self, id: ObjectId) -> bool {
        self.seen.contains(&id)
    }

    /// Notes a blob. Returns false if it was noted before.
    pub fn is_new(&mut self, id: ObjectId) -> bool {
        self.noted.insert(id)
    }

    fn reach(&mut self, id: ObjectId, path: Option<Vec<u8>>) {
        if let Entry::Vacant(entry) = self.objects.entry(id) {
            entry.insert(path);
            self.order.push(id);
        }
    }

    /// Walks from the roots. Returns false if `goes_on` ended the walk early.
    pub fn walk(
        &mut self,
        reader: &ObjectReader,
        roots: &Roots,
        goes_on: &dyn Fn() -> bool,
    ) -> bool {
        for root in &roots.trees {
            let mut rest = vec![(*root, Vec::new())];
            // A stack instead of recursion: a tree may be as deep as its author likes.
            while let Some((id, path)) = rest.pop() {
                if id == ObjectId::EMPTY_TREE || !self.seen.insert(id) {
                    continue;
                }
                if !goes_on() {
                    return false;
                }
                let entries = match reader.tree(id) {
                    Ok(entries) => entries,
                    Err(error) => {
                        self.torn.push((id, path, error));
                        continue;
                    }
                };
                for entry in entries {
                    let below = join(&path, &entry.name);
                    if entry.mode == TreeMode::Tree {
                        rest.push((entry.id, below));
                    } else {
                        self.reach(entry.id, Some(below));
                    }
                }
                self.reach(id, Some(path));
            }
        }
        for blob in &roots.blobs {
            if *blob != ObjectId::EMPTY_TREE {
                self.reach(*blob, None);
            }
        }
        true
    }
}

impl Snapshots {
    /// Copies what `roots` need of borrowed packs into a pack of our own, until the deadline. What is damaged there is
    /// searched for in the workspace.
    pub(crate) fn adopt_packs(
        &self,
        root: &Path,
        roots: &Roots,
        deadline: Option<Instant>,
    ) -> Result<AdoptionResult> {
        let objects = &self.objects;
        let goes_on = || deadline.is_none_or(|deadline| Instant::now() < deadline);
        let late = || Error::failed("what is borrowed could not be copied in time");
        let reader = objects.reader()?;
        reader.refresh()?;
        let packs = reader.packs();
        let mut settled = AdoptionResult::default();
        if packs.borrowed().next().is_none() {
            return Ok(settled);
        }
        let mut reached = Reached::default();
        if !reached.walk(&reader, roots, &goes_on) {
            return Err(late());
        }
        let ids: Vec<ObjectId> = reached.objects.keys().copied().collect();
        let is_own = packs.own(&ids);
        let needed: Vec<ObjectId> = ids
            .into_iter()
            .zip(is_own)
            .filter(|(_, is_own)| !is_own)
            .map(|(id, _)| id)
            .collect();
        let mut pack = PackWriter::begin(objects.repository())?;
        let mut copied = Copied::default();
        for borrowed in packs.borrowed() {
            // Nothing can be copied from an unreadable pack. Its objects are searched for elsewhere.
            let done = borrowed.copy_entries(
                &needed,
                CopiedEntries::Sound,
                &mut pack,
                &mut copied,
                &goes_on,
            );
            if done.is_err() && !goes_on() {
                return Err(late());
            }
        }
        settled.objects = copied.ids.len();
        settled.bytes = copied.bytes;
        let root = beneath::open_root(root).ok();
        for id in needed {
            if copied.ids.contains(&id) {
                continue;
            }
            if !goes_on() {
                return Err(late());
            }
            let path = reached.objects.get(&id).cloned().flatten();
            store_singly(&reader, root.as_ref(), (id, path), &mut pack, &mut settled)?;
        }
        let torn = reached.torn.into_iter();
        settled
            .missing
            .extend(torn.map(|(id, path, _)| (id, Some(path))));
        if pack.finish()?.is_some() {
            reader.note_new_pack()?;
        }
        Ok(settled)
    }

    /// Gives borrowed packs back. The caller holds the workspace's lock, and has copied what is needed of the packs.
    pub(crate) fn give_back(&self) -> Result<()> {
        let (folder, objects) = (&self.directory, &self.objects);
        let boot = super::take::boot();
        // Read first: a cache is valid for the packs that it was written with, and these are about to change.
        let cache = Cache::read(folder, Extent::Front).filter(|cache| {
            cache.header.boot == boot && cache.header.packs == super::take::stamp_of_packs(objects)
        });
        // Only after the copies are synced: killed in between, the store has both.
        borrowed_packs::give_back(&objects.packs())?;
        objects.note_borrowing(false);
        objects.reader()?.refresh()?;
        if let Some(cache) = cache {
            let mut header = cache.header.clone();
            header.packs = super::take::stamp_of_packs(objects);
            header.borrowed = Vec::new();
            // A cache that cannot be written makes the next snapshot slower.
            let _ = Cache::write(folder, &header, &Overlay::over(Some(&cache)));
        }
        Ok(())
    }
}

/// Stores an object that could not be copied from a pack: reads it by itself, or else takes the file in the workspace.
fn store_singly(
    reader: &ObjectReader,
    root: Option<&OwnedFd>,
    (id, path): (ObjectId, Option<Vec<u8>>),
    pack: &mut PackWriter,
    settled: &mut AdoptionResult,
) -> Result<()> {
    if let Ok((kind, bytes)) = reader.any(id) {
        pack.add(pack_object(kind, id, &bytes, Effort::Least))?;
        settled.objects += 1;
    } else if let (Some(root), Some(path)) = (root, &path)
        && let Some(bytes) = from_workspace(root, path, id)
    {
        pack.add(pack_object(ObjectKind::Blob, id, &bytes, Effort::Least))?;
        settled.healed += 1;
    } else {
        settled.missing.push((id, path));
    }
    Ok(())
}

/// Returns the bytes of the file or link at a path if they have this id.
pub(super) fn from_workspace(root: &OwnedFd, path: &[u8], id: ObjectId) -> Option<Vec<u8>> {
    let (outer, name) = split(path);
    if name.is_empty() {
        return None;
    }
    let directory = beneath::open_directory(root.as_fd(), outer).ok()?;
    let bytes = match read::file(directory.as_fd(), name, &|_| false).ok()? {
        ReadOutcome::Bytes(bytes, ..) => bytes,
        ReadOutcome::Other => rustix::fs::readlinkat(&directory, name, Vec::new())
            .ok()?
            .into_bytes(),
        ReadOutcome::Large(_) => large(&directory, name)?,
        ReadOutcome::Gone | ReadOutcome::Gap(_) => return None,
    };
    (blob_id(&bytes) == id).then_some(bytes)
}

/// The largest file that is read into memory to heal a damaged object, in bytes.
const MAX_FILE_SIZE: u64 = 1 << 30;

fn large(directory: &OwnedFd, name: &[u8]) -> Option<Vec<u8>> {
    let file = beneath::open_file(directory.as_fd(), name).ok()?;
    let mut bytes = Vec::new();
    let mut file = std::io::Read::take(std::fs::File::from(file), MAX_FILE_SIZE);
    std::io::Read::read_to_end(&mut file, &mut bytes).ok()?;
    Some(bytes)
}
