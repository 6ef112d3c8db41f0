//! Behaviour as a user would state it, through the library's doors: the sentences of the project's scenarios, by name.

mod basic;
#[path = "../common/clock.rs"]
mod clock;
#[path = "../common/executable.rs"]
mod executable;
mod git;
mod honesty;
mod ignored_directories;
mod lifecycle;
#[path = "../common/mount.rs"]
mod mount;
mod names;
#[path = "../common/nobody.rs"]
mod nobody;
mod parts;
mod redo;
mod refused;
mod restoring;
mod sessions;
mod told;
mod unprotected;
mod user_edits;
mod world;
