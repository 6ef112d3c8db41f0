//! Payloads as documentation describes them, of agents that were not seen at work, and rules that recordings do not
//! show.

use std::path::Path;

use ckpt_schema::event::EventKind::{
    self, SessionStart, StepFinish, StepStart, ToolFinish, ToolStart, TurnEnd, UserMessage,
};
use serde_json::{Value, json};

use super::*;

pub fn events(agent: &str, event: Option<&str>, payload: &Value) -> Vec<ckpt_schema::event::Event> {
    let parsed = parse_alone(agent, event, payload.to_string().as_bytes());
    assert_eq!(
        parsed.problems,
        Vec::<String>::new(),
        "{agent} sends it so: {payload}"
    );
    parsed.events
}

fn kinds(agent: &str, event: Option<&str>, payload: &Value) -> Vec<EventKind> {
    events(agent, event, payload)
        .iter()
        .map(|event| event.event)
        .collect()
}

#[test]
fn every_agent_of_the_design_is_known() {
    let names: Vec<_> = all().map(|agent| agent.name).collect();
    let of_the_design = [
        "claude-code",
        "codex",
        "gemini-cli",
        "qwen-code",
        "copilot-cli",
        "opencode",
        "kilo",
        "cline",
        "pi",
        "cursor",
        "windsurf",
        "droid",
        "goose",
        "vscode",
        "grok",
        "kimi-code",
        "codebuddy",
        "qoder",
        "auggie",
        "openhands",
        "kiro",
        "antigravity",
    ];
    assert!(
        of_the_design.iter().all(|name| names.contains(name)),
        "{names:?}"
    );
}

#[test]
fn cursor_names_its_roots_and_its_generation() {
    let payload = json!({
        "hook_event_name": "beforeSubmitPrompt", "conversation_id": "c", "generation_id": "g", "prompt": "do it",
        "workspace_roots": ["/w", "/other"],
    });
    let text = format!("\u{feff}{payload}");
    let parsed = parse_alone("cursor", None, text.as_bytes());
    let event = &parsed.events[0];
    assert_eq!(
        (
            event.event,
            event.session_id.as_str(),
            event.turn_id.as_deref()
        ),
        (UserMessage, "c", Some("g")),
        "ids"
    );
    assert_eq!(
        event.cwd.as_deref(),
        Some(Path::new("/w")),
        "the first root"
    );
    let payload =
        json!({"hook_event_name": "afterFileEdit", "conversation_id": "c", "file_path": "/w/a"});
    assert_eq!(
        kinds("cursor", None, &payload),
        [StepFinish],
        "an edit ends a step"
    );
}

#[test]
fn windsurf_says_everything_in_its_tool_info() {
    let text = "{\"agent_action_name\":\"pre_user_prompt\",\"trajectory_id\":\"t\",\"execution_id\":\"e\",\
                \"tool_info\":{\"user_prompt\":\"two\nlines\",\"cwd\":\"/w\"}}";
    let parsed = parse_alone("windsurf", None, text.as_bytes());
    let event = &parsed.events[0];
    assert_eq!(
        (event.prompt.as_deref(), event.cwd.as_deref()),
        (Some("two\nlines"), Some(Path::new("/w"))),
        "read"
    );
    let payload = json!({"agent_action_name": "pre_write_code", "trajectory_id": "t", "tool_info": {"file_path": "/w/a"}});
    assert_eq!(
        events("windsurf", None, &payload)[0].paths,
        [Path::new("/w/a")],
        "the file is named before the edit"
    );
}

#[test]
fn goose_calls_the_prompt_a_message() {
    let payload = json!({"event": "UserPromptSubmit", "session_id": "s", "message": "do it"});
    let event = &events("goose", None, &payload)[0];
    assert_eq!(
        (event.event, event.prompt.as_deref()),
        (UserMessage, Some("do it")),
        "the words"
    );
    let payload = json!({"event": "PostToolUse", "session_id": "s", "tool_call_id": "u", "working_dir": "/w"});
    let events = events("goose", None, &payload);
    assert_eq!(
        events[1].step_id.as_deref(),
        Some("tool:u"),
        "a step ends with its tool"
    );
    assert_eq!(
        events[0].cwd.as_deref(),
        Some(Path::new("/w")),
        "the tool's directory"
    );
}

#[test]
fn droid_and_vscode_follow_claude_codes_shape() {
    for (agent, tool) in [("droid", "Create"), ("vscode", "create_file")] {
        let payload =
            json!({"sessionId": "s", "toolName": tool, "tool_input": {"filePath": "/w/a"}});
        assert_eq!(
            events(agent, Some("PreToolUse"), &payload)[0].paths,
            [Path::new("/w/a")],
            "{agent}: the file"
        );
        assert_eq!(
            kinds(agent, Some("PostToolUse"), &payload),
            [ToolFinish, StepFinish],
            "{agent}: a step ends"
        );
        assert_eq!(
            kinds(agent, Some("SubagentStop"), &payload),
            [],
            "{agent}: nobody's end"
        );
    }
}

#[test]
fn copilot_speaks_in_claude_codes_names_too() {
    let payload = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/w", "prompt": "do it"});
    assert_eq!(
        kinds("copilot-cli", None, &payload),
        [UserMessage, StepStart],
        "Pascal case; a tool may run from now on"
    );
    let payload = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "<system_notification>x"});
    assert_eq!(
        kinds("copilot-cli", None, &payload),
        [],
        "no user wrote that"
    );
}

/// Copilot that starts a session with a message tells of it once.
///
/// As 1.0.86 sends them: the start comes after the message, and must not end the step that is open since.
#[test]
fn copilots_first_message_is_told_once() {
    let message = json!({"sessionId": "s", "timestamp": 1, "cwd": "/w", "prompt": "do it"});
    let start = json!({"sessionId": "s", "timestamp": 2, "cwd": "/w", "source": "new", "initialPrompt": "do it"});
    let alone = json!({"sessionId": "s", "timestamp": 2, "cwd": "/w", "source": "new"});
    let told = |event, payload| kinds("copilot-cli", Some(event), payload);
    assert_eq!(
        told("userPromptSubmitted", &message),
        [UserMessage, StepStart]
    );
    assert_eq!(told("sessionStart", &start), [], "that came before");
    assert_eq!(
        told("sessionStart", &alone),
        [SessionStart],
        "nothing was sent yet"
    );
}

/// Every edit tool that a page names tells its file and a tool that reads tells none.
#[test]
fn documented_edit_tools_tell_their_files() {
    for (agent, event, tool, field) in [
        ("claude-code", "PreToolUse", "Write", "file_path"),
        ("claude-code", "PreToolUse", "Edit", "file_path"),
        ("claude-code", "PreToolUse", "MultiEdit", "file_path"),
        ("claude-code", "PreToolUse", "NotebookEdit", "notebook_path"),
        ("gemini-cli", "BeforeTool", "write_file", "file_path"),
        ("gemini-cli", "BeforeTool", "replace", "file_path"),
    ] {
        let named = |tool: &str, field: &str| {
            let payload = json!({"hook_event_name": event, "session_id": "s", "tool_name": tool, "tool_input": {field: "/w/a"}});
            events(agent, Some(event), &payload)[0].paths.clone()
        };
        assert_eq!(named(tool, field), [Path::new("/w/a")], "{agent}: {tool}");
        for reads in ["Read", "read_file"] {
            assert_eq!(named(reads, field), [""; 0].map(Path::new), "{agent}");
        }
    }
}

#[test]
fn codex_names_the_files_of_a_patch() {
    let patch = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: old\n*** Move to: new\n@@\n*** Delete File: gone\n*** End Patch";
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "apply_patch", "tool_input": {"command": patch}});
    let names = ["a b.txt", "old", "new", "gone"].map(Path::new);
    assert_eq!(
        events("codex", None, &payload)[0].paths,
        names,
        "each file that the patch touches"
    );
}

#[test]
fn qwen_codes_empty_prompt_is_the_next_step() {
    let with = |prompt: Value| json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt_id": "p", "prompt": prompt});
    assert_eq!(
        kinds("qwen-code", None, &with(json!(""))),
        [StepStart],
        "a continuation"
    );
    assert_eq!(
        kinds("qwen-code", None, &with(json!("and this"))),
        [UserMessage],
        "sent while the agent works"
    );
    assert_eq!(
        kinds("qwen-code", None, &with(json!("<task-notification>"))),
        [],
        "no user wrote that"
    );
}

#[test]
fn a_plugin_may_be_told_odd_things() {
    let payload = json!({"hook": "chat.message", "input": {"sessionID": "s"}, "output": {"parts": [1, {"type": "file"}]}});
    let event = &events("opencode", None, &payload)[0];
    assert_eq!(
        (event.message_id.as_deref(), event.prompt.as_deref()),
        (None, Some("")),
        "a message without words"
    );
    let payload = json!({"hook": "event.message.part.updated", "event": {"properties": {"part": {"type": "text"}}}});
    assert_eq!(
        kinds("kilo", None, &payload),
        [],
        "only the end of a step is one"
    );
    let parsed = parse_alone("opencode", None, br#"{"hook":"chat.params","input":{}}"#);
    assert_eq!(
        parsed.problems,
        ["an event of `opencode` came without a usable `sessionID`"],
        "it is reported"
    );
    let payload = json!({"hook": "agent_end", "ctx": {"sessionId": "s", "cwd": ""}});
    assert_eq!(kinds("pi", None, &payload), [TurnEnd], "Pi's names");
}

#[test]
fn clines_sub_agent_is_no_message() {
    let payload = json!({
        "sessionContext": {"rootSessionId": "r"}, "taskId": "t", "agent_id": "b", "parent_agent_id": "a", "iteration": 1,
    });
    let event = &events("cline", Some("TaskStart"), &payload)[0];
    assert_eq!(
        (
            event.event,
            event.session_id.as_str(),
            event.message_id.as_deref()
        ),
        (SessionStart, "r/b", None),
        "a session below"
    );
    assert_eq!(
        kinds("cline", Some("PreToolUse"), &payload),
        [ToolStart],
        "and its first tool brings no message"
    );
}

/// A context that is made shorter is no new start.
#[test]
fn compacted_context_is_no_new_start() {
    let payload =
        json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "compact"});
    for agent in ["claude-code", "codex", "qwen-code"] {
        assert_eq!(
            kinds(agent, None, &payload),
            [],
            "{agent}: the work goes on"
        );
    }
}

/// A sub-agent of Grok Build is below the session that started it, and its prompt is nobody's.
#[test]
fn groks_sub_agent_is_below_its_parent() {
    let start = json!({"hook_event_name": "SubagentStart", "session_id": "s", "subagentId": "c"});
    let event = &events("grok", None, &start)[0];
    assert_eq!(
        (
            event.session_id.as_str(),
            event.parent_session_id.as_deref()
        ),
        ("c", Some("s"))
    );
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "c", "subagentType": "explore", "prompt": "x"});
    assert_eq!(kinds("grok", None, &prompt), []);
}

/// Kiro names no session: its process is one.
#[test]
fn kiros_process_is_its_session() {
    let context = PayloadContext {
        agent_process: &|| Some(7),
        ..context_of(&|_| None)
    };
    let payload = br#"{"hook_event_name":"userPromptSubmit","cwd":"/w","prompt":"do it"}"#;
    let parsed = parse("kiro", None, payload, &context);
    assert_eq!(parsed.events[0].session_id, "process-7");
    assert_eq!(parsed.events[0].prompt.as_deref(), Some("do it"));
}
