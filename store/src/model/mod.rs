//! The nouns: what a path, an entry, a change, an item of a plan and a request are. Nothing here does IO.

pub mod address;
pub mod agent_process;
pub mod conversation;
pub mod entry;
pub mod gap;
pub mod hex;
pub mod instruction;
pub mod item;
pub mod label;
pub mod number;
pub mod path;
pub mod progress;
pub mod repository_note;
pub mod request;
pub mod shell;

pub(crate) mod attribution;
pub(crate) mod git_item;
pub(crate) mod id;
pub(crate) mod metadata;
pub use git_item::plain as branch_name;
pub(crate) mod note;
pub(crate) mod path_list;

/// Milliseconds since the Unix epoch.
pub type Milliseconds = i64;

/// Nanoseconds since the Unix epoch, by the clock that the kernel takes the times of files from.
pub type FileTime = i64;

/// File times come from the kernel's tick, so they may lag behind the clock of events by this much.
pub(crate) const TICK: Milliseconds = 20;

/// Returns the millisecond that a time of a file is in.
pub fn millisecond_of(time: FileTime) -> Milliseconds {
    time.div_euclid(1_000_000)
}
