//! Reads one path of the workspace as it is, without a link followed and without a trace in the store.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use crate::error::{Context, Result};
use crate::fs::beneath;
use crate::model::path::WorkspacePath;

/// The present content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Nothing,
    /// A regular file with these bytes.
    File(Vec<u8>),
    /// A regular file of more bytes than were asked for.
    TooLarge,
    /// A symbolic link, a directory or a special file.
    NoFile(&'static str),
}

/// Reads a path, at most `limit` bytes of it.
pub(crate) fn read_now(root: &Path, path: &WorkspacePath, limit: u64) -> Result<Now> {
    let what = || format!("cannot read `{}`", path.to_text());
    let parent = path.parent();
    let parent = parent.as_ref().map_or(&b""[..], WorkspacePath::as_bytes);
    let found = beneath::open_root(root).and_then(|root| {
        let directory = beneath::open_directory(root.as_fd(), parent)?;
        let stamp = beneath::stat(directory.as_fd(), path.name())?;
        Ok((directory, stamp))
    });
    let (directory, stamp) = match found {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Now::Nothing),
        Err(error) => return Err(std::io::Error::from(error)).context(what),
    };
    match stamp.file_type() {
        0o100_000 => {}
        0o120_000 => return Ok(Now::NoFile("a symbolic link")),
        0o040_000 => return Ok(Now::NoFile("a directory")),
        _ => return Ok(Now::NoFile("a special file")),
    }
    let file = beneath::open_file(directory.as_fd(), path.name())
        .map(File::from)
        .map_err(std::io::Error::from)
        .context(what)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).context(what)?;
    Ok(if bytes.len() as u64 > limit {
        Now::TooLarge
    } else {
        Now::File(bytes)
    })
}
