//! One directory in the cache, read in place: a workspace has too many entries to copy them for a look.
//!
//! ```text
//! record   length:u64  path:u32  items:u32  state:u8 view:u8 flags:u16  stamp  rules:[20] tree:[20]  path  item*  names
//! item     stamp  name:u16  kind:u8 flags:u8  id:[20]
//! stamp    mtime:i64 ctime:i64 inode:u64 size:u64 mode:u32
//! ```

use super::bytes::{ByteReader, STAMP, id, put_length, put_stamp, stamp};
use crate::fs::disk::Stamp;
use crate::model::entry::ObjectId;
use crate::snapshot::rules::DirectoryView;
use crate::snapshot::scan::listing::{ItemKind, ListedItem, Listing, ListingState};
use crate::snapshot::{GapReason, SpecialFile};

const ITEM: usize = STAMP + 24;
const FIXED: usize = 4 + STAMP + 40;

/// One directory of a cache, in place.
pub(crate) struct Directory<'a> {
    /// The whole record.
    pub raw: &'a [u8],
    fixed: &'a [u8],
    /// Its path.
    pub path: &'a [u8],
    items: &'a [u8],
    names: &'a [u8],
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
    /// Parses the record at the beginning of the bytes, or returns `None` if it is invalid.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let length = reader.record()?;
        let raw = bytes.get(..length.checked_add(8)?)?;
        let mut reader = ByteReader(reader.take(length)?);
        let (path, items) = (reader.length()?, reader.length()?);
        let fixed = reader.take(FIXED)?;
        let path = reader.take(path)?;
        let items = reader.take(items.checked_mul(ITEM)?)?;
        Some(Self {
            raw,
            fixed,
            path,
            items,
            names: reader.0,
        })
    }

    /// Returns its stamp.
    pub fn stamp(&self) -> Stamp {
        stamp(&self.fixed[4..4 + STAMP])
    }

    /// Returns whether its content is valid until something changes: nothing in it was too young, or could not be
    /// captured for a reason that may pass without a trace.
    pub fn is_sure(&self) -> bool {
        self.is_settled() && self.items().all(|item| item.is_sure())
    }

    /// Returns whether it is the store's own directory.
    pub fn is_left_out(&self) -> bool {
        self.fixed[0] == 1
    }

    /// Returns whether it is completely empty.
    pub fn is_empty(&self) -> bool {
        self.fixed[2] & 2 != 0
    }

    /// Returns whether its names are valid as long as its stamp stays the same.
    pub fn is_settled(&self) -> bool {
        self.fixed[0] == 0 && self.fixed[2] & 1 != 0
    }

    /// Returns which part of it is captured.
    pub fn view(&self) -> DirectoryView {
        [
            DirectoryView::Open,
            DirectoryView::Included,
            DirectoryView::Ignored,
            DirectoryView::Passage,
        ][usize::from(self.fixed[1] & 3)]
    }

    /// Returns the hash of the ignore file that decided about its entries.
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
        Some(match self.fixed[0] {
            0 => ListingState::Listed,
            1 => ListingState::LeftOut,
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
            is_settled: self.fixed[2] & 1 != 0,
            state: self.state()?,
            view: self.view(),
            is_empty: self.fixed[2] & 2 != 0,
            rules: self.rules(),
            tree: self.tree(),
            items: self
                .items()
                .map(|item| item.listed())
                .collect::<Option<_>>()?,
        })
    }
}

impl CachedItem<'_> {
    /// Returns whether it is valid as long as its stamp stays the same: it was not too young when it was read, or can
    /// never be captured.
    fn is_sure(&self) -> bool {
        match self.kind() {
            Some(ItemKind::Content(_) | ItemKind::Watched(_)) => self.is_settled,
            Some(
                ItemKind::Directory
                | ItemKind::Ignored
                | ItemKind::Gap(
                    GapReason::ReservedName
                    | GapReason::TooDeep
                    | GapReason::TooLarge
                    | GapReason::KeptTooLarge
                    | GapReason::Special(_),
                ),
            ) => true,
            Some(ItemKind::Gap(_)) | None => false,
        }
    }

    /// Returns it as an item of a listing, or `None` if the cache is invalid.
    fn listed(&self) -> Option<ListedItem> {
        Some(ListedItem {
            name: self.name.to_vec(),
            stamp: self.stamp,
            is_settled: self.is_settled,
            kind: self.kind()?,
        })
    }

    /// Returns whether it is an ignored file.
    pub fn is_ignored(&self) -> bool {
        self.kind() == Some(ItemKind::Ignored)
    }

    /// Returns its blob if it is a file or link that was captured.
    pub fn content(&self) -> Option<ObjectId> {
        (self.code == 0).then_some(self.id)
    }

    /// Returns the kind of the item, or `None` if the cache is invalid.
    pub fn kind(&self) -> Option<ItemKind> {
        Some(match self.code {
            0 => ItemKind::Content(self.id),
            1 => ItemKind::Directory,
            2 => ItemKind::Watched(self.id),
            3 => ItemKind::Ignored,
            code => ItemKind::Gap(reason(code)?),
        })
    }
}

/// Appends a directory. A listing that does not fit the format becomes a record that no reader accepts.
pub(crate) fn put_listing(bytes: &mut Vec<u8>, path: &[u8], listing: &Listing) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; 8]);
    put_length(bytes, path.len());
    put_length(bytes, listing.items.len());
    bytes.push(match &listing.state {
        ListingState::Listed => 0,
        ListingState::LeftOut => 1,
        ListingState::Gap(reason) => code(reason),
    });
    bytes.push(match listing.view {
        DirectoryView::Open => 0,
        DirectoryView::Included => 1,
        DirectoryView::Ignored => 2,
        DirectoryView::Passage => 3,
    });
    let bits = [
        listing.is_settled,
        listing.is_empty,
        listing.rules.is_some(),
        listing.tree.is_some(),
    ];
    bytes.push(
        bits.iter()
            .rev()
            .fold(0, |flags, bit| flags << 1 | u8::from(*bit)),
    );
    bytes.push(0);
    put_stamp(bytes, &listing.stamp);
    for id in [listing.rules, listing.tree] {
        bytes.extend_from_slice(id.unwrap_or(ObjectId::EMPTY_TREE).as_bytes());
    }
    bytes.extend_from_slice(path);
    listing.items.iter().for_each(|item| put_item(bytes, item));
    listing
        .items
        .iter()
        .for_each(|item| bytes.extend_from_slice(&item.name));
    let length = (bytes.len() - start - 8) as u64;
    bytes[start..start + 8].copy_from_slice(&length.to_le_bytes());
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
        ItemKind::Content(id) => (0, *id),
        ItemKind::Directory => (1, ObjectId::EMPTY_TREE),
        ItemKind::Watched(id) => (2, *id),
        ItemKind::Ignored => (3, ObjectId::EMPTY_TREE),
        ItemKind::Gap(reason) => (code(reason), ObjectId::EMPTY_TREE),
    };
    bytes.extend_from_slice(&[code, u8::from(item.is_settled)]);
    bytes.extend_from_slice(id.as_bytes());
}

pub(super) fn code(reason: &GapReason) -> u8 {
    match reason {
        GapReason::TooLarge => 10,
        GapReason::Unreadable(_) => 11,
        GapReason::Changing => 12,
        GapReason::ReservedName => 13,
        GapReason::TooDeep => 14,
        GapReason::Mount => 15,
        GapReason::Special(SpecialFile::Pipe) => 16,
        GapReason::Special(SpecialFile::Socket) => 17,
        GapReason::Special(SpecialFile::BlockDevice) => 18,
        GapReason::Special(SpecialFile::CharacterDevice) => 19,
        GapReason::KeptTooLarge => 20,
        GapReason::Forgotten => 22,
        GapReason::ForgottenDirectory => 21,
    }
}

/// Returns the reason for a code. The error of an unreadable path is not stored: such a path is tried again each time.
pub(super) fn reason(code: u8) -> Option<GapReason> {
    Some(match code {
        10 => GapReason::TooLarge,
        11 => GapReason::Unreadable(String::new()),
        12 => GapReason::Changing,
        13 => GapReason::ReservedName,
        14 => GapReason::TooDeep,
        15 => GapReason::Mount,
        16 => GapReason::Special(SpecialFile::Pipe),
        17 => GapReason::Special(SpecialFile::Socket),
        18 => GapReason::Special(SpecialFile::BlockDevice),
        19 => GapReason::Special(SpecialFile::CharacterDevice),
        20 => GapReason::KeptTooLarge,
        22 => GapReason::Forgotten,
        21 => GapReason::ForgottenDirectory,
        _ => return None,
    })
}
