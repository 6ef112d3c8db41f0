//! Goose. Written from its documentation: no run of it was seen.
//!
//! What is its own: the prompt is the `message`, the directory `working_dir`, and only tools have one.

use ckpt_schema::event::{Event, EventKind};

use super::payload::{Payload, Problem};
use super::{Agent, shape};

/// Goose.
pub struct Goose;

impl Agent for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &[]
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let Some(kind) = kind(&payload.event_name()?) else { return Ok(Vec::new()) };
        let mut event = shape::event(payload, kind, &["developer__text_editor", "text_editor"])?;
        if kind == EventKind::UserMessage {
            event.prompt = payload.prompt(&["message", "prompt"]);
        }
        Ok(shape::bounded_by_tools(event))
    }
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "SessionStart" => Some(EventKind::SessionStart),
        "UserPromptSubmit" => Some(EventKind::UserMessage),
        "PreToolUse" => Some(EventKind::ToolStart),
        "PostToolUse" | "PostToolUseFailure" => Some(EventKind::ToolFinish),
        "Stop" => Some(EventKind::TurnEnd),
        "SessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}
