//! This process and those that it starts: signals, streams, a deadline, work that outlives the hook.

pub mod detached;
#[cfg(debug_assertions)]
pub mod fault;
pub mod posix;
mod printed;
mod private_folder;
pub mod programs;
mod room;
pub mod signals;
pub mod starter;
mod watchdog;

pub use printed::{answered, printed};
pub use private_folder::PrivateFolder;
pub use room::with_room;
pub use watchdog::Watchdog;
