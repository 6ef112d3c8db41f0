//! Removes the whole store in a directory. This module does IO.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gc::sizes;
use crate::error::{Context, Result};
use crate::fs::names::DATABASE;
use crate::fs::{layout, ownership, presence, reserve};

/// Fails if [`purge`] would, as far as that can be known beforehand.
pub(crate) fn check_purge(directory: &Path) -> Result<()> {
    match ownership::find(directory)? {
        Some(directory) => ownership::check_all_ours(&directory),
        None => Ok(()),
    }
}

/// Removes the whole store in a directory. The database goes last: if this is killed, a store is left, and the next
/// call removes it.
pub(crate) fn purge(directory: &Path) -> Result<bool> {
    let Some(directory) = ownership::find(directory)? else {
        return Ok(false);
    };
    let _lock = layout::lock_upkeep(&directory, Duration::ZERO)?;
    ownership::check_all_ours(&directory)?;
    remove_all(&directory).map_err(|error| {
        error.after(["a part of it may be gone: the same command removes the rest".to_owned()])
    })?;
    Ok(true)
}

fn remove_all(directory: &Path) -> Result<()> {
    sizes::remove_folders(directory, |_| Ok(true))?;
    let what = || format!("cannot remove `{}`", directory.display());
    let entries = presence::entries(directory)?;
    let mut names: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    names.sort_by_key(|path| path.file_name().is_some_and(|name| name == DATABASE));
    for path in names {
        if presence::is_directory(&path)? {
            sizes::remove_folder(&path)?;
        } else {
            presence::remove_file(&path)?;
        }
    }
    fs::remove_dir(directory).context(what)?;
    reserve::found_beside(directory).map_or(Ok(()), |path| presence::remove_file(&path))
}
