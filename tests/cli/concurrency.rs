//! Many processes at once in one workspace.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::json;

use testing::binary::Sandbox;

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

#[test]
fn eight_sessions_begin_at_once_in_an_empty_store() {
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

#[test]
#[cfg(target_os = "linux")]
fn what_happens_while_a_hook_waits_for_the_workspace_counts() {
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
