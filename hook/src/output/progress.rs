//! A line on the terminal that tells how far a long command is. It comes late, and it goes without a trace.

use std::time::{Duration, Instant};

use bytesize::ByteSize;
use ckpt_store::revert::Progress as Operation;
use ckpt_store::snapshot::Progress as Capture;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What takes longer than this is told of.
const PATIENCE: Duration = Duration::from_secs(1);

/// The line; shared by all who tell of one command.
#[derive(Clone, Debug)]
pub struct Line {
    bar: ProgressBar,
    start: Instant,
}

impl Line {
    /// Begins to wait for what takes long.
    pub fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is well-formed");
        let target = ProgressDrawTarget::stderr_with_hz(8);
        Self { bar: ProgressBar::with_draw_target(None, target).with_style(style), start: Instant::now() }
    }

    /// Tells of a snapshot.
    pub fn capture(&self, progress: Capture) {
        self.tell(|| capturing(progress));
    }

    /// Tells of a revert.
    pub fn operation(&self, progress: Operation) {
        self.tell(|| operating(progress));
    }

    /// Takes it away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self, text: impl FnOnce() -> String) {
        if self.start.elapsed() > PATIENCE {
            self.bar.set_message(text());
            self.bar.tick();
        }
    }
}

fn capturing(progress: Capture) -> String {
    format!("capturing: {} files, {}", progress.files, ByteSize(progress.bytes))
}

fn operating(progress: Operation) -> String {
    match progress {
        Operation::Looking(progress) => capturing(progress),
        Operation::Applying { done, of } => format!("restoring: {done} of {of} files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_revert_says_how_far_it_is() {
        let capture = Capture { files: 12, bytes: 2048 };
        assert_eq!(operating(Operation::Looking(capture)), "capturing: 12 files, 2.0 KiB", "first it looks");
        assert_eq!(operating(Operation::Applying { done: 3, of: 9 }), "restoring: 3 of 9 files", "then it acts");
    }
}
