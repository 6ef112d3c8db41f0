//! `ckpt-hook`: arguments and commands. It puts the crates below `hook/` together, around the library `ckpt-store`.

mod cli;
mod guard;
mod log_file;
mod watchdog;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if guard::is_hook_call(&arguments, cli::arguments::COMMANDS) {
        guard::run(&arguments)
    } else if guard::may_be_hook_call(&arguments, cli::arguments::COMMANDS) {
        guard::accept_invalid(&arguments)
    } else {
        // A hook has manners of its own.
        ckpt_process::posix::explain_aborts();
        ckpt_process::with_room(|| cli::run(&arguments))
    }
}
