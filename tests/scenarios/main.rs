//! Behaviour as a user would state it, through the library's doors: the sentences of the project's scenarios, by name.

mod basic;
#[path = "../common/clock.rs"]
mod clock;
mod git;
mod honesty;
mod ignored_directories;
mod lifecycle;
mod names;
mod parts;
mod redo;
mod restoring;
mod sessions;
mod told;
mod unprotected;
mod user_edits;
mod world;
