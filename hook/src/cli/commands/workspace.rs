//! `workspace`: lists the histories, and adopts one.

use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::workspace;
use ckpt_process::failure::{DONE, Failure};
use ckpt_store::DryRun;

use crate::cli::arguments::{AdoptArguments, WorkspaceArguments, WorkspaceCommand};

/// Runs a command of the family.
pub fn run(invocation: &Invocation, arguments: &WorkspaceArguments) -> Result<u8, Failure> {
    match &arguments.command {
        WorkspaceCommand::List => list(invocation),
        WorkspaceCommand::Adopt(arguments) => adopt(invocation, arguments),
    }
}

fn list(invocation: &Invocation) -> Result<u8, Failure> {
    let directory = invocation.directory().ok();
    let report = invocation.open()?.workspaces(directory.as_deref())?;
    paged(invocation, &report, |view| workspace::list(&report, view))
}

fn adopt(invocation: &Invocation, arguments: &AdoptArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    if let (true, Some(which)) = (invocation.common.exact, &arguments.which) {
        store.check_exact_workspace(&directory, which)?;
    }
    let dry_run = DryRun::asked(arguments.dry_run);
    let report = store.adopt(&directory, arguments.which.as_deref(), dry_run)?;
    let done = (!arguments.dry_run).then_some("the history was adopted");
    invocation
        .output
        .report_done(&report, done, |view| workspace::adopt(&report, view))?;
    Ok(DONE)
}
