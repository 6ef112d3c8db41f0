//! What a hook prints after a revert, in each agent's own words, and that it prints nothing else.

use serde_json::{Value, json};

use testing::binary::{Run, Sandbox};

/// A user message as an agent's hook tells it.
fn message(world: &Sandbox, agent: &str, number: u32) -> Run {
    let here = world.workspace();
    let prompt = format!("message {number}");
    let (event, payload) = match agent {
        "gemini-cli" => (
            "BeforeAgent",
            json!({"session_id": "s", "cwd": here, "prompt": prompt}),
        ),
        "opencode" | "kilo" => {
            let parts = json!([{"type": "text", "text": prompt}]);
            let output = json!({"message": {"id": format!("m{number}")}, "parts": parts});
            (
                "chat.message",
                json!({"hook": "chat.message", "cwd": here, "input": {"sessionID": "s"}, "output": output}),
            )
        }
        "pi" => {
            let ctx = json!({"cwd": here, "sessionId": "s"});
            (
                "before_agent_start",
                json!({"hook": "before_agent_start", "event": {"prompt": prompt}, "ctx": ctx}),
            )
        }
        _ => {
            let turn = format!("t{number}");
            let payload = json!({"session_id": "s", "cwd": here, "prompt": prompt, "submitted_prompt": prompt,
                                 "prompt_id": turn, "turn_id": turn});
            ("UserPromptSubmit", payload)
        }
    };
    let run = world.run(
        &["event", "--agent", agent, "--event", event],
        payload.to_string().as_bytes(),
    );
    assert!(
        run.stderr.is_empty(),
        "{agent} says nothing on stderr: {run}"
    );
    run.exits(0)
}

/// A session of an agent with a message whose change was reverted.
fn reverted(agent: &str) -> Sandbox {
    let world = Sandbox::new();
    world.write("menu", "soup\n");
    message(&world, agent, 1).ends_silently();
    world.write("menu", "salad\n");
    let end = match agent {
        "gemini-cli" => "AfterAgent",
        "opencode" | "kilo" => "event.session.idle",
        "pi" => "agent_end",
        _ => "Stop",
    };
    let idle = json!({"properties": {"sessionID": "s"}});
    let payload = json!({"hook": end, "session_id": "s", "cwd": world.workspace(), "event": idle,
                         "ctx": {"cwd": world.workspace(), "sessionId": "s"}});
    world
        .run(
            &["event", "--agent", agent, "--event", end],
            payload.to_string().as_bytes(),
        )
        .ends_silently();
    world.run(&["restore", "last", "menu"], b"").exits(0);
    world
}

/// Each agent is told in its own way and once.
#[test]
fn each_agent_is_told_once_in_its_way() {
    for agent in [
        "claude-code",
        "codex",
        "gemini-cli",
        "qwen-code",
        "opencode",
        "kilo",
        "pi",
    ] {
        let world = reverted(agent);
        let run = message(&world, agent, 2);
        let text = match agent {
            "opencode" | "kilo" | "pi" => run.stdout.clone(),
            _ => {
                let document: Value = serde_json::from_str(&run.stdout).expect("one JSON document");
                let output = &document["hookSpecificOutput"];
                let event = if agent == "gemini-cli" {
                    "BeforeAgent"
                } else {
                    "UserPromptSubmit"
                };
                assert_eq!(
                    output["hookEventName"], event,
                    "{agent} looks for its own name: {run}"
                );
                assert_eq!(
                    document.as_object().map(serde_json::Map::len),
                    Some(1),
                    "and for nothing else: {run}"
                );
                output["additionalContext"]
                    .as_str()
                    .expect("a text")
                    .to_owned()
            }
        };
        assert!(
            text.contains("\"menu\"") && text.lines().count() == 1,
            "{agent}: one line with the file: {run}"
        );
        message(&world, agent, 3).ends_silently();
    }
}

/// An agent without a documented way is told nothing.
#[test]
fn agent_without_a_documented_way_is_not_told() {
    let world = reverted("copilot-cli");
    message(&world, "copilot-cli", 2).ends_silently();
}

#[test]
fn nobody_is_told_where_the_setting_says_so() {
    let world = reverted("claude-code");
    world.configure("tell_agent = false\n");
    message(&world, "claude-code", 2).ends_silently();
    let world = reverted("claude-code");
    world.configure(&format!(
        "[workspaces.{:?}]\ntell_agent = false\n",
        world.workspace()
    ));
    message(&world, "claude-code", 2).ends_silently();
}

/// What is told after a revert names what became of each file.
#[test]
fn words_after_a_revert_name_each_files_fate() {
    let world = Sandbox::new();
    world.write("menu", "soup\n");
    let tell = |name: &str, payload: Value| {
        let payload = payload.to_string();
        world.run(
            &["event", "--agent", "claude-code", "--event", name],
            payload.as_bytes(),
        )
    };
    message(&world, "claude-code", 1).ends_silently();
    let call = json!({"session_id": "s", "cwd": world.workspace(), "prompt_id": "t1",
                      "tool_name": "Bash", "tool_use_id": "0", "tool_input": {"command": "cook"}});
    tell("PreToolUse", call.clone()).ends_silently();
    world.write("menu", "salad\n");
    world.write("new", "x\n");
    tell("PostToolUse", call).ends_silently();
    let batch =
        json!({"session_id": "s", "cwd": world.workspace(), "prompt_id": "t1", "tool_calls": []});
    tell("PostToolBatch", batch).ends_silently();
    world.run(&["revert", "--message", "last"], b"").exits(0);
    let run = message(&world, "claude-code", 2);
    assert!(
        run.stdout.contains(r#"\"menu\", \"new\" (removed)"#),
        "{run}"
    );
}

/// Our own commands are no messages and make no revert permanent.
#[test]
fn our_commands_make_no_revert_permanent() {
    let world = Sandbox::new();
    let tell = |name: &str, extra: Value| {
        let mut payload = json!({"session_id": "s", "cwd": world.workspace(), "turn_id": "t"});
        payload
            .as_object_mut()
            .expect("an object")
            .extend(extra.as_object().expect("an object").clone());
        let payload = payload.to_string();
        world
            .run(
                &["event", "--agent", "codex", "--event", name],
                payload.as_bytes(),
            )
            .ends_silently();
    };
    world.write("menu", "soup\n");
    tell("UserPromptSubmit", json!({"prompt": "salad, please"}));
    tell("PreModelRequest", json!({}));
    let tool = json!({"tool_name": "Bash", "tool_use_id": "0"});
    tell("PreToolUse", tool.clone());
    world.write("menu", "salad\n");
    tell("PostToolUse", tool);
    tell("Stop", json!({}));
    // Codex has its model run the command, so that its own tool is at work.
    tell(
        "UserPromptSubmit",
        json!({"prompt": "$ckpt-revert", "turn_id": "u"}),
    );
    tell("PreModelRequest", json!({"turn_id": "u"}));
    tell(
        "PreToolUse",
        json!({"turn_id": "u", "tool_name": "Bash", "tool_use_id": "1"}),
    );
    world
        .run(&["revert", "--message", "last", "--force"], b"")
        .exits(0);
    assert_eq!(world.read("menu"), b"soup\n", "it went back");
    tell(
        "PostToolUse",
        json!({"turn_id": "u", "tool_name": "Bash", "tool_use_id": "1"}),
    );
    tell("PreModelRequest", json!({"turn_id": "u"}));
    tell("Stop", json!({"turn_id": "u"}));
    let log = world.json(&["log"]);
    assert_eq!(
        log["messages"].as_array().map(Vec::len),
        Some(1),
        "what was said to us is no message: {log}"
    );
    assert_eq!(
        log["messages"][0]["state"], "hidden",
        "and the revert can still be taken back: {log}"
    );
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.read("menu"), b"salad\n", "byte for byte");
}

/// A conversation that begins with our skill has no message.
#[test]
fn conversation_beginning_with_our_skill_has_no_message() {
    let world = Sandbox::new();
    let tell = |name: &str, extra: Value| {
        let mut payload = json!({"session_id": "new", "cwd": world.workspace(), "turn_id": "t"});
        payload
            .as_object_mut()
            .expect("an object")
            .extend(extra.as_object().expect("an object").clone());
        world
            .run(
                &["event", "--agent", "codex", "--event", name],
                payload.to_string().as_bytes(),
            )
            .ends_silently();
    };
    let messages = || {
        let log = world.json(&["log"]);
        log["messages"].as_array().expect("a list").len()
    };
    let line = "/home/u/bin/ckpt-hook inside revert --force ${CODEX_THREAD_ID:+--session \"$CODEX_THREAD_ID\"}";
    let shell = json!({"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": line}});
    tell("SessionStart", json!({"source": "startup"}));
    tell("UserPromptSubmit", json!({"prompt": "$ckpt-revert"}));
    tell("PreModelRequest", json!({}));
    tell("PreToolUse", shell.clone());
    assert_eq!(
        messages(),
        0,
        "so that the command can say that there is none"
    );
    tell("PostToolUse", shell);
    tell("PreModelRequest", json!({}));
    tell("Stop", json!({}));
    assert_eq!(messages(), 0, "nothing was asked of the agent");

    tell(
        "UserPromptSubmit",
        json!({"prompt": "$ckpt-status", "turn_id": "u"}),
    );
    tell("PreModelRequest", json!({"turn_id": "u"}));
    let other = json!({"turn_id": "u", "tool_name": "Bash", "tool_use_id": "2", "tool_input": {"command": "touch made"}});
    tell("PreToolUse", other.clone());
    world.write("made", "");
    tell("PostToolUse", other);
    tell("Stop", json!({"turn_id": "u"}));
    assert_eq!(
        messages(),
        1,
        "what it does besides is recorded all the same"
    );
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert!(world.tree().is_empty(), "and goes back");
}
