//! GitHub Copilot CLI. Seen in real runs; what it sends is in `tests/fixtures/agents/copilot-cli-*`.
//!
//! Its peculiarities: two styles of names, and in one of them the payload does not name its event; no ids of messages
//! and tools; a failing hook before a tool makes it refuse the tool, so we are called only after tools. A step is
//! therefore open whenever a tool may run: from the message to the first tool's end, and from there to the next one's.
//! Inside a sub-agent `sessionId` is the sub-agent's own. Up to 1.0.92 a session starts after its first message was
//! sent.

use ckpt_schema::event::{Event, EventKind};

use crate::agents::payload::{Agent, Payload, PayloadError, shape};

/// Copilot CLI.
pub struct CopilotCli;

impl Agent for CopilotCli {
    fn name(&self) -> &'static str {
        "copilot-cli"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &["1.0.102"]
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
        let Some(kind) = kind(&payload.event_name()?) else {
            return Err(PayloadError::UnknownEvent);
        };
        let mut event = shape::event(payload, kind, &["create", "edit", "str_replace_editor"])?;
        let sub_agent = payload.id(&["agentId", "agent_id"]);
        if let (Some(agent_id), Some(parent)) =
            (sub_agent, payload.id(&["parentAgentId", "parent_agent_id"]))
        {
            // `subagentStart` comes with the parent's `sessionId`, and what follows with the sub-agent's own: both
            // are one session.
            event.session_id = format!("{parent}/{agent_id}");
            event.parent_session_id = Some(parent);
        }
        let no_users = event.parent_session_id.is_some() || shape::is_machine_made(payload);
        if kind == EventKind::UserMessage && no_users {
            return Ok(Vec::new());
        }
        // The message says all that this start says. If the message came first, the start would end the step that it
        // opened.
        let has_message = payload
            .text(&["initialPrompt", "initial_prompt"])
            .is_some_and(|prompt| !prompt.is_empty());
        if kind == EventKind::SessionStart && has_message {
            return Ok(Vec::new());
        }
        Ok(match kind {
            EventKind::UserMessage | EventKind::ToolFinish => {
                let next = next_step(&event);
                vec![event, next]
            }
            _ => vec![event],
        })
    }
}

/// Returns the start of the step that follows an event; it ends the step before.
fn next_step(event: &Event) -> Event {
    Event {
        event: EventKind::StepStart,
        prompt: None,
        tool_name: None,
        tool_command: None,
        tool_use_id: None,
        paths: Vec::new(),
        at_once: true,
        ..event.clone()
    }
}

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "sessionStart" | "subagentStart" => Some(EventKind::SessionStart),
        "userPromptSubmitted" => Some(EventKind::UserMessage),
        "preToolUse" => Some(EventKind::ToolStart),
        "postToolUse" | "postToolUseFailure" => Some(EventKind::ToolFinish),
        "agentStop" | "subagentStop" => Some(EventKind::TurnEnd),
        "sessionEnd" => Some(EventKind::SessionEnd),
        _ => shape::kind_with_sub_agents(name),
    }
}
