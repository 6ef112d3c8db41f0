//! Reads what snapshots consist of, and heals what is damaged. This module does IO.
//!
//! ```text
//! rows ──► trees, the newest first ──► blobs, each decoded and hashed
//!          what is damaged: the workspace's file, else the user's repository
//! ```

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::Snapshots;
use super::adoption::{Reached, from_workspace};
use crate::error::Result;
use crate::fs::{beneath, threads};
use crate::git::Location;
use crate::git::objects::loose;
use crate::model::entry::{ObjectId, Roots};
use crate::objects::hash::{ObjectKind, hash};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::read::PackFile;
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::ObjectReader;

/// An object that is needed but cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Its id.
    pub id: ObjectId,
    /// Its path in a snapshot, if known; the root's is empty.
    pub path: Option<Vec<u8>>,
    /// The tree of that snapshot, if it is a tree.
    pub root: Option<ObjectId>,
    /// The error.
    pub what: String,
}

/// The result of reading.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// How many objects were read.
    pub objects: u64,
    /// How many trees of snapshots were read, with all that they reach.
    pub trees: usize,
    /// Whether there was time for all.
    pub is_whole: bool,
    /// The objects that cannot be read.
    pub broken: Vec<Broken>,
}

impl Checked {
    /// Adds the trees that the walk from the tree of a snapshot could not read.
    fn add_torn(&mut self, root: ObjectId, reached: &mut Reached) {
        let torn = reached.torn.drain(..).map(|(id, path, error)| Broken {
            id,
            path: Some(path),
            root: Some(root),
            what: error.with_causes(),
        });
        self.broken.extend(torn);
    }

    /// Reads blobs, each with a path if one is known, and returns whether there was time for all.
    fn read(
        &mut self,
        reader: &ObjectReader,
        blobs: &[(ObjectId, Option<Vec<u8>>)],
        goes_on: &dyn Fn() -> bool,
    ) -> bool {
        blobs.chunks(BATCH).all(|blobs| {
            let problems = threads::map(blobs, |(id, _)| reader.check_blob(*id).err());
            self.objects += blobs.len() as u64;
            let broken = blobs
                .iter()
                .zip(problems)
                .filter_map(|((id, path), error)| {
                    Some(Broken {
                        id: *id,
                        path: path.clone(),
                        root: None,
                        what: error?.with_causes(),
                    })
                });
            self.broken.extend(broken);
            goes_on()
        })
    }
}

/// How many blobs are read before the clock is checked again.
const BATCH: usize = 256;

impl Snapshots {
    /// Reads what roots reach, as long as `goes_on` returns true.
    pub(crate) fn check(&self, roots: &Roots, goes_on: &dyn Fn() -> bool) -> Result<Checked> {
        let reader = self.objects.reader()?;
        reader.refresh()?;
        let mut checked = Checked::default();
        let mut reached = Reached::default();
        // One after the other, so that what there is time for is whole snapshots, the newest first.
        for tree in &roots.trees {
            let one = Roots {
                trees: vec![*tree],
                blobs: Vec::new(),
            };
            let is_walked = reached.walk(&reader, &one, goes_on);
            checked.add_torn(*tree, &mut reached);
            let found = std::mem::take(&mut reached.objects);
            checked.objects += found.keys().filter(|id| reached.is_tree(**id)).count() as u64;
            let blobs: Vec<_> = found
                .into_iter()
                .filter(|(id, _)| !reached.is_tree(*id) && reached.is_new(*id))
                .collect();
            if !checked.read(&reader, &blobs, goes_on) || !is_walked {
                return Ok(checked);
            }
            checked.trees += 1;
        }
        let blobs = roots.blobs.iter().filter(|id| **id != ObjectId::EMPTY_TREE);
        let blobs: Vec<_> = blobs
            .filter(|id| reached.is_new(**id))
            .map(|id| (*id, None))
            .collect();
        checked.is_whole = checked.read(&reader, &blobs, goes_on);
        Ok(checked)
    }

    /// Stores damaged objects again from the workspace's files and the user's repository. Returns those that are still
    /// damaged.
    pub(crate) fn heal(&self, root: &Path, broken: Vec<Broken>) -> Result<Vec<Broken>> {
        let objects = &self.objects;
        let location = Location::of(root);
        let location = location.as_ref();
        let opened: Option<OwnedFd> = beneath::open_root(root).ok();
        let mut pack = PackWriter::begin(objects.repository())?;
        let mut lost = Vec::new();
        for broken in broken {
            let file = opened
                .as_ref()
                .zip(broken.path.as_ref())
                .and_then(|(root, path)| from_workspace(root, path, broken.id))
                .map(|bytes| (ObjectKind::Blob, bytes));
            let found = file.or_else(|| from_repository(location?, broken.id));
            match found {
                Some((kind, bytes)) => {
                    pack.add(pack_object(kind, broken.id, &bytes, Effort::Least))?;
                }
                None => lost.push(broken),
            }
        }
        if pack.finish()?.is_some() {
            objects.reader()?.note_new_pack()?;
        }
        Ok(lost)
    }

    /// Returns the damage of the packs themselves, by name.
    pub(crate) fn check_packs(&self, extent: PackCheck) -> Result<Vec<(String, &'static str)>> {
        let reader = self.objects.reader()?;
        reader.refresh()?;
        let packs = reader.packs();
        let packs: Vec<_> = packs.alone().iter().chain(packs.each_joint()).collect();
        let named = |pack: &&std::sync::Arc<PackFile>| {
            let what = pack_problem(pack, extent)?;
            Some((pack.name().display().to_string(), what))
        };
        let problems = threads::map(&packs, named);
        Ok(problems.into_iter().flatten().collect())
    }
}

/// Returns an object of the user's repository, hashed in full.
fn from_repository(location: &Location, id: ObjectId) -> Option<(ObjectKind, Vec<u8>)> {
    let folder = location.common.join("objects");
    loose_object(&folder, id).or_else(|| packed_object(&folder.join("pack"), id))
}

fn loose_object(folder: &Path, id: ObjectId) -> Option<(ObjectKind, Vec<u8>)> {
    let (kind, bytes) = loose(folder, &id.to_string(), MAX_OBJECT_SIZE)?;
    (hash(kind, &bytes) == id).then_some((kind, bytes))
}

fn packed_object(folder: &Path, id: ObjectId) -> Option<(ObjectKind, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).ok()?;
    let names = entries.filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name())));
    let mut packs = names.filter(|name| name.extension().is_some_and(|ending| ending == "pack"));
    packs.find_map(|name| {
        let pack = PackFile::new(folder, &name);
        pack.object(pack.find(id)?, id).ok()
    })
}

/// The largest object that is taken from the user's repository, in bytes.
const MAX_OBJECT_SIZE: u64 = 512 << 20;

/// How much of a pack is read to check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackCheck {
    /// Its end, which its index repeats.
    End,
    /// All of it.
    Whole,
}

/// Returns the damage of a pack.
fn pack_problem(pack: &PackFile, extent: PackCheck) -> Option<&'static str> {
    if !pack.has_its_end() {
        Some("is cut off, or is not the one that its index belongs to")
    } else if extent == PackCheck::Whole && !pack.is_sound() {
        Some("is damaged")
    } else {
        None
    }
}
