//! Leases: the kernel's word that no program has a file open for writing, or maps it. This module does IO.

use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use rustix::io::Errno;

#[cfg(target_os = "linux")]
use linux::{end, set, tells_of_writers};
#[cfg(not(target_os = "linux"))]
use other::{end, set, tells_of_writers};

/// Takes a lease for reading on an open file. The kernel refuses it with `AGAIN` if a descriptor or a shared map is open
/// for writing, and otherwise for another user's file, or on a file system without leases: a network's, some overlays.
pub(crate) fn take(file: BorrowedFd<'_>) -> Result<(), Errno> {
    set(file)
}

/// Whether the file system of a workspace tells of every writer. It is asked once, and only if that matters.
#[derive(Debug, Default)]
pub(crate) struct Writers(OnceLock<bool>);

impl Writers {
    /// Returns whether a lease on a file below this directory shows every writer, and the first write through a later map
    /// sets the file's time.
    pub(crate) fn are_told(&self, root: BorrowedFd<'_>) -> bool {
        *self.0.get_or_init(|| tells_of_writers(root))
    }
}

/// Returns whether no program can write to an open file unless it opens it first.
pub(crate) fn has_no_writer(file: BorrowedFd<'_>) -> bool {
    take(file).is_ok() && end(file).is_ok()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{AsRawFd, BorrowedFd};

    use rustix::io::Errno;

    use crate::fs::system::errno;

    /// From the kernel's `fcntl.h`: chooses the signal that is sent when another process waits for the lease.
    const F_SETSIG: libc::c_int = 10;

    /// One for writing would be refused for every reader, too.
    pub(super) fn set(file: BorrowedFd<'_>) -> Result<(), Errno> {
        // The usual signal would end the process. This one is ignored by default.
        control(file, F_SETSIG, libc::SIGURG)?;
        control(file, libc::F_SETLEASE, libc::F_RDLCK)
    }

    pub(super) fn end(file: BorrowedFd<'_>) -> Result<(), Errno> {
        control(file, libc::F_SETLEASE, libc::F_UNLCK)
    }

    #[expect(unsafe_code, reason = "no safe wrapper has leases")]
    fn control(
        file: BorrowedFd<'_>,
        command: libc::c_int,
        value: libc::c_int,
    ) -> Result<(), Errno> {
        // SAFETY: the descriptor is open as long as it is borrowed, and the arguments are numbers.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(errno(std::io::Error::last_os_error())),
            _ => Ok(()),
        }
    }

    /// Not where maps belong to files below (overlays), or memory is written without a fault (tmpfs).
    pub(super) fn tells_of_writers(root: BorrowedFd<'_>) -> bool {
        // The numbers are those of the kernel's `magic.h`: ext2 to ext4, XFS, Btrfs, F2FS.
        const KNOWN: [i64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];
        rustix::fs::fstatfs(root).is_ok_and(|stat| KNOWN.contains(&(stat.f_type & 0xffff_ffff)))
    }
}

/// There are no leases.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::os::fd::BorrowedFd;

    use rustix::io::Errno;

    pub(super) fn set(_file: BorrowedFd<'_>) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn end(_file: BorrowedFd<'_>) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn tells_of_writers(_root: BorrowedFd<'_>) -> bool {
        false
    }
}
