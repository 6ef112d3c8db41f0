//! One directory in the cache, read in place: a workspace has too many entries to copy them for a look.
//!
//! Its head says what a snapshot has to know of every directory, also of one that is not looked at. Its body, the
//! entries, is read when it is asked for.
//!
//! ```text
//! head   body:u32 checksum:u32  path:u32 items:u32  files:u32 executables:u32  files' mode:u16 executables' mode:u16
//!        state:u8 view:u8 flags:u16  stamp  rules:[20] tree:[20]  path
//! body   item*  names
//! item   stamp  name:u16  kind:u8 flags:u8  id:[20]
//! stamp  mtime:i64 ctime:i64 inode:u64 size:u64 mode:u32
//! ```
//!
//! `body` and `path` are lengths in bytes, `checksum` is the body's.

use super::Cache;
use super::bytes::{ByteReader, STAMP, id, put_length, put_stamp, stamp};
use crate::fs::disk::Stamp;
use crate::model::entry::ObjectId;
use crate::snapshot::attributes::FilePermissions;
use crate::snapshot::rules::DirectoryView;
use crate::snapshot::scan::listing::{ItemKind, ListedItem, Listing, ListingState};
use crate::snapshot::seen_entries::{code, reason};

const ITEM: usize = STAMP + 24;
/// What follows the lengths and the checksum in a head, without the path.
const FIXED: usize = 16 + STAMP + 40;
/// Where things are in there, as in the drawing above.
const AT_FILES: usize = 0;
const AT_EXECUTABLES: usize = 4;
const AT_FILE_MODE: usize = 8;
const AT_EXECUTABLE_MODE: usize = 10;
const AT_STATE: usize = 12;
const AT_VIEW: usize = 13;
const AT_FLAGS: usize = 14;
const AT_STAMP: usize = 16;
const AT_RULES: usize = AT_STAMP + STAMP;
const AT_TREE: usize = AT_RULES + 20;

// What `state` may be beside the code of a gap.
const LISTED: u8 = 0;
const LEFT_OUT: u8 = 1;

// What the kind of an item may be beside the code of a gap.
const CONTENT: u8 = 0;
const DIRECTORY: u8 = 1;
const WATCHED: u8 = 2;

// The flags of a head answer, without the body, what is asked of every directory.
const SETTLED: u8 = 1;
const EMPTY: u8 = 1 << 1;
const RULES: u8 = 1 << 2;
const TREE: u8 = 1 << 3;
const SURE: u8 = 1 << 4;
const UNIFORM: u8 = 1 << 5;
const DIRECTORIES: u8 = 1 << 6;
const MORE_IGNORED: u8 = 1 << 7;

/// The head of one directory, in place.
#[derive(Clone, Copy)]
pub(super) struct DirectoryHead<'a> {
    /// All of its bytes.
    pub raw: &'a [u8],
    /// The length of the body.
    pub body: usize,
    /// The checksum of the body.
    pub checksum: u32,
    items: usize,
    fixed: &'a [u8],
    /// The directory's path.
    pub path: &'a [u8],
}

impl<'a> DirectoryHead<'a> {
    /// Parses the head at the beginning of the bytes, or returns `None` if it is invalid.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let (body, checksum) = (reader.length()?, reader.u32()?);
        let (path, items) = (reader.length()?, reader.length()?);
        let fixed = reader.take(FIXED)?;
        let path = reader.take(path)?;
        // Checked here once, so that the entries can be cut out of the body later without an error.
        (items.checked_mul(ITEM)? <= body).then_some(())?;
        Some(Self {
            raw: &bytes[..bytes.len() - reader.0.len()],
            body,
            checksum,
            items,
            fixed,
            path,
        })
    }

    fn has(&self, flag: u8) -> bool {
        self.fixed[AT_FLAGS] & flag != 0
    }

    fn count(&self, at: usize) -> u32 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|next| self.fixed[at + next]);
        u32::from_le_bytes([a, b, c, d])
    }

    fn mode(&self, at: usize) -> u32 {
        u32::from(u16::from_le_bytes([self.fixed[at], self.fixed[at + 1]]))
    }
}

/// One directory of a cache, in place.
pub(crate) struct Directory<'a> {
    cache: &'a Cache,
    number: usize,
    head: DirectoryHead<'a>,
    /// Its path.
    pub path: &'a [u8],
}

/// One entry of a directory, in place.
pub(crate) struct CachedItem<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its stamp.
    pub stamp: Stamp,
    /// Whether any later change shows in the stamp.
    pub is_settled: bool,
    code: u8,
    id: ObjectId,
}

impl<'a> Directory<'a> {
    pub(super) fn new(cache: &'a Cache, number: usize, head: DirectoryHead<'a>) -> Self {
        Self {
            cache,
            number,
            head,
            path: head.path,
        }
    }

    /// Returns its stamp.
    pub fn stamp(&self) -> Stamp {
        stamp(&self.head.fixed[AT_STAMP..AT_STAMP + STAMP])
    }

    /// Returns whether its content is valid until something changes: nothing in it was too young, or could not be
    /// captured for a reason that may pass without a trace.
    pub fn is_sure(&self) -> bool {
        self.is_settled() && self.head.has(SURE)
    }

    /// Returns whether it is the store's own directory.
    pub fn is_left_out(&self) -> bool {
        self.head.fixed[AT_STATE] == LEFT_OUT
    }

    /// Returns whether it is completely empty.
    pub fn is_empty(&self) -> bool {
        self.head.has(EMPTY)
    }

    /// Returns whether its names are valid as long as its stamp stays the same.
    pub fn is_settled(&self) -> bool {
        self.head.fixed[AT_STATE] == LISTED && self.head.has(SETTLED)
    }

    /// Returns whether any of its entries is a directory.
    pub fn has_directories(&self) -> bool {
        self.head.has(DIRECTORIES)
    }

    /// Returns which part of it is captured.
    pub fn view(&self) -> DirectoryView {
        [
            DirectoryView::Open,
            DirectoryView::Included,
            DirectoryView::Ignored,
            DirectoryView::Ignored,
        ][usize::from(self.head.fixed[AT_VIEW] & 3)]
    }

    /// Returns the hash of the ignore file that decided about its entries.
    pub fn rules(&self) -> Option<ObjectId> {
        let is_known = self.head.has(RULES);
        is_known.then(|| id(&self.head.fixed[AT_RULES..]))
    }

    /// Returns its tree.
    pub fn tree(&self) -> Option<ObjectId> {
        let is_known = self.head.has(TREE);
        is_known.then(|| id(&self.head.fixed[AT_TREE..]))
    }

    /// Returns the permissions of its files, or `None` if not all of a kind have the same.
    pub fn permissions(&self) -> Option<FilePermissions> {
        self.head.has(UNIFORM).then(|| FilePermissions {
            files: (self.head.mode(AT_FILE_MODE), self.head.count(AT_FILES)),
            executables: (
                self.head.mode(AT_EXECUTABLE_MODE),
                self.head.count(AT_EXECUTABLES),
            ),
        })
    }

    /// Returns its entries, by name.
    pub fn items(&self) -> impl Iterator<Item = CachedItem<'a>> + use<'a> {
        let body = self.cache.body(self.number, &self.head);
        let split = body.and_then(|body| body.split_at_checked(self.head.items * ITEM));
        let (items, mut names) = split.unwrap_or_default();
        items.chunks_exact(ITEM).map(move |item| {
            let length =
                usize::from(u16::from_le_bytes([item[STAMP], item[STAMP + 1]])).min(names.len());
            let (name, rest) = names.split_at(length);
            names = rest;
            let (code, flags) = (item[STAMP + 2], item[STAMP + 3]);
            CachedItem {
                name,
                stamp: stamp(item),
                is_settled: flags & 1 != 0,
                code,
                id: id(&item[STAMP + 4..]),
            }
        })
    }

    /// Returns whether its names could be read, or `None` if the cache is invalid.
    pub fn state(&self) -> Option<ListingState> {
        Some(match self.head.fixed[AT_STATE] {
            LISTED => ListingState::Listed,
            LEFT_OUT => ListingState::LeftOut,
            code => ListingState::Gap(reason(code)?),
        })
    }

    /// Returns the entry of a name.
    pub fn item(&self, name: &[u8]) -> Option<CachedItem<'a>> {
        self.items().find(|item| item.name == name)
    }

    /// Returns it as a listing.
    pub fn listing(&self) -> Option<Listing> {
        Some(Listing {
            stamp: self.stamp(),
            is_settled: self.head.has(SETTLED),
            state: self.state()?,
            view: self.view(),
            is_empty: self.is_empty(),
            has_more_ignored: self.head.has(MORE_IGNORED),
            rules: self.rules(),
            tree: self.tree(),
            items: self
                .items()
                .map(|item| item.listed())
                .collect::<Option<_>>()?,
        })
    }

    /// Returns whether it is exactly this listing.
    pub fn is(&self, listing: &Listing) -> bool {
        let mut record = Records::default();
        record.put(self.path, listing);
        record.heads == self.head.raw
            && self.cache.body(self.number, &self.head) == Some(&record.bodies[..])
    }

    /// Copies it to the records of another file.
    pub fn append_to(&self, records: &mut Records) {
        // Without the body, the cache is torn, and not used to write another one.
        if let Some(body) = self.cache.body(self.number, &self.head) {
            records.heads.extend_from_slice(self.head.raw);
            records.bodies.extend_from_slice(body);
        }
    }
}

impl CachedItem<'_> {
    /// Returns it as an item of a listing, or `None` if the cache is invalid.
    fn listed(&self) -> Option<ListedItem> {
        Some(ListedItem {
            name: self.name.to_vec(),
            stamp: self.stamp,
            is_settled: self.is_settled,
            kind: self.kind()?,
        })
    }

    /// Returns its blob if it is a file or link that was captured.
    pub fn content(&self) -> Option<ObjectId> {
        (self.code == CONTENT).then_some(self.id)
    }

    /// Returns the kind of the item, or `None` if the cache is invalid.
    pub fn kind(&self) -> Option<ItemKind> {
        Some(match self.code {
            CONTENT => ItemKind::Content(self.id),
            DIRECTORY => ItemKind::Directory,
            WATCHED => ItemKind::Watched(self.id),
            code => ItemKind::Gap(reason(code)?),
        })
    }
}

/// The heads and bodies of directories, to be written.
#[derive(Default)]
pub(crate) struct Records {
    pub(super) heads: Vec<u8>,
    pub(super) bodies: Vec<u8>,
}

impl Records {
    /// Adds a directory. A listing that does not fit the format becomes a record that no reader accepts.
    pub fn put(&mut self, path: &[u8], listing: &Listing) {
        let start = self.bodies.len();
        for item in &listing.items {
            put_item(&mut self.bodies, item);
        }
        for item in &listing.items {
            self.bodies.extend_from_slice(&item.name);
        }
        let body = &self.bodies[start..];
        let heads = &mut self.heads;
        put_length(heads, body.len());
        heads.extend_from_slice(&libdeflater::crc32(body).to_le_bytes());
        put_length(heads, path.len());
        put_length(heads, listing.items.len());
        put_fixed(heads, listing);
        heads.extend_from_slice(path);
    }
}

fn put_fixed(heads: &mut Vec<u8>, listing: &Listing) {
    let permissions = listing.permissions();
    let FilePermissions { files, executables } = permissions.unwrap_or_default();
    heads.extend_from_slice(&files.1.to_le_bytes());
    heads.extend_from_slice(&executables.1.to_le_bytes());
    // With what an ACL withholds, they fit into 15 bits.
    for mode in [files.0, executables.0] {
        heads.extend_from_slice(&u16::try_from(mode).unwrap_or(u16::MAX).to_le_bytes());
    }
    heads.push(match &listing.state {
        ListingState::Listed => LISTED,
        ListingState::LeftOut => LEFT_OUT,
        ListingState::Gap(reason) => code(reason),
    });
    heads.push(match listing.view {
        DirectoryView::Open => 0,
        DirectoryView::Included => 1,
        DirectoryView::Ignored => 2,
    });
    let has = |kind: fn(&ItemKind) -> bool| listing.items.iter().any(|item| kind(&item.kind));
    let flags = [
        (SETTLED, listing.is_settled),
        (EMPTY, listing.is_empty),
        (RULES, listing.rules.is_some()),
        (TREE, listing.tree.is_some()),
        (SURE, listing.items.iter().all(ListedItem::is_sure)),
        (UNIFORM, permissions.is_some()),
        (DIRECTORIES, has(|kind| *kind == ItemKind::Directory)),
        (MORE_IGNORED, listing.has_more_ignored),
    ];
    let set = flags.iter().filter(|(_, is_set)| *is_set);
    heads.extend_from_slice(&[set.fold(0, |flags, (flag, _)| flags | flag), 0]);
    put_stamp(heads, &listing.stamp);
    for id in [listing.rules, listing.tree] {
        heads.extend_from_slice(id.unwrap_or(ObjectId::EMPTY_TREE).as_bytes());
    }
}

fn put_item(bytes: &mut Vec<u8>, item: &ListedItem) {
    put_stamp(bytes, &item.stamp);
    // No name is longer than the kernel's entry for it, whose length has 16 bits.
    bytes.extend_from_slice(
        &u16::try_from(item.name.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    let (code, id) = match &item.kind {
        ItemKind::Content(id) => (CONTENT, *id),
        ItemKind::Directory => (DIRECTORY, ObjectId::EMPTY_TREE),
        ItemKind::Watched(id) => (WATCHED, *id),
        ItemKind::Gap(reason) => (code(reason), ObjectId::EMPTY_TREE),
    };
    bytes.extend_from_slice(&[code, u8::from(item.is_settled)]);
    bytes.extend_from_slice(id.as_bytes());
}
