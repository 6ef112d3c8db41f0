//! The log file in the store: for what cannot be written to the database, and for users who ask for more with
//! `$CKPT_HOOK_LOG`.
//!
//! It never holds a prompt or a file's content. A failure to write to it never fails a command: there is nowhere left
//! to report it.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ckpt_output::{text, time};
use ckpt_store::Milliseconds;

/// The size limit of the log and of the one before it, in bytes: 1 MiB together.
const SIZE_LIMIT: u64 = 512 << 10;

/// The longest line, in bytes: short enough that lines of several processes do not mix.
const LONGEST_LINE: usize = 4096;

ckpt_schema::words! {
    /// The level of a line.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// Something was lost or left out.
        Error = "error",
        /// Something is odd.
        Warning = "warning",
        /// The result of a hook.
        Info = "info",
        /// The details of a hook's work.
        Debug = "debug",
    }
}

impl Level {
    /// Reads `$CKPT_HOOK_LOG`: nothing, `error`, `warning`, `info`, `debug`, or `off`.
    fn threshold(value: Option<&OsStr>) -> Option<Self> {
        match value.and_then(OsStr::to_str) {
            Some("off") => None,
            Some("error") => Some(Self::Error),
            Some("info") => Some(Self::Info),
            Some("debug" | "trace") => Some(Self::Debug),
            _ => Some(Self::Warning),
        }
    }
}

/// The log file of a store.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: PathBuf,
    threshold: Option<Level>,
    clock: fn() -> Milliseconds,
}

impl LogFile {
    /// Returns the log of a store; the file is created with the first line.
    pub fn new(store: &Path, level: Option<&OsStr>, clock: fn() -> Milliseconds) -> Self {
        Self {
            path: store.join("log"),
            threshold: Level::threshold(level),
            clock,
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last lines about something that went wrong, oldest first.
    pub fn last_failures(&self, number: usize) -> Vec<String> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let is_failure = |line: &&str| line.split(' ').nth(1) == Some(Level::Error.name());
        let mut lines: Vec<String> = text
            .lines()
            .rev()
            .filter(is_failure)
            .take(number)
            .map(str::to_owned)
            .collect();
        lines.reverse();
        lines
    }

    /// Writes a line if its level is enabled.
    pub fn line(&self, level: Level, message: &str) {
        if self.threshold.is_some_and(|threshold| level <= threshold) {
            // This is the last resort: a failure cannot be reported anywhere.
            let _ = self.append(level, message);
        }
    }

    /// Returns the line that a crash leaves, up to the number of the process and after it; `None` if nothing is logged.
    pub fn crash_line(&self) -> Option<[Vec<u8>; 2]> {
        self.threshold?;
        let begin = format!("{} {} [", time::utc((self.clock)()), Level::Error.name());
        let end =
            "] a hook crashed, or was out of stack or memory: what it was to record is missing\n";
        Some([begin.into_bytes(), end.as_bytes().to_vec()])
    }

    fn append(&self, level: Level, message: &str) -> io::Result<()> {
        let time = time::utc((self.clock)());
        let mut line = format!(
            "{time} {} [{}] {}",
            level.name(),
            std::process::id(),
            text::safe(message)
        );
        // One `write` of a short line is not mixed with those of other hooks.
        line.truncate(line.floor_char_boundary(LONGEST_LINE - 1));
        line.push('\n');
        self.open()?.write_all(line.as_bytes())
    }

    fn open(&self) -> io::Result<File> {
        if let Some(store) = self.path.parent() {
            // Nothing is written into a store that is not the user's own, not even this.
            ckpt_store::prepare_directory(store).map_err(io::Error::other)?;
        }
        if self
            .path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.len() >= SIZE_LIMIT)
        {
            // One older log is kept, so that what led to a failure can still be read.
            std::fs::rename(&self.path, self.path.with_extension("old"))?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&self.path)?;
        let metadata = file.metadata()?;
        match metadata.is_file() && metadata.nlink() == 1 {
            true => Ok(file),
            // Writing through a symlink would change a file elsewhere.
            false => Err(io::Error::other("the log is a link")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(level: Option<&str>) -> (tempfile::TempDir, LogFile) {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let log = LogFile::new(&directory.path().join("store"), level.map(OsStr::new), || 0);
        (directory, log)
    }

    /// A line is one line whatever its message holds.
    #[test]
    fn log_line_is_one_line() {
        let (_directory, log) = log(None);
        log.line(Level::Error, "a\nb\u{1b}[2J");
        let text = std::fs::read_to_string(log.path()).expect("the file was made");
        assert_eq!(
            text.lines().count(),
            1,
            "no message makes a second line: {text:?}"
        );
        assert!(
            text.starts_with("1970-01-01T00:00:00Z error ["),
            "time and level come first: {text:?}"
        );
        assert!(
            !text.contains('\u{1b}'),
            "a terminal is safe from it: {text:?}"
        );
    }

    #[test]
    fn what_is_not_asked_for_makes_no_file() {
        let (_directory, log) = log(None);
        log.line(Level::Info, "all is well");
        assert!(!log.path().exists(), "not even the store");
    }

    #[test]
    fn the_log_is_capped() {
        let (_directory, log) = log(Some("debug"));
        let long = "x".repeat(LONGEST_LINE * 2);
        for _ in 0..400 {
            log.line(Level::Debug, &long);
        }
        let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        let total = size(log.path()) + size(&log.path().with_extension("old"));
        assert!(total <= 1 << 20, "1 MiB in all, and it is {total}");
    }
}
