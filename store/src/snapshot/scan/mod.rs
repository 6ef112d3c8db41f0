//! The scan: turns a workspace into listings of its directories, and stores every new content.
//!
//! ```text
//!   disk      opening and stat, by descriptors    queue            work that makes more work
//!   check     what differs from the stat cache    walk             tasks: directories, and files of one
//!   read      one file, as it was at one moment   directory        the listing of one directory
//!   overlay   what was found, over the cache      sink             objects into the snapshot's pack
//!   assemble  trees, attributes, gaps
//! ```

pub(crate) mod assemble;
pub(crate) mod check;
pub(crate) mod directory;
pub(crate) mod listing;
pub(crate) mod overlay;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod sink;
pub(crate) mod walk;
