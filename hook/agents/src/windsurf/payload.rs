//! Windsurf Cascade. Written from its documentation: no run of it was seen.
//!
//! Its peculiarities: everything about a tool is in `tool_info`, the prompt included; ids of a trajectory (the session)
//! and an execution (the turn); raw control characters inside strings.

use std::path::PathBuf;

use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// Windsurf Cascade.
pub const WINDSURF: Agent = Agent {
    name: "windsurf",
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let name = payload.event_name()?;
    let kind = kind(&name).ok_or(PayloadError::UnknownEvent)?;
    let mut event = payload.new_event(kind, &payload.session_id()?);
    event.turn_id = payload.id(&["execution_id"]);
    let told = payload.object().object("tool_info").unwrap_or_default();
    if let Some(cwd) = told.text("cwd").filter(|cwd| !cwd.is_empty()) {
        event.cwd = Some(PathBuf::from(cwd));
    }
    match kind {
        EventKind::UserMessage => {
            event.prompt = told.text("user_prompt").map(|prompt| payload.cut(prompt))
        }
        EventKind::ToolStart => event.paths = shape::named_paths(&told),
        _ => {}
    }
    Ok(vec![event])
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "pre_user_prompt" => Some(EventKind::UserMessage),
        "pre_write_code" | "pre_run_command" | "pre_mcp_tool_use" => Some(EventKind::ToolStart),
        "post_write_code" | "post_run_command" | "post_mcp_tool_use" => Some(EventKind::StepFinish),
        "post_cascade_response" | "post_cascade_response_with_transcript" => {
            Some(EventKind::TurnEnd)
        }
        _ => None,
    }
}
