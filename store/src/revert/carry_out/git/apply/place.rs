//! The file of a part of git's state, its lock, and what an interrupted attempt left there. This module does IO.
//!
//! A lock is made like git's: `NAME.lock` beside the file, which only one process can create, renamed over the file in
//! the end. Ours is first written under a name of our own and then linked, so that a lock that a killed process left
//! can be told from one of git's: it is the same file as the one under our name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::FileResult;
use rustix::fs::{AtFlags, Mode, Stat, Timespec, Timestamps};
use rustix::fs::{fchmod, fchown, futimens, linkat, mkdirat, renameat};
use rustix::io::{Errno, retry_on_intr};

use super::super::indexes::NewFile;
use super::super::repository::{Repository, lock_of, locked};
use crate::fs::beneath;
use crate::fs::system::errno;
use crate::fs::system::full_sync;
use crate::git::state::PACKED_REFS;
use crate::model::git_item::GitItem;
use crate::revert::carry_out::apply::sys;

/// Why a part is left as it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GitFailure {
    pub result: FileResult,
    pub reason: String,
}

impl GitFailure {
    /// Returns the failure of a part that a system call could not move.
    pub fn failed(what: &str, error: Errno) -> Self {
        Self {
            result: FileResult::Failed,
            reason: format!("{what}: {error}"),
        }
    }
}

/// The file of a part of git's state.
pub(super) struct GitFile {
    /// The folder that holds it.
    directory: OwnedFd,
    name: String,
    /// The repository's folder for our temporary names: among the refs, such a file would be a ref.
    home: OwnedFd,
    own: String,
}

/// The permissions of a new file. The umask makes of them what git's own files have.
const PERMISSIONS: Mode = Mode::from_raw_mode(0o666);

impl GitFile {
    /// Opens the place of a part, and makes missing folders of a branch.
    pub fn open(
        repository: &Repository,
        item: &GitItem,
        operation: &str,
        position: usize,
    ) -> Result<Self, GitFailure> {
        let (folder, name) = repository.place(item);
        Self::at(folder, name, own_name(operation, position))
    }

    /// Opens the packed refs, to remove a branch from them.
    pub fn packed_refs(
        repository: &Repository,
        operation: &str,
        position: usize,
    ) -> Result<Self, GitFailure> {
        Self::at(
            &repository.location.common,
            PACKED_REFS,
            format!("{}-packed", own_name(operation, position)),
        )
    }

    fn at(folder: &Path, name: &str, own: String) -> Result<Self, GitFailure> {
        let what =
            |error| GitFailure::failed(&format!("the folder of `{name}` cannot be entered"), error);
        let home = open_folder(folder).map_err(what)?;
        let (below, leaf) = name.rsplit_once('/').unwrap_or(("", name));
        let directory = enter(&home, below, MissingFolder::Made).map_err(what)?;
        Ok(Self {
            directory,
            name: leaf.to_owned(),
            home,
            own,
        })
    }

    fn lock_name(&self) -> String {
        lock_of(&self.name)
    }

    /// Removes what an interrupted attempt of the same operation left: its lock, and the file under our own name.
    pub fn clean_leftover(&self) -> Result<(), GitFailure> {
        let what =
            |error| GitFailure::failed("what an interrupted attempt left cannot be removed", error);
        // Our own name goes last, so without it there is no lock of ours either.
        let Some(own) = stat(&self.home, &self.own).map_err(what)? else {
            return Ok(());
        };
        let lock = stat(&self.directory, &self.lock_name()).map_err(what)?;
        // Any other lock is git's, or another program's, however old it is: removing it may let two processes write at
        // once.
        if lock.is_some_and(|lock| (lock.st_dev, lock.st_ino) == (own.st_dev, own.st_ino)) {
            self.unlock().map_err(what)?;
        }
        remove(&self.home, &self.own).map_err(what)
    }

    /// Takes the lock. The lock holds the complete new content, if any, synced.
    pub fn lock(&self, new: &NewFile) -> Result<(), GitFailure> {
        let what =
            |error| GitFailure::failed(&format!("`{}` cannot be created", self.lock_name()), error);
        self.write_own(new).map_err(what)?;
        self.link()
            .inspect_err(|_| _ = remove(&self.home, &self.own))
            .map_err(|error| match error {
                Errno::EXIST => GitFailure {
                    result: FileResult::Failed,
                    reason: locked(&self.lock_name()),
                },
                error => what(error),
            })
    }

    /// Makes the lock by linking our own file. Without hard links, the lock is created first and then replaced: after a
    /// kill, it cannot be told from one of git's, and it is reported as such.
    fn link(&self) -> Result<(), Errno> {
        let (own, lock) = (&*self.own, self.lock_name());
        match retry_on_intr(|| linkat(&self.home, own, &self.directory, &*lock, AtFlags::empty())) {
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                beneath::create(self.directory.as_fd(), lock.as_bytes(), PERMISSIONS)?;
                retry_on_intr(|| renameat(&self.home, own, &self.directory, &*lock))
            }
            linked => linked,
        }
    }

    fn write_own(&self, new: &NewFile) -> Result<(), Errno> {
        let file = beneath::create(self.home.as_fd(), self.own.as_bytes(), PERMISSIONS)?;
        let written = self.fill(file, new);
        if written.is_err() {
            let _ = remove(&self.home, &self.own);
        }
        written
    }

    fn fill(&self, file: OwnedFd, new: &NewFile) -> Result<(), Errno> {
        let mut file = File::from(file);
        file.write_all(&new.bytes).map_err(errno)?;
        if let Some(old) = stat(&self.directory, &self.name)? {
            // `core.sharedRepository` shows in the permissions of what is there.
            retry_on_intr(|| fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o777)))?;
        }
        if let Some((user, group)) = sys::owner_to_keep(self.directory.as_fd())? {
            retry_on_intr(|| fchown(&file, Some(user), Some(group)))?;
        }
        if let Some((seconds, nanoseconds)) = new.time {
            let time = Timespec {
                tv_sec: seconds,
                tv_nsec: nanoseconds,
            };
            retry_on_intr(|| {
                futimens(
                    &file,
                    &Timestamps {
                        last_access: time,
                        last_modification: time,
                    },
                )
            })?;
        }
        retry_on_intr(|| full_sync(&file))
    }

    /// Renames the lock over the file, which releases it.
    pub fn put_in(&self) -> Result<(), GitFailure> {
        retry_on_intr(|| {
            renameat(
                &self.directory,
                &*self.lock_name(),
                &self.directory,
                &*self.name,
            )
        })
        .map_err(|error| {
            GitFailure::failed(&format!("`{}` cannot be replaced", self.name), error)
        })?;
        self.tidy();
        Ok(())
    }

    /// Removes the file, and releases the lock.
    pub fn take_out(&self) -> Result<(), GitFailure> {
        // The file goes while the lock is held: no program can have written it meanwhile.
        remove(&self.directory, &self.name).map_err(|error| {
            GitFailure::failed(&format!("`{}` cannot be removed", self.name), error)
        })?;
        self.give_up();
        Ok(())
    }

    /// Releases the lock without a change.
    pub fn give_up(&self) {
        // If this fails, the next try of the operation, or its recovery, removes it.
        let _ = self.unlock();
        self.tidy();
    }

    fn unlock(&self) -> Result<(), Errno> {
        remove(&self.directory, &self.lock_name())
    }

    fn tidy(&self) {
        let _ = remove(&self.home, &self.own);
        let _ = sys::sync_directory(self.directory.as_fd());
    }
}

fn own_name(operation: &str, position: usize) -> String {
    let operation: String = operation.chars().take(16).collect();
    format!("ckpt-hook-{operation}-{position}")
}

/// Returns the locks of a part that exist and belong to an operation. It only reads.
pub(in super::super) fn own_locks(
    repository: &Repository,
    item: &GitItem,
    operation: &str,
    position: usize,
) -> Vec<PathBuf> {
    let own = own_name(operation, position);
    let packed = format!("{own}-packed");
    let (folder, name) = repository.place(item);
    let places = [
        (folder, name, own),
        (&repository.location.common, PACKED_REFS, packed),
    ];
    places
        .iter()
        .filter_map(|(folder, name, own)| own_lock(folder, name, own))
        .collect()
}

fn own_lock(folder: &Path, name: &str, own: &str) -> Option<PathBuf> {
    let identity = |path: &Path| {
        let metadata = path.symlink_metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let lock = folder.join(lock_of(name));
    let own = identity(&folder.join(own))?;
    (identity(&lock) == Some(own)).then_some(lock)
}

/// Opens a folder of the repository itself.
pub(super) fn open_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    beneath::open_root(folder)
}

/// What becomes of a folder that is missing on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingFolder {
    /// It is made, as git makes it.
    Made,
    /// It is an error.
    Refused,
}

/// Descends from a folder without following links.
pub(super) fn enter(
    folder: &OwnedFd,
    below: &str,
    missing: MissingFolder,
) -> Result<OwnedFd, Errno> {
    let mut directory = beneath::open_directory(folder.as_fd(), b"")?;
    for part in below.split('/').filter(|part| !part.is_empty()) {
        let part = OsStr::from_bytes(part.as_bytes());
        if missing == MissingFolder::Made {
            match retry_on_intr(|| mkdirat(&directory, part, Mode::from_raw_mode(0o777))) {
                Ok(()) => keep_owner(&directory, part)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        directory = beneath::open_directory(directory.as_fd(), part.as_bytes())?;
    }
    Ok(directory)
}

fn keep_owner(directory: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match sys::owner_to_keep(directory.as_fd())? {
        Some((user, group)) => sys::give_to(directory.as_fd(), name.as_bytes(), user, group),
        None => Ok(()),
    }
}

fn stat(directory: &OwnedFd, name: &str) -> Result<Option<Stat>, Errno> {
    beneath::lstat(directory.as_fd(), name.as_bytes())
}

fn remove(directory: &OwnedFd, name: &str) -> Result<(), Errno> {
    match sys::unlink(directory.as_fd(), name.as_bytes()) {
        Err(error) if error != Errno::NOENT => Err(error),
        _ => Ok(()),
    }
}
