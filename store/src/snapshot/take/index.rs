//! The user's index: taken from the cache if it did not change, and read otherwise. This module does IO.

use std::sync::OnceLock;

use crate::fs::disk::Stamp;
use crate::git::Location;
use crate::git::tracked::{self, Tracked};
use crate::model::FileTime;
use crate::model::entry::ObjectId;
use crate::objects::hash;
use crate::snapshot::cache::Cache;

/// The user's index.
pub(super) struct UserIndex<'l> {
    location: Option<&'l Location>,
    tracked: OnceLock<Tracked>,
    stamp: Option<(Stamp, bool)>,
    /// The id of its bytes, or `None` if there is no readable index.
    pub blob: Option<ObjectId>,
    /// Whether its content differs from that of the one in the cache.
    pub is_new: bool,
    /// Whether its stamp differs from the one in the cache, or can be trusted by now.
    pub is_restamped: bool,
}

impl<'l> UserIndex<'l> {
    /// Checks whether the index is the one that a cache knows, and reads it otherwise.
    pub fn look(location: Option<&'l Location>, cache: Option<&Cache>, now: FileTime) -> Self {
        // The stamp is read before the bytes. If git writes a new index in between, the old stamp belongs to new
        // bytes, and the next look reads it once more.
        let old = cache.and_then(|cache| cache.header.index);
        let stamp = location.and_then(tracked::stamp);
        if let (Some((old, true, blob)), Some(stamp)) = (old, stamp)
            && old == stamp
        {
            let stamp = Some((stamp, true));
            return Self {
                location,
                tracked: OnceLock::new(),
                stamp,
                blob: Some(blob),
                is_new: false,
                is_restamped: false,
            };
        }
        let tracked = location.map(Tracked::read).unwrap_or_default();
        let blob = tracked.bytes.as_deref().map(hash::blob_id);
        let stamp = stamp
            .filter(|_| blob.is_some())
            .map(|stamp| (stamp, stamp.is_settled(now, 0)));
        Self {
            location,
            tracked: tracked.into(),
            stamp,
            blob,
            // With the same bytes, what is tracked has not changed, and nothing has to be stored.
            is_new: cache.is_none() || old.map(|(_, _, blob)| blob) != blob,
            is_restamped: old.map(|(stamp, is_settled, _)| (stamp, is_settled)) != stamp,
        }
    }

    /// Returns the tracked paths.
    pub fn tracked(&self) -> &Tracked {
        self.tracked
            .get_or_init(|| self.location.map(Tracked::read).unwrap_or_default())
    }

    /// Returns its stamp, read before its bytes were.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp.map(|(stamp, _)| stamp)
    }

    /// Returns the raw index if it has to be stored.
    pub fn new_bytes(&self) -> Option<Vec<u8>> {
        self.tracked
            .get()
            .filter(|_| self.is_new)
            .and_then(|tracked| tracked.bytes.clone())
    }

    /// Returns the facts that the next snapshot needs: its stamp, whether the stamp can be trusted, and its blob.
    pub fn remembered(&self) -> Option<(Stamp, bool, ObjectId)> {
        self.stamp
            .zip(self.blob)
            .map(|((stamp, is_settled), blob)| (stamp, is_settled, blob))
    }
}
