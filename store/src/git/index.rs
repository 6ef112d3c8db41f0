//! A bounded reader of git's index, versions 2 to 4: which files the user's repository tracks, and with which ids.
//!
//! The format is git's `Documentation/gitformat-index.txt`. If anything does not fit it, the whole index is unreadable:
//! half an index would make tracked files look untracked. A split index is joined with the shared one that it is based
//! on, in the order of `merge_base_index` in git's `split-index.c`.

use std::collections::{BTreeMap, BTreeSet};

use gix_bitmap::ewah;

use crate::model::entry::{ObjectId, file_type};

/// What git saw of a file when it wrote its id into the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexStat {
    /// Seconds and nanoseconds.
    pub mtime: (u32, u32),
    /// Seconds and nanoseconds.
    pub ctime: (u32, u32),
    /// The low 32 bits of the inode's number.
    pub inode: u32,
    /// The low 32 bits of the size.
    pub size: u32,
    /// Git's mode.
    pub mode: u32,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Its path.
    pub path: Vec<u8>,
    /// What git saw of the file.
    pub stat: IndexStat,
    /// Its blob, or `None` if the entry says nothing about the file: unmerged, intent-to-add, assume-unchanged,
    /// skip-worktree, a submodule, or an id that is not SHA-1.
    pub blob: Option<ObjectId>,
}

/// The index of the user's repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitIndex {
    /// The entries, by path. An unmerged path comes more than once.
    pub entries: Vec<IndexEntry>,
    /// Whether it is all of the index: neither split nor sparse.
    pub is_whole: bool,
    /// The id in the name of the shared index that a split index is based on.
    pub shared: Option<Vec<u8>>,
}

/// The size of the smallest entry, in bytes: its fixed fields with a SHA-1 id, and the end of its path.
const SMALLEST_ENTRY: usize = 63;

const EXTENDED: u16 = 0x4000;
const ASSUME_VALID: u16 = 0x8000;
/// The bits of an entry's flags that are its stage.
pub(crate) const STAGE: u16 = 0x3000;
/// The bit of an entry without content, of `git add --intent-to-add`.
pub(crate) const INTENT_TO_ADD: u16 = 0x2000;
const SKIP_WORKTREE_OR_INTENT: u16 = 0x4000 | INTENT_TO_ADD;

/// Parses an index whose ids have `id_length` bytes, or returns `None` if it is damaged.
pub(crate) fn parse(bytes: &[u8], id_length: usize) -> Option<GitIndex> {
    let mut reader = IndexCursor::new(bytes);
    let (version, count) = reader.header()?;
    // The count is the file's word; the room that it may claim is bounded by the bytes that are there.
    let most = bytes.len() / SMALLEST_ENTRY;
    let mut index = GitIndex {
        entries: Vec::with_capacity(most.min(usize::try_from(count).unwrap_or(most))),
        is_whole: true,
        ..GitIndex::default()
    };
    for _ in 0..count {
        // Version 4 stores only how a path differs from the one before.
        let previous = index.entries.last().map_or(&b""[..], |entry| &entry.path);
        let read = reader.entry(version, id_length, previous)?;
        index.entries.push(read.entry);
    }
    reader.extensions(id_length, &mut index)?;
    Some(index)
}

/// The meaning of an index, without what git only remembers about the files: two with equal meanings stage the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The entries, in order.
    pub entries: Vec<Staged>,
    /// The shared index that it is based on, with its changes to that, until the two are joined.
    pub link: Option<Vec<u8>>,
    /// The newest time of a file in it, in seconds and nanoseconds.
    pub newest: (u32, u32),
}

/// What an entry stages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Staged {
    /// Its path.
    pub path: Vec<u8>,
    /// Its blob, or a submodule's commit.
    pub id: Vec<u8>,
    /// Git's mode.
    pub mode: u32,
    /// Its stage, and assume-unchanged.
    pub flags: u16,
    /// Intent-to-add and skip-worktree.
    pub extended: u16,
}

/// Returns the meaning of an index, or `None` if it is damaged.
pub(crate) fn meaning(bytes: &[u8], id_length: usize) -> Option<Meaning> {
    let mut reader = IndexCursor::new(bytes);
    let (version, count) = reader.header()?;
    let mut meaning = Meaning::default();
    for _ in 0..count {
        let previous = meaning.entries.last().map_or(&b""[..], |entry| &entry.path);
        let ReadEntry {
            entry,
            id,
            flags,
            extended,
        } = reader.entry(version, id_length, previous)?;
        meaning.newest = meaning.newest.max(entry.stat.mtime);
        let flags = flags & (ASSUME_VALID | STAGE);
        let extended = extended & SKIP_WORKTREE_OR_INTENT;
        meaning.entries.push(Staged {
            path: entry.path,
            id: id.to_vec(),
            mode: entry.stat.mode,
            flags,
            extended,
        });
    }
    let mut index = GitIndex::default();
    meaning.link = reader
        .extensions(id_length, &mut index)?
        .map(<[u8]>::to_vec);
    Some(meaning)
}

/// Returns whether git gives an entry this mode: that of a file, a link, a submodule, or a directory of a sparse index.
fn is_mode(mode: u32) -> bool {
    matches!(
        mode & file_type::MASK,
        file_type::REGULAR | file_type::LINK | file_type::SUBMODULE | file_type::DIRECTORY
    )
}

/// An entry, with what only its meaning needs.
struct ReadEntry<'a> {
    entry: IndexEntry,
    id: &'a [u8],
    flags: u16,
    extended: u16,
}

/// The longest path. Git itself opens files by their whole path, and the kernel accepts no longer one.
const LONGEST_PATH: usize = 4096;
/// All paths together may have this many times the length of the index, plus a constant. Version 4 stores only how a
/// path differs from the one before, so that a small file could expand without bounds.
const MAX_PATH_GROWTH: usize = 16;
const MIN_PATH_BYTES: usize = 1 << 20;

struct IndexCursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// How many more bytes of paths are allowed.
    paths_left: usize,
}

impl<'a> IndexCursor<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            paths_left: bytes
                .len()
                .saturating_mul(MAX_PATH_GROWTH)
                .saturating_add(MIN_PATH_BYTES),
        }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(length)?;
        let taken = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Parses the beginning: the format's version, and the number of entries.
    fn header(&mut self) -> Option<(u32, u32)> {
        if self.take(4)? != b"DIRC" {
            return None;
        }
        let version = self.u32().filter(|version| (2..=4).contains(version))?;
        Some((version, self.u32()?))
    }

    fn entry(&mut self, version: u32, id_length: usize, previous: &[u8]) -> Option<ReadEntry<'a>> {
        let start = self.position;
        let ctime = (self.u32()?, self.u32()?);
        let mtime = (self.u32()?, self.u32()?);
        let (_device, inode, mode) = (self.u32()?, self.u32()?, self.u32()?);
        let (_user, _group, size) = (self.u32()?, self.u32()?, self.u32()?);
        let id = self.take(id_length)?;
        let flags = self.u16()?;
        let extended = if version >= 3 && flags & EXTENDED != 0 {
            self.u16()?
        } else {
            0
        };
        let path = if version == 4 {
            self.compressed_path(previous)?
        } else {
            self.padded_path(start)?
        };
        self.paths_left = self.paths_left.checked_sub(path.len())?;
        if path.len() > LONGEST_PATH || !is_mode(mode) {
            return None;
        }
        let stage = (flags >> 12) & 3;
        // Of these the index does not tell what is on the disk: a conflict has several blobs, and the flags tell
        // git not to look.
        let silent =
            stage != 0 || flags & ASSUME_VALID != 0 || extended & SKIP_WORKTREE_OR_INTENT != 0;
        let is_content = matches!(mode & file_type::MASK, file_type::REGULAR | file_type::LINK);
        let blob = id
            .try_into()
            .ok()
            .map(ObjectId::new)
            .filter(|_| !silent && is_content);
        let entry = IndexEntry {
            path,
            stat: IndexStat {
                mtime,
                ctime,
                inode,
                size,
                mode,
            },
            blob,
        };
        Some(ReadEntry {
            entry,
            id,
            flags,
            extended,
        })
    }

    fn name(&mut self) -> Option<&'a [u8]> {
        let length = self
            .bytes
            .get(self.position..)?
            .iter()
            .position(|byte| *byte == 0)?;
        let name = self.take(length)?;
        self.take(1)?;
        Some(name)
    }

    fn padded_path(&mut self, start: usize) -> Option<Vec<u8>> {
        let name = self.name()?;
        // One to eight zeros end a name, up to a multiple of eight bytes. The first one is taken.
        let used = self.position - start;
        self.take(used.next_multiple_of(8) - used)?;
        Some(name.to_vec())
    }

    fn compressed_path(&mut self, previous: &[u8]) -> Option<Vec<u8>> {
        let dropped = self.variable_length()?;
        // An entry that drops more than the path before it has is damage.
        let kept = previous.len().checked_sub(dropped)?;
        let name = self.name()?;
        Some([&previous[..kept], name].concat())
    }

    /// Reads a number in the encoding of a pack's offset deltas.
    fn variable_length(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value
                .checked_add(1)?
                .checked_mul(128)?
                .checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }

    /// Parses the extensions. That of a split index may add content.
    fn extensions(&mut self, id_length: usize, index: &mut GitIndex) -> Option<Option<&'a [u8]>> {
        let mut link = None;
        while self.bytes.len().checked_sub(self.position)? > id_length {
            let name = self.take(4)?;
            let length = usize::try_from(self.u32()?).ok()?;
            let body = self.take(length)?;
            match name {
                b"link" => {
                    index.is_whole = false;
                    index.shared = body.get(..id_length).map(<[u8]>::to_vec);
                    link = Some(body);
                }
                b"sdir" => index.is_whole = false,
                // An extension with a lower-case name is needed to understand the rest (git's documentation).
                _ if name[0].is_ascii_lowercase() => return None,
                _ => {}
            }
        }
        Some(link)
    }
}

/// Returns the joined meaning of a split index and its shared index, or `None` if they do not belong together.
pub(crate) fn join_split(split: &Meaning, shared: Meaning, id_length: usize) -> Option<Meaning> {
    let link = split.link.as_deref()?.get(id_length..)?;
    // An extension without bitmaps changes nothing in the shared index.
    let (deleted, replaced) = if link.is_empty() {
        (BTreeSet::new(), BTreeSet::new())
    } else {
        let (deleted, rest) = ewah::decode(link).ok()?;
        let (replaced, _) = ewah::decode(rest).ok()?;
        let count = shared.entries.len();
        (numbers(&deleted, count)?, numbers(&replaced, count)?)
    };
    let mut entries = shared.entries;
    let mut own = split.entries.iter();
    for number in replaced {
        // Only the shared index has its name.
        let entry = own.next().filter(|entry| entry.path.is_empty())?;
        let path = std::mem::take(&mut entries[number].path);
        entries[number] = Staged {
            path,
            ..entry.clone()
        };
    }
    let place = |entry: Staged| ((entry.path.clone(), entry.flags & STAGE), entry);
    let kept = entries
        .into_iter()
        .enumerate()
        .filter(|(number, _)| !deleted.contains(number));
    let mut joined: BTreeMap<_, _> = kept.map(|(_, entry)| place(entry)).collect();
    joined.extend(own.cloned().map(place));
    Some(Meaning {
        entries: joined.into_values().collect(),
        link: None,
        newest: split.newest.max(shared.newest),
    })
}

/// Returns the numbers of the set bits, or `None` if one is beyond the shared index.
fn numbers(bitmap: &ewah::Vec, count: usize) -> Option<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    bitmap.for_each_set_bit(|number| {
        numbers.insert(number);
        (number < count).then_some(())
    })?;
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 4 whose every path but the first adds a byte to the one before.
    fn chain(entries: u32, first: usize) -> Vec<u8> {
        let mut bytes = [&b"DIRC\0\0\0\x04"[..], &entries.to_be_bytes()].concat();
        for number in 0..entries {
            let mut entry = [0; 62];
            entry[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
            bytes.extend_from_slice(&entry);
            bytes.push(0);
            let name = if number == 0 {
                vec![b'a'; first]
            } else {
                vec![b'a']
            };
            bytes.extend_from_slice(&name);
            bytes.push(0);
        }
        bytes.extend_from_slice(&[0; 20]);
        bytes
    }

    /// An index that names itself out of all bounds is none.
    ///
    /// Invariant `work/hostile-sizes`.
    #[test]
    fn index_out_of_bounds_is_none() {
        let index = parse(&chain(1000, 100), 20).expect("paths as there are");
        assert_eq!(index.entries[999].path.len(), 1099, "each is one longer");
        assert_eq!(parse(&chain(17_000, 60_000), 20), None, "1 GB of 1.1 MB");
        assert_eq!(parse(&chain(4000, 1000), 20), None, "longer than any path");
        assert_eq!(
            meaning(&chain(17_000, 60_000), 20),
            None,
            "the same for its meaning"
        );
        let mut many = chain(4000, 90);
        assert_eq!(parse(&many, 20), None, "together they are too long");
        many[12 + 24..12 + 28].fill(0);
        assert_eq!(parse(&many, 20), None, "zeroes are no entry");
    }

    #[test]
    fn nonsense_is_no_index() {
        for bytes in [
            &b""[..],
            b"DIRC",
            b"DIRC\0\0\0\x63\0\0\0\0",
            b"DIRC\0\0\0\x02\xff\xff\xff\xff",
        ] {
            assert_eq!(
                parse(bytes, 20),
                None,
                "{bytes:?} is cut off or of an unknown version"
            );
        }
        let empty = [&b"DIRC\0\0\0\x02\0\0\0\0"[..], &[0; 20]].concat();
        assert_eq!(
            parse(&empty, 20),
            Some(GitIndex {
                is_whole: true,
                ..GitIndex::default()
            }),
            "no entries"
        );
    }
}
