//! The contracts of ckpt-hook: what events say, what reports say, and the tables between them.
//!
//! It contains only types and text; nothing here reads, writes or asks for the time. The JSON Schemas in `schema/json`
//! are generated from these types, and a test compares them.

// This crate is compiled first, so this is the first error that a user sees.
#[cfg(not(unix))]
compile_error!(
    "ckpt-hook does not run on Windows natively: build and install it in WSL, where your agent has to run, too"
);

#[cfg(all(unix, not(any(target_os = "linux", target_os = "macos"))))]
compile_error!("ckpt-hook runs on Linux and macOS");

pub mod documents;
pub mod event;
pub mod migration;
pub mod protocol;
pub mod report;
mod word;

pub use event::{Event, EventKind, ToolKind, ToolUse};
pub use word::Word;
