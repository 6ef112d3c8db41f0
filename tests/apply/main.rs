//! Applying a plan: every kind over every kind, nothing outside, nobody's edit lost, whole after any crash.

#![expect(
    clippy::print_stdout,
    reason = "what was skipped or counted is told to who runs the tests"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the tests are scaled, and play their parts, by the environment"
)]

mod conflicts;
mod crash;
mod kinds;
mod modes;
mod outside;
mod parts;
mod race;
mod scarcity;
