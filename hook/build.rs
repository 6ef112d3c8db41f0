//! Links the program of a debug build at fixed addresses. A position-independent one has 146,000 pointers to relocate, which
//! takes 3 of the 8 ms of a start, and the tests start it tens of thousands of times. A release stays position-independent.

use std::env;

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script by its environment"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
