//! Qwen Code.

use ckpt_schema::event::EventKind;

use crate::tests::parse_alone;

/// Qwen Code's list of background tasks does not end a shell that goes on.
///
/// As 0.24.4 sends them while the shell goes on.
#[test]
fn qwen_codes_task_list_ends_no_shell() {
    let background = |event: &str, more: &str| {
        let payload =
            format!(r#"{{"session_id":"s","cwd":"/w","hook_event_name":"{event}",{more}}}"#);
        let parsed = parse_alone("qwen-code", None, payload.as_bytes());
        let [event] = parsed.events.as_slice() else {
            panic!("one event, not {parsed:?}")
        };
        (event.event, event.background)
    };
    let shell = r#""tool_name":"run_shell_command","tool_use_id":"t","tool_input":{"command":"make","is_background":true}"#;
    assert_eq!(
        background("PostToolUse", shell),
        (EventKind::ToolFinish, Some(true))
    );
    let nothing_told = (EventKind::TurnEnd, None);
    assert_eq!(background("Stop", r#""background_tasks":[]"#), nothing_told);
}

/// A message is what was typed, without what Qwen Code says to its model before it.
#[test]
fn reminder_before_a_prompt_is_left_out() {
    let of = |prompt: &str| {
        let payload = serde_json::json!({"session_id": "s", "cwd": "/w",
            "hook_event_name": "UserPromptSubmit", "prompt": prompt});
        let parsed = parse_alone("qwen-code", None, payload.to_string().as_bytes());
        parsed.events[0].prompt.clone()
    };
    let reminder = "<system-reminder>\n1 background agent was restored.\n</system-reminder>\n\n";
    assert_eq!(of(&format!("{reminder}fix it")).as_deref(), Some("fix it"));
    let own = "what is <system-reminder>?";
    assert_eq!(of(own).as_deref(), Some(own), "the user's own words");
}

/// A message is what was typed, without the files that it names.
///
/// Gemini CLI adds them to what it tells its hooks as well.
#[test]
fn files_in_a_prompt_are_left_out() {
    let prompt = |agent: &str, event: &str, typed: &str| {
        let files = "\n--- Content from referenced files ---\nContent from @README.md:\n# Title\n--- End of content ---";
        let payload = serde_json::json!({"session_id": "s", "cwd": "/w", "hook_event_name": event,
            "prompt": format!("{typed}{files}")});
        let parsed = parse_alone(agent, None, payload.to_string().as_bytes());
        parsed.events[0].prompt.clone()
    };
    for (agent, event) in [
        ("qwen-code", "UserPromptSubmit"),
        ("gemini-cli", "BeforeAgent"),
    ] {
        let typed = "sum up @README.md";
        assert_eq!(prompt(agent, event, typed).as_deref(), Some(typed));
    }
}
