//! `watch`: watches workspaces for hooks, or prints what happens.

use std::io::{self, Write};

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::starter::is_stdout_read;
use ckpt_serve::notify::{self, Subscription};

use crate::cli::arguments::WatchArguments;

/// Watches until no hook asks any more, or the output is closed.
pub fn run(invocation: &Invocation, arguments: &WatchArguments) -> Result<u8, Failure> {
    if invocation.common.json_lines {
        return print(invocation, arguments);
    }
    let limits = ckpt_store::WatchLimits::default();
    ckpt_store::watch(&invocation.store_directory()?, limits, None)?;
    Ok(DONE)
}

/// Prints each event in a line, until the output is closed.
fn print(invocation: &Invocation, arguments: &WatchArguments) -> Result<u8, Failure> {
    let workspace = match arguments.everywhere {
        true => None,
        false => Some(invocation.directory()?),
    };
    let subscription = Subscription::from(arguments.since, workspace);
    let mut stdout = io::stdout().lock();
    notify::follow(
        invocation,
        subscription,
        |told| {
            writeln!(stdout, "{told}")
                .and_then(|()| stdout.flush())
                .is_ok()
        },
        is_stdout_read,
    )?;
    Ok(DONE)
}
