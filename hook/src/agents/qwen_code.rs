//! Qwen Code. Seen in real runs; what it sends is in `tests/fixtures/agents/qwen-code-*`.
//!
//! What is its own: `UserPromptSubmit` comes before model calls, not only when the user submits a prompt. With an empty
//! prompt it is the start of the next step; with words it is a message, even while the agent works.

use ckpt_schema::event::{Event, EventKind};

use super::payload::{Payload, Problem};
use super::{Agent, shape};

/// Qwen Code.
pub struct QwenCode;

impl Agent for QwenCode {
    fn name(&self) -> &'static str {
        "qwen-code"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &["0.24.4"]
    }

    fn tell(&self, line: &str) -> Option<String> {
        Some(shape::additional_context("UserPromptSubmit", line))
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let name = payload.event_name()?;
        let Some(kind) = (if name == "UserPromptSubmit" { prompt_kind(payload) } else { kind(&name) }) else {
            return Ok(Vec::new());
        };
        if kind == EventKind::SessionStart && shape::is_compaction(payload) {
            return Ok(Vec::new());
        }
        Ok(vec![shape::event(payload, kind, &["write_file", "edit", "notebook_edit"])?])
    }
}

fn prompt_kind(payload: &Payload<'_>) -> Option<EventKind> {
    let in_sub_agent = payload.id(&["agent_id"]).is_some();
    match payload.text(&["submitted_prompt", "prompt"]) {
        None => Some(EventKind::StepStart),
        Some(_) if in_sub_agent || shape::is_machine_made(payload) => None,
        Some(_) => Some(EventKind::UserMessage),
    }
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "SessionStart" | "SubagentStart" => Some(EventKind::SessionStart),
        "PreToolUse" => Some(EventKind::ToolStart),
        "PostToolUse" | "PostToolUseFailure" => Some(EventKind::ToolFinish),
        "PostToolBatch" => Some(EventKind::StepFinish),
        "Stop" | "SubagentStop" => Some(EventKind::TurnEnd),
        "SessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}
