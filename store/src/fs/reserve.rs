//! Room for a note on a full disk: a small file that is made before the disk is full. This module does IO.
//!
//! It is written in place, and holds lines of text up to the first zero byte.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::names::RESERVE;
use super::{layout, ownership, presence};
use crate::error::{Context, Result};

/// How much room is kept, in bytes.
const SIZE: usize = 16 << 10;

/// The end of the name of a note beside the store.
const BESIDE: &str = ".ckpt-hook-lost";

/// Returns where the reserve of a store is.
pub(crate) fn inside(directory: &Path) -> PathBuf {
    directory.join(RESERVE)
}

/// Returns where a note is made if nothing in the store can be written: a file beside its directory.
pub(crate) fn beside(directory: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(".");
    name.push(directory.file_name()?);
    name.push(BESIDE);
    Some(directory.with_file_name(name))
}

/// Returns that file if it is there, and the user's own: the directory that it is in may be everybody's.
pub(crate) fn found_beside(directory: &Path) -> Option<PathBuf> {
    let is_ours = |found: Metadata| found.is_file() && found.uid() == ownership::user();
    beside(directory).filter(|path| path.symlink_metadata().is_ok_and(is_ours))
}

/// Returns the note, or `None` if there is no reserve. If there is no note, only one byte is read.
pub(crate) fn read(directory: &Path) -> Result<Option<String>> {
    read_at(&inside(directory))
}

/// Like [`read`], of a reserve at a path.
pub(crate) fn read_at(path: &Path) -> Result<Option<String>> {
    let mut first = [0; 1];
    let opened = File::options()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path);
    let mut file = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.context(|| format!("cannot open `{}`", path.display()))?,
    };
    let what = || format!("cannot read `{}`", path.display());
    // An empty file has no note, either.
    let _ = file.read(&mut first).context(what)?;
    if first == [0] {
        return Ok(Some(String::new()));
    }
    text(&mut file).map(Some).context(what)
}

/// Changes the note, one process at a time. If the file was never created, there may be no room for it.
pub(crate) fn change_at(path: &Path, change: impl FnOnce(&str) -> String) -> Result<()> {
    let mut file = layout::open_private(path)?;
    let what = || format!("cannot write to `{}`", path.display());
    // A lock of the kernel's needs no room, unlike a lock file.
    flock(&file, FlockOperation::LockExclusive)
        .map_err(std::io::Error::from)
        .context(what)?;
    let mut bytes = change(&text(&mut file).context(what)?).into_bytes();
    // Always as long as the file: zeros cover what an older note left, and text beyond the end would need room that a
    // full disk does not have, so it is cut off.
    bytes.resize(SIZE, 0);
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.write_all(&bytes))
        // A full disk may be noticed only when the bytes are written out.
        .and_then(|()| file.sync_data())
        .context(what)
}

/// Creates the file, which was found missing.
pub(crate) fn make(directory: &Path) -> Result<()> {
    let path = inside(directory);
    let mut file = layout::open_private(&path)?;
    file.write_all(&[0; SIZE])
        .context(|| format!("cannot write to `{}`", path.display()))
}

/// Removes the note, wherever it was made.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    presence::remove_file(&inside(directory))?;
    found_beside(directory).map_or(Ok(()), |path| presence::remove_file(&path))
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(SIZE as u64).read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
