//! Finds snapshots that the session store does not know: it was deleted, emptied, or could not be read.
//! `doctor --repair` takes them up. Until then, no command may call their history empty, or believe that something in it
//! was forgotten.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::workspace::workspace_of;
use crate::error::{Error, Result};
use crate::fs::{layout, names, presence};
use crate::sessions;
use crate::snapshot::Snapshots;
use crate::store::Store;

/// A folder of the store with a repository that no row knows.
pub(crate) struct Orphan {
    pub key: String,
    pub folder: PathBuf,
}

/// Returns the folders that no row knows, except those that are being removed.
pub(crate) fn orphans(store: &Store) -> Result<Vec<Orphan>> {
    let directory = names::snapshots(&store.surroundings.directory);
    let mut orphans = Vec::new();
    for entry in presence::entries(&directory)? {
        let folder = entry.path();
        let key = entry.file_name().into_string();
        if let (Ok(key), true) = (key, layout::holds_objects(&folder)?) {
            orphans.push(Orphan { key, folder });
        }
    }
    // A row is written before its folder is made, so the folders have to be listed before the rows.
    let known = sessions::workspace_keys(store.database.connection())?;
    orphans.retain(|orphan| !known.contains(&orphan.key));
    orphans.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(orphans)
}

/// Fails if the store may hold snapshots of a directory that the session store does not know.
///
/// A repository that does not say which directory it belongs to may belong to this one.
pub(crate) fn refuse_orphans(store: &Store, cwd: &Path) -> Result<()> {
    if store.is_missing {
        return Ok(());
    }
    let orphans = orphans(store)?;
    if orphans.is_empty() {
        return Ok(());
    }
    let workspace = workspace_of(store, cwd)?;
    for orphan in orphans {
        // To be refused although the orphan is another directory's is a nuisance; to be told that nothing was
        // recorded here, where it was, is a lie. So what cannot be read counts as this directory's.
        let path = Snapshots::open(&orphan.folder).and_then(|its| its.noted_path(&orphan.key));
        let Ok(Some(path)) = path else {
            return Err(Error::unavailable(format!(
                "`{}` holds snapshots whose session store is gone, perhaps those of `{}`",
                orphan.folder.display(),
                workspace.root.display()
            ))
            .hint("`ckpt-hook doctor --repair` builds a new one from them, or says why it cannot; then remove that folder if you do not need it"));
        };
        let path = Path::new(std::ffi::OsStr::from_bytes(&path));
        if path.starts_with(&workspace.root) && workspace.cwd.starts_with(path) {
            return Err(Error::unavailable(format!(
                "snapshots of `{}` are here, but their session store is gone",
                path.display()
            ))
            .hint("`ckpt-hook doctor --repair` builds a new one from them"));
        }
    }
    Ok(())
}
