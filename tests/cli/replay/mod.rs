//! What real agents sent, payload by payload through the binary, with what their tools did to files done again.

mod effects;
mod looks;
mod recording;

use std::path::Path;

use serde_json::Value;

use effects::act;
use recording::Payload;
use testing::binary::Sandbox;
use testing::tree::Tree;

/// What was seen from outside while a recording was played.
#[derive(Default)]
struct Seen {
    /// What the user wrote, message by message, where the agent tells.
    words: Vec<Option<String>>,
    /// The work tree from just before each of them.
    before: Vec<Tree>,
}

/// Plays a recording; each payload is sent by the settings of each of these agents.
fn replay(agents: &[&str], set: &str) -> (Sandbox, Seen) {
    let world = Sandbox::new();
    // A hook that is late on a busy machine is not asked for here.
    world.configure("hook_deadline = \"10 minutes\"\n");
    world.write("README.md", "hi\n");
    let payloads = recording::read(set, &world);
    let mut seen = Seen::default();
    let mut waits = false;
    let mut running = 0;
    for (number, payload) in payloads.iter().enumerate() {
        if payload.is_message() {
            seen.words.push(payload.words().map(str::to_owned));
        }
        let is_same_turn =
            |other: &Payload| payload.turn().is_some() && other.turn() == payload.turn();
        if payload.is_message() && running > 0 && is_same_turn(&payloads[number - 1]) {
            waits = true;
        } else if payload.is_message() {
            running = 0;
            seen.before.push(world.tree());
        }
        for agent in agents {
            let call = ["event", "--agent", agent, "--event", &payload.event];
            world
                .run(&call, payload.json.to_string().as_bytes())
                .ends_silently();
        }
        if let Some(input) = payload.tool_input() {
            running += 1;
            act(
                &world,
                input,
                payload.tool_use().is_some() && !has_end(payload, &payloads[number + 1..]),
            );
        }
        match payload.event.as_str() {
            "PostToolUse" | "PostToolUseFailure" => running -= 1,
            "PostToolBatch" if waits => {
                waits = false;
                seen.before.push(world.tree());
            }
            _ => {}
        }
    }
    (world, seen)
}

/// Returns whether the tool that a payload begins is told of again.
fn has_end(payload: &Payload, later: &[Payload]) -> bool {
    later
        .iter()
        .any(|later| later.tool_use() == payload.tool_use())
}

/// Goes back message by message and forward again, and compares the whole tree each time.
fn assert_every_message_goes_back_and_forth(agent: &str, set: &str) {
    goes_back_and_forth(&[agent], agent, set);
    goes_back_and_forth(&[agent, agent], agent, set);
}

/// Twice is what a hook in two places does, or a hook beside a package: nothing is recorded twice.
fn goes_back_and_forth(settings: &[&str], agent: &str, set: &str) {
    let times = settings.len();
    let (world, Seen { words, before }) = replay(settings, set);
    let after = world.tree();
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("a list");
    assert_eq!(
        messages.len(),
        before.len(),
        "{set}, {times}×: the user's messages, and no machine's: {log}"
    );
    for (message, words) in messages.iter().zip(words.iter().rev()) {
        assert_eq!(message["agent"], agent, "{set}, by {settings:?}: {log}");
        assert_eq!(
            message["prompt"].as_str(),
            words.as_deref(),
            "{set}, {times}×: what the user wrote: {log}"
        );
    }
    assert_ne!(
        before.first(),
        Some(&after),
        "{set}: there is something to take back"
    );
    assert_eq!(
        world.json(&["status"])["diagnostics"],
        0,
        "{set}, {times}×: nothing went wrong"
    );
    for (message, expected) in messages.iter().zip(before.iter().rev()) {
        let id = message["id"].as_str().expect("an id");
        world
            .run(&["revert", "--force", "--message", id], b"")
            .exits(0);
        assert_eq!(
            &world.tree(),
            expected,
            "{set}, {times}×: just before {message}"
        );
    }
    for expected in before.iter().skip(1).chain([&after]) {
        world.run(&["redo"], b"").exits(0);
        assert_eq!(
            &world.tree(),
            expected,
            "{set}, {times}×: one message forward"
        );
    }
}

/// Makes each recording a test.
macro_rules! recordings {
    ($($name:ident: $agent:literal, $set:literal;)*) => {
        $(#[test]
        fn $name() {
            assert_every_message_goes_back_and_forth($agent, $set);
        })*
    };
}

recordings! {
    claude_code_three_messages_and_background_agent: "claude-code", "claude-code-2.1.329";
    claude_code_with_a_turn_that_was_interrupted: "claude-code", "claude-code-2.1.329-interactive";
    claude_code_message_typed_during_a_tool: "claude-code", "claude-code-2.1.329-queued-message";
    claude_code_with_calls_that_it_refused: "claude-code", "claude-code-2.1.329-refused";
    claude_code_newest_with_a_sub_agent: "claude-code", "claude-code-2.1.332";
    codex_two_messages_and_parallel_tools: "codex", "codex-0.169.0";
    codex_with_a_turn_that_was_interrupted: "codex", "codex-0.169.0-interactive-interrupt";
    codex_that_was_stopped: "codex", "codex-0.169.0-interrupt";
    codex_with_a_sub_agent: "codex", "codex-0.169.0-subagent";
    codex_newest_with_a_sub_agent: "codex", "codex-0.171.0";
    gemini_cli_three_messages_and_sub_agent: "gemini-cli", "gemini-cli-0.61.0";
    gemini_cli_with_a_turn_that_was_interrupted: "gemini-cli", "gemini-cli-0.61.0-interactive-interrupt";
    qwen_code_three_messages_and_background_agent: "qwen-code", "qwen-code-0.24.4";
    qwen_code_with_a_turn_that_was_interrupted: "qwen-code", "qwen-code-0.24.4-interactive-interrupt";
    copilot_cli_three_messages_and_sub_agent: "copilot-cli", "copilot-cli-1.0.102";
    copilot_cli_message_without_a_hook: "copilot-cli", "copilot-cli-1.0.102-interactive-steer";
    opencode_with_three_messages_and_a_sub_agent: "opencode", "opencode-1.18.33";
    kilo_with_three_messages_and_a_sub_agent: "kilo", "kilo-7.7.7";
    cline_with_three_messages_and_a_sub_agent: "cline", "cline-cli-3.0.65";
    cline_message_sent_during_a_tool: "cline", "cline-cli-3.0.65-interactive-steer";
    pi_with_messages_and_tools_beside_each_other: "pi", "pi-0.73.1";
    pi_newest_whose_turns_settle: "pi", "pi-1.6.0";
    grok_three_messages_and_sub_agent: "grok", "grok-1.0.41";
    kimi_code_three_messages_and_sub_agent: "kimi-code", "kimi-code-2.1.0";
    codebuddy_three_messages_and_sub_agent: "codebuddy", "codebuddy-2.163.0";
    droid_three_runs_without_a_prompt: "droid", "droid-0.225.2";
}

/// An event is booked to the agent that sent it, once, whoever's settings it came by.
///
/// Grok Build reads the settings of Claude Code and of Cursor. Where it has an entry of its own, each event comes by all
/// of them; where it has none, it is Grok Build's all the same.
///
/// Invariant `agent/sender`: An event is booked to the agent that sent it, once, whatever `--agent` says.
#[test]
fn event_is_booked_to_its_sender_once() {
    for (settings, agent, set) in [
        (&["claude-code"][..], "grok", "grok-1.0.41"),
        (&["claude-code", "grok"], "grok", "grok-1.0.41"),
        (&["grok", "claude-code", "cursor"], "grok", "grok-1.0.41"),
        (
            &["claude-code", "codebuddy"],
            "codebuddy",
            "codebuddy-2.163.0",
        ),
        (&["claude-code", "droid"], "droid", "droid-0.225.2"),
        (
            &["grok", "claude-code"],
            "claude-code",
            "claude-code-2.1.329",
        ),
        (
            &["claude-code", "qwen-code"],
            "qwen-code",
            "qwen-code-0.24.4",
        ),
    ] {
        goes_back_and_forth(settings, agent, set);
    }
}

/// A recording that nobody plays proves nothing.
#[test]
fn every_recording_is_played() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/agents");
    for entry in std::fs::read_dir(folder).expect("the recordings are there") {
        let name = entry
            .expect("readable")
            .file_name()
            .into_string()
            .expect("a plain name");
        assert!(
            include_str!("mod.rs").contains(&format!("\"{name}\";")),
            "{name} has a line above"
        );
    }
}

/// Events without any id that come twice make no second message and no second change.
#[test]
fn doubled_events_without_ids_are_one() {
    let world = Sandbox::new();
    world.write("menu", "soup\n");
    let twice = |event: &str, extra: Value| {
        let mut payload = serde_json::json!({"session_id": "s", "cwd": world.workspace()});
        payload
            .as_object_mut()
            .expect("an object")
            .extend(extra.as_object().expect("an object").clone());
        for _ in 0..2 {
            let call = ["event", "--agent", "gemini-cli", "--event", event];
            world
                .run(&call, payload.to_string().as_bytes())
                .ends_silently();
        }
    };
    let tool =
        serde_json::json!({"tool_name": "run_shell_command", "tool_input": {"command": "x"}});
    twice(
        "BeforeAgent",
        serde_json::json!({"prompt": "salad, please"}),
    );
    twice("BeforeModel", serde_json::json!({}));
    twice("BeforeTool", tool.clone());
    world.write("menu", "salad\n");
    twice("AfterTool", tool);
    twice("BeforeModel", serde_json::json!({}));
    twice("AfterAgent", serde_json::json!({"prompt": "salad, please"}));
    let log = world.json(&["log"]);
    assert_eq!(
        log["messages"].as_array().map(Vec::len),
        Some(1),
        "one message: {log}"
    );
    assert_eq!(
        (
            &log["messages"][0]["files"],
            &log["messages"][0]["additions"]
        ),
        (&1.into(), &1.into()),
        "{log}"
    );
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert_eq!(world.read("menu"), b"soup\n", "and it goes back");
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.read("menu"), b"salad\n", "and forth");
}
