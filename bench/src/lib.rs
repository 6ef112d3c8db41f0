//! What a snapshot costs, measured: whole calls of the hook beside git's way, Conductor's way and the floor, in turns.
//!
//! Only ratios of one run count: machines are noisy. Nothing of the product is linked in; its release binary is started as an
//! agent starts it.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and the environment, and empties its folders"
)]
#![expect(
    clippy::print_stdout,
    reason = "it is a program for people who measure"
)]

pub mod bench;
pub mod cases;
pub mod disk;
pub mod list;
pub mod machine;
pub mod page;
pub mod plot;
pub mod process;
pub mod reading;
pub mod results;
pub mod targets;
pub mod tree;
pub mod ways;
