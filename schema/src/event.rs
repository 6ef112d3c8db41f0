//! The normalised event, to which an agent's adapter translates a payload, and which the `generic` agent sends itself.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::words! {
    /// The kinds of event.
    #[derive(Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum EventKind {
        /// A conversation began or was resumed.
        SessionStart = "session_start",
        /// The user sent a message: the point that a revert goes back to.
        UserMessage = "user_message",
        /// The model is about to be called.
        StepStart = "step_start",
        /// A tool is about to run.
        ToolStart = "tool_start",
        /// A tool that is about to run waits for the user's permission.
        ToolWait = "tool_wait",
        /// A tool ended, successfully or not.
        ToolFinish = "tool_finish",
        /// All tools of one model call ended.
        StepFinish = "step_finish",
        /// The agent waits for the user again.
        TurnEnd = "turn_end",
        /// The conversation was closed.
        SessionEnd = "session_end",
    }
}

crate::words! {
    /// What a tool may change.
    #[derive(Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ToolKind {
        /// Only the files that it names.
        Edit = "edit",
        /// Nothing: it only reads, or asks.
        Read = "read",
    }
}

/// A tool that ran in a step, as the step's finish names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    /// The agent's id of this use of the tool.
    pub tool_use_id: String,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The command line that it ran, if it ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_command: Option<String>,
    /// The files that an edit tool names, absolute or relative to the event's `cwd`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathBuf>,
    /// What it may have changed; anything by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_kind: Option<ToolKind>,
}

/// One event of one session.
///
/// Ids are the agent's own: opaque text that is only stored and compared, and never becomes part of a path or a
/// command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The kinds of event.
    pub event: EventKind,
    /// The agent's id of the conversation.
    pub session_id: String,
    /// The agent's name, as for `ckpt-hook install`; `generic` by default.
    #[serde(default = "generic")]
    pub agent: String,
    /// The agent's working directory; by default that of the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Further directories in which the session works, absolute or relative to `cwd`. Once named, they stay its roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<PathBuf>,
    /// The agent's id of the user message, unique for each; made up if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The agent's id of the turn, which messages that are sent while the agent works share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The agent's id of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    /// The session that started this one, if it is a sub-agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The user's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The command line that the tool runs, if it runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_command: Option<String>,
    /// The agent's id of this use of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The files that an edit tool names, absolute or relative to `cwd`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathBuf>,
    /// What the tool may change; anything by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_kind: Option<ToolKind>,
    /// With a step's finish: the tools that ran in it. One of which neither start nor finish was reported is known by that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
    /// With a tool's finish: how long it ran, in milliseconds, not counting the wait for permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// With a tool's finish: whether a command of it goes on in the background. With a turn's end: whether any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// With a tool's finish or a turn's end: whether the user interrupted the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Whether the agent reports every tool that may change a file before it runs, so that it changes nothing while no
    /// tool runs. It is enough to say so once; the first event of a tool implies it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_of_tools: bool,
    /// The agent's own record of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<PathBuf>,
    /// The agent's process, by a name that no other process ever has. Never read from a payload.
    #[serde(skip)]
    pub process: Option<String>,
    /// Whether that process began so long before the event that it is no program between the agent and the hook. Never read from
    /// a payload.
    #[serde(skip)]
    pub is_long_lived: bool,
    /// With a user message: when the model was given it, if the agent's own record tells of it only later. What was done since
    /// then belongs to it. In milliseconds since 1970; never read from a payload.
    #[serde(skip)]
    pub given_at: Option<i64>,
    /// With a user message: whether the agent began to work with it, so that nothing of what it did before runs any more. Never
    /// read from a payload.
    #[serde(skip)]
    pub begins_anew: bool,
    /// Whether it comes in one call with the event before, so that nothing happened in between. Never read from a
    /// payload.
    #[serde(skip)]
    pub at_once: bool,
    /// With a turn's end: whether each tool that ran in it has reported its end, of an agent that reports no starts. Never read
    /// from a payload.
    #[serde(skip)]
    pub has_told_of_ends: bool,
    /// Whether a message or a tool is one of our own commands inside the agent, rather than something that the agent is
    /// told or does. Never read from a payload.
    #[serde(skip)]
    pub is_command: bool,
}

impl Event {
    /// Returns an event of a session with every other field empty.
    pub fn new(event: EventKind, agent: &str, session_id: &str) -> Self {
        Self {
            event,
            session_id: session_id.to_owned(),
            agent: agent.to_owned(),
            cwd: None,
            roots: Vec::new(),
            message_id: None,
            turn_id: None,
            step_id: None,
            parent_session_id: None,
            prompt: None,
            tool_name: None,
            tool_command: None,
            tool_use_id: None,
            paths: Vec::new(),
            tool_kind: None,
            tools: Vec::new(),
            duration_ms: None,
            background: None,
            interrupted: false,
            tells_of_tools: false,
            transcript_path: None,
            process: None,
            is_long_lived: false,
            given_at: None,
            begins_anew: false,
            at_once: false,
            has_told_of_ends: false,
            is_command: false,
        }
    }
}

fn generic() -> String {
    "generic".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;

    /// Every kind is found by the name that it has in JSON.
    #[test]
    fn every_kind_has_its_name_in_json() {
        for &kind in EventKind::ALL {
            let json = serde_json::to_value(kind).expect("a unit variant is a string");
            assert_eq!(json, kind.name(), "one name in both places");
            assert_eq!(EventKind::from_name(kind.name()), Some(kind), "and back");
        }
    }

    #[test]
    fn smallest_event_is_kind_and_session() {
        let event: Event =
            serde_json::from_str(r#"{"event":"step_start","session_id":"s","unknown":1}"#)
                .expect("valid");
        assert_eq!(
            event,
            Event::new(EventKind::StepStart, "generic", "s"),
            "unknown fields are ignored"
        );
    }
}
