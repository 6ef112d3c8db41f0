//! A private copy of what a store holds of one workspace, for a question about its present state: where the store cannot
//! be written to, neither a lock nor the snapshot that is compared can be made in it.

use std::fs::File;
use std::path::Path;

use crate::error::{Context, Result};
use crate::fs::{layout, names, presence};
use crate::sessions;
use crate::store::Store;
use crate::timeline::Place;

/// Copies the session store, and the objects of the workspace that holds a directory, into an empty private directory.
pub(crate) fn copy(store: &Store, cwd: &Path, into: &Path) -> Result<()> {
    let place = Place::known(store, cwd)?;
    let folder = names::workspace(into, &place.row.key);
    let (from, to) = (names::objects(&place.folder), names::objects(&folder));
    layout::make_private(&to.join("pack"))?;
    // The note of the last rows, then rows, then objects: each was written after the next.
    let note = place.folder.join(names::LOCK);
    if presence::metadata(&note)?.is_some_and(|note| note.is_file()) {
        copy_private(&note, &folder.join(names::LOCK))?;
    }
    sessions::copy_into(store.database.connection(), into)?;
    for entry in presence::entries(&from.join("pack"))? {
        let (path, name) = (entry.path(), entry.file_name());
        let what = || format!("cannot copy `{}`", path.display());
        let is_of_a_pack = path
            .extension()
            .is_some_and(|ending| ending == "pack" || ending == "idx");
        if is_of_a_pack && entry.file_type().context(what)?.is_file() {
            copy_private(&path, &to.join("pack").join(name))?;
        }
    }
    Ok(())
}

/// Copies a file's bytes to a new one, which can be written to whatever the permissions of the other are.
fn copy_private(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot copy `{}`", from.display());
    let mut source = File::open(from).context(what)?;
    std::io::copy(&mut source, &mut layout::open_private(to)?).context(what)?;
    Ok(())
}
