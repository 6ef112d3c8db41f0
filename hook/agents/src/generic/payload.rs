//! Our own contract (`docs/embedding.md`), for scripts and for our own plugins.

use std::path::PathBuf;

use ckpt_process::json::Object;
use ckpt_schema::Word;
use ckpt_schema::event::{Event, EventKind, ToolKind, ToolUse};

use crate::payload::{Agent, PLAIN, Payload, PayloadError};

/// The agent of scripts: our own contract.
pub const GENERIC: &str = "generic";

/// The agent that speaks our own language.
pub const GENERIC_AGENT: Agent = Agent {
    name: GENERIC,
    proven_on: &[env!("CARGO_PKG_VERSION")],
    translate,
    ..PLAIN
};

fn translate(_: &Agent, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
    let kind = EventKind::from_name(&payload.event_name()?).ok_or(PayloadError::UnknownEvent)?;
    let mut event = payload.new_event(kind, &payload.session_id()?);
    if let Some(agent) = payload.id(&["agent"]) {
        event.agent = agent;
    }
    event.message_id = payload.id(&["message_id"]);
    event.turn_id = payload.id(&["turn_id"]);
    event.step_id = payload.id(&["step_id"]);
    event.parent_session_id = payload.id(&["parent_session_id"]);
    event.prompt = payload.prompt(&["prompt"]);
    event.tool_name = payload.id(&["tool_name"]);
    event.tool_use_id = payload.id(&["tool_use_id"]);
    event.tool_command = payload.text(&["tool_command"]);
    let object = payload.object();
    event.paths = paths(object, "paths");
    event.roots.extend(paths(object, "roots"));
    event.tools = object
        .objects("tools")
        .iter()
        .filter_map(tool_use)
        .collect();
    event.tool_kind = payload
        .text(&["tool_kind"])
        .and_then(|kind| ToolKind::from_name(&kind));
    event.duration_ms = object
        .number("duration_ms")
        .and_then(|duration| u64::try_from(duration).ok());
    event.background = object.flag("background");
    event.interrupted = object.flag("interrupted") == Some(true);
    event.tells_of_tools = object.flag("tells_of_tools") == Some(true);
    event.transcript_path = payload
        .text(&["transcript_path"])
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    Ok(vec![event])
}

fn paths(object: &Object<'_>, name: &str) -> Vec<PathBuf> {
    object.texts(name).into_iter().map(PathBuf::from).collect()
}

/// Returns one of the tools that a step ran. Without an id, it cannot be told apart from those that were reported.
fn tool_use(tool: &Object<'_>) -> Option<ToolUse> {
    Some(ToolUse {
        tool_use_id: tool.text("tool_use_id").filter(|id| !id.is_empty())?,
        tool_name: tool.text("tool_name"),
        tool_command: tool.text("tool_command"),
        paths: paths(tool, "paths"),
        tool_kind: tool
            .text("tool_kind")
            .and_then(|kind| ToolKind::from_name(&kind)),
    })
}
