//! Copies a damaged session store with the first page of a sound one. This module does IO.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Context, Result};
use crate::sessions::database::with_suffix;
use crate::sessions::new_file::make_file;

/// The page size of every session store.
pub(super) const PAGE: usize = 4096;

/// Copies a session store and its log, with the first page of a sound one. It holds the header, and where the
/// definitions of the tables are; these are read as they are.
pub(super) fn graft(source: &Path, sound: &Path, target: &Path) -> Result<()> {
    let what = || format!("cannot copy `{}`", source.display());
    for ending in ["", "-wal"] {
        let mut from = match File::open(with_suffix(source, ending)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !ending.is_empty() => {
                continue;
            }
            opened => opened.context(what)?,
        };
        let to = with_suffix(target, ending);
        make_file(&to)?;
        let mut to = File::options()
            .write(true)
            .truncate(true)
            .open(to)
            .context(what)?;
        std::io::copy(&mut from, &mut to).context(what)?;
        // It stays open: to close it would release the locks that SQLite holds on the file in this process, and others
        // that have it open could write to it again (SQLite's `howtocorrupt.html`, 2.2). The process ends soon.
        std::mem::forget(from);
    }
    let mut page = vec![0; PAGE];
    let sound = File::open(sound).context(what)?;
    sound.read_exact_at(&mut page, 0).context(what)?;
    // The file may have a log, may have grown, and its list of free pages is another.
    page[18..20].fill(2);
    page[32..40].fill(0);
    page[92] ^= 0xff;
    let target = File::options().write(true).open(target).context(what)?;
    target.write_all_at(&page, 0).context(what)
}
