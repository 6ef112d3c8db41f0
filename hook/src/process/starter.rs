//! The process that started this one. A server whose starter is gone has no client, even if another process still
//! holds its streams open.

use std::io::{self, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getppid};

/// How often to check whether it is gone.
pub const LOOK: Duration = Duration::from_secs(1);

/// The process that started this one.
#[derive(Clone, Copy)]
pub struct Starter(Option<Pid>);

impl Starter {
    /// Returns the present parent.
    pub fn now() -> Self {
        Self(getppid())
    }

    /// Returns whether it has ended: then another process is the parent.
    pub fn is_gone(self) -> bool {
        getppid() != self.0
    }
}

/// Stdin, which ends with the starter.
pub struct StartersInput(Starter);

impl StartersInput {
    /// Returns the stdin of a process that has just started.
    pub fn now() -> Self {
        Self(Starter::now())
    }
}

impl Read for StartersInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = rustix::stdio::stdin();
        let timeout = Timespec::try_from(LOOK).ok();
        loop {
            let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                // What it wrote before is read first.
                Ok(0) if self.0.is_gone() => return Ok(0),
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match rustix::io::read(stdin, &mut *buffer) {
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }
}

/// Returns whether a process may still read stdout.
pub fn is_stdout_read() -> bool {
    let stdout = rustix::stdio::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec::default();
    let is_asked = poll(&mut polled, Some(&at_once)).is_ok();
    !is_asked || !polled[0].revents().intersects(PollFlags::ERR)
}
