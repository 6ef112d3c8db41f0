//! Tests that cannot run where they are.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

/// The file that takes the names of the tests that were skipped, a line each: `target::module::test: reason`. `.ci/test` sets it,
/// prints it when all is done, and compares it with `.ci/may-skip`.
const SKIPPED: &str = "CKPT_SKIPPED";

/// Says that the test that calls this did not run, or not all of it, and why. It is called on the test's own thread, which has
/// the test's name.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().expect("the thread of a test has its name");
    let program = std::env::current_exe().expect("this test's program");
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo appends a hash.
    let target = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let line = format!("{target}::{test}: {reason}\n");
    eprint!("SKIPPED: {line}");
    if let Some(file) = std::env::var_os(SKIPPED) {
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("what was skipped can be noted");
    }
}

/// Returns whether `strace` runs here; says that the test is skipped where it does not.
pub fn has_strace() -> bool {
    let status = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let works = status.is_ok_and(|status| status.success());
    if !works {
        skip("`strace` does not run here");
    }
    works
}

/// Returns whether a program is there that only some of the tests need; says that the test is skipped where it is not.
pub fn has_program(name: &str) -> bool {
    let status = Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let is_there = status.is_ok();
    if !is_there {
        skip(&format!("`{name}` is not there"));
    }
    is_there
}

/// Returns whether the binary is a debug build, which takes faults and clocks from its environment; says that the test is skipped
/// where it is not. Cargo builds both in the same profile.
pub fn is_debug_build() -> bool {
    let is_debug = cfg!(debug_assertions);
    if !is_debug {
        skip("only a debug build does what this test asks for");
    }
    is_debug
}
