//! How many packs and indexes stay open once they were read: a store may have more of them than a process may open.

use std::sync::atomic::{AtomicUsize, Ordering};

const MOST: usize = 32;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Leave to keep one file open.
pub(crate) struct Leave;

impl Leave {
    /// Returns leave, as long as there is any.
    pub fn take() -> Option<Self> {
        if OPEN.fetch_add(1, Ordering::Relaxed) < MOST {
            return Some(Self);
        }
        OPEN.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}
