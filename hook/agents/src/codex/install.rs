//! Codex: `hooks.json` beside its configuration.
//!
//! Codex runs no hook that the user has not trusted, and says nothing about it outside its terminal interface.

use std::path::{Path, PathBuf};

use ckpt_store::error::Result;
use ckpt_store::model::instruction::Instruction;

use super::policy;
use super::trust::{self, Trust};
use crate::settings::advice::Advice;
use crate::settings::commands::{self, Form};
use crate::settings::content::SettingsFile;
use crate::settings::edit::Edit;
use crate::settings::file;
use crate::settings::hook_table::{self, HookTable, positions};
use crate::settings::jsonc::JsonDialect;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::target::{AgentTarget, PLAIN};
use crate::settings::version::{AgentVersion, AgentVersions};

/// Codex.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "codex",
    programs: &["codex"],
    versions: &AgentVersions {
        agent: "Codex",
        package: "@openai/codex",
        lowest: AgentVersion(0, 124, 0),
        lower_were_tried: true,
        lacks: &[],
    },
    home,
    package: |place| {
        let config = config(place);
        let text = file::read(&config).ok().flatten()?;
        trust::enables_package(&text).then_some(config)
    },
    files,
    follow: Some(trust_file),
    dialect: Some(JsonDialect {
        comments: false,
        byte_order_mark: false,
    }),
    check: Some(check),
    policy: policy::policy,
    ..PLAIN
};

/// The events, and what each is about.
pub const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreModelRequest",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "Interrupt",
    "SessionEnd",
];

/// Returns the seconds after which Codex continues without us; for two of the events it waits three at most.
pub fn timeout(event: &str) -> u32 {
    // Codex clamps these, and what it hashes for its trust is the clamped number.
    if ["Interrupt", "SessionEnd"].contains(&event) {
        3
    } else {
        30
    }
}

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        SettingsScope::User => home(place),
        SettingsScope::Project => place.project.join(".codex"),
    };
    let handler = |event: &str| hook_table::handler(place, "codex", event, timeout(event));
    let table = HookTable::of_events(EVENTS, handler)?;
    let mut files = vec![SettingsFile::with_table(
        directory.join("hooks.json"),
        scope,
        table,
    )];
    // A project's are in another place, where other agents would find them, too.
    if scope == SettingsScope::User {
        files.extend(commands::files(
            Form::Skill,
            &directory.join("skills"),
            scope,
            place,
        )?);
    }
    Ok(files)
}

fn home(place: &SettingsPlace<'_>) -> PathBuf {
    place.directory("CODEX_HOME", ".codex")
}

/// Returns the change of the file that holds Codex's trust: what to trust once the hook is installed, or what to trust
/// no longer.
fn trust_file(place: &SettingsPlace<'_>, hooks: &Edit) -> Result<Option<SettingsFile>> {
    let path = &hooks.file.path;
    let after = positions(hooks.after.as_deref().unwrap_or_default())?;
    // The review is the user's, and only `--trust` takes its place. Taking trust back needs no leave.
    if !after.is_empty() && !place.trust {
        return Ok(None);
    }
    let before = positions(hooks.before.as_deref().unwrap_or_default())?;
    let trust = Trust::in_handlers(path, if after.is_empty() { &before } else { &after });
    let file = |trust| SettingsFile {
        path: config(place),
        mode: SettingsScope::User.mode(),
        content: Box::new(trust),
    };
    Ok((!trust.is_empty()).then(|| file(trust)))
}

fn config(place: &SettingsPlace<'_>) -> PathBuf {
    home(place).join("config.toml")
}

/// Warns if Codex does not trust the installed handlers and this change does not make it, if it does not trust the
/// project, or if the user switched our handlers off.
fn check(
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    hooks_json: &Path,
    text: &str,
) -> Result<Vec<Advice>> {
    let config = file::read(&config(place))?.unwrap_or_default();
    let trust = Trust::in_handlers(hooks_json, &positions(text)?);
    let mut advice = Vec::new();
    if trust.switched_off_in(&config) > 0 {
        advice.push(switched_off(place));
    }
    if !place.trust && !trust.is_in(&config) {
        advice.push(untrusted());
    }
    if scope == SettingsScope::Project && !trust::trusts_project(&config, place.project) {
        advice.push(Advice::stop(
            "Codex does not trust this project, and skips its hooks",
            format!(
                "run `codex` in the project and trust it, or {}",
                Instruction::User
            ),
        ));
    }
    Ok(advice)
}

/// The advice about hooks of ours that the user switched off.
pub(super) fn switched_off(place: &SettingsPlace<'_>) -> Advice {
    Advice::stop(
        "Codex skips hooks of ours that are switched off",
        format!(
            "run `/hooks` in Codex, or remove `enabled = false` from `{}`",
            config(place).display()
        ),
    )
}

/// The advice about hooks that the user has not reviewed, or not since they changed.
pub(super) fn untrusted() -> Advice {
    Advice::stop(
        "Codex skips a hook until you trust it",
        "run `/hooks` in Codex, or `ckpt-hook install codex --trust`",
    )
}
