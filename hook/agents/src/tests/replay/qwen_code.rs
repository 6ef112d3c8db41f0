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
