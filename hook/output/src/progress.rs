//! A progress line on the terminal for long commands. It appears late, and is removed without a trace.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use ckpt_schema::protocol::Progress;
use ckpt_schema::report::VERSION;
use ckpt_store::model::number::count;
use ckpt_store::model::progress::OperationProgress as Operation;
use ckpt_store::model::progress::SnapshotProgress as Capture;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress is shown only after this time: a line about what is done sooner would only flicker.
const DELAY: Duration = Duration::from_secs(1);

/// How often the line is redrawn if the progress is unknown.
const REDRAW_INTERVAL: Duration = Duration::from_millis(125);

/// The progress line, which all reports of one command share.
#[derive(Clone, Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    start: Instant,
}

impl ProgressLine {
    /// Returns a progress that is shown once the work takes long.
    pub fn start() -> Self {
        let style =
            ProgressStyle::with_template("{spinner} {msg}").expect("the template is well-formed");
        let target = ProgressDrawTarget::stderr_with_hz(8);
        Self {
            bar: ProgressBar::with_draw_target(None, target).with_style(style),
            start: Instant::now(),
        }
    }

    /// Shows the progress of a snapshot.
    pub fn capture(&self, progress: Capture) {
        self.tell(|| capturing(progress));
    }

    /// Shows the progress of a revert.
    pub fn operation(&self, progress: Operation) {
        self.tell(|| operating(progress));
    }

    /// Runs work whose progress is unknown while showing that it continues, and returns its result.
    pub fn during<T>(&self, text: &str, work: impl FnOnce() -> T) -> T {
        let (working, is_done) = channel::<()>();
        std::thread::scope(|scope| {
            // Without a thread, nothing is shown.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                let mut pause = DELAY;
                while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    self.bar.set_message(text.to_owned());
                    self.bar.tick();
                    pause = REDRAW_INTERVAL;
                }
            });
            let result = work();
            // This also happens on a panic: the thread never outlives the work.
            drop(working);
            result
        })
    }

    /// Clears the line that shows the progress.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self, text: impl FnOnce() -> String) {
        if self.start.elapsed() > DELAY {
            self.bar.set_message(text());
            self.bar.tick();
        }
    }
}

/// Returns the progress of an operation, for programs.
pub fn document(progress: Operation) -> Progress {
    let number = |count: usize| count as u64;
    match progress {
        Operation::Looking(Capture { files, bytes }) => Progress::Looking {
            version: VERSION,
            files,
            bytes,
        },
        Operation::Applying { done, of } => Progress::Applying {
            version: VERSION,
            done: number(done),
            of: number(of),
        },
    }
}

fn capturing(progress: Capture) -> String {
    format!(
        "capturing: {}, {}",
        count(progress.files, "file"),
        ByteSize(progress.bytes)
    )
}

fn operating(progress: Operation) -> String {
    match progress {
        Operation::Looking(progress) => capturing(progress),
        Operation::Applying { done, of } => {
            format!("restoring: {done} of {}", count(of as u64, "file"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_comes_back() {
        assert_eq!(
            ProgressLine::start().during("waiting", || 7),
            7,
            "and nobody waits for the line"
        );
    }

    /// Each part of a revert says how far it is.
    #[test]
    fn revert_reports_progress_of_each_part() {
        let capture = Capture {
            files: 12,
            bytes: 2048,
        };
        assert_eq!(
            operating(Operation::Looking(capture)),
            "capturing: 12 files, 2.0 KiB",
            "first it looks"
        );
        assert_eq!(
            operating(Operation::Applying { done: 3, of: 9 }),
            "restoring: 3 of 9 files",
            "then it acts"
        );
    }
}
