//! Where things are in the store's directory, who may read it, and the locks. This module does IO.
//!
//! ```text
//! <store>/                 0700, ours
//!   log                    the log file, 0600, capped
//!   sessions.db            the session store
//!   sessions.db.damaged-N  what stood in its place and was no database any more
//!   lock                   held while that is set aside
//!   snapshots/<key>/       a workspace
//!     lock                 one snapshot or operation at a time
//!     settling             held while what is borrowed of the user's repository is made the store's own
//!     repository.git/      its objects
//!     cache…               its stat cache
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Context, Error, Result};

/// Makes the store's directory where it is missing, checks that it is ours alone, and returns its canonical path.
pub(crate) fn prepare(directory: &Path) -> Result<PathBuf> {
    if !directory.is_absolute() {
        return Err(Error::failed(format!(
            "the store's path `{}` is not absolute",
            directory.display()
        )));
    }
    if !is_directory(directory) {
        make_private(directory)?;
    }
    let directory = directory
        .canonicalize()
        .context(|| format!("cannot find the store `{}`", directory.display()))?;
    check_owner(&directory)?;
    Ok(directory)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Makes a directory, and its parents, that only the user can enter.
pub(crate) fn make_private(directory: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .context(|| format!("cannot make the directory `{}`", directory.display()))
}

/// Waits until a file, or what is named in a directory, is on the disk.
pub(crate) fn sync(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .context(|| format!("cannot sync `{}`", path.display()))
}

fn check_owner(directory: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(directory)
        .context(|| format!("cannot read the store `{}`", directory.display()))?;
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        return Err(Error::failed(format!(
            "the store `{}` belongs to another user",
            directory.display()
        ))
        .hint("give --store or $CKPT_HOOK_HOME a directory of your own"));
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
            .context(|| format!("cannot make the store `{}` private", directory.display()))?;
    }
    Ok(())
}

/// Opens, and makes where missing, a file that only the user can read.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .context(|| format!("cannot open `{}`", path.display()))
}

/// A kernel lock; it goes with the process that holds it, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Takes the lock of one workspace's folder: one snapshot or operation at a time.
pub(crate) fn lock_workspace(folder: &Path, patience: Duration) -> Result<Lock> {
    if !is_directory(folder) {
        make_private(folder)?;
    }
    lock(
        &folder.join("lock"),
        FlockOperation::NonBlockingLockExclusive,
        patience,
    )
}

/// Takes the lock under which what a workspace's store borrowed is made its own.
pub(crate) fn lock_settling(folder: &Path, patience: Duration) -> Result<Lock> {
    if !is_directory(folder) {
        make_private(folder)?;
    }
    lock(
        &folder.join("settling"),
        FlockOperation::NonBlockingLockExclusive,
        patience,
    )
}

/// Returns whether somebody takes a snapshot or carries out an operation in a workspace's folder.
pub(crate) fn is_locked(folder: &Path) -> bool {
    let locked = |file: File| {
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    };
    File::open(folder.join("lock")).is_ok_and(locked)
}

/// Takes the lock under which a damaged session store is set aside.
pub(crate) fn lock_store(directory: &Path, patience: Duration) -> Result<Lock> {
    lock(
        &directory.join("lock"),
        FlockOperation::NonBlockingLockExclusive,
        patience,
    )
}

fn lock(path: &Path, operation: FlockOperation, patience: Duration) -> Result<Lock> {
    let file = open_private(path)?;
    let end = Instant::now() + patience;
    let mut pause = Duration::from_micros(200);
    loop {
        match flock(&file, operation) {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)
                if Instant::now() < end =>
            {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::failed(format!(
                    "another process holds the lock `{}`",
                    path.display()
                ))
                .hint("wait for the other snapshot, revert or gc to end, and try again"));
            }
            Err(error) => {
                return Err(
                    Error::failed(format!("cannot lock `{}`", path.display())).because(error)
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_somebody_holds_is_waited_for_up_to_a_limit_and_then_refused() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let held = lock_workspace(folder.path(), Duration::ZERO).expect("it is free");
        let error =
            lock_workspace(folder.path(), Duration::from_millis(5)).expect_err("it is held");
        assert!(
            error.to_string().contains("another process holds the lock"),
            "a clear result: {error}"
        );
        assert!(is_locked(folder.path()), "who only asks is told so");
        drop(held);
        assert!(!is_locked(folder.path()), "nobody is at work any more");
        lock_workspace(folder.path(), Duration::ZERO).expect("it goes with whoever held it");
    }
}
