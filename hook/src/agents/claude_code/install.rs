//! Claude Code: `hooks` in `settings.json`.
//!
//! The exec form (`command` and `args`) needs no shell and no quoting. A binary that is gone is passed over by Claude
//! Code, so that the line needs no guard. No matcher: a handler without one gets every tool.

use ckpt_store::error::Result;
use serde_json::json;

use crate::agents::settings::commands::{self, Form};
use crate::agents::settings::content::SettingsFile;
use crate::agents::settings::hook_table::{Handler, HookEvent, HookTable};
use crate::agents::settings::place::{Place, Scope};
use crate::agents::settings::target::{Target, enables_package, names_package};
use crate::agents::settings::{advice, command};

/// Claude Code.
pub const TARGET: Target = Target {
    agent: "claude-code",
    programs: &["claude"],
    home: |place| place.directory("CLAUDE_CONFIG_DIR", ".claude"),
    package: |place| {
        let settings = place
            .directory("CLAUDE_CONFIG_DIR", ".claude")
            .join("settings.json");
        names_package(settings, |settings| {
            enables_package(settings.get("enabledPlugins"))
        })
    },
    files,
    follow: None,
    check: Some(advice::check_switch),
    notes: &[
        "a session of Claude Code that is open now may call the hook only after it was started anew",
    ],
    project_notes: &[],
};

/// The seconds after which Claude Code goes on without us: far above our own deadline.
pub const TIMEOUT: u32 = 30;

/// The events in the order of a conversation, and whether each is about a single tool.
pub const EVENTS: &[HookEvent] = &[
    ("SessionStart", false),
    ("UserPromptSubmit", false),
    ("PreToolUse", true),
    ("PostToolUse", true),
    ("PostToolUseFailure", true),
    ("PostToolBatch", false),
    ("SubagentStart", false),
    ("SubagentStop", false),
    ("Stop", false),
    ("SessionEnd", false),
];

fn files(scope: Scope, place: &Place<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        Scope::User => place.directory("CLAUDE_CONFIG_DIR", ".claude"),
        Scope::Project => place.project.join(".claude"),
    };
    let table = HookTable::of_events(EVENTS, place.tool_events, |event| handler(place, event))?;
    let mut files = vec![SettingsFile::with_table(
        directory.join("settings.json"),
        scope,
        table,
    )];
    files.extend(commands::files(
        Form::Claude,
        &directory.join("commands"),
        scope,
        place,
    )?);
    Ok(files)
}

fn handler(place: &Place<'_>, event: &str) -> Result<Handler> {
    Ok(Handler(vec![
        ("type", json!("command")),
        ("command", json!(command::text(place.binary)?)),
        ("args", json!(command::arguments("claude-code", event))),
        ("timeout", json!(TIMEOUT)),
    ]))
}
