//! What another program prints, as far as it prints it in time.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process_group};

use crate::{programs, signals};

/// How long a program may take.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is looked whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a server may take to end.
const SERVER_END_TIMEOUT: Duration = Duration::from_secs(2);

/// How many bytes of its output are read: of text, and of an answer.
const MOST_READ: usize = 4096;
const LONGEST_ANSWER: usize = 1 << 20;

/// Runs a program without input, and returns what it prints, or `None` if it cannot be started. One that does not end
/// in time is killed.
pub fn printed(command: &mut Command) -> Option<String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (text, _) = read(&mut child, (MOST_READ, PROGRAM_TIMEOUT), |_| false);
    // Both fail only if it has already exited.
    let _ = child.kill();
    let _ = child.wait();
    Some(text)
}

/// Returns the `PATH` that the desktop gives to what it starts, if it tells.
pub fn desktop_path() -> Option<OsString> {
    if cfg!(target_os = "macos") {
        let set = printed(programs::named("launchctl").args(["getenv", "PATH"]))?;
        let path = Some(set.trim()).filter(|path| !path.is_empty());
        return Some(path.unwrap_or("/usr/bin:/bin:/usr/sbin:/sbin").into());
    }
    let all = printed(programs::named("systemctl").args(["--user", "show-environment"]))?;
    Some(
        all.lines()
            .find_map(|line| line.strip_prefix("PATH="))?
            .into(),
    )
}

/// Returns a value of the user's git configuration, or of the system's.
pub fn git_value(name: &str) -> Option<OsString> {
    let text = printed(programs::git().args(["config", "--get", name]))?;
    let value = text.trim();
    (!value.is_empty()).then(|| value.into())
}

/// Runs a server, and returns what it prints until `is_whole`.
pub fn answered(
    command: &mut Command,
    requests: &str,
    is_whole: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut said = String::new();
    let talked = exchanged(command, PROGRAM_TIMEOUT, |text, stdin| {
        if text.is_empty() {
            // A pipe takes as much at once. Whether it was read is seen in the answer.
            let _ = stdin.write_all(requests.as_bytes());
        }
        text.clone_into(&mut said);
        is_whole(text)
    });
    talked.ok().map(|_| said)
}

/// Why nothing more of a program's output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputEnd {
    /// All that is wanted was printed.
    Whole,
    /// It ended, or closed its output.
    Ended,
    /// Its time was over.
    TimedOut,
    /// It printed more than is read.
    TooMuch,
}

/// Runs a server until `talk` says that its answer is whole. That gets what was printed so far, at first nothing, and may
/// write to the server. It ends with all that it started.
pub fn exchanged(
    command: &mut Command,
    timeout: Duration,
    mut talk: impl FnMut(&str, &mut ChildStdin) -> bool,
) -> io::Result<OutputEnd> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut group = ProcessGroup::start(command)?;
    let mut stdin = group.child.stdin.take().expect("it was asked for");
    talk("", &mut stdin);
    let (_, end) = read(&mut group.child, (LONGEST_ANSWER, timeout), |text| {
        talk(text, &mut stdin)
    });
    Ok(end)
}

/// The output of a program until it ends, is whole, or until its time is over. A process that it leaves behind
/// may hold its output open and is not waited for.
fn read(
    child: &mut Child,
    (most, timeout): (usize, Duration),
    mut is_whole: impl FnMut(&str) -> bool,
) -> (String, OutputEnd) {
    let (sender, chunks) = channel();
    let mut stdout = child.stdout.take().expect("it was asked for");
    // Without a thread, nothing is read: the sender goes with the closure.
    let _ = std::thread::Builder::new().spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stdout.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let (end, mut bytes) = (Instant::now() + timeout, Vec::new());
    let why = loop {
        if bytes.len() >= most {
            break OutputEnd::TooMuch;
        }
        if Instant::now() >= end {
            break OutputEnd::TimedOut;
        }
        let has_ended = matches!(child.try_wait(), Ok(Some(_)));
        match chunks.recv_timeout(POLL_INTERVAL) {
            Ok(chunk) => {
                bytes.extend(chunk);
                if is_whole(&String::from_utf8_lossy(&bytes)) {
                    break OutputEnd::Whole;
                }
            }
            Err(RecvTimeoutError::Timeout) if !has_ended => {}
            Err(_) => break OutputEnd::Ended,
        }
    };
    (String::from_utf8_lossy(&bytes).into_owned(), why)
}

/// Waits for the end of its input, which comes with the end of the process that holds the other end, and ends its group.
const GUARD: &str = "trap '' HUP INT TERM; while read -r line; do :; done; kill -s KILL 0";

/// A program with all that it starts. They end with this value, and with this process, however that ends: the process
/// group that they are in belongs to a guard, which waits for the end of a pipe that is held here alone.
pub struct ProcessGroup {
    /// The program.
    pub child: Child,
    guard: Child,
}

impl ProcessGroup {
    /// Starts a program.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let guard = programs::named("/bin/sh")
            .args(["-c", GUARD])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let group = guard.id().cast_signed();
        match command.process_group(group).spawn() {
            Ok(child) => Ok(Self { child, guard }),
            Err(error) => {
                leave(guard);
                Err(error)
            }
        }
    }
}

/// Has a guard end its group.
fn leave(mut guard: Child) {
    drop(guard.stdin.take());
    // It fails only if it was waited for before.
    let _ = guard.wait();
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let asked = Instant::now();
        drop(self.child.stdin.take());
        // All of this fails only if it has already exited.
        let _ = signals::pid(&self.guard).map(|group| kill_process_group(group, Signal::TERM));
        while matches!(self.child.try_wait(), Ok(None)) && asked.elapsed() < SERVER_END_TIMEOUT {
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = signals::pid(&self.guard).map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.guard.wait();
        // It may have left the group.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
