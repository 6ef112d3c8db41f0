//! Keeps what rows need, and frees the rest. This module does IO.
//!
//! ```text
//! begin   without the workspace's lock: a pack of all that the roots reach now, synced
//! end     under it: what came to be needed since; then the packs that were there before go
//! ```
//!
//! A reader that has an old pack open keeps using it. Any other reader looks at the directory again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use super::Snapshots;
use super::adoption::Reached;
use crate::error::{Context, Error, Result};
use crate::fs::disk;
use crate::model::entry::{ObjectId, Roots};
use crate::objects::borrowed_packs;
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::ObjectReader;
use crate::objects::repack::{self, NeededObject, OldPack, OnDamage};

/// How many packs may exist before they are joined.
const MAX_SMALL_PACKS: usize = 48;
/// Packs of at least this size are not joined with others: rewriting them again and again would cost too much.
const JOINED_SIZE_LIMIT: u64 = 32 << 20;
/// Room that is left free on the disk, in bytes.
const RESERVED_ROOM: u64 = 16 << 20;

/// The packs to be rewritten.
pub(crate) struct Repack {
    old: Vec<OldPack>,
    reached: Reached,
    kept: HashSet<ObjectId>,
    /// What was given up.
    lost: HashSet<ObjectId>,
    new: Option<PathBuf>,
}

/// The sizes of a workspace's packs on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackSizes {
    /// The number of the store's own packs.
    pub packs: usize,
    /// The bytes of these packs and their indexes.
    pub bytes: u64,
}

impl Snapshots {
    /// Measures the store's own packs.
    pub(crate) fn pack_sizes(&self) -> Result<PackSizes> {
        let packs = repack::list(&self.objects)?;
        Ok(PackSizes {
            packs: packs.len(),
            bytes: packs.iter().map(|pack| pack.bytes).sum(),
        })
    }

    /// Writes one pack of all that roots reach and, if `young_since` (seconds since the epoch) is given, of everything
    /// except commits in packs that were written since then. If something is damaged, `on_damage` decides: it fails,
    /// and nothing may go; or what is damaged is left out, be it only what no root reaches.
    pub(crate) fn begin_repack(
        &self,
        roots: &Roots,
        young_since: Option<i64>,
        on_damage: OnDamage,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Repack> {
        let old = repack::list(&self.objects)?;
        if on_damage != OnDamage::Refuse {
            repack::check_readable(&self.objects, &old)?;
        }
        self.check_room(old.iter().map(|pack| pack.bytes).sum())?;
        let reader = self.objects.reader()?;
        let mut reached = Reached::default();
        if !reached.walk(&reader, roots, goes_on) {
            return Err(repack::stopped());
        }
        let mut lost: HashSet<ObjectId> = HashSet::new();
        if on_damage == OnDamage::GiveUp {
            lost.extend(reached.torn.drain(..).map(|(id, _, _)| id));
        }
        // What was given up is no longer among the torn ones. Any other would be dropped in silence.
        damaged(&reached)?;
        // What hooks store while this runs is in no row yet. So young packs are kept as a whole: an object in them
        // may be waiting for the row that names it.
        let mut wanted = wanted(&reached);
        let is_young = |pack: &&OldPack| young_since.is_some_and(|since| pack.written >= since);
        for pack in old.iter().filter(is_young) {
            let ids = pack.pack.ids()?;
            // The note beside the refs replaces the commits of snapshots.
            let others = ids
                .iter()
                .filter(|id| !reached.objects.contains_key(id) && !pack.pack.has_commit(**id))
                .filter(|id| on_damage != OnDamage::DropLeftovers || !is_damaged(&reader, **id));
            wanted.extend(others.map(|id| (*id, None)));
        }
        let (new, kept) = repack::write(&self.objects, &old, &wanted, on_damage, goes_on)?;
        lost.extend(
            wanted
                .iter()
                .map(|(id, _)| *id)
                .filter(|id| !kept.contains(id)),
        );
        Ok(Repack {
            old,
            reached,
            kept,
            lost,
            new,
        })
    }

    /// Replaces the old packs by the new one. The caller holds the workspace's lock, and passes what rows name under
    /// it. Returns the files that are left of them, for [`Snapshots::remove_beside`].
    pub(crate) fn end_repack(&self, repack: Repack, roots: &Roots) -> Result<Vec<PathBuf>> {
        let Repack {
            old,
            mut reached,
            kept,
            lost,
            new,
        } = repack;
        let reader = self.objects.reader()?;
        reader.refresh()?;
        // Hooks went on while the pack was written. What rows have come to name since then is added now, under the
        // lock.
        reached.walk(&reader, roots, &|| true);
        damaged(&reached)?;
        let mut late: Vec<ObjectId> = reached.objects.keys().copied().collect();
        late.retain(|id| !kept.contains(id) && !lost.contains(id));
        // What was written since is in packs that stay.
        let names: HashSet<&std::path::Path> = old.iter().map(|old| old.pack.name()).collect();
        for pack in repack::list(&self.objects)? {
            if !names.contains(pack.pack.name()) {
                let held = pack.pack.offsets(&late)?;
                let held: HashSet<ObjectId> = held.into_iter().map(|(id, _)| id).collect();
                late.retain(|id| !held.contains(id));
            }
        }
        let mut more = PackWriter::begin(self.objects.repository())?;
        for id in late {
            let (kind, bytes) = reader.any_once(id)?;
            more.add(pack_object(kind, id, &bytes, Effort::More))?;
        }
        // Synced, and only then do the old packs go. Killed in between, every object is in two packs, and the next
        // `gc` takes one.
        let more = more.finish()?;
        let but: Vec<PathBuf> = new.into_iter().chain(more).collect();
        repack::remove(&self.objects, &old, &but)
    }

    /// Removes files that were beside packs which are gone. The caller holds the workspace's lock.
    pub(crate) fn remove_beside(&self, files: &[PathBuf]) -> Result<()> {
        repack::remove_beside(&self.objects, files)
    }

    /// Joins small packs if there are many. Returns the old packs and the new one's name; [`Snapshots::end_join`]
    /// removes the old ones under the workspace's lock.
    pub(crate) fn begin_join(&self, goes_on: &dyn Fn() -> bool) -> Result<Option<JoinedPacks>> {
        let mut small = repack::list(&self.objects)?;
        small.retain(|pack| pack.bytes < JOINED_SIZE_LIMIT);
        if small.len() <= MAX_SMALL_PACKS {
            return Ok(None);
        }
        self.check_room(small.iter().map(|pack| pack.bytes).sum())?;
        let new = repack::join(&self.objects, &small, goes_on)?;
        Ok(new.map(|new| JoinedPacks { small, new }))
    }

    /// See [`Snapshots::begin_join`]. Returns the files that are left of the old packs, for [`Snapshots::remove_beside`].
    pub(crate) fn end_join(&self, joined: &JoinedPacks) -> Result<Vec<PathBuf>> {
        repack::remove(
            &self.objects,
            &joined.small,
            std::slice::from_ref(&joined.new),
        )
    }

    /// Removes what crashes left, and borrowed packs that could not be read, if they are older than `before` (seconds
    /// since the epoch), or always for `None`. The caller holds both locks of the workspace, and has just made a pack
    /// of all that rows name.
    pub(crate) fn sweep(&self, before: Option<i64>) -> Result<u64> {
        let is_old = |time| before.is_none_or(|before| time < before);
        borrowed_packs::drop_unread(&self.objects.packs(), &is_old)?;
        repack::sweep(&self.objects, &is_old)
    }

    /// Returns how many bytes each of these groups needs that no earlier one needs, and how many nothing needs. Fails
    /// once `goes_on` returns false.
    pub(crate) fn measure(
        &self,
        groups: &[Roots],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(Vec<u64>, u64)> {
        let mut sizes = self.entry_sizes()?;
        let reader = self.objects.reader()?;
        let mut reached = Reached::default();
        let mut taken = Vec::with_capacity(groups.len());
        let mut counted = 0;
        for group in groups {
            if !reached.walk(&reader, group, goes_on) {
                return Err(repack::stopped());
            }
            let new = &reached.order[counted..];
            taken.push(new.iter().filter_map(|id| sizes.remove(id)).sum());
            counted = reached.order.len();
        }
        Ok((taken, sizes.values().sum()))
    }

    /// Returns the bytes that each object takes. If another process joins packs meanwhile, it reads again: what that
    /// removed is in the pack that it wrote.
    fn entry_sizes(&self) -> Result<HashMap<ObjectId, u64>> {
        loop {
            let packs = repack::list(&self.objects)?;
            match sizes_of(&packs) {
                Err(error) if names_of(&repack::list(&self.objects)?) == names_of(&packs) => {
                    return Err(error);
                }
                Err(_) => {}
                sizes => return sizes,
            }
        }
    }

    /// Checks that there is room to rewrite packs. That takes at most as much as they take now.
    fn check_room(&self, bytes: u64) -> Result<()> {
        let free = disk::free(&self.directory)?;
        if free >= bytes.saturating_add(RESERVED_ROOM) {
            return Ok(());
        }
        Err(Error::failed(format!(
            "the disk has too little room to rewrite the packs of `{}`: that takes {} MB, and {} MB are free",
            self.directory.display(),
            (bytes + RESERVED_ROOM) >> 20,
            free >> 20
        )))
    }
}

fn sizes_of(packs: &[OldPack]) -> Result<HashMap<ObjectId, u64>> {
    let mut sizes = HashMap::new();
    for pack in packs {
        let entries = pack.pack.entry_sizes();
        let what = || format!("cannot measure the pack `{}`", pack.pack.name().display());
        for (id, size) in entries.context(what)? {
            *sizes.entry(id).or_default() += size;
        }
    }
    Ok(sizes)
}

fn names_of(packs: &[OldPack]) -> HashSet<&std::path::Path> {
    packs.iter().map(|pack| pack.pack.name()).collect()
}

/// Packs that were joined into one.
pub(crate) struct JoinedPacks {
    small: Vec<OldPack>,
    new: PathBuf,
}

/// Returns whether no pack has an intact copy of an object. An object that could not be read for a moment is not
/// damaged.
fn is_damaged(reader: &ObjectReader, id: ObjectId) -> bool {
    matches!(reader.any_once(id), Err(error) if error.is_damage())
}

fn damaged(reached: &Reached) -> Result<()> {
    match reached.torn.first() {
        Some((id, _, error)) => Err(Error::damaged(format!(
            "the tree `{id}` is damaged ({error}): nothing in its workspace is removed"
        ))
        .hint("`ckpt-hook doctor --all` says what is lost, and heals what it can")),
        None => Ok(()),
    }
}

/// Returns the objects, newest first, with the numbers of their paths.
fn wanted(reached: &Reached) -> Vec<NeededObject> {
    let mut numbers: BTreeMap<&[u8], u32> = BTreeMap::new();
    let wanted = reached.order.iter().map(|id| {
        let path = reached.objects.get(id).and_then(Option::as_deref)?;
        let next = u32::try_from(numbers.len()).ok()?;
        Some(*numbers.entry(path).or_insert(next))
    });
    let paths: Vec<Option<u32>> = wanted.collect();
    reached.order.iter().copied().zip(paths).collect()
}
