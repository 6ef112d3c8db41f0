//! `snapshot`: captures the workspace by hand.

use ckpt_store::model::progress::SnapshotProgress;

use super::label;
use crate::cli::arguments::SnapshotArguments;
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::progress::ProgressLine;
use crate::output::status;
use crate::process::detached;

/// Captures the workspace and prints the snapshot's id.
pub fn run(invocation: &Invocation, arguments: &SnapshotArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    arguments.label.as_deref().map_or(Ok(()), label::check)?;
    let mut store = invocation.open_to_record()?;
    let line = ProgressLine::new();
    let tell = |progress: SnapshotProgress| line.capture(progress);
    let progress: Option<&(dyn Fn(SnapshotProgress) + Sync)> = if invocation.output.shows_progress()
    {
        Some(&tell)
    } else {
        None
    };
    let report = store.snapshot(&directory, arguments.label.as_deref(), progress);
    line.end();
    let report = report?;
    let done = Some("the snapshot was taken");
    invocation
        .output
        .report_done(&report, done, |view| status::snapshot(&report, view))?;
    Ok(DONE)
}

/// Copies the objects that the store borrows from the repository. A hook starts this after it has answered its agent.
pub fn settle(invocation: &Invocation) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    // If this fails, the rest tries again, and says why.
    let _ = store.give_back(&directory);
    detached::give_way();
    store.settle(&directory)?;
    Ok(DONE)
}
