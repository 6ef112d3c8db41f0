//! Pi: one of our extensions in its folder of extensions.

use ckpt_store::error::Result;
use serde_json::{Value, json};

use crate::own_command::{COMMANDS, OwnCommand};
use crate::settings::command;
use crate::settings::commands::words;
use crate::settings::content::SettingsFile;
use crate::settings::own_file::OwnFile;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::target::{AgentTarget, PLAIN};
use crate::settings::version::{AgentVersion, AgentVersions};

/// Pi.
pub const TARGET: AgentTarget = AgentTarget {
    agent: "pi",
    programs: &["pi"],
    versions: &AgentVersions::since(
        "Pi",
        "@earendil-works/pi-coding-agent",
        AgentVersion(0, 52, 8),
    ),
    home: |place| place.home.join(".pi"),
    files,
    notes: &["an open session of Pi loads the extension only after a restart"],
    ..PLAIN
};

const EXTENSION: &str = include_str!("../../plugins/pi.ts");

fn files(scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<SettingsFile>> {
    let directory = match scope {
        SettingsScope::User => place.home.join(".pi").join("agent").join("extensions"),
        SettingsScope::Project => place.project.join(".pi").join("extensions"),
    };
    let binary = command::text(place.binary)?;
    let line = format!("const binary = {}", Value::from(binary));
    let text = EXTENSION.replace("const binary = \"ckpt-hook\"", &line);
    let text = text.replace(
        "const commands = {}",
        &format!("const commands = {}", commands()),
    );
    let content = Box::new(OwnFile::of_hook("pi", binary, text));
    Ok(vec![SettingsFile {
        path: directory.join("ckpt-hook.ts"),
        mode: scope.mode(),
        content,
    }])
}

/// Returns the words of our command line, and what they do, for each command inside Pi.
fn commands() -> Value {
    let command = |command: &OwnCommand| json!({"words": words(command), "about": command.about});
    COMMANDS
        .iter()
        .map(|each| (each.name.to_owned(), command(each)))
        .collect()
}
