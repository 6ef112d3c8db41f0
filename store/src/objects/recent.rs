//! The packs that no multi-pack-index lists yet, in one file: their names, and the contents of the short ones. This
//! module does IO.
//!
//! Without it, every process would list the directory of packs, which grows with every step, and open each of the
//! newest. It is a hint in the format of a multi-pack-index: a process that writes a pack removes it first, and
//! rewrites it when the pack is complete. If it is missing, or if no pack in it has an object, the directory is listed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::multi_pack_index::{MultiPackIndex, ObjectLocation, encode};
use super::pack::read::{PackFile, open_regular};
use super::pack::write::create_temporary;
use crate::error::{Context, Result, contained};
use crate::model::entry::ObjectId;

/// Its name beside the directory of packs, in the folder for such files of git.
const NAME: &str = "info/recent-packs";

/// The longest index whose contents are noted, in bytes: some 1,000 objects. The note is read and written with every
/// pack, so it must not grow with a first snapshot, whose pack holds the whole workspace.
const LONGEST: u64 = 32 << 10;

fn path(packs: &Path) -> Option<PathBuf> {
    Some(packs.parent()?.join(NAME))
}

/// Removes it. Call this before a pack is put among the others.
pub(crate) fn forget(packs: &Path) {
    if let Some(path) = path(packs) {
        let _ = std::fs::remove_file(path);
    }
}

/// Opens it, or returns `None` if there is no usable one.
pub(crate) fn open(packs: &Path) -> Option<MultiPackIndex> {
    let file = open_regular(&path(packs)?).ok()?;
    let index = contained(|| MultiPackIndex::open(file))?.ok()?;
    // It is not synced, so a power cut may have left anything.
    index.is_sound().then_some(index)
}

/// Writes it: the contents of `old`, and these packs. It is not synced: its checksum shows whether it reached the disk.
pub(crate) fn write<'p>(
    directory: &Path,
    old: Option<&MultiPackIndex>,
    packs: impl IntoIterator<Item = &'p Arc<PackFile>>,
) -> Result<()> {
    let what = || format!("cannot note the recent packs of `{}`", directory.display());
    let (names, places) = join(old, packs)?;
    let Some(path) = path(directory) else {
        return Ok(());
    };
    let (temporary, mut file) = create_temporary(directory)?;
    file.write_all(&encode(&names, &places)).context(what)?;
    std::fs::rename(temporary.path(), path).context(what)
}

/// Returns the names, sorted, and the locations by id. For an object in several packs, the last given one counts.
fn join<'p>(
    old: Option<&MultiPackIndex>,
    packs: impl IntoIterator<Item = &'p Arc<PackFile>>,
) -> Result<(Vec<Vec<u8>>, Vec<ObjectLocation>)> {
    let mut names: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    let mut places: BTreeMap<ObjectId, (Vec<u8>, u64)> = BTreeMap::new();
    if let Some(old) = old {
        names.extend((0..old.packs()).filter_map(|number| Some((old.name(number)?, 0))));
        for place in old.all()? {
            if let Some(name) = old.name(place.pack) {
                places.insert(place.id, (name, place.offset));
            }
        }
    }
    for pack in packs {
        let name = pack.name().with_extension("idx");
        let name = name.into_os_string().into_encoded_bytes();
        names.insert(name.clone(), 0);
        // A pack with many objects is searched by its own index.
        if let Some((index, _)) = pack.short_index(LONGEST)? {
            let entries = index.entries()?.into_iter();
            places.extend(entries.map(|(id, offset)| (id, (name.clone(), offset))));
        }
    }
    names
        .values_mut()
        .zip(0..)
        .for_each(|(number, place)| *number = place);
    let numbered = places
        .into_iter()
        .map(|(id, (name, offset))| ObjectLocation {
            id,
            pack: names[&name],
            offset,
        });
    let numbered = numbered.collect();
    Ok((names.into_keys().collect(), numbered))
}
