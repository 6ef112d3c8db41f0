//! Caches objects that were decoded and hashed, or just stored: a revert counts a blob's lines, checks it, writes it,
//! and finds it in the workspace afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::fs::threads;
use crate::model::entry::ObjectId;
use crate::objects::hash::ObjectKind;

/// The most bytes that are kept in total.
const CACHE_SIZE: usize = 32 << 20;
/// The largest object that is kept, in bytes.
pub(super) const LARGEST: u64 = 1 << 20;

/// An object's bytes.
pub(super) type ObjectBytes = Arc<Vec<u8>>;

/// Objects by id. Once it is full, it keeps what it has: a caller that goes through many objects starts again with the
/// first.
#[derive(Default)]
pub(super) struct ObjectCache(Mutex<CachedObjects>);

#[derive(Default)]
struct CachedObjects {
    by_id: HashMap<ObjectId, (ObjectKind, ObjectBytes)>,
    bytes: usize,
}

impl ObjectCache {
    /// Returns an object.
    pub fn get(&self, id: ObjectId) -> Option<(ObjectKind, ObjectBytes)> {
        threads::lock(&self.0).by_id.get(&id).cloned()
    }

    /// Keeps a hashed object if there is room.
    pub fn keep(&self, kind: ObjectKind, id: ObjectId, bytes: Vec<u8>) -> ObjectBytes {
        let bytes = Arc::new(bytes);
        let mut objects = threads::lock(&self.0);
        let has_room = bytes.len() as u64 <= LARGEST && objects.bytes + bytes.len() <= CACHE_SIZE;
        if has_room
            && objects
                .by_id
                .insert(id, (kind, Arc::clone(&bytes)))
                .is_none()
        {
            objects.bytes += bytes.len();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ObjectId {
        ObjectId::new([number; 20])
    }

    /// Objects are kept up to a limit and large ones never.
    #[test]
    fn objects_are_kept_up_to_a_limit() {
        let kept = ObjectCache::default();
        let large = usize::try_from(LARGEST).expect("it fits");
        for number in 0..40 {
            assert_eq!(
                kept.keep(ObjectKind::Blob, id(number), vec![number; large])
                    .len(),
                large,
                "it is given back in any case"
            );
        }
        let there = (0..40)
            .filter(|number| kept.get(id(*number)).is_some())
            .count();
        assert_eq!(there, CACHE_SIZE / large, "as many as there is room for");
        let kept = ObjectCache::default();
        kept.keep(ObjectKind::Blob, id(1), vec![1; large + 1]);
        assert!(kept.get(id(1)).is_none(), "it is too large");
    }
}
