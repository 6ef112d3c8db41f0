//! opencode and Kilo: one of our plugins in their folder of plugins.

use std::path::PathBuf;

use ckpt_store::error::Result;
use serde_json::Value;

use crate::own_command::COMMANDS;
use crate::settings::command;
use crate::settings::commands::{self, Form};
use crate::settings::content::SettingsFile;
use crate::settings::own_file::OwnFile;
use crate::settings::place::{SettingsPlace, SettingsScope};
use crate::settings::target::{AgentTarget, PLAIN, names_package};
use crate::settings::version::{AgentVersion, AgentVersions};

/// opencode.
pub const OPENCODE: AgentTarget = AgentTarget {
    agent: "opencode",
    programs: &["opencode"],
    versions: &AgentVersions {
        agent: "opencode",
        package: "opencode-ai",
        lowest: AgentVersion(1, 0, 152),
        lower_were_tried: false,
        lacks: &[],
    },
    home: |place| directory("opencode", SettingsScope::User, place),
    package: |place| package("opencode", place),
    files: |scope, place| files("opencode", scope, place),
    notes: &["an open session of opencode loads the plugin only after a restart"],
    ..PLAIN
};

/// Kilo.
pub const KILO: AgentTarget = AgentTarget {
    agent: "kilo",
    programs: &["kilo", "kilocode"],
    versions: &AgentVersions {
        agent: "Kilo",
        package: "@kilocode/cli",
        lowest: AgentVersion(7, 0, 33),
        lower_were_tried: false,
        lacks: &[],
    },
    home: |place| directory("kilo", SettingsScope::User, place),
    package: |place| package("kilo", place),
    files: |scope, place| files("kilo", scope, place),
    notes: &["an open session of Kilo loads the plugin only after a restart"],
    ..PLAIN
};

const PLUGIN: &str = include_str!("../../plugins/opencode.js");

fn files(
    agent: &'static str,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
) -> Result<Vec<SettingsFile>> {
    let binary = command::text(place.binary)?;
    let content = Box::new(OwnFile::of_hook(agent, binary, plugin(agent, binary)));
    let directory = directory(agent, scope, place);
    let mut files = vec![SettingsFile {
        path: directory.join("plugin").join("ckpt-hook.js"),
        mode: scope.mode(),
        content,
    }];
    files.extend(commands::files(
        Form::Blank,
        &directory.join("command"),
        scope,
        place,
    )?);
    Ok(files)
}

/// Returns the configuration that lists our package among its plugins: the user's, or the project's.
fn package(agent: &str, place: &SettingsPlace<'_>) -> Option<PathBuf> {
    let lists = |settings: &Value| {
        let plugins = settings.get("plugin").and_then(Value::as_array);
        let mut plugins = plugins.into_iter().flatten();
        plugins.any(|plugin| is_package(agent, plugin))
    };
    let user = directory(agent, SettingsScope::User, place);
    let project = directory(agent, SettingsScope::Project, place);
    let folders = [user.as_path(), &project, place.project];
    let names = [format!("{agent}.json"), format!("{agent}.jsonc")];
    let mut files = folders
        .into_iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .chain([user.join("config.json")]);
    files.find_map(|file| names_package(file, lists))
}

/// Returns whether a plugin is ours: by its name, with or without a version and settings, or by its folder.
fn is_package(agent: &str, plugin: &Value) -> bool {
    let named = plugin.as_str().or_else(|| plugin.get(0)?.as_str());
    named.is_some_and(|name| {
        let path = name.trim_end_matches("index.js").trim_end_matches('/');
        name.contains("ckpt-hook") || path.ends_with(&format!("/{agent}-plugin"))
    })
}

/// Returns the plugin of an agent, which calls a binary.
pub fn plugin(agent: &str, binary: &str) -> String {
    PLUGIN
        .replace("--agent opencode`", &format!("--agent {agent}`"))
        .replace(
            "const binary = \"ckpt-hook\"",
            &format!("const binary = {}", Value::from(binary)),
        )
        .replace(
            "const agent = \"opencode\"",
            &format!("const agent = \"{agent}\""),
        )
        .replace(
            "const commands = {}",
            &format!("const commands = {}", command_words()),
        )
        .replace(
            "const blank = \"\"",
            &format!("const blank = {}", Value::from(commands::BLANK)),
        )
}

/// Returns the words of our command line for each command inside the agent.
fn command_words() -> Value {
    COMMANDS
        .iter()
        .map(|command| (command.name.to_owned(), commands::words(command)))
        .collect()
}

fn directory(agent: &str, scope: SettingsScope, place: &SettingsPlace<'_>) -> PathBuf {
    let project = match agent {
        "kilo" => ".kilo",
        _ => ".opencode",
    };
    match scope {
        SettingsScope::User => place.directory("XDG_CONFIG_HOME", ".config").join(agent),
        SettingsScope::Project => place.project.join(project),
    }
}
