//! Gemini CLI. Seen in real runs; what it sends is in `tests/fixtures/agents/gemini-cli-*`.
//!
//! Its peculiarities: its names; no id of a message, a tool or a sub-agent, so that a sub-agent's events are the main
//! agent's; `BeforeModel` holds the whole conversation, none of which we read.

use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// Gemini CLI.
pub const GEMINI_CLI: Agent = Agent {
    name: "gemini-cli",
    proven_on: &["0.61.0"],
    tell: |line| Some(shape::additional_context("BeforeAgent", line)),
    shows: true,
    tells_of_tools: true,
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let kind = kind(&payload.event_name()?).ok_or(PayloadError::UnknownEvent)?;
    let event = shape::event(payload, kind, &["write_file", "replace"])?;
    Ok(vec![shape::as_typed(event)])
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "SessionStart" => Some(EventKind::SessionStart),
        "BeforeAgent" => Some(EventKind::UserMessage),
        "BeforeModel" => Some(EventKind::StepStart),
        "BeforeTool" => Some(EventKind::ToolStart),
        "AfterTool" => Some(EventKind::ToolFinish),
        "AfterAgent" => Some(EventKind::TurnEnd),
        "SessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}
