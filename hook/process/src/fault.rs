//! Faults on demand, only in debug builds: `$CKPT_HOOK_TEST_FAULT` names one, and a test checks the outcome.

use std::hint::black_box;
use std::time::Duration;

use crate::posix;
use crate::surroundings::variable;

/// Hangs if the variable says so: after the settings are read, because they set the deadline.
pub fn hang() {
    while variable("CKPT_HOOK_TEST_FAULT").is_some_and(|fault| fault == "hang") {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Causes the fault that the variable names.
pub fn strike() {
    match variable("CKPT_HOOK_TEST_FAULT")
        .as_deref()
        .and_then(std::ffi::OsStr::to_str)
    {
        Some("panic") => panic!("a fault that a test asked for, quoting secret text"),
        Some("abort") => std::process::abort(),
        Some("segv") => posix::crash(),
        Some("overflow") => drop(black_box(overflow(1))),
        Some("oom") => drop(black_box(Vec::<u8>::with_capacity(1 << 46))),
        _ => {}
    }
}

#[expect(unconditional_recursion, reason = "it is to run out of stack")]
fn overflow(depth: u64) -> u64 {
    black_box(overflow(black_box(depth + 1))) + 1
}
