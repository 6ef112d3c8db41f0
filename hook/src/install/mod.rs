//! Puts our hook into the settings of agents and takes it out again, leaving every other byte of them alone.
//!
//! Deciding is pure: a file's text becomes another text ([`hook_table`]). Touching the disk is in [`mod@file`] alone.
//! An agent is a file that names its settings files and what we want in them.

mod claude_code;
mod cline;
mod codex;
mod codex_trust;
mod command;
mod commands;
mod copilot_cli;
mod diff;
mod edit;
mod file;
mod folder_trust;
mod gemini_cli;
mod hook_table;
mod installed;
mod jsonc;
mod opencode;
mod own_file;
mod pi;
mod qwen_code;
mod target;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ckpt_schema::report::SettingsChange;
use ckpt_store::error::{Error, Result};

use crate::agents;
pub use installed::{Advice, AgentState, Installed, State};
pub use target::Presence;
use target::{Content, SettingsFile, Target};

/// How long agents are told to wait for the hook: far longer than our own deadline is by default.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Whose settings are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for every project.
    #[default]
    User,
    /// One project's.
    Project,
}

/// Where settings are, and what is written into them.
pub struct Place<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The top of the project.
    pub project: &'a Path,
    /// The binary that agents are to call, absolute.
    pub binary: &'a Path,
    /// Whether the events before and after single tools are installed, too: the setting `tool_events`.
    pub tool_events: bool,
    /// Whether Codex is told to trust the hook (`--trust`), which skips the review that it asks the user for.
    pub trust: bool,
    /// The environment, by name: some agents let it move their settings.
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
}

/// Puts our hook into an agent's settings, and returns what was done (or would be, where `dry_run`), file by file.
///
/// # Errors
///
/// An unknown agent, or a settings file that cannot be read, understood or written; it is left as it was.
pub fn install(
    agent: &str,
    scope: Scope,
    place: &Place<'_>,
    dry_run: bool,
) -> Result<Vec<SettingsChange>> {
    edit::change(target(agent)?, scope, place, dry_run, |content, text| {
        content.insert(text).map(Some)
    })
}

/// Takes our hook out of an agent's settings, and returns what was done, file by file.
///
/// # Errors
///
/// As for [`install`].
pub fn uninstall(
    agent: &str,
    scope: Scope,
    place: &Place<'_>,
    dry_run: bool,
) -> Result<Vec<SettingsChange>> {
    let work =
        |content: &Content, text: Option<&str>| text.map_or(Ok(None), |text| content.remove(text));
    edit::change(target(agent)?, scope, place, dry_run, work)
}

/// Checks that the hook can be put into the settings of these agents, before any of them is touched.
///
/// # Errors
///
/// The first one that is unknown, with a hint that names those that are not.
pub fn check_known(agents: &[String]) -> Result<()> {
    agents.iter().try_for_each(|agent| target(agent).map(drop))
}

/// Returns the agents into whose settings the hook can be put, and whether each is on this machine.
pub fn look_around(place: &Place<'_>) -> Vec<(&'static str, Presence)> {
    TARGETS
        .iter()
        .map(|target| (target.agent, target.presence(place)))
        .collect()
}

/// Returns every agent whose payloads are understood, and what there is of the hook in its settings.
pub fn list(place: &Place<'_>) -> Vec<AgentState> {
    let known = agents::all()
        .iter()
        .filter(|agent| agent.name() != agents::GENERIC);
    known
        .map(|agent| look_at(agent.name(), agent.proven_on(), place))
        .collect()
}

fn look_at(
    agent: &'static str,
    proven_on: &'static [&'static str],
    place: &Place<'_>,
) -> AgentState {
    let target = TARGETS.iter().find(|target| target.agent == agent);
    let scopes = [Scope::User, Scope::Project];
    AgentState {
        agent,
        proven_on,
        presence: target.map(|target| target.presence(place)),
        package: target.and_then(|target| (target.package)(place)),
        installed: target.map_or_else(Vec::new, |target| {
            scopes.map(|scope| target.look(scope, place)).into()
        }),
    }
}

/// The agents into whose settings we can put our hook.
const TARGETS: &[Target] = &[
    claude_code::TARGET,
    codex::TARGET,
    gemini_cli::TARGET,
    qwen_code::TARGET,
    opencode::OPENCODE,
    opencode::KILO,
    copilot_cli::TARGET,
    cline::TARGET,
    pi::TARGET,
];

impl Scope {
    /// Returns the name that the scope has in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }

    /// Returns the mode of a new settings file: the user's own may hold keys, the project's is for everybody.
    fn mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Project => 0o644,
        }
    }
}

impl Place<'_> {
    /// Returns the directory below which the settings of a scope are.
    fn root(&self, scope: Scope) -> &Path {
        match scope {
            Scope::User => self.home,
            Scope::Project => self.project,
        }
    }

    /// Returns the directory that an environment variable names, else the one of that name below the home directory.
    fn directory(&self, variable: &str, name: &str) -> PathBuf {
        let named = (self.environment)(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(name))
    }
}

fn target(agent: &str) -> Result<&'static Target> {
    TARGETS
        .iter()
        .find(|target| target.agent == agent)
        .ok_or_else(|| unknown(agent))
}

fn unknown(agent: &str) -> Error {
    let name = agent.escape_debug();
    if agents::all()
        .iter()
        .any(|known| known.name() == agent && agent != agents::GENERIC)
    {
        let hint = format!(
            "it is known from its documentation only: docs/agents/{name}.md has the lines to add by hand"
        );
        return Error::failed(format!(
            "the hook cannot be put into the settings of `{name}`"
        ))
        .hint(hint);
    }
    let known: Vec<_> = TARGETS.iter().map(|target| target.agent).collect();
    Error::failed(format!(
        "`{name}` is not an agent that the hook can be installed into"
    ))
    .hint(format!("known are: {}", known.join(", ")))
}
