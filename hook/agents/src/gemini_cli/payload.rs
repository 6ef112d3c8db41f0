//! Gemini CLI. Seen in real runs; what it sends is in `tests/fixtures/agents/gemini-cli-*`.
//!
//! Its peculiarities: its names; no id of a message, a tool or a sub-agent, so that a sub-agent's events are the main
//! agent's; `BeforeModel` holds the whole conversation, none of which we read.

use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, Payload, PayloadError, shape};

/// Gemini CLI.
pub struct GeminiCli;

impl Agent for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &["0.61.0"]
    }

    fn tell(&self, line: &str) -> Option<String> {
        Some(shape::additional_context("BeforeAgent", line))
    }

    fn tells_of_tools(&self) -> bool {
        true
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
        let Some(kind) = kind(&payload.event_name()?) else {
            return Err(PayloadError::UnknownEvent);
        };
        Ok(vec![shape::event(
            payload,
            kind,
            &["write_file", "replace"],
        )?])
    }
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
