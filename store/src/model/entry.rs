//! The state of a path: object ids, modes, entries, and the change from one state to another.

use std::fmt;

use ckpt_schema::report::ChangeKind;

use super::hex::{self, Hex};
use super::path::WorkspacePath;

/// The id of a git object: SHA-1, shown as 40 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; 20]);

impl ObjectId {
    /// The tree without entries.
    pub const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92,
        0x88, 0xfb, 0xee, 0x49, 0x04,
    ]);

    /// The blob without bytes.
    pub const EMPTY_BLOB: Self = Self([
        0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8,
        0xc2, 0xe4, 0x8c, 0x53, 0x91,
    ]);

    /// Wraps the 20 bytes.
    pub const fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Returns the 20 bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Reads exactly 40 hex digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let digits: &[u8; 40] = digits.as_bytes().try_into().ok()?;
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = hex::byte(*pair)?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Hex(&self.0), formatter)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// The types of files in the upper bits of an `st_mode` (inode(7)). Git's modes have the same, and one more.
pub(crate) mod file_type {
    /// The bits that are the type.
    pub(crate) const MASK: u32 = 0o170_000;
    /// A regular file.
    pub(crate) const REGULAR: u32 = 0o100_000;
    /// A directory.
    pub(crate) const DIRECTORY: u32 = 0o040_000;
    /// A symbolic link.
    pub(crate) const LINK: u32 = 0o120_000;
    /// A pipe with a name.
    pub(crate) const PIPE: u32 = 0o010_000;
    /// A socket.
    pub(crate) const SOCKET: u32 = 0o140_000;
    /// A block device.
    pub(crate) const BLOCK_DEVICE: u32 = 0o060_000;
    /// A submodule: only git has it.
    pub(crate) const SUBMODULE: u32 = 0o160_000;
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link. Its blob is the text of its target.
    Symlink,
    /// A directory without captured entries. Its id is [`ObjectId::EMPTY_TREE`].
    Directory,
}

/// The type and permission bits of an entry, as in `st_mode`. Of the set-id and sticky bits, only a directory's setgid and
/// sticky bit are kept: without them, it would let others do more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode(u32);

impl Mode {
    /// Returns the mode of a regular file with these permission bits.
    pub const fn file(permissions: u32) -> Self {
        Self(file_type::REGULAR | permissions & 0o777)
    }

    /// Returns the mode of an empty directory with these permission bits.
    pub const fn directory(permissions: u32) -> Self {
        Self(file_type::DIRECTORY | permissions & 0o3777)
    }

    /// The mode of every symbolic link.
    pub const SYMLINK: Self = Self(file_type::LINK);

    /// Returns the mode for an `st_mode`, or `None` for what is not captured (pipes, sockets, devices).
    pub const fn from_stat(st_mode: u32) -> Option<Self> {
        match st_mode & file_type::MASK {
            file_type::REGULAR => Some(Self::file(st_mode)),
            file_type::DIRECTORY => Some(Self::directory(st_mode)),
            file_type::LINK => Some(Self::SYMLINK),
            _ => None,
        }
    }

    /// Reads the octal text that [`Mode`] is shown as.
    pub fn from_octal(text: &str) -> Option<Self> {
        Self::from_stat(u32::from_str_radix(text, 8).ok()?)
    }

    /// Returns the kind.
    pub const fn kind(self) -> EntryKind {
        match self.0 & file_type::MASK {
            file_type::LINK => EntryKind::Symlink,
            file_type::DIRECTORY => EntryKind::Directory,
            _ => EntryKind::File,
        }
    }

    /// Returns the permission bits: at most `0o777`, or `0o3777` of a directory.
    pub const fn permissions(self) -> u32 {
        self.0 & 0o7777
    }

    /// Returns whether its owner may run it, which is all that git keeps of a file's permissions.
    pub const fn is_executable(self) -> bool {
        matches!(self.kind(), EntryKind::File) && self.0 & 0o100 != 0
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:06o}", self.0)
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// An existing path in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Its type and permissions.
    pub mode: Mode,
    /// Its blob, or `None` if the path existed but its bytes are not stored (a gap).
    pub blob: Option<ObjectId>,
}

impl Entry {
    /// Returns an entry whose bytes are stored.
    pub const fn stored(mode: Mode, blob: ObjectId) -> Self {
        Self {
            mode,
            blob: Some(blob),
        }
    }

    /// Returns an empty directory.
    pub const fn directory(permissions: u32) -> Self {
        Self::stored(Mode::directory(permissions), ObjectId::EMPTY_TREE)
    }

    /// Returns whether it is an empty directory.
    pub fn is_empty_directory(&self) -> bool {
        self.mode.kind() == EntryKind::Directory && self.blob == Some(ObjectId::EMPTY_TREE)
    }

    /// Returns the blob that holds its bytes, if they are stored. An empty directory has none: its id is that of a
    /// tree.
    pub fn file_blob(&self) -> Option<ObjectId> {
        self.blob.filter(|blob| *blob != ObjectId::EMPTY_TREE)
    }

    /// Returns whether its bytes are stored.
    pub const fn is_stored(&self) -> bool {
        self.blob.is_some()
    }
}

/// The state of a path: an entry, or absent.
pub type State = Option<Entry>;

/// Returns the octal mode of a state, for a report.
pub(crate) fn mode_text(state: State) -> Option<String> {
    state.map(|entry| entry.mode.to_string())
}

/// Returns the blob of a state, for a report.
pub(crate) fn blob_text(state: State) -> Option<String> {
    let blob = state.and_then(|entry| entry.blob);
    blob.map(|blob| blob.to_string())
}

/// Returns whether something is at a path of which the bytes are not stored: a gap.
pub fn is_unstored(state: State) -> bool {
    state.is_some_and(|entry| !entry.is_stored())
}

/// One path that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The path.
    pub path: WorkspacePath,
    /// The state before.
    pub old: State,
    /// The state after.
    pub new: State,
}

impl Change {
    /// Returns how the path differs.
    pub fn kind(&self) -> ChangeKind {
        match (self.old, self.new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some(old), Some(new)) if old.mode.kind() != new.mode.kind() => ChangeKind::Type,
            (Some(old), Some(new)) if old.is_stored() && old.blob == new.blob => ChangeKind::Mode,
            _ => ChangeKind::Modified,
        }
    }
}

/// The objects that have to stay: trees with all that they reach, and blobs that may be in no tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    /// The trees, newest first.
    pub trees: Vec<ObjectId>,
    /// The blobs.
    pub blobs: Vec<ObjectId>,
}

/// A snapshot's four objects. Two snapshots of the same workspace with equal ids hold the same bytes, modes and empty
/// directories under the same ignore rules, and left out the same paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The tree, as `git write-tree` would make it of the raw bytes.
    pub tree: ObjectId,
    /// A blob with what a git tree cannot express: permission bits beyond 644 and 755, and empty directories.
    pub attributes: Option<ObjectId>,
    /// A blob with the ignore rules that are not files in the tree: `info/exclude`, the global excludes, the settings'
    /// patterns, and what is captured even though it is ignored.
    pub rules: Option<ObjectId>,
    /// A blob with what was seen and is not stored: special files, files over the limit, names of ignored files.
    pub seen: Option<ObjectId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object id is read as it is shown.
    #[test]
    fn object_id_is_read_as_shown() {
        let hex = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(
            ObjectId::from_hex(hex),
            Some(ObjectId::EMPTY_TREE),
            "git's well-known id"
        );
        assert_eq!(ObjectId::EMPTY_TREE.to_string(), hex, "and back");
        for wrong in [
            "",
            "4b",
            "zz825dc642cb6eb9a060e54bf8d69288fbee4904",
            "é".repeat(20).as_str(),
        ] {
            assert_eq!(
                ObjectId::from_hex(wrong),
                None,
                "{wrong:?} is not 40 hex digits"
            );
        }
    }

    /// Only something without stored bytes is unstored and an empty directory has none to
    /// store.
    #[test]
    fn only_something_without_bytes_is_unstored() {
        let mode = Mode::file(0o644);
        let id = ObjectId::new([1; 20]);
        let gap = Entry { mode, blob: None };
        assert!(
            is_unstored(Some(gap)),
            "it is there, and nobody has its bytes"
        );
        assert!(!is_unstored(Some(Entry::stored(mode, id))));
        assert!(!is_unstored(Some(Entry::directory(0o755))));
        assert!(!is_unstored(None), "nothing is there");
        assert_eq!(Entry::stored(mode, id).file_blob(), Some(id));
        assert_eq!(
            Entry::directory(0o755).file_blob(),
            None,
            "its id is a tree's"
        );
        assert_eq!(gap.file_blob(), None);
    }

    /// A file has no set id or sticky bit and a directory no setuid bit.
    #[test]
    fn files_have_no_set_id_or_sticky_bit() {
        assert_eq!(
            Mode::from_stat(0o104_755)
                .map(|mode| mode.to_string())
                .as_deref(),
            Some("100755"),
            "set-user-id"
        );
        assert_eq!(
            Mode::from_octal("107777").map(Mode::permissions),
            Some(0o777),
            "read back, too"
        );
        assert_eq!(
            Mode::from_stat(0o047_777).map(Mode::permissions),
            Some(0o3777),
            "a directory"
        );
        assert_eq!(Mode::from_stat(0o010_644), None, "a pipe has no mode here");
    }
}
