//! The plugin that several agents share tells them apart by what they send.

use std::fs;

use serde_json::{Value, json};

use super::*;

/// Reads a payload through the shared plugin, in a process with these variables.
fn parse_shared(event: &str, payload: &Value, variables: &[(&str, &str)]) -> Parsed {
    let environment = |name: &str| -> Option<OsString> {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| OsString::from(value))
    };
    let context = context_of(&environment);
    parse(
        "plugin",
        Some(event),
        payload.to_string().as_bytes(),
        &context,
    )
}

/// Every payload of a recording, with its event's name.
fn payloads(set: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/agents")
        .join(set);
    let files = fs::read_dir(folder)
        .expect("the recording is there")
        .map(|entry| entry.expect("readable").path());
    let json = files.filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    json.map(|file| {
        let name = file
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a plain name");
        let event = name
            .split_once('-')
            .expect("a number and a name")
            .1
            .to_owned();
        (
            event,
            serde_json::from_str(&fs::read_to_string(file).expect("readable")).expect("JSON"),
        )
    })
    .collect()
}

/// Each agent is told by what it sends and means the same as by its own hook.
#[test]
fn plugins_events_equal_those_of_agents_own_hooks() {
    for (agent, set, session, others) in [
        (
            "claude-code",
            "claude-code-2.1.329",
            Some("CLAUDE_CODE_SESSION_ID"),
            &[("CLAUDECODE", "1")][..],
        ),
        (
            "codex",
            "codex-0.169.0",
            None,
            &[("PLUGIN_ROOT", "/p"), ("CLAUDE_PLUGIN_DATA", "/d")],
        ),
        (
            "codex",
            "codex-0.169.0-subagent",
            None,
            &[("PLUGIN_ROOT", "/p"), ("CLAUDE_PLUGIN_DATA", "/d")],
        ),
        (
            "qwen-code",
            "qwen-code-0.24.4",
            Some("QWEN_CODE_SESSION_ID"),
            &[],
        ),
        ("qwen-code", "qwen-code-0.24.4", None, &[]),
    ] {
        for (event, payload) in payloads(set) {
            let id = payload["session_id"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let mut variables = others.to_vec();
            variables.extend(session.map(|name| (name, id.as_str())));
            let means = |parsed: Parsed| (parsed.events, parsed.problems, parsed.unknown.is_some());
            let own = parse_alone(agent, Some(&event), payload.to_string().as_bytes());
            assert_eq!(
                means(parse_shared(&event, &payload, &variables)),
                means(own),
                "{agent}: {event} means the same"
            );
        }
    }
}

/// An agent inside another one's shell is known for itself.
#[test]
fn agent_in_another_ones_shell_is_itself() {
    let claude = json!({"session_id": "s", "cwd": "/w", "prompt": "hello"});
    let copilot = json!({"session_id": "s", "cwd": "/w", "prompt": "hello", "timestamp": "2026-11-20T15:19:43.664Z"});
    let agent = |payload: &Value, variables: &[(&str, &str)]| {
        parse_shared("UserPromptSubmit", payload, variables).events[0]
            .agent
            .clone()
    };
    let inside_copilot = [
        ("COPILOT_CLI", "1"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_SESSION_ID", "s"),
    ];
    assert_eq!(
        agent(&claude, &inside_copilot),
        "claude-code",
        "the session is its own"
    );
    let inside_claude = [
        ("COPILOT_CLI", "1"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_SESSION_ID", "another"),
    ];
    assert_eq!(
        agent(&copilot, &inside_claude),
        "copilot-cli",
        "the session is not the one around it"
    );
}
