//! What it was measured on. This module does IO.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::process::{Result, git};

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its processor.
    pub cpu: String,
    /// How many of them the run could use.
    pub cores: usize,
    /// Its memory in GB.
    pub memory_gb: u64,
    /// The file system of the trees.
    pub file_system: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// The version of git.
    pub git: String,
    /// How many processes wanted to run in the last minute, the measured ones among them.
    #[serde(default)]
    pub load: String,
}

impl Machine {
    /// Looks at this machine, with the file system of a folder.
    pub fn here(folder: &Path) -> Result<Self> {
        let kernel = |name: &str| fs::read_to_string(Path::new("/proc/sys/kernel").join(name));
        let kilobytes = field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        Ok(Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gb: kilobytes.unwrap_or_default().div_ceil(1 << 20),
            file_system: file_system(folder).unwrap_or_else(|| "unknown".to_owned()),
            kernel: release(kernel("ostype")?.trim(), kernel("osrelease")?.trim()),
            git: git(folder, &["version"])?
                .trim()
                .trim_start_matches("git version ")
                .to_owned(),
            load: fs::read_to_string("/proc/loadavg")?
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
        })
    }
}

/// The kernel without what its builder added.
fn release(name: &str, release: &str) -> String {
    format!("{name} {}", release.split('-').next().unwrap_or(release))
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the kind of the file system, and what else counts for what it costs to make and remove files: a device that is a
/// file itself, and ext4 without a journal, which looks long for an inode that was not removed in the last minutes.
fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    });
    let covering = mounts.filter(|(_, place, _)| folder.starts_with(place));
    let (device, _, kind) = covering.max_by_key(|(_, place, _)| place.len())?;
    let device = device.trim_start_matches("/dev/");
    let is_loop = if device.starts_with("loop") {
        " on a loop device"
    } else {
        ""
    };
    let is_bare = if kind == "ext4" && !has_journal(device) {
        " without a journal"
    } else {
        ""
    };
    Some(format!("{kind}{is_bare}{is_loop}"))
}

fn has_journal(device: &str) -> bool {
    let mut journals = fs::read_dir("/proc/fs/jbd2")
        .into_iter()
        .flatten()
        .flatten();
    journals.any(|journal| {
        journal
            .file_name()
            .to_string_lossy()
            .starts_with(&format!("{device}-"))
    })
}
