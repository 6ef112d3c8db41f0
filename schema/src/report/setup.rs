//! The reports of `doctor`, `config`, `install`, `uninstall` and `page`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::words! {
    /// How bad a finding of `doctor` is.
    pub enum FindingLevel {
        /// All is well.
        Ok = "ok",
        /// Nothing is wrong, but the user may want to know it.
        Note = "note",
        /// Something is not as it should be, and everything works.
        Warning = "warning",
        /// Something does not work, or is lost.
        Error = "error",
    }
}

/// A finding of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `ok`, `note`, `warning` or `error`.
    pub level: String,
    /// The subject of the check.
    pub subject: String,
    /// The finding.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// Whether `--repair` repaired it.
    pub repaired: bool,
}

impl Finding {
    /// Returns a finding without a hint, of which nothing was repaired.
    pub fn new(level: FindingLevel, subject: &str, message: impl Into<String>) -> Self {
        Self {
            level: level.name().to_owned(),
            subject: subject.to_owned(),
            message: message.into(),
            hint: None,
            repaired: false,
        }
    }

    /// Returns a finding that all is well.
    pub fn ok(subject: &str, message: impl Into<String>) -> Self {
        Self::new(FindingLevel::Ok, subject, message)
    }

    /// Returns a finding that the user may want to know.
    pub fn note(subject: &str, message: impl Into<String>) -> Self {
        Self::new(FindingLevel::Note, subject, message)
    }

    /// Returns a warning.
    pub fn warning(subject: &str, message: impl Into<String>) -> Self {
        Self::new(FindingLevel::Warning, subject, message)
    }

    /// Returns an error.
    pub fn error(subject: &str, message: impl Into<String>) -> Self {
        Self::new(FindingLevel::Error, subject, message)
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Returns a warning about something that was wrong and has been repaired.
    pub fn repaired(subject: &str, message: impl Into<String>) -> Self {
        Self {
            repaired: true,
            ..Self::new(FindingLevel::Warning, subject, message)
        }
    }
}

/// `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// The version of the document's format.
    pub version: u32,
    /// The findings, in the order of the checks.
    pub findings: Vec<Finding>,
}

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// Nothing says otherwise.
    Default,
    /// The settings file, for every workspace.
    File,
    /// A section of the settings file, for one directory and all below it.
    Workspace,
    /// A variable of the environment.
    Environment,
    /// An option of the command.
    Flag,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingReport {
    /// Its name.
    pub key: String,
    /// Its value, as TOML.
    pub value: String,
    /// Its default, as TOML; null if that depends on the machine.
    pub default: Option<String>,
    /// Where the value comes from.
    pub source: SettingSource,
    /// The directory of the section, the variable or the option; null for a default or the file.
    pub place: Option<String>,
    /// Its purpose.
    pub meaning: String,
}

/// `config` and `config get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReport {
    /// The version of the document's format.
    pub version: u32,
    /// The settings file, whether it exists or not; null if no home directory is known.
    pub file: Option<String>,
    /// Whether it exists.
    pub is_there: bool,
    /// The directory that the values are for.
    pub workspace: String,
    /// Every setting, or the one that was asked for.
    pub settings: Vec<SettingReport>,
    /// What is invalid or unknown in the file.
    pub problems: Vec<String>,
}

/// `config set` and `config unset`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// The version of the document's format.
    pub version: u32,
    /// The settings file.
    pub file: String,
    /// The setting.
    pub key: String,
    /// The directory that it is for; null for every workspace.
    pub workspace: Option<String>,
    /// The former value in the file, as TOML; null if there was none.
    pub former: Option<String>,
    /// The new value in the file, as TOML; null if there is none.
    pub value: Option<String>,
}

/// `install` and `uninstall`: what was, or would be, done to one agent's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstallReport {
    /// The version of the document's format.
    pub version: u32,
    /// A row per agent and file.
    pub changes: Vec<SettingsChange>,
    /// The agents that were left out, and why.
    pub skipped: Vec<SkippedAgent>,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// The link `ck` to this program that was made or removed, or is to be; null if there is none.
    pub short_name: Option<String>,
}

/// An agent whose settings were left as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedAgent {
    /// The agent.
    pub agent: String,
    /// Whether an attempt failed; otherwise there was nothing to do.
    pub failed: bool,
    /// Why it was not changed.
    pub reason: String,
    /// What the user can do.
    pub hint: Option<String>,
}

/// A settings file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsChange {
    /// The agent.
    pub agent: String,
    /// The file.
    pub file: String,
    /// `created`, `updated`, `unchanged` or `removed`.
    pub action: String,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// The change as a unified diff.
    pub diff: Option<String>,
    /// What else the user should know.
    pub notes: Vec<String>,
}

/// `install --list`: the agents, and where the hook is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsReport {
    /// The version of the document's format.
    pub version: u32,
    /// Every agent whose hooks are understood.
    pub agents: Vec<AgentReport>,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReport {
    /// Its name.
    pub agent: String,
    /// The versions with which the hook was seen at work. If there are none, it was written from the agent's
    /// documentation.
    pub proven_on: Vec<String>,
    /// The version on this machine; null if it is not known.
    pub version: Option<String>,
    /// The lowest version with which anything is recorded; null if that is not known.
    pub lowest_version: Option<String>,
    /// Whether it is on this machine; null if that is not known.
    pub found: Option<bool>,
    /// What was found of it, or what is missing.
    pub reason: Option<String>,
    /// The file that shows that our package is installed in the agent; null if it is not.
    pub package: Option<String>,
    /// The administrator's file that calls the hook; null if there is none.
    pub managed: Option<String>,
    /// Whether an event would arrive, as far as the agent's settings and the administrators' tell.
    pub works: bool,
    /// What a user of this version should know: what is not recorded with it.
    pub notes: Vec<String>,
    /// The settings that the hook can be put into. If there are none, it has to be put there by hand.
    pub settings: Vec<AgentSettings>,
}

/// Settings of an agent that the hook can be put into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSettings {
    /// `user` or `project`.
    pub scope: String,
    /// The file.
    pub file: String,
    /// `absent`, `installed`, `outdated`, `hurried` (the timeout is shorter than the hook may take), `elsewhere`
    /// (another binary is called), `doubled`, `moved` (the binary does not exist or cannot be executed), `blocked` (the
    /// agent does not call it: the notes say why) or `broken`.
    pub state: String,
    /// Why it may not work although it is installed.
    pub notes: Vec<String>,
}

/// `page`: where it can be seen. The server goes on after this document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageReport {
    /// The version of the document's format.
    pub version: u32,
    /// The address. It contains the key: who has it can read the history, and revert.
    pub address: String,
    /// The port on 127.0.0.1.
    pub port: u16,
}
