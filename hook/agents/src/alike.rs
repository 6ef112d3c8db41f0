//! Agents whose payloads follow Claude Code's format: a row each, with what is their own.
//!
//! Those with versions in `proven_on` were seen in real runs, and what they send is in `tests/fixtures/agents`. The
//! others were written from their documentation or from their package. A step ends with its tool, or with the last of
//! those that run at the same time: none of these agents reports the end of a step.

use ckpt_schema::event::{Event, EventKind};

use super::payload::{Agent, PLAIN, Payload, shape};

/// Every such agent.
pub const AGENTS: [&Agent; 12] = [
    &GROK,
    &KIMI_CODE,
    &CODEBUDDY,
    &Agent {
        name: "cursor",
        kind: cursor_kind,
        edit_tools: &["Write", "Edit", "Delete", "MultiEdit"],
        ..PLAIN
    },
    // Its `SubagentStop` does not name the session that ended, so it is ignored. `droid exec` reports no prompt.
    &Agent {
        name: "droid",
        proven_on: &["0.225.2"],
        edit_tools: &["Create", "Edit", "MultiEdit", "ApplyPatch"],
        tell: additional_context,
        ..PLAIN
    },
    &Agent {
        name: "goose",
        prompt: "message",
        edit_tools: &["developer__text_editor", "text_editor"],
        ..PLAIN
    },
    &Agent {
        name: "vscode",
        edit_tools: &[
            "create_file",
            "replace_string_in_file",
            "insert_edit_into_file",
            "apply_patch",
        ],
        ..PLAIN
    },
    &Agent {
        name: "qoder",
        kind: shape::kind_with_sub_agents,
        tell: additional_context,
        adapt: without_machines,
        ..PLAIN
    },
    &Agent {
        name: "auggie",
        kind: |name| (name == "PromptSubmit").then_some(EventKind::UserMessage),
        prompt: "user_prompt",
        edit_tools: &["save-file", "str-replace-editor", "remove-files"],
        ..PLAIN
    },
    &Agent {
        name: "openhands",
        prompt: "message",
        edit_tools: &["file_editor", "str_replace_editor", "apply_patch"],
        ..PLAIN
    },
    &Agent {
        name: "kiro",
        kind: kiro_kind,
        edit_tools: &["fs_write", "write"],
        ..PLAIN
    },
    // It reports no prompt: the first step after a turn's end begins a message without words. All steps of a turn have the
    // same turn id, so that the others begin none.
    &Agent {
        name: "antigravity",
        translate: |agent, payload| {
            let mut events = shape::alike(agent, payload)?;
            let step = events.iter().find(|it| it.event == EventKind::StepStart);
            let message = step.map(|step| Event {
                event: EventKind::UserMessage,
                turn_id: Some(step.session_id.clone()),
                ..step.clone()
            });
            events.splice(..0, message);
            Ok(events)
        },
        kind: |name| (name == "PreInvocation").then_some(EventKind::StepStart),
        adapt: |payload, mut event| {
            let tool = payload.object().object("toolCall");
            event.tool_name = tool.and_then(|tool| tool.text("name"));
            Some(event)
        },
        ..PLAIN
    },
];

/// Grok Build. A sub-agent has a session of its own, which only `SubagentStart` connects with its parent's; its prompt
/// is reported, too. Each message has an id.
const GROK: Agent = Agent {
    name: "grok",
    proven_on: &["1.0.41"],
    kind: shape::kind_with_sub_agents,
    edit_tools: &["write", "search_replace"],
    tells_of_tools: true,
    adapt: |payload, mut event| {
        let sub_agent = payload.id(&["subagentId"]);
        match (event.event, sub_agent) {
            (EventKind::UserMessage, _) if payload.object().has("subagentType") => return None,
            // The step's tools belong to no turn that an event names.
            (EventKind::UserMessage, _) => event.message_id = event.turn_id.take(),
            (EventKind::SessionStart, Some(sub_agent)) => {
                event.parent_session_id = Some(event.session_id);
                event.session_id = sub_agent;
            }
            _ => event.turn_id = None,
        }
        Some(event)
    },
    ..PLAIN
};

/// Kimi Code. It has no ids of messages, a prompt in parts, and reports a sub-agent's tools as its own.
const KIMI_CODE: Agent = Agent {
    name: "kimi-code",
    proven_on: &["2.1.0"],
    edit_tools: &["Write", "Edit"],
    tells_of_tools: true,
    // What a hook prints is put into a message of its own beside the user's.
    tell: |line| Some(line.to_owned()),
    adapt: |payload, mut event| {
        if event.event == EventKind::UserMessage {
            let parts = payload.object().objects("prompt");
            let texts: Vec<_> = parts.iter().filter_map(|part| part.text("text")).collect();
            event.prompt = Some(payload.cut(texts.join("\n")));
            // A message that is typed while a tool runs waits for that tool's end.
            event.turn_id = Some(event.session_id.clone());
        }
        Some(event)
    },
    ..PLAIN
};

/// CodeBuddy Code. A session starts after its first message was sent, and again with each run.
const CODEBUDDY: Agent = Agent {
    name: "codebuddy",
    proven_on: &["2.163.0"],
    kind: shape::kind_with_sub_agents,
    tells_of_tools: true,
    tell: additional_context,
    adapt: |payload, event| {
        let goes_on = payload.object().flag("is_internal_continuation") == Some(true);
        let event = without_machines(payload, event)?;
        (event.event != EventKind::UserMessage || !goes_on).then_some(event)
    },
    ..PLAIN
};

fn additional_context(line: &str) -> Option<String> {
    Some(shape::additional_context("UserPromptSubmit", line))
}

fn without_machines(payload: &Payload<'_>, event: Event) -> Option<Event> {
    (!shape::is_of_machines(payload, &event)).then_some(event)
}

/// Older versions report edits and commands instead of tools.
fn cursor_kind(name: &str) -> Option<EventKind> {
    match name {
        "sessionStart" => Some(EventKind::SessionStart),
        "beforeSubmitPrompt" => Some(EventKind::UserMessage),
        "preToolUse" => Some(EventKind::ToolStart),
        "postToolUse" | "postToolUseFailure" => Some(EventKind::ToolFinish),
        "afterFileEdit" | "afterShellExecution" | "afterMCPExecution" => {
            Some(EventKind::StepFinish)
        }
        "stop" => Some(EventKind::TurnEnd),
        "sessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}

fn kiro_kind(name: &str) -> Option<EventKind> {
    match name {
        "agentSpawn" => Some(EventKind::SessionStart),
        "userPromptSubmit" => Some(EventKind::UserMessage),
        "preToolUse" => Some(EventKind::ToolStart),
        "postToolUse" => Some(EventKind::ToolFinish),
        "stop" => Some(EventKind::TurnEnd),
        _ => None,
    }
}
