//! OpenAI Codex CLI. Seen in real runs; what it sends is in `tests/fixtures/agents/codex-*`.
//!
//! What is its own: every model request is announced (`PreModelRequest`), and its announcement ends the step before; a
//! patch names its files in its text; a sub-agent's task comes as a prompt with `agent_id`; Esc is told (`Interrupt`).

use ckpt_schema::event::{Event, EventKind};

use crate::agents::payload::{Agent, Payload, Problem, shape};

/// Codex.
pub struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &["0.169.0"]
    }

    fn tell(&self, line: &str) -> Option<String> {
        Some(shape::additional_context("UserPromptSubmit", line))
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let Some(kind) = kind(&payload.event_name()?) else {
            return Ok(Vec::new());
        };
        let event = shape::event(payload, kind, &["apply_patch"])?;
        let says_nothing = match kind {
            EventKind::UserMessage => event.parent_session_id.is_some(),
            EventKind::SessionStart => shape::is_compaction(payload),
            _ => false,
        };
        Ok(if says_nothing {
            Vec::new()
        } else {
            vec![event]
        })
    }
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "PreModelRequest" => Some(EventKind::StepStart),
        "Interrupt" => Some(EventKind::TurnEnd),
        _ => shape::kind_with_sub_agents(name),
    }
}
