//! opencode and Kilo: a plugin of ours in their folder of plugins.

use std::path::PathBuf;

use ckpt_store::error::Result;
use serde_json::Value;

use crate::agents::own_command::COMMANDS;
use crate::agents::settings::command;
use crate::agents::settings::commands::{self, Form};
use crate::agents::settings::content::SettingsFile;
use crate::agents::settings::own_file::OwnFile;
use crate::agents::settings::place::{Place, Scope};
use crate::agents::settings::target::{Target, names_package};
use crate::agents::settings::version::{Version, Versions};

/// opencode.
pub const OPENCODE: Target = Target {
    agent: "opencode",
    programs: &["opencode"],
    versions: &Versions {
        agent: "opencode",
        package: "opencode-ai",
        lowest: Version(1, 0, 152),
        lacks: &[],
    },
    home: |place| directory("opencode", Scope::User, place),
    package: |place| package("opencode", place),
    files: |scope, place| files("opencode", scope, place),
    follow: None,
    check: None,
    notes: &[
        "a session of opencode that is open now loads the plugin only after it was started anew",
    ],
    project_notes: &[],
};

/// Kilo.
pub const KILO: Target = Target {
    agent: "kilo",
    programs: &["kilo", "kilocode"],
    versions: &Versions {
        agent: "Kilo",
        package: "@kilocode/cli",
        lowest: Version(7, 7, 7),
        lacks: &[],
    },
    home: |place| directory("kilo", Scope::User, place),
    package: |place| package("kilo", place),
    files: |scope, place| files("kilo", scope, place),
    follow: None,
    check: None,
    notes: &["a session of Kilo that is open now loads the plugin only after it was started anew"],
    project_notes: &[],
};

const PLUGIN: &str = include_str!("../../../plugins/opencode.js");

fn files(agent: &'static str, scope: Scope, place: &Place<'_>) -> Result<Vec<SettingsFile>> {
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

/// Returns the configuration that lists our package among its plugins.
fn package(agent: &str, place: &Place<'_>) -> Option<PathBuf> {
    let lists = |settings: &Value| {
        let plugins = settings
            .get("plugin")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let folder = format!("/packages/{agent}-plugin");
        let is_ours = |plugin: &str| {
            plugin.contains("ckpt-hook") || plugin.trim_end_matches('/').ends_with(&folder)
        };
        plugins.filter_map(Value::as_str).any(is_ours)
    };
    let directory = directory(agent, Scope::User, place);
    [".json", ".jsonc"]
        .into_iter()
        .find_map(|ending| names_package(directory.join(format!("{agent}{ending}")), lists))
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

fn directory(agent: &str, scope: Scope, place: &Place<'_>) -> PathBuf {
    let project = match agent {
        "kilo" => ".kilo",
        _ => ".opencode",
    };
    match scope {
        Scope::User => place.directory("XDG_CONFIG_HOME", ".config").join(agent),
        Scope::Project => place.project.join(project),
    }
}
