//! The ids of a command: an empty one names nothing. With `--exact`, a program that passes an id means exactly that
//! message, never another one whose id begins the same.

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::Failure;
use ckpt_store::Store;

use crate::cli::arguments::{Command, RevertArguments};

/// Fails if an id of the command is empty, or is not a full one although `--exact` is given.
pub fn check(invocation: &Invocation, command: &Command) -> Result<(), Failure> {
    let is_empty = |name: &String| name.is_empty();
    if invocation.common.machine.as_ref().is_some_and(is_empty) {
        return Err(Failure::usage(
            "the name of the machine is empty",
            "`ckpt-hook fetch` lists the machines",
        ));
    }
    let ids = ids(command);
    if ids.contains(&"") {
        return Err(Failure::usage(
            "the id is empty",
            "`ckpt-hook log` lists the messages, `last` is the newest",
        ));
    }
    if ids.is_empty() || !invocation.common.exact {
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
        Command::Revert(arguments) => ids_of_revert(arguments).to_vec(),
        Command::Redo(arguments) => vec![arguments.forward.session.as_ref()],
        Command::Unrevert(arguments) => vec![arguments.session.as_ref()],
        Command::Restore(arguments) => vec![arguments.id.as_ref()],
        Command::Status(arguments) => vec![arguments.session.as_ref()],
        Command::Log(arguments) => vec![arguments.session.as_ref()],
        Command::Export(arguments) => vec![arguments.session.as_ref()],
        Command::Show(arguments) => vec![Some(&arguments.id)],
        Command::Diff(arguments) => vec![arguments.from.as_ref(), arguments.to.as_ref()],
        Command::Branch(arguments) => vec![Some(&arguments.id)],
        Command::Bisect(arguments) => vec![arguments.from.as_ref()],
        Command::Forget(arguments) => vec![arguments.session.as_ref(), arguments.message.as_ref()],
        // With --list it is a search text.
        Command::Label(arguments) if !arguments.list => vec![arguments.id.as_ref()],
        // Only `cat` itself knows where the id ends in its argument.
        Command::Cat(_) | Command::Label(_) => Vec::new(),
        // These commands accept no id of anything recorded.
        Command::Undo(_)
        | Command::Ui(_)
        | Command::Page(_)
        | Command::Sessions(_)
        | Command::Blame(_)
        | Command::Recover(_)
        | Command::Run(_)
        | Command::Acp(_)
        | Command::Push(_)
        | Command::Fetch(_)
        | Command::Snapshot(_)
        | Command::Workspace(_)
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Gc(_)
        | Command::Du(_)
        | Command::Demo
        | Command::Event(_)
        | Command::StepStart(_)
        | Command::StepFinish(_)
        | Command::Message(_)
        | Command::Settle
        | Command::Inside(_)
        | Command::Serve(_)
        | Command::Mcp(_)
        | Command::Watch(_)
        | Command::Schema { .. }
        | Command::Candidates { .. }
        | Command::Completions { .. }
        | Command::Man { .. } => Vec::new(),
    };
    named
        .into_iter()
        .flatten()
        .map(String::as_str)
        .filter(|id| *id != "current")
        .collect()
}

fn ids_of_revert(arguments: &RevertArguments) -> [Option<&String>; 4] {
    [
        arguments.id.as_ref(),
        arguments.message.as_ref(),
        arguments.step.as_ref(),
        arguments.session.as_ref(),
    ]
}
