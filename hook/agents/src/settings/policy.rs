//! What administrators decide about an agent's hooks, in files that users do not write. They are read, never written.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::advice::{self, Advice};
use super::command;
use super::place::SettingsPlace;

/// What administrators decide about an agent's hooks.
#[derive(Debug, Default)]
pub struct Policy {
    /// The administrator's file that calls the hook itself: no switch of the user's turns that off.
    pub calls_us: Option<PathBuf>,
    /// What keeps the hooks in the settings of users and projects from being called, or may.
    pub against: Vec<Advice>,
    /// What keeps the hooks of packages from being called.
    pub against_packages: Vec<Advice>,
}

/// A program's settings for the whole machine, as Gemini CLI and Qwen Code keep them.
#[derive(Clone, Copy)]
pub struct SystemSettings {
    /// The folder in `/etc`.
    pub folder: &'static str,
    /// The folder in `/Library/Application Support` on macOS.
    pub folder_on_macos: &'static str,
    /// The variables that name the files instead: the defaults, and the settings that win over all others.
    pub variables: [&'static str; 2],
}

impl SystemSettings {
    /// Returns the file of defaults, and that of the settings that win over all others.
    pub fn files(&self, place: &SettingsPlace<'_>) -> [PathBuf; 2] {
        let [defaults, settings] = self.variables.map(|name| {
            let named = (place.environment)(name);
            named.map(PathBuf::from)
        });
        let settings = settings.unwrap_or_else(|| {
            folder(place, self.folder, self.folder_on_macos).join("settings.json")
        });
        let beside = || settings.with_file_name("system-defaults.json");
        [defaults.unwrap_or_else(beside), settings]
    }

    /// Returns the administrator's file that calls the hook, if no other one that wins turns hooks off.
    pub fn calling(&self, place: &SettingsPlace<'_>) -> Option<PathBuf> {
        let files = self.files(place);
        let mut calling = files.iter();
        let calling = calling.find(|file| {
            let read = advice::settings(file).unwrap_or_default();
            read.get("hooks").is_some_and(calls_us)
        });
        advice::switched_off(&files)
            .is_empty()
            .then(|| calling.cloned())?
    }
}

/// Returns a folder of a program for the whole machine.
pub fn folder(place: &SettingsPlace<'_>, linux: &str, macos: &str) -> PathBuf {
    match cfg!(target_os = "macos") {
        true => place
            .machine
            .join("Library/Application Support")
            .join(macos),
        false => place.machine.join("etc").join(linux),
    }
}

/// Returns whether a text anywhere in a value calls the hook.
pub fn calls_us(value: &Value) -> bool {
    match value {
        Value::String(line) => command::is_ours(line),
        Value::Array(values) => values.iter().any(calls_us),
        Value::Object(members) => members.values().any(calls_us),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Warns of a setting that makes an agent run as a whole in a container, where this program is not. The variable wins
/// over the setting, and `SANDBOX` says that the container is where this runs already.
pub fn in_container(
    agent: &str,
    place: &SettingsPlace<'_>,
    files: &[PathBuf],
    variable: &str,
) -> Option<Advice> {
    if (place.environment)("SANDBOX").is_some() {
        return None;
    }
    let named = (place.environment)(variable).and_then(|value| value.into_string().ok());
    let (name, at, value) = match named {
        Some(value) => (format!("${variable}"), None, Value::String(value)),
        None => {
            let (file, value) = advice::last_set(files, "/tools/sandbox")?;
            ("tools.sandbox".to_owned(), Some(file), value)
        }
    };
    let hint = match at {
        Some(file) => format!("remove it from `{}`", file.display()),
        None => "unset it".to_owned(),
    };
    is_container(&value).then(|| {
        Advice::stop(
            format!("`{name}` runs {agent} in a container, where hooks find no ckpt-hook"),
            hint,
        )
    })
}

/// Returns whether a sandbox is a container. That of macOS itself leaves the program where it is.
fn is_container(sandbox: &Value) -> bool {
    match sandbox {
        Value::Bool(is_on) => *is_on && !cfg!(target_os = "macos"),
        Value::String(name) => match name.trim().to_ascii_lowercase().as_str() {
            "" | "0" | "false" | "sandbox-exec" | "windows-native" => false,
            "1" | "true" => is_container(&Value::Bool(true)),
            _ => true,
        },
        Value::Object(sandbox) => {
            let is_on = sandbox.get("enabled") == Some(&Value::Bool(true));
            is_on && is_container(sandbox.get("command").unwrap_or(&Value::Bool(true)))
        }
        Value::Null | Value::Number(_) | Value::Array(_) => false,
    }
}

/// Returns the advice about a rule of administrators by which only their own hooks are called.
pub fn only_theirs(rule: &str, file: &Path) -> Advice {
    Advice::stop(
        format!(
            "`{rule}` in `{}` lets only the administrator's hooks be called",
            file.display()
        ),
        "ask the administrator to put the hook there: docs/administrators.md has the lines",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A sandbox is a container where it names one.
    #[test]
    fn sandbox_is_a_container_if_it_names_one() {
        for sandbox in [
            json!("docker"),
            json!("podman"),
            json!("lxc"),
            json!({"enabled": true, "command": "runsc"}),
        ] {
            assert!(is_container(&sandbox), "{sandbox}");
        }
        for sandbox in [
            json!(null),
            json!(false),
            json!("false"),
            json!("0"),
            json!(""),
            json!("sandbox-exec"),
            json!({"enabled": false, "command": "docker"}),
            json!({"command": "docker"}),
        ] {
            assert!(!is_container(&sandbox), "{sandbox}");
        }
    }

    /// A call of ours is found however deep it is.
    #[test]
    fn our_call_is_found_at_any_depth() {
        let hooks = json!({"Stop": [{"hooks": [{"command": "/usr/bin/ckpt-hook event --agent claude-code --event Stop"}]}]});
        assert!(calls_us(&hooks), "in a table of hooks");
        assert!(
            !calls_us(&json!({"Stop": ["/usr/bin/other event --agent x"]})),
            "of another program"
        );
    }
}
