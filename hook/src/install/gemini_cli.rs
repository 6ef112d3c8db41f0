//! Gemini CLI: `hooks` in `settings.json`. Its timeouts are milliseconds.

use ckpt_store::error::Result;

use super::commands::{self, Form};
use super::hook_table::{self, HookTable};
use super::{Content, Place, Scope, SettingsFile, Target, command};

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
pub const EVENTS: [(&str, bool); 7] = [
    ("SessionStart", false),
    ("BeforeAgent", false),
    ("BeforeModel", false),
    ("BeforeTool", true),
    ("AfterTool", true),
    ("AfterAgent", false),
    ("SessionEnd", false),
];

fn files(scope: Scope, place: &Place<'_>) -> Result<Vec<SettingsFile>> {
    let home = match scope {
        Scope::User => place.home,
        Scope::Project => place.project,
    };
    let events = EVENTS.iter().filter(|(_, tool)| place.tool_events || !tool);
    let handler = |event| command::handler(place, "gemini-cli", event, TIMEOUT);
    let handlers = events.map(|(event, _)| Ok((*event, handler(event)?))).collect::<Result<_>>()?;
    let content = Content::Table(HookTable { handlers });
    let directory = home.join(".gemini");
    let mut files = vec![SettingsFile { path: directory.join("settings.json"), mode: scope.mode(), content }];
    files.extend(commands::files(Form::Toml, &directory.join("commands"), scope, place)?);
    Ok(files)
}
