//! Rewrites packs: puts all needed objects into one pack, as deltas where these are small. This module does IO.
//!
//! ```text
//!  old packs ──► deltas whose bases are needed, and what is large: as they stand
//!            └─► the rest: by path, the newest whole, each older one as a delta to those after it
//! ```
//!
//! libgit2's pack builder is not used: it trusts what it reads, cannot be cancelled while it writes, and computes every
//! delta again each time.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Objects;
use super::hash::ObjectKind;
use super::multi_pack_index;
use super::pack::compress::{Effort, pack_delta, pack_object};
use super::pack::copy::{Copied, CopiedEntries};
use super::pack::delta::delta;
use super::pack::read::{PackFile, open_regular};
use super::pack::write::PackWriter;
use super::reader::ObjectReader;
use crate::error::{Context, Error, Result};
use crate::fs::layout::sync;
use crate::fs::presence;
use crate::model::entry::ObjectId;

/// The largest object that becomes a delta, in bytes. Entries of larger ones are copied as they are.
pub(crate) const LARGEST_DELTA: u64 = 1 << 20;
/// How many objects with the same path are tried as bases.
const WINDOW: usize = 3;
/// How many objects without a path are tried as bases.
const WINDOW_OF_RECORDS: usize = 10;
/// The longest chain of deltas. Reading an object at its end takes as many decodings.
const MAX_CHAIN: u32 = 32;

/// A pack to be replaced.
#[derive(Clone)]
pub(crate) struct OldPack {
    pub pack: Arc<PackFile>,
    /// The size of the pack and its index, in bytes.
    pub bytes: u64,
    /// When it was written, in seconds since the epoch.
    pub written: i64,
}

/// Returns the present packs of a repository that are its own.
pub(crate) fn list(objects: &Objects) -> Result<Vec<OldPack>> {
    let reader = objects.reader()?;
    reader.refresh()?;
    let packs = reader.packs();
    let directory = objects.packs();
    let own = packs.all_own();
    own.filter_map(|pack| OldPack::find(&directory, pack).transpose())
        .collect()
}

impl OldPack {
    /// Returns the size of a pack. `None` if it is gone: a process joined it with others, and wrote the new pack first.
    fn find(directory: &Path, pack: &Arc<PackFile>) -> Result<Option<Self>> {
        let path = directory.join(pack.name());
        let metadata = match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.context(|| format!("cannot find `{}`", path.display()))?,
        };
        let index = fs::metadata(path.with_extension("idx")).map_or(0, |metadata| metadata.len());
        Ok(Some(Self {
            pack: Arc::clone(pack),
            bytes: metadata.len() + index,
            written: std::os::unix::fs::MetadataExt::mtime(&metadata),
        }))
    }
}

/// A needed object, and the number of its path, if it has one.
pub(crate) type NeededObject = (ObjectId, Option<u32>);

/// What to do with objects of which no pack has an intact copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDamage {
    /// Leave the packs as they are.
    Refuse,
    /// Leave the packs as they are, unless only leftovers are damaged that no row names.
    DropLeftovers,
    /// Give them up, because other objects have to go.
    GiveUp,
}

/// Fails if one of these packs or its index cannot be read. An error is not damage: what could not be read for a moment
/// is not given up.
pub(crate) fn check_readable(objects: &Objects, packs: &[OldPack]) -> Result<()> {
    for old in packs {
        let pack = objects.packs().join(old.pack.name());
        for path in [pack.with_extension("idx"), pack] {
            std::io::copy(&mut open_regular(&path)?, &mut std::io::sink())
                .context(|| format!("cannot read `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// Writes a pack of those of these objects, newest first, that `packs` hold. Returns its name, or `None` if it would be
/// empty, and the objects in it.
///
/// If no pack has an intact copy of one of them, `on_damage` decides: it fails, and no pack may be removed; or the
/// object is left out.
pub(crate) fn write(
    objects: &Objects,
    packs: &[OldPack],
    wanted: &[NeededObject],
    on_damage: OnDamage,
    goes_on: &dyn Fn() -> bool,
) -> Result<(Option<PathBuf>, HashSet<ObjectId>)> {
    let reader = objects.reader()?;
    let mut ids: Vec<ObjectId> = wanted.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut to = PackWriter::begin(objects.repository())?;
    let mut copied = Copied::default();
    let settled = CopiedEntries::Settled {
        large: LARGEST_DELTA,
    };
    for old in packs {
        let done = old
            .pack
            .copy_entries(&ids, settled, &mut to, &mut copied, goes_on);
        // Given up is what is damaged, one object after the other, and not what a pack could not copy as a whole.
        if on_damage != OnDamage::GiveUp || !goes_on() {
            done?;
        }
    }
    let mut kept: HashSet<ObjectId> = copied.ids.into_iter().collect();
    // Paths are in the order of their newest objects, so that what a snapshot holds is close together.
    let mut paths: Vec<Vec<ObjectId>> = Vec::new();
    let mut records = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    for (id, path) in wanted.iter().filter(|(id, _)| kept.insert(*id)) {
        match path {
            None => records.push(*id),
            Some(path) => {
                let place = *places.entry(*path).or_insert_with(|| {
                    paths.push(Vec::new());
                    paths.len() - 1
                });
                paths[place].push(*id);
            }
        }
    }
    let mut writer = RepackWriter {
        reader: &reader,
        to,
        on_damage,
        lost: HashSet::new(),
        goes_on,
    };
    for path in &paths {
        writer.write(path, WINDOW)?;
    }
    writer.write(&records, WINDOW_OF_RECORDS)?;
    kept.retain(|id| !writer.lost.contains(id));
    Ok((writer.to.finish()?, kept))
}

struct RepackWriter<'a> {
    reader: &'a ObjectReader,
    to: PackWriter,
    on_damage: OnDamage,
    lost: HashSet<ObjectId>,
    goes_on: &'a dyn Fn() -> bool,
}

/// An object that is in the new pack.
struct DeltaBase {
    kind: ObjectKind,
    bytes: Arc<Vec<u8>>,
    offset: u64,
    depth: u32,
}

/// Returns the smallest delta from one of these bases, the newest tried first, if one is worth it.
fn smallest_delta<'b>(
    bases: &'b [DeltaBase],
    kind: ObjectKind,
    bytes: &[u8],
) -> Option<(Vec<u8>, &'b DeltaBase)> {
    // A delta that saves less than half is not worth a longer chain for every reader.
    let mut limit = bytes.len() / 2;
    let mut smallest = None;
    for base in bases.iter().rev() {
        if base.kind == kind
            && base.depth < MAX_CHAIN
            && let Some(delta) = delta(&base.bytes, bytes, limit)
        {
            limit = delta.len();
            smallest = Some((delta, base));
        }
    }
    smallest
}

impl RepackWriter<'_> {
    /// Writes objects that are most likely similar.
    fn write(&mut self, ids: &[ObjectId], window: usize) -> Result<()> {
        let mut bases: Vec<DeltaBase> = Vec::new();
        for id in ids {
            if !(self.goes_on)() {
                return Err(stopped());
            }
            let (kind, bytes) = match self.reader.any_once(*id) {
                Err(error) if self.on_damage == OnDamage::GiveUp && error.is_damage() => {
                    self.lost.insert(*id);
                    continue;
                }
                found => found?,
            };
            let offset = self.to.position()?;
            let (packed, depth) = match smallest_delta(&bases, kind, &bytes) {
                Some((delta, base)) => (
                    pack_delta(*id, &delta, offset - base.offset),
                    base.depth + 1,
                ),
                None => (pack_object(kind, *id, &bytes, Effort::Most), 0),
            };
            self.to.add(packed)?;
            // A larger one is no base: a delta takes memory and time by the size of both.
            if bytes.len() as u64 <= LARGEST_DELTA {
                if bases.len() == window {
                    bases.remove(0);
                }
                bases.push(DeltaBase {
                    kind,
                    bytes,
                    offset,
                    depth,
                });
            }
        }
        Ok(())
    }
}

/// Writes one pack of all entries of these packs, as they are, needed or not. Returns `None` if not all of them could
/// be copied.
pub(crate) fn join(
    objects: &Objects,
    packs: &[OldPack],
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<PathBuf>> {
    let mut to = PackWriter::begin(objects.repository())?;
    let mut copied = Copied::default();
    for old in packs {
        let mut ids = old.pack.ids()?;
        ids.sort_unstable();
        old.pack
            .copy_entries(&ids, CopiedEntries::All, &mut to, &mut copied, goes_on)?;
        // The old packs stay then: some of their objects would be in no other.
        if ids.iter().any(|id| !copied.ids.contains(id)) {
            return Ok(None);
        }
    }
    to.finish()
}

/// The error for yielding to another process.
pub(crate) fn stopped() -> Error {
    Error::busy("another process is at work in the workspace")
}

/// Removes packs that others replace, and returns the names of their files that are left. The caller holds the
/// workspace's lock, and the new packs are synced.
///
/// The multi-pack-index, which names them, goes first. Of each pack only the file of that name goes, because
/// other processes wait for the workspace, and there may be very many. An index without its pack names nothing.
pub(crate) fn remove(
    objects: &Objects,
    packs: &[OldPack],
    but: &[PathBuf],
) -> Result<Vec<PathBuf>> {
    let directory = objects.packs();
    presence::remove_file(&directory.join(multi_pack_index::NAME))?;
    let mut gone = HashSet::new();
    let but: HashSet<&Path> = but.iter().map(PathBuf::as_path).collect();
    for old in packs.iter().filter(|old| !but.contains(old.pack.name())) {
        presence::remove_file(&directory.join(old.pack.name()))?;
        gone.insert(old.pack.name().with_extension(""));
    }
    sync(&directory)?;
    let names = names(&directory)?
        .into_iter()
        .map(|name| PathBuf::from(OsString::from_vec(name)));
    Ok(names
        .filter(|name| gone.contains(&name.with_extension("")))
        .collect())
}

/// Removes files that were beside packs which are gone. The caller holds the workspace's lock: a pack of the same name
/// may have been written since.
pub(crate) fn remove_beside(objects: &Objects, files: &[PathBuf]) -> Result<()> {
    let directory = objects.packs();
    for file in files {
        let path = directory.join(file);
        if presence::metadata(&path.with_extension("pack"))?.is_none() {
            presence::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes what crashes left: packs without an index, indexes without a pack, temporary files, and loose objects, which
/// no process reads. The caller holds both locks of the workspace, so no process is writing. `is_old` returns whether a time,
/// in seconds since the epoch, is long enough ago.
pub(crate) fn sweep(objects: &Objects, is_old: &dyn Fn(i64) -> bool) -> Result<u64> {
    let directory = objects.packs();
    let mut freed = 0;
    let names: HashSet<Vec<u8>> = names(&directory)?.into_iter().collect();
    for name in &names {
        let path = directory.join(std::ffi::OsStr::from_bytes(name));
        let has = |ending: &str| {
            path.with_extension(ending)
                .file_name()
                .is_some_and(|name| names.contains(name.as_bytes()))
        };
        let is_stray = match path.extension().and_then(std::ffi::OsStr::to_str) {
            Some("pack") => !has("idx"),
            Some("idx" | "rev" | "bitmap" | "mtimes" | "keep") => !has("pack"),
            _ => name.starts_with(crate::fs::leftover::TEMPORARY_PACK.as_bytes()),
        };
        if is_stray {
            freed += sweep_file(&path, is_old)?;
        }
    }
    let above = objects.repository().join("objects");
    for name in self::names(&above)? {
        if name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit) {
            let folder = above.join(std::ffi::OsStr::from_bytes(&name));
            for loose in self::names(&folder)? {
                freed += sweep_file(&folder.join(std::ffi::OsStr::from_bytes(&loose)), is_old)?;
            }
            // It stays if a young object is left in it. `gc` comes again.
            let _ = fs::remove_dir(&folder);
        }
    }
    Ok(freed)
}

fn names(directory: &Path) -> Result<Vec<Vec<u8>>> {
    let entries = presence::entries(directory)?;
    let name = |entry: &fs::DirEntry| entry.file_name().as_bytes().to_vec();
    Ok(entries.iter().map(name).collect())
}

/// Removes an old file, and returns how many bytes that freed.
fn sweep_file(path: &Path, is_old: &dyn Fn(i64) -> bool) -> Result<u64> {
    let Some(metadata) = presence::metadata(path)? else {
        return Ok(0);
    };
    if metadata.is_dir() || !is_old(std::os::unix::fs::MetadataExt::mtime(&metadata)) {
        return Ok(0);
    }
    presence::remove_file(path)?;
    Ok(metadata.len())
}
