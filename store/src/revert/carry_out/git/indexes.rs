//! The indexes that the store holds, and the present one. This module does IO, but only reads.

use rustix::fs::OFlags;

use super::repository::Repository;
use crate::fs::presence;
use crate::git::index::Meaning;
use crate::git::read_small;
use crate::git::tracked::LARGEST;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;
use crate::snapshot::Snapshots;

/// A file to be put into a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NewFile {
    pub bytes: Vec<u8>,
    /// The time it gets, in seconds and nanoseconds, or `None` for the present time.
    pub time: Option<(i64, i64)>,
}

/// The indexes that the store holds, and the present one.
#[derive(Clone, Copy)]
pub(super) struct Indexes<'a> {
    pub repository: &'a Repository,
    pub snapshots: &'a Snapshots,
}

impl Indexes<'_> {
    fn bytes(&self, blob: ObjectId) -> Option<Vec<u8>> {
        self.snapshots.read_blob(blob).ok()
    }

    /// Returns the meaning of a stored index, or `None` if it is damaged.
    pub fn meaning(&self, blob: ObjectId) -> Option<Meaning> {
        self.repository.meaning(&self.bytes(blob)?)
    }

    /// Returns whether two indexes stage the same, split or not. What git remembers about files besides changes with
    /// every `git status`.
    pub fn same(&self, one: Option<ObjectId>, other: Option<ObjectId>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) if one != other => {
                same(self.meaning(one), self.meaning(other))
            }
            (one, other) => one == other,
        }
    }

    /// Returns whether the present index is this one, or stages the same.
    pub fn is_now(&self, wanted: Option<ObjectId>) -> bool {
        let path = self.repository.location.directory.join("index");
        match (read_small(&path, LARGEST, OFlags::NOFOLLOW), wanted) {
            // It could not be read, or there is none.
            (None, None) => presence::metadata(&path).is_ok_and(|found| found.is_none()),
            (Some(now), Some(wanted)) => {
                self.bytes(wanted).as_ref() == Some(&now)
                    || same(self.repository.meaning(&now), self.meaning(wanted))
            }
            _ => false,
        }
    }

    /// Returns an index's bytes, and the time that its file gets.
    ///
    /// Git trusts what an index says about a file only if the file is older than the index
    /// (`Documentation/technical/racy-git.txt`). With the present time, an old index would be trusted too much. So it
    /// gets the time of the newest file in it, and git checks the files of that moment again.
    pub fn contents(&self, blob: &str, now: Milliseconds) -> Option<NewFile> {
        let bytes = self.bytes(ObjectId::from_hex(blob)?)?;
        let newest = self
            .repository
            .meaning(&bytes)
            .map(|meaning| meaning.newest);
        let time = newest
            // An index in which nothing has a time trusts nothing.
            .filter(|newest| *newest != (0, 0))
            .map(|(seconds, rest)| {
                (i64::from(seconds), i64::from(rest)).min((now / 1000, now % 1000 * 1_000_000))
            });
        Some(NewFile { bytes, time })
    }
}

/// Returns whether two indexes that could be read stage the same.
fn same(one: Option<Meaning>, other: Option<Meaning>) -> bool {
    let stages = |meaning: Meaning| (meaning.entries, meaning.link);
    one.is_some() && one.map(stages) == other.map(stages)
}
