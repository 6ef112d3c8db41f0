//! Where an operation leads: the present state of each path in question, what happened to it, and from both the state that
//! it goes to. `clash`, `merge`, `rule` and `target` decide, and are pure; the others read rows, snapshots and the workspace.

pub(crate) mod bases;
pub mod clash;
pub(crate) mod expectation;
pub(crate) mod folders;
pub(crate) mod lines;
pub(crate) mod material;
pub mod merge;
pub(crate) mod missing_rows;
mod past;
pub(crate) mod present;
pub mod rule;
mod search;
pub(crate) mod seen_history;
pub(crate) mod spans;
pub(crate) mod states;
pub mod target;
pub(crate) mod user_changes;
