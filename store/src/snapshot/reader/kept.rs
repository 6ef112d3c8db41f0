//! Blobs that were decoded and hashed, for whoever asks again: a revert counts a blob's lines, checks it, writes it, and finds
//! it in the workspace afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::entry::ObjectId;

/// The bytes that are kept altogether.
const MOST: usize = 32 << 20;
/// The largest blob that is kept, in bytes.
pub(super) const LARGEST: u64 = 1 << 20;

/// Blobs by id. Once there is no room, those that are kept stay: whoever goes over many blobs begins again with the first.
#[derive(Default)]
pub(super) struct Kept(Mutex<Blobs>);

#[derive(Default)]
struct Blobs {
    by_id: HashMap<ObjectId, Arc<Vec<u8>>>,
    bytes: usize,
}

impl Kept {
    /// Returns the bytes of a blob.
    pub fn get(&self, id: ObjectId) -> Option<Arc<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_id.get(&id).cloned()
    }

    /// Keeps a blob that was hashed, where there is room.
    pub fn keep(&self, id: ObjectId, bytes: Vec<u8>) -> Arc<Vec<u8>> {
        let bytes = Arc::new(bytes);
        let mut blobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_small = bytes.len() as u64 <= LARGEST;
        if is_small && blobs.bytes + bytes.len() <= MOST && blobs.by_id.insert(id, Arc::clone(&bytes)).is_none() {
            blobs.bytes += bytes.len();
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

    #[test]
    fn blobs_are_kept_up_to_a_limit_and_large_ones_never() {
        let kept = Kept::default();
        let large = usize::try_from(LARGEST).expect("it fits");
        for number in 0..40 {
            assert_eq!(kept.keep(id(number), vec![number; large]).len(), large, "it is given back in any case");
        }
        let there = (0..40).filter(|number| kept.get(id(*number)).is_some()).count();
        assert_eq!(there, MOST / large, "as many as there is room for");
        let kept = Kept::default();
        kept.keep(id(1), vec![1; large + 1]);
        assert!(kept.get(id(1)).is_none(), "it is too large");
    }
}
