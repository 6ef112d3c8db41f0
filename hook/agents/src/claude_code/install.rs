//! Claude Code: `hooks` in `settings.json`.
//!
//! A shell command line, not the exec form (`command` and `args`): versions up to 2.1.138 ignore `args` and run the
//! command alone. Up to 2.1.100, an event that the version does not know makes it refuse the whole file, including its
//! permissions. There is no matcher: a handler without one gets every tool.

use std::path::{Path, PathBuf};

use ckpt_store::error::Result;

use super::policy;
use crate::settings::advice::{self, Advice};
use crate::settings::commands::{self, Form};
use crate::settings::content::SettingsFile;
use crate::settings::file;
use crate::settings::hook_table::{self, HookTable};
use crate::settings::jsonc::JsonDialect;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::target::{AgentTarget, PLAIN, enables_package, names_package};
use crate::settings::version::{AgentVersion, AgentVersions};

/// Claude Code.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "claude-code",
    programs: &["claude"],
    versions: &AgentVersions {
        agent: "Claude Code",
        package: "@anthropic-ai/claude-code",
        lowest: AgentVersion(2, 0, 0),
        lower_were_tried: false,
        lacks: &[(
            AgentVersion(2, 1, 118),
            "does not report where a step ends: everything that it does for a message is one step",
        )],
    },
    home: |place| place.directory("CLAUDE_CONFIG_DIR", ".claude"),
    package: |place| {
        settings_files(place).into_iter().find_map(|file| {
            names_package(file, |settings| {
                enables_package(settings.get("enabledPlugins"))
            })
        })
    },
    files,
    dialect: Some(JsonDialect {
        comments: false,
        byte_order_mark: true,
    }),
    check: Some(check),
    policy: policy::policy,
    reads_above: false,
    notes: &["an open session of Claude Code may call the hook only after a restart"],
    ..PLAIN
};

/// The seconds after which Claude Code continues without us: far above our own deadline.
pub const TIMEOUT: u32 = 30;

/// The events in the order of a conversation, and what each is about.
pub const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    STEP_END,
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];

/// The event at which a step ends.
const STEP_END: &str = "PostToolBatch";

/// The first version that ignores an event that it does not know.
const PASSES_OVER_EVENTS: AgentVersion = AgentVersion(2, 1, 101);

/// Returns a version that is known to accept an event.
fn since(event: &str) -> AgentVersion {
    match event {
        "PermissionRequest" | "PostToolUseFailure" | "SubagentStart" => AgentVersion(2, 1, 100),
        STEP_END => PASSES_OVER_EVENTS,
        _ => AgentVersion(0, 0, 0),
    }
}

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        SettingsScope::User => place.directory("CLAUDE_CONFIG_DIR", ".claude"),
        SettingsScope::Project => place.project.join(".claude"),
    };
    let handler = |event: &str| hook_table::handler(place, "claude-code", event, TIMEOUT);
    let table =
        HookTable::of_events(EVENTS, handler)?.known_to(TARGET.lowest_version(place), since);
    let files = commands::files_beside(table, Form::Claude, &directory, scope, place)?;
    Ok(match scope {
        SettingsScope::User => files,
        SettingsScope::Project => where_moved(files, &directory.join("settings.local.json")),
    })
}

/// Our entries may have been moved into a user's own settings of the project, which git ignores: then they are kept
/// there. If the project's settings have them as well, there are none to be.
fn where_moved(mut files: Vec<SettingsFile>, local: &Path) -> Vec<SettingsFile> {
    let calls_us = |path: &Path| {
        let text = file::read(path).ok().flatten();
        let own = text.and_then(|text| hook_table::positions(&text).ok());
        own.is_some_and(|own| !own.is_empty())
    };
    match files.first_mut() {
        Some(shared) if calls_us(local) && !calls_us(&shared.path) => {
            local.clone_into(&mut shared.path)
        }
        Some(_) if calls_us(local) => {
            let nothing = HookTable::default();
            files.push(SettingsFile::with_table(
                local.to_owned(),
                SettingsScope::Project,
                nothing,
            ));
        }
        _ => {}
    }
    files
}

/// Returns the settings files that Claude Code merges, the one that wins last.
fn settings_files(place: &SettingsPlace<'_>) -> [PathBuf; 3] {
    let user = place.directory("CLAUDE_CONFIG_DIR", ".claude");
    let project = place.project.join(".claude");
    [
        user.join("settings.json"),
        project.join("settings.json"),
        project.join("settings.local.json"),
    ]
}

/// Warns of hooks that are switched off, and of a version that could not be found: only what every version knows is
/// written for it.
fn check(_: SettingsScope, place: &SettingsPlace<'_>, _: &Path, text: &str) -> Result<Vec<Advice>> {
    let mut advice = match policy::sets_switch(place) {
        true => Vec::new(),
        false => advice::switched_off(&settings_files(place)),
    };
    let missing = missing_events(text)?;
    if TARGET.version(place).is_none() && missing.contains(&STEP_END) {
        advice.push(Advice::remark(
            "the version of Claude Code is unknown, so each message is recorded as one step",
            "put `claude` on the PATH, and run `ckpt-hook install claude-code` again",
        ));
    }
    Ok(advice)
}

/// Returns the events that are not among the hooks of a settings file.
fn missing_events(text: &str) -> Result<Vec<&'static str>> {
    let handlers = hook_table::positions(text)?;
    let is_there = |event: &str| handlers.iter().any(|handler| handler.event == event);
    let missing = EVENTS.iter().copied().filter(|event| !is_there(event));
    Ok(missing.collect())
}

fn listed(events: &[&str]) -> String {
    let quoted: Vec<String> = events.iter().map(|event| format!("`{event}`")).collect();
    quoted.join(", ")
}

/// Advice for a user whose hooks were installed while the version was unknown, from the program that runs
/// now: the events that it reports and that are not among the hooks.
pub fn advice_on_running(place: &SettingsPlace<'_>, program: &Path) -> Option<Advice> {
    let version = TARGET.versions.told_by_file(program)?;
    let texts = settings_files(place)
        .into_iter()
        .filter_map(|path| file::read(&path).ok().flatten());
    let ours = |text: &String| hook_table::positions(text).is_ok_and(|own| !own.is_empty());
    let text: String = texts.into_iter().find(ours)?;
    let missing = missing_events(&text).ok()?;
    let missing: Vec<&str> = missing
        .into_iter()
        .filter(|event| version >= since(event))
        .collect();
    let folder = program.parent()?.display();
    (!missing.is_empty()).then(|| {
        Advice::remark(
            format!(
                "Claude Code {version} reports {}, and the hook is not called for it",
                listed(&missing)
            ),
            format!("`PATH={folder}:$PATH ckpt-hook install claude-code` adds what is missing"),
        )
    })
}
