//! `snapshot`: captures the workspace by hand.

use std::time::{Duration, Instant};

use bytesize::ByteSize;
use ckpt_store::snapshot::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Invocation;
use crate::arguments::SnapshotArguments;
use crate::failure::{DONE, Failure};
use crate::output::status;

/// What takes longer than this gets a progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Captures the workspace and prints the snapshot's id.
pub fn run(invocation: &Invocation, arguments: &SnapshotArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    let bar = bar();
    let start = Instant::now();
    let tell = |progress: Progress| {
        if start.elapsed() > PATIENCE {
            bar.set_message(format!("{} files, {}", progress.files, ByteSize(progress.bytes)));
            bar.tick();
        }
    };
    let progress: Option<&(dyn Fn(Progress) + Sync)> =
        if invocation.output.shows_progress() { Some(&tell) } else { None };
    let report = store.snapshot(&directory, arguments.label.as_deref(), progress);
    bar.finish_and_clear();
    let report = report?;
    invocation.output.report(&report, |view| status::snapshot(&report, view))?;
    Ok(DONE)
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} capturing: {msg}").expect("the template is well-formed");
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)).with_style(style)
}
