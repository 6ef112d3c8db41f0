//! Settings files of agents: what we want in them, and how it is added and removed with every other byte left alone.
//!
//! Deciding is pure: a file's text becomes another text ([`hook_table`], [`own_file`]). Touching the disk is in
//! [`mod@file`] alone.

pub mod advice;
pub mod change;
pub mod command;
pub mod commands;
pub mod content;
pub mod edit;
pub mod file;
pub mod hook_table;
pub mod installed;
pub mod jsonc;
pub mod lasting;
pub mod memory;
pub mod own_file;
pub mod place;
pub mod policy;
pub mod target;
pub mod toml_hooks;
pub mod version;
