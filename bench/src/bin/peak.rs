//! Runs a command and tells the most memory that it used: `bench-peak FILE COMMAND…` writes its peak resident set, in bytes.
//!
//! It is a program of its own because a process that is started counts what its parent held until it becomes itself.

use std::process::{Command, ExitCode};

use wait4::Wait4;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(file), Some(program)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    let peak = Command::new(program)
        .args(arguments)
        .spawn()
        .and_then(|child| child.wait4());
    let Ok(peak) = peak else {
        return ExitCode::FAILURE;
    };
    let written = std::fs::write(file, peak.rusage.maxrss.to_string());
    if written.is_ok() && peak.status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
