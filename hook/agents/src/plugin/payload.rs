//! The plugin that Claude Code, Codex, Qwen Code and Copilot CLI share: one list of hooks, so the caller is recognized
//! by what all agents are (`sender`), else by what these four send.

use ckpt_schema::event::Event;

use crate::claude_code::payload::ClaudeCode;
use crate::codex::payload::Codex;
use crate::copilot_cli::payload::CopilotCli;
use crate::payload::{Agent, Payload, PayloadError};
use crate::qwen_code::payload::QwenCode;

/// The shared plugin.
pub struct Plugin;

impl Agent for Plugin {
    fn name(&self) -> &'static str {
        "plugin"
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &[]
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
        let agent = caller(payload);
        agent.translate(&payload.of_agent(agent.name()))
    }
}

/// Returns the agent that sent a payload without a sign of its own.
fn caller(payload: &Payload<'_>) -> &'static dyn Agent {
    let variable = |name: &str| (payload.context().environment)(name);
    // Only Codex calls a turn so, and of the others, Qwen Code and Copilot CLI send a `timestamp`.
    if payload.id(&["turn_id"]).is_some() {
        &Codex
    } else if payload.object().text("timestamp").is_some() {
        if payload.id(&["transcript_path"]).is_some() && variable("COPILOT_CLI").is_none() {
            &QwenCode
        } else {
            &CopilotCli
        }
    // Codex's events outside a turn; it sets both names, Claude Code only its own.
    } else if variable("PLUGIN_ROOT").is_some() && variable("CLAUDE_PLUGIN_DATA").is_some() {
        &Codex
    } else {
        &ClaudeCode
    }
}
