//! Cursor. Written from its documentation: no run of it was seen.
//!
//! Its peculiarities: a conversation's and a generation's id (one for each user message), the directory only as
//! `workspace_roots`, and events after edits and commands, which older versions have instead of `postToolUse`.

use ckpt_schema::event::EventKind;

use crate::payload::documented::Documented;

/// Cursor.
pub const CURSOR: Documented = Documented {
    name: "cursor",
    kind,
    prompt: "prompt",
    edit_tools: &["Write", "Edit", "Delete", "MultiEdit"],
    is_told: false,
};

fn kind(name: &str) -> Option<EventKind> {
    match name {
        "sessionStart" => Some(EventKind::SessionStart),
        "beforeSubmitPrompt" => Some(EventKind::UserMessage),
        "preToolUse" => Some(EventKind::ToolStart),
        "postToolUse" | "postToolUseFailure" => Some(EventKind::ToolFinish),
        "afterFileEdit" | "afterShellExecution" | "afterMCPExecution" => {
            Some(EventKind::StepFinish)
        }
        "stop" => Some(EventKind::TurnEnd),
        "sessionEnd" => Some(EventKind::SessionEnd),
        _ => None,
    }
}
