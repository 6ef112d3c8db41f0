//! Agents whose settings call commands as Claude Code's do: where these are, and what each wants in them.

use ckpt_store::error::Result;

use crate::claude_code::install::EVENTS;
use crate::settings::command;
use crate::settings::content::SettingsFile;
use crate::settings::hook_table::{self, HookTable};
use crate::settings::jsonc::JsonDialect;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::target::{AgentTarget, PLAIN};
use crate::settings::toml_hooks::TomlHooks;
use crate::settings::version::{AgentVersion, AgentVersions};

/// The seconds after which these agents continue without us.
const TIMEOUT: u32 = 30;

/// Grok Build: one of our files in its folder of hooks. It reads Claude Code's and Cursor's settings, too; what comes
/// by both is recorded once.
pub const GROK: AgentTarget = AgentTarget {
    agent: "grok",
    programs: &["grok"],
    versions: &AgentVersions::since("Grok Build", "@xai-official/grok", AgentVersion(1, 0, 41)),
    home: |place| place.directory("GROK_HOME", ".grok"),
    files: |scope, place| {
        let directory = match scope {
            SettingsScope::User => place.directory("GROK_HOME", ".grok"),
            SettingsScope::Project => place.project.join(".grok"),
        };
        let events = [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "StopFailure",
            "StopCancelled",
            "SessionEnd",
        ];
        let handler = |event: &str| hook_table::handler(place, "grok", event, TIMEOUT);
        let table = HookTable::of_events(&events, handler)?;
        let path = directory.join("hooks").join("ckpt-hook.json");
        Ok(vec![SettingsFile::with_table(path, scope, table)])
    },
    project_notes: &[
        "Grok Build runs a project's hooks only once you trust the folder (`/hooks-trust`)",
    ],
    ..PLAIN
};

/// CodeBuddy Code.
pub const CODEBUDDY: AgentTarget = AgentTarget {
    agent: "codebuddy",
    programs: &["codebuddy", "cbc", "codebuddy-headless"],
    versions: &AgentVersions::since(
        "CodeBuddy Code",
        "@tencent-ai/codebuddy-code",
        AgentVersion(2, 163, 0),
    ),
    home: |place| place.home.join(".codebuddy"),
    files: |scope, place| {
        // It does not report the end of a step.
        let events = EVENTS.iter().copied().filter(|it| *it != "PostToolBatch");
        let events: Vec<_> = events.collect();
        let handler = |event: &str| hook_table::handler(place, "codebuddy", event, TIMEOUT);
        let table = HookTable::of_events(&events, handler)?;
        let path = place.root(scope).join(".codebuddy").join("settings.json");
        Ok(vec![SettingsFile::with_table(path, scope, table)])
    },
    dialect: Some(JsonDialect {
        comments: false,
        byte_order_mark: false,
    }),
    ..PLAIN
};

/// Kimi Code: tables in the user's `config.toml`; it reads no hooks from a project's settings.
pub const KIMI_CODE: AgentTarget = AgentTarget {
    agent: "kimi-code",
    programs: &["kimi"],
    versions: &AgentVersions::since("Kimi Code", "@moonshot-ai/kimi-code", AgentVersion(2, 1, 0)),
    home: |place| place.directory("KIMI_CODE_HOME", ".kimi-code"),
    files: |scope, place| match scope {
        SettingsScope::User => kimi_codes_file(place).map(|file| vec![file]),
        SettingsScope::Project => Ok(Vec::new()),
    },
    notes: &["an open session of Kimi Code calls the hook only after a restart"],
    ..PLAIN
};

fn kimi_codes_file(place: &SettingsPlace<'_>) -> Result<SettingsFile> {
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "StopFailure",
        "Interrupt",
        "SessionEnd",
    ];
    let line = |event| Ok((event, command::guarded(place.binary, "kimi-code", event)?));
    let lines = events.into_iter().map(line).collect::<Result<_>>()?;
    Ok(SettingsFile {
        path: place
            .directory("KIMI_CODE_HOME", ".kimi-code")
            .join("config.toml"),
        mode: SettingsScope::User.mode(),
        content: Box::new(TomlHooks {
            lines,
            timeout: TIMEOUT,
        }),
    })
}
