//! Reads the user's repository: where it is, its excludes, its index, its HEAD. This module does IO.
//!
//! All of it is data, never configuration that makes us run, follow or write anything, and libgit2 never sees it.
//! Whatever is missing or nonsense counts as absent: a broken repository never fails a snapshot.

pub(crate) mod config;
pub(crate) mod excludes;
pub(crate) mod glob;
pub(crate) mod index;
pub(crate) mod objects;
pub(crate) mod state;
pub(crate) mod tracked;

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::fs::beneath;
use crate::fs::system::errno;
use crate::model::entry::file_type;
use crate::objects::hash::{SHA1, SHA256};

/// The largest ignore or configuration file that is read, in bytes.
pub(crate) const SMALL: u64 = 1 << 20;

/// Where the user's repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The work tree's own folder: HEAD and index are here.
    pub directory: PathBuf,
    /// The folder that linked worktrees share: refs, objects and `info/exclude` are here.
    pub common: PathBuf,
}

impl Location {
    /// Finds the repository of a work tree's top: its `.git` folder, or the one that a `.git` file or link points at.
    pub fn of(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let metadata = git.symlink_metadata().ok()?;
        let directory = if metadata.is_dir() {
            git
        } else if metadata.is_symlink() {
            git.canonicalize().ok()?
        } else {
            let text = read_small(&git, SMALL, OFlags::NOFOLLOW)?;
            root.join(path_of(text.strip_prefix(b"gitdir:")?)?)
        };
        Self::at(directory)
    }

    /// Describes the repository whose folder this is.
    pub fn at(directory: PathBuf) -> Option<Self> {
        // An empty `.git` folder is no repository; git passes over it, too.
        directory.join("HEAD").symlink_metadata().ok()?;
        let common = read_small(&directory.join("commondir"), SMALL, OFlags::NOFOLLOW);
        let common = common.and_then(|text| Some(directory.join(path_of(&text)?)));
        Some(Self {
            common: common.unwrap_or_else(|| directory.clone()),
            directory,
        })
    }

    /// Returns how many bytes its ids have.
    pub fn id_length(&self) -> usize {
        if self.is_sha256() { SHA256 } else { SHA1 }
    }

    /// Returns whether its objects have SHA-256 ids, unlike ours.
    pub fn is_sha256(&self) -> bool {
        let text =
            read_small(&self.common.join("config"), SMALL, OFlags::NOFOLLOW).unwrap_or_default();
        config::value(&text, "extensions", "objectformat")
            .is_some_and(|format| format.eq_ignore_ascii_case(b"sha256"))
    }
}

fn path_of(text: &[u8]) -> Option<&Path> {
    let text = text.trim_ascii();
    (!text.is_empty() && !text.contains(&0)).then(|| Path::new(OsStr::from_bytes(text)))
}

/// From this size on, in bytes, a file is checked for holes.
const PLAIN: u64 = 4 << 20;

/// Returns whether a part of a file was never written. It takes no room on the disk, but would in memory.
fn has_holes(file: &std::fs::File, size: u64) -> bool {
    let hole = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0));
    // Asking for a hole moves the read position.
    let is_back = rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0)).is_ok();
    !is_back || hole.is_ok_and(|hole| hole < size)
}

/// Reads a regular file of at most `limit` bytes, or returns `None` for anything else.
pub(crate) fn read_small(path: &Path, limit: u64, more_flags: OFlags) -> Option<Vec<u8>> {
    read_if_small(path, limit, more_flags).ok()?
}

/// Like [`read_small`], but distinguishes a file that does not exist from one that cannot be read.
pub(crate) fn try_read_small(
    path: &Path,
    limit: u64,
    more_flags: OFlags,
) -> Result<Option<Vec<u8>>, Errno> {
    match beneath::twice(|| read_if_small(path, limit, more_flags)) {
        Err(error) if beneath::is_no_file(error) => Ok(None),
        read => read,
    }
}

/// Opens only what is a regular file. A repository names paths, and opening is an act: a tape rewinds, a watchdog starts,
/// the writer of a pipe goes on. What takes the file's place meanwhile is not waited for, and not read further than that.
fn read_if_small(path: &Path, limit: u64, more_flags: OFlags) -> Result<Option<Vec<u8>>, Errno> {
    let stat = match more_flags.contains(OFlags::NOFOLLOW) {
        true => rustix::fs::lstat(path)?,
        false => rustix::fs::stat(path)?,
    };
    let size = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => u64::try_from(stat.st_size).unwrap_or_default(),
        FileType::Symlink => return Err(Errno::LOOP),
        _ => return Ok(None),
    };
    if size > limit {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | more_flags;
    read_all(rustix::fs::open(path, flags, Mode::empty())?.into(), size)
}

/// Reads a regular file of an open directory, or returns `None` for anything else. It is opened like those of
/// [`read_small`].
pub(crate) fn read_small_in(
    directory: BorrowedFd<'_>,
    name: &[u8],
    limit: u64,
) -> Result<Option<Vec<u8>>, Errno> {
    let stamp = beneath::stat(directory, name)?;
    if stamp.file_type() != file_type::REGULAR || stamp.size > limit {
        return Ok(None);
    }
    read_all(beneath::open_file(directory, name)?.into(), stamp.size)
}

/// Reads this many bytes of a file, or `None` if it is one of holes.
fn read_all(file: std::fs::File, size: u64) -> Result<Option<Vec<u8>>, Errno> {
    if size > PLAIN && has_holes(&file, size) {
        return Ok(None);
    }
    // There is room for all of it, so one call reads it.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // No more than it had when it was asked: a process may be appending.
    file.take(size).read_to_end(&mut bytes).map_err(errno)?;
    Ok(Some(bytes))
}
