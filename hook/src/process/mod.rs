//! This process and those that it starts: signals, streams, a deadline, work that outlives the hook.

pub mod detached;
#[cfg(debug_assertions)]
pub mod fault;
pub mod posix;
pub mod signals;
mod watchdog;

pub use watchdog::Watchdog;
