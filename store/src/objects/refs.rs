//! Refs to what the rows name, so that git takes it for needed: `git fsck` checks it, and no `git gc` by hand removes it. This
//! module does IO.
//!
//! They exist only for git. They are in one file, `packed-refs`, which is rewritten when there is time: in the
//! background, after a command of the user, and by `doctor`. Snapshots since then have no ref yet.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use super::pack::read::open_regular;
use super::pack::write::{Temporary, create_temporary};
use crate::error::{Context, Result};
use crate::model::entry::ObjectId;

/// The file's name in the repository.
pub(crate) const NAME: &str = "packed-refs";

/// The first line, as git writes it.
const HEADER: &[u8] = b"# pack-refs with: peeled fully-peeled sorted \n";

/// Returns whether the file is ours, by its first line.
pub(super) fn are_ours(path: &Path) -> bool {
    let mut first = [0; HEADER.len()];
    open_regular(path)
        .and_then(|mut file| {
            file.read_exact(&mut first)
                .context(|| "cannot read the refs")
        })
        .is_ok_and(|()| first == HEADER)
}

/// Writes a ref for each snapshot's tree, by its number, and for each blob.
pub(crate) fn write(
    repository: &Path,
    trees: &[(i64, ObjectId)],
    blobs: &[ObjectId],
) -> Result<()> {
    let what = || format!("cannot write the refs of `{}`", repository.display());
    let mut lines: Vec<String> = blobs
        .iter()
        .map(|id| format!("{id} refs/records/{id}\n"))
        .chain(
            trees
                .iter()
                .map(|(number, id)| format!("{id} refs/snapshots/{number:019}\n")),
        )
        .collect();
    // Git looks a ref up by halves.
    lines.sort_unstable_by(|left, right| left[41..].cmp(&right[41..]));
    let bytes = [HEADER, lines.concat().as_bytes()].concat();
    if fs::read(repository.join(NAME)).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let (temporary, mut file): (Temporary, _) = create_temporary(repository)?;
    file.write_all(&bytes).context(what)?;
    fs::rename(temporary.path(), repository.join(NAME)).context(what)
}
