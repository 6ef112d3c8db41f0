//! Codex: `hooks.json` beside its configuration.
//!
//! Codex runs no hook that the user has not trusted, and says nothing about it outside its terminal interface.

use ckpt_store::error::Result;

use super::hook_table::HookTable;
use super::{Content, Place, Scope, SettingsFile, Target, command};

/// Codex.
pub const TARGET: Target = Target {
    agent: "codex",
    files,
    notes: &["Codex passes over hooks that you have not trusted: run `/hooks` in Codex and trust this one"],
};

/// The events, the seconds after which Codex goes on without us, and whether each is about a single tool.
///
/// Codex itself allows the two last ones no more than three seconds.
const EVENTS: [(&str, u32, bool); 10] = [
    ("SessionStart", 30, false),
    ("UserPromptSubmit", 30, false),
    ("PreModelRequest", 30, false),
    ("PreToolUse", 30, true),
    ("PostToolUse", 30, true),
    ("SubagentStart", 30, false),
    ("SubagentStop", 30, false),
    ("Stop", 30, false),
    ("Interrupt", 3, false),
    ("SessionEnd", 3, false),
];

fn files(scope: Scope, place: &Place<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        Scope::User => place.directory("CODEX_HOME", ".codex"),
        Scope::Project => place.project.join(".codex"),
    };
    let events = EVENTS.iter().filter(|(_, _, tool)| place.tool_events || !tool);
    let handler = |event, timeout| command::handler(place, "codex", event, timeout);
    let handlers = events.map(|(event, timeout, _)| Ok((*event, handler(event, *timeout)?))).collect::<Result<_>>()?;
    let content = Content::Table(HookTable { handlers });
    Ok(vec![SettingsFile { path: directory.join("hooks.json"), mode: scope.mode(), content }])
}
