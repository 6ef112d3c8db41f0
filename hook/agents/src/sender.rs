//! The agent that sent a payload, whichever agent's settings it came by: agents read each other's.
//!
//! Grok Build runs the hooks of Claude Code and Cursor, Copilot CLI and Copilot in VS Code those of Claude Code, Cursor
//! those of Claude Code. What they send tells them apart, so that a message is booked to the agent that it was sent to,
//! and, because its ids are the same, once beside an entry of its own.

use std::path::Component;

use super::find;
use super::payload::{Agent, Payload};

/// What only one agent sends. An empty text or list is no sign.
struct Sign {
    agent: &'static str,
    /// The variable that holds the session's id. An agent in another's shell inherits a variable, but not the session.
    session: &'static str,
    /// The fields that no other agent sends together.
    fields: &'static [&'static str],
    /// The folder of the user's in which its transcripts are.
    folder: &'static str,
}

const NONE: Sign = Sign {
    agent: "",
    session: "",
    fields: &[],
    folder: "",
};

const SIGNS: [Sign; 12] = [
    Sign {
        agent: "claude-code",
        session: "CLAUDE_CODE_SESSION_ID",
        folder: ".claude",
        ..NONE
    },
    Sign {
        agent: "grok",
        session: "GROK_SESSION_ID",
        fields: &["hookEventName", "hook_event_name", "workspaceRoot"],
        folder: ".grok",
    },
    Sign {
        agent: "qwen-code",
        session: "QWEN_CODE_SESSION_ID",
        folder: ".qwen",
        ..NONE
    },
    Sign {
        agent: "cursor",
        fields: &["cursor_version"],
        folder: ".cursor",
        ..NONE
    },
    Sign {
        agent: "codebuddy",
        fields: &["client", "version", "generation_id"],
        folder: ".codebuddy",
        ..NONE
    },
    Sign {
        agent: "droid",
        fields: &["CLAUDE_ENV_FILE"],
        folder: ".factory",
        ..NONE
    },
    Sign {
        agent: "kimi-code",
        fields: &["client_type"],
        folder: ".kimi-code",
        ..NONE
    },
    Sign {
        agent: "vscode",
        folder: "workspaceStorage",
        ..NONE
    },
    Sign {
        agent: "codex",
        folder: ".codex",
        ..NONE
    },
    Sign {
        agent: "gemini-cli",
        folder: ".gemini",
        ..NONE
    },
    Sign {
        agent: "copilot-cli",
        folder: ".copilot",
        ..NONE
    },
    Sign {
        agent: "qoder",
        folder: ".qoder",
        ..NONE
    },
];

/// The agents whose payloads are not of this format, or whose word counts: a script says itself what it is.
pub(crate) const OTHERS: [&str; 6] = ["generic", "opencode", "kilo", "pi", "cline", "windsurf"];

/// Returns the agent that sent a payload, if it is known for another than the command line says.
pub fn of(payload: &Payload<'_>) -> Option<&'static Agent> {
    if OTHERS.contains(&payload.agent()) {
        return None;
    }
    let sign = by_session(payload)
        .or_else(|| by_fields(payload))
        .or_else(|| by_folder(payload));
    let name = sign
        .map(|sign| sign.agent)
        .or_else(|| is_copilot(payload).then_some("copilot-cli"))?;
    find(name).filter(|agent| agent.name != payload.agent())
}

fn by_session(payload: &Payload<'_>) -> Option<&'static Sign> {
    let session = payload.session_id().ok()?;
    let holds = |name: &str| {
        let id = (payload.context().environment)(name);
        id.is_some_and(|id| id.to_str() == Some(session.as_str()))
    };
    SIGNS
        .iter()
        .find(|sign| !sign.session.is_empty() && holds(sign.session))
}

fn by_fields(payload: &Payload<'_>) -> Option<&'static Sign> {
    let has_all = |fields: &[&str]| fields.iter().all(|name| payload.object().has(name));
    SIGNS
        .iter()
        .find(|sign| !sign.fields.is_empty() && has_all(sign.fields))
}

/// The first such folder of the path: what is below it is the agent's own.
fn by_folder(payload: &Payload<'_>) -> Option<&'static Sign> {
    let path = payload.text(&["transcript_path", "transcriptPath"])?;
    std::path::Path::new(&path).components().find_map(|part| {
        let Component::Normal(name) = part else {
            return None;
        };
        let is_it = |sign: &&Sign| !sign.folder.is_empty() && name == sign.folder;
        SIGNS.iter().find(is_it)
    })
}

/// Copilot CLI runs the hooks of a project's `.claude/settings.json`, and those in the folder that it shares with Copilot
/// in VS Code. Agents in its shell inherit its variable; of them, those that run these hooks, too, name their transcript
/// with each event, while Copilot CLI names its record at the end of a turn.
fn is_copilot(payload: &Payload<'_>) -> bool {
    let transcript = payload.text(&["transcript_path", "transcriptPath"]);
    ["claude-code", "vscode", "plugin"].contains(&payload.agent())
        && (payload.context().environment)("COPILOT_CLI").is_some()
        && transcript.is_none_or(|path| path.ends_with("/events.jsonl"))
}
