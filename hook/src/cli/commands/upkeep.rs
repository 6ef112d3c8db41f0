//! `gc`, `du` and `forget`: the store's disk usage, reducing it, and removing recorded content.

use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::time::utc;
use ckpt_output::upkeep;
use ckpt_process::failure::{BUSY, DONE, Failure, PARTIAL};
use ckpt_process::surroundings::now;
use ckpt_schema::report::ForgetReport;
use ckpt_store::{DryRun, Forget, Grouping};

use super::ask;
use crate::cli::arguments::{self, DuArguments, ForgetArguments, GcArguments};

/// Removes what was not used for a long time, and repacks the rest.
pub fn gc(invocation: &Invocation, arguments: &GcArguments) -> Result<u8, Failure> {
    let mut store = invocation.open()?;
    let report = store.gc_keeping(DryRun::asked(arguments.dry_run), arguments.keep)?;
    let done = (!report.dry_run).then_some("the store was packed");
    invocation.output.report_done(&report, done, |view| {
        let text = upkeep::gc(&report, view);
        match arguments.keep {
            Some(_) => {
                let time = utc(now());
                let day = time.split('T').next().unwrap_or_default();
                format!("Ages are by the clock, which says {day}.\n{text}")
            }
            None => text,
        }
    })?;
    let was_skipped = report.workspaces.iter().any(|row| row.skipped.is_some());
    Ok(if was_skipped { PARTIAL } else { DONE })
}

/// Shows the store's disk usage.
pub fn du(invocation: &Invocation, arguments: &DuArguments) -> Result<u8, Failure> {
    let by = match arguments.by {
        arguments::GroupingArgument::Workspace => Grouping::Workspace,
        arguments::GroupingArgument::Session => Grouping::Session,
        arguments::GroupingArgument::Message => Grouping::Message,
        arguments::GroupingArgument::Age => Grouping::Age,
        arguments::GroupingArgument::Machine => Grouping::Machine,
    };
    let report = invocation.open()?.du(by)?;
    paged(invocation, &report, |view| upkeep::du(&report, view))?;
    Ok(match report.unmeasured.is_empty() {
        true => DONE,
        false => PARTIAL,
    })
}

/// Removes something from the store for good.
pub fn forget(invocation: &Invocation, arguments: &ForgetArguments) -> Result<u8, Failure> {
    let what = if let Some(path) = &arguments.path {
        Forget::Path(path.clone())
    } else if let Some(id) = &arguments.session {
        Forget::Session(id.clone())
    } else if let Some(id) = &arguments.message {
        Forget::Message(id.clone())
    } else if arguments.all {
        Forget::All
    } else if arguments.workspace.is_some() {
        Forget::Workspace
    } else {
        return Err(Failure::usage(
            "nothing was named to forget",
            "give --path, --session, --message, --workspace or --all",
        ));
    };
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    if arguments.dry_run {
        let report = store.forget(&directory, &what, DryRun::Yes)?;
        return show_forgotten(invocation, &report);
    }
    if !arguments.yes {
        let plan = store.forget(&directory, &what, DryRun::Yes)?;
        // The answer could come when it has ended, but what is forgotten then was not shown.
        store.check_forget(&directory, &what)?;
        let question = format!(
            "{}Forget it for good? [y/n]",
            upkeep::forget(&plan, invocation.output.view())
        );
        if !ask::agrees(invocation, &question, "removed")? {
            return Ok(DONE);
        }
    }
    let report = store.forget(&directory, &what, DryRun::No)?;
    show_forgotten(invocation, &report)
}

fn show_forgotten(invocation: &Invocation, report: &ForgetReport) -> Result<u8, Failure> {
    let done = (!report.dry_run).then_some("it was forgotten");
    let output = &invocation.output;
    output.report_done(report, done, |view| upkeep::forget(report, view))?;
    let is_busy = report.workspaces.iter().any(|workspace| workspace.busy);
    Ok(if is_busy { BUSY } else { DONE })
}
