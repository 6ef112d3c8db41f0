//! Pi. Seen in real runs; the input of its extensions is in `tests/fixtures/agents/pi-*`.
//!
//! Pi runs no commands. Our extension (`hook/agents/plugins/pi.ts`) passes its input on, as `{"hook", "event", "ctx"}`. Pi
//! waits for `context` before each model call, but not for `turn_end`, which is why that does not end a step.

use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// Pi.
pub const PI: Agent = Agent {
    name: "pi",
    proven_on: &["1.6.0"],
    // The extension prints the answer.
    tell: |line| Some(line.to_owned()),
    tells_of_tools: true,
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let kind = kind(&payload.event_name()?).ok_or(PayloadError::UnknownEvent)?;
    let context = payload.object().object("ctx").unwrap_or_default();
    let session_id = context
        .text("sessionId")
        .filter(|id| !id.is_empty())
        .ok_or(PayloadError::Field("ctx.sessionId"))?;
    let mut event = payload.new_event(kind, &session_id);
    if let Some(cwd) = context.text("cwd").filter(|cwd| !cwd.is_empty()) {
        event.cwd = Some(cwd.into());
    }
    let told = payload.object().object("event").unwrap_or_default();
    if kind == EventKind::UserMessage {
        event.prompt = told.text("prompt").map(|prompt| payload.cut(prompt));
    }
    event.tool_name = told.text("toolName");
    event.tool_use_id = told.text("toolCallId");
    let edits = matches!(event.tool_name.as_deref(), Some("write" | "edit"));
    shape::describe_input(&mut event, told.object("input").as_ref(), edits);
    Ok(vec![event])
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "session_start" => Some(EventKind::SessionStart),
        // The second is our extension's name for a message that was typed while the agent works.
        "before_agent_start" | "steered_message" => Some(EventKind::UserMessage),
        "context" => Some(EventKind::StepStart),
        "tool_call" => Some(EventKind::ToolStart),
        "tool_result" => Some(EventKind::ToolFinish),
        "agent_end" | "agent_settled" => Some(EventKind::TurnEnd),
        "session_shutdown" => Some(EventKind::SessionEnd),
        _ => None,
    }
}
