//! Folders for files that only their user may read, such as two sides of a diff. This module does IO.
//!
//! One is removed when it is dropped, at a signal that ends this process, and, if the process was killed, by the next
//! one that makes one: its maker holds a lock on it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::locks;
use crate::{posix, signals};

/// The beginning of a folder's name.
const PREFIX: &str = "ckpt-hook-";

/// The folders of this process.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The process id of the program that a person uses now; 0 without one.
static PROGRAM: AtomicU32 = AtomicU32::new(0);

/// A folder that only its user may enter.
pub struct PrivateFolder {
    path: PathBuf,
    /// Held for as long as the folder is in use.
    _lock: File,
}

impl PrivateFolder {
    /// Makes one, and removes what killed processes left.
    ///
    /// # Errors
    ///
    /// A folder that cannot be made, or no place for it where others cannot exchange it.
    pub fn new() -> io::Result<Self> {
        let parent = parent()?;
        watch_signals();
        sweep(&parent);
        loop {
            let path = parent.join(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
            DirBuilder::new().mode(0o700).create(&path)?;
            locks::lock(&FOLDERS).push(path.clone());
            // Another process may have swept it before it was locked.
            if let Some(lock) = locked(&path) {
                return Ok(Self { path, _lock: lock });
            }
            forget(&path);
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder below it, with those above.
    pub fn make(&self, name: &Path) -> io::Result<()> {
        let folder = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Writes a new file, and returns its path.
    pub fn write(&self, name: &Path, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(content)?;
        Ok(path)
    }

    /// Runs a program in the folder, or in one below it, until it ends. It has the terminal: signals end it, and not this
    /// process.
    pub fn run(&self, below: &Path, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = command.current_dir(self.path.join(below)).spawn()?;
        let attended = self.attend(&child);
        // It keeps its process id until it is waited for, so no other process gets its signals.
        signals::wait_for_end(&child);
        drop(attended);
        child.wait()
    }

    /// Until the result is dropped, signals end a program, and not this process. Drop it before the program is waited for.
    pub fn attend(&self, program: &Child) -> AttendedProgram {
        PROGRAM.store(program.id(), Ordering::SeqCst);
        AttendedProgram
    }
}

/// A program that gets the signals of this process.
pub struct AttendedProgram;

impl Drop for AttendedProgram {
    fn drop(&mut self) {
        PROGRAM.store(0, Ordering::SeqCst);
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        remove(&self.path);
        forget(&self.path);
    }
}

/// Returns the folder for temporary files. In one to which others may write, only the sticky bit keeps them from putting
/// a folder of theirs in place of ours.
fn parent() -> io::Result<PathBuf> {
    let is_safe = |folder: &PathBuf| {
        let found = folder.metadata();
        found.is_ok_and(|found| {
            let is_kept = found.mode() & 0o022 == 0 || found.mode() & 0o1000 != 0;
            is_kept && [0, user()].contains(&found.uid())
        })
    };
    [std::env::temp_dir(), PathBuf::from("/tmp")]
        .into_iter()
        .filter_map(|folder| folder.canonicalize().ok())
        .find(is_safe)
        .ok_or_else(|| io::Error::other("others may exchange what is in $TMPDIR and in /tmp"))
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn forget(path: &Path) {
    locks::lock(&FOLDERS).retain(|other| other != path);
}

/// Removes a folder. What cannot be removed stays for the next process.
#[expect(
    clippy::disallowed_methods,
    reason = "the folder is of our own making, only its user may write to it, and no link in it is followed"
)]
fn remove(path: &Path) {
    let _ = std::fs::remove_dir_all(path);
}

/// Locks a folder; `None` if another process holds it, or it is none of ours, or no longer there.
fn locked(path: &Path) -> Option<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (own, there) = (folder.metadata().ok()?, path.symlink_metadata().ok()?);
    let is_same = (own.dev(), own.ino()) == (there.dev(), there.ino());
    (is_same && own.uid() == user()).then_some(folder)
}

/// Returns whether a folder's name is one that [`PrivateFolder::new`] gives: a person may well have a `ckpt-hook-src`.
fn is_name(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.strip_prefix(PREFIX)
        .is_some_and(|number| number.len() == 32 && number.bytes().all(is_digit))
}

/// Removes the folders of processes that were killed.
fn sweep(parent: &Path) {
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        if is_name(&entry.file_name().to_string_lossy())
            && let Some(_lock) = locked(&entry.path())
        {
            remove(&entry.path());
        }
    }
}

/// Removes the folders at a signal that ends this process, which it then does. Ignored signals stay ignored, as under
/// `nohup`.
fn watch_signals() {
    static WATCHED: OnceLock<()> = OnceLock::new();
    WATCHED.get_or_init(|| {
        let caught = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]
            .into_iter()
            .filter(|signal| !posix::is_ignored(*signal));
        // Where they cannot be caught, or no thread can be started, the next process sweeps.
        if let Ok(mut signals) = Signals::new(caught) {
            let _ = std::thread::Builder::new().spawn(move || signals.forever().for_each(end_by));
        }
    });
}

fn end_by(signal: i32) {
    if let Some(program) = program() {
        // A terminal sends the others to the program, too.
        let passed_on = match signal {
            SIGTERM => Signal::TERM,
            SIGHUP => Signal::HUP,
            _ => return,
        };
        let _ = kill_process(program, passed_on);
        return;
    }
    locks::lock(&FOLDERS)
        .drain(..)
        .for_each(|path| remove(&path));
    // It returns only if the signal's default is to be ignored.
    let _ = emulate_default_handler(signal);
}

fn program() -> Option<Pid> {
    Pid::from_raw(PROGRAM.load(Ordering::SeqCst).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_private_folders_are_swept() {
        let number = uuid::Uuid::new_v4().simple().to_string();
        assert!(is_name(&format!("{PREFIX}{number}")));
        for name in [
            "",
            "src",
            &number[1..],
            &format!("{number}0"),
            &"g".repeat(32),
        ] {
            assert!(!is_name(&format!("{PREFIX}{name}")), "{name}");
        }
        assert!(!is_name(&number));
    }
}
