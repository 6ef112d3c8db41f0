//! What a scan finds out about one directory, and what the stat cache remembers about it.

use crate::fs::disk::Stamp;
use crate::model::entry::{ObjectId, file_type};
use crate::model::path::PathKind;
use crate::snapshot::GapReason;
use crate::snapshot::attributes::FilePermissions;
use crate::snapshot::rules::DirectoryView;

/// One directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The directory's own stamp, read before its names were.
    pub stamp: Stamp,
    /// Whether any later change of its names shows in the stamp.
    pub is_settled: bool,
    /// Whether its names could be read.
    pub state: ListingState,
    /// Which part of it is captured.
    pub view: DirectoryView,
    /// Whether it is completely empty, ignored files included.
    pub is_empty: bool,
    /// Whether it has more ignored names than are kept.
    pub has_more_ignored: bool,
    /// The hash of the ignore file that decided about the entries, if there was one.
    pub rules: Option<ObjectId>,
    /// Its tree, or `None` if nothing in it is captured.
    pub tree: Option<ObjectId>,
    /// What is captured, or could not be, by name.
    pub items: Vec<ListedItem>,
}

/// Whether the names of a directory could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListingState {
    /// Every name was read.
    Listed,
    /// It is the store's own directory.
    LeftOut,
    /// The directory could not be opened or read.
    Gap(GapReason),
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedItem {
    /// Its name.
    pub name: Vec<u8>,
    /// Its stamp. For a directory, which has its own listing, only the type.
    pub stamp: Stamp,
    /// Whether any later change of it shows in the stamp.
    pub is_settled: bool,
    /// The kind of the item.
    pub kind: ItemKind,
}

/// What an entry of a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// A file or symbolic link with this blob.
    Content(ObjectId),
    /// A directory.
    Directory,
    /// It could not be captured.
    Gap(GapReason),
    /// An ignore file that is itself ignored, with the hash of its bytes. It is watched, not captured.
    Watched(ObjectId),
}

impl Listing {
    /// Returns the listing of a directory whose names were not read.
    pub fn unread(stamp: Stamp, view: DirectoryView, state: ListingState) -> Self {
        Self {
            stamp,
            is_settled: false,
            state,
            view,
            is_empty: false,
            has_more_ignored: false,
            rules: None,
            tree: None,
            items: Vec::new(),
        }
    }

    /// Returns the listing of a directory that could not be looked at.
    pub fn unseen(view: DirectoryView, reason: GapReason) -> Self {
        Self::unread(Stamp::default(), view, ListingState::Gap(reason))
    }

    /// Returns the permissions of what is captured in it, or `None` if not all files of a kind have the same.
    pub fn permissions(&self) -> Option<FilePermissions> {
        let captured = self.items.iter().filter(|item| item.content().is_some());
        FilePermissions::of(captured.map(|item| item.stamp.mode))
    }

    /// Returns the entry that stands for the metadata of version control in it.
    pub fn metadata(&self) -> Option<&ListedItem> {
        let mut items = self.items.iter();
        items.find(|item| item.kind == ItemKind::Gap(GapReason::Repository))
    }

    /// Returns the entry of a name.
    pub fn item(&self, name: &[u8]) -> Option<&ListedItem> {
        self.items
            .binary_search_by(|item| item.name[..].cmp(name))
            .ok()
            .map(|index| &self.items[index])
    }
}

impl ListedItem {
    /// Returns the item of what is left out for its name: only that and its kind are known.
    pub fn left_out(name: &[u8], kind: PathKind, reason: GapReason) -> Self {
        let mode = match kind {
            PathKind::Directory => file_type::DIRECTORY,
            PathKind::File => 0,
        };
        Self {
            name: name.to_vec(),
            stamp: Stamp {
                mode,
                ..Stamp::default()
            },
            is_settled: true,
            kind: ItemKind::Gap(reason),
        }
    }

    /// Returns whether only its name matters: it is ignored, or a repository's.
    pub fn is_left_out(&self) -> bool {
        matches!(
            self.kind,
            ItemKind::Gap(GapReason::Ignored | GapReason::Metadata)
        )
    }

    /// Returns whether it is valid as long as its stamp stays the same: it was not too young when it was read, or can
    /// never be captured.
    pub fn is_sure(&self) -> bool {
        match self.kind {
            ItemKind::Content(_) | ItemKind::Watched(_) => self.is_settled,
            ItemKind::Directory
            | ItemKind::Gap(
                GapReason::Ignored
                | GapReason::Metadata
                | GapReason::ReservedName
                | GapReason::Repository
                | GapReason::TooDeep
                | GapReason::TooLarge
                | GapReason::KeptTooLarge
                | GapReason::Special(_),
            ) => true,
            ItemKind::Gap(_) => false,
        }
    }

    /// Returns the id of its blob, or `None` if it is not a captured file or link.
    pub fn content(&self) -> Option<ObjectId> {
        match self.kind {
            ItemKind::Content(id) => Some(id),
            ItemKind::Directory | ItemKind::Gap(_) | ItemKind::Watched(_) => None,
        }
    }
}
