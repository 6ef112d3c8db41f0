//! Packs (`gitformat-pack`): writing them, reading them, and the index beside each.
//!
//! ```text
//!   write    a new pack of the store: whole, synced, and only then seen
//!   compress an object as an entry
//!   read     a pack of the store: objects by their ids, hashed
//!   copy     entries from one pack to another, as they stand
//!   delta    an object as what differs from another
//!   data     the entries of an open pack, the store's or the user's, and their deltas
//!   entry    how an entry is laid out
//!   index    which object stands where
//!   rebuild  an index made again from its pack
//! ```

pub(crate) mod compress;
pub(crate) mod copy;
pub(crate) mod data;
pub(crate) mod delta;
pub(crate) mod entry;
pub(crate) mod index;
pub(crate) mod read;
pub(crate) mod rebuild;
#[cfg(test)]
mod tests;
pub(crate) mod write;
