//! Copilot in VS Code. Written from its documentation: no run of it was seen.
//!
//! What is its own: its edit tools.

use ckpt_schema::event::{Event, EventKind};

use super::payload::{Payload, Problem};
use super::{Agent, shape};

/// Copilot in VS Code.
pub struct Vscode;

impl Agent for Vscode {
    fn name(&self) -> &'static str {
        "vscode"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &[]
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let Some(kind) = kind(&payload.event_name()?) else { return Ok(Vec::new()) };
        let edit_tools = ["create_file", "replace_string_in_file", "insert_edit_into_file", "apply_patch"];
        let event = shape::event(payload, kind, &edit_tools)?;
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
