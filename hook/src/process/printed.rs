//! What another program prints, as far as it prints it in time.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a program may take.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is looked whether the program has ended.
const GLANCE: Duration = Duration::from_millis(50);

/// How many bytes of its output are read.
const MOST_READ: usize = 4096;

/// Runs a program without input, and returns what it prints, or `None` if it cannot be started. One that does not end
/// in time is killed.
pub fn printed(command: &mut Command) -> Option<String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let text = read(&mut child);
    // Both fail only if it has already exited.
    let _ = child.kill();
    let _ = child.wait();
    Some(text)
}

/// The output of a program until it ends, or until [`PROGRAM_TIMEOUT`] is over. A process that it leaves behind may hold
/// its output open and is not waited for.
fn read(child: &mut Child) -> String {
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
    let (end, mut bytes) = (Instant::now() + PROGRAM_TIMEOUT, Vec::new());
    while bytes.len() < MOST_READ {
        let has_ended = matches!(child.try_wait(), Ok(Some(_)));
        match chunks.recv_timeout(GLANCE) {
            Ok(chunk) => bytes.extend(chunk),
            Err(RecvTimeoutError::Timeout) if !has_ended && Instant::now() < end => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
