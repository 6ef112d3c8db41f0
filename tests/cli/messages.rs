//! What is a message, and from when on: agents that say little of it.

use serde_json::{Value, json};

use testing::binary::Sandbox;

/// Sends a payload as an agent's hook does.
fn tell(world: &Sandbox, agent: &str, event: &str, mut payload: Value) {
    payload["cwd"] = json!(world.workspace());
    world
        .run(
            &["event", "--strict", "--agent", agent, "--event", event],
            payload.to_string().as_bytes(),
        )
        .exits(0);
}

/// Returns the messages of the log, oldest first: what was asked, and how many files changed.
fn messages(world: &Sandbox) -> Vec<(Value, Value)> {
    let log = world.json(&["log"]);
    let newest_first = log["messages"].as_array().expect("a list").iter();
    newest_first
        .rev()
        .map(|message| (message["prompt"].clone(), message["files"].clone()))
        .collect()
}

/// Each message at a terminal of Cline is one though all have the id of one task.
#[test]
fn clines_messages_are_told_apart() {
    let world = Sandbox::new();
    let cline = |event: &str, iteration: u64, call: &str| {
        tell(
            &world,
            "cline",
            event,
            json!({
                "taskId": "conv_1", "sessionContext": {"rootSessionId": "root"},
                "parent_agent_id": null, "iteration": iteration,
                "tool_call": {"id": call, "name": "run_commands", "input": {}},
            }),
        );
    };
    for (file, call) in [("one", "a"), ("two", "b"), ("three", "c")] {
        cline("TaskStart", 0, "");
        cline("PreToolUse", 1, call);
        // Cline does not wait for the start's hook, so that it may come late.
        cline("TaskStart", 0, "");
        cline("PreToolUse", 1, &format!("{call}2"));
        world.write(file, "x\n");
        cline("PostToolUse", 1, call);
        cline("PostToolUse", 1, &format!("{call}2"));
        cline("TaskComplete", 2, "");
    }
    let one = (Value::Null, json!(1));
    assert_eq!(messages(&world), vec![one; 3], "one for each that was sent");
    world.run(&["revert", "--message", "last"], b"").exits(0);
    let left: Vec<_> = world.tree().into_keys().collect();
    assert_eq!(left.len(), 2, "the last one alone went back: {left:?}");
}

/// What a running tool of opencode writes after a new message is the old messages.
#[test]
fn opencodes_running_tool_writes_for_the_old_message() {
    for agent in ["opencode", "kilo"] {
        let world = Sandbox::new();
        let tell = |event: &str, payload: Value| tell(&world, agent, event, payload);
        let message = |id: &str, text: &str| {
            tell(
                "chat.message",
                json!({
                    "input": {"sessionID": "s"},
                    "output": {"message": {"id": id}, "parts": [{"type": "text", "text": text}]},
                }),
            );
        };
        let step = || {
            tell(
                "chat.params",
                json!({"input": {"sessionID": "s", "agent": "build"}}),
            );
        };
        let tool = json!({"input": {"sessionID": "s", "tool": "bash", "callID": "c"}});
        let finish = json!({"event": {"properties": {"part":
            {"type": "step-finish", "id": "p", "sessionID": "s"}}}});
        message("m1", "first");
        step();
        tell("tool.execute.before", tool.clone());
        world.write("early", "x\n");
        message("m2", "second");
        world.write("late", "x\n");
        tell("tool.execute.after", tool);
        tell("event.message.part.updated", finish);
        step();
        let expected = [(json!("first"), json!(2)), (json!("second"), json!(0))];
        assert_eq!(messages(&world), expected, "of {agent}");
    }
}

/// A sub-agent of Codex that is a session like any other sends no messages.
#[test]
fn codexs_sub_agent_sends_no_messages() {
    let world = Sandbox::new();
    let transcript = world.path("child.jsonl");
    let head = json!({"type": "session_meta", "payload": {"id": "child", "source":
        {"subagent": {"thread_spawn": {"parent_thread_id": "root", "depth": 1}}}}});
    std::fs::write(&transcript, format!("{head}\n")).expect("writable");
    let tell = |event: &str, session: &str, more: Value| {
        let mut payload = more;
        payload["session_id"] = json!(session);
        payload["turn_id"] = json!(format!("turn of {session}"));
        tell(&world, "codex", event, payload);
    };
    tell("UserPromptSubmit", "root", json!({"prompt": "delegate"}));
    tell(
        "SessionStart",
        "child",
        json!({"transcript_path": transcript}),
    );
    tell("UserPromptSubmit", "child", json!({"prompt": "do it"}));
    let tool = json!({"tool_name": "Bash", "tool_use_id": "c"});
    tell("PreToolUse", "child", tool.clone());
    world.write("sub", "x\n");
    tell("PostToolUse", "child", tool);
    tell("Stop", "child", json!({}));
    tell("Stop", "root", json!({}));
    assert_eq!(
        messages(&world),
        [(json!("delegate"), json!(1))],
        "its work is the message's that it was started in"
    );
}

/// A session of Copilot is busy while its first tool runs and that tool's work goes back.
#[test]
fn copilots_first_tool_keeps_the_session_busy() {
    let world = Sandbox::new();
    let copilot = |event: &str, more: Value| {
        let mut payload = more;
        payload["sessionId"] = json!("s");
        tell(&world, "copilot-cli", event, payload);
    };
    let tool = json!({"toolName": "bash", "toolArgs": {}});
    copilot("userPromptSubmitted", json!({"prompt": "build it"}));
    world.write("first", "x\n");
    let status = world.json(&["status"]);
    assert_eq!(
        status["open_steps"],
        json!(1),
        "nobody knows better: {status}"
    );
    let plan = world.run(
        &["revert", "--message", "last", "--dry-run", "--force"],
        b"",
    );
    assert!(plan.stdout.contains("first"), "it is in the plan: {plan}");
    copilot("postToolUse", tool.clone());
    world.write("second", "x\n");
    let status = world.json(&["status"]);
    assert_eq!(status["open_steps"], json!(1), "as is the next: {status}");
    copilot("postToolUse", tool);
    copilot("agentStop", json!({"stopReason": "end_turn"}));
    let status = world.json(&["status"]);
    assert_eq!(
        status["open_steps"],
        json!(0),
        "the turn has ended: {status}"
    );
    assert_eq!(messages(&world), [(json!("build it"), json!(2))]);

    copilot("userPromptSubmitted", json!({"prompt": "and more"}));
    world.write("third", "x\n");
    // Esc: nothing is told.
    world
        .run(&["revert", "--message", "last", "--force"], b"")
        .exits(0);
    assert!(!world.workspace().join("third").exists(), "it is gone");
    assert!(world.workspace().join("second").exists(), "the rest stays");
}

/// Two hooks of Copilot that are called for the same event begin a step once.
///
/// One is its own, and one is a project's of Claude Code: each writes the moment in its style.
#[test]
fn copilots_two_hooks_begin_a_step_once() {
    let world = Sandbox::new();
    let both = |own: &str, other: &str, at: u32, more: Value| {
        let mut payload = more;
        payload["sessionId"] = json!("s");
        payload["timestamp"] = json!(1_795_845_642_000_u64 + u64::from(at));
        tell(&world, "copilot-cli", own, payload.clone());
        payload["session_id"] = payload["sessionId"].take();
        payload["hook_event_name"] = json!(other);
        payload["timestamp"] = json!(format!("2026-11-28T06:00:42.{at:03}Z"));
        tell(&world, "copilot-cli", other, payload);
    };
    both(
        "userPromptSubmitted",
        "UserPromptSubmit",
        1,
        json!({"prompt": "build it"}),
    );
    for (at, name) in [(20, "first"), (300, "second")] {
        world.write(name, "x\n");
        both(
            "postToolUse",
            "PostToolUse",
            at,
            json!({"toolName": "bash", "toolArgs": {}}),
        );
    }
    both("agentStop", "Stop", 400, json!({"stopReason": "end_turn"}));
    assert_eq!(messages(&world), [(json!("build it"), json!(2))]);
    let shown = world.json(&["show", "last"]);
    let steps = shown["steps"].as_array().expect("a list");
    let files = |step: &Value| step["files"].as_array().map(Vec::len);
    let files: Vec<_> = steps.iter().filter_map(files).collect();
    assert_eq!(files, [1, 1, 0], "the last one answers: {shown:#}");
}
