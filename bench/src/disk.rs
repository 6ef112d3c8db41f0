//! What is used of the disk. This module does IO.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::process::Result;

/// Bytes and files below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Bytes of all blocks, as `du` counts.
    pub bytes: u64,
    /// Files.
    pub files: u64,
}

/// Counts what is below a directory.
pub fn below(directory: &Path) -> Result<Use> {
    let mut all = Use::default();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            all.bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                directories.push(entry.path());
            } else {
                all.files += 1;
            }
        }
    }
    Ok(all)
}
