//! What an event that needs no look at the workspace costs: instructions and system calls, in a store of a few messages.

use serde_json::json;
use testing::binary::Sandbox;
use testing::callgrind;
use testing::count;
use testing::skip::{has_program, has_strace};

use crate::NOISE;

/// The instructions of a release build, from the start of the process to its end.
const OF_A_RELEASE: u64 = 3_500_000;

/// Those of a debug build, without those that load the program: there are as many as it is large.
const OF_A_DEBUG_BUILD: u64 = 3_180_000;

/// Those that the views add once a person has given a command: SQLite reads their text at each start.
const OF_THE_VIEWS: u64 = 2_500_000;

/// The system calls.
const CALLS: u64 = 250;

/// A session of Claude Code with a few messages, each with a shell and a file that it changed.
struct Session {
    world: Sandbox,
}

impl Session {
    fn new() -> Self {
        let session = Self {
            world: Sandbox::new(),
        };
        for message in ["1", "2", "3"] {
            session.send("UserPromptSubmit", json!({"prompt": message}));
            session.send_tool("PreToolUse", "Bash", message);
            session.world.write("a", message);
            session.send_tool("PostToolUse", "Bash", message);
            session.send("Stop", json!({}));
        }
        session.send("UserPromptSubmit", json!({"prompt": "read"}));
        session.send_tool("PreToolUse", "Read", "4");
        session
    }

    fn payload(&self, event: &str, more: serde_json::Value) -> String {
        let mut payload = json!({
            "hook_event_name": event, "session_id": "s", "cwd": self.world.workspace(),
        });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        payload.to_string()
    }

    fn tool(name: &str, id: &str) -> serde_json::Value {
        json!({"tool_name": name, "tool_use_id": id, "tool_input": {"command": "true", "file_path": "a"}})
    }

    fn send(&self, event: &str, more: serde_json::Value) {
        let payload = self.payload(event, more);
        self.world
            .run(&AS_AN_AGENT, payload.as_bytes())
            .ends_silently();
    }

    fn send_tool(&self, event: &str, name: &str, id: &str) {
        self.send(event, Self::tool(name, id));
    }

    /// Returns the start of a tool that only reads.
    fn read(&self, id: &str) -> String {
        self.payload("PreToolUse", Self::tool("Read", id))
    }
}

/// What an agent's settings have.
const AS_AN_AGENT: [&str; 3] = ["event", "--agent", "claude-code"];

fn limit() -> u64 {
    match cfg!(debug_assertions) {
        true => OF_A_DEBUG_BUILD,
        false => OF_A_RELEASE,
    }
}

/// Invariant `agent/cost`.
#[test]
fn an_event_without_a_look_takes_few_instructions() {
    if !has_program("valgrind") {
        return;
    }
    let session = Session::new();
    let instructions = |id: &str| callgrind::count(&session.world, &AS_AN_AGENT, &session.read(id));
    let without = instructions("5");
    session.world.run(&["status"], b"").exits(0);
    let with = instructions("6");
    println!(
        "{without} instructions of {}, and {with} with the views",
        limit()
    );
    assert!(without <= limit(), "{without}");
    assert!(with > without, "a person's command adds the views");
    assert!(with <= without + OF_THE_VIEWS, "{with}");
}

/// An event without a look makes few system calls.
///
/// Invariant `agent/cost`.
#[test]
fn event_without_a_look_makes_few_calls() {
    if !has_strace() {
        return;
    }
    let session = Session::new();
    let counts = count::count_run(&session.world, &AS_AN_AGENT, &session.read("5"), &[]);
    println!("{} system calls of {CALLS}", counts.calls);
    assert!(counts.calls <= CALLS + NOISE, "{counts:?}");
}
