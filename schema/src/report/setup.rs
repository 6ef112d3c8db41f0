//! What `doctor`, `install` and `uninstall` tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finding of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `ok`, `note`, `warning` or `error`.
    pub level: String,
    /// What was looked at.
    pub subject: String,
    /// What was found.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether `--repair` mended it.
    pub repaired: bool,
}

/// `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// The version of the document's shape.
    pub version: u32,
    /// In the order in which they were looked for.
    pub findings: Vec<Finding>,
}

/// `install` and `uninstall`: what was, or would be, done to one agent's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstallReport {
    /// The version of the document's shape.
    pub version: u32,
    /// A row an agent and file.
    pub changes: Vec<SettingsChange>,
    /// The agents that were left out, and why.
    #[serde(default)]
    pub skipped: Vec<SkippedAgent>,
}

/// An agent whose settings were left as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedAgent {
    /// The agent.
    pub agent: String,
    /// Whether it was tried in vain; else there was nothing to do.
    pub failed: bool,
    /// Why.
    pub reason: String,
    /// What to do.
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
    /// The version of the document's shape.
    pub version: u32,
    /// Every agent whose hooks are understood.
    pub agents: Vec<AgentReport>,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReport {
    /// Its name.
    pub agent: String,
    /// The versions on which it was seen at work with the hook; none: written from its documentation.
    pub proven_on: Vec<String>,
    /// The version that is on this machine; null where that is not known.
    #[serde(default)]
    pub version: Option<String>,
    /// The lowest version in which something is recorded; null where that is not known.
    #[serde(default)]
    pub lowest_version: Option<String>,
    /// Whether it is on this machine; null where that is not known.
    pub found: Option<bool>,
    /// What there is of it, or what there is not.
    pub reason: Option<String>,
    /// The file that says that our package is installed in the agent; null where it is not.
    #[serde(default)]
    pub package: Option<String>,
    /// What a user of the version should know: what is not recorded in it.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The settings that the hook can be put into; none: it has to be put there by hand.
    pub settings: Vec<AgentSettings>,
}

/// Settings of an agent that the hook can be put into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSettings {
    /// `user` or `project`.
    pub scope: String,
    /// The file.
    pub file: String,
    /// `absent`, `installed`, `outdated`, `hurried` (waited for less long than it may take), `elsewhere` (another binary is
    /// called), `doubled`, `moved` (the binary is not there) or `broken`.
    pub state: String,
    /// Why it may not work although it is there.
    pub notes: Vec<String>,
}
