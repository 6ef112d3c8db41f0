//! The system calls of the apply step. Each is repeated if a signal interrupts it, and has a substitute for kernels and
//! file systems that lack it. This module does IO.
//!
//! Every name here is one component, in a directory that is already open.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::LazyLock;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RawMode, Uid};
use rustix::fs::{chownat, fchmod, fstat, linkat, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::slot::Slot;
use crate::fs::beneath;
use crate::fs::system::full_sync;

/// The result of a system call.
pub(crate) type SysResult<T> = Result<T, Errno>;

/// Opens a directory to be listed, changed or synced.
pub(super) fn open_readable(holder: BorrowedFd<'_>, name: &[u8]) -> SysResult<OwnedFd> {
    beneath::open_name(holder, name, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Moves `name` to one of our own names, which must be free.
///
/// Without `renameat2`, this is a plain rename. It could replace only a name that no other program uses.
pub(super) fn take_out(
    flags: bool,
    directory: BorrowedFd<'_>,
    name: &[u8],
    own: &[u8],
) -> SysResult<()> {
    match rename_with(flags, directory, name, own, RenameMode::NoReplace) {
        Err(error) if is_lacking(error) => {
            retry_on_intr(|| renameat(directory, name, directory, own))
        }
        other => other,
    }
}

/// Moves one of our own names to `name`. Fails with `EEXIST` if that is taken.
///
/// Without `renameat2`, a file is linked and then unlinked, which replaces nothing either. For a directory, or on a
/// file system without hard links, only the weakest way is left: look, then rename.
pub(super) fn put_in(
    flags: bool,
    directory: BorrowedFd<'_>,
    own: &[u8],
    name: &[u8],
) -> SysResult<()> {
    match rename_with(flags, directory, own, name, RenameMode::NoReplace) {
        Err(error) if is_lacking(error) => {}
        other => return other,
    }
    match retry_on_intr(|| linkat(directory, own, directory, name, AtFlags::empty())) {
        Ok(()) => unlink(directory, own),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
            if beneath::lstat(directory, name)?.is_some() {
                return Err(Errno::EXIST);
            }
            retry_on_intr(|| renameat(directory, own, directory, name))
        }
        Err(error) => Err(error),
    }
}

/// Swaps two names. Returns false if the file system cannot do that.
pub(super) fn exchange(
    flags: bool,
    directory: BorrowedFd<'_>,
    own: &[u8],
    name: &[u8],
) -> SysResult<bool> {
    match rename_with(flags, directory, own, name, RenameMode::Exchange) {
        Ok(()) => Ok(true),
        Err(error) if is_lacking(error) => Ok(false),
        Err(error) => Err(error),
    }
}

#[derive(Clone, Copy)]
enum RenameMode {
    NoReplace,
    Exchange,
}

fn rename_with(
    flags: bool,
    directory: BorrowedFd<'_>,
    from: &[u8],
    to: &[u8],
    way: RenameMode,
) -> SysResult<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    let way = match way {
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
        RenameMode::Exchange => RenameFlags::EXCHANGE,
    };
    if flags {
        retry_on_intr(|| renameat_with(directory, from, directory, to, way))
    } else {
        Err(Errno::NOSYS)
    }
}

fn is_lacking(error: Errno) -> bool {
    // `EINVAL` comes from file systems without the flag (NFS, some FUSE), `ENOSYS` from kernels before 3.15 and from
    // seccomp filters, of which older ones answer `EPERM`. Where that is the directory's answer, the substitutes get it
    // as well.
    matches!(
        error,
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM
    )
}

/// Replaces whatever is at a place by what is at its own name. It does not check anything: the caller has just done so.
/// Returns whether what was there is at the place's own name afterwards. It is if `is_kept` and the file system has
/// hard links.
pub(super) fn replace(place: &Slot<'_>, is_kept: bool) -> SysResult<bool> {
    // An exchange in three calls, for file systems without one. At every moment the name is whole, and what was
    // there has a name:
    //
    //             name    own     second
    //             old     new
    //    link     old     new     old
    //    rename   new             old
    //    rename   new     old
    let (directory, second) = (place.directory, place.second_name());
    let has_second = is_kept && link_to_second_name(place)?;
    let renamed = retry_on_intr(|| renameat(directory, &place.own[..], directory, place.name));
    if let Err(error) = renamed {
        if has_second {
            let _ = unlink(directory, &second);
        }
        return Err(error);
    }
    if !has_second {
        return Ok(false);
    }
    move_second_name(place).map(|()| true)
}

/// Gives what is at a place its second name as well. Returns false where the file system has no hard links, or no more
/// for this file.
fn link_to_second_name(place: &Slot<'_>) -> SysResult<bool> {
    let (directory, second) = (place.directory, place.second_name());
    let link = || {
        linkat(
            directory,
            place.name,
            directory,
            &second[..],
            AtFlags::empty(),
        )
    };
    match retry_on_intr(link) {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves what is at a place to its second name.
pub(super) fn take_out_to_second_name(place: &Slot<'_>) -> SysResult<()> {
    let (directory, second) = (place.directory, place.second_name());
    retry_on_intr(|| renameat(directory, place.name, directory, &second[..]))
}

/// Moves what is at a place's second name to its own one. If that fails twice, the next try finds it at the second
/// name.
pub(super) fn move_second_name(place: &Slot<'_>) -> SysResult<()> {
    let (directory, second) = (place.directory, place.second_name());
    again(|| renameat(directory, &second[..], directory, &place.own[..]))
}

/// Removes a file or a link.
pub(crate) fn unlink(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<()> {
    again(|| unlinkat(directory, name, AtFlags::empty()))
}

/// Removes a directory, if it is empty.
pub(super) fn remove_directory(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<()> {
    again(|| unlinkat(directory, name, AtFlags::REMOVEDIR))
}

/// Calls again if a call fails: a lack of memory, or of a server's answer, may pass. For tidying up.
fn again(mut call: impl FnMut() -> SysResult<()>) -> SysResult<()> {
    match retry_on_intr(&mut call) {
        Ok(()) => Ok(()),
        // These are answers, and a second call would give the same.
        Err(error @ (Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST)) => Err(error),
        Err(_) => retry_on_intr(call),
    }
}

/// Sets the permissions of a directory.
pub(super) fn set_permissions(
    holder: BorrowedFd<'_>,
    name: &[u8],
    permissions: u32,
) -> SysResult<()> {
    // By a descriptor and not by the name, which may be a link by now.
    set_permissions_of(&open_readable(holder, name)?, permissions)
}

/// Sets the permissions of an open directory, with its setgid and sticky bits.
pub(super) fn set_permissions_of(directory: &OwnedFd, permissions: u32) -> SysResult<()> {
    let permissions = RawMode::try_from(permissions & 0o3777).unwrap_or(0o700);
    retry_on_intr(|| fchmod(directory, Mode::from_raw_mode(permissions)))
}

/// Syncs a directory's names.
pub(crate) fn sync_directory(directory: BorrowedFd<'_>) -> SysResult<()> {
    // The walk may hold it as `O_PATH`, which `fsync` refuses.
    let readable = open_readable(directory, b".")?;
    retry_on_intr(|| full_sync(&readable))
}

/// Syncs all that was written to the file system of the root.
pub(super) fn sync_all(root: BorrowedFd<'_>) -> SysResult<()> {
    #[cfg(target_os = "linux")]
    {
        retry_on_intr(|| rustix::fs::syncfs(root))
    }
    #[cfg(not(target_os = "linux"))]
    {
        // There is no `syncfs`, and `sync` alone returns before the disk is done.
        rustix::fs::sync();
        retry_on_intr(|| full_sync(root))
    }
}

/// Returns whether this process is root's. It stays what it is.
pub(super) fn is_root() -> bool {
    static IS_ROOT: LazyLock<bool> = LazyLock::new(|| rustix::process::geteuid().is_root());
    *IS_ROOT
}

/// Returns the owner that root has to give to files it creates in a directory. `None` for other users, and in root's
/// own directories.
pub(crate) fn owner_to_keep(directory: BorrowedFd<'_>) -> SysResult<Option<(Uid, Gid)>> {
    if !is_root() {
        return Ok(None);
    }
    let stat = retry_on_intr(|| fstat(directory))?;
    let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    Ok((!owner.0.is_root()).then_some(owner))
}

/// Gives an entry that we made to its owner. A link is given away itself, never what it points at.
pub(crate) fn give_to(
    directory: BorrowedFd<'_>,
    name: &[u8],
    user: Uid,
    group: Gid,
) -> SysResult<()> {
    retry_on_intr(|| {
        chownat(
            directory,
            name,
            Some(user),
            Some(group),
            AtFlags::SYMLINK_NOFOLLOW,
        )
    })
}

/// The most directories that are held open at a time. Their files are synced together.
const MAX_OPEN_DIRECTORIES: usize = 4096;

/// Returns how many directories may be held open at once. Most of the limit of open files is left to others. The soft
/// limit is usually low for the sake of programs that use select(2); others may raise it (getrlimit(2), systemd's
/// `LimitNOFILE`).
pub(super) fn directories_at_once() -> usize {
    let limits = getrlimit(Resource::Nofile);
    let wanted = limits
        .maximum
        .unwrap_or(u64::MAX)
        .min(4 * MAX_OPEN_DIRECTORIES as u64);
    let mut limit = limits.current.unwrap_or(u64::MAX);
    if limit < wanted
        && setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                ..limits
            },
        )
        .is_ok()
    {
        limit = wanted;
    }
    (usize::try_from(limit).unwrap_or(usize::MAX) / 4).clamp(1, MAX_OPEN_DIRECTORIES)
}
