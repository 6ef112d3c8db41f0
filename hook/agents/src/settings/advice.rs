//! What keeps an agent from calling hooks: a switch in its settings, or a folder that it does not trust, where Gemini
//! CLI, Qwen Code and Copilot CLI silently ignore the hooks of a project.
//!
//! Read from the agents' own files, which are never written: only the user decides whether to trust a folder.

use std::path::{Path, PathBuf};

use ckpt_store::error::{Error, Result};
use ckpt_store::model::instruction::Instruction;
use serde_json::Value;

use super::place::{SettingsPlace, SettingsScope};
use super::policy::SystemSettings;
use super::{file, hook_table};

/// Something that keeps a hook from being called as it should be, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The advice.
    pub message: String,
    /// What the user can do.
    pub hint: String,
    /// Whether no event arrives because of it.
    pub stops: bool,
}

impl Advice {
    /// Returns the advice about something that keeps every event from arriving.
    pub fn stop(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            stops: true,
            ..Self::remark(message, hint)
        }
    }

    /// Returns the advice about something with which events arrive all the same.
    pub fn remark(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            stops: false,
        }
    }

    /// Returns the advice about a file that may keep events from arriving, and cannot be read.
    pub fn unread(file: &Path, error: &Error) -> Self {
        let (file, why) = (file.display(), error.with_causes());
        Self::stop(
            format!("`{file}` cannot be read, so it is unknown whether hooks are called: {why}"),
            format!("have `{file}` corrected"),
        )
    }

    /// Returns the advice about a key of a settings file that turns hooks off.
    pub fn switch(name: &str, file: &Path) -> Self {
        Self::stop(
            format!("`{name}` turns every hook off"),
            format!("remove it from `{}`", file.display()),
        )
    }
}

/// An agent that asks its user whether to trust a folder.
pub struct FolderTrust {
    /// What people call the agent.
    pub agent: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The folder with its settings, below the user's home.
    pub folder: &'static str,
    /// Whether it asks unless its settings say otherwise.
    pub by_default: bool,
    /// The administrator's settings.
    pub system: SystemSettings,
}

impl FolderTrust {
    /// Warns of a project whose hooks the agent ignores. Gemini CLI and Qwen Code keep their answers in the same form.
    ///
    /// # Errors
    ///
    /// A file of the agent's that cannot be read or understood.
    pub fn check(&self, scope: SettingsScope, place: &SettingsPlace<'_>) -> Result<Vec<Advice>> {
        let answers = settings(&place.home.join(self.folder).join("trustedFolders.json"))?;
        let [defaults, user, _, system] = self.settings_files(place);
        let asks = last_set(&[defaults, user, system], "/security/folderTrust/enabled");
        let asks = asks.and_then(|(_, asks)| asks.as_bool());
        let passes_over = asks.unwrap_or(self.by_default) && !trusts(&answers, place.project);
        Ok((scope == SettingsScope::Project && passes_over)
            .then(|| untrusted(self.agent, self.program))
            .into_iter()
            .collect())
    }

    /// Returns the settings files that the agent merges, the one that wins last: the machine's defaults, the user's, the
    /// project's and the administrator's.
    pub fn settings_files(&self, place: &SettingsPlace<'_>) -> [PathBuf; 4] {
        let file = |scope| place.root(scope).join(self.folder).join("settings.json");
        let [defaults, system] = self.system.files(place);
        let [user, project] = [SettingsScope::User, SettingsScope::Project].map(file);
        [defaults, user, project, system]
    }

    /// The advice of [`switched_off`] and [`Self::check`].
    ///
    /// # Errors
    ///
    /// If a settings file cannot be read or parsed.
    pub fn check_with_switch(
        &self,
        scope: SettingsScope,
        place: &SettingsPlace<'_>,
    ) -> Result<Vec<Advice>> {
        let mut advice = switched_off(&self.settings_files(place));
        advice.extend(self.check(scope, place)?);
        Ok(advice)
    }
}

/// Warns of the switch in settings that turns all hooks off: Claude Code, Qwen Code and Copilot CLI have one, Gemini CLI
/// another. An agent merges these files; the last one that has the switch counts. Whether a file that
/// cannot be read has it is unknown.
pub fn switched_off(files: &[PathBuf]) -> Vec<Advice> {
    let switches = [
        ("disableAllHooks", "/disableAllHooks", true),
        ("hooksConfig.enabled", "/hooksConfig/enabled", false),
    ];
    let advice = switches.iter().filter_map(|(name, at, off)| {
        let (file, value) = last_set(files, at)?;
        (value == Value::Bool(*off)).then(|| Advice::switch(name, &file))
    });
    let unread = files
        .iter()
        .filter_map(|file| Some(Advice::unread(file, &settings(file).err()?)));
    advice.chain(unread).collect()
}

/// Returns the value of a key in the last file that has it, and that file. A file that cannot be read has nothing.
pub fn last_set(files: &[PathBuf], pointer: &str) -> Option<(PathBuf, Value)> {
    files.iter().rev().find_map(|file| {
        let value = settings(file).ok()?.pointer(pointer)?.clone();
        Some((file.clone(), value))
    })
}

/// Returns the warning about a project that an agent does not trust.
pub fn untrusted(agent: &str, program: &str) -> Advice {
    Advice::stop(
        format!("{agent} does not trust this project, and skips its hooks"),
        format!(
            "run `{program}` in the project and trust it, or {}",
            Instruction::User
        ),
    )
}

/// Returns whether one of the folders of a list holds a project.
pub fn is_below_one(folders: Option<&Value>, project: &Path) -> bool {
    let folders = folders
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    folders
        .map(real)
        .any(|folder| real(project).starts_with(folder))
}

/// Of the answers about folders that contain the project, the one with the longest path counts.
fn trusts(answers: &Value, project: &Path) -> bool {
    let project = real(project);
    let answers = answers
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(path, answer)| Some((path, answer.as_str()?)));
    let nearest = answers
        .filter(|(path, answer)| concerns(Path::new(path), answer, &project))
        .max_by_key(|(path, _)| path.len());
    nearest.is_some_and(|(_, answer)| answer != "DO_NOT_TRUST")
}

/// Returns whether an answer about a folder applies to a project. It is about that folder, or about its parent.
fn concerns(folder: &Path, answer: &str, project: &Path) -> bool {
    let folder = match answer {
        "TRUST_PARENT" => folder.parent(),
        _ => Some(folder),
    };
    folder.is_some_and(|folder| project.starts_with(real(folder)))
}

/// Returns a settings file as a value; nothing if there is none.
///
/// # Errors
///
/// If it cannot be read or parsed.
pub fn settings(path: &Path) -> Result<Value> {
    Ok(file::read(path)?
        .map(|text| hook_table::settings(&text))
        .transpose()?
        .unwrap_or_default())
}

fn real(path: impl AsRef<Path>) -> PathBuf {
    file::real(path.as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answer about the nearest folder says whether a project is trusted.
    #[test]
    fn nearest_folder_decides_whether_a_project_is_trusted() {
        let trusts = |answers, project: &str| trusts(&answers, Path::new(project));
        let answers = json!({
            "/none/a": "TRUST_FOLDER",
            "/none/a/b": "DO_NOT_TRUST",
            "/none/c/d": "TRUST_PARENT",
        });
        assert!(trusts(answers.clone(), "/none/a"));
        assert!(trusts(answers.clone(), "/none/a/x"));
        assert!(!trusts(answers.clone(), "/none/a/b/x"));
        assert!(
            trusts(answers.clone(), "/none/c/x"),
            "the folder that holds it"
        );
        assert!(!trusts(answers.clone(), "/none"));
        assert!(!trusts(answers, "/none/ab"), "another name");
        assert!(!trusts(json!(null), "/none/a"), "nothing was asked");
    }
}
