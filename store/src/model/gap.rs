//! Gaps: the paths that a look saw and the snapshot does not store, and why.

use std::collections::HashSet;
use std::fmt;
use std::io::Error;

use super::entry::ObjectId;
use super::metadata;
use super::path::{WorkspacePath, is_below};

/// Why a snapshot could not hold a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// Larger than `max_file_size`, and not tracked by the user's repository.
    TooLarge,
    /// One of the ignored files that `keep_ignored` names, but over its limits.
    KeptTooLarge,
    /// It could not be read.
    Unreadable(ReadFailure),
    /// It changed each time it was read.
    Changing,
    /// The time of the look was up before it was read.
    Late,
    /// Its name is `.git` on some file systems.
    ReservedName,
    /// A folder with the metadata of version control. Whatever else is in it is captured.
    Repository,
    /// Too many directories deep.
    TooDeep,
    /// A pipe, socket or device. They are never captured, and for a patch, nothing is there.
    Special(SpecialFile),
    /// Another file system is mounted there.
    Mount,
    /// A file that the user told the store to forget.
    Forgotten,
    /// A directory that the user told the store to forget, with everything below it.
    ForgottenDirectory,
    /// Ignore rules hide it. Of an ignored directory, nothing else is known.
    Ignored,
    /// The metadata of version control, such as `.git` in a directory below the root.
    Metadata,
    /// A directory with more ignored names than are kept. Which others are in it is not known.
    MoreIgnored,
}

ckpt_schema::words! {
    /// Neither a file, a link nor a directory.
    #[derive(Hash)]
    pub enum SpecialFile {
        /// A named pipe.
        Pipe = "pipe",
        /// A socket.
        Socket = "socket",
        /// A disk, for example.
        BlockDevice = "block device",
        /// A terminal, for example. An overlay file system marks deleted files with one.
        CharacterDevice = "character device",
    }
}

/// Why a path could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadFailure {
    /// The system said so: permission denied, or an I/O error.
    System(i32),
    /// Another content with the same id is stored.
    Collision,
    /// The program failed.
    Panic,
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(number) => Error::from_raw_os_error(*number).fmt(formatter),
            Self::Collision => formatter.write_str("another content with the same SHA-1 is stored"),
            Self::Panic => formatter.write_str("looking at it went wrong, which is a bug"),
        }
    }
}

impl GapReason {
    /// Returns whether a path with this gap may exist with bytes that are not stored, so that its absence from the tree
    /// means nothing.
    pub fn hides_content(&self) -> bool {
        self.is_reported() && !matches!(self, Self::Special(_))
    }

    /// Returns whether reports list it among the gaps of a snapshot. What the user's own rules leave out is none.
    pub fn is_reported(&self) -> bool {
        !matches!(self, Self::Ignored | Self::Metadata | Self::MoreIgnored)
    }

    /// Returns whether its content was removed from the store.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self, Self::Forgotten | Self::ForgottenDirectory)
    }
}

impl fmt::Display for GapReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => formatter.write_str("larger than `max_file_size`"),
            Self::KeptTooLarge => {
                formatter.write_str("ignored, and over the limits of `keep_ignored`")
            }
            Self::Unreadable(cause) => write!(formatter, "unreadable: {cause}"),
            Self::Changing => formatter.write_str("changed while it was being read"),
            Self::Late => formatter.write_str("not read before the deadline"),
            Self::ReservedName => formatter.write_str("its name is `.git` on some file systems"),
            Self::Repository => formatter.write_str("the metadata of a repository"),
            Self::TooDeep => formatter.write_str("too many directories deep"),
            Self::Special(kind) => write!(formatter, "not a file: {}", kind.name()),
            Self::Mount => formatter.write_str("another file system is mounted there"),
            Self::Forgotten => formatter.write_str("forgotten"),
            Self::ForgottenDirectory => formatter.write_str("forgotten, with all below it"),
            Self::Ignored => formatter.write_str("ignored"),
            Self::Metadata => formatter.write_str("the metadata of version control"),
            Self::MoreIgnored => formatter.write_str("more ignored names than are kept"),
        }
    }
}

/// A path that a snapshot could not hold. A directory's gap covers everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// The path, as raw bytes, because the name itself may be the reason.
    pub path: Vec<u8>,
    /// Why the snapshot does not hold it.
    pub reason: GapReason,
    /// Its size in bytes, if known.
    pub size: Option<u64>,
    /// Whether it is known to be a directory.
    pub is_directory: bool,
}

impl Gap {
    /// Returns its path for people.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    /// Returns whether a path is the gap's own or below it. The gap of the workspace itself covers everything.
    pub fn covers(&self, path: &WorkspacePath) -> bool {
        let path = path.as_bytes();
        match self.reason {
            GapReason::Repository => self.metadata_below(path),
            _ => path == self.path || is_below(path, &self.path),
        }
    }

    /// Returns whether a path is of the metadata that the gap stands for.
    fn metadata_below(&self, path: &[u8]) -> bool {
        is_below(path, &self.path)
            && metadata::owns(
                &self.path,
                &path[self.path.len() + usize::from(!self.path.is_empty())..],
            )
    }
}

/// Returns how many seen entries reports list.
pub(crate) fn reported(entries: &[Gap]) -> u64 {
    let reported = entries.iter().filter(|entry| entry.reason.is_reported());
    reported.count() as u64
}

/// The tree and the seen entries of a snapshot.
pub(crate) type StateIds = (ObjectId, Option<ObjectId>);

/// A snapshot's tree and seen entries that hold something that is forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RewrittenState {
    pub old: StateIds,
    /// Those in their place. The seen entries name what the tree lacks.
    pub new: StateIds,
    /// How many of the new seen entries reports list.
    pub gaps: u64,
}

/// The paths of gaps, to ask of many paths whether one of them covers it.
#[derive(Default)]
pub(crate) struct Covering(HashSet<Vec<u8>>);

impl Covering {
    pub fn of(paths: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// Returns whether a path is a gap's own or below one.
    pub fn covers(&self, path: &WorkspacePath) -> bool {
        let bytes = path.as_bytes();
        let slashes = (0..bytes.len()).filter(|at| bytes[*at] == b'/');
        let mut ends = slashes.chain([0, bytes.len()]);
        !self.0.is_empty() && ends.any(|end| self.0.contains(&bytes[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gap covers its path and what is below it.
    #[test]
    fn gap_covers_its_path_and_below() {
        let covers = |gap: &str, path: &str| {
            let gap = Gap {
                path: gap.into(),
                reason: GapReason::Changing,
                size: None,
                is_directory: false,
            };
            gap.covers(&WorkspacePath::new(path).expect("legal"))
        };
        assert!(covers("a", "a") && covers("a", "a/b") && covers("a", "a/b/c"));
        assert!(!covers("a", "ab") && !covers("a/b", "a") && !covers("a", "b/a"));
        assert!(covers("", "a/b"), "the workspace itself");
    }
}
