//! Qwen Code. Seen in real runs; what it sends is in `tests/fixtures/agents/qwen-code-*`.
//!
//! Its peculiarities: `UserPromptSubmit` comes before model calls, not only when the user submits a prompt. With an
//! empty prompt it is the start of the next step; with words it is a message, even while the agent works.

use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// Qwen Code.
pub const QWEN_CODE: Agent = Agent {
    name: "qwen-code",
    proven_on: &["0.24.4"],
    tell: |line| Some(shape::additional_context("UserPromptSubmit", line)),
    shows: true,
    tells_of_tools: true,
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let name = payload.event_name()?;
    let kind = shape::kind_with_sub_agents(&name).filter(|kind| *kind != EventKind::UserMessage);
    let Some(kind) = kind.or_else(|| prompt_kind(&name, payload)) else {
        return match name.as_str() {
            PROMPT => Ok(Vec::new()),
            _ => Err(PayloadError::UnknownEvent),
        };
    };
    if kind == EventKind::SessionStart && shape::is_compaction(payload) {
        return Ok(Vec::new());
    }
    let mut event = shape::event(payload, kind, &["write_file", "edit", "notebook_edit"])?;
    // Its list of background tasks is empty even while a shell runs in the background.
    if event.event == EventKind::TurnEnd {
        event.background = event.background.filter(|goes_on| *goes_on);
    }
    Ok(vec![shape::as_typed(event)])
}

/// The event of a prompt, and of other things.
const PROMPT: &str = "UserPromptSubmit";

fn prompt_kind(name: &str, payload: &Payload<'_>) -> Option<EventKind> {
    (name == PROMPT).then_some(())?;
    let in_sub_agent = payload.id(&["agent_id"]).is_some();
    match payload.text(&["submitted_prompt", "prompt"]) {
        None => Some(EventKind::StepStart),
        Some(_) if in_sub_agent || shape::is_machine_made(payload) => None,
        Some(_) => Some(EventKind::UserMessage),
    }
}
