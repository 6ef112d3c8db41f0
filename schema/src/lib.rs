//! The contracts of ckpt-hook: what events say, what reports say, and the tables between them.
//!
//! Types and text only; nothing here reads, writes or asks for the time. The JSON Schemas in `schema/json` are made from
//! these types and a test compares them.

pub mod documents;
pub mod event;
pub mod migration;
pub mod report;

pub use event::{Event, EventKind, ToolKind};
