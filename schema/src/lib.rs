//! The contracts of ckpt-hook: what events say, what reports say, and the tables between them.
//!
//! Types and text only; nothing here reads, writes or asks for the time. The JSON Schemas in `schema/json` are
//! generated from these types, and a test compares them.

// Here, at the bottom, nothing else has been compiled that would say the same less well.
#[cfg(not(unix))]
compile_error!(
    "ckpt-hook does not run on Windows natively: build and install it in WSL, where your agent has to run, too"
);

pub mod documents;
pub mod event;
pub mod migration;
pub mod protocol;
pub mod report;

pub use event::{Event, EventKind, ToolKind};
