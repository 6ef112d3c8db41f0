//! Passes signals on to a command that was started here, and restores what a signal would leave behind.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use crate::posix;

/// The signals that end a command from outside: sent by a time limit, a service manager, or a terminal that closes.
const PASSED_ON: [i32; 2] = [SIGTERM, SIGHUP];

/// Signals that are caught, and not passed on yet. If they cannot be caught, nothing is passed on.
pub struct CaughtSignals(Option<Signals>);

/// Catches the signals to pass on. Ignored ones stay ignored, as under `nohup`; the command inherits that.
pub fn catch() -> CaughtSignals {
    let caught = PASSED_ON
        .into_iter()
        .filter(|signal| !posix::is_ignored(*signal));
    CaughtSignals(Signals::new(caught).ok())
}

impl CaughtSignals {
    /// Passes every signal on to a command, until the result is dropped.
    pub fn to(self, command: &Child) -> SignalForwarder {
        let (Some(mut signals), Some(pid)) = (self.0, pid(command)) else {
            return SignalForwarder(None);
        };
        let handle = signals.handle();
        let thread = std::thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                let signal = if signal == SIGHUP {
                    Signal::HUP
                } else {
                    Signal::TERM
                };
                // It may already have exited.
                let _ = kill_process(pid, signal);
            }
        });
        // Without a thread, nothing is passed on.
        SignalForwarder(thread.ok().map(|thread| (handle, thread)))
    }
}

/// Waits until a command has exited, and leaves its exit status to be collected.
pub fn wait_for_end(command: &Child) {
    let Some(pid) = pid(command) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
}

/// Asks a command to end.
pub fn end(command: &Child) {
    if let Some(pid) = pid(command) {
        // It may already have exited.
        let _ = kill_process(pid, Signal::TERM);
    }
}

pub(crate) fn pid(command: &Child) -> Option<Pid> {
    Pid::from_raw(command.id().cast_signed())
}

/// Signals on their way to a command.
pub struct SignalForwarder(Option<(Handle, JoinHandle<()>)>);

impl Drop for SignalForwarder {
    fn drop(&mut self) {
        if let Some((handle, thread)) = self.0.take() {
            handle.close();
            // The thread does nothing that could panic.
            let _ = thread.join();
        }
    }
}

/// While this lives, a signal that ends the process does something else first.
pub struct Deadly {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

/// Does something before a signal ends the process. Ignored signals stay ignored. Returns `None` if they cannot be caught.
pub fn before_end(work: impl FnOnce() + Send + 'static) -> Option<Deadly> {
    let deadly = PASSED_ON.into_iter().chain([SIGINT]);
    let deadly: Vec<i32> = deadly
        .filter(|signal| !posix::is_ignored(*signal))
        .collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new(&deadly).ok()?;
    for signal in deadly {
        // A signal that was caught once has no default action any more.
        register_conditional_default(signal, Arc::clone(&is_over)).ok()?;
    }
    let handle = signals.handle();
    let thread = std::thread::Builder::new().spawn(move || {
        let first = signals.forever().next();
        // It may have come while the end was told.
        if let Some(signal) = first.or_else(|| signals.pending().next()) {
            work();
            let _ = emulate_default_handler(signal);
        }
    });
    Some(Deadly {
        handle,
        thread: Some(thread.ok()?),
        is_over,
    })
}

impl Drop for Deadly {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread does nothing that could panic.
            let _ = thread.join();
        }
    }
}
