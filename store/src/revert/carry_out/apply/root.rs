//! The workspace's root as a descriptor, and how to descend from it without following a symbolic link. This module does
//! IO.
//!
//! A directory is opened from the one that holds it, or by its path in one call that follows no link and leaves neither
//! the root nor its file system. So a link that takes a directory's place at any moment is an error and never a detour.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;

use rustix::fs::{FileType, Mode, RawMode, Stat, fstat, mkdirat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{Context, Error, Result};
use crate::fs::beneath::{self, Lookup};
use crate::fs::threads;
use crate::model::path::WorkspacePath;

use super::sys::{self, SysResult};

/// The abilities of the kernel that are used. Tests force the weaker ways; everybody else lets [`Root::open`] choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// `openat2` with `RESOLVE_BENEATH`, `NO_SYMLINKS` and `NO_XDEV`; otherwise `openat` with `O_NOFOLLOW`.
    pub openat2: bool,
    /// `renameat2` with `RENAME_EXCHANGE` and `RENAME_NOREPLACE`; otherwise the substitutes described in `sys`.
    pub rename_flags: bool,
    /// Leases, which reveal a program that has a file open for writing; otherwise what was moved aside is checked again
    /// a little later.
    pub leases: bool,
}

/// The device and inode of a directory: its identity under any name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceInode {
    device: u64,
    inode: u64,
}

impl DeviceInode {
    #[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }
}

/// A workspace's root, held open.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    identity: DeviceInode,
    abilities: Abilities,
    /// By their paths.
    walked: Mutex<HashMap<Vec<u8>, WalkedDirectory>>,
}

/// A directory that was entered name by name. The next time it is opened by its path, in one call instead of four a
/// name, and it counts as entered if it is the same one.
#[derive(Clone, Debug)]
struct WalkedDirectory {
    identity: DeviceInode,
    /// What no directory below it may be: each `.git` in a directory above it.
    repositories: Vec<DeviceInode>,
}

/// Where a walk begins.
struct Start {
    directory: OwnedFd,
    entered: WalkedDirectory,
    /// The length of its path in bytes.
    length: usize,
}

/// Longer paths are walked name by name: the kernel takes 4096 bytes.
const LONGEST: usize = 4000;

/// The permissions of a directory that has to be made again.
pub type Permissions<'a> = dyn Fn(&WorkspacePath) -> Option<u32> + Sync + 'a;

/// Where the descent to a directory ended.
#[derive(Debug)]
pub(super) enum Descent {
    /// The directory.
    Directory(OwnedFd, DeviceInode),
    /// It, or one above it, does not exist.
    Missing,
    /// It, or a directory above it, is not a directory (perhaps a link), so nothing below it belongs to the workspace.
    Replaced,
    /// It, or one above it, is a directory that must not be entered; the text says why.
    Blocked(&'static str),
}

impl Root {
    /// Opens the root, and checks that it is the directory that was recorded.
    ///
    /// Fails if the path is a symbolic link or not a directory, or if another directory is there now.
    pub fn open(path: &Path, device: u64, inode: u64) -> Result<Self> {
        let directory = beneath::open_root(path)
            .context(|| format!("cannot open the workspace `{}`", path.display()))?;
        let abilities = Abilities {
            openat2: beneath::way(directory.as_fd()) == Lookup::Kernel,
            rename_flags: true,
            leases: cfg!(target_os = "linux"),
        };
        let stat = fstat(&directory)
            .context(|| format!("cannot read the workspace `{}`", path.display()))?;
        let root = Self {
            directory,
            identity: DeviceInode::of(&stat),
            abilities,
            walked: Mutex::default(),
        };
        // The path may lead elsewhere by now: the project was moved, and another one was put here.
        if root.identity != (DeviceInode { device, inode }) {
            return Err(Error::unavailable(format!(
                "`{}` is not the directory that was recorded",
                path.display()
            ))
            .hint("it was moved or replaced since; nothing was changed"));
        }
        Ok(root)
    }

    /// Returns the root with fewer of the kernel's abilities, to test the ways that do without them.
    pub fn with_abilities(self, abilities: Abilities) -> Self {
        Self { abilities, ..self }
    }

    /// Returns the abilities of the kernel that are used.
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens a directory below the root, or the root itself.
    pub(super) fn descend(&self, directory: Option<&WorkspacePath>) -> SysResult<Descent> {
        self.walk(directory, &mut |_, _, _| Ok(MadeDirectory::No))
    }

    /// Opens a directory below the root, and makes the missing parts with their former permissions, as far as `mkdir`
    /// allows and we can still work in them. `made` gets the length in bytes of each path that was made.
    pub(super) fn descend_making(
        &self,
        directory: Option<&WorkspacePath>,
        permissions: &Permissions<'_>,
        made: &mut Vec<usize>,
    ) -> SysResult<Descent> {
        let bytes = directory.map_or(&b""[..], WorkspacePath::as_bytes);
        let of = |length: usize| {
            WorkspacePath::new(&bytes[..length])
                .ok()
                .and_then(|path| permissions(&path))
        };
        self.walk(directory, &mut |holder, name, length| match make_directory(
            holder,
            name,
            of(length),
        ) {
            Ok(()) => {
                made.push(length);
                Ok(MadeDirectory::Yes)
            }
            // Another thread, or another program, made it just now. Opening it tells whether it is a directory.
            Err(Errno::EXIST) => Ok(MadeDirectory::Yes),
            Err(error) => Err(error),
        })
    }

    fn walk(&self, directory: Option<&WorkspacePath>, make: &mut Make<'_>) -> SysResult<Descent> {
        let Start {
            directory: mut here,
            entered:
                WalkedDirectory {
                    mut identity,
                    mut repositories,
                },
            mut length,
        } = self.start(directory)?;
        let Some(path) = directory else {
            return Ok(Descent::Directory(here, identity));
        };
        let whole = path.as_bytes();
        while length < whole.len() {
            let begin = length + usize::from(length > 0);
            let rest = &whole[begin..];
            let end = rest.iter().position(|byte| *byte == b'/');
            let name = &rest[..end.unwrap_or(rest.len())];
            length = begin + name.len();
            // In each directory on the way, since any of them may be the top of a repository.
            repositories.extend(repository_beside(here.as_fd())?);
            let next = match self.open_step(here.as_fd(), name) {
                Err(Errno::NOENT) => match make(here.as_fd(), name, length)? {
                    MadeDirectory::Yes => self.open_step(here.as_fd(), name),
                    MadeDirectory::No => return Ok(Descent::Missing),
                },
                other => other,
            };
            here = match next {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(Descent::Missing),
                Err(error @ (Errno::NOTDIR | Errno::LOOP)) => {
                    return replaced(here.as_fd(), name, error);
                }
                // The snapshot does not enter other file systems, so nothing in there was captured, and nothing may
                // be replaced.
                Err(Errno::XDEV) => return Ok(Descent::Blocked(MOUNT)),
                Err(error) => return Err(error),
            };
            identity = DeviceInode::of(&retry_on_intr(|| fstat(&here))?);
            if repositories.contains(&identity) {
                return Ok(Descent::Blocked(
                    "a directory above it is a `.git` under another name",
                ));
            }
            self.remember(&whole[..length], identity, &repositories);
        }
        Ok(Descent::Directory(here, identity))
    }

    /// Opens the last directory on the way to this one that was entered before and is still there, or else the root.
    fn start(&self, directory: Option<&WorkspacePath>) -> SysResult<Start> {
        // Opened again by its path and not kept open: a plan may visit more directories than a process may have
        // descriptors.
        let known = directory.and_then(|path| self.entered_before(path.as_bytes()));
        if let Some((entered, length)) = known
            && let Some(path) = directory
            && let Ok(there) =
                beneath::enter(self.as_fd(), &path.as_bytes()[..length], Lookup::Kernel)
            && let Ok(stat) = retry_on_intr(|| fstat(&there))
            // The same path may lead to another directory by now, whose parents were not checked for `.git`.
            && DeviceInode::of(&stat) == entered.identity
        {
            return Ok(Start {
                directory: there,
                entered,
                length,
            });
        }
        let entered = WalkedDirectory {
            identity: self.identity,
            repositories: Vec::new(),
        };
        Ok(Start {
            directory: self.open_step(self.as_fd(), b".")?,
            entered,
            length: 0,
        })
    }

    /// Returns the last directory on the way to a path that was entered before, with the length of its own path.
    fn entered_before(&self, path: &[u8]) -> Option<(WalkedDirectory, usize)> {
        if !self.abilities.openat2 {
            return None;
        }
        let walked = threads::lock(&self.walked);
        let above = path.iter().enumerate().rev();
        let slashes = above.filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        std::iter::once(path.len())
            .chain(slashes)
            .filter(|length| *length <= LONGEST)
            .find_map(|length| Some((walked.get(&path[..length])?.clone(), length)))
    }

    fn remember(&self, path: &[u8], identity: DeviceInode, repositories: &[DeviceInode]) {
        if self.abilities.openat2 {
            let entered = WalkedDirectory {
                identity,
                repositories: repositories.to_vec(),
            };
            let mut walked = threads::lock(&self.walked);
            walked.insert(path.to_vec(), entered);
        }
    }

    fn open_step(&self, holder: BorrowedFd<'_>, name: &[u8]) -> SysResult<OwnedFd> {
        let way = if self.abilities.openat2 {
            Lookup::Kernel
        } else {
            Lookup::Components
        };
        beneath::enter(holder, name, way)
    }
}

/// Checks the kernel's answer that a link or a file is there: that would mean that everything below is gone.
fn replaced(holder: BorrowedFd<'_>, name: &[u8], error: Errno) -> SysResult<Descent> {
    Ok(match beneath::lstat(holder, name)? {
        Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            return Err(error);
        }
        Some(_) => Descent::Replaced,
        None => Descent::Missing,
    })
}

const MOUNT: &str = "another file system is mounted above it";

type Make<'a> = dyn FnMut(BorrowedFd<'_>, &[u8], usize) -> SysResult<MadeDirectory> + 'a;

enum MadeDirectory {
    Yes,
    No,
}

/// Makes a directory as `mkdir` does. Below a directory of another user, root gives it to that user.
fn make_directory(holder: BorrowedFd<'_>, name: &[u8], permissions: Option<u32>) -> SysResult<()> {
    // We must be able to put files into it. What the plan says comes last, in `set_permissions`.
    let permissions =
        RawMode::try_from(permissions.unwrap_or(0o777) & 0o3777 | 0o700).unwrap_or(0o700);
    retry_on_intr(|| mkdirat(holder, name, Mode::from_raw_mode(permissions)))?;
    if let Some((user, group)) = sys::owner_to_keep(holder)?
        && let Err(error) = sys::give_to(holder, name, user, group)
    {
        // Better no directory than one of root's in the user's tree: the owner could not even remove it.
        sys::remove_directory(holder, name)?;
        return Err(error);
    }
    Ok(())
}

/// Returns the identity of a `.git` in a directory. A `.git` may be reached by a name that does not look like one: in
/// another case, or through a link of the file system's own. So no directory with that identity is entered (as in jj's
/// `create_parent_dirs`).
fn repository_beside(holder: BorrowedFd<'_>) -> SysResult<Option<DeviceInode>> {
    let stat = beneath::lstat(holder, b".git")?;
    Ok(stat.as_ref().map(DeviceInode::of))
}
