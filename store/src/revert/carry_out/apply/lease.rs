//! Finds out whether a program has a file open for writing, or maps it: whatever it writes from then on would be lost
//! with the file. The kernel tells when asked for a lease. This module does IO.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Stat;
use rustix::io::Errno;

use super::present_file::open_file;
use crate::fs::lease;

/// The kernel's answer on who writes to a file.
pub(super) enum Lease {
    /// No program has it open for writing, and none can open it so while this is held: the file, open for reading, with
    /// its `fstat` of before.
    Held(File, Stat),
    /// A program has it open for writing, or maps it.
    Busy,
    /// Unknown: it is not a regular file, or another user's, or its file system has no leases.
    Unknown,
}

/// Asks for a lease on an entry of a directory.
pub(super) fn take(directory: BorrowedFd<'_>, name: &[u8]) -> Lease {
    let Ok(Some((file, stat))) = open_file(directory, name) else {
        return Lease::Unknown;
    };
    match lease::take(file.as_fd()) {
        Ok(()) => Lease::Held(File::from(file), stat),
        // Some descriptor or shared map is open for writing.
        Err(Errno::AGAIN) => Lease::Busy,
        // Another user's file, or a file system without leases: a network's, some overlays.
        Err(_) => Lease::Unknown,
    }
}
