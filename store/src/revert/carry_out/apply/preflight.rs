//! Finds what would go wrong, before the first write. This module does IO, but only reads.

use bytesize::ByteSize;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use rustix::fs::{Access, AtFlags, StatVfs, StatVfsMountFlags, accessat, fstat, fstatvfs};
use rustix::io::Errno;

use crate::error::{Context, Result};
use crate::fs::system;
use crate::model::entry::{EntryKind, ObjectId};
use crate::model::item::Item;
use crate::model::number::count;
use crate::model::path::WorkspacePath;

use super::root::{Descent, Root};

/// Something that would go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The workspace's file system is read-only.
    ReadOnly,
    /// The workspace belongs to another user; `--force` goes on.
    OtherUser,
    /// The workspace's file system lacks room; the text says how much.
    NoRoom(String),
    /// The content for a path cannot be read from the store, with the reason.
    Unreadable(WorkspacePath, String),
    /// No name can be created or removed in a directory (`None`: the workspace's root), with the reason.
    Closed(Option<WorkspacePath>, String),
}

/// Looks for what would go wrong if a plan were carried out.
///
/// `size` returns a blob's size in bytes. If it decodes the whole blob, damaged ones are found here, too. A path that
/// is not as expected is not a problem of this kind: the writer reports it as a conflict of that path. `leaving` are the
/// directories that go if the plan leaves them empty.
pub fn preflight(
    root: &Root,
    items: &[Item],
    leaving: &[WorkspacePath],
    size: &dyn Fn(ObjectId) -> Result<u64>,
) -> Result<Vec<Problem>> {
    let planned: Vec<&Item> = items.iter().filter(|item| item.is_planned()).collect();
    // A plan without work must not fail for what it will not do, such as on a read-only file system.
    if planned.is_empty() {
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    let system = fstatvfs(root.as_fd())
        .context(|| "cannot find out the free space of the workspace's file system")?;
    // Every other check would only say the same of each directory.
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Ok(vec![Problem::ReadOnly]);
    }
    let user = rustix::process::geteuid();
    let owner = fstat(root.as_fd())
        .context(|| "cannot read the workspace's owner")?
        .st_uid;
    // Root gives what it makes to the owner; anybody else would leave files there that the owner cannot change.
    if !user.is_root() && owner != user.as_raw() {
        problems.push(Problem::OtherUser);
    }
    let (bytes, unreadable) = bytes_to_write(&planned, size);
    problems.extend(unreadable);
    problems.extend(lacking_room(&system, bytes, &planned, size).map(Problem::NoRoom));
    problems.extend(closed(root, &planned, leaving));
    Ok(problems)
}

fn bytes_to_write(
    planned: &[&Item],
    size: &dyn Fn(ObjectId) -> Result<u64>,
) -> (u64, Vec<Problem>) {
    let mut bytes: u64 = 0;
    let mut unreadable = Vec::new();
    for item in planned {
        let Some(target) = item
            .target
            .filter(|target| target.mode.kind() != EntryKind::Directory)
        else {
            continue;
        };
        if item
            .expected
            // Only permissions change: no byte is read or written.
            .is_some_and(|expected| expected.is_stored() && expected.blob == target.blob)
        {
            continue;
        }
        // The whole operation is refused for one such file. Half a revert would leave a workspace that never
        // existed, and the reason would be found only in the middle of it.
        let failed = |reason| Problem::Unreadable(item.path.clone(), reason);
        match target.blob.map(size) {
            Some(Ok(size)) => bytes = bytes.saturating_add(size),
            Some(Err(error)) => unreadable.push(failed(error.with_causes())),
            None => unreadable.push(failed("it is not stored".to_owned())),
        }
    }
    (bytes, unreadable)
}

/// Returns the lack of room. Every new file takes whole blocks and an inode; file systems without an inode table
/// report zero inodes. Files to be removed count as room, so that a revert works on a disk that the agent filled.
fn lacking_room(
    system: &StatVfs,
    bytes: u64,
    planned: &[&Item],
    size: &dyn Fn(ObjectId) -> Result<u64>,
) -> Option<String> {
    let files = planned.iter().filter(|item| item.target.is_some()).count() as u64;
    let needed = bytes.saturating_add(files.saturating_mul(system.f_bsize));
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let removed = || {
        planned
            .iter()
            .filter(|item| item.target.is_none())
            .filter_map(|item| item.expected)
    };
    // Asked for only if room is short, since each size may mean decoding a blob.
    let freed = || {
        let sizes = removed()
            .filter_map(|entry| entry.blob)
            .filter_map(|blob| size(blob).ok());
        sizes.fold(free, u64::saturating_add)
    };
    if files > 0 && needed > free && needed > freed() {
        return Some(format!(
            "the workspace's file system has {} free, and {} are needed",
            ByteSize(free),
            ByteSize(needed)
        ));
    }
    if system.f_files > 0 && system.f_favail.saturating_add(removed().count() as u64) < files {
        return Some(format!(
            "the workspace's file system has room for {} more, and {files} are needed",
            count(system.f_favail, "file")
        ));
    }
    None
}

fn closed(root: &Root, planned: &[&Item], leaving: &[WorkspacePath]) -> Vec<Problem> {
    let names = planned.iter().filter(|item| takes_a_name(item));
    let names = names.map(|item| &item.path).chain(leaving);
    let directories: BTreeSet<Option<WorkspacePath>> = names.map(WorkspacePath::parent).collect();
    let directories: Vec<_> = directories.into_iter().collect();
    let closed = crate::fs::threads::map(&directories, |directory| {
        why_closed(root, directory.as_ref())
    });
    // Several missing directories may share a parent.
    let closed: BTreeMap<_, _> = closed.into_iter().flatten().collect();
    closed
        .into_iter()
        .map(|(directory, reason)| Problem::Closed(directory, reason))
        .collect()
}

/// Returns whether an item creates or removes a name. A change of permissions alone does not: it happens at the file
/// itself.
fn takes_a_name(item: &Item) -> bool {
    let (Some(expected), Some(target)) = (item.expected, item.target) else {
        return true;
    };
    match (expected.mode.kind(), target.mode.kind()) {
        (EntryKind::Directory, EntryKind::Directory) => false,
        (EntryKind::File, EntryKind::File) => expected.blob != target.blob,
        _ => true,
    }
}

/// Returns the permissions of a directory that is ours and that its permissions alone close: it may be read and
/// entered, but takes no name.
pub(crate) fn closed_permissions(root: &Root, path: &WorkspacePath) -> Option<u32> {
    let Ok(Descent::Directory(directory, _)) = root.descend(Some(path)) else {
        return None;
    };
    let stat = fstat(&directory).ok()?;
    let mode = system::mode(&stat);
    let is_closed = stat.st_uid == rustix::process::geteuid().as_raw() && mode & 0o700 == 0o500;
    is_closed.then_some(mode & 0o3777)
}

/// Returns the directory that cannot be written to, and why. A missing directory is made, so the nearest one above it
/// has to be writable.
fn why_closed(
    root: &Root,
    directory: Option<&WorkspacePath>,
) -> Option<(Option<WorkspacePath>, String)> {
    let mut next = directory.cloned();
    loop {
        match root.descend(next.as_ref()) {
            Ok(Descent::Directory(directory, _)) => {
                // The kernel is asked instead of reading mode bits, because ACLs, capabilities and mount options
                // decide as well.
                let ask = |flags| {
                    let access = Access::WRITE_OK | Access::EXEC_OK;
                    accessat(directory.as_fd(), c".", access, flags)
                };
                // An old filter for system calls answers `EPERM` to the call with flags. Without them, the real user is
                // asked for, who is nearly always the same.
                let access = match ask(AtFlags::EACCESS) {
                    Err(Errno::PERM | Errno::NOSYS) => ask(AtFlags::empty()),
                    answer => answer,
                };
                return match access {
                    Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
                        Some((next, error.to_string()))
                    }
                    _ => None,
                };
            }
            Ok(Descent::Missing) => next = next?.parent(),
            // What is in the way may be an item that goes; the writer looks again.
            Ok(Descent::Replaced | Descent::Blocked(_)) => return None,
            Err(error) => return Some((next, error.to_string())),
        }
    }
}
