//! `--json` where there is no document: refused, because a program that asks for one would read something else.

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::Failure;

use crate::cli::arguments::Command;

/// Fails if a document is asked for and the command has none.
pub fn check(invocation: &Invocation, command: &Command) -> Result<(), Failure> {
    if !invocation.output.is_json() {
        return Ok(());
    }
    let (what, hint) = match command {
        Command::Demo => ("`demo`", "leave out `--json`"),
        Command::Completions { .. } => ("`completions`", "leave out `--json`"),
        Command::Candidates { .. } => ("`candidates`", "`log --json` lists messages"),
        Command::Man { .. } => ("`man`", "leave out `--json`"),
        Command::Ui(_) => ("`ui`", "`log --graph --json` has the same rows"),
        Command::Diff(arguments) if arguments.tool => ("`diff --tool`", "leave out `--tool`"),
        Command::Watch(_) if !invocation.common.json_lines => {
            ("`watch`", "`watch --json-lines` prints what happens")
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("{what} has no JSON output"), hint))
}
