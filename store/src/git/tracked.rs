//! Reads which paths the user's repository tracks. This module does IO.

use std::path::PathBuf;

use rustix::fs::OFlags;

use super::index::{self, GitIndex, IndexEntry};
use super::{Location, read_small};
use crate::error::contained;
use crate::fs::disk::Stamp;
use crate::model::entry::file_type;
use crate::model::hex::Hex;
use crate::model::path::{PathKind, split};

/// The largest index that is read, in bytes. It has some five million files.
pub(crate) const LARGEST: u64 = 512 << 20;

/// Returns the path of the index.
fn path(location: &Location) -> PathBuf {
    location.directory.join("index")
}

/// Returns the stamp of the index, if there is one.
pub(crate) fn stamp(location: &Location) -> Option<Stamp> {
    let stat = rustix::fs::lstat(path(location)).ok()?;
    Some(Stamp::of(&stat)).filter(|stamp| stamp.file_type() == file_type::REGULAR)
}

/// The index of the user's repository: its bytes, and its entries.
#[derive(Default)]
pub(crate) struct Tracked {
    /// The raw index, or `None` if there is no readable one.
    pub bytes: Option<Vec<u8>>,
    index: GitIndex,
}

impl Tracked {
    /// Reads the index.
    pub fn read(location: &Location) -> Self {
        let bytes = read_small(&path(location), LARGEST, OFlags::NOFOLLOW);
        let id_length = location.id_length();
        let mut index = bytes
            .as_ref()
            .and_then(|bytes| contained(|| index::parse(bytes, id_length))?)
            .unwrap_or_default();
        if let Some(shared) = &index.shared {
            let shared = shared_entries(location, shared, id_length);
            index.entries.extend(shared);
            index
                .entries
                .sort_by(|left, right| left.path.cmp(&right.path));
        }
        Self { bytes, index }
    }

    /// Returns whether it is all of the index: neither split nor sparse.
    pub fn is_whole(&self) -> bool {
        self.index.is_whole
    }

    /// Returns the entries, by path.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.index.entries.iter()
    }

    /// Returns the entry of a path, or one of several if it is unmerged.
    pub fn entry(&self, path: &[u8]) -> Option<&IndexEntry> {
        let place = self
            .index
            .entries
            .binary_search_by(|other| other.path[..].cmp(path))
            .ok()?;
        Some(&self.index.entries[place])
    }

    /// Returns whether a file, or something below a directory, is tracked.
    pub fn holds(&self, path: &[u8], kind: PathKind) -> bool {
        if kind == PathKind::File {
            return self.entry(path).is_some();
        }
        let start = [path, b"/"].concat();
        let first = self
            .index
            .entries
            .partition_point(|other| other.path < start);
        self.index
            .entries
            .get(first)
            .is_some_and(|other| other.path.starts_with(&start))
    }

    /// Returns the tracked names by directory, in order. A directory comes more than once if others are between its
    /// files.
    pub fn by_directory(&self) -> impl Iterator<Item = (&[u8], impl Iterator<Item = &[u8]>)> {
        let directory = |entry: &IndexEntry| split(&entry.path).0.len();
        let is_beside = move |one: &IndexEntry, other: &IndexEntry| {
            let length = directory(one);
            length == directory(other) && one.path[..length] == other.path[..length]
        };
        let runs = self.index.entries.chunk_by(is_beside);
        runs.map(|run| {
            let names = run.iter().map(|entry| split(&entry.path).1);
            (split(&run[0].path).0, names)
        })
    }
}

/// Returns the entries of the shared index that a split index names. Those that the split index deletes count as
/// tracked all the same: one file too many may be captured, but none too few.
fn shared_entries(location: &Location, id: &[u8], id_length: usize) -> Vec<IndexEntry> {
    let bytes = read_small(
        &location.directory.join(format!("sharedindex.{}", Hex(id))),
        LARGEST,
        OFlags::NOFOLLOW,
    );
    bytes
        .and_then(|bytes| contained(|| index::parse(&bytes, id_length))?)
        .unwrap_or_default()
        .entries
}
