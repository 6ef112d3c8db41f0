//! Writes the line that every move leaves in git's reflog, like git's own commands. This module does IO.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::super::reflog::WHO;
use super::place::{MissingFolder, enter, open_folder};
use crate::fs::beneath;
use crate::fs::system::errno;
use crate::model::Milliseconds;

/// A line of a reflog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReflogEntry {
    /// The full name of the ref.
    pub name: String,
    /// `None` if the ref did not exist.
    pub old: Option<String>,
    /// `None` if the ref was deleted.
    pub new: Option<String>,
}

/// Who moves a ref, when, and why: the same for every line of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signature<'a> {
    pub time: Milliseconds,
    pub message: &'a str,
    /// The length of an id in bytes.
    pub id_length: usize,
}

impl Signature<'_> {
    fn text(self, line: &ReflogEntry) -> String {
        let none = "0".repeat(self.id_length * 2);
        let id = |id: &Option<String>| id.clone().unwrap_or_else(|| none.clone());
        let seconds = self.time / 1000;
        format!(
            "{} {} {WHO} {seconds} +0000\t{}\n",
            id(&line.old),
            id(&line.new),
            self.message
        )
    }

    /// Returns whether the last line is this one: an interrupted try of the same operation may have written it, with
    /// another time.
    fn is_written(self, line: &ReflogEntry, last: &[u8]) -> bool {
        let text = self.text(line);
        let Some((ids, _)) = text.split_once(" ckpt-hook ") else {
            return false;
        };
        last.starts_with(ids.as_bytes()) && last.ends_with(self.message.as_bytes())
    }
}

/// Appends a line to a ref's reflog in a folder of the repository. A ref without a reflog gets none.
pub(super) fn add(
    folder: &Path,
    line: &ReflogEntry,
    signature: Signature<'_>,
) -> Result<(), Errno> {
    let (below, leaf) = line.name.rsplit_once('/').unwrap_or(("", &line.name));
    // Not created: a repository without reflogs is set up so (`core.logAllRefUpdates`).
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK;
    let opened = open_folder(folder)
        .and_then(|folder| enter(&folder, &format!("logs/{below}"), MissingFolder::Refused))
        .and_then(|directory| beneath::open_name(directory.as_fd(), leaf.as_bytes(), flags));
    match opened {
        Ok(file) => append(&File::from(file), line, signature).map_err(errno),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

fn append(mut file: &File, line: &ReflogEntry, signature: Signature<'_>) -> io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Errno::INVAL.into());
    }
    // The last line is enough, and a log may have grown for years.
    let start = metadata.len().saturating_sub(4096);
    let mut end = vec![0; usize::try_from(metadata.len() - start).unwrap_or(4096)];
    file.read_exact_at(&mut end, start)?;
    let last = end
        .trim_ascii_end()
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    // After a crash, the log must not tell of one move twice: `HEAD@{1}` would be where HEAD is.
    if signature.is_written(line, last) {
        return Ok(());
    }
    let written = file
        .write_all(signature.text(line).as_bytes())
        .and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line would make git complain about the log.
        let _ = file.set_len(metadata.len());
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line is written once however often it is tried.
    #[test]
    fn line_of_a_reflog_is_written_once() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let logs = directory.path().join("logs/refs/heads");
        std::fs::create_dir_all(&logs).expect("writable");
        std::fs::write(logs.join("main"), "0 1 A <a> 1 +0000\tcommit\n").expect("writable");
        let line = ReflogEntry {
            name: "refs/heads/main".to_owned(),
            old: Some("1".to_owned()),
            new: None,
        };
        for time in [5000, 6000] {
            let signature = Signature {
                time,
                message: "ckpt-hook revert 1",
                id_length: 2,
            };
            add(directory.path(), &line, signature).expect("writable");
        }
        let missing = ReflogEntry {
            name: "refs/heads/other".to_owned(),
            ..line
        };
        add(
            directory.path(),
            &missing,
            Signature {
                time: 1,
                message: "x",
                id_length: 2,
            },
        )
        .expect("nothing to do");
        assert_eq!(
            std::fs::read_to_string(logs.join("main")).expect("there"),
            "0 1 A <a> 1 +0000\tcommit\n1 0000 ckpt-hook <ckpt-hook@localhost> 5 +0000\tckpt-hook revert 1\n",
            "old, new, who, when and why"
        );
        assert!(!logs.join("other").exists(), "git was told not to keep one");
    }
}
