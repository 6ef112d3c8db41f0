//! Reads one file as it was at one moment. This module does IO.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use crate::fs::beneath;
use crate::fs::disk::Stamp;
use crate::fs::lease;
use crate::fs::system::errno;
use crate::model::entry::file_type;
use crate::snapshot::{GapReason, ReadFailure};

/// Files larger than this many bytes are not held in memory.
pub(crate) const STREAMED: u64 = 16 << 20;

/// How often a file that changes while it is read is read again.
pub(crate) const TRIES: usize = 3;

/// How long a write through a memory map may leave a file's time unchanged: until the kernel has written the page (30 s
/// and 5 s by default), in nanoseconds.
const MAPPED: i64 = 35_000_000_000;
/// How far the clock of a file server may be behind ours, in nanoseconds.
const REMOTE_CLOCK: i64 = 60_000_000_000;

/// Returns how long the stamp of a touched file is not trusted, in nanoseconds.
pub(crate) fn margin(is_remote: bool) -> i64 {
    if is_remote {
        MAPPED + REMOTE_CLOCK
    } else {
        MAPPED
    }
}

/// The result of reading.
pub(crate) enum ReadOutcome {
    /// The bytes, and the stamp, which was the same before and after; and whether no program could write to the file when
    /// the reading began.
    Bytes(Vec<u8>, Stamp, bool),
    /// It is too large to be held in memory.
    Large(Stamp),
    /// It is gone.
    Gone,
    /// It could not be read.
    Gap(GapReason),
    /// It is not, or no longer, a regular file; look again.
    Other,
}

/// Returns the gap for an error at a path that existed a moment ago; `None` if it vanished.
pub(crate) fn gap_of(error: Errno) -> Option<GapReason> {
    match error {
        error if beneath::is_absence(error) => None,
        Errno::XDEV => Some(GapReason::Mount),
        error => Some(GapReason::Unreadable(ReadFailure::System(
            error.raw_os_error(),
        ))),
    }
}

/// Returns whether an error is about this process, not about the path. Then the snapshot fails, instead of calling
/// everything unreadable.
pub(crate) fn is_ours(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// Reads a regular file. Whether programs can write to it is asked only of a stamp for which `is_asked` says so.
pub(crate) fn file(
    directory: BorrowedFd<'_>,
    name: &[u8],
    is_asked: &dyn Fn(&Stamp) -> bool,
) -> Result<ReadOutcome, Errno> {
    for _ in 0..TRIES {
        // A file that is being written changes again and again. A log would keep the scan at it for ever, so after
        // some tries it is a gap.
        match beneath::twice(|| once(directory, name, is_asked)) {
            Ok(None) => {}
            Ok(Some(outcome)) => return Ok(outcome),
            // It was a regular file when it was listed. Since then, a link took its place (`LOOP`: none is
            // followed), or a socket (`NXIO`). A pipe opens, and is told by its type.
            Err(Errno::LOOP | Errno::NXIO) => return Ok(ReadOutcome::Other),
            Err(error) if is_ours(error) => return Err(error),
            Err(error) => return Ok(gap_of(error).map_or(ReadOutcome::Gone, ReadOutcome::Gap)),
        }
    }
    Ok(ReadOutcome::Gap(GapReason::Changing))
}

fn once(
    directory: BorrowedFd<'_>,
    name: &[u8],
    is_asked: &dyn Fn(&Stamp) -> bool,
) -> Result<Option<ReadOutcome>, Errno> {
    let file = beneath::open_file(directory, name)?;
    let before = Stamp::of(&rustix::fs::fstat(&file)?).with_acl(file.as_fd());
    if before.file_type() != file_type::REGULAR {
        return Ok(Some(ReadOutcome::Other));
    }
    if before.size > STREAMED {
        return Ok(Some(ReadOutcome::Large(before)));
    }
    // Before the bytes are read: a program that opens it from now on sets its time.
    let has_no_writer = is_asked(&before) && lease::has_no_writer(file.as_fd());
    let mut file = std::fs::File::from(file);
    let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or_default() + 1);
    // No more than it had: a file that grows faster than it is read would never end.
    let read = file.by_ref().take(before.size).read_to_end(&mut bytes);
    read.map_err(errno)?;
    // By the descriptor, so that a file that was saved under the same name meanwhile does not count as this
    // one.
    let after = Stamp::of(&rustix::fs::fstat(file.as_fd())?);
    Ok(
        (before == after && bytes.len() as u64 == before.size).then_some(ReadOutcome::Bytes(
            bytes,
            before,
            has_no_writer,
        )),
    )
}
