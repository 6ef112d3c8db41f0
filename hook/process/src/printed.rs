//! What another program prints, as far as it prints it in time.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::signals;

/// How long a program may take.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is looked whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a server may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// How many bytes of its output are read: of text, and of an answer.
const MOST_READ: usize = 4096;
const LONGEST_ANSWER: usize = 1 << 20;

/// Runs a program without input, and returns what it prints, or `None` if it cannot be started. One that does not end
/// in time is killed.
pub fn printed(command: &mut Command) -> Option<String> {
    let mut child = start(command, Stdio::null())?;
    Some(read(&mut child, (MOST_READ, PROGRAM_TIMEOUT), |_| false))
}

/// Runs a server, and returns what it prints until `is_whole`. It ends with its input, or is killed.
pub fn answered(
    command: &mut Command,
    requests: &str,
    is_whole: impl Fn(&str) -> bool,
) -> Option<String> {
    exchanged(command, PROGRAM_TIMEOUT, |text, stdin| {
        if text.is_empty() {
            // A pipe takes as much at once. Whether it was read is seen in the answer.
            let _ = stdin.write_all(requests.as_bytes());
        }
        is_whole(text)
    })
}

/// Runs a server, and returns what it prints until `talk` says that it is whole. That gets what was printed so far, at
/// first nothing, and may write to the server. It ends with its input, or is killed.
pub fn exchanged(
    command: &mut Command,
    patience: Duration,
    mut talk: impl FnMut(&str, &mut ChildStdin) -> bool,
) -> Option<String> {
    let mut child = start(command, Stdio::piped())?;
    let mut stdin = child.stdin.take()?;
    talk("", &mut stdin);
    let text = read(&mut child, (LONGEST_ANSWER, patience), |text| {
        talk(text, &mut stdin)
    });
    drop(stdin);
    Some(text)
}

fn start(command: &mut Command, stdin: Stdio) -> Option<Child> {
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// The output of a program until it ends, is whole, or until its time is over. A process that it leaves behind
/// may hold its output open and is not waited for.
fn read(
    child: &mut Child,
    (most, patience): (usize, Duration),
    mut is_whole: impl FnMut(&str) -> bool,
) -> String {
    let (sender, chunks) = channel();
    let mut stdout = child.stdout.take().expect("it was asked for");
    // Without a thread, nothing is read: the sender goes with the closure.
    let _ = std::thread::Builder::new().spawn(move || {
        let mut buffer = [0; 512];
        while let Ok(length @ 1..) = stdout.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let (end, mut bytes) = (Instant::now() + patience, Vec::new());
    while bytes.len() < most && Instant::now() < end {
        let has_ended = matches!(child.try_wait(), Ok(Some(_)));
        match chunks.recv_timeout(POLL_INTERVAL) {
            Ok(chunk) => {
                bytes.extend(chunk);
                if is_whole(&String::from_utf8_lossy(&bytes)) {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) if !has_ended => {}
            Err(_) => break,
        }
    }
    // Both fail only if it has already exited.
    let _ = child.kill();
    let _ = child.wait();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Ends a server. A program that is only there to start it passes the signal on; killed at once, it would leave it behind.
pub fn end(child: &mut Child) {
    let asked = Instant::now();
    // All of this fails only if it has already exited.
    let _ = signals::pid(child).map(|pid| kill_process(pid, Signal::TERM));
    while matches!(child.try_wait(), Ok(None)) && asked.elapsed() < GRACE {
        std::thread::sleep(POLL_INTERVAL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
