//! Looks at what is at a path right now: its kind, its permissions and git's id of its bytes. This module does IO, but
//! only reads.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Dir, FileType, OFlags, Stat, fstat, readlinkat};
use rustix::io::{Errno, retry_on_intr};

use crate::fs::system::errno;
use crate::model::entry::{Entry, EntryKind, Mode, ObjectId, State};
use crate::objects::hash::{Hasher, ObjectKind, blob_id};

use super::sys::{self, SysResult};
use crate::fs::{beneath, system};

/// What was found at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The path does not exist.
    Nothing,
    /// A file or a symbolic link.
    Entry(Entry),
    /// A directory; its permissions, and whether it is empty.
    Directory {
        /// At most `0o3777`.
        permissions: u32,
        /// Whether it has no entry at all.
        empty: bool,
    },
    /// A pipe, socket or device.
    Special,
    /// A file that changes while it is read.
    Changing,
}

impl Found {
    /// Returns whether it is this state. The entries of a directory do not count: from here, it cannot be told whether it
    /// holds something *captured*, and only `rmdir` decides whether it goes.
    pub fn is(&self, state: State) -> bool {
        match (self, state) {
            (Self::Nothing, None) => true,
            (Self::Entry(found), Some(entry)) => *found == entry && entry.is_stored(),
            (Self::Directory { permissions, .. }, Some(entry)) => {
                entry.mode.kind() == EntryKind::Directory
                    && entry.mode.permissions() == *permissions
            }
            _ => false,
        }
    }

    /// Returns a clause on what is there, for use in a reason.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "it is gone",
            Self::Entry(entry) if entry.mode.kind() == EntryKind::Symlink => {
                "a symbolic link is there"
            }
            Self::Entry(_) => "a file is there",
            Self::Directory { .. } => "a directory is there",
            Self::Special => "a pipe, socket or device is there",
            Self::Changing => "it is being changed",
        }
    }
}

/// Looks at an entry of a directory. Returns its kind, and its `lstat` if it exists.
pub(super) fn look(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<(Found, Option<Stat>)> {
    // The kind is asked for before anything is opened: opening a device or a pipe may act on it, or wait.
    let Some(stat) = beneath::lstat(directory, name)? else {
        return Ok((Found::Nothing, None));
    };
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => look_at_file(directory, name)?,
        FileType::Symlink => look_at_link(directory, name)?,
        FileType::Directory => {
            let permissions = Mode::directory(system::mode(&stat)).permissions();
            Found::Directory {
                permissions,
                empty: is_empty(directory, name)?,
            }
        }
        _ => Found::Special,
    };
    Ok((found, Some(stat)))
}

/// Opens a regular file for reading, and returns its `fstat`, too. `None` if it is something else by now.
pub(super) fn open_file(
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> SysResult<Option<(OwnedFd, Stat)>> {
    // What is there may have become a pipe or a terminal since the `lstat`. These flags keep opening it from
    // waiting, and a terminal from becoming ours.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match beneath::open_name(directory, name, flags) {
        Err(error @ (Errno::LOOP | Errno::NXIO)) => {
            // It is a link or a pipe by now. If it is neither, this is an error like any other.
            let stat = beneath::lstat(directory, name)?.ok_or(Errno::NOENT)?;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            return if is_file { Err(error) } else { Ok(None) };
        }
        other => other?,
    };
    let stat = retry_on_intr(|| fstat(&file))?;
    // Only what was opened counts: between `lstat` and `open`, the name may have got another file.
    Ok((FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some((file, stat)))
}

fn look_at_file(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<Found> {
    match open_file(directory, name)? {
        Some((file, stat)) => look_at_open(&File::from(file), &stat),
        None => Ok(Found::Changing),
    }
}

/// Looks at a regular file that was just opened.
pub(super) fn look_at_open(file: &File, stat: &Stat) -> SysResult<Found> {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    Ok(match id_of_file(size, file).map_err(errno)? {
        Some(blob) => Found::Entry(Entry::stored(Mode::file(system::mode(stat)), blob)),
        None => Found::Changing,
    })
}

/// How much of a file is read at a time, in bytes.
const PIECE: usize = 64 << 10;

/// Returns git's id of an open file, or `None` if it has not exactly `size` bytes. More is asked for than there should
/// be, and a file returns less than that only at its end, so most files take one call.
fn id_of_file(size: u64, mut file: &File) -> io::Result<Option<ObjectId>> {
    let mut hasher = Hasher::new(ObjectKind::Blob, size);
    let room = usize::try_from(size.saturating_add(1)).unwrap_or(usize::MAX);
    let mut buffer = vec![0; room.min(PIECE)];
    let mut read: u64 = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        read += count as u64;
        // The hash has the size in it, so a file that grew can only be read again.
        if read > size {
            return Ok(None);
        }
        hasher.update(&buffer[..count]);
        if count == 0 || read == size && count < buffer.len() {
            return Ok((read == size).then(|| hasher.finish()));
        }
    }
}

fn look_at_link(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<Found> {
    match retry_on_intr(|| readlinkat(directory, name, Vec::new())) {
        Ok(target) => Ok(Found::Entry(Entry::stored(
            Mode::SYMLINK,
            blob_id(target.as_bytes()),
        ))),
        // It was a link a moment ago.
        Err(Errno::INVAL | Errno::NOENT) => Ok(Found::Changing),
        Err(error) => Err(error),
    }
}

fn is_empty(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<bool> {
    let readable = match sys::open_readable(directory, name) {
        // A directory that may not be listed counts as not empty.
        Err(Errno::ACCESS) => return Ok(false),
        other => other?,
    };
    for entry in Dir::read_from(readable.as_fd())? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}
