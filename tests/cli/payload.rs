//! Payloads of fifty megabytes: what counts in them is recorded, and memory does not grow with them.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use testing::binary::{Run, Sandbox};

/// The length of what is huge, in bytes.
const HUGE: usize = 50 << 20;

/// The most memory that the process may have used, in kB: its own, and what is kept of a payload.
const MEMORY: u64 = 40 << 10;

/// Sends a payload, and returns the most memory that the hook had used when all of it but the end was read.
fn send(world: &Sandbox, arguments: &[&str], payload: &str) -> u64 {
    let mut child = world
        .command(&[&["event", "--strict"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut stdin = child.stdin.take().expect("it is piped");
    let (most, end) = payload.split_at(payload.len() - 1);
    stdin
        .write_all(most.as_bytes())
        .expect("it listens to the end");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))
        .expect("it waits for the rest");
    stdin
        .write_all(end.as_bytes())
        .expect("it listens to the end");
    drop(stdin);
    Run::from(child.wait_with_output().expect("it ends")).ends_silently();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("Linux tells it");
    peak.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number of kilobytes")
}

/// A huge payload is understood whatever is huge in it and memory does not grow with it.
#[test]
fn huge_payload_is_understood_in_bounded_memory() {
    let world = Sandbox::new();
    // Without optimisation and on a busy machine the deadline of a hook would decide, which is not asked here.
    world.configure("hook_deadline = \"10 minutes\"\n");
    let cwd = world.workspace();
    let (prompt, output) = (
        "ä".repeat(HUGE / 2),
        "a line of output \"and\" more\n".repeat(HUGE / 32),
    );
    let conversation =
        vec![json!({"role": "user", "content": "what was said long ago"}); HUGE / 192];
    let payloads = [
        (
            "BeforeAgent",
            json!({"cwd": cwd, "prompt": prompt, "session_id": "s"}),
        ),
        (
            "BeforeModel",
            json!({"cwd": cwd, "llm_request": {"messages": conversation}, "session_id": "s"}),
        ),
        (
            "BeforeTool",
            json!({"cwd": cwd, "session_id": "s", "tool_input": {"file_path": "a", "rest": output}}),
        ),
        (
            "AfterTool",
            json!({"a": output, "cwd": cwd, "session_id": "s", "tool_response": {"text": output}}),
        ),
    ];
    for (event, payload) in payloads {
        if event == "BeforeTool" {
            world.write("a", "the agent's\n");
        }
        let peak = send(
            &world,
            &["--agent", "gemini-cli", "--event", event],
            &payload.to_string(),
        );
        assert!(peak <= MEMORY, "{event}: {peak} kB are too much");
    }
    world
        .run(
            &["event", "--agent", "gemini-cli", "--event", "AfterAgent"],
            br#"{"session_id":"s"}"#,
        )
        .ends_silently();
    let log = world.json(&["log"]);
    let message = &log["messages"][0];
    assert_eq!(
        message["steps"], 1,
        "the step that was told of between the huge values"
    );
    assert!(
        message["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.starts_with("ää")),
        "the message's beginning"
    );
    assert_eq!(
        world.json(&["status"])["diagnostics"],
        0,
        "and nothing to complain about"
    );
}
