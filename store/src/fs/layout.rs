//! Private directories and files, what a workspace's folder says of itself, and the locks. This module does IO.

use std::cell::Cell;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::error::{Context, Error, Result};
use crate::fs::ownership::{check_inner_directory, check_owner};
use crate::fs::{names, presence, times};
use crate::model::Milliseconds;

/// Returns whether a workspace's folder has a repository and is not being removed.
pub(crate) fn holds_objects(folder: &Path) -> Result<bool> {
    Ok(!is_going(folder)? && presence::is_directory(&names::objects(folder))?)
}

/// Returns whether a workspace's folder is being removed.
pub(crate) fn is_going(folder: &Path) -> Result<bool> {
    Ok(going_since(folder)?.is_some())
}

/// Returns when a process began to remove a workspace's folder, in milliseconds since the epoch.
pub(crate) fn going_since(folder: &Path) -> Result<Option<Milliseconds>> {
    let metadata = presence::metadata(&folder.join(names::REMOVAL_MARK))?;
    Ok(metadata.as_ref().map(times::written))
}

/// Creates a directory that only the user can enter, and its parents.
pub(crate) fn make_private(directory: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .context(|| format!("cannot create the directory `{}`", directory.display()))
}

/// Waits until a file, or the names in a directory, are on the disk.
pub(crate) fn sync(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .context(|| format!("cannot sync `{}`", path.display()))
}

/// Opens a file that only the user can read, and creates it if it is missing. Fails if another user owns it: they could
/// hold its lock for ever. Fails as well if it is no regular file: reading a pipe would never end.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    let what = || format!("cannot open `{}`", path.display());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // A planted link would have us lock, or write to, a file somewhere else.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
        .context(what)?;
    let metadata = file.metadata().context(what)?;
    check_owner(path, &metadata)?;
    match metadata.is_file() {
        true => Ok(file),
        false => Err(Error::failed(what()).because("it is not a regular file")),
    }
}

/// A kernel lock. It ends with the process that holds it, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// The length of its note in bytes, once that was read.
    noted: Cell<Option<u64>>,
}

/// The longest note, in bytes.
const LONGEST_NOTE: usize = 512;

impl Lock {
    /// Returns the note of its last holder, or `None` if it cannot be read.
    pub(crate) fn note(&self) -> Option<String> {
        // One read of a fixed size: asking for the length first would be another system call in each event.
        let mut bytes = vec![0; LONGEST_NOTE];
        let read = self.file.read_at(&mut bytes, 0).ok()?;
        bytes.truncate(read);
        // A longer note may have been read only in part.
        self.noted
            .set(Some(read as u64).filter(|_| read < LONGEST_NOTE));
        String::from_utf8(bytes).ok()
    }

    /// Marks the file as written to now: see [`last_upkeep`].
    pub(crate) fn touch(&self) {
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let now = rustix::fs::Timestamps {
            last_access: now,
            last_modification: now,
        };
        // It only makes a message clearer.
        let _ = rustix::fs::futimens(&self.file, &now);
    }

    /// Removes the note. Fails if it may still be there.
    pub(crate) fn clear_note(&self) -> Result<()> {
        self.noted.set(None);
        self.file
            .set_len(0)
            .context(|| "cannot remove the note in a workspace's lock")
    }

    /// Replaces the note. A note that cannot be written completely is removed.
    pub(crate) fn set_note(&self, text: &str) {
        // In place and not beside: the file is the lock, and another one of its name would be another lock.
        let is_written = self.file.write_all_at(text.as_bytes(), 0).is_ok();
        let length = if is_written { text.len() as u64 } else { 0 };
        let before = self.noted.replace(None).or_else(|| {
            let metadata = self.file.metadata().ok()?;
            Some(metadata.len())
        });
        if !is_written || before.is_some_and(|before| before > length) {
            let _ = self.file.set_len(length);
        }
    }
}

/// Takes the lock of one workspace's folder: one snapshot or operation at a time.
pub(crate) fn lock_workspace(folder: &Path, patience: Duration) -> Result<Lock> {
    lock_in(folder, names::LOCK, patience)
}

/// Takes a lock of a workspace's folder, which is made if it is missing. `forget` removes the folder while others may
/// wait for its lock: what they got then is a file without a name, and the next one that comes would get another.
fn lock_in(folder: &Path, name: &str, patience: Duration) -> Result<Lock> {
    let end = Instant::now() + patience;
    loop {
        prepare_folder(folder)?;
        let locked = lock(
            &folder.join(name),
            end.saturating_duration_since(Instant::now()),
        );
        match locked {
            Ok(lock) if lock.file.metadata().is_ok_and(|file| file.nlink() == 0) => {}
            // The folder went between the two calls above.
            Err(_) if !presence::is_directory(folder).unwrap_or(true) && Instant::now() < end => {}
            locked => return locked,
        }
    }
}

/// Takes the lock for settling, which makes borrowed packs the store's own.
pub(crate) fn lock_settling(folder: &Path, patience: Duration) -> Result<Lock> {
    lock_in(folder, names::SETTLING, patience)
}

/// Takes the lock of the file that says which conversation is being forked for a workspace.
pub(crate) fn lock_forking(folder: &Path, patience: Duration) -> Result<Lock> {
    lock_in(folder, names::FORKING, patience)
}

/// Takes the lock of upkeep: one `gc` or `forget` at a time.
pub(crate) fn lock_upkeep(directory: &Path, patience: Duration) -> Result<Lock> {
    lock(&directory.join(names::UPKEEP), patience)
}

/// How long a watcher that has ended may seem to hold its lock: a program that its process was just starting has the
/// descriptor until it runs.
const ENDED_WATCHER_TIMEOUT: Duration = Duration::from_secs(1);

/// Takes the lock of the watcher, unless another one has it: there is one per store.
pub(crate) fn lock_watcher(directory: &Path) -> Result<Option<Lock>> {
    lock_in_time(&directory.join(names::WATCH_LOCK), ENDED_WATCHER_TIMEOUT)
}

/// Creates a workspace's folder if it is missing. Fails if something of another user's, or a link, is there.
fn prepare_folder(folder: &Path) -> Result<()> {
    match folder.symlink_metadata() {
        Ok(metadata) => check_inner_directory(folder, &metadata),
        Err(_) => make_private(folder),
    }
}

/// Fails if something else than a directory of the user's own is where a workspace's folder belongs. What only reads
/// takes no lock, and must not follow a link out of the store either.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    match folder.symlink_metadata() {
        Ok(metadata) => check_inner_directory(folder, &metadata),
        Err(_) => Ok(()),
    }
}

/// Returns the note of the last holder of that lock, for a caller that does not take it.
pub(crate) fn upkeep_note(directory: &Path) -> Option<String> {
    note_in(&directory.join(names::UPKEEP))
}

/// Returns whether `gc` or `forget` is at work in a store's directory.
pub(crate) fn is_upkeep_locked(directory: &Path) -> bool {
    is_file_locked(&directory.join(names::UPKEEP))
}

/// Returns a time that changes whenever `gc` or `forget` ends in a store's directory.
pub(crate) fn last_upkeep(directory: &Path) -> Option<SystemTime> {
    directory
        .join(names::UPKEEP)
        .metadata()
        .ok()?
        .modified()
        .ok()
}

/// Returns whether a process is taking a snapshot or carrying out an operation in a workspace's folder.
pub(crate) fn is_locked(folder: &Path) -> bool {
    is_file_locked(&folder.join(names::LOCK))
}

fn is_file_locked(path: &Path) -> bool {
    let locked = |file: File| {
        // Shared, so that two who only ask do not take each other for a holder.
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    };
    // Opening a pipe would never end.
    path.symlink_metadata().is_ok_and(|file| file.is_file()) && File::open(path).is_ok_and(locked)
}

/// Returns the note of the last holder of a workspace's lock, for a caller that does not take it. `None` if it cannot
/// be read.
pub(crate) fn note_of(folder: &Path) -> Option<String> {
    note_in(&folder.join(names::LOCK))
}

fn note_in(path: &Path) -> Option<String> {
    // Opening a pipe would never end.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut note = String::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST_NOTE as u64)
        .read_to_string(&mut note)
        .ok()?;
    Some(note)
}

/// Takes the lock under which a damaged session store is set aside.
pub(crate) fn lock_store(directory: &Path, patience: Duration) -> Result<Lock> {
    lock(&directory.join(names::LOCK), patience)
}

fn lock(path: &Path, patience: Duration) -> Result<Lock> {
    lock_in_time(path, patience)?.ok_or_else(|| {
        Error::failed(format!(
            "another process holds the lock `{}`",
            path.display()
        ))
        .hint("wait for the other snapshot, revert or gc to end, and try again")
    })
}

/// Takes a lock, unless another process holds it for so long.
fn lock_in_time(path: &Path, patience: Duration) -> Result<Option<Lock>> {
    #[cfg(debug_assertions)]
    crate::fault::moment("lock");
    let file = open_private(path)?;
    let end = Instant::now() + patience;
    let mut pause = Duration::from_micros(200);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                #[cfg(debug_assertions)]
                crate::fault::moment("locked");
                return Ok(Some(Lock {
                    file,
                    noted: Cell::new(None),
                }));
            }
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)
                if Instant::now() < end =>
            {
                #[cfg(debug_assertions)]
                crate::fault::moment("waits");
                // `flock` has no time limit of its own, and a signal to end the wait would be the whole process's.
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
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

    /// A lock that another process holds is waited for up to a limit and then refused.
    #[test]
    fn held_lock_is_waited_for_then_refused() {
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
