//! Reads git's reflogs. This module does IO, but only reads.
//!
//! The format is that of `gitrevisions` and `refs/files-backend.c`: old id, new id, who, when, a tab, what.

use std::ops::RangeInclusive;
use std::path::Path;

use rustix::fs::OFlags;

use crate::fs::times;
use crate::git::{SMALL, read_small};
use crate::model::Milliseconds;
use crate::timeline::evidence::TICK;

/// The author of our own lines: no person moved the ref.
pub(super) const WHO: &str = "ckpt-hook <ckpt-hook@localhost>";

/// One parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefMove {
    /// `None` if the ref did not exist.
    pub old: Option<String>,
    /// `None` if the ref was deleted.
    pub new: Option<String>,
    /// The second in which it moved, which is all that a line says.
    pub second: RangeInclusive<Milliseconds>,
    /// Git's description of the move.
    pub what: String,
}

impl RefMove {
    /// Reads `OLD NEW WHO <MAIL> SECONDS ZONE\tWHAT`.
    fn read(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let (ids, rest) = line.split_at_checked(line.match_indices(' ').nth(1)?.0)?;
        let (old, new) = ids.split_once(' ')?;
        let (who, what) = rest.split_once('\t').unwrap_or((rest, ""));
        let (_, after) = who.rsplit_once('>')?;
        let seconds: i64 = after.split_ascii_whitespace().next()?.parse().ok()?;
        let begin = seconds.saturating_mul(1000);
        let id = |id: &str| Some(id.to_owned()).filter(|id| id.bytes().any(|digit| digit != b'0'));
        Some(Self {
            old: id(old),
            new: id(new),
            second: begin..=begin.saturating_add(999),
            what: what.to_owned(),
        })
    }
}

/// Returns the moves of a ref since the second of a moment, oldest first, without our own operations. The result is empty
/// if the log was not written since, or is missing, too large or damaged.
pub(crate) fn moves(folder: &Path, name: &str, since: Milliseconds) -> Vec<RefMove> {
    let path = folder.join("logs").join(name);
    // The kernel stamps files with the time of its last tick.
    if written_at(&path).is_none_or(|at| at + TICK < since) {
        return Vec::new();
    }
    let text = read_small(&path, SMALL, OFlags::NOFOLLOW).unwrap_or_default();
    let is_ours = |line: &[u8]| String::from_utf8_lossy(line).contains(WHO);
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty() && !is_ours(line));
    // One unreadable line makes all of it unreadable: the moves on its two sides do not continue each other.
    let moves: Option<Vec<RefMove>> = lines.map(RefMove::read).collect();
    let mut moves = moves.unwrap_or_default();
    moves.retain(|line| *line.second.end() >= since);
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
            second: 1000..=1999,
            what: "commit: x".to_owned(),
        };
        assert_eq!(
            moves(directory.path(), "refs/heads/main", 0),
            [first],
            "a whole second, and none of ours"
        );
        let later = moves(directory.path(), "refs/heads/main", 2000);
        assert_eq!(later, [], "from a moment on");
        let other = moves(directory.path(), "refs/heads/other", 0);
        assert_eq!(other, [], "there is no such log");
    }
}
