//! `snapshot`: captures the workspace by hand.

use std::time::Duration;

use ckpt_command::invocation::Invocation;
use ckpt_output::progress::ProgressLine;
use ckpt_output::status;
use ckpt_process::background;
use ckpt_process::failure::{DONE, Failure};
use ckpt_store::ErrorKind;
use ckpt_store::model::progress::SnapshotProgress;

use super::label;
use crate::cli::arguments::SnapshotArguments;

/// How often the store is tidied up where that gave way to a hook or a revert, and the pause in between: agents think,
/// so the workspace is soon free for long enough.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// Captures the workspace and prints the snapshot's id.
pub fn run(invocation: &Invocation, arguments: &SnapshotArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    arguments.label.as_deref().map_or(Ok(()), label::check)?;
    let mut store = invocation.open_to_record()?;
    let line = ProgressLine::start();
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
pub fn adopt_packs(invocation: &Invocation) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    // If this fails, the rest tries again, and says why.
    let _ = store.give_back(&directory);
    background::give_way();
    for _ in 1..TRIES {
        match store.adopt_packs(&directory) {
            // The next try would come only with many more packs.
            Err(error) if error.kind == ErrorKind::Busy => std::thread::sleep(PAUSE),
            settled => return Ok(settled.map(|()| DONE)?),
        }
    }
    store.adopt_packs(&directory)?;
    Ok(DONE)
}
