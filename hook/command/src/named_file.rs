//! Files that a person names for what is written. This module does IO.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use ckpt_store::TEMPORARY;
use ckpt_store::error::{Context, Result};

/// What holds contents of a workspace: for its user alone.
pub const PRIVATE: u32 = 0o600;
/// What everybody has anyway.
pub const PUBLIC: u32 = 0o644;

/// Writes a file, with this mode whatever the umask. One that is there is replaced, and keeps its permissions. A link is
/// replaced as well, because one in a clone may lead to any file of the user's. Below `/dev` and `/proc` are streams,
/// which are written to.
///
/// # Errors
///
/// A file that cannot be written, or something in its place that is no file.
pub fn write(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let written = if ["/dev", "/proc"].iter().any(|top| path.starts_with(top)) {
        let stream = OpenOptions::new().write(true).open(path);
        stream.and_then(|mut stream| stream.write_all(content))
    } else {
        replace(path, content, mode)
    };
    written.context(|| format!("cannot write `{}`", path.display()))
}

fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mode = match path.symlink_metadata() {
        Ok(found) if found.is_file() => found.mode() & 0o777,
        Ok(found) if found.is_symlink() => mode,
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => mode,
        Err(error) => return Err(error),
    };
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    file.persist(path)?;
    Ok(())
}
