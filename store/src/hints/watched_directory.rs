//! A watched directory, and what is known of it, in whichever way the system tells of changes. This module does IO, but
//! only reads.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::changes::ChangeTimes;
use super::protocol::{Answer, ChangedPlaces, WatchToken};
use crate::fs::system;
use crate::model::path::join;

/// The most directories with files that have several names. They are in every answer, because another name may be
/// outside.
const MOST_LINKED: usize = 1_000;

/// `OVERLAYFS_SUPER_MAGIC`: changes in its lower layers are not reported.
#[cfg(target_os = "linux")]
const OVERLAY: i64 = 0x794c_7630;

/// A watch ends, because something would not be reported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WatchEnd;

/// Returns the directories that the last look at a workspace saw, from the folder of its snapshots; `None` if there was
/// none.
pub type ReadSeen = fn(&Path) -> Option<BTreeSet<Vec<u8>>>;

/// What the last look at a workspace saw.
pub(super) struct SeenDirectories {
    /// The folder of its snapshots.
    pub folder: PathBuf,
    /// Reads it.
    pub read: ReadSeen,
}

/// A directory that is watched with everything below it.
pub(super) struct WatchedRoot {
    path: PathBuf,
    /// Its device and inode.
    identity: (u64, u64),
    /// The watch's name. Another watch of the same directory has another name.
    name: String,
    /// The directories with files that have several names.
    linked: BTreeSet<Vec<u8>>,
    /// The directories that are not watched. They are in every answer, because a later look may see them.
    pub left_out: BTreeSet<Vec<u8>>,
    /// Where something may have changed, and when.
    pub changes: ChangeTimes,
}

impl WatchedRoot {
    /// Returns a directory of which nothing is read yet. Fails if another one is at this path by now, or if the system
    /// would not report all that happens in it.
    pub fn new(path: &Path, identity: (u64, u64)) -> Result<Self, WatchEnd> {
        let root = Self {
            path: path.to_owned(),
            identity,
            name: Uuid::new_v4().simple().to_string(),
            linked: BTreeSet::new(),
            left_out: BTreeSet::new(),
            changes: ChangeTimes::default(),
        };
        root.check()?;
        (!is_told_in_part(path)).then_some(root).ok_or(WatchEnd)
    }

    /// Returns whether a directory at this path, with this identity, is what is watched.
    pub fn is_of(&self, path: &Path, identity: (u64, u64)) -> bool {
        self.path == path && self.identity == identity
    }

    /// Returns whether what is, or was, at this path is watched.
    pub fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Fails if the directory is no longer at its path. One above it may have been renamed, which is no event of this
    /// one.
    pub fn check(&self) -> Result<(), WatchEnd> {
        let metadata = self.path.symlink_metadata().map_err(|_| WatchEnd)?;
        let is_it = metadata.is_dir() && (metadata.dev(), metadata.ino()) == self.identity;
        is_it.then_some(()).ok_or(WatchEnd)
    }

    /// Returns the moment up to which all events were taken in.
    pub fn token(&self) -> WatchToken {
        WatchToken {
            watch: self.name.clone(),
            sequence: self.changes.now(),
        }
    }

    /// Returns the possible changes since a token, as far as events were taken in.
    pub fn answer(&self, token: Option<&WatchToken>) -> Answer {
        let moment = token.filter(|token| token.watch == self.name);
        let places = moment.and_then(|token| self.changes.since(token.sequence));
        let with_linked = |places: ChangedPlaces| ChangedPlaces {
            directories: places.directories.union(&self.linked).cloned().collect(),
            left_out: self.left_out.clone(),
            ..places
        };
        Answer {
            token: Some(self.token()),
            places: places.map(with_linked),
        }
    }

    /// Reads a directory: notes whether files in it have several names, and returns its subdirectories.
    pub fn read(&mut self, path: &[u8]) -> Result<Vec<Vec<u8>>, WatchEnd> {
        // It is gone again, or cannot be entered: the one above gets an event when that changes.
        let Ok(entries) = self.at(path).read_dir() else {
            return Ok(Vec::new());
        };
        let (mut below, mut is_linked) = (Vec::new(), false);
        for entry in entries {
            // An entry that cannot be read may be a directory.
            let entry = entry.map_err(|_| WatchEnd)?;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                // A mounted file system, or what is under it.
                if metadata.dev() != self.identity.0 || metadata.ino() != entry.ino() {
                    return Err(WatchEnd);
                }
                // Git writes there all the time, and no snapshot holds any of it.
                if entry.file_name() != ".git" {
                    below.push(join(path, entry.file_name().as_bytes()));
                }
            } else {
                is_linked |= metadata.is_file() && metadata.nlink() > 1;
            }
        }
        if is_linked {
            self.note_linked(path)?;
        }
        Ok(below)
    }

    /// Reads a directory with everything below it, and returns how many directories there are.
    #[cfg(not(all(target_os = "linux", not(ckpt_portable))))]
    pub fn read_all(&mut self, path: &[u8]) -> Result<usize, WatchEnd> {
        let (mut open, mut read) = (vec![path.to_vec()], 0);
        while let Some(path) = open.pop() {
            open.extend(self.read(&path)?);
            read += 1;
        }
        Ok(read)
    }

    /// Notes that a file came into a directory. A write through another name of it is reported only to the directory
    /// of that one.
    pub fn note_file(&mut self, directory: &[u8], path: &[u8]) -> Result<(), WatchEnd> {
        let metadata = self.at(path).symlink_metadata();
        if metadata.is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1) {
            self.note_linked(directory)?;
        }
        Ok(())
    }

    fn note_linked(&mut self, path: &[u8]) -> Result<(), WatchEnd> {
        self.linked.insert(path.to_vec());
        (self.linked.len() <= MOST_LINKED)
            .then_some(())
            .ok_or(WatchEnd)
    }

    /// Returns whether a token is one of this watch.
    pub fn knows(&self, token: &WatchToken) -> bool {
        token.watch == self.name
    }

    /// Forgets what was read of a directory that is gone.
    #[cfg(all(target_os = "linux", not(ckpt_portable)))]
    pub fn forget(&mut self, path: &[u8]) {
        self.linked.remove(path);
    }

    /// Returns where a path below the root is.
    pub fn at(&self, path: &[u8]) -> PathBuf {
        match path {
            b"" => self.path.clone(),
            path => self.path.join(OsStr::from_bytes(path)),
        }
    }
}

/// Returns whether the system does not report all changes on a file system: others write there, too, or to a lower
/// layer.
fn is_told_in_part(root: &Path) -> bool {
    use std::os::fd::AsFd;
    let Ok(opened) = std::fs::File::open(root) else {
        return true;
    };
    #[cfg(target_os = "linux")]
    if rustix::fs::fstatfs(&opened).map_or(true, |stat| stat.f_type & 0xffff_ffff == OVERLAY) {
        return true;
    }
    system::is_remote(opened.as_fd())
}
