//! Holds packs of the user's repository. This module does IO.
//!
//! Packs are cloned if the file system can share blocks between files: no other program can write to a clone. Otherwise
//! they are linked, although every program that can write to the user's repository can empty its files. If neither works
//! because the store is on another file system, a pack is copied if it is no larger than the files that it saves
//! reading; otherwise these are read. A pack is left alone if little of it is needed. They are never used as an
//! alternate: objects in an alternate disappear when its owner says so.
//!
//! However a pack was taken, it is borrowed ([`borrowed_packs`]) until the needed objects are copied: it was not read
//! yet, and a damaged object can be healed as long as the workspace's files still have its bytes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::HeldBlobs;
use crate::error::{Context, Result};
use crate::fs::layout::sync;
use crate::fs::names::packs as packs_of;
use crate::fs::system;
use crate::git::Location;
use crate::model::entry::ObjectId;
use crate::objects::borrowed_packs::{self, Borrowed};
use crate::objects::pack::read::{PackFile, open_regular, open_sized};
use crate::objects::pack::write::{create_temporary, seal};
use crate::objects::{self, Objects};

/// Fewer objects than this are read from their files, which is better than one more pack to search for ever.
const MIN_OBJECTS: usize = 32;

/// Takes the packs with wanted objects (sorted, with their sizes in bytes according to the index), and returns those
/// that we hold, with their sizes according to the packs.
pub(super) fn take(
    location: &Location,
    wanted: &[(ObjectId, u64)],
    objects: &Objects,
) -> HeldBlobs {
    let mut held_blobs = HeldBlobs::new();
    let ids: Vec<ObjectId> = wanted.iter().map(|(id, _)| *id).collect();
    let to = objects.packs();
    // Unsound packs are links that a killed hook left, or whose objects were found damaged. Their files are read
    // instead.
    let is_sound = |(name, _): &Borrowed| borrowed_packs::is_sound(&to, name);
    if !borrowed_packs::list(&to).is_ok_and(|held| held.iter().all(is_sound)) {
        return held_blobs;
    }
    let mut is_any_new = false;
    for name in names(&packs_of(&location.common)) {
        let theirs = PackFile::new(&packs_of(&location.common), &name);
        let Ok(found) = theirs.offsets(&ids) else {
            continue;
        };
        if found.len() < MIN_OBJECTS {
            continue;
        }
        let size = |(id, _): &(ObjectId, u64)| {
            wanted
                .binary_search_by_key(id, |(id, _)| *id)
                .map(|at| wanted[at].1)
        };
        let saved = found.iter().filter_map(|found| size(found).ok()).sum();
        if hold(&packs_of(&location.common), &to, &name, saved, objects).is_ok() {
            is_any_new = true;
            held_blobs.extend(with_sizes(&theirs, found));
        }
    }
    // A snapshot is on the disk when it returns, and these packs hold a part of it.
    let is_safe = !is_any_new
        || sync(&to).is_ok() && objects.reader().and_then(|reader| reader.refresh()).is_ok();
    if is_safe {
        held_blobs
    } else {
        HeldBlobs::new()
    }
}

/// Returns the blobs at some places of a pack with their sizes, without those that cannot be read.
fn with_sizes(pack: &PackFile, mut places: Vec<(ObjectId, u64)>) -> Vec<(ObjectId, u64)> {
    places.sort_unstable_by_key(|(_, offset)| *offset);
    let offsets: Vec<u64> = places.iter().map(|(_, offset)| *offset).collect();
    let sizes = pack.blob_sizes(&offsets).unwrap_or_default();
    let sized = places.into_iter().zip(sizes);
    sized
        .filter_map(|((id, _), size)| Some((id, size?)))
        .collect()
}

/// Returns the names of a directory's packs, largest first, so that objects that are in several come from few packs.
fn names(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| PathBuf::from(entry.file_name()));
    let packs = names.filter(|name| {
        name.extension()
            .is_some_and(|extension| extension == "pack")
    });
    let mut packs: Vec<_> = packs
        .filter_map(|name| {
            let metadata = directory.join(&name).symlink_metadata().ok()?;
            let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
            (metadata.is_file() && is_ours).then_some((std::cmp::Reverse(metadata.len()), name))
        })
        .collect();
    packs.sort();
    packs.into_iter().map(|(_, name)| name).collect()
}

/// Borrows a pack with its index, and syncs.
fn hold(from: &Path, to: &Path, name: &Path, saved: u64, objects: &Objects) -> Result<()> {
    objects::prepare(objects.repository())?;
    // The pack comes first: an index without its pack would name objects that do not exist.
    let names = [name.to_owned(), name.with_extension("idx")];
    names.iter().try_for_each(|name| {
        hold_file(
            &from.join(name),
            &to.join(borrowed_packs::name(name)),
            saved,
        )
    })
}

/// Borrows a file in the cheapest way that works: as a clone, a hard link or a copy. Syncs it.
fn hold_file(from: &Path, held: &Path, saved: u64) -> Result<()> {
    if held.exists() || clone(from, held).is_ok() {
        return sync(held);
    }
    match fs::hard_link(from, held) {
        Ok(()) => sync(held),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => sync(held),
        Err(_) => copy(from, held, saved),
    }
}

/// Makes a file that shares the other's blocks until one of them is written.
fn clone(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot clone `{}`", from.display());
    let source = open_regular(from)?;
    let directory = to.parent().unwrap_or(to);
    let (temporary, file) = create_temporary(directory)?;
    system::clone_blocks(&file, &source).context(what)?;
    seal(&file).context(what)?;
    fs::rename(temporary.path(), to).context(what)
}

/// Copies a file of at most `limit` bytes.
fn copy(from: &Path, to: &Path, limit: u64) -> Result<()> {
    let what = || format!("cannot copy `{}`", from.display());
    let (mut source, length) = open_sized(from)?;
    if length > limit {
        return Err(crate::error::Error::failed(
            "the pack is larger than what it holds for us",
        ));
    }
    let directory = to.parent().unwrap_or(to);
    let (temporary, mut file) = create_temporary(directory)?;
    std::io::copy(&mut source, &mut file).context(what)?;
    seal(&file).context(what)?;
    fs::rename(temporary.path(), to).context(what)
}
