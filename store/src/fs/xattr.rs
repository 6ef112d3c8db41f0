//! Extended attributes of open files. This module does IO.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, lgetxattr};
use rustix::io::{Errno, retry_on_intr};

/// How many bytes of names or of a value there mostly are, and the most that Linux takes.
const USUAL_SIZE: usize = 512;
const MAX_SIZE: usize = 64 << 10;

/// Returns the names of a file's attributes.
pub(crate) fn names(file: BorrowedFd<'_>) -> Vec<Vec<u8>> {
    let list = whole(|buffer| flistxattr(file, buffer)).unwrap_or_default();
    let names = list.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Returns the value of an attribute, if the file has it and we may read it.
pub(crate) fn value(file: BorrowedFd<'_>, name: &[u8]) -> Option<Vec<u8>> {
    whole(|buffer| fgetxattr(file, name, buffer))
}

/// Like [`value`], of what is at a path. No link is followed at its end.
pub(crate) fn value_at(path: &Path, name: &[u8]) -> Option<Vec<u8>> {
    whole(|buffer| lgetxattr(path, name, buffer))
}

/// Sets an attribute, and returns whether that was possible.
pub(crate) fn set(file: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> bool {
    fsetxattr(file, name, value, XattrFlags::empty()).is_ok()
}

/// Removes an attribute, if it is there.
pub(crate) fn remove(file: BorrowedFd<'_>, name: &[u8]) {
    let _ = fremovexattr(file, name);
}

/// Returns the bytes that a call writes into a buffer with room for them. `None` if it fails.
fn whole(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; USUAL_SIZE];
    let length = match retry_on_intr(|| read(&mut bytes)) {
        Err(Errno::RANGE) => {
            bytes.resize(MAX_SIZE, 0);
            retry_on_intr(|| read(&mut bytes))
        }
        read => read,
    };
    bytes.truncate(length.ok()?);
    Some(bytes)
}
