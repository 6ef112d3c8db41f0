//! Factory Droid. Written from its documentation: no run of it was seen.
//!
//! What is its own: its edit tools. `SubagentStop` does not say whose end it is, so that it is none for us.

use ckpt_schema::event::{Event, EventKind};

use super::payload::{Payload, Problem};
use super::{Agent, shape};

/// Factory Droid.
pub struct Droid;

impl Agent for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &[]
    }

    fn tell(&self, line: &str) -> Option<String> {
        Some(shape::additional_context("UserPromptSubmit", line))
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let Some(kind) = kind(&payload.event_name()?) else { return Ok(Vec::new()) };
        let event = shape::event(payload, kind, &["Create", "Edit", "MultiEdit", "ApplyPatch"])?;
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
