//! Claude Code. Seen in real runs; what it sends is in `tests/fixtures/agents/claude-code-*`.
//!
//! What is its own: `prompt_id` belongs to a turn, not to a message (a message that is sent while the agent works shares
//! it); a sub-agent's events carry `agent_id` and may come after the turn's `Stop`; a finished background task speaks up
//! as a prompt that nobody typed. A step ends with `PostToolBatch` and has no event at its start.

use ckpt_schema::event::{Event, EventKind};

use super::Agent;
use super::payload::{Payload, Problem};
use super::tools;

/// The tools whose input names the file that they change.
const EDIT_TOOLS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Claude Code.
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &["2.1.329"]
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, Problem> {
        let Some(kind) = kind(&payload.event_name(&["hook_event_name", "hookEventName"])?) else {
            return Ok(Vec::new());
        };
        let session_id = payload.needed_id(&["session_id", "sessionId"])?;
        let agent_id = payload.id(&["agent_id", "agentId"]);
        if kind == EventKind::UserMessage && (agent_id.is_some() || is_machine_made(payload)) {
            return Ok(Vec::new());
        }
        let mut event = payload.session_event(kind, session_id, agent_id);
        event.turn_id = payload.id(&["prompt_id", "promptId"]);
        match kind {
            EventKind::UserMessage => event.prompt = payload.prompt(&["prompt"]),
            EventKind::ToolStart | EventKind::ToolFinish => tools::describe(&mut event, payload, &EDIT_TOOLS),
            EventKind::StepFinish => event.step_id = tools::batch_id(payload),
            EventKind::SessionStart | EventKind::StepStart | EventKind::TurnEnd | EventKind::SessionEnd => {}
        }
        Ok(vec![event])
    }
}

/// Returns what an event means; `None` for the many that mean nothing to us, and for those that we do not know.
fn kind(name: &str) -> Option<EventKind> {
    match name {
        "SessionStart" | "SubagentStart" => Some(EventKind::SessionStart),
        "UserPromptSubmit" => Some(EventKind::UserMessage),
        "PreToolUse" => Some(EventKind::ToolStart),
        // A command that fails is reported by the second one alone.
        "PostToolUse" | "PostToolUseFailure" => Some(EventKind::ToolFinish),
        "PostToolBatch" => Some(EventKind::StepFinish),
        "Stop" | "SubagentStop" => Some(EventKind::TurnEnd),
        "SessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}

/// Returns whether no user wrote the prompt: a background task's end comes as one.
fn is_machine_made(payload: &Payload<'_>) -> bool {
    let prompt = payload.prompt(&["prompt"]).unwrap_or_default();
    prompt.trim_start().starts_with("<task-notification>")
        || payload.text(&["source"]).is_some_and(|source| source == "system")
}
