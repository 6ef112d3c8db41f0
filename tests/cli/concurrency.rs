//! Many processes at once in one workspace.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use testing::binary::{Run, Sandbox};
use testing::rows;

#[test]
fn eight_processes_capture_one_workspace_at_once() {
    let world = Sandbox::new();
    world.write("file", "x");
    let spawn = |_| {
        let mut command = world.command(&["--json", "snapshot"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    };
    let children: Vec<_> = (0..8).map(spawn).collect();
    let trees: Vec<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "all succeed: {output:?}");
            let report: serde_json::Value =
                serde_json::from_slice(&output.stdout).expect("one document");
            report["snapshot"].as_str().expect("a tree").to_owned()
        })
        .collect();
    assert!(
        trees.iter().all(|tree| *tree == trees[0]),
        "each with the same valid tree: {trees:?}"
    );
    assert_eq!(
        world.json(&["status"])["diagnostics"],
        0,
        "and nobody had anything to complain of"
    );
}

/// Eight sessions begin at once in an empty store.
#[test]
fn eight_sessions_begin_in_an_empty_store() {
    let world = Sandbox::new();
    let spawn = |number: usize| {
        let session = format!("s{number}");
        let mut command = world.command(&[
            "message",
            "--strict",
            "--session",
            &session,
            "--message",
            "m",
            "--prompt",
            "go",
        ]);
        command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    };
    let children: Vec<_> = (0..8).map(spawn).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(
            output.status.success(),
            "all succeed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let log = world.json(&["log"]);
    assert_eq!(
        log["messages"].as_array().expect("a list").len(),
        8,
        "no row is lost, none is doubled: {log}"
    );
}

/// The lock of the world's only workspace.
fn lock_of(world: &Sandbox) -> PathBuf {
    let mut workspaces = std::fs::read_dir(world.store().join("snapshots")).expect("the store");
    workspaces
        .next()
        .expect("a workspace")
        .expect("readable")
        .path()
        .join("lock")
}

/// Returns once a process has opened the lock, which it does to wait for it.
fn wait_until_it_waits(child: &Child, lock: &Path) {
    let descriptors = format!("/proc/{}/fd", child.id());
    let has_lock = || {
        let mut open = std::fs::read_dir(&descriptors)
            .into_iter()
            .flatten()
            .flatten();
        open.any(|descriptor| {
            std::fs::read_link(descriptor.path()).is_ok_and(|target| target == lock)
        })
    };
    while !has_lock() {
        std::thread::yield_now();
    }
}

/// What happens while a hook waits for the workspace counts.
#[test]
#[cfg(target_os = "linux")]
fn events_during_a_hooks_wait_count() {
    let world = Sandbox::new();
    world.configure("hook_deadline = \"1 min\"\n");
    let event = |event: &str, tool: &str| {
        let cwd = world.workspace();
        json!({"event": event, "session_id": "s", "tool_use_id": tool, "cwd": cwd.to_str().expect("a plain path")})
    };
    for (name, tool) in [
        ("user_message", ""),
        ("tool_start", "1"),
        ("tool_finish", "1"),
    ] {
        world.event(event(name, tool)).ends_silently();
    }
    let lock = lock_of(&world);
    let held = File::open(&lock).expect("it was made");
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive)
        .expect("nobody else holds it");
    let mut command = world.command(&["event", "--strict"]);
    let mut waiting = command
        .stdin(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let payload = event("step_finish", "1").to_string();
    waiting
        .stdin
        .take()
        .expect("it is piped")
        .write_all(payload.as_bytes())
        .expect("it reads");
    wait_until_it_waits(&waiting, &lock);
    world.event(event("tool_start", "2")).ends_silently();
    drop(held);
    assert!(
        waiting.wait().expect("it ends").success(),
        "it had its turn"
    );
    let status = world.json(&["status"]);
    assert_eq!(
        status["open_steps"], 1,
        "a finish beside a tool that runs by now is early: {status}"
    );
}

/// How many messages each process sends beside upkeep: `CKPT_FULL=1` takes minutes.
#[expect(
    clippy::disallowed_methods,
    reason = "the test is scaled by the environment"
)]
fn rounds() -> usize {
    match std::env::var_os("CKPT_FULL") {
        Some(_) => 60,
        None => 6,
    }
}

/// One message of a session: a tool of its step says that it writes a file, and does.
fn turn(world: &Sandbox, session: &str, round: usize) {
    let file = format!("{session}.txt");
    let send = |event: &str| {
        let message = format!("{session}-{round}");
        let event = json!({
            "event": event, "session_id": session, "message_id": message, "prompt": message,
            "tool_use_id": "t", "paths": [file],
        });
        world.event(event).ends_silently();
    };
    ["user_message", "step_start", "tool_start"]
        .iter()
        .for_each(|event| send(event));
    world.write(&file, format!("{round}\n"));
    ["tool_finish", "step_finish", "turn_end"]
        .iter()
        .for_each(|event| send(event));
}

fn agree(run: &Run, codes: &[i32]) {
    let is_one = run.code.is_some_and(|code| codes.contains(&code));
    assert!(is_one, "it ends with one of {codes:?}: {run}");
}

/// A store with a session that is long over, another workspace with something to forget, and work that goes on.
fn months_old() -> Sandbox {
    let world = Sandbox::new();
    world.write("kept", "the user's\n");
    for round in 0..4 {
        turn(&world, "old", round);
    }
    let database = world.store().join("sessions.db");
    rows::age(&database, 40 * 24 * 3600 * 1000);
    rows::execute(
        &database,
        "UPDATE sessions SET process = NULL, process_seen = 0",
    );
    std::fs::create_dir(world.path("other")).expect("writable");
    world
}

/// What one of the eight does in a round.
fn work(world: &Sandbox, number: usize, round: usize) {
    let session = format!("w{number}");
    let first = format!("{session}-0");
    match number {
        // Four agents.
        0..4 => turn(world, &session, round),
        // Two whose users go back and forth.
        4 | 5 => {
            turn(world, &session, round);
            let revert = world.run(&["-q", "revert", &first, "--session", &session], b"");
            agree(&revert, &[0, 3, 5]);
            agree(
                &world.run(&["-q", "unrevert", "--session", &session], b""),
                &[0, 3, 5],
            );
        }
        // Two who read.
        _ => {
            for command in ["log", "sessions", "status", "du"] {
                agree(&world.run(&[command], b""), &[0]);
            }
            agree(&world.run(&["show", "old-3"], b""), &[0]);
            agree(&world.run(&["blame", "kept"], b""), &[0]);
            // What it names may be pruned.
            agree(&world.run(&["diff", "old-3"], b""), &[0, 4]);
            agree(&world.run(&["cat", "old-3:old.txt"], b""), &[0, 4]);
            agree(&world.run(&["cat", "last:kept"], b""), &[0]);
        }
    }
}

/// Gc and forget beside eight processes lose nothing and keep nobody from work.
#[test]
fn gc_and_forget_beside_processes_lose_nothing() {
    let world = months_old();
    let other = world.path("other");
    let running = AtomicUsize::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (world, running) = (&world, &running);
            scope.spawn(move || {
                let end = End(running);
                (0..rounds()).for_each(|round| work(world, number, round));
                drop(end);
            });
        }
        while running.load(Ordering::SeqCst) > 0 {
            agree(&world.run(&["gc"], b""), &[0, 3]);
            // In another workspace nobody is at work; the session store is the same.
            std::fs::write(other.join("secret"), "hunter2-hunter2\n").expect("writable");
            let elsewhere = other.to_str().expect("a plain path");
            let in_other = |arguments: &[&str]| {
                world.run(&[&["--workspace", elsewhere][..], arguments].concat(), b"")
            };
            agree(&in_other(&["snapshot"]), &[0]);
            agree(&in_other(&["forget", "--path", "secret", "--yes"]), &[0]);
            // Here somebody nearly always is.
            agree(
                &world.run(&["forget", "--path", "w0.txt", "--yes"], b""),
                &[0, 4, 5],
            );
            let doctor = world.run(&["doctor"], b"");
            assert!(
                !doctor.stdout.contains('✗'),
                "nothing is ever missing: {doctor}"
            );
        }
    });
    let doctor = world.run(&["doctor", "--all"], b"").exits(0);
    assert!(!doctor.stdout.contains("missing"), "{doctor}");
    let status = world.json(&["status"]);
    assert_eq!(status["diagnostics"], 0, "no hook failed: {status}");
    // Whose a change is may be in doubt where so many work at once; that its bytes are there is not.
    let log = world.json(&["log", "--limit", "1000"]);
    let messages = log["messages"].as_array().expect("a list");
    assert_eq!(messages.len(), 4 + 6 * rounds(), "no row is lost: {log}");
    for message in messages {
        let id = message["id"].as_str().expect("an id");
        let is_old = message["agent_id"]
            .as_str()
            .is_some_and(|id| id.starts_with("old"));
        let diff = world.run(&["diff", id, "current"], b"");
        agree(&diff, if is_old { &[0, 4] } else { &[0] });
    }
}

/// Counts down when it goes, also where a thread panics.
struct End<'a>(&'a AtomicUsize);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
