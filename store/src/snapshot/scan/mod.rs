//! The scan: a workspace becomes listings of its directories, with every new content stored.
//!
//! ```text
//!   disk      opening and stat, by descriptors          queue, threads   work side by side
//!   read      one file, as it was at one moment         sink             objects into the snapshot's pack
//!   check     what differs from the stat cache          walk             a directory at a time
//!   overlay   what was found, over what is remembered      assemble         trees, attributes, gaps
//! ```

pub(crate) mod assemble;
pub(crate) mod check;
pub(crate) mod disk;
pub(crate) mod listing;
pub(crate) mod overlay;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod sink;
pub(crate) mod threads;
pub(crate) mod walk;
