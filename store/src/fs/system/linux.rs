//! Linux.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, StatFs, StatxAttributes,
    StatxFlags, statx,
};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::errno;

/// How many bytes of names are read at a time.
const NAMES: usize = 64 << 10;

/// Opens what is beneath a directory with one call, which follows no link and crosses no mount (openat2(2)). `NOSYS` if
/// the kernel does not have it.
pub(crate) fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve)
}

/// Returns the flags that open a directory to pass through it, which needs no permission to list it.
pub(crate) fn pass_through() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Passes on every name in an open directory, with its type if the file system says so, from the directory's read
/// position on.
pub(crate) fn list(
    directory: BorrowedFd<'_>,
    mut each: impl FnMut(&[u8], FileType),
) -> Result<(), Errno> {
    let mut buffer = Vec::with_capacity(NAMES);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        match entry {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(entry) => each(entry.file_name().to_bytes(), entry.file_type()),
        }
    }
    Ok(())
}

/// Makes an empty file share the blocks of another until one of them is written (ioctl_ficlone(2)).
pub(crate) fn clone_blocks(file: &File, source: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(file, source)
}

/// Makes a file that only its owner may open, with these bytes and synced, and syncs its directory: it has all of
/// them, or does not exist, and a kill leaves nothing behind (`O_TMPFILE` in open(2)). `EXIST` if something has its
/// name.
pub(crate) fn make_whole(directory: &Path, name: &OsStr, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(bytes).map_err(errno)?;
    full_sync(&file)?;
    // `AT_EMPTY_PATH` would need `CAP_DAC_READ_SEARCH`; this way needs `/proc`, and without it the caller takes
    // another.
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = directory.join(name);
    rustix::fs::linkat(CWD, nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    // A file that is synced may still be without its name after a power cut.
    full_sync(File::open(directory).map_err(errno)?)
}

/// Writes a file or a directory through to the disk.
pub(crate) fn full_sync(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(file)
}

/// Starts writing a file's data to the disk, without waiting (sync_file_range(2)). This makes the sync that has to
/// follow cheaper, and promises nothing: if it fails, nothing is lost.
#[expect(unsafe_code, reason = "rustix has no call for it")]
pub(crate) fn begin_write_back(file: &File) {
    // SAFETY: the descriptor is open, and the call takes numbers only. A length of 0 means up to the end.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Returns the present time by the clock that file times are taken from.
pub(crate) fn coarse_clock() -> Timespec {
    clock_gettime(ClockId::RealtimeCoarse)
}

/// Returns `st_mode`: type and permissions.
pub(crate) fn mode(stat: &Stat) -> u32 {
    stat.st_mode
}

/// Returns whether a file can be neither replaced nor removed, not even by root (`chattr +i`, `chattr +a`).
pub(crate) fn is_immutable(file: BorrowedFd<'_>) -> bool {
    let stays = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.intersects(stays))
}

/// Returns the device that something is on.
pub(crate) fn device(stat: &Stat) -> u64 {
    stat.st_dev
}

/// Returns whether another machine or process serves a file system. Its directory times cannot be trusted.
pub(crate) fn is_remote(root: BorrowedFd<'_>) -> bool {
    // What cannot be asked is not trusted either.
    rustix::fs::fstatfs(root).map_or(true, |stat| is_of_server(&stat))
}

/// Returns whether another machine or process serves the file system that a directory is on, if that can be asked.
pub(crate) fn is_on_server(directory: &Path) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|stat| is_of_server(&stat))
}

/// The numbers are those of the kernel's `magic.h`.
fn is_of_server(stat: &StatFs) -> bool {
    const REMOTE: [i64; 10] = [
        // NFS
        0x6969,
        // CIFS
        0xff53_4d42,
        // SMB2
        0xfe53_4d42,
        // SMB
        0x517b,
        // 9p
        0x0102_1997,
        // FUSE, and virtiofs
        0x6573_5546,
        // fusectl
        0x6573_5543,
        // Lustre
        0x0bd0_0bd0,
        // AFS
        0x5346_414f,
        // Ceph
        0x00c3_6400,
    ];
    REMOTE.contains(&(stat.f_type & 0xffff_ffff))
}

/// The processors that the process may run on.
pub(crate) struct Processors(CpuSet);

impl Processors {
    /// Returns these processors.
    pub fn allowed() -> Option<Self> {
        sched_getaffinity(None).ok().map(Self)
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        usize::try_from(self.0.count()).unwrap_or(1).max(1)
    }

    /// Moves this thread to the processor of its number, without tying it to that. A failure costs only time.
    pub fn move_to(&self, number: usize) {
        let processor = (0..CpuSet::MAX_CPU)
            .filter(|processor| self.0.is_set(*processor))
            .nth(number % self.count());
        if let Some(processor) = processor {
            let mut one = CpuSet::new();
            one.set(processor);
            if sched_setaffinity(None, &one).is_ok() {
                let _ = sched_setaffinity(None, &self.0);
            }
        }
    }
}
