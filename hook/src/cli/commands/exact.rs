//! `--exact`: a program that passes ids on wants just that message, and never another whose id begins in the same way.

use ckpt_store::Store;

use crate::cli::arguments::{Command, RevertArguments};
use crate::cli::invocation::Invocation;
use crate::failure::Failure;

/// Fails where `--exact` is given, and an id of the command is not one in full.
pub fn check(invocation: &Invocation, command: &Command) -> Result<(), Failure> {
    if !invocation.common.exact {
        return Ok(());
    }
    let ids = ids(command);
    if ids.is_empty() {
        return Ok(());
    }
    let directory = invocation.directory()?;
    let mut store: Store = invocation.open()?;
    for id in ids {
        store.check_exact(&directory, id)?;
    }
    Ok(())
}

/// Returns the ids that a command names. `current` is no id: it is the workspace as it is now.
fn ids(command: &Command) -> Vec<&str> {
    let named: Vec<Option<&String>> = match command {
        Command::Revert(RevertArguments {
            id,
            message,
            step,
            session,
            ..
        }) => vec![
            id.as_ref(),
            message.as_ref(),
            step.as_ref(),
            session.as_ref(),
        ],
        Command::Redo(arguments) => vec![arguments.forward.session.as_ref()],
        Command::Unrevert(arguments) => vec![arguments.session.as_ref()],
        Command::Restore(arguments) => vec![arguments.id.as_ref()],
        Command::Status(arguments) => vec![arguments.session.as_ref()],
        Command::Log(arguments) => vec![arguments.session.as_ref()],
        Command::Show(arguments) => vec![Some(&arguments.id)],
        Command::Diff(arguments) => vec![arguments.from.as_ref(), arguments.to.as_ref()],
        _ => Vec::new(),
    };
    named
        .into_iter()
        .flatten()
        .map(String::as_str)
        .filter(|id| *id != "current")
        .collect()
}
