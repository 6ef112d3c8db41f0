//! The contents of a plan: blobs that are read for a merge and blobs that a merge makes. Pure but for the reader it is given.
//!
//! Why libgit2's merge: it is the three-way merge that users of git know (changes that touch are a conflict), works on
//! bytes, and is in the binary already. Nothing of it but `git_merge_file` is called, which sees three buffers and no
//! repository, no configuration and no attributes.

use std::collections::{BTreeMap, BTreeSet};

use crate::entry::ObjectId;
use crate::error::{Context, Result};
use crate::lines;

/// The number of lines of a side over which nothing is merged: libgit2 takes about 100 bytes a line and side.
const MAX_LINES: usize = 500_000;

/// Reads a blob, whole; none where it is larger than the limit in bytes, so that no more than that is ever in memory.
pub type Read<'a> = dyn Fn(ObjectId, u64) -> Result<Option<Vec<u8>>> + 'a;

/// The blobs of the store, and beside them those that merges made.
pub struct Contents<'a> {
    read: &'a Read<'a>,
    made: BTreeMap<ObjectId, Vec<u8>>,
}

/// What became of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The edits do not touch: the blob with both.
    Clean(ObjectId),
    /// They do.
    Overlap,
    /// A side is binary.
    Binary,
    /// A side is too large.
    TooLarge,
}

impl<'a> Contents<'a> {
    /// Wraps the reader of stored blobs.
    pub fn new(read: &'a Read<'a>) -> Self {
        Self { read, made: BTreeMap::new() }
    }

    /// Merges two edits of one ancestor. The blob of a clean merge is kept here, for [`Contents::take_made`].
    pub fn merge(&mut self, ancestor: ObjectId, ours: ObjectId, theirs: ObjectId) -> Result<Merge> {
        let (Some(base), Some(left), Some(right)) = (self.text(ancestor)?, self.text(ours)?, self.text(theirs)?) else {
            return Ok(Merge::TooLarge);
        };
        let sides = [&base[..], &left[..], &right[..]];
        if sides.iter().any(|side| lines::is_binary(side)) {
            return Ok(Merge::Binary);
        }
        if sides.iter().any(|side| side.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES) {
            return Ok(Merge::TooLarge);
        }
        match merge_text(&base, &left, &right)? {
            Some(merged) => Ok(Merge::Clean(self.keep(merged)?)),
            None => Ok(Merge::Overlap),
        }
    }

    /// Returns the blobs that merges made and that are among `wanted`: what must be stored before a plan is carried out.
    pub fn take_made(&mut self, wanted: &BTreeSet<ObjectId>) -> BTreeMap<ObjectId, Vec<u8>> {
        let (wanted, rest) = std::mem::take(&mut self.made).into_iter().partition(|(blob, _)| wanted.contains(blob));
        self.made = rest;
        wanted
    }

    fn text(&self, blob: ObjectId) -> Result<Option<Vec<u8>>> {
        if let Some(bytes) = self.made.get(&blob) {
            return Ok((bytes.len() <= lines::MAX_SIZE).then(|| bytes.clone()));
        }
        let bytes = (self.read)(blob, lines::MAX_SIZE as u64)?;
        Ok(bytes.filter(|bytes| bytes.len() <= lines::MAX_SIZE))
    }

    fn keep(&mut self, bytes: Vec<u8>) -> Result<ObjectId> {
        let blob = blob_id(&bytes)?;
        self.made.insert(blob, bytes);
        Ok(blob)
    }
}

/// Returns the id that git gives a blob of these bytes.
pub fn blob_id(bytes: &[u8]) -> Result<ObjectId> {
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, bytes).context(|| "could not hash merged bytes")?;
    let bytes = id.as_bytes().try_into().context(|| format!("`{id}` is no SHA-1 id"))?;
    Ok(ObjectId::new(bytes))
}

/// Returns the text with both edits, byte for byte made of lines of either side; none where the edits touch.
pub fn merge_text(ancestor: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Option<Vec<u8>>> {
    if ours == theirs || theirs == ancestor {
        return Ok(Some(ours.to_vec()));
    }
    if ours == ancestor {
        return Ok(Some(theirs.to_vec()));
    }
    if ancestor.is_empty() || ours.is_empty() || theirs.is_empty() {
        return Ok(None);
    }
    start_libgit2()?;
    let result = git2::merge_file(&input(ancestor), &input(ours), &input(theirs), None)
        .context(|| "could not merge three texts")?;
    Ok(result.is_automergeable().then(|| result.content().to_vec()))
}

/// `merge_file` is the one function of git2 that does not start libgit2 itself; without it, its allocator fails.
fn start_libgit2() -> Result<()> {
    blob_id(b"").map(drop)
}

fn input(bytes: &[u8]) -> git2::MergeFileInput<'_> {
    let mut input = git2::MergeFileInput::new();
    input.content(bytes);
    input
}
