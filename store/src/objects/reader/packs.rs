//! The packs of a directory at one moment, and the order in which they are searched. This module does IO.
//!
//! ```text
//!   joint   those that the multi-pack-index names and that are there: one look-up for all
//!   alone   the others: those written since, and those with very many objects; each by its own index
//! ```

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Context, Result, contained};
use crate::fs::disk::{self, Stamp};
use crate::fs::leftover::TEMPORARY_PACK;
use crate::fs::system;
use crate::model::entry::ObjectId;
use crate::objects::multi_pack_index::{self, MultiPackIndex};
use crate::objects::pack::read::{PackFile, open_regular};

/// How many answers of a multi-pack-index are checked one by one before all of it is.
const CHECKED_ANSWERS: u32 = 64;

const PACK: &[u8] = b".pack";
const INDEX: &[u8] = b".idx";

/// The packs of a directory.
#[derive(Default)]
pub(crate) struct Packs {
    /// The directory's stamp, if any later change shows in its times.
    settled: Option<Stamp>,
    joint: Option<Joint>,
    alone: Vec<Arc<PackFile>>,
    temporary: Vec<Vec<u8>>,
}

/// The packs that the multi-pack-index names.
struct Joint {
    opened: Arc<Opened>,
    is_there: Vec<bool>,
}

struct Opened {
    directory: PathBuf,
    stamp: Stamp,
    index: MultiPackIndex,
    is_sound: OnceLock<bool>,
    /// How many of its answers were used.
    asked: AtomicU32,
    packs: Vec<OnceLock<Arc<PackFile>>>,
}

impl Packs {
    /// Lists the packs, and reuses known ones. `None` if nothing changed since.
    pub fn list(directory: &Path, known: &Self) -> Result<Option<Self>> {
        let what = || format!("cannot read the directory `{}`", directory.display());
        // Before the names are read, so that a pack that comes meanwhile leaves the stamp unsettled.
        let now = disk::now();
        let opened = match File::open(directory) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(Self::default())),
            Err(error) => return Err(error).context(what),
        };
        let stamp = Stamp::of(
            &rustix::fs::fstat(&opened)
                .map_err(std::io::Error::from)
                .context(what)?,
        );
        if known.settled == Some(stamp) {
            return Ok(None);
        }
        let mut joint = Joint::open(directory, known);
        let DirectoryNames {
            packs: alone,
            temporary,
        } = names(&opened, joint.as_mut()).context(what)?;
        let old: HashMap<&[u8], &Arc<PackFile>> = known
            .alone
            .iter()
            .map(|pack| (pack.name().as_os_str().as_bytes(), pack))
            .collect();
        let pack = |name: Vec<u8>| match old.get(&name[..]) {
            Some(pack) => Arc::clone(pack),
            None => pack_named(directory, &name),
        };
        let mut alone: Vec<Arc<PackFile>> = alone.into_iter().map(pack).collect();
        // Our own are searched first.
        alone.sort_by_key(|pack| pack.is_borrowed());
        Ok(Some(Self {
            settled: stamp.is_settled(now, 0).then_some(stamp),
            joint,
            alone,
            temporary,
        }))
    }

    /// Returns possible locations of an object. That is enough for a caller that hashes what it reads.
    pub fn likely(&self, id: ObjectId) -> impl Iterator<Item = (&Arc<PackFile>, u64)> {
        let joint = self.joint.as_ref().and_then(|joint| joint.find(id));
        joint.into_iter().chain(
            self.alone
                .iter()
                .filter_map(move |pack| Some((pack, pack.find(id)?))),
        )
    }

    /// Returns those in packs of our own: others may be gone or emptied at any time.
    pub fn own_likely(&self, id: ObjectId) -> impl Iterator<Item = (&Arc<PackFile>, u64)> {
        self.likely(id).filter(|(pack, _)| !pack.is_borrowed())
    }

    /// Like [`own_likely`](Self::own_likely), for a caller that relies on the answer.
    pub fn certain(&self, id: ObjectId) -> impl Iterator<Item = (&Arc<PackFile>, u64)> {
        let is_sound = self
            .joint
            .as_ref()
            .is_none_or(|joint| joint.opened.is_worth_it() && joint.opened.is_sound());
        let likely = self.likely(id);
        likely.filter(move |(pack, offset)| is_sound || pack.find(id) == Some(*offset))
    }

    /// Returns locations of an object according to the packs' own indexes, in case the multi-pack-index is wrong.
    pub fn unlikely(&self, id: ObjectId) -> impl Iterator<Item = (&Arc<PackFile>, u64)> {
        self.each_joint()
            .filter_map(move |pack| Some((pack, pack.find(id)?)))
    }

    /// Returns whether each of the sorted ids is in a pack. The packs outside the multi-pack-index are the newest, and
    /// have to be complete.
    pub fn have_all(&self, ids: &[ObjectId]) -> bool {
        self.found(ids).iter().all(|is_found| *is_found)
    }

    /// Returns that for each of them.
    pub fn found(&self, ids: &[ObjectId]) -> Vec<bool> {
        self.have(ids, |_| true)
    }

    /// Returns for each of the sorted ids whether it is in a pack of our own.
    pub fn own(&self, ids: &[ObjectId]) -> Vec<bool> {
        self.have(ids, |pack| !pack.is_borrowed())
    }

    /// Returns the packs that are still files of the user's repository.
    pub fn borrowed(&self) -> impl Iterator<Item = &Arc<PackFile>> {
        self.alone.iter().filter(|pack| pack.is_borrowed())
    }

    fn have(&self, ids: &[ObjectId], counts: impl Fn(&PackFile) -> bool) -> Vec<bool> {
        let mut is_found = vec![false; ids.len()];
        let mut note = |id: &ObjectId| {
            ids.binary_search(id)
                .into_iter()
                .for_each(|at| is_found[at] = true)
        };
        match &self.joint {
            // Its answers are not hashed here, so it counts only as a whole.
            Some(joint) if joint.opened.is_sound() => {
                let places = joint.opened.index.find_all(ids).unwrap_or_default();
                places
                    .iter()
                    .filter(|place| joint.is_there[place.pack as usize])
                    .for_each(|place| note(&place.id));
            }
            _ => self.each_joint().for_each(|pack| {
                pack.offsets(ids)
                    .unwrap_or_default()
                    .iter()
                    .for_each(|(id, _)| note(id));
            }),
        }
        let alone = self.alone.iter().filter(|pack| counts(pack));
        // A power cut may leave the name of a pack whose end never reached the disk.
        for pack in alone.filter(|pack| pack.has_its_end()) {
            pack.offsets(ids)
                .unwrap_or_default()
                .iter()
                .for_each(|(id, _)| note(id));
        }
        is_found
    }

    /// Returns all packs of our own, as they were listed.
    pub fn all_own(&self) -> impl Iterator<Item = &Arc<PackFile>> {
        let all = self.alone.iter().chain(self.each_joint());
        all.filter(|pack| !pack.is_borrowed())
    }

    /// Returns the packs that no multi-pack-index names.
    pub fn alone(&self) -> &[Arc<PackFile>] {
        &self.alone
    }

    /// Returns the names of the temporary files beside the packs, of processes that are writing or were killed.
    pub fn temporary(&self) -> impl Iterator<Item = &[u8]> {
        self.temporary.iter().map(|name| &name[..])
    }

    /// Returns the multi-pack-index.
    pub fn joint(&self) -> Option<&MultiPackIndex> {
        self.joint.as_ref().map(|joint| &joint.opened.index)
    }

    /// Returns whether all packs that the multi-pack-index names exist.
    pub fn has_all_joint(&self) -> bool {
        self.joint
            .iter()
            .all(|joint| joint.is_there.iter().all(|is_there| *is_there))
    }

    /// Returns the existing packs that the multi-pack-index names.
    pub fn each_joint(&self) -> impl Iterator<Item = &Arc<PackFile>> {
        self.joint.iter().flat_map(|joint| {
            (0..joint.opened.index.packs()).filter_map(|number| joint.pack(number))
        })
    }
}

impl Joint {
    /// Opens the multi-pack-index of a directory, if there is a usable one.
    fn open(directory: &Path, known: &Packs) -> Option<Self> {
        let file = open_regular(&directory.join(multi_pack_index::NAME)).ok()?;
        let stamp = Stamp::of(&rustix::fs::fstat(&file).ok()?);
        let opened = match &known.joint {
            Some(joint) if joint.opened.stamp == stamp => Arc::clone(&joint.opened),
            _ => Arc::new(Opened::new(
                directory,
                stamp,
                contained(|| MultiPackIndex::open(file))?.ok()?,
            )),
        };
        let is_there = vec![false; opened.packs.len()];
        Some(Self { opened, is_there })
    }

    /// Notes a file of the directory. Returns false if it belongs to no named pack.
    fn note(&mut self, name: &[u8]) -> bool {
        let Some(stem) = name.strip_suffix(PACK) else {
            return self.opened.index.number(name).is_some();
        };
        let number = self.opened.index.number(&[stem, INDEX].concat());
        number
            .inspect(|number| self.is_there[*number as usize] = true)
            .is_some()
    }

    fn pack(&self, number: u32) -> Option<&Arc<PackFile>> {
        self.is_there
            .get(number as usize)
            .filter(|is_there| **is_there)?;
        self.opened.pack(number)
    }

    fn find(&self, id: ObjectId) -> Option<(&Arc<PackFile>, u64)> {
        let place = self.opened.index.find(id).ok()??;
        Some((self.pack(place.pack)?, place.offset))
    }
}

impl Opened {
    fn new(directory: &Path, stamp: Stamp, index: MultiPackIndex) -> Self {
        let packs = (0..index.packs()).map(|_| OnceLock::new()).collect();
        Self {
            directory: directory.to_owned(),
            stamp,
            index,
            is_sound: OnceLock::new(),
            asked: AtomicU32::new(0),
            packs,
        }
    }

    fn pack(&self, number: u32) -> Option<&Arc<PackFile>> {
        let slot = self.packs.get(number as usize)?;
        if let Some(pack) = slot.get() {
            return Some(pack);
        }
        let name = self.index.name(number)?;
        let stem = name.strip_suffix(INDEX)?;
        Some(slot.get_or_init(|| pack_named(&self.directory, &[stem, PACK].concat())))
    }

    /// Returns whether a full check pays. Comparing a few answers with the packs' own indexes costs less than reading
    /// all of it, which grows with every step.
    fn is_worth_it(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= CHECKED_ANSWERS
    }

    fn is_sound(&self) -> bool {
        *self.is_sound.get_or_init(|| self.index.is_sound())
    }
}

fn pack_named(directory: &Path, name: &[u8]) -> Arc<PackFile> {
    Arc::new(PackFile::new(directory, Path::new(OsStr::from_bytes(name))))
}

/// The names in a directory of packs.
struct DirectoryNames {
    /// Those of the packs outside the multi-pack-index.
    packs: Vec<Vec<u8>>,
    temporary: Vec<Vec<u8>>,
}

/// Returns the names of the packs outside the multi-pack-index, and notes that the others exist.
fn names(directory: &File, mut joint: Option<&mut Joint>) -> std::io::Result<DirectoryNames> {
    let (mut packs, mut indexes, mut temporary) = (Vec::new(), HashSet::new(), Vec::new());
    system::list(directory.as_fd(), |name, _| {
        if joint.as_mut().is_some_and(|joint| joint.note(name)) {
            return;
        }
        match name.strip_suffix(INDEX) {
            Some(stem) => drop(indexes.insert(stem.to_vec())),
            None if name.ends_with(PACK) => packs.push(name.to_vec()),
            None if name.starts_with(TEMPORARY_PACK.as_bytes()) => temporary.push(name.to_vec()),
            None => {}
        }
    })?;
    // A crash may leave an index without its pack, which names objects that do not exist.
    packs.retain(|name| {
        name.strip_suffix(PACK)
            .is_some_and(|stem| indexes.contains(stem))
    });
    Ok(DirectoryNames { packs, temporary })
}
