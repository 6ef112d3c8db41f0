//! The ways to take a snapshot that are compared. This module does IO.

mod floor;
mod ours;
mod peers;

pub use floor::{Empty, Floor};
pub use ours::{Help, OLDER, OURS, Ours, PLAIN, WATCHED};
pub use peers::{Conductor, Git};

use crate::process::Result;

/// A way to take a snapshot.
pub trait Way {
    /// Its name in the results.
    fn name(&self) -> &'static str;

    /// Forgets all: the next snapshot is the first.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }

    /// Does what comes before the agent's work, and is not measured.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Takes a snapshot: this is measured.
    fn snapshot(&mut self) -> Result<()>;
}
