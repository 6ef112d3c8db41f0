//! Ends a hook that takes too long: exit code 0 at the deadline, whatever it is doing.
//!
//! Objects and rows are written so that a process can be killed at any moment, so nothing needs to be tidied up here.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use ckpt_process::locks;
use ckpt_process::posix;

use crate::log_file::{Level, LogFile};

/// A thread that waits for the deadline.
pub struct Watchdog {
    shared: &'static WatchdogState,
    started: Instant,
}

struct WatchdogState {
    state: Mutex<Watched>,
    moved: Condvar,
    strict: bool,
}

struct Watched {
    deadline: Instant,
    log: Option<LogFile>,
}

impl Watchdog {
    /// Starts to wait. If no thread can be started, the kernel's alarm takes over.
    pub fn start(after: Duration, strict: bool) -> Self {
        let started = Instant::now();
        let state = Mutex::new(Watched {
            deadline: started + after,
            log: None,
        });
        let shared: &WatchdogState = Box::leak(Box::new(WatchdogState {
            state,
            moved: Condvar::new(),
            strict,
        }));
        if !posix::start_thread(shared, WatchdogState::wait) {
            posix::alarm(after);
        }
        Self { shared, started }
    }

    /// Sets the deadline to this long after the start.
    pub fn set(&self, after: Duration) {
        self.shared.lock().deadline = self.started + after;
        self.shared.moved.notify_one();
    }

    /// Sets the log in which the end is noted.
    pub fn note_in(&self, log: LogFile) {
        self.shared.lock().log = Some(log);
    }
}

impl WatchdogState {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        locks::lock(&self.state)
    }

    fn wait(&self) {
        let mut state = self.lock();
        loop {
            let left = state.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = locks::wait_at_most(&self.moved, state, left);
        }
        let log = state.log.take();
        drop(state);
        end(log, self.strict);
    }
}

/// A full disk or a dead network file system must not hold up the end, so it is noted by a thread that may be left
/// behind.
fn end(log: Option<LogFile>, strict: bool) {
    let (done, waiter) = std::sync::mpsc::channel();
    let noting = thread::Builder::new().spawn(move || {
        if let Some(log) = log {
            log.line(
                Level::Error,
                "a hook was not done at its deadline and ended",
            );
        }
        // The process is ending anyway.
        let _ = done.send(());
    });
    if noting.is_ok() {
        // Whether the line was written or not, the end cannot wait any longer.
        let _ = waiter.recv_timeout(Duration::from_millis(100));
    }
    if strict {
        ckpt_output::write_error("error: the hook was not done at its deadline\n");
    }
    posix::exit_now();
}
