//! Claude Code. Seen in real runs; what it sends is in `tests/fixtures/agents/claude-code-*`.
//!
//! Its peculiarities: `prompt_id` belongs to a turn, not to a message (a message that is sent while the agent works
//! shares it); a sub-agent's events carry `agent_id` and may come after the turn's `Stop`; a finished background task
//! is reported as a prompt that nobody typed. A step ends with `PostToolBatch` and has no event at its start.

use ckpt_schema::event::{Event, EventKind};

use crate::agents::copilot_cli::payload::CopilotCli;
use crate::agents::payload::{Agent, Payload, PayloadError, shape};

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

    fn tell(&self, line: &str) -> Option<String> {
        Some(shape::additional_context("UserPromptSubmit", line))
    }

    fn tells_of_tools(&self) -> bool {
        true
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
        if is_copilot(payload) {
            return CopilotCli.translate(&payload.of_agent("copilot-cli"));
        }
        let Some(kind) = shape::kind_with_sub_agents(&payload.event_name()?) else {
            return Err(PayloadError::UnknownEvent);
        };
        let event = shape::event(payload, kind, &EDIT_TOOLS)?;
        // Nobody would go back to these: a sub-agent's prompt is its parent's text, and a compaction comes in the
        // middle of the work, where a session's start would end the open step.
        let says_nothing = match kind {
            EventKind::UserMessage => {
                event.parent_session_id.is_some() || shape::is_machine_made(payload)
            }
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

/// Returns whether Copilot CLI sent the payload: it runs the hooks of a project's `.claude/settings.json`, too.
fn is_copilot(payload: &Payload<'_>) -> bool {
    let is_set = |name| (payload.context().environment)(name).is_some();
    // Claude Code in a shell of Copilot CLI inherits the first.
    is_set("COPILOT_CLI") && !is_set("CLAUDECODE")
}
