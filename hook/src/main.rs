//! `ckpt-hook`: arguments, streams, environment, clock, agent adapters and output around the library `ckpt-store`.

mod agents;
mod arguments;
mod commands;
mod config;
mod detached;
mod failure;
mod guard;
mod install;
mod log_file;
mod output;
mod surroundings;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if guard::is_hook_call(&arguments, arguments::COMMANDS) {
        guard::run(&arguments)
    } else {
        commands::run(&arguments)
    }
}
