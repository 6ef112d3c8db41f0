//! `watch`: watches workspaces for hooks, has that started at every login, or prints what happens.

mod launchd;
mod service;
mod systemd;
mod watchman;

use std::io::{self, Write};

use super::serve::notify::{self, Subscription};
use crate::cli::arguments::WatchArguments;
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};

/// Watches until no hook asks any more, or nobody reads the output.
pub fn run(invocation: &Invocation, arguments: &WatchArguments) -> Result<u8, Failure> {
    if invocation.common.json_lines {
        return print(invocation, arguments);
    }
    watch(invocation, arguments)
}

fn watch(invocation: &Invocation, arguments: &WatchArguments) -> Result<u8, Failure> {
    if arguments.install {
        service::install(invocation)?;
    } else if arguments.uninstall {
        service::uninstall(invocation)?;
    } else {
        let limits = ckpt_store::WatchLimits::default();
        let watchman = watchman::socket();
        ckpt_store::watch(
            &invocation.store_directory()?,
            limits,
            watchman.as_deref(),
            None,
        )?;
    }
    Ok(DONE)
}

/// Prints what happens, one line each, until nobody reads.
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
        || true,
    )?;
    Ok(DONE)
}
