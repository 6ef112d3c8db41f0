//! Files that a person names for what is written. This module does IO.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use ckpt_store::Error;
use ckpt_store::TEMPORARY;
use ckpt_store::error::{Context, Result};

/// What holds contents of a workspace: for its user alone.
pub const PRIVATE: u32 = 0o600;
/// What everybody has anyway.
pub const PUBLIC: u32 = 0o644;

/// What happens to a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Stays,
    /// It is replaced, and keeps its permissions.
    Replaced,
}

impl Existing {
    /// Returns the choice: that it is replaced, or none.
    pub fn asked(force: bool) -> Self {
        match force {
            true => Self::Replaced,
            false => Self::Stays,
        }
    }
}

/// Writes a file, with this mode whatever the umask. A link is never followed, because one in a clone may lead to any
/// file of the user's. Below `/dev` and `/proc` are streams, which are written to.
///
/// # Errors
///
/// A file that cannot be written, one that is there and stays, or something in its place that is no file.
pub fn write(path: &Path, content: &[u8], mode: u32, existing: Existing) -> Result<()> {
    let written = if ["/dev", "/proc"].iter().any(|top| path.starts_with(top)) {
        let stream = OpenOptions::new().write(true).open(path);
        stream.and_then(|mut stream| stream.write_all(content))
    } else {
        place(path, content, mode, existing)
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::failed(format!(
            "`{}` is there already",
            path.display()
        ))
        .hint("give another name, or `--force` to replace it")),
        written => written.context(|| format!("cannot write `{}`", path.display())),
    }
}

fn place(path: &Path, content: &[u8], mode: u32, existing: Existing) -> io::Result<()> {
    let mode = match path.symlink_metadata() {
        Ok(found) if found.is_file() => found.mode() & 0o777,
        Ok(found) if found.is_symlink() => mode,
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => mode,
        Err(error) => return Err(error),
    };
    let folder = path.parent().unwrap_or(path);
    // Its error is about the folder, not about a temporary name.
    folder.read_dir()?;
    let file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(folder);
    let mut file = file.map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(content)?;
    file.as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    match existing {
        Existing::Stays => file.persist_noclobber(path),
        Existing::Replaced => file.persist(path),
    }?;
    Ok(())
}
