//! opencode and Kilo: one of our plugins in their folder of plugins.

use std::path::{Path, PathBuf};

use ckpt_store::error::Result;
use ckpt_store::model::instruction::Instruction;
use serde_json::Value;

use crate::own_command::COMMANDS;
use crate::settings::advice::Advice;
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
    versions: &AgentVersions::since("opencode", "opencode-ai", AgentVersion(1, 0, 152)),
    home: |place| directory("opencode", SettingsScope::User, place),
    package: |place| package("opencode", place),
    files: |scope, place| files("opencode", scope, place),
    check: Some(check),
    notes: &["an open session of opencode loads the plugin only after a restart"],
    ..PLAIN
};

/// Kilo.
pub const KILO: AgentTarget = AgentTarget {
    agent: "kilo",
    programs: &["kilo", "kilocode"],
    versions: &AgentVersions::since("Kilo", "@kilocode/cli", AgentVersion(7, 0, 33)),
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
    let text = match takes_both(agent, place) {
        true => plugin(agent, binary),
        false => plugin_of_1(agent, binary),
    };
    let content = Box::new(OwnFile::of_hook(agent, binary, text));
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

/// The first version that is known to take a plugin that is written for opencode 2, too. Some before it do not start
/// with one.
const TAKES_BOTH: AgentVersion = AgentVersion(1, 14, 41);

/// The first version that takes no other.
const SECOND: AgentVersion = AgentVersion(2, 0, 0);

/// Where in the plugin begins what only opencode 2 calls.
const OF_2: &str = "\n// opencode 2:";

fn takes_both(agent: &str, place: &SettingsPlace<'_>) -> bool {
    let lowest = || OPENCODE.lowest_version(place);
    agent == OPENCODE.agent && lowest().is_some_and(|version| version >= TAKES_BOTH)
}

/// opencode 2 passes over a plugin that is written for opencode 1, and says so only in its log.
fn check(_: SettingsScope, place: &SettingsPlace<'_>, _: &Path, text: &str) -> Result<Vec<Advice>> {
    let Some(version) = OPENCODE.version(place).filter(|version| *version >= SECOND) else {
        return Ok(Vec::new());
    };
    if !text.contains(OF_2) {
        return Ok(vec![Advice::stop(
            format!(
                "opencode {version} does not load this plugin, which is written for opencode 1"
            ),
            "`ckpt-hook install opencode` writes one for both",
        )]);
    }
    Ok(vec![Advice::remark(
        format!(
            "opencode {version} was not tried with this hook, only its documented interface was"
        ),
        format!(
            "{} shows whether messages are recorded",
            Instruction::Messages
        ),
    )])
}

/// The plugin without what only opencode 2 calls.
pub fn plugin_of_1(agent: &str, binary: &str) -> String {
    let text = plugin(agent, binary);
    text.split(OF_2).next().unwrap_or_default().to_owned()
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
