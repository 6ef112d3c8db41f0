//! Gemini CLI: `hooks` in `settings.json`. Its timeouts are milliseconds.

use ckpt_store::error::Result;

use super::commands::{self, Form};
use super::hook_table::{self, HookEvent, HookTable};
use super::{Place, Scope, SettingsFile, Target, command};

/// Gemini CLI.
pub const TARGET: Target = Target {
    agent: "gemini-cli",
    programs: &["gemini"],
    home: |place| place.home.join(".gemini"),
    package: |place| {
        let manifest = place.home.join(".gemini/extensions/ckpt-hook/gemini-extension.json");
        manifest.exists().then_some(manifest)
    },
    files,
    follow: None,
    check: Some(hook_table::check_switch),
    notes: &["a session of Gemini CLI that is open now calls the hook only after it was started anew"],
    project_notes: &["Gemini CLI runs a project's hooks only in a folder that you trust"],
};

/// The milliseconds after which Gemini CLI goes on without us.
pub const TIMEOUT: u32 = 30_000;

/// The events, and whether each is about a single tool.
pub const EVENTS: &[HookEvent] = &[
    ("SessionStart", false),
    ("BeforeAgent", false),
    ("BeforeModel", false),
    ("BeforeTool", true),
    ("AfterTool", true),
    ("AfterAgent", false),
    ("SessionEnd", false),
];

fn files(scope: Scope, place: &Place<'_>) -> Result<Vec<SettingsFile>> {
    let directory = place.root(scope).join(".gemini");
    let handler = |event: &str| command::handler(place, "gemini-cli", event, TIMEOUT);
    let table = HookTable::of_events(EVENTS, place.tool_events, handler)?;
    let mut files = vec![SettingsFile::with_table(directory.join("settings.json"), scope, table)];
    files.extend(commands::files(Form::Toml, &directory.join("commands"), scope, place)?);
    Ok(files)
}
