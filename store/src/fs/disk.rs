//! What is in an open directory: stamps and names; and the clock that file times are taken from. This module does IO.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::{acl, beneath, system};
use crate::error::{Context, Result as Outcome};
use crate::model::FileTime;
use crate::model::entry::file_type;
use crate::model::path::PathKind;

/// What is compared to find out whether a file changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    /// Nanoseconds since the epoch.
    pub mtime: FileTime,
    /// Nanoseconds since the epoch.
    pub ctime: FileTime,
    /// The inode's number.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// `st_mode`: type and permissions. Above its 16 bits, what an ACL takes from the group bits ([`acl::withheld`]). A
    /// `stat` does not tell that, so it does not count when stamps are compared: an ACL that is set changes the time.
    pub mode: u32,
}

/// Where the bits that an ACL takes from the group begin in a stamp's mode.
const WITHHELD: u32 = 16;

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        let all = |stamp: &Self| {
            let &Self {
                mtime,
                ctime,
                inode,
                size,
                ..
            } = stamp;
            (mtime, ctime, inode, size, stamp.st_mode())
        };
        all(self) == all(other)
    }
}

impl Eq for Stamp {}

impl Stamp {
    /// Returns the stamp in the result of `stat`.
    pub fn of(stat: &Stat) -> Self {
        Self {
            mtime: nanoseconds(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
            ctime: nanoseconds(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            mode: system::mode(stat),
        }
    }

    /// Returns the stamp with what the ACL of the open file takes from the group bits.
    pub fn with_acl(self, file: BorrowedFd<'_>) -> Self {
        let withheld = acl::withheld(file, self.mode);
        Self {
            mode: self.mode | withheld << WITHHELD,
            ..self
        }
    }

    /// Returns the mode in a `stat`.
    fn st_mode(&self) -> u32 {
        self.mode & ((1 << WITHHELD) - 1)
    }

    /// Returns whether any later change shows in the stamp, which was seen at `now`, with this `margin` (in
    /// nanoseconds).
    ///
    /// Times are compared with the moment before the scan began. On a file system that keeps whole seconds, two of them
    /// have to have passed.
    pub fn is_settled(&self, now: FileTime, margin: i64) -> bool {
        is_settled(self.mtime, now, margin) && is_settled(self.ctime, now, margin)
    }

    /// Returns whether a file changed, compared with an earlier stamp, and its time does not show that yet. The kernel
    /// first truncates a file and then sets its time, and a process that looks in between sees the old time with the
    /// new size.
    pub fn is_between_change_and_time(&self, before: &Self) -> bool {
        let is_same = self.inode == before.inode && self.ctime == before.ctime;
        is_same && (self.size < before.size || self.st_mode() != before.st_mode())
    }

    /// Returns the file type's bits of the mode.
    pub fn file_type(&self) -> u32 {
        self.mode & file_type::MASK
    }
}

/// Stands for a time before 1677, which 64 bits of nanoseconds cannot express. All such times look alike, so a stamp
/// with one is never settled.
const TIME_OUT_OF_RANGE: FileTime = FileTime::MIN;

/// Returns whether a later change gets another time than this one.
fn is_settled(time: FileTime, now: FileTime, margin: i64) -> bool {
    // A file system that keeps whole seconds, or two of them (FAT), gives a later change the same time.
    let coarse = match time % 1_000_000_000 {
        0 => 2_000_000_000,
        _ => 0,
    };
    time > TIME_OUT_OF_RANGE && time.saturating_add(margin.max(coarse)) < now
}

fn nanoseconds(seconds: i128, nanoseconds: i128) -> FileTime {
    let time = seconds * 1_000_000_000 + nanoseconds;
    FileTime::try_from(time).unwrap_or(if time < 0 {
        TIME_OUT_OF_RANGE
    } else {
        FileTime::MAX
    })
}

/// Returns the present time by the clock that file times are taken from.
pub fn now() -> FileTime {
    let time = system::coarse_clock();
    nanoseconds(i128::from(time.tv_sec), i128::from(time.tv_nsec))
}

/// Returns how many bytes are free for the user on the file system of a directory.
pub(crate) fn free(directory: &Path) -> Outcome<u64> {
    let room = rustix::fs::statvfs(directory)
        .map_err(std::io::Error::from)
        .context(|| {
            format!(
                "cannot find out the free space of `{}`",
                directory.display()
            )
        })?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// A name, and its kind, if the file system says so.
pub(crate) type Name = (Vec<u8>, Option<PathKind>);

/// Returns the names in an open directory, each with its kind, if the file system says so. After a
/// failure, it starts again: if only some names were read, the others would look deleted.
pub(crate) fn names(directory: BorrowedFd<'_>) -> Result<Vec<Name>, Errno> {
    names_from_here(directory).or_else(|error| {
        if beneath::SAYS_WHAT_IS_THERE.contains(&error) {
            return Err(error);
        }
        rustix::fs::seek(directory, rustix::fs::SeekFrom::Start(0))?;
        names_from_here(directory)
    })
}

fn names_from_here(directory: BorrowedFd<'_>) -> Result<Vec<Name>, Errno> {
    let mut names = Vec::new();
    system::list(directory, |name, kind| {
        let kind = match kind {
            FileType::Unknown => None,
            kind => Some(PathKind::of(kind == FileType::Directory)),
        };
        if name != b"." && name != b".." {
            names.push((name.to_vec(), kind));
        }
    })?;
    // No two looks get the names in the same order, and listings are searched and compared.
    names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A stamp is settled only when a later change must show.
    #[test]
    fn stamp_is_settled_if_changes_must_show() {
        let stamp = |mtime, ctime| Stamp {
            mtime,
            ctime,
            ..Stamp::default()
        };
        let now = 100 * SECOND + 5;
        assert!(
            stamp(now - 1, now - 1).is_settled(now, 0),
            "older than the moment"
        );
        assert!(!stamp(now, now - 1).is_settled(now, 0), "the same tick");
        assert!(
            !stamp(now - 1, now + SECOND).is_settled(now, 0),
            "from the future"
        );
        assert!(
            !stamp(99 * SECOND, now - 1).is_settled(now, 0),
            "whole seconds need two of them"
        );
        assert!(
            !stamp(now - 9, now - 9).is_settled(now, 10),
            "within the margin"
        );
        assert!(
            !stamp(TIME_OUT_OF_RANGE, now - 1).is_settled(now, 0),
            "a time that does not fit says nothing"
        );
    }

    /// A file that is cut off has its old time for a moment.
    #[test]
    fn truncated_file_keeps_its_time_for_a_moment() {
        let before = Stamp {
            ctime: 5,
            inode: 1,
            size: 10,
            mode: 0o100_644,
            ..Stamp::default()
        };
        let cut = Stamp { size: 0, ..before };
        assert!(cut.is_between_change_and_time(&before), "the size is new");
        let executable = Stamp {
            mode: 0o100_755,
            ..before
        };
        assert!(
            executable.is_between_change_and_time(&before),
            "so are the permissions"
        );
        let done = Stamp { ctime: 9, ..cut };
        assert!(!done.is_between_change_and_time(&before), "its time came");
        let other = Stamp { inode: 2, ..cut };
        assert!(
            !other.is_between_change_and_time(&before),
            "another file stands there"
        );
        let more = Stamp { size: 20, ..before };
        assert!(
            !more.is_between_change_and_time(&before),
            "the time of a long write is that of its beginning"
        );
    }
}
