//! The stat cache: what the last snapshot saw of each directory, in one file beside the repository. This module does IO.
//!
//! The file is never changed: a new one is written beside it and takes its place, so that two hooks at once do each other no
//! harm (the last one wins, and both trees are right). It is only ever a hint: whatever is wrong with it makes the next
//! snapshot slower and nothing else.
//!
//! Numbers are little-endian. `length` counts what follows it.
//!
//! ```text
//! file     MAGIC  checksum:u32  length:u32 header  directory*          (the checksum is of all that follows it)
//! header   see `Header::encode`
//! directory  length:u32  path:u32  items:u32  state:u8 view:u8 flags:u16  stamp  rules:[20] tree:[20]  path  item*  names
//! item     stamp  name:u16  kind:u8 flags:u8  id:[20]
//! stamp    mtime:i64 ctime:i64 inode:u64 size:u64 mode:u32
//! ```

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::rules::View;
use super::scan::disk::Stamp;
use super::scan::listing::{Item, Kind, Listing, State};
use super::{Gap, GapReason, Snapshot};
use crate::entry::ObjectId;
use crate::error::{Context, Result};

const MAGIC: &[u8; 8] = b"ckptc\0\0\x01";
const STAMP: usize = 36;
const ITEM: usize = STAMP + 24;
const FIXED: usize = 12 + STAMP + 40;

/// What holds for the whole cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The boot of the machine in which it was written: in another one, the disk may hold less than was seen.
    pub boot: Vec<u8>,
    /// The stamp of the folder with the packs: where it differs, objects may have gone.
    pub packs: Stamp,
    /// The hash of the rules that are not files of the tree, and of the other wishes.
    pub wishes: ObjectId,
    /// The user's index: its stamp, whether that is to be trusted, and its blob.
    pub index: Option<(Stamp, bool, ObjectId)>,
    /// The paths that edit tools named.
    pub named: Vec<Vec<u8>>,
    /// The files that are captured although ignored, and those that would be if they were there.
    pub forced: Vec<Vec<u8>>,
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What it could not hold.
    pub gaps: Vec<Gap>,
}

/// A cache that was read.
pub(crate) struct Cache {
    bytes: Vec<u8>,
    /// Where each directory begins, by path.
    directories: Vec<usize>,
    /// What holds for all.
    pub header: Header,
}

/// Returns the path of the cache in a workspace's folder of the store.
fn file(folder: &Path) -> PathBuf {
    folder.join("cache")
}

impl Cache {
    /// Reads the cache; none where there is none that can be used. After a restart of the machine its checksum is checked:
    /// a file that was renamed before its bytes reached the disk may hold anything.
    pub fn read(folder: &Path, boot: &[u8]) -> Option<Self> {
        let bytes = fs::read(file(folder)).ok()?;
        let mut reader = Reader(&bytes);
        if reader.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let checksum = reader.u32()?;
        let checked = reader.0;
        let length = reader.length()?;
        let header = Header::decode(reader.take(length)?)?;
        if header.boot != boot && libdeflater::crc32(checked) != checksum {
            return None;
        }
        let mut directories = Vec::new();
        while !reader.0.is_empty() {
            directories.push(bytes.len() - reader.0.len());
            let length = reader.length()?;
            reader.take(length)?;
        }
        Some(Self { directories, header, bytes })
    }

    /// Writes a cache, unless a name does not fit the format.
    pub fn write<'a>(
        folder: &Path,
        header: &Header,
        listings: impl Iterator<Item = (&'a Vec<u8>, &'a Listing)>,
    ) -> Result<()> {
        let mut body = Vec::new();
        let encoded = header.encode();
        put_length(&mut body, encoded.len());
        body.extend_from_slice(&encoded);
        for (path, listing) in listings {
            if put_listing(&mut body, path, listing).is_none() {
                return Ok(());
            }
        }
        let new = folder.join(format!("cache.{}", std::process::id()));
        let what = || format!("cannot write `{}`", new.display());
        let written = write_file(&new, &body).and_then(|()| {
            // To rename over a file makes some file systems write the new one out at once (ext4's `auto_da_alloc`), which
            // costs more than all else here. The checksum already tells a cache that did not reach the disk.
            let _ = fs::remove_file(file(folder));
            fs::rename(&new, file(folder))
        });
        if written.is_err() {
            // What is left of it is swept by `gc`, too.
            let _ = fs::remove_file(&new);
        }
        written.context(what)
    }

    /// Returns how many directories there are.
    pub fn len(&self) -> usize {
        self.directories.len()
    }

    /// Returns a directory by its number; numbers follow paths.
    pub fn directory(&self, number: usize) -> Option<Directory<'_>> {
        Directory::parse(self.bytes.get(*self.directories.get(number)?..)?)
    }

    /// Returns the number of a directory.
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        let compare = |start: &usize| Directory::parse(&self.bytes[*start..]).map(|directory| directory.path.cmp(path));
        self.directories.binary_search_by(|start| compare(start).unwrap_or(std::cmp::Ordering::Less)).ok()
    }

    /// Returns what was seen of a directory.
    pub fn listing(&self, path: &[u8]) -> Option<Listing> {
        self.directory(self.find(path)?)?.listing()
    }
}

fn write_file(path: &Path, body: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let checksum = libdeflater::crc32(body).to_le_bytes();
    file.write_all(&[&MAGIC[..], &checksum].concat())?;
    file.write_all(body)
}

/// One directory of a cache, as it stands in the file.
pub(crate) struct Directory<'a> {
    fixed: &'a [u8],
    /// Its path.
    pub path: &'a [u8],
    items: &'a [u8],
    names: &'a [u8],
}

/// One entry of a directory, as it stands in the file.
pub(crate) struct CachedItem<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its stamp.
    pub stamp: Stamp,
    /// Whether a later change must show in the stamp.
    pub is_settled: bool,
    code: u8,
    id: ObjectId,
}

impl<'a> Directory<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let length = reader.length()?;
        let mut reader = Reader(reader.take(length)?);
        let (path, items) = (reader.length()?, reader.length()?);
        let fixed = reader.take(FIXED - 8)?;
        let path = reader.take(path)?;
        let items = reader.take(items.checked_mul(ITEM)?)?;
        Some(Self { fixed, path, items, names: reader.0 })
    }

    /// Returns its stamp.
    pub fn stamp(&self) -> Stamp {
        stamp(&self.fixed[4..4 + STAMP])
    }

    /// Returns whether it is the store's own directory.
    pub fn is_left_out(&self) -> bool {
        self.fixed[0] == 1
    }

    /// Returns whether its names are known as long as its stamp stays.
    pub fn is_settled(&self) -> bool {
        self.fixed[0] == 0 && self.fixed[2] & 1 != 0
    }

    /// Returns what of it is captured.
    pub fn view(&self) -> View {
        [View::Open, View::Included, View::Ignored, View::Passage][usize::from(self.fixed[1] & 3)]
    }

    /// Returns the hash of the ignore file that decided.
    pub fn rules(&self) -> Option<ObjectId> {
        (self.fixed[2] & 4 != 0).then(|| id(&self.fixed[4 + STAMP..]))
    }

    /// Returns its tree.
    pub fn tree(&self) -> Option<ObjectId> {
        (self.fixed[2] & 8 != 0).then(|| id(&self.fixed[24 + STAMP..]))
    }

    /// Returns its entries, by name.
    pub fn items(&self) -> impl Iterator<Item = CachedItem<'a>> + use<'a> {
        let mut names = self.names;
        self.items.chunks_exact(ITEM).map(move |item| {
            let length = usize::from(u16::from_le_bytes([item[STAMP], item[STAMP + 1]])).min(names.len());
            let (name, rest) = names.split_at(length);
            names = rest;
            let (code, flags) = (item[STAMP + 2], item[STAMP + 3]);
            CachedItem { name, stamp: stamp(item), is_settled: flags & 1 != 0, code, id: id(&item[STAMP + 4..]) }
        })
    }

    /// Returns all of it.
    pub fn listing(&self) -> Option<Listing> {
        let state = match self.fixed[0] {
            0 => State::Listed,
            1 => State::LeftOut,
            code => State::Gap(reason(code)?),
        };
        let item = |item: CachedItem<'_>| {
            let kind = item.kind()?;
            Some(Item { name: item.name.to_vec(), stamp: item.stamp, is_settled: item.is_settled, kind })
        };
        Some(Listing {
            stamp: self.stamp(),
            is_settled: self.fixed[2] & 1 != 0,
            state,
            view: self.view(),
            is_empty: self.fixed[2] & 2 != 0,
            rules: self.rules(),
            tree: self.tree(),
            items: self.items().map(item).collect::<Option<_>>()?,
        })
    }
}

impl CachedItem<'_> {
    /// Returns its blob, where it is a file or link that was captured.
    pub fn content(&self) -> Option<ObjectId> {
        (self.code == 0).then_some(self.id)
    }

    /// Returns what it is; none where the cache makes no sense.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self.code {
            0 => Kind::Content(self.id),
            1 => Kind::Directory,
            2 => Kind::Watched(self.id),
            code => Kind::Gap(reason(code)?),
        })
    }
}

fn put_listing(bytes: &mut Vec<u8>, path: &[u8], listing: &Listing) -> Option<()> {
    let start = bytes.len();
    put_length(bytes, 0);
    put_length(bytes, path.len());
    put_length(bytes, listing.items.len());
    bytes.push(match &listing.state {
        State::Listed => 0,
        State::LeftOut => 1,
        State::Gap(reason) => code(reason),
    });
    bytes.push(match listing.view {
        View::Open => 0,
        View::Included => 1,
        View::Ignored => 2,
        View::Passage => 3,
    });
    let bits = [listing.is_settled, listing.is_empty, listing.rules.is_some(), listing.tree.is_some()];
    bytes.push(bits.iter().rev().fold(0, |flags, bit| flags << 1 | u8::from(*bit)));
    bytes.push(0);
    put_stamp(bytes, &listing.stamp);
    for id in [listing.rules, listing.tree] {
        bytes.extend_from_slice(id.unwrap_or(ObjectId::EMPTY_TREE).as_bytes());
    }
    bytes.extend_from_slice(path);
    for item in &listing.items {
        put_item(bytes, item)?;
    }
    listing.items.iter().for_each(|item| bytes.extend_from_slice(&item.name));
    let length = u32::try_from(bytes.len() - start - 4).ok()?;
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Some(())
}

fn put_item(bytes: &mut Vec<u8>, item: &Item) -> Option<()> {
    put_stamp(bytes, &item.stamp);
    bytes.extend_from_slice(&u16::try_from(item.name.len()).ok()?.to_le_bytes());
    let (code, id) = match &item.kind {
        Kind::Content(id) => (0, *id),
        Kind::Directory => (1, ObjectId::EMPTY_TREE),
        Kind::Watched(id) => (2, *id),
        Kind::Gap(reason) => (code(reason), ObjectId::EMPTY_TREE),
    };
    bytes.extend_from_slice(&[code, u8::from(item.is_settled)]);
    bytes.extend_from_slice(id.as_bytes());
    Some(())
}

const SPECIAL: [&str; 4] = ["pipe", "socket", "block device", "character device"];

fn code(reason: &GapReason) -> u8 {
    match reason {
        GapReason::TooLarge => 10,
        GapReason::Unreadable(_) => 11,
        GapReason::Changing => 12,
        GapReason::ReservedName => 13,
        GapReason::TooDeep => 14,
        GapReason::Mount => 15,
        GapReason::Special(what) => 16 + (0..3).find(|number| SPECIAL[usize::from(*number)] == *what).unwrap_or(3),
    }
}

/// The text of what is unreadable is not kept: such a path is tried again each time.
fn reason(code: u8) -> Option<GapReason> {
    Some(match code {
        10 => GapReason::TooLarge,
        11 => GapReason::Unreadable(String::new()),
        12 => GapReason::Changing,
        13 => GapReason::ReservedName,
        14 => GapReason::TooDeep,
        15 => GapReason::Mount,
        16..=19 => GapReason::Special(SPECIAL[usize::from(code - 16)]),
        _ => return None,
    })
}

impl Header {
    /// Boot, stamp of the packs, wishes, index, named, forced, snapshot, gaps; lists and texts with their length before them,
    /// a missing id as a zero byte, one that is there after a one.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_text(&mut bytes, &self.boot);
        put_stamp(&mut bytes, &self.packs);
        bytes.extend_from_slice(self.wishes.as_bytes());
        let (stamp, is_settled, id) = self.index.unwrap_or((Stamp::default(), false, ObjectId::EMPTY_TREE));
        put_stamp(&mut bytes, &stamp);
        bytes.push(u8::from(is_settled));
        put_id(&mut bytes, self.index.map(|_| id));
        for list in [&self.named, &self.forced] {
            put_length(&mut bytes, list.len());
            list.iter().for_each(|path| put_text(&mut bytes, path));
        }
        for id in [Some(self.snapshot.tree), self.snapshot.attributes, self.snapshot.rules] {
            put_id(&mut bytes, id);
        }
        put_length(&mut bytes, self.gaps.len());
        for gap in &self.gaps {
            put_text(&mut bytes, &gap.path);
            bytes.push(code(&gap.reason));
            bytes.extend_from_slice(&gap.size.unwrap_or(u64::MAX).to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let boot = reader.text()?;
        let packs = stamp(reader.take(STAMP)?);
        let wishes = id(reader.take(20)?);
        let index = (stamp(reader.take(STAMP)?), reader.take(1)?[0] != 0);
        let index = reader.optional_id()?.map(|id| (index.0, index.1, id));
        let (named, forced) = (reader.texts()?, reader.texts()?);
        let snapshot =
            Snapshot { tree: reader.optional_id()??, attributes: reader.optional_id()?, rules: reader.optional_id()? };
        let mut gaps = Vec::new();
        for _ in 0..reader.length()? {
            let path = reader.text()?;
            let reason = reason(reader.take(1)?[0])?;
            let size = u64::from_le_bytes(reader.take(8)?.try_into().ok()?);
            gaps.push(Gap { path, reason, size: (size != u64::MAX).then_some(size) });
        }
        Some(Self { boot, packs, wishes, index, named, forced, snapshot, gaps })
    }
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put_length(bytes, text.len());
    bytes.extend_from_slice(text);
}

fn put_id(bytes: &mut Vec<u8>, id: Option<ObjectId>) {
    bytes.push(u8::from(id.is_some()));
    if let Some(id) = id {
        bytes.extend_from_slice(id.as_bytes());
    }
}

fn put_stamp(bytes: &mut Vec<u8>, stamp: &Stamp) {
    bytes.extend_from_slice(&stamp.mtime.to_le_bytes());
    bytes.extend_from_slice(&stamp.ctime.to_le_bytes());
    bytes.extend_from_slice(&stamp.inode.to_le_bytes());
    bytes.extend_from_slice(&stamp.size.to_le_bytes());
    bytes.extend_from_slice(&stamp.mode.to_le_bytes());
}

fn stamp(bytes: &[u8]) -> Stamp {
    let eight = |at: usize| bytes[at..at + 8].try_into().expect("the slice has eight bytes");
    Stamp {
        mtime: i64::from_le_bytes(eight(0)),
        ctime: i64::from_le_bytes(eight(8)),
        inode: u64::from_le_bytes(eight(16)),
        size: u64::from_le_bytes(eight(24)),
        mode: u32::from_le_bytes(bytes[32..STAMP].try_into().expect("the slice has four bytes")),
    }
}

fn id(bytes: &[u8]) -> ObjectId {
    ObjectId::new(bytes[..20].try_into().expect("the slice has twenty bytes"))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let length = self.length()?;
        self.take(length).map(<[u8]>::to_vec)
    }

    fn texts(&mut self) -> Option<Vec<Vec<u8>>> {
        (0..self.length()?).map(|_| self.text()).collect()
    }

    fn optional_id(&mut self) -> Option<Option<ObjectId>> {
        match self.take(1)?[0] {
            0 => Some(None),
            _ => Some(Some(id(self.take(20)?))),
        }
    }
}
