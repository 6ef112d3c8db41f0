//! Finds out whether a program has a file open for writing, or maps it: whatever it writes from then on would be lost
//! with the file. The kernel tells when asked for a lease. This module does IO.

use std::fs::File;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::Stat;
use rustix::io::Errno;

use super::found::open_file;
use super::sys::SysResult;
#[cfg(target_os = "linux")]
use crate::fs::system::errno;

/// The kernel's answer on who writes to a file.
pub(super) enum Lease {
    /// Nobody has it open for writing, and nobody can open it so while this is held: the file, open for reading, with
    /// its `fstat` of before.
    Held(File, Stat),
    /// Somebody has it open for writing, or maps it.
    Busy,
    /// Unknown: it is not a regular file, or another user's, or its file system has no leases.
    Unknown,
}

/// Asks for a lease on an entry of a directory.
pub(super) fn take(directory: BorrowedFd<'_>, name: &[u8]) -> Lease {
    let Ok(Some((file, stat))) = open_file(directory, name) else {
        return Lease::Unknown;
    };
    match set(&file) {
        Ok(()) => Lease::Held(File::from(file), stat),
        // Some descriptor or shared map is open for writing.
        Err(Errno::AGAIN) => Lease::Busy,
        // Another user's file, or a file system without leases: a network's, some overlays.
        Err(_) => Lease::Unknown,
    }
}

/// From the kernel's `fcntl.h`: chooses the signal that is sent when somebody waits for the lease.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no safe wrapper has leases; the calls take an open descriptor and two numbers, and touch no memory"
)]
fn set(file: &OwnedFd) -> SysResult<()> {
    let call = |command, value: libc::c_int| {
        // SAFETY: the descriptor is open as long as `file` is borrowed, and the arguments are numbers.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(errno(std::io::Error::last_os_error())),
            _ => Ok(()),
        }
    };
    // The usual signal would end the process. This one is ignored by default.
    call(F_SETSIG, libc::SIGURG)?;
    // For reading, it is refused only if somebody writes. One for writing would be refused for every reader,
    // too.
    call(libc::F_SETLEASE, libc::F_RDLCK)
}

#[cfg(not(target_os = "linux"))]
fn set(_file: &OwnedFd) -> SysResult<()> {
    Err(Errno::NOSYS)
}
