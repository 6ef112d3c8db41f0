//! Reads git's reflogs. This module does IO, but only reads.
//!
//! The format is that of `gitrevisions` and `refs/files-backend.c`: old id, new id, who, when, a tab, what.

use std::path::Path;

use rustix::fs::OFlags;

use crate::fs::times;
use crate::git::{SMALL, read_small};
use crate::model::Milliseconds;

/// The author of our own lines: no person moved the ref.
pub(super) const WHO: &str = "ckpt-hook <ckpt-hook@localhost>";

/// One parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefMove {
    /// `None` if the ref did not exist.
    pub old: Option<String>,
    /// `None` if the ref was deleted.
    pub new: Option<String>,
    pub moment: Moment,
    /// Git's description of the move.
    pub what: String,
}

/// A time as exactly as it is known: the earliest and the latest possible millisecond since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub earliest: Milliseconds,
    pub latest: Milliseconds,
}

impl Moment {
    /// A time that is known exactly.
    pub fn exact(at: Milliseconds) -> Self {
        Self {
            earliest: at,
            latest: at,
        }
    }

    /// A whole second, which is all that a line says.
    fn second(seconds: i64) -> Self {
        let earliest = seconds.saturating_mul(1000);
        Self {
            earliest,
            latest: earliest.saturating_add(999),
        }
    }

    /// The times within it at which another author may begin: its own ends, and those given.
    pub fn times(self, ends: &[Milliseconds]) -> Vec<Milliseconds> {
        let within = ends
            .iter()
            .map(|end| *end.clamp(&self.earliest, &self.latest));
        let mut times: Vec<_> = within.chain([self.earliest, self.latest]).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Narrows it to another range, if the two overlap.
    pub fn within(self, earliest: Milliseconds, latest: Milliseconds) -> Self {
        let narrow = Self {
            earliest: self.earliest.max(earliest),
            latest: self.latest.min(latest),
        };
        if narrow.earliest <= narrow.latest {
            narrow
        } else {
            self
        }
    }
}

impl RefMove {
    /// Reads `OLD NEW WHO <MAIL> SECONDS ZONE\tWHAT`.
    fn read(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let (ids, rest) = line.split_at_checked(line.match_indices(' ').nth(1)?.0)?;
        let (old, new) = ids.split_once(' ')?;
        let (who, what) = rest.split_once('\t').unwrap_or((rest, ""));
        let (_, after) = who.rsplit_once('>')?;
        let time = after.split_ascii_whitespace().next()?.parse().ok()?;
        let id = |id: &str| Some(id.to_owned()).filter(|id| id.bytes().any(|digit| digit != b'0'));
        Some(Self {
            old: id(old),
            new: id(new),
            moment: Moment::second(time),
            what: what.to_owned(),
        })
    }
}

/// Returns the moves of a ref since a moment, oldest first, without our own operations. The result is empty if the log
/// was not written since, or is missing, too large or damaged.
pub(crate) fn moves(folder: &Path, name: &str, since: Milliseconds) -> Vec<RefMove> {
    let path = folder.join("logs").join(name);
    let found = path.symlink_metadata().ok();
    let Some(found) = found.filter(|found| found.is_file() && times::written(found) >= since)
    else {
        return Vec::new();
    };
    let text = read_small(&path, SMALL, OFlags::NOFOLLOW).unwrap_or_default();
    let is_ours = |line: &[u8]| String::from_utf8_lossy(line).contains(WHO);
    let lines = text.split(|byte| *byte == b'\n');
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    let read = lines.iter().filter(|line| !is_ours(line));
    // One unreadable line makes all of it unreadable: the moves on its two sides do not continue each other.
    let read: Option<Vec<RefMove>> = read.map(|line| RefMove::read(line)).collect();
    let mut moves = read.unwrap_or_default();
    // The log was created with its first line and written with its last one, and a file has finer times.
    if let Some(first) = moves.first_mut().filter(|first| first.old.is_none()) {
        let born = times::created(&found).unwrap_or(first.moment.earliest - 1);
        first.moment = first.moment.within(born, born);
    }
    let is_last_ours = lines.last().is_some_and(|line| is_ours(line));
    if let Some(last) = moves.last_mut().filter(|_| !is_last_ours) {
        let written = times::written(&found);
        last.moment = last.moment.within(written, written);
    }
    moves.retain(|line| line.moment.latest >= since);
    moves
}

/// The time at which a regular file was written, in milliseconds since the epoch.
pub(super) fn written_at(path: &Path) -> Option<Milliseconds> {
    let found = path.symlink_metadata().ok()?;
    found.is_file().then(|| times::written(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_without_our_own() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let logs = directory.path().join("logs/refs/heads");
        std::fs::create_dir_all(&logs).expect("writable");
        let log = format!("0 1 A <a> 1 +0000\tcommit: x\n1 2 {WHO} 2 +0000\tckpt-hook revert 1\n");
        std::fs::write(logs.join("main"), log).expect("writable");
        let first = RefMove {
            old: None,
            new: Some("1".to_owned()),
            moment: Moment::second(1),
            what: "commit: x".to_owned(),
        };
        assert_eq!(
            moves(directory.path(), "refs/heads/main", 0),
            [first],
            "a whole second, and none of ours"
        );
        let other = moves(directory.path(), "refs/heads/other", 0);
        assert_eq!(other, [], "there is no such log");
    }

    /// The last line has the time of the log.
    #[test]
    fn last_line_has_the_logs_time() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join("logs/HEAD");
        std::fs::create_dir_all(directory.path().join("logs")).expect("writable");
        std::fs::write(&path, "").expect("writable");
        let seconds = written_at(&path).expect("there") / 1000;
        let text = format!("1 2 A <a> 5 +0000\t\n2 3 A <a> {seconds} +0000\t\n");
        std::fs::write(&path, text).expect("writable");
        let read = moves(directory.path(), "HEAD", 0);
        let written = written_at(&path).expect("there");
        if written / 1000 == seconds {
            assert_eq!(read[1].moment, Moment::exact(written), "to the millisecond");
        }
        assert_eq!(read[0].moment.latest, 5999, "the others have a second");
        let later = moves(directory.path(), "HEAD", 6000);
        assert_eq!(later.len(), 1, "from a moment on");
    }
}
