//! What can be known to go wrong before the first write. This module does IO; it reads, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use ckpt_schema::report::FileResult;
use rustix::fs::{Access, AtFlags, StatVfs, StatVfsMountFlags, accessat, fstat, fstatvfs};
use rustix::io::Errno;

use crate::entry::{EntryKind, ObjectId};
use crate::error::{Context, Result};
use crate::path::WorkspacePath;
use crate::revert::item::Item;

use super::root::{Descent, Root};

/// Something that will go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path that it concerns; none where it concerns the whole workspace, and nothing should be begun.
    pub path: Option<WorkspacePath>,
    /// What it is.
    pub reason: String,
}

/// Looks for what will go wrong when a plan is carried out: a file system that is read-only or has no room, a workspace of
/// somebody else, directories that may not be written to.
///
/// `size` gives a blob's size in bytes; where it decodes the blob in full, a damaged one is found here, too.
pub fn preflight(root: &Root, items: &[Item], size: &dyn Fn(ObjectId) -> Result<u64>) -> Result<Vec<Problem>> {
    let planned: Vec<&Item> = items.iter().filter(|item| item.result == FileResult::Planned).collect();
    if planned.is_empty() {
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    let system = fstatvfs(root.as_fd()).context(|| "cannot ask the workspace's file system for its room")?;
    let whole = |reason: &str| Problem { path: None, reason: reason.to_owned() };
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        problems.push(whole("the workspace's file system is read-only"));
    }
    let user = rustix::process::geteuid();
    let owner = fstat(root.as_fd()).context(|| "cannot read the workspace's owner")?.st_uid;
    if !user.is_root() && owner != user.as_raw() {
        problems.push(whole("the workspace belongs to another user"));
    }
    let (bytes, damaged) = bytes_to_write(&planned, size);
    problems.extend(damaged);
    problems.extend(lacking_room(&system, bytes, &planned).map(|reason| Problem { path: None, reason }));
    problems.extend(unwritable(root, &planned));
    Ok(problems)
}

fn bytes_to_write(planned: &[&Item], size: &dyn Fn(ObjectId) -> Result<u64>) -> (u64, Vec<Problem>) {
    let mut bytes: u64 = 0;
    let mut damaged = Vec::new();
    for item in planned {
        let Some(target) = item.target.filter(|target| target.mode.kind() != EntryKind::Directory) else { continue };
        if item.expected.is_some_and(|expected| expected.is_stored() && expected.blob == target.blob) {
            continue;
        }
        match target.blob.map(size) {
            Some(Ok(size)) => bytes = bytes.saturating_add(size),
            Some(Err(error)) => {
                damaged.push(Problem { path: Some(item.path.clone()), reason: super::trouble::text(&error) });
            }
            None => {
                let reason = "what shall be put there is not stored".to_owned();
                damaged.push(Problem { path: Some(item.path.clone()), reason });
            }
        }
    }
    (bytes, damaged)
}

/// Every new file takes whole blocks, and a new name of its own; file systems without a table of inodes count none.
fn lacking_room(system: &StatVfs, bytes: u64, planned: &[&Item]) -> Option<String> {
    let files = planned.iter().filter(|item| item.target.is_some()).count() as u64;
    let needed = bytes.saturating_add(files.saturating_mul(system.f_bsize));
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if files > 0 && needed > free {
        return Some(format!("the workspace's file system has {free} bytes free, and {needed} are needed"));
    }
    if system.f_files > 0 && system.f_favail < files {
        return Some(format!(
            "the workspace's file system has room for {} more files, and {files} are needed",
            system.f_favail
        ));
    }
    None
}

fn unwritable(root: &Root, planned: &[&Item]) -> Vec<Problem> {
    let directories: BTreeSet<Option<WorkspacePath>> = planned.iter().map(|item| item.path.parent()).collect();
    let directories: Vec<_> = directories.into_iter().collect();
    let reasons = crate::threads::map(&directories, |directory| why_unwritable(root, directory.as_ref()));
    let reasons: BTreeMap<_, _> = directories.iter().zip(reasons).collect();
    let problem = |item: &&Item| {
        let reason = reasons[&item.path.parent()].clone()?;
        Some(Problem { path: Some(item.path.clone()), reason })
    };
    planned.iter().filter_map(problem).collect()
}

/// A directory that is missing is made, so it is the nearest one above it that has to be writable.
fn why_unwritable(root: &Root, directory: Option<&WorkspacePath>) -> Option<String> {
    let mut next = directory.cloned();
    loop {
        match root.descend(next.as_ref()) {
            Ok(Descent::Directory(directory, _)) => {
                let access = accessat(directory.as_fd(), c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
                return match access {
                    Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
                        Some(format!("its directory may not be written to: {error}"))
                    }
                    _ => None,
                };
            }
            Ok(Descent::Missing) => next = next?.parent(),
            // What stands in the way may be going; the hand looks again.
            Ok(Descent::Replaced) => return None,
            Ok(Descent::Blocked(reason)) => return Some(reason.to_owned()),
            Err(error) => return Some(format!("its directory cannot be entered: {error}")),
        }
    }
}
