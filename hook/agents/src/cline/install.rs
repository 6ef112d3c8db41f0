//! Cline: one of our scripts for each event, named after it, in Cline's folder of hooks.

use std::path::Path;

use ckpt_store::error::Result;

use crate::settings::command;
use crate::settings::content::SettingsFile;
use crate::settings::own_file::OwnFile;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::target::{AgentTarget, PLAIN};
use crate::settings::version::{AgentVersion, AgentVersions};

/// Cline.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "cline",
    programs: &["cline"],
    versions: &AgentVersions::since("Cline", "cline", AgentVersion(3, 0, 57)),
    home: |place| place.home.join(".cline"),
    files,
    notes: &["Cline does not send the prompt of most messages, so these have no text in the log"],
    ..PLAIN
};

/// The events; steps end with tools, so that these are never left out.
const EVENTS: [&str; 9] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
    "TaskError",
    "SessionShutdown",
];

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        SettingsScope::User => place.home.join("Documents").join("Cline").join("Hooks"),
        SettingsScope::Project => place.project.join(".clinerules").join("hooks"),
    };
    let file = |event| hook_file(&directory, event, place);
    EVENTS.into_iter().map(file).collect()
}

/// Returns the script that Cline runs at an event.
fn hook_file(directory: &Path, event: &str, place: &SettingsPlace<'_>) -> Result<SettingsFile> {
    let line = command::guarded(place.binary, "cline", event)?;
    let text = format!("#!/bin/sh\n# Written by `ckpt-hook install cline`.\n{line}\n");
    let content = OwnFile::of_hook("cline", command::text(place.binary)?, text);
    Ok(SettingsFile {
        path: directory.join(event),
        mode: 0o755,
        content: Box::new(content),
    })
}
