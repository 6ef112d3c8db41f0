//! Carries a plan out: checks it, writes the journal, moves files and then git's state, and closes the journal. This folder
//! does IO, and only here is a workspace written to.

pub mod apply;
pub(crate) mod closed_directories;
pub(crate) mod conversation;
pub(crate) mod databases;
pub(crate) mod emptied_directories;
pub(crate) mod git;
pub(crate) mod journal;
pub(crate) mod lost_acls;
pub(crate) mod outcome;
pub(crate) mod refusal;
