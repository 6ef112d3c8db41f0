//! This process and those that it starts: signals, streams, a deadline, work that outlives the hook.

pub mod detached;
#[cfg(debug_assertions)]
pub mod fault;
pub mod posix;
mod room;
pub mod signals;
mod watchdog;

pub use room::with_room;
pub use watchdog::Watchdog;
