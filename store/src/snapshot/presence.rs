//! What a snapshot tells of a path that it may not store: whether something was there.
//!
//! A look reads all names of the directories in view. What it saw is stored, or is a seen entry. So nothing was at any
//! other path, unless it is in a directory of which the names were not read, or not all were kept.

use std::collections::{HashMap, HashSet};

use super::scan::directory::IGNORED_NAMES;
use super::view::SnapshotView;
use super::{Gap, GapReason, Snapshot, seen_entries};
use crate::error::Result;
use crate::model::metadata;
use crate::model::path::{WorkspacePath, above, split};
use crate::objects::reader::ObjectReader;

/// What a snapshot tells of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is stored, or is a directory in view.
    Stored,
    /// Something else than a directory was there, and is not stored.
    Seen,
    /// A directory was there, and nothing of it is stored.
    SeenDirectory,
    /// Nothing was there.
    Absent,
    /// No look read it: it is in a directory of which the names are not known.
    Unknown,
}

impl Presence {
    /// Returns whether something was at the path, or may have been, that is not stored.
    pub fn is_out_of_view(self) -> bool {
        match self {
            Self::Stored | Self::Absent => false,
            Self::Seen | Self::SeenDirectory | Self::Unknown => true,
        }
    }
}

/// A snapshot with its seen entries.
pub(crate) struct Presences<'a> {
    view: &'a SnapshotView<'a>,
    /// What is there and is not stored, each with whether it is a directory.
    seen: HashMap<Vec<u8>, bool>,
    /// The directories above them. One that holds nothing that is stored is in no tree.
    above: HashSet<Vec<u8>>,
    /// The directories that hold a repository's metadata.
    repositories: HashSet<Vec<u8>>,
    /// The directories of which not all names are known, each with the number of ignored ones and the last of them.
    partial: HashMap<Vec<u8>, (usize, Vec<u8>)>,
}

impl<'a> Presences<'a> {
    /// Reads the seen entries.
    pub fn of(
        reader: &ObjectReader,
        view: &'a SnapshotView<'a>,
        snapshot: &Snapshot,
    ) -> Result<Self> {
        let mut presences = Self {
            view,
            seen: HashMap::new(),
            above: HashSet::new(),
            repositories: HashSet::new(),
            partial: HashMap::new(),
        };
        // A directory comes before what is in it.
        for Gap {
            path,
            reason,
            size,
            is_directory,
        } in seen_entries::read(reader, snapshot.seen)?
        {
            for directory in above(&path) {
                if !presences.above.insert(directory.to_vec()) {
                    break;
                }
            }
            match reason {
                GapReason::Repository => drop(presences.repositories.insert(path)),
                GapReason::MoreIgnored => {
                    presences.partial.insert(path, (0, Vec::new()));
                }
                _ => {
                    let (directory, name) = split(&path);
                    if let Some((count, last)) = presences.partial.get_mut(directory)
                        && reason == GapReason::Ignored
                        && *count < IGNORED_NAMES
                    {
                        *count += 1;
                        name.clone_into(last);
                    }
                    // Of what could not even be looked at, the kind is not known.
                    let is_unread = matches!(
                        reason,
                        GapReason::Unreadable(_) | GapReason::Changing | GapReason::Mount
                    );
                    let may_be_directory = is_directory || is_unread && size.is_none();
                    presences.seen.insert(path, may_be_directory);
                }
            }
        }
        Ok(presences)
    }

    /// Returns the presence of a path in the snapshot.
    pub fn at(&self, path: &WorkspacePath) -> Result<Presence> {
        let own = self.in_known(path)?;
        // Something of it was seen, so all above it was there.
        if own != Presence::Absent {
            return Ok(own);
        }
        let mut ways: Vec<WorkspacePath> = path.directories_above().collect();
        ways.reverse();
        for directory in ways {
            match self.in_known(&directory)? {
                Presence::Stored if self.is_directory(&directory)? => {}
                // It was a file or a link.
                Presence::Stored | Presence::Absent => return Ok(Presence::Absent),
                Presence::Seen => return Ok(Presence::Absent),
                Presence::SeenDirectory | Presence::Unknown => return Ok(Presence::Unknown),
            }
        }
        Ok(own)
    }

    fn is_directory(&self, path: &WorkspacePath) -> Result<bool> {
        Ok(self.above.contains(path.as_bytes()) || self.view.is_directory(path)?)
    }

    /// Returns the presence of a path in a directory in view.
    fn in_known(&self, path: &WorkspacePath) -> Result<Presence> {
        let (directory, name) = split(path.as_bytes());
        if self.view.state(path)?.is_some() || self.view.is_directory(path)? {
            return Ok(Presence::Stored);
        }
        let is_metadata = self.repositories.contains(directory) && metadata::owns(directory, name);
        let last = self.partial.get(directory);
        Ok(match self.seen.get(path.as_bytes()) {
            Some(true) => Presence::SeenDirectory,
            Some(false) => Presence::Seen,
            None if self.above.contains(path.as_bytes()) => Presence::Stored,
            None if is_metadata || last.is_some_and(|(_, last)| name > &last[..]) => {
                Presence::Unknown
            }
            None => Presence::Absent,
        })
    }
}
