//! Small file systems for tests that need one that is full or read-only.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system of its own; it goes with the value.
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts a file system in memory.
    pub fn new(at: &Path, options: &str) -> Option<Self> {
        Self::of_type("tmpfs", at, options)
    }

    pub fn of_type(system: &str, at: &Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", system, "-o", options, "ckpt"])
            .arg(at)
            .output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        if !mounted {
            crate::skip::skip("mounting a small file system needs root");
        }
        mounted.then(|| Self(at.to_owned()))
    }

    pub fn remount(&self, options: &str) {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.0)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "what was mounted can be remounted"
        );
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
