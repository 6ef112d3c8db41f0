//! Behaviour as a user would state it, through the library's doors: the sentences of the project's scenarios, by name.

mod again;
mod basic;
mod borrowed;
mod damaged;
mod databases;
mod doctor;
mod evidence;
mod excludes;
mod folders;
mod full_disk;
mod git;
mod honesty;
mod ignored_directories;
mod lifecycle;
mod losses;
mod names;
mod out_of_view;
mod parts;
mod redo;
mod refused;
mod restoring;
mod sessions;
mod told;
mod told_once;
mod unprotected;
mod unreadable;
mod user_edits;
mod version_control;

use testing::{clock, mount, nobody, scenario as world};
