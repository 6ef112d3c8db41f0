//! This process and what is around it: environment, clock, signals, streams, exit codes, locks between threads, and the
//! programs that it starts.
//!
//! It is what all surfaces of `ckpt-hook` stand on.

pub mod background;
pub mod failure;
#[cfg(debug_assertions)]
pub mod fault;
pub mod json;
pub mod locks;
pub mod posix;
mod private_folder;
mod program_output;
pub mod programs;
mod regular_file;
mod room;
pub mod signals;
pub mod starter;
pub mod stdin;
pub mod surroundings;

pub use private_folder::PrivateFolder;
pub use program_output::{
    OutputEnd, ProcessGroup, answered, desktop_path, exchanged, git_value, printed,
};
pub use regular_file::open_regular;
pub use room::with_room;
