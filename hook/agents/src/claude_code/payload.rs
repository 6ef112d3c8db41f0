//! Claude Code. Seen in real runs; what it sends is in `tests/fixtures/agents/claude-code-*`.
//!
//! Its peculiarities: `prompt_id` belongs to a turn, not to a message (a message that is sent while the agent works
//! shares it); a sub-agent's events carry `agent_id` and may come after the turn's `Stop`; a finished background task
//! is reported as a prompt that the user did not type. A step ends with `PostToolBatch` and has no event at its start.

use ckpt_schema::event::{Event, EventKind};

use crate::payload::{Agent, PLAIN, Payload, PayloadError, shape};

/// The tools whose input names the file that they change.
const EDIT_TOOLS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Claude Code.
pub const CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    proven_on: &["2.1.332"],
    tell: |line| Some(shape::additional_context("UserPromptSubmit", line)),
    shows: true,
    tells_of_tools: true,
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let kind =
        shape::kind_with_sub_agents(&payload.event_name()?).ok_or(PayloadError::UnknownEvent)?;
    let event = shape::event(payload, kind, &EDIT_TOOLS)?;
    if shape::is_of_machines(payload, &event) {
        return Ok(Vec::new());
    }
    let mut events: Vec<Event> = end_of_sub_agent(payload, &event)?.into_iter().collect();
    events.push(event);
    Ok(events)
}

/// Returns the end of the sub-agent that a tool has waited for: its own may be lost, and then it would seem to be at work.
/// One in the background goes on after its tool.
fn end_of_sub_agent(payload: &Payload<'_>, tool: &Event) -> Result<Option<Event>, PayloadError> {
    let is_end = tool.event == EventKind::ToolFinish
        && matches!(tool.tool_name.as_deref(), Some("Agent" | "Task"));
    let response = payload.object().object("tool_response");
    let Some(response) = response
        .filter(|response| is_end && response.text("status").as_deref() == Some("completed"))
    else {
        return Ok(None);
    };
    let Some(sub_agent) = response.text("agentId") else {
        return Ok(None);
    };
    let session = payload.session_id()?;
    let end = payload.session_event(EventKind::TurnEnd, session, Some(sub_agent));
    Ok(Some(end))
}
