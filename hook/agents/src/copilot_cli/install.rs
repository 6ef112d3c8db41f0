//! Copilot CLI: one of our files in its folder of hooks.
//!
//! No hooks before tools or for permissions: a hook that fails there makes Copilot CLI refuse the tool, and we must
//! never cause that.

use std::path::{Path, PathBuf};

use ckpt_store::error::Result;
use serde_json::{Value, json};

use super::payload::NAMES_STEERED;
#[cfg(not(target_os = "linux"))]
use super::payload::NAMES_SUB_AGENTS;
use crate::settings::advice::{self, Advice};
use crate::settings::content::SettingsFile;
use crate::settings::hook_table::{self, positions};
use crate::settings::own_file::OwnFile;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::policy::{self, Policy};
use crate::settings::target::{AgentTarget, PLAIN, enables_package, names_package};
use crate::settings::version::{AgentVersion, AgentVersions};
use crate::settings::{command, file};

/// Copilot CLI.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "copilot-cli",
    programs: &["copilot"],
    versions: &AgentVersions {
        agent: "Copilot CLI",
        package: "@github/copilot",
        lowest: AgentVersion(1, 0, 34),
        lower_were_tried: false,
        lacks: &[
            (
                NAMES_STEERED,
                "does not report a message that is sent while it works: it goes back with the one before",
            ),
            // Elsewhere it is unknown which process calls the hook, and so whose sub-agent it is.
            #[cfg(not(target_os = "linux"))]
            (
                NAMES_SUB_AGENTS,
                "may list a sub-agent's task as a message in a session of its own",
            ),
        ],
    },
    home: |place| place.directory("COPILOT_HOME", ".copilot"),
    package: |place| {
        let settings = place
            .directory("COPILOT_HOME", ".copilot")
            .join("settings.json");
        names_package(settings, |settings| {
            enables_package(settings.get("enabledPlugins"))
        })
    },
    files,
    check: Some(check),
    policy: |place| Policy {
        calls_us: calling_policy(place),
        ..Policy::default()
    },
    ..PLAIN
};

/// The seconds after which Copilot CLI continues without us.
const TIMEOUT: u32 = 30;

/// The events; steps end with tools, so that these are never left out.
const EVENTS: [&str; 8] = [
    "sessionStart",
    "userPromptSubmitted",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "agentStop",
    "sessionEnd",
];

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        SettingsScope::User => place.directory("COPILOT_HOME", ".copilot").join("hooks"),
        SettingsScope::Project => place.project.join(".github").join("hooks"),
    };
    let own = OwnFile::of_hook("copilot-cli", command::text(place.binary)?, text(place)?);
    let content = Box::new(own);
    Ok(vec![SettingsFile {
        path: directory.join("ckpt-hook.json"),
        mode: scope.mode(),
        content,
    }])
}

fn text(place: &SettingsPlace<'_>) -> Result<String> {
    let handler = |event| {
        let line = command::guarded(place.binary, "copilot-cli", event)?;
        Ok((
            event.to_owned(),
            json!([{"type": "command", "bash": line, "timeoutSec": TIMEOUT}]),
        ))
    };
    let hooks = EVENTS
        .into_iter()
        .map(handler)
        .collect::<Result<serde_json::Map<_, _>>>()?;
    let text: Value = json!({"version": 1, "hooks": hooks});
    Ok(format!("{text:#}\n"))
}

fn check(
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    _: &Path,
    _: &str,
) -> Result<Vec<Advice>> {
    let mut advice = advice::switched_off(&settings_files(place));
    advice.extend(claude_codes_hooks(place)?);
    if scope == SettingsScope::Project && !trusts_project(place)? {
        advice.push(advice::untrusted("Copilot CLI", "copilot"));
    }
    Ok(advice)
}

/// Returns the settings files that it merges, the one that wins last. In a project it reads those of Claude Code, too.
fn settings_files(place: &SettingsPlace<'_>) -> [PathBuf; 5] {
    let project = |name: &str| place.project.join(name);
    [
        place
            .directory("COPILOT_HOME", ".copilot")
            .join("settings.json"),
        project(".claude/settings.json"),
        project(".claude/settings.local.json"),
        project(".github/copilot/settings.json"),
        project(".github/copilot/settings.local.json"),
    ]
}

/// Returns the administrator's file that calls the hook. No switch turns that off.
fn calling_policy(place: &SettingsPlace<'_>) -> Option<PathBuf> {
    let folder = place.machine.join("etc/github-copilot/policy.d");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let calls = |file: &PathBuf| advice::settings(file).is_ok_and(|text| policy::calls_us(&text));
    files.into_iter().find(calls)
}

/// Versions keep the list under either name.
fn trusts_project(place: &SettingsPlace<'_>) -> Result<bool> {
    let config = place
        .directory("COPILOT_HOME", ".copilot")
        .join("config.json");
    let config = hook_table::settings(&file::read(&config)?.unwrap_or_default())?;
    let is_in = |name| advice::is_below_one(config.get(name), place.project);
    Ok(is_in("trusted_folders") || is_in("trustedFolders"))
}

/// In a folder that it trusts, Copilot CLI also runs the hooks of a project's `.claude/settings.json`.
fn claude_codes_hooks(place: &SettingsPlace<'_>) -> Result<Vec<Advice>> {
    let claude = place.project.join(".claude").join("settings.json");
    let text = file::read(&claude)?.unwrap_or_default();
    let advice = Advice::remark(
        format!(
            "Copilot CLI also runs the hooks of `{}`: every event may come twice",
            claude.display()
        ),
        "`ckpt-hook uninstall claude-code --project`, and `ckpt-hook install claude-code` instead",
    );
    Ok((!positions(&text)?.is_empty())
        .then_some(advice)
        .into_iter()
        .collect())
}
