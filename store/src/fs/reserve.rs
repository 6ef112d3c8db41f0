//! Room for a note on a full disk: a small file that is made before the disk is full. This module does IO.
//!
//! It is written in place, and holds lines of text up to the first zero byte.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::names::RESERVE;
use super::{layout, presence};
use crate::error::{Context, Result};

/// How much room is kept, in bytes.
const SIZE: usize = 16 << 10;

/// Returns the note, or `None` if there is no reserve. If there is no note, only one byte is read.
pub(crate) fn read(directory: &Path) -> Result<Option<String>> {
    let path = directory.join(RESERVE);
    let mut first = [0; 1];
    let opened = File::options()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(&path);
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
pub(crate) fn change(directory: &Path, change: impl FnOnce(&str) -> String) -> Result<()> {
    let path = directory.join(RESERVE);
    let mut file = layout::open_private(&path)?;
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
    let path = directory.join(RESERVE);
    let mut file = layout::open_private(&path)?;
    file.write_all(&[0; SIZE])
        .context(|| format!("cannot write to `{}`", path.display()))
}

/// Removes the note.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    presence::remove_file(&directory.join(RESERVE))
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(SIZE as u64).read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
