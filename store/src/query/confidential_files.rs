//! Which files a model gets no contents of. This reads the index of the user's repository, and the store.

use std::collections::HashSet;
use std::path::Path;

use super::renames::{MAX_SIZE, MIN_SIMILARITY, Pieces, pieces, similarity};
use crate::error::Result;
use crate::git::Location;
use crate::git::tracked::Tracked;
use crate::model::entry::ObjectId;
use crate::model::path::PathKind;
use crate::objects::hash::blob_id;
use crate::sessions;
use crate::sessions::forget::{NamingRows, blobs};
use crate::settings::KEEP_IGNORED;
use crate::snapshot::{PathPatterns, Snapshots};
use crate::store::Store;
use crate::timeline::Place;

/// The files of a workspace whose contents a model should not have from us: those that only `keep_ignored` captures,
/// which agents' own rules often keep from it, and those that the settings name. A renamed or copied file has those
/// contents as well.
pub struct Withheld {
    paths: WithheldPaths,
    /// Every content that such a file had, as far as it is known.
    contents: HashSet<ObjectId>,
    /// The same, to find contents that are similar.
    pieces: Vec<Pieces>,
    snapshots: Option<Snapshots>,
}

struct WithheldPaths {
    /// `hide_from_models`.
    hidden: PathPatterns,
    /// `keep_ignored`, and its default: a snapshot of before may hold what the list no longer names.
    kept: [PathPatterns; 2],
    tracked: Tracked,
}

impl Withheld {
    pub(crate) fn of(store: &Store, cwd: &Path) -> Result<Self> {
        let place = Place::known(store, cwd)?;
        let location = Location::of(&place.root);
        let paths = WithheldPaths {
            hidden: PathPatterns::parse(&place.settings.hide_from_models),
            kept: [
                PathPatterns::parse(&place.settings.keep_ignored),
                PathPatterns::parse(&KEEP_IGNORED.map(str::to_owned)),
            ],
            tracked: location.as_ref().map(Tracked::read).unwrap_or_default(),
        };
        let mut withheld = Self {
            paths,
            contents: HashSet::new(),
            pieces: Vec::new(),
            snapshots: None,
        };
        if place.has_objects()? {
            withheld.read_contents(store, &place)?;
        }
        Ok(withheld)
    }

    /// Reads what such files hold in the newest snapshot, and held when they changed.
    fn read_contents(&mut self, store: &Store, place: &Place) -> Result<()> {
        let connection = store.database.connection();
        let is_one = |path: &[u8], _| self.paths.cover(path);
        let changed = blobs(connection, place.row.id, &is_one, NamingRows::Stay)?;
        let mut contents: HashSet<ObjectId> = changed.into_values().flatten().collect();
        let snapshots = place.snapshots()?;
        if let Some(id) = place.row.last_snapshot_id {
            let newest = sessions::snapshot(connection, id)?.snapshot;
            let entries = snapshots.entries(&newest)?.into_iter();
            let ours = entries.filter(|(path, _)| self.paths.cover(path.as_bytes()));
            contents.extend(ours.filter_map(|(_, entry)| entry.blob));
        }
        contents.retain(|id| ![ObjectId::EMPTY_TREE, blob_id(b"")].contains(id));
        let read = contents
            .iter()
            .filter_map(|id| snapshots.comparable(*id, MAX_SIZE));
        self.pieces = read.map(|bytes| pieces(&bytes)).collect();
        self.contents = contents;
        self.snapshots = Some(snapshots);
        Ok(())
    }

    /// Returns whether a file is one of them.
    pub fn covers(&self, path: &[u8]) -> bool {
        self.paths.cover(path)
    }

    /// Returns whether a blob, by its full id, holds what one of them held, or at least half of it. One that is
    /// stored nowhere holds nothing.
    pub fn has_blob(&self, blob: &str) -> bool {
        let Some((id, snapshots)) = ObjectId::from_hex(blob).zip(self.snapshots.as_ref()) else {
            return false;
        };
        let is_similar = || {
            let bytes = snapshots.comparable(id, MAX_SIZE);
            bytes.is_some_and(|bytes| self.is_similar(&bytes))
        };
        self.contents.contains(&id) || !self.pieces.is_empty() && is_similar()
    }

    /// The same of bytes.
    pub fn has_content(&self, bytes: &[u8]) -> bool {
        self.contents.contains(&blob_id(bytes)) || self.is_similar(bytes)
    }

    fn is_similar(&self, bytes: &[u8]) -> bool {
        if self.pieces.is_empty() || bytes.len() as u64 > MAX_SIZE {
            return false;
        }
        let other = pieces(bytes);
        let mut known = self.pieces.iter();
        known.any(|pieces| similarity(pieces, &other) >= MIN_SIMILARITY)
    }
}

impl WithheldPaths {
    /// Returns whether a file is one of them. A file that git tracks is captured anyway, whether or not `keep_ignored`
    /// names it. An ignore rule is not asked for: an agent may have removed it to see the file.
    fn cover(&self, path: &[u8]) -> bool {
        let is_kept = || self.kept.iter().any(|kept| kept.match_file(path));
        self.hidden.match_file_or_above(path)
            || is_kept() && !self.tracked.holds(path, PathKind::File)
    }
}
