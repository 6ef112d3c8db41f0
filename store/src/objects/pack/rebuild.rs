//! Rebuilds the index of a pack from the pack if it is damaged or missing. This module does IO.
//!
//! ```text
//! pack: header | entries | checksum        index: ids, CRC-32s, offsets | the pack's checksum | its own
//!                └─ each decoded and hashed ─────►┘
//! ```

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::ZlibDecoder;
use libdeflater::Crc;
use sha1::{Digest, Sha1};

use super::data::{Data, PackEntry};
use super::entry::{EntryContent, FileRange, at_end};
use super::index::{self, Indexed};
use super::read::{LARGEST, PackFile, open_regular};
use super::write::{checksum, create_temporary, seal};
use crate::error::{Context, Error, Result};
use crate::fs::layout::sync;
use crate::fs::presence;
use crate::model::entry::ObjectId;
use crate::objects::borrowed_packs;
use crate::objects::hash::{hash, id_of_reader};

/// The signature and version at the start of every pack. The number of its objects follows.
const MAGIC: &[u8; 8] = b"PACK\0\0\0\x02";
/// The length of that header, and of a checksum, in bytes.
const HEADER: u64 = 12;
const CHECKSUM: usize = 20;

/// The largest pack whose index is rebuilt while an agent waits, in bytes.
pub(crate) const QUICKLY_READ_SIZE: u64 = 64 << 20;

/// Rebuilds the damaged and missing indexes of intact packs of at most `largest` bytes. Returns the packs' names. The
/// caller holds the workspace's lock, so that no process is putting a pack into place.
pub(crate) fn rebuild_indexes(directory: &Path, largest: u64) -> Result<Vec<PathBuf>> {
    let mut rebuilt = Vec::new();
    for pack in without_index(directory, largest)? {
        let (name, index) = pack?;
        put(&directory.join(&name).with_extension("idx"), &index)?;
        rebuilt.push(name);
    }
    if !rebuilt.is_empty() {
        sync(directory)?;
    }
    Ok(rebuilt)
}

/// Writes the index of a pack that came from elsewhere.
pub(crate) fn index_pack(directory: &Path, name: &str) -> Result<()> {
    let pack = directory.join(name);
    let index = index_of(&pack)?;
    put(&pack.with_extension("idx"), &index)?;
    sync(directory)
}

/// Rebuilds the indexes in memory, for a reader that has no lock and writes nothing. Packs that cannot be read are left out.
pub(crate) fn with_rebuilt_index(directory: &Path, largest: u64) -> Vec<Arc<PackFile>> {
    let packs = without_index(directory, largest).into_iter().flatten();
    let packs = packs.filter_map(|pack| {
        let (name, index) = pack.ok()?;
        PackFile::with_index(directory, &name, index).ok()
    });
    packs.map(Arc::new).collect()
}

/// Returns the intact packs of at most `largest` bytes whose index is damaged or missing, with the bytes of a new one.
fn without_index(
    directory: &Path,
    largest: u64,
) -> Result<impl Iterator<Item = Result<(PathBuf, Vec<u8>)>>> {
    let names = presence::entries(directory)?
        .into_iter()
        .map(|entry| PathBuf::from(entry.file_name()))
        .filter(|name| {
            let is_pack = name.extension().is_some_and(|ending| ending == "pack");
            // A borrowed pack is the user's file, and its index is git's.
            is_pack && !borrowed_packs::is_borrowed(name.as_os_str().as_encoded_bytes())
        });
    let directory = directory.to_owned();
    Ok(names.filter_map(move |name| {
        let index = needed_index(&directory.join(&name), largest).transpose()?;
        Some(index.map(|index| (name, index)))
    }))
}

/// Returns the bytes of an index for a pack, or `None` if it has one, is longer than `largest` bytes, or is damaged
/// itself.
fn needed_index(pack: &Path, largest: u64) -> Result<Option<Vec<u8>>> {
    if has_its_index(pack).unwrap_or(false) {
        return Ok(None);
    }
    let metadata = presence::metadata(pack)?;
    if metadata.is_none_or(|metadata| metadata.len() > largest) {
        return Ok(None);
    }
    // No index can be made from a damaged pack.
    Ok(index_of(pack).ok())
}

/// Returns whether the index beside a pack is intact, and made for this pack.
fn has_its_index(pack: &Path) -> Result<bool> {
    let mut bytes = Vec::new();
    open_regular(&pack.with_extension("idx"))?
        .read_to_end(&mut bytes)
        .context(|| "cannot read the index")?;
    let file = open_regular(pack)?;
    let end = end_of(&file)?;
    let Some((covered, own)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Ok(false);
    };
    Ok(covered.ends_with(&end) && Sha1::digest(covered)[..] == own[..])
}

/// Returns the checksum at the end of a pack.
fn end_of(file: &File) -> Result<[u8; CHECKSUM]> {
    let length = file.metadata().context(|| "cannot read the pack")?.len();
    let mut end = [0; CHECKSUM];
    let at = length.saturating_sub(CHECKSUM as u64);
    FileRange::new(file, at, length)
        .read_exact(&mut end)
        .context(|| "cannot read the pack")?;
    Ok(end)
}

/// Returns the bytes of the index of a pack. Fails if the pack is damaged.
fn index_of(pack: &Path) -> Result<Vec<u8>> {
    let file = open_regular(pack)?;
    let end = end_of(&file)?;
    let length = file.metadata().context(|| "cannot read the pack")?.len();
    let data = Data::new(&file, length);
    let found = checksum(&file, data.end).context(|| "cannot read the pack")?;
    let mut header = [0; HEADER as usize];
    FileRange::new(&file, 0, HEADER)
        .read_exact(&mut header)
        .context(|| "cannot read the pack")?;
    let count = header
        .strip_prefix(MAGIC)
        .and_then(|count| count.try_into().ok());
    let count = count
        .map(u32::from_be_bytes)
        // The pack's own checksum first: from a damaged pack, an index would be made that fits the damage.
        .filter(|_| found == end)
        .ok_or_else(|| Error::failed("the pack is not what was written"))?;
    let mut objects = HashMap::new();
    let mut offset = HEADER;
    for _ in 0..count {
        let (id, length) = measure(data.entry(offset)?, &objects)?;
        let crc = crc(&file, offset, length)?;
        objects.insert(
            id,
            Indexed {
                offset,
                length,
                crc,
            },
        );
        offset += length;
    }
    if offset != data.end {
        return Err(Error::failed("the pack holds more than it says"));
    }
    Ok(index::encode(&objects, &end))
}

/// Returns the id of an entry's object, and the entry's length in bytes. Bases that are named by id come before it.
fn measure(entry: PackEntry<'_>, before: &HashMap<ObjectId, Indexed>) -> Result<(ObjectId, u64)> {
    let size = entry.header.size;
    let mut decoder = ZlibDecoder::new(entry.compressed());
    let id = match entry.header.content {
        EntryContent::Whole(kind) => {
            let id = id_of_reader(kind, size, &mut decoder)
                .context(|| "the object cannot be decompressed")?;
            let wrong = || Error::failed("the object is not of the size that its entry says");
            Some(id.ok_or_else(wrong)?)
        }
        EntryContent::ToOffset(_) | EntryContent::ToObject(_) => {
            let delta = std::io::copy(&mut (&mut decoder).take(size), &mut std::io::sink());
            delta.context(|| "the delta cannot be decompressed")?;
            None
        }
    };
    if !at_end(&mut decoder) {
        return Err(Error::failed("the entry is larger than it says"));
    }
    let length = entry.header_length() + decoder.total_in();
    let id = match id {
        Some(id) => id,
        None => {
            let find = |base: &[u8; 20]| Some(before.get(&ObjectId::new(*base))?.offset);
            let (kind, bytes) = entry.resolve(LARGEST, find)?;
            hash(kind, &bytes)
        }
    };
    Ok((id, length))
}

fn crc(file: &File, offset: u64, length: u64) -> Result<u32> {
    let mut range = FileRange::new(file, offset, offset + length);
    let mut crc = Crc::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match range.read(&mut buffer).context(|| "cannot read the pack")? {
            0 => return Ok(crc.sum()),
            read => crc.update(&buffer[..read]),
        }
    }
}

/// Puts a synced file among the packs, and replaces an existing one.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("cannot write `{}`", path.display());
    let directory = path.parent().unwrap_or(Path::new("."));
    let (temporary, mut file) = create_temporary(directory)?;
    file.write_all(bytes).context(what)?;
    seal(&file).context(what)?;
    fs::rename(temporary.path(), path).context(what)
}
