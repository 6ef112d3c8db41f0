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
    /// Returns whether two indexes stage the same, split or not. What git remembers about files besides changes with
    /// every `git status`.
    pub fn same(&self, one: Option<ObjectId>, other: Option<ObjectId>) -> bool {
        let meaning = |blob: ObjectId| {
            self.repository
                .meaning(&self.snapshots.read_blob(blob).ok()?)
        };
        match (one, other) {
            (Some(one), Some(other)) if one != other => meaning(one)
                .zip(meaning(other))
                .is_some_and(|(one, other)| same_meaning(&one, &other)),
            (one, other) => one == other,
        }
    }

    /// Returns whether the present index is this one, or stages the same.
    pub fn is_now(&self, wanted: Option<ObjectId>) -> bool {
        let path = self.repository.location.directory.join("index");
        let now = read_small(&path, LARGEST, OFlags::NOFOLLOW);
        let wanted = wanted.map(|blob| self.snapshots.read_blob(blob).ok());
        match (now, wanted) {
            // `now` is `None` as well if it could not be read.
            (None, None) => presence::metadata(&path).is_ok_and(|found| found.is_none()),
            (Some(now), Some(Some(wanted))) if now == wanted => true,
            (Some(now), Some(Some(wanted))) => {
                let meanings = self
                    .repository
                    .meaning(&now)
                    .zip(self.repository.meaning(&wanted));
                meanings.is_some_and(|(one, other)| same_meaning(&one, &other))
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
        let bytes = self.snapshots.read_blob(ObjectId::from_hex(blob)?).ok()?;
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

fn same_meaning(one: &Meaning, other: &Meaning) -> bool {
    (&one.entries, &one.link) == (&other.entries, &other.link)
}
