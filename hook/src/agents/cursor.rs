//! Cursor. Written from its documentation: no run of it was seen.
//!
//! What is its own: a conversation's and a generation's id (one for each user message), the directory only as
//! `workspace_roots`, and events after edits and commands, which older versions have in the place of `postToolUse`.

use ckpt_schema::event::{Event, EventKind};

use super::payload::{Payload, Problem};
use super::{Agent, shape};

/// Cursor.
pub struct Cursor;

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &[]
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let Some(kind) = kind(&payload.event_name()?) else { return Ok(Vec::new()) };
        Ok(shape::bounded_by_tools(shape::event(payload, kind, &["Write", "Edit", "Delete", "MultiEdit"])?))
    }
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "sessionStart" => Some(EventKind::SessionStart),
        "beforeSubmitPrompt" => Some(EventKind::UserMessage),
        "preToolUse" => Some(EventKind::ToolStart),
        "postToolUse" | "postToolUseFailure" => Some(EventKind::ToolFinish),
        "afterFileEdit" | "afterShellExecution" | "afterMCPExecution" => Some(EventKind::StepFinish),
        "stop" => Some(EventKind::TurnEnd),
        "sessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}
