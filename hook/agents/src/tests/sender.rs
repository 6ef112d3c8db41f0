//! The agent that sent a payload is told by what it sends.

use ckpt_schema::event::EventKind::UserMessage;
use serde_json::{Value, json};

use super::documented::events;
use super::*;

/// What an agent sends tells who it is, whatever the line that it was called by says.
#[test]
fn payload_tells_who_sent_it() {
    let grok = json!({"hookEventName": "stop", "hook_event_name": "Stop", "sessionId": "s", "workspaceRoot": "/w/"});
    let cursor = json!({"hook_event_name": "beforeSubmitPrompt", "conversation_id": "s", "cursor_version": "2.4", "prompt": "x"});
    let buddy = json!({"hook_event_name": "Stop", "session_id": "s", "client": "CLI", "version": "2.163.0", "generation_id": "g"});
    let droid = json!({"hook_event_name": "SessionStart", "session_id": "s", "CLAUDE_ENV_FILE": "/t/env.sh"});
    let kimi =
        json!({"hook_event_name": "Stop", "session_id": "s", "client_type": "kimi_code_cli"});
    let at =
        |path: &str| json!({"hook_event_name": "Stop", "session_id": "s", "transcript_path": path});
    let claude =
        json!({"hook_event_name": "Stop", "session_id": "s", "cwd": "/home/u/.grok/worktrees/w"});
    for (settings, payload, sender) in [
        ("claude-code", &grok, "grok"),
        ("cursor", &grok, "grok"),
        ("claude-code", &cursor, "cursor"),
        ("claude-code", &buddy, "codebuddy"),
        ("claude-code", &droid, "droid"),
        ("claude-code", &kimi, "kimi-code"),
        ("claude-code", &claude, "claude-code"),
        (
            "vscode",
            &at("/home/u/.copilot/session-state/s/events.jsonl"),
            "copilot-cli",
        ),
        (
            "claude-code",
            &at("/home/u/.config/Code/User/workspaceStorage/1/chat.jsonl"),
            "vscode",
        ),
        (
            "claude-code",
            &at("/home/u/.qoder/projects/w/s.jsonl"),
            "qoder",
        ),
        (
            "grok",
            &at("/home/u/.claude/projects/-home-u--grok-w/s.jsonl"),
            "claude-code",
        ),
        (
            "codex",
            &at("/home/u/.codex/worktrees/1/.claude/s.jsonl"),
            "codex",
        ),
        (
            "generic",
            &json!({"event": "turn_end", "session_id": "s", "client_type": "x"}),
            "generic",
        ),
    ] {
        let told = events(settings, None, payload);
        let agents: Vec<_> = told.iter().map(|event| event.agent.as_str()).collect();
        assert_eq!(agents, [sender], "by {settings}: {payload}");
    }
}

/// The variables that agents give to their shells, and with them to every agent that is started there. `SESSION` is
/// the id of the session.
const VARIABLES: [(&str, &[(&str, &str)]); 4] = [
    (
        "claude-code",
        &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "SESSION")],
    ),
    ("copilot-cli", &[("COPILOT_CLI", "1")]),
    ("grok", &[("GROK_SESSION_ID", "SESSION")]),
    ("qwen-code", &[("QWEN_CODE_SESSION_ID", "SESSION")]),
];

/// The agents whose settings others read, or that the lines of several share.
const READ_BY_OTHERS: [&str; 4] = ["claude-code", "cursor", "vscode", "plugin"];

/// Every payload that an agent was seen to send is its own, by the settings of another one and in another one's shell.
#[test]
fn recorded_payload_tells_who_sent_it() {
    let variables = |agent: &str| {
        let of_agent = VARIABLES.iter().find(|(name, _)| *name == agent);
        of_agent.map_or(&[][..], |(_, variables)| variables)
    };
    for (agent, folder) in replay::RECORDINGS {
        // Copilot CLI's own events have other names than those that it sends by another's settings.
        if crate::sender::OTHERS.contains(agent) || *agent == "copilot-cli" {
            continue;
        }
        for (number, event, payload) in replay::recording(folder) {
            let object: Value = serde_json::from_slice(&payload).expect("JSON");
            let session = object.get("session_id").and_then(Value::as_str);
            for (around, settings) in VARIABLES
                .iter()
                .flat_map(|(around, _)| READ_BY_OTHERS.map(|settings| (around, settings)))
            {
                let environment = |name: &str| {
                    let find = |of: &'static [(&str, &str)], session: &str| {
                        let (_, value) = of.iter().find(|(known, _)| *known == name)?;
                        Some(OsString::from(value.replace("SESSION", session)))
                    };
                    // The agent's own are set over those that it inherits.
                    find(variables(agent), session.unwrap_or_default())
                        .or_else(|| find(variables(around), "another"))
                };
                let parsed = parse(settings, Some(&event), &payload, &context_of(&environment));
                let own = parse(agent, Some(&event), &payload, &context_of(&|_| None));
                assert_eq!(
                    parsed.events, own.events,
                    "{folder}/{number}-{event} by the settings of {settings} in a shell of {around}"
                );
            }
        }
    }
}

/// An event that another agent's settings name in their way is read by the payload's own name.
#[test]
fn payloads_name_counts_behind_anothers_settings() {
    let grok = json!({
        "hookEventName": "user_prompt_submit", "hook_event_name": "UserPromptSubmit", "sessionId": "s",
        "workspaceRoot": "/w/", "promptId": "p", "prompt": "do it",
    });
    let told = events("cursor", Some("beforeSubmitPrompt"), &grok);
    let message = &told[0];
    assert_eq!(
        (message.event, message.message_id.as_deref()),
        (UserMessage, Some("p")),
        "each of its messages has an id"
    );
}

/// Copilot CLI is known behind other agents' hooks, in the shell of another agent, too; what it sends in their words is in
/// short what 1.0.102 sent. An agent in its shell is not taken for it.
#[test]
fn copilot_is_known_behind_anothers_hooks() {
    let claude = json!({"transcript_path": "/elsewhere/s.jsonl", "prompt": "x"});
    let record = json!({"transcript_path": "/elsewhere/s/events.jsonl", "stop_reason": "end_turn"});
    for (event, extra, agent) in [
        ("SessionStart", json!({"source": "new"}), "copilot-cli"),
        ("UserPromptSubmit", json!({"prompt": "x"}), "copilot-cli"),
        ("PreToolUse", json!({"tool_name": "Bash"}), "copilot-cli"),
        ("PostToolUse", json!({"tool_name": "Bash"}), "copilot-cli"),
        ("Stop", record, "copilot-cli"),
        ("SessionEnd", json!({"reason": "complete"}), "copilot-cli"),
        ("UserPromptSubmit", claude, "claude-code"),
    ] {
        let mut payload = json!({"hook_event_name": event, "session_id": "s", "cwd": "/w"});
        if agent == "copilot-cli" {
            payload["timestamp"] = "2026-11-28T00:01:03.212Z".into();
        }
        for (key, value) in extra.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        for around in ["", "CLAUDECODE", "GROK_SESSION_ID", "QWEN_CODE_SESSION_ID"] {
            let environment = |name: &str| {
                let is_set = name == "COPILOT_CLI" || name == around;
                is_set.then(|| OsString::from("1"))
            };
            for settings in ["claude-code", "plugin"] {
                let context = context_of(&environment);
                let payload = payload.to_string();
                let parsed = parse(settings, Some(event), payload.as_bytes(), &context);
                let agents: Vec<_> = parsed.events.iter().map(|event| &event.agent).collect();
                assert!(
                    !agents.is_empty() && agents.iter().all(|it| *it == agent),
                    "{event} by {settings} inside {around}: {agents:?}"
                );
            }
        }
    }
}
