//! The work of one call: processor time and memory, or system calls, which `strace` counts.

use std::fmt;
use std::io::Write;
use std::process::{Command, Stdio};

use wait4::Wait4;

use testing::binary::{Sandbox, finish};
use testing::callgrind;

/// What a call took.
#[derive(Clone, Debug)]
pub struct Work {
    /// Seconds of processor time, of the program and of the kernel for it.
    pub processor: f64,
    /// The most memory that it held, in bytes.
    pub peak: u64,
}

impl fmt::Display for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:.2} s of processor time and {} MB",
            self.processor,
            self.peak / 1_000_000
        )
    }
}

/// Begins a message and a step; a first snapshot may take its time.
pub fn begin(world: &Sandbox) {
    if !world.home().join(".config/ckpt-hook/config.toml").exists() {
        world.configure("hook_deadline = \"30 min\"\n");
    }
    event(world, "user_message");
    event(world, "step_start");
}

/// Sends an event.
pub fn event(world: &Sandbox, name: &str) -> Work {
    measure(world.command(&["event", "--strict"]), &payload(world, name))
}

/// Runs a command.
pub fn run(world: &Sandbox, arguments: &[&str]) -> Work {
    measure(world.command(arguments), "")
}

fn payload(world: &Sandbox, event: &str) -> String {
    let cwd = world.workspace();
    serde_json::json!({"event": event, "session_id": "s", "message_id": "m", "cwd": cwd.to_str()})
        .to_string()
}

/// Runs a command and returns what it took.
pub fn measure(mut command: Command, stdin: &str) -> Work {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary was built");
    child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(stdin.as_bytes())
        .expect("it reads its payload");
    let ended = child.wait4().expect("it ends");
    assert!(
        ended.status.success(),
        "{command:?} {stdin}: {}",
        ended.status
    );
    let usage = ended.rusage;
    Work {
        processor: (usage.utime + usage.stime).as_secs_f64(),
        peak: usage.maxrss,
    }
}

/// Sends an event and returns how many instructions it took.
pub fn instructions_of_event(world: &Sandbox, name: &str) -> u64 {
    callgrind::count(world, &["event", "--strict"], &payload(world, name))
}

/// Sends an event and returns how many system calls it took.
pub fn calls_of_event(world: &Sandbox, name: &str) -> u64 {
    calls(world, &["event", "--strict"], &payload(world, name))
}

/// Runs a command and returns how many system calls it took.
pub fn calls(world: &Sandbox, arguments: &[&str], stdin: &str) -> u64 {
    let counts = world.path("counts");
    let options = [
        "-c",
        "-U",
        "calls,name",
        "-o",
        counts.to_str().expect("a plain path"),
    ];
    let mut strace = testing::strace::command(world, &options, arguments);
    finish(&mut strace, stdin.as_bytes()).exits(0);
    let table = std::fs::read_to_string(counts).expect("strace wrote it");
    let total = table
        .lines()
        .find_map(|line| line.trim().strip_suffix(" total"));
    total
        .and_then(|total| total.trim().parse().ok())
        .unwrap_or_else(|| panic!("a total:\n{table}"))
}
