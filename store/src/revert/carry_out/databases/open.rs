//! Which programs have the files of a workspace open, or lock them. This module does IO, but only reads.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Flock, FlockType};

use crate::error::Result;
use crate::fs::{beneath, presence};
use crate::model::path::WorkspacePath;

/// Opens a file of the workspace, not through a link.
pub(super) fn open_in(root: &Path, path: &WorkspacePath) -> Option<File> {
    let root = beneath::open_root(root).ok()?;
    let file = beneath::open_file(root.as_fd(), path.as_bytes()).ok()?;
    Some(File::from(file))
}

/// The files that other programs have open, by device and inode, as far as this user can see. They are looked up once.
#[derive(Default)]
pub(super) struct OpenFiles {
    found: Option<BTreeMap<(u64, u64), String>>,
}

impl OpenFiles {
    /// Returns the program that has a file open, or holds a lock on it.
    pub fn by(&mut self, root: &Path, path: &WorkspacePath) -> Result<Option<String>> {
        let on_disk = path.on_disk(root);
        let Some(found) = presence::metadata(&on_disk)?.filter(Metadata::is_file) else {
            return Ok(None);
        };
        let open = self.found.get_or_insert_with(open_files);
        let holder = open.get(&(found.dev(), found.ino())).cloned();
        Ok(locked_by(root, path).or(holder))
    }
}

/// Returns who holds a lock on a file that keeps others from writing to it.
fn locked_by(root: &Path, path: &WorkspacePath) -> Option<String> {
    let file = open_in(root, path)?;
    // A write lock conflicts with every lock, so the answer names readers, too.
    let lock = rustix::process::fcntl_getlk(file.as_fd(), &Flock::from(FlockType::WriteLock));
    let lock = lock.ok()??;
    Some(match lock.pid {
        Some(pid) => program(pid.as_raw_nonzero().get()),
        None => "locked".to_owned(),
    })
}

fn open_files() -> BTreeMap<(u64, u64), String> {
    let own = std::process::id().to_string();
    let mut open = BTreeMap::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if name.to_str() == Some(&own) {
            continue;
        }
        let files = std::fs::read_dir(process.path().join("fd"));
        for file in files.into_iter().flatten().flatten() {
            // The target of the link, not the link itself.
            if let Ok(found) = std::fs::metadata(file.path())
                && found.is_file()
            {
                open.entry((found.dev(), found.ino()))
                    .or_insert_with(|| program(pid));
            }
        }
    }
    open
}

fn program(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    match name.as_deref().map(str::trim) {
        Ok(name) if !name.is_empty() => format!("{name}, process {pid}"),
        _ => format!("process {pid}"),
    }
}
