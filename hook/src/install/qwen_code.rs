//! Qwen Code: `hooks` in `settings.json`.

use ckpt_store::error::Result;

use super::commands::{self, Form};
use super::hook_table::{self, HookTable};
use super::{Content, Place, Scope, SettingsFile, Target, command};

/// Qwen Code.
pub const TARGET: Target = Target {
    agent: "qwen-code",
    programs: &["qwen"],
    home: |place| place.home.join(".qwen"),
    package: |place| {
        let manifest = place.home.join(".qwen/extensions/ckpt-hook/qwen-extension.json");
        manifest.exists().then_some(manifest)
    },
    files,
    follow: None,
    check: Some(hook_table::check_switch),
    notes: &["a session of Qwen Code that is open now calls the hook only after it was started anew"],
    project_notes: &["Qwen Code runs a project's hooks only in a folder that you trust"],
};

/// The seconds after which Qwen Code goes on without us.
const TIMEOUT: u32 = 30;

/// The events, and whether each is about a single tool.
const EVENTS: [(&str, bool); 10] = [
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
    let home = match scope {
        Scope::User => place.home,
        Scope::Project => place.project,
    };
    let events = EVENTS.iter().filter(|(_, tool)| place.tool_events || !tool);
    let handler = |event| command::handler(place, "qwen-code", event, TIMEOUT);
    let handlers = events.map(|(event, _)| Ok((*event, handler(event)?))).collect::<Result<_>>()?;
    let content = Content::Table(HookTable { handlers });
    let directory = home.join(".qwen");
    let mut files = vec![SettingsFile { path: directory.join("settings.json"), mode: scope.mode(), content }];
    files.extend(commands::files(Form::Braces, &directory.join("commands"), scope, place)?);
    Ok(files)
}
