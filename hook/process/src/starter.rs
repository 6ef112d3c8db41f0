//! The process that started this one, and those above it that only hand on what another one says: `npx`, a shell, a
//! proxy. A server whose client is gone ends, even if another process still holds its streams open.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getppid};

/// How often to check whether it is gone.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The process that started this one, and those above it up to the client.
pub struct Starter {
    parent: Option<Pid>,
    /// Open, so that no later process is taken for one of them.
    wrappers_and_client: Vec<OwnedFd>,
}

impl Starter {
    /// Returns the present parent and its own.
    pub fn now() -> Self {
        let parent = getppid();
        Self {
            parent,
            wrappers_and_client: up_to_client(parent),
        }
    }

    /// Returns whether one of them has ended.
    pub fn is_gone(&self) -> bool {
        let processes = self.wrappers_and_client.iter();
        let mut polled: Vec<PollFd<'_>> = processes
            .map(|process| PollFd::new(process, PollFlags::IN))
            .collect();
        let at_once = Timespec::default();
        // An ended parent is replaced by another one.
        getppid() != self.parent || matches!(poll(&mut polled, Some(&at_once)), Ok(1..))
    }
}

/// Opens the parent of this process and those above it, up to the first that hands nothing on: the client, whose own
/// starter may end while it goes on.
#[cfg(target_os = "linux")]
fn up_to_client(parent: Option<Pid>) -> Vec<OwnedFd> {
    use rustix::process::{PidfdFlags, getpgid, getpgrp, pidfd_open};

    let own = rustix::fs::fstat(rustix::stdio::stdin());
    let input_of = |id: Pid| rustix::fs::stat(format!("/proc/{}/fd/0", id.as_raw_nonzero()));
    let mut opened = Vec::new();
    let mut next = parent;
    while let Some(id) = next.filter(|id| *id != Pid::INIT) {
        let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else {
            break;
        };
        opened.push(process);
        let above = ckpt_store::parent_of(id.as_raw_nonzero().get()).and_then(Pid::from_raw);
        next = above.filter(|above| {
            let is_of_our_group = || getpgid(Some(*above)).is_ok_and(|group| group == getpgrp());
            match (&own, input_of(id)) {
                (Ok(own), Ok(input)) => hands_on(own, &input, is_of_our_group),
                _ => false,
            }
        });
    }
    opened
}

/// Other systems tell nothing of the streams of a process.
#[cfg(not(target_os = "linux"))]
fn up_to_client(_: Option<Pid>) -> Vec<OwnedFd> {
    Vec::new()
}

/// Returns whether a process hands on what its own starter says: it has the stdin that this one has, or a stream of its
/// own from a starter of the same job. An agent in a terminal, or without any input, does not.
#[cfg(target_os = "linux")]
fn hands_on(
    own: &rustix::fs::Stat,
    input: &rustix::fs::Stat,
    is_of_our_group: impl FnOnce() -> bool,
) -> bool {
    use rustix::fs::FileType;

    let kind = FileType::from_raw_mode(input.st_mode);
    let is_same = (own.st_dev, own.st_ino) == (input.st_dev, input.st_ino);
    matches!(kind, FileType::Fifo | FileType::Socket) && (is_same || is_of_our_group())
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
        let timeout = Timespec::try_from(POLL_INTERVAL).ok();
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
