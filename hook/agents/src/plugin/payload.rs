//! The plugin that Claude Code, Codex, Qwen Code and Copilot CLI share: one list of hooks, so the caller is recognized
//! by what all agents are (`sender`), else by what these four send.

use ckpt_schema::event::Event;

use crate::claude_code::payload::CLAUDE_CODE;
use crate::codex::payload::CODEX;
use crate::copilot_cli::payload::COPILOT_CLI;
use crate::payload::{Agent, PLAIN, Payload, PayloadError};
use crate::qwen_code::payload::QWEN_CODE;

/// The shared plugin.
pub const PLUGIN: Agent = Agent {
    name: "plugin",
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let agent = caller(payload);
    agent.translate(&payload.of_agent(agent.name))
}

/// Returns the agent that sent a payload without a sign of its own.
fn caller(payload: &Payload<'_>) -> &'static Agent {
    let variable = |name: &str| (payload.context().environment)(name);
    // Only Codex calls a turn so, and of the others, Qwen Code and Copilot CLI send a `timestamp`.
    if payload.id(&["turn_id"]).is_some() {
        &CODEX
    } else if payload.object().text("timestamp").is_some() {
        match payload.id(&["transcript_path"]) {
            Some(_) => &QWEN_CODE,
            None => &COPILOT_CLI,
        }
    // Codex's events outside a turn; it sets both names, Claude Code only its own.
    } else if variable("PLUGIN_ROOT").is_some() && variable("CLAUDE_PLUGIN_DATA").is_some() {
        &CODEX
    } else {
        &CLAUDE_CODE
    }
}
