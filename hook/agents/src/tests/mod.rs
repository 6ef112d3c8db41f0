//! What agents really sent, and what could go wrong with it.

mod any_bytes;
mod bad_input;
mod documented;
mod pages;
mod plugin;
mod replay;
mod sender;

use std::ffi::OsString;
use std::path::Path;

use ckpt_schema::event::{EventKind, ToolKind};

use super::*;

/// Returns the context of a payload in a process with these variables and no files.
pub fn context_of(environment: &dyn Fn(&str) -> Option<OsString>) -> PayloadContext<'_> {
    PayloadContext {
        cwd: Path::new("/hook"),
        environment,
        first_line: &|_| None,
        last_lines: &|_| Vec::new(),
        names_in: &|_| Vec::new(),
        agent_process: &|| None,
    }
}

/// Parses a payload with an empty environment.
fn parse_alone(agent: &str, event: Option<&str>, payload: &[u8]) -> Parsed {
    parse(agent, event, payload, &context_of(&|_| None))
}

/// An agent that was seen to tell of tools says so from its first event on.
#[test]
fn agent_seen_to_report_tools_says_so_first() {
    let start = |agent: &str, more: &str| {
        let name = if agent == GENERIC {
            "session_start"
        } else {
            "SessionStart"
        };
        let payload = format!(r#"{{"session_id":"s"{more}}}"#);
        let parsed = parse_alone(agent, Some(name), payload.as_bytes());
        parsed.events.first().map(|event| event.tells_of_tools)
    };
    for agent in ["claude-code", "codex", "gemini-cli", "qwen-code"] {
        assert_eq!(start(agent, ""), Some(true), "{agent}");
    }
    assert_eq!(start("plugin", ""), Some(true), "it speaks for one of them");
    assert_eq!(start("droid", ""), Some(false), "nobody has seen it");
    let copilot = br#"{"sessionId":"s","timestamp":1}"#;
    let parsed = parse_alone("copilot-cli", Some("sessionStart"), copilot);
    let says = parsed.events.first().map(|event| event.tells_of_tools);
    assert_eq!(
        says,
        Some(false),
        "it is not asked for what comes before a tool"
    );
    let said = r#","tells_of_tools":true"#;
    assert_eq!(start("droid", said), Some(false), "no payload says it");
    assert_eq!(start(GENERIC, ""), Some(false));
    assert_eq!(
        start(GENERIC, r#","agent":"codex""#),
        Some(false),
        "a name says nothing"
    );
    assert_eq!(start(GENERIC, said), Some(true), "a script says it itself");
    for agent in all() {
        assert!(
            !agent.tells_of_tools || !agent.proven_on.is_empty(),
            "{}: where it was seen at work",
            agent.name
        );
    }
}

/// The end of a step names its tools and what each can have changed.
#[test]
fn steps_end_names_its_tools_and_their_reach() {
    let payload = br#"{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":[
        {"tool_name":"Write","tool_input":{"file_path":"/w/a","content":"x"},"tool_use_id":"t1","tool_response":"done"},
        {"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t2","tool_response":"done"},
        {"tool_name":"Read","tool_input":{"file_path":"/w/b"},"tool_use_id":"t3","tool_response":"x"},
        {"tool_name":"Edit","tool_input":{"file_path":"/w/c"},"tool_use_id":"t4",
         "tool_response":"<tool_use_error>File has been modified since read</tool_use_error>"},
        {"tool_name":"Bash","tool_input":{"command":"ckpt-hook inside revert"},"tool_use_id":"t5","tool_response":"x"},
        {"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t6",
         "tool_response":"<tool_use_error>Error calling tool (Bash): spawn failed</tool_use_error>"},
        {"tool_name":"Bash"}]}"#;
    let parsed = parse_alone("claude-code", None, payload);
    let [finish] = &parsed.events[..] else {
        panic!("one event: {parsed:?}")
    };
    let tools: Vec<_> = finish
        .tools
        .iter()
        .map(|tool| (tool.tool_use_id.as_str(), tool.tool_kind))
        .collect();
    assert_eq!(
        tools,
        [
            ("t1", Some(ToolKind::Edit)),
            ("t2", None),
            ("t3", Some(ToolKind::Read)),
            // It was refused before it ran, and no event told of it.
            ("t4", Some(ToolKind::Read)),
            // Its operation says what it did.
            ("t5", Some(ToolKind::Read)),
            // The agent failed, and the tool may have begun.
            ("t6", None),
        ],
        "one without an id cannot be told apart"
    );
    assert_eq!(finish.tools[0].paths, [Path::new("/w/a")]);
    let said = br#"{"event":"step_finish","session_id":"s","tools":[{"tool_use_id":"t1","paths":["a"],"tool_kind":"edit"}, 7]}"#;
    let parsed = parse_alone(GENERIC, None, said);
    let tools = parsed.events.iter().flat_map(|event| &event.tools);
    let tools: Vec<_> = tools
        .map(|tool| (&*tool.tool_use_id, tool.tool_kind))
        .collect();
    assert_eq!(
        tools,
        [("t1", Some(ToolKind::Edit))],
        "a script says it itself"
    );
}

/// The end of a turn says whether every tool of it has ended where only ends are told.
#[test]
fn turns_end_says_whether_all_tools_ended() {
    let says = |agent: &str, event: &str, payload: &str| {
        let parsed = parse_alone(agent, Some(event), payload.as_bytes());
        parsed.events.iter().any(|event| event.has_told_of_ends)
    };
    let ended = r#"{"sessionId":"s","stopReason":"end_turn"}"#;
    assert!(says("copilot-cli", "agentStop", ended));
    let style = r#"{"session_id":"s","stop_reason":"end_turn"}"#;
    assert!(says("copilot-cli", "Stop", style), "in both styles");
    let cut = r#"{"sessionId":"s","stopReason":"aborted"}"#;
    assert!(
        !says("copilot-cli", "agentStop", cut),
        "a tool may be cut off"
    );
    assert!(!says("copilot-cli", "postToolUse", ended));
    assert!(
        !says("claude-code", "Stop", style),
        "it tells of starts, too"
    );
}

/// The start of a task of Cline begins anew and its first tool does not.
#[test]
fn clines_task_begins_anew_not_its_tool() {
    let meaning = |event: &str, more: &str| {
        let payload = format!(r#"{{"taskId":"t","sessionContext":{{"rootSessionId":"s"}}{more}}}"#);
        let parsed = parse_alone("cline", Some(event), payload.as_bytes());
        let events = parsed.events.into_iter();
        let events = events.map(|event| (event.event, event.begins_anew));
        events.collect::<Vec<_>>()
    };
    let message = EventKind::UserMessage;
    assert_eq!(meaning("TaskStart", ""), [(message, true)]);
    assert_eq!(meaning("TaskResume", ""), [(message, true)]);
    let first = r#","iteration":1,"tool_call":{"id":"c","name":"bash","input":{}}"#;
    assert_eq!(
        meaning("PreToolUse", first),
        [(message, false), (EventKind::ToolStart, false)],
        "several tools of the first call of the model report the message"
    );
    let queued = r#","userPromptSubmit":{"prompt":"and this"}"#;
    assert_eq!(meaning("UserPromptSubmit", queued), [(message, false)]);
}

/// The end of a tool that waited for a sub-agent ends that.
///
/// Had the sub-agent's own end been lost, it would seem to be at work, and every revert would be refused.
#[test]
fn waiting_tools_end_ends_its_sub_agent() {
    let ends = |event: &str, tool: &str, response: &str| {
        let payload = format!(
            r#"{{"session_id":"s","cwd":"/w","tool_name":"{tool}","tool_use_id":"t","tool_input":{{}},"tool_response":{response}}}"#
        );
        let parsed = parse_alone("claude-code", Some(event), payload.as_bytes());
        let events = parsed.events.into_iter();
        let events = events.map(|event| (event.event, event.session_id, event.parent_session_id));
        events.collect::<Vec<_>>()
    };
    let tool = (EventKind::ToolFinish, "s".to_owned(), None);
    let sub_agent = (EventKind::TurnEnd, "s/a1".to_owned(), Some("s".to_owned()));
    let completed = r#"{"status":"completed","agentId":"a1","content":[]}"#;
    for name in ["Agent", "Task"] {
        assert_eq!(
            ends("PostToolUse", name, completed),
            [sub_agent.clone(), tool.clone()]
        );
    }
    let launched = r#"{"isAsync":true,"status":"async_launched","agentId":"a1"}"#;
    for (event, name, response, end) in [
        ("PostToolUse", "Agent", launched, Some(tool.clone())),
        ("PostToolUse", "Bash", completed, Some(tool.clone())),
        ("PostToolUse", "Agent", r#""completed""#, Some(tool)),
        ("SubagentStop", "Agent", completed, None),
    ] {
        let told = ends(event, name, response);
        assert_eq!(told.len(), 1, "{event} {name} {response}: {told:?}");
        assert!(end.is_none_or(|end| told == [end]), "{event} {name}");
    }
}
