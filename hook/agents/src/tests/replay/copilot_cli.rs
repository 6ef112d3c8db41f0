//! Copilot CLI.

use super::*;

/// A sub-agent that is not called one is known by the folders of sessions.
///
/// What 1.0.92 sent, in short.
#[test]
fn unnamed_sub_agent_is_known_by_session_folders() {
    let meaning = |version: &'static str, event: &str, session: &str, agent_id: Option<&str>| {
        let environment = |name: &str| match name {
            "HOME" => Some(OsString::from("/home/ada")),
            "COPILOT_CLI_BINARY_VERSION" => Some(OsString::from(version)),
            _ => None,
        };
        let names = |folder: &Path| -> Vec<String> {
            let names: &[&str] = match folder.to_str() {
                Some("/home/ada/.copilot/session-state") => &["users", "older"],
                Some("/home/ada/.copilot/session-state/users") => &["events.jsonl", "inuse.7.lock"],
                Some("/home/ada/.copilot/session-state/older") => &["inuse.77.lock"],
                _ => &[],
            };
            names.iter().copied().map(str::to_owned).collect()
        };
        let context = PayloadContext {
            names_in: &names,
            agent_process: &|| Some(7),
            ..context_of(&environment)
        };
        let payload = serde_json::json!({"sessionId": session, "timestamp": 1, "prompt": "x", "toolName": "bash", "agentId": agent_id});
        let payload = payload.to_string();
        let parsed = parse("copilot-cli", Some(event), payload.as_bytes(), &context);
        let about = |event: &Event| {
            let parent = event.parent_session_id.as_deref().unwrap_or("-");
            format!("{} {} {parent}", event.event.name(), event.session_id)
        };
        parsed
            .events
            .iter()
            .map(about)
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (event, session, agent_id, means) in [
        (
            "userPromptSubmitted",
            "users",
            None,
            "user_message users -, step_start users -",
        ),
        ("subagentStart", "users", None, ""),
        ("userPromptSubmitted", "task", None, ""),
        (
            "postToolUse",
            "task",
            None,
            "tool_finish users/task users, step_start users/task users",
        ),
        ("agentStop", "task", None, "turn_end users/task users"),
        (
            "subagentStop",
            "users",
            Some("task"),
            "turn_end users/task users",
        ),
        ("subagentStop", "users", None, ""),
        ("agentStop", "users", None, "turn_end users -"),
    ] {
        assert_eq!(
            meaning("1.0.92", event, session, agent_id),
            means,
            "{event} of {session}"
        );
    }
    assert_eq!(
        meaning("1.0.102", "userPromptSubmitted", "task", None),
        "user_message task -, step_start task -",
        "a version that says what is a sub-agent's is believed"
    );
}

/// A message that no hook is told of is found in the record of the session.
///
/// What 1.0.102 writes, in short.
#[test]
fn message_without_hook_is_found_in_the_record() {
    const FIRST: &str = r#"{"type":"user.message","data":{"content":"TURN-ONE","delivery":"idle"},"id":"i1","timestamp":"2026-11-25T10:59:42.648Z"}"#;
    const STEERED: &str = r#"{"type":"user.message","data":{"content":"TURN-TWO","delivery":"steering"},"id":"i2","timestamp":"2026-11-25T10:59:45.776Z"}"#;
    let meaning = |event: &str, session: &str, record: &'static [&'static str]| {
        let environment = |name: &str| (name == "COPILOT_HOME").then(|| OsString::from("/c"));
        let lines = |file: &Path| -> Vec<String> {
            let is_it = file == Path::new("/c/session-state/s-1/events.jsonl");
            let record = if is_it { record } else { &[] };
            record.iter().copied().map(str::to_owned).collect()
        };
        let context = PayloadContext {
            last_lines: &lines,
            ..context_of(&environment)
        };
        let payload = serde_json::json!({"sessionId": session, "toolName": "bash", "prompt": "x"});
        let payload = payload.to_string();
        let parsed = parse("copilot-cli", Some(event), payload.as_bytes(), &context);
        assert_eq!(parsed.problems, [""; 0], "{event}");
        let about = |event: &Event| {
            let of_message = event.given_at.map(|given| {
                let words = event.prompt.as_deref().unwrap_or_default();
                let id = event.message_id.as_deref().unwrap_or_default();
                format!(" {id} {words} {given} {:?}", event.tool_name)
            });
            event.event.name().to_owned() + &of_message.unwrap_or_default()
        };
        let told: Vec<String> = parsed.events.iter().map(about).collect();
        told.join(", ")
    };
    let told = "user_message i2 TURN-TWO 1795604385776 None";
    for (event, record, means) in [
        (
            "postToolUse",
            &[FIRST][..],
            "tool_finish, step_start".to_owned(),
        ),
        (
            "postToolUse",
            &[FIRST, "{\"type\"", STEERED],
            format!("{told}, tool_finish, step_start"),
        ),
        (
            "postToolUseFailure",
            &[STEERED],
            format!("{told}, tool_finish, step_start"),
        ),
        ("agentStop", &[STEERED], format!("{told}, turn_end")),
        // It belongs to a turn that has ended.
        (
            "postToolUse",
            &[STEERED, FIRST],
            "tool_finish, step_start".to_owned(),
        ),
        (
            "userPromptSubmitted",
            &[STEERED],
            "user_message, step_start".to_owned(),
        ),
    ] {
        assert_eq!(
            meaning(event, "s-1", record),
            means,
            "{event} after {record:?}"
        );
    }
    for not_a_users in [
        r#"{"type":"user.message","data":{"content":"/ckpt-revert","delivery":"steering"},"id":"i","timestamp":"2026-11-25T10:59:45.776Z"}"#,
        r#"{"type":"user.message","data":{"content":"<system_notification>done","delivery":"steering"},"id":"i","timestamp":"2026-11-25T10:59:45.776Z"}"#,
        r#"{"type":"user.message","data":{"content":"when?","delivery":"steering"},"id":"i","timestamp":"soon"}"#,
        r#"{"type":"tool","data":{"content":"\"user.message\"","delivery":"steering"},"id":"i","timestamp":"2026-11-25T10:59:45.776Z"}"#,
    ] {
        let record: &'static [&'static str] = Box::leak(Box::new([not_a_users]));
        let means = meaning("postToolUse", "s-1", record);
        assert_eq!(means, "tool_finish, step_start", "{not_a_users}");
    }
    let elsewhere = meaning("postToolUse", "../session-state/s-1", &[STEERED]);
    assert_eq!(elsewhere, "tool_finish, step_start", "no id is a path");
}

/// No payload of a session's first turn names the file, and Esc stands nowhere else.
#[test]
fn record_of_a_session_follows_from_its_id() {
    let environment = |name: &str| (name == "HOME").then(|| OsString::from("/home/ada"));
    let context = context_of(&environment);
    let record = |session: &str, named: Option<&str>| {
        let payload = serde_json::json!({"sessionId": session, "timestamp": 1, "prompt": "x", "transcriptPath": named});
        let payload = payload.to_string();
        let event = Some("userPromptSubmitted");
        let parsed = parse("copilot-cli", event, payload.as_bytes(), &context);
        parsed.events[0].transcript_path.clone()
    };
    let known = Path::new("/home/ada/.copilot/session-state/a-1/events.jsonl");
    assert_eq!(record("a-1", None).as_deref(), Some(known));
    assert_eq!(record("../a", None), None, "an id that is no name");
    let named = Path::new("/elsewhere.jsonl");
    assert_eq!(record("a-1", named.to_str()).as_deref(), Some(named));
}
