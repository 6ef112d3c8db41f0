//! Writes refs to what the rows name, so that git knows it is needed: `git fsck` checks it, and a manual `git gc` does
//! not remove it. This module does IO.
//!
//! They exist only for git. They are in one file, `packed-refs`, which is rewritten when there is time: in the
//! background, after a command of the user, and by `doctor`. Snapshots since then have no ref yet.
//!
//! The file `snapshots` beside it contains what else is known about these snapshots, in case the session store is lost,
//! in the format of `model::repository_note`, compressed. For later ones, a commit in their pack says the same.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::pack::read::{open_regular, open_sized};
use super::pack::write::{Temporary, create_temporary};
use crate::error::{Context, Result};
use crate::model::entry::ObjectId;
use crate::objects::hash::blob_id;

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
    let mut lines: Vec<String> = blobs
        .iter()
        .map(|id| format!("{id} refs/records/{id}\n"))
        .chain(
            trees
                .iter()
                .map(|(number, id)| format!("{id} refs/snapshots/{number:019}\n")),
        )
        .collect();
    // Git looks up a ref by binary search.
    lines.sort_unstable_by(|left, right| left[41..].cmp(&right[41..]));
    let bytes = [HEADER, lines.concat().as_bytes()].concat();
    replace(repository, NAME, &bytes)
}

/// The name of the file beside them that holds what git has no place for.
const NOTE: &str = "snapshots";

/// The longest note, in bytes.
const LONGEST_NOTE: u64 = 256 << 20;

/// Writes the note on the snapshots, with its checksum, compressed.
pub(crate) fn write_note(repository: &Path, text: &str) -> Result<()> {
    let all = format!("{text}{CHECKSUM}{}\n", blob_id(text.as_bytes()));
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
    let bytes = compressed
        .write_all(all.as_bytes())
        .and_then(|()| compressed.finish())
        .context(|| "cannot compress the note on the snapshots")?;
    replace(repository, NOTE, &bytes)
}

/// The beginning of the note's last line.
const CHECKSUM: &str = "checksum ";

/// Returns the note on the snapshots, if there is an intact one.
pub(crate) fn read_note(repository: &Path) -> Option<String> {
    let file = open_regular(&repository.join(NOTE)).ok()?;
    let mut text = String::new();
    let note = ZlibDecoder::new(BufReader::new(file));
    note.take(LONGEST_NOTE).read_to_string(&mut text).ok()?;
    let end = text.rfind(CHECKSUM)?;
    let checksum = text[end + CHECKSUM.len()..].strip_suffix('\n')?;
    let is_sound = ObjectId::from_hex(checksum)? == blob_id(&text.as_bytes()[..end]);
    text.truncate(end);
    is_sound.then_some(text)
}

fn replace(repository: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = repository.join(name);
    if is_already(&path, bytes) {
        return Ok(());
    }
    let what = || format!("cannot write `{}`", path.display());
    let (temporary, mut file): (Temporary, _) = create_temporary(repository)?;
    file.write_all(bytes).context(what)?;
    fs::rename(temporary.path(), &path).context(what)
}

/// Returns whether a file holds exactly these bytes.
fn is_already(path: &Path, bytes: &[u8]) -> bool {
    let Ok((mut file, length)) = open_sized(path) else {
        return false;
    };
    let mut old = Vec::new();
    length == bytes.len() as u64 && file.read_to_end(&mut old).is_ok() && old == bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A note that is damaged at any byte is none or the note.
    #[test]
    fn damaged_note_is_none_or_the_note() {
        let repository = tempfile::tempdir().expect("a scratch directory");
        let text = "key k\npath /w\nsnapshot 4b825dc642cb6eb9a060e54bf8d69288fbee4904 1 - - 0\n";
        assert_eq!(read_note(repository.path()), None, "there is none");
        write_note(repository.path(), text).expect("writable");
        assert_eq!(read_note(repository.path()).as_deref(), Some(text));
        let path = repository.path().join(NOTE);
        let bytes = fs::read(&path).expect("ours");
        for at in 0..bytes.len() {
            for damaged in [
                [&bytes[..at], &[bytes[at] ^ 0x11], &bytes[at + 1..]].concat(),
                bytes[..at].to_vec(),
            ] {
                fs::write(&path, &damaged).expect("ours");
                let read = read_note(repository.path());
                assert!(read.is_none_or(|read| read == text), "damaged at {at}");
            }
        }
    }
}
