//! What a person changes while an agent asks for permission, and then presses Esc.

use serde_json::{Value, json};

use testing::binary::{Run, Sandbox};

/// Sends an event of a tool call, or of what is around it, as an agent's hook does.
fn tell(world: &Sandbox, agent: &str, event: &str, extra: Value) -> Run {
    let mut payload =
        json!({"hook_event_name": event, "session_id": "s", "cwd": world.workspace()});
    let fields = payload.as_object_mut().expect("an object");
    fields.extend(extra.as_object().expect("an object").clone());
    world.run(
        &["event", "--agent", agent, "--event", event],
        payload.to_string().as_bytes(),
    )
}

/// A message, a command that is announced, and an edit by hand before anything else is heard; then the next message.
///
/// In `asked` the agent tells that it waits for permission.
pub fn interrupted(agent: &str, asked: bool) -> Sandbox {
    let world = Sandbox::new();
    world.write("menu", "soup\n");
    let tell = |event: &str, extra: Value| {
        tell(&world, agent, event, extra).ends_silently();
    };
    let turn = |id: &str, prompt: &str| json!({"prompt": prompt, "prompt_id": id, "turn_id": id, "submitted_prompt": prompt});
    let command = json!({"tool_name": "Bash", "tool_input": {"command": "cook"}, "turn_id": "t1"});
    tell("UserPromptSubmit", turn("t1", "salad, please"));
    if agent == "codex" {
        tell("PreModelRequest", json!({"turn_id": "t1"}));
    }
    let mut announced = command.clone();
    announced["tool_use_id"] = json!("call");
    tell("PreToolUse", announced);
    if asked {
        // Neither Claude Code nor Codex says here which call it is.
        tell("PermissionRequest", command);
    }
    world.write("menu", "by hand\n");
    if agent == "codex" {
        tell("Interrupt", json!({"turn_id": "t1"}));
    }
    tell("UserPromptSubmit", turn("t2", "no, wait"));
    world
}

/// What is changed at a prompt for permission is kept and named.
#[test]
fn change_at_a_permission_prompt_is_kept() {
    for agent in ["claude-code", "codex"] {
        let world = interrupted(agent, true);
        let run = world.run(&["revert", "--message", "last~1"], b"").exits(3);
        assert_eq!(world.read("menu"), b"by hand\n", "{agent}: {run}");
        let told = run.stdout.clone() + &run.stderr;
        assert!(
            told.contains("menu") && told.contains("waited for permission"),
            "{agent}: it is named, with the reason: {run}"
        );
        world
            .run(&["revert", "--message", "last~1", "--unclear", "take"], b"")
            .exits(0);
        assert_eq!(world.read("menu"), b"soup\n", "{agent}: where you say so");
    }
}

/// What changed at once after a tool that asked nobody is its.
#[test]
fn change_after_an_unprompted_tool_is_its() {
    for agent in ["claude-code", "codex"] {
        let world = interrupted(agent, false);
        let run = world.run(&["revert", "--message", "last~1"], b"").exits(0);
        assert_eq!(world.read("menu"), b"soup\n", "{agent}: {run}");
    }
}

/// What is changed before Qwen Code announces a tool is not its.
#[test]
fn change_before_qwen_codes_tool_is_not_its() {
    let world = Sandbox::new();
    world.write("menu", "soup\n");
    let tell = |event: &str, extra: Value| {
        tell(&world, "qwen-code", event, extra).ends_silently();
    };
    let message = |prompt: &str| json!({"prompt": prompt, "submitted_prompt": prompt});
    tell("UserPromptSubmit", message("salad, please"));
    tell("UserPromptSubmit", json!({"prompt": ""}));
    // The first tool of the session: nothing else says that Qwen Code tells of them.
    let request = json!({"tool_name": "run_shell_command", "tool_input": {"command": "cook"}});
    tell("PermissionRequest", request);
    world.write("menu", "by hand\n");
    tell("UserPromptSubmit", message("no, wait"));
    world.run(&["revert", "--message", "last~1"], b"");
    assert_eq!(world.read("menu"), b"by hand\n", "nobody else wrote");
}
