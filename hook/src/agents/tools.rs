//! What the agents that follow Claude Code's shape say about tools.

use std::path::PathBuf;

use ckpt_schema::event::Event;

use super::json::Object;
use super::payload::Payload;

/// Adds the tool's name, the id of its use, and the files that one of the `edit_tools` names.
pub fn describe(event: &mut Event, payload: &Payload<'_>, edit_tools: &[&str]) {
    event.tool_name = payload.id(&["tool_name", "toolName"]);
    event.tool_use_id = payload.id(&["tool_use_id", "toolUseId", "tool_call_id"]);
    let edits = event.tool_name.as_deref().is_some_and(|name| edit_tools.contains(&name));
    if let Some(input) = payload.object().object("tool_input").filter(|_| edits) {
        event.paths = named_files(&input);
    }
}

/// Returns the files that a tool's input names.
pub fn named_files(input: &Object<'_>) -> Vec<PathBuf> {
    let names = ["file_path", "notebook_path", "filePath", "path"];
    names.iter().filter_map(|name| input.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

/// Returns an id for a batch of tool calls, so that a second report of the same batch is known for one.
///
/// The batch has none of its own, but a tool call belongs to one batch.
pub fn batch_id(payload: &Payload<'_>) -> Option<String> {
    let calls = payload.object().objects("tool_calls");
    let first = calls.first()?.text("tool_use_id").filter(|id| !id.is_empty())?;
    Some(format!("batch:{first}"))
}
