//! Commits of the user's repository: whether one is there, and what it says. This module does IO; it reads.
//!
//! Loose objects and packs (`gitformat-pack`), those of alternates too, with ids of either length. Whatever is damaged or
//! too large counts as not there.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::ZlibDecoder;
use rustix::fs::{Mode, OFlags};

use super::{Location, SMALL, read_small};
use crate::objects::pack_entry::{FileRange, apply_delta, inflate};

/// The largest object that is decoded, in bytes: a commit is some hundred.
const LARGEST: u64 = 16 << 20;
/// The longest chain of deltas; git makes none longer than 4,095.
const DEEPEST: usize = 4096;
/// How many folders of objects are looked into; git follows as many alternates deep.
const FOLDERS: usize = 16;
const COMMIT: u8 = 1;

/// The objects of the user's repository.
pub(crate) struct UserObjects {
    folders: Vec<PathBuf>,
    id_length: usize,
    packs: OnceCell<Vec<Pack>>,
}

/// What a commit says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The id of its tree.
    pub tree: String,
    /// The ids of the commits before it.
    pub parents: Vec<String>,
    /// When it was made, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub subject: String,
}

struct Pack {
    index: File,
    data: PathBuf,
    fanout: Box<[u32; 256]>,
}

impl UserObjects {
    /// Returns the objects of a repository; its packs are looked for when they are needed.
    pub fn open(location: &Location, id_length: usize) -> Self {
        let mut folders = vec![location.common.join("objects")];
        let mut next = 0;
        while let Some(folder) = folders.get(next).filter(|_| next < FOLDERS).cloned() {
            folders.extend(alternates(&folder));
            next += 1;
        }
        folders.truncate(FOLDERS);
        Self {
            folders,
            id_length,
            packs: OnceCell::new(),
        }
    }

    /// Returns whether an object is there.
    pub fn contains(&self, id: &str) -> bool {
        let Some(bytes) = self.bytes_of(id) else {
            return false;
        };
        self.folders
            .iter()
            .any(|folder| loose(folder, id).is_file())
            || self.packed(&bytes).is_some()
    }

    /// Returns a commit.
    pub fn commit(&self, id: &str) -> Option<Commit> {
        let bytes = self.bytes_of(id)?;
        let text = match self
            .folders
            .iter()
            .find_map(|folder| read_loose(&loose(folder, id)))
        {
            Some(text) => text,
            None => {
                let (pack, offset) = self.packed(&bytes)?;
                pack.commit(offset, self.id_length)?
            }
        };
        parse(&text)
    }

    fn bytes_of(&self, id: &str) -> Option<Vec<u8>> {
        if id.len() != self.id_length * 2 || !id.is_ascii() {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).ok();
        (0..id.len()).step_by(2).map(byte).collect()
    }

    fn packed(&self, id: &[u8]) -> Option<(&Pack, u64)> {
        let packs = self.packs.get_or_init(|| {
            self.folders
                .iter()
                .flat_map(|folder| packs(folder))
                .collect()
        });
        packs
            .iter()
            .find_map(|pack| Some((pack, pack.find(id, self.id_length)?)))
    }
}

/// Relative ones are meant from the folder that names them.
fn alternates(folder: &Path) -> Vec<PathBuf> {
    let text =
        read_small(&folder.join("info/alternates"), SMALL, OFlags::NOFOLLOW).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| folder.join(line))
        .collect()
}

fn loose(folder: &Path, id: &str) -> PathBuf {
    folder.join(&id[..2]).join(&id[2..])
}

/// Returns the bytes of a loose commit.
fn read_loose(path: &Path) -> Option<Vec<u8>> {
    let file = read_small(path, LARGEST, OFlags::NOFOLLOW)?;
    let mut text = Vec::new();
    ZlibDecoder::new(&file[..])
        .take(LARGEST)
        .read_to_end(&mut text)
        .ok()?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let size = text[..end].strip_prefix(b"commit ")?;
    let size: usize = std::str::from_utf8(size).ok()?.parse().ok()?;
    let body = text.split_off(end + 1);
    (body.len() == size).then_some(body)
}

fn packs(folder: &Path) -> Vec<Pack> {
    let Ok(entries) = std::fs::read_dir(folder.join("pack")) else {
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "idx"))
        .filter_map(|path| Pack::open(&path))
        .collect()
}

fn open(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

/// `ff 't' 'O' 'c'`, version 2, and 256 counts; then the ids, their checksums, their offsets.
const IDS: u64 = 8 + 256 * 4;

impl Pack {
    fn open(path: &Path) -> Option<Self> {
        let index = open(path)?;
        let mut head = [0; IDS as usize];
        index.read_exact_at(&mut head, 0).ok()?;
        if head[..8] != *b"\xfftOc\0\0\0\x02" {
            return None;
        }
        let mut fanout = Box::new([0; 256]);
        for (count, bytes) in fanout.iter_mut().zip(head[8..].chunks_exact(4)) {
            *count = u32::from_be_bytes(bytes.try_into().ok()?);
        }
        fanout.is_sorted().then(|| Self {
            index,
            data: path.with_extension("pack"),
            fanout,
        })
    }

    fn find(&self, id: &[u8], id_length: usize) -> Option<u64> {
        let bucket = usize::from(id[0]);
        let (mut low, mut high) = (
            bucket
                .checked_sub(1)
                .map_or(0, |before| self.fanout[before]),
            self.fanout[bucket],
        );
        let mut found = vec![0; id_length];
        while low < high {
            let middle = low + (high - low) / 2;
            self.index
                .read_exact_at(&mut found, IDS + u64::from(middle) * id_length as u64)
                .ok()?;
            match found[..].cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle, id_length),
            }
        }
        None
    }

    fn offset(&self, place: u32, id_length: usize) -> Option<u64> {
        const LARGE: u32 = 1 << 31;
        let count = u64::from(self.fanout[255]);
        let offsets = IDS + count * (id_length as u64 + 4);
        let mut small = [0; 4];
        self.index
            .read_exact_at(&mut small, offsets + u64::from(place) * 4)
            .ok()?;
        let small = u32::from_be_bytes(small);
        if small & LARGE == 0 {
            return Some(u64::from(small));
        }
        let mut large = [0; 8];
        self.index
            .read_exact_at(
                &mut large,
                offsets + count * 4 + u64::from(small & !LARGE) * 8,
            )
            .ok()?;
        Some(u64::from_be_bytes(large))
    }

    /// Returns the bytes of the commit at an offset: the whole object at the end of its deltas, and these applied.
    fn commit(&self, offset: u64, id_length: usize) -> Option<Vec<u8>> {
        let file = open(&self.data)?;
        let end = file.metadata().ok()?.len().checked_sub(id_length as u64)?;
        let mut deltas = Vec::new();
        let mut at = offset;
        loop {
            let mut reader = BufReader::new(FileRange::new(&file, at, end));
            let (kind, size) = header(&mut reader)?;
            if size > LARGEST || deltas.len() > DEEPEST {
                return None;
            }
            let base = match kind {
                6 => Some(at.checked_sub(distance(&mut reader)?)?),
                7 => {
                    let mut id = vec![0; id_length];
                    reader.read_exact(&mut id).ok()?;
                    Some(self.find(&id, id_length)?)
                }
                _ => None,
            };
            let bytes = inflate(reader, size).ok()?;
            match base {
                Some(base) => (at, deltas) = (base, [deltas, vec![bytes]].concat()),
                None if kind == COMMIT => {
                    return deltas
                        .iter()
                        .rev()
                        .try_fold(bytes, |base, delta| apply_delta(&base, delta, LARGEST).ok());
                }
                None => return None,
            }
        }
    }
}

fn byte(reader: &mut impl Read) -> Option<u8> {
    let mut byte = [0];
    reader.read_exact(&mut byte).ok()?;
    Some(byte[0])
}

/// The kind and the size of an entry: the size's low four bits, then seven bits a byte.
fn header(reader: &mut impl Read) -> Option<(u8, u64)> {
    let mut next = byte(reader)?;
    let kind = next >> 4 & 7;
    let (mut size, mut shift) = (u64::from(next & 0x0f), 4);
    while next & 0x80 != 0 {
        next = byte(reader)?;
        size |= u64::from(next & 0x7f)
            .checked_shl(shift)
            .filter(|_| shift < 57)?;
        shift += 7;
    }
    Some((kind, size))
}

/// A distance backwards, seven bits a byte, highest first, each continuation counting one more.
fn distance(reader: &mut impl Read) -> Option<u64> {
    let mut next = byte(reader)?;
    let mut distance = u64::from(next & 0x7f);
    while next & 0x80 != 0 {
        next = byte(reader)?;
        distance = distance.checked_add(1)?.checked_mul(128)? | u64::from(next & 0x7f);
    }
    (distance > 0).then_some(distance)
}

/// Lines of a name and a value, an empty line, the message.
fn parse(text: &[u8]) -> Option<Commit> {
    let mut commit = Commit::default();
    let mut lines = text.split(|byte| *byte == b'\n');
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        match line.split_once(' ') {
            Some(("tree", id)) => commit.tree = id.to_owned(),
            Some(("parent", id)) => commit.parents.push(id.to_owned()),
            Some(("committer", who)) => commit.time = who.rsplit(' ').nth(1)?.parse().ok()?,
            _ => {}
        }
    }
    commit.subject = String::from_utf8_lossy(
        lines
            .find(|line| !line.trim_ascii().is_empty())
            .unwrap_or_default(),
    )
    .trim()
    .to_owned();
    (!commit.tree.is_empty()).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_with_a_signature_and_without_a_message() {
        let text = b"tree 1\nparent 2\nparent 3\nauthor A <a> 1 +0000\ncommitter C <c@d> 77 +0100\ngpgsig -----\n more\n\n\nfirst\nsecond\n";
        let expected = Commit {
            tree: "1".to_owned(),
            parents: vec!["2".to_owned(), "3".to_owned()],
            time: 77,
            subject: "first".to_owned(),
        };
        assert_eq!(
            parse(text),
            Some(expected),
            "headers that go on are no parents"
        );
        let bare = parse(b"tree 1\ncommitter C <> 5 +0000\n\n").expect("a commit");
        assert_eq!(
            (bare.subject.as_str(), bare.parents.len()),
            ("", 0),
            "a first commit without a word"
        );
        assert_eq!(parse(b"object 1\ntype commit\n\nx"), None, "a tag is none");
    }
}
