//! OpenAI Codex CLI. Seen in real runs; what it sends is in `tests/fixtures/agents/codex-*`.
//!
//! Its peculiarities: every model request is announced (`PreModelRequest`), and the announcement ends the step before;
//! a patch names its files in its text; a sub-agent's task comes as a prompt with `agent_id`; Esc is reported
//! (`Interrupt`). Up to 0.129 a sub-agent is a session like any other, and only the head of its transcript names its
//! parent.

use std::path::Path;

use ckpt_process::json::Object;
use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// Codex.
pub const CODEX: Agent = Agent {
    name: "codex",
    proven_on: &["0.171.0"],
    tell: |line| Some(shape::additional_context("UserPromptSubmit", line)),
    shows: true,
    tells_of_tools: true,
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let kind = kind(&payload.event_name()?).ok_or(PayloadError::UnknownEvent)?;
    let mut event = shape::event(payload, kind, &["apply_patch"])?;
    if kind == EventKind::SessionStart && event.parent_session_id.is_none() {
        event.parent_session_id = parent(payload);
    }
    event.interrupted = payload.event_name()? == "Interrupt";
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

/// Returns the session that started this one as its sub-agent. The transcript names it before anything that a user or
/// model wrote.
fn parent(payload: &Payload<'_>) -> Option<String> {
    let transcript = payload.text(&["transcript_path"])?;
    let line = (payload.context().first_line)(Path::new(&transcript))?;
    let (head, _) = Object::read(&line);
    let source = head.object("payload")?.object("source")?;
    let spawned = source.object("subagent")?.object("thread_spawn")?;
    spawned.text("parent_thread_id").filter(|id| !id.is_empty())
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "PreModelRequest" => Some(EventKind::StepStart),
        "Interrupt" => Some(EventKind::TurnEnd),
        _ => shape::kind_with_sub_agents(name),
    }
}
