//! Opens a file of which something else says where it is, such as an event. This module does IO.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file, and never a pipe or a device: that would wait for a writer, or be an act. What only says that it
/// is a regular file, as in `/proc`, is read without waiting as well.
///
/// # Errors
///
/// Those of the system, and `InvalidInput` for anything but a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let other = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    if !path.metadata()?.is_file() {
        return Err(other());
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    // Something else may have taken its place.
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(other()),
    }
}
