//! x
mod agents;
mod install;
fn main() {}
