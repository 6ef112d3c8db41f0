//! Reads git's reflogs: who moved a ref, and when. This module does IO, but only reads.
//!
//! The format is that of `gitrevisions` and `refs/files-backend.c`: old id, new id, who, when, a tab, what.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::fs::times;
use crate::git::{Location, SMALL, read_small};
use crate::model::Milliseconds;

/// The author of our own lines: no person moved the ref.
pub(super) const WHO: &str = "ckpt-hook <ckpt-hook@localhost>";

/// How far a file that git writes together with a line may be beside the second of that line, in milliseconds.
const BESIDE: Milliseconds = 200;

/// One parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefMove {
    /// `None` if the ref did not exist.
    pub old: Option<String>,
    /// `None` if the ref was deleted.
    pub new: Option<String>,
    /// When it happened. A line has whole seconds, so this is the earliest and the latest possible millisecond.
    pub moment: Moment,
    /// Git's description of the move.
    pub what: String,
}

/// A time as exactly as it is known, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub earliest: Milliseconds,
    pub latest: Milliseconds,
}

impl Moment {
    /// Returns a time that is known exactly.
    pub fn exact(at: Milliseconds) -> Self {
        Self {
            earliest: at,
            latest: at,
        }
    }

    fn second(seconds: i64) -> Self {
        let earliest = seconds.saturating_mul(1000);
        Self {
            earliest,
            latest: earliest.saturating_add(999),
        }
    }

    fn no_earlier_than(self, earliest: Milliseconds) -> Self {
        self.within(earliest, self.latest)
    }

    fn no_later_than(self, latest: Milliseconds) -> Self {
        self.within(self.earliest, latest)
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

    /// Makes it exact by the time of a file, if that lies within it or just beside it. Git writes the line and the
    /// file one after the other, and a second may end in between.
    fn at(self, exact: Option<Milliseconds>) -> Self {
        let Some(exact) = exact else {
            return self;
        };
        let nearest = exact.clamp(self.earliest, self.latest);
        match (exact - nearest).abs() <= BESIDE {
            true => self.within(nearest, nearest),
            false => self,
        }
    }
}

impl RefMove {
    /// Returns whether git wrote the commit just before it moved the ref there.
    fn makes_its_commit(&self) -> bool {
        let is_of = |what: &str| self.what.starts_with(what);
        is_of("commit") || is_of("merge") && !self.what.ends_with("Fast-forward")
    }

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
pub(crate) fn moves(
    location: &Location,
    folder: &Path,
    name: &str,
    since: Milliseconds,
) -> Vec<RefMove> {
    let path = folder.join("logs").join(name);
    let times = FileTimes::of(&path);
    times.map_or_else(Vec::new, |times| moves_in(location, &path, times, since))
}

/// Does this for a reflog whose times are known.
pub(super) fn moves_in(
    location: &Location,
    path: &Path,
    times: FileTimes,
    since: Milliseconds,
) -> Vec<RefMove> {
    // Most logs were not written since, and their time says so without reading them.
    if times.written / 1000 < since / 1000 {
        return Vec::new();
    }
    let text = read_small(path, SMALL, OFlags::NOFOLLOW).unwrap_or_default();
    let lines: Vec<&[u8]> = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let is_last_ours = lines.last().is_some_and(|line| is_ours(line));
    let read = lines.iter().filter(|line| !is_ours(line));
    let mut moves: Vec<RefMove> = read
        .map(|line| RefMove::read(line))
        // One unreadable line makes all of it unreadable: the moves on its two sides do not continue each other.
        .collect::<Option<_>>()
        .unwrap_or_default();
    // The file was last written with its last line, and has finer time than that.
    if let Some(last) = moves.last_mut().filter(|_| !is_last_ours) {
        last.moment = last.moment.at(Some(times.written));
    }
    if let Some(first) = moves.first_mut().filter(|first| first.old.is_none()) {
        first.moment = first.moment.at(times.born);
    }
    moves.retain(|line| line.moment.latest >= since);
    narrow(location, &mut moves);
    moves
}

/// Narrows the moments of lines. Reflog lines have whole seconds, but steps begin and end within one. The commit that a
/// line names was written no later than the line, and just before it if the line is about making that commit. No line
/// is later than the next one, even if the clock was set back.
fn narrow(location: &Location, moves: &mut [RefMove]) {
    let mut next: Option<Moment> = None;
    for line in moves.iter_mut().rev() {
        if let Some(next) = next {
            line.moment = match line.moment.earliest <= next.latest {
                true => line.moment.no_later_than(next.latest),
                false => next,
            };
        }
        if line.moment.earliest < line.moment.latest {
            let commit = line.new.as_deref();
            let made = commit.and_then(|commit| written_at(&loose(location, commit)));
            line.moment = match line.makes_its_commit() {
                true => line.moment.at(made),
                false => made.map_or(line.moment, |made| line.moment.no_earlier_than(made)),
            };
        }
        next = Some(line.moment);
    }
}

fn is_ours(line: &[u8]) -> bool {
    String::from_utf8_lossy(line)
        .split('\t')
        .next()
        .is_some_and(|who| who.contains(WHO))
}

/// Returns the file of a loose object.
fn loose(location: &Location, id: &str) -> PathBuf {
    let (folder, rest) = id.split_at_checked(2).unwrap_or((id, ""));
    location.common.join("objects").join(folder).join(rest)
}

/// When a regular file was written, and when it was created if the file system knows, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileTimes {
    pub written: Milliseconds,
    pub born: Option<Milliseconds>,
}

impl FileTimes {
    /// Returns the times of a file, or `None` if there is no regular file.
    pub fn of(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok().filter(Metadata::is_file)?;
        Some(Self {
            written: times::written(&found),
            born: times::created(&found),
        })
    }
}

/// Returns when a regular file was written, in milliseconds since the epoch.
pub(super) fn written_at(path: &Path) -> Option<Milliseconds> {
    Some(FileTimes::of(path)?.written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(directory: &Path) -> Location {
        Location {
            directory: directory.to_owned(),
            common: directory.to_owned(),
        }
    }

    #[test]
    fn lines_are_read_without_our_own_and_as_exact_as_they_are_known() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let logs = directory.path().join("logs/refs/heads");
        std::fs::create_dir_all(&logs).expect("writable");
        let log = format!("0 1 A <a> 1 +0000\tcommit: x\n1 2 {WHO} 2 +0000\tckpt-hook revert 1\n");
        std::fs::write(logs.join("main"), log).expect("writable");
        let location = location(directory.path());
        let first = RefMove {
            old: None,
            new: Some("1".to_owned()),
            moment: Moment {
                earliest: 1000,
                latest: 1999,
            },
            what: "commit: x".to_owned(),
        };
        assert_eq!(
            moves(&location, directory.path(), "refs/heads/main", 0),
            [first],
            "a whole second, and not what we did"
        );
        let other = moves(&location, directory.path(), "refs/heads/other", 0);
        assert_eq!(other, [], "nothing is known of it");
    }

    #[test]
    fn a_second_that_ends_between_a_line_and_its_file_makes_the_line_no_less_exact() {
        let second = Moment::second(5);
        let exactly = |at| Moment {
            earliest: at,
            latest: at,
        };
        assert_eq!(second.at(Some(5_300)), exactly(5_300), "within");
        assert_eq!(second.at(Some(4_998)), exactly(5_000), "born just before");
        assert_eq!(second.at(Some(6_003)), exactly(5_999), "written just after");
        assert_eq!(second.at(Some(4_500)), second, "of another time");
        assert_eq!(second.at(Some(7_000)), second, "written again since");
        assert_eq!(second.at(None), second, "not known");
    }

    #[test]
    fn the_last_line_came_when_the_log_was_written() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let logs = directory.path().join("logs");
        std::fs::create_dir_all(&logs).expect("writable");
        let path = logs.join("HEAD");
        std::fs::write(&path, "").expect("writable");
        let seconds = written_at(&path).expect("there") / 1000;
        let text = format!("1 2 A <a> 5 +0000\t\n2 3 A <a> {seconds} +0000\t\n");
        std::fs::write(&path, text).expect("writable");
        let read = moves(&location(directory.path()), directory.path(), "HEAD", 0);
        let written = written_at(&path).expect("there");
        if written / 1000 == seconds {
            let exact = Moment {
                earliest: written,
                latest: written,
            };
            assert_eq!(read[1].moment, exact, "to the millisecond");
        }
        assert_eq!(read[0].moment.latest, 5999, "the others have a second");
        let later = moves(&location(directory.path()), directory.path(), "HEAD", 6000);
        assert_eq!(later.len(), 1, "from a moment on");
    }
}
