//! A request as a movement of a session's revert point, and the history that it is about: the chain of earlier reverts, the
//! scopes that are undone, and who made which change. This folder reads rows, and never the workspace.

pub(crate) mod author;
pub(crate) mod authors;
pub(crate) mod chain;
#[cfg(test)]
mod chain_tests;
pub(crate) mod conversation;
pub mod history;
pub(crate) mod movement;
pub(crate) mod options;
pub(crate) mod scope;
pub(crate) mod unclear;
