//! The harness of the tests: a world of its own for each, and what users, agents and machines do in it.
//!
//! A crate, so that it is compiled once and not with every test binary. Nothing in it is a test.

#![expect(
    missing_docs,
    reason = "a line of a scenario says by its name what it does"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the harness builds the world: environment and clock"
)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what was skipped or counted is told to who runs the tests"
)]
#![expect(
    clippy::new_without_default,
    reason = "a world is made, with folders on the disk, and no value like another"
)]
#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

pub mod apply;
pub mod binary;
pub mod callgrind;
pub mod chat;
pub mod clock;
pub mod count;
pub mod disk;
pub mod executable;
pub mod git;
pub mod intact;
pub mod machine;
pub mod mount;
pub mod namespace;
pub mod nobody;
pub mod objects;
pub mod plan;
pub mod rows;
pub mod scenario;
pub mod scripted;
pub mod skip;
pub mod snapshot;
pub mod strace;
pub mod terminal;
pub mod tree;
