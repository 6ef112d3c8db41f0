//! Ids of objects: SHA-1 of `<kind> <size>\0<bytes>`, as git makes them.
//!
//! The hash is plain SHA-1 with the processor's instructions: 1.6 GB/s, while the collision-detecting one does 0.36,
//! which would halve what a first snapshot captures per second. Detection is there to catch two files with one id, of
//! which one would silently replace the other. Here that is caught exactly, not probably: an id that is already stored
//! counts as stored only after its bytes were compared (`Reader::holds`, `PackWriter::add`). Only the second look at a
//! file with the same stamp trusts the hash: it is there to notice writes through a memory map, not forgeries.

use std::io::{self, Read};

use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::model::entry::ObjectId;

/// The length of a SHA-1 id in bytes: the store's own, and most repositories'.
pub(crate) const SHA1: usize = 20;
/// The length of a SHA-256 id in bytes.
pub(crate) const SHA256: usize = 32;

ckpt_schema::words! {
    /// The type of an object.
    #[derive(Hash)]
    pub(crate) enum ObjectKind {
        /// A file's bytes, a link's target, or one of our own records.
        Blob = "blob",
        /// A directory.
        Tree = "tree",
        /// A commit: of the user's repository, or the note on a snapshot, which is in the same pack.
        Commit = "commit",
    }
}

/// Returns git's id of an object.
pub(crate) fn hash(kind: ObjectKind, bytes: &[u8]) -> ObjectId {
    let mut hasher = Hasher::new(kind, bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish()
}

/// Returns whether an object with these bytes has this id, of either length.
pub(crate) fn is_id_of(id: &[u8], kind: ObjectKind, bytes: &[u8]) -> bool {
    let header = format!("{} {}\0", kind.name(), bytes.len());
    match id.len() {
        SHA256 => {
            Sha256::new()
                .chain_update(header)
                .chain_update(bytes)
                .finalize()[..]
                == *id
        }
        _ => hash(kind, bytes).as_bytes()[..] == *id,
    }
}

/// Returns git's id of a blob.
pub fn blob_id(bytes: &[u8]) -> ObjectId {
    hash(ObjectKind::Blob, bytes)
}

/// Returns git's id of what a reader returns, or `None` if that is not exactly `size` bytes: the size is hashed first,
/// and a file may grow or shrink while it is read.
pub(crate) fn id_of_reader(
    kind: ObjectKind,
    size: u64,
    reader: &mut dyn Read,
) -> io::Result<Option<ObjectId>> {
    let mut hasher = Hasher::new(kind, size);
    // One byte more than there should be, so that the read that fills the buffer also shows the end.
    let room = usize::try_from(size.saturating_add(1)).unwrap_or(usize::MAX);
    let mut buffer = vec![0; room.min(64 << 10)];
    let mut read: u64 = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if count == 0 {
            return Ok((read == size).then(|| hasher.finish()));
        }
        read += count as u64;
        if read > size {
            return Ok(None);
        }
        hasher.update(&buffer[..count]);
    }
}

/// Hashes an object that arrives in pieces.
pub(crate) struct Hasher(Sha1);

impl Hasher {
    /// Begins with the header. The size has to be known first.
    pub(crate) fn new(kind: ObjectKind, size: u64) -> Self {
        Self(Sha1::new().chain_update(format!("{} {size}\0", kind.name())))
    }

    /// Takes the next piece.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        #[cfg(test)]
        let bytes = without_difference(bytes);
        self.0.update(bytes);
    }

    /// Returns the id.
    pub(crate) fn finish(self) -> ObjectId {
        ObjectId::new(self.0.finalize().into())
    }
}

/// How contents begin that have one id in tests, if they are equally long: there are no two real ones, because a header
/// comes before them.
#[cfg(test)]
pub(crate) const COLLIDES: &str = "a file that has the SHA-1 of another: ";

#[cfg(test)]
fn without_difference(bytes: &[u8]) -> &[u8] {
    match bytes.starts_with(COLLIDES.as_bytes()) {
        true => COLLIDES.as_bytes(),
        false => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(
            hash(ObjectKind::Tree, b""),
            ObjectId::EMPTY_TREE,
            "git's well-known id of the empty tree"
        );
        let id = blob_id(b"hello\n").to_string();
        assert_eq!(
            id, "ce013625030ba8dba906f756967f9e9ca394464a",
            "`echo hello | git hash-object --stdin`"
        );
    }

    /// A reader of another length than was said has no id.
    #[test]
    fn reader_of_another_length_has_no_id() {
        let of = |size, bytes: &[u8]| {
            id_of_reader(ObjectKind::Blob, size, &mut &*bytes).expect("memory can be read")
        };
        let long = vec![7; 200_000];
        assert_eq!(of(6, b"hello\n"), Some(blob_id(b"hello\n")));
        assert_eq!(of(0, b""), Some(blob_id(b"")));
        assert_eq!(of(200_000, &long), Some(blob_id(&long)), "in pieces");
        assert_eq!(of(7, b"hello\n"), None, "it shrank");
        assert_eq!(of(5, b"hello\n"), None, "it grew");
        assert_eq!(of(u64::MAX, b"hello\n"), None, "no size is believed");
    }

    #[test]
    fn pieces_make_the_id_of_the_whole() {
        let mut hasher = Hasher::new(ObjectKind::Blob, 6);
        hasher.update(b"hel");
        hasher.update(b"lo\n");
        assert_eq!(
            hasher.finish(),
            blob_id(b"hello\n"),
            "the cut is of no matter"
        );
    }
}
