//! Systems without what `linux` uses. Everything works as there, with more calls.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Dir, FileType, OFlags, Stat, StatFs};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns `NOSYS`: there is no such call, so paths are opened component by component.
pub(crate) fn open_beneath(
    _directory: BorrowedFd<'_>,
    _path: &[u8],
    _flags: OFlags,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Returns the flags that open a directory to pass through it. Here that needs permission to list it.
pub(crate) fn pass_through() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Passes on every name in an open directory, with its type if the file system says so.
pub(crate) fn list(
    directory: BorrowedFd<'_>,
    mut each: impl FnMut(&[u8], FileType),
) -> Result<(), Errno> {
    // This opens the directory again, so it reads from the beginning.
    for entry in Dir::read_from(directory)? {
        match entry {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(entry) => each(entry.file_name().to_bytes(), entry.file_type()),
        }
    }
    Ok(())
}

/// Fails: an existing file cannot share blocks (macOS's `clonefile(2)` creates a new one), so the file is copied.
pub(crate) fn clone_blocks(_file: &File, _source: &File) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Fails: files without a name are Linux's.
pub(crate) fn make_whole(_directory: &Path, _name: &OsStr, _bytes: &[u8]) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Writes a file or a directory through to the disk. On macOS, `fsync` reaches only the drive, hence `F_FULLFSYNC`
/// (fcntl(2)), which some file systems do not have.
pub(crate) fn full_sync(file: impl AsFd) -> Result<(), Errno> {
    #[cfg(target_os = "macos")]
    if rustix::fs::fcntl_fullfsync(&file).is_ok() {
        return Ok(());
    }
    rustix::fs::fsync(file)
}

/// Does nothing: other systems have no such call. The sync that follows does the work.
pub(crate) fn begin_write_back(_file: &File) {}

/// Returns the present time by the clock that file times are taken from. Here, that is as fine as they are.
pub(crate) fn coarse_clock() -> Timespec {
    clock_gettime(ClockId::Realtime)
}

/// Returns `st_mode`: type and permissions.
#[cfg_attr(
    target_os = "linux",
    expect(clippy::useless_conversion, reason = "16 bits on macOS")
)]
pub(crate) fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode)
}

/// Returns `false`: a plan does not know, and what cannot be replaced is named when it is tried.
pub(crate) fn is_immutable(_file: BorrowedFd<'_>) -> bool {
    false
}

/// Returns the device that something is on.
pub(crate) fn device(stat: &Stat) -> u64 {
    // It is a signed 32-bit number on macOS. Its value does not matter, as long as it is the same each time.
    #[cfg(target_os = "macos")]
    return u64::from(stat.st_dev.cast_unsigned());
    #[cfg(not(target_os = "macos"))]
    stat.st_dev
}

/// From macOS's `sys/mount.h`.
#[cfg(target_os = "macos")]
const MNT_LOCAL: u32 = 0x1000;

/// Returns whether another machine or process serves a file system. Its directory times cannot be trusted: only those
/// of file systems that say that they are local are.
pub(crate) fn is_remote(root: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(root).map_or(true, |stat| is_of_server(&stat))
}

/// Returns whether another machine or process serves the file system that a directory is on, if that can be asked.
pub(crate) fn is_on_server(directory: &Path) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|stat| is_of_server(&stat))
}

#[cfg(target_os = "macos")]
fn is_of_server(stat: &StatFs) -> bool {
    stat.f_flags & MNT_LOCAL == 0
}

/// No other system has such a flag.
#[cfg(not(target_os = "macos"))]
fn is_of_server(_: &StatFs) -> bool {
    false
}

/// The number of processors that the process may run on. No thread is moved to one of them.
pub(crate) struct ProcessorCount(usize);

impl ProcessorCount {
    /// Returns these processors.
    pub fn allowed() -> Option<Self> {
        let count = std::thread::available_parallelism().ok()?;
        Some(Self(count.get()))
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.0
    }

    /// Does nothing: the system distributes threads by itself.
    pub fn move_to(&self, _number: usize) {}
}
