//! `ckpt-hook`: arguments, streams, environment, clock, agent adapters and output around the library `ckpt-store`.

mod agents;
mod cli;
mod config;
mod failure;
mod guard;
mod locks;
mod log_file;
mod output;
mod process;
mod stdin;
mod surroundings;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before the first allocation of ours; a hook has manners of its own.
    process::posix::explain_aborts();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if guard::is_hook_call(&arguments, cli::arguments::COMMANDS) {
        guard::run(&arguments)
    } else if guard::may_be_hook_call(&arguments, cli::arguments::COMMANDS) {
        guard::accept_invalid(&arguments)
    } else {
        process::with_room(|| cli::run(&arguments))
    }
}
