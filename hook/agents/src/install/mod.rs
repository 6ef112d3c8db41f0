//! Puts our hook into the settings of agents and takes it out again, leaving every other byte of them alone.
//!
//! An agent's `install.rs` names its settings files and what we want in them; [`settings`](super::settings) does the
//! rest.

mod alike;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ckpt_schema::report::SettingsChange;
use ckpt_store::DryRun;
use ckpt_store::error::{Error, Result};

use super::settings::change::change;
use super::settings::command;
use super::settings::edit::EditKind;
use super::settings::file;
use super::settings::memory::Memory;
use super::settings::target::AgentTarget;
use super::settings::version;
use crate::{claude_code, cline, codex, copilot_cli, gemini_cli, opencode, pi, qwen_code};

pub use super::settings::advice::Advice;
pub use super::settings::installed::{AgentState, Installation, Installed};
pub use super::settings::place::{SettingsPlace, SettingsScope};
pub use super::settings::target::AgentPresence;

/// How long agents are configured to wait for the hook: far longer than its own default deadline.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Puts our hook into an agent's settings, and returns what was done (or would be, in a dry run), file by file.
///
/// # Errors
///
/// An unknown agent, or a settings file that cannot be read, understood or written; it is left as it was.
pub fn install(
    agent: &str,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    dry_run: DryRun,
) -> Result<Vec<SettingsChange>> {
    let target = target(agent)?;
    command::check_name(place.binary)?;
    change(target, scope, place, dry_run, EditKind::Insert)
}

/// Takes our hook out of an agent's settings, and returns what was done, file by file.
///
/// # Errors
///
/// As for [`install`].
pub fn uninstall(
    agent: &str,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    dry_run: DryRun,
) -> Result<Vec<SettingsChange>> {
    change(target(agent)?, scope, place, dry_run, EditKind::Remove)
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
pub fn look_around(place: &SettingsPlace<'_>) -> Vec<(&'static str, AgentPresence)> {
    TARGETS
        .iter()
        .map(|target| (target.agent, target.presence(place)))
        .collect()
}

/// Learns the installed versions of agents at once: to ask one after the other takes as long as all of those that hang.
pub fn learn_versions(place: &SettingsPlace<'_>, is_wanted: impl Fn(&str) -> bool) {
    let wanted = TARGETS.iter().filter(|target| is_wanted(target.agent));
    version::learn(wanted.flat_map(|target| {
        let programs = target.programs_on(place).into_iter();
        programs.map(|program| (target.versions, program))
    }));
}

/// Advice for the user of an agent whose `program` runs now, if it reports more than the hook is called for:
/// its version was not known when the hook was installed.
pub fn advice_on_running(
    agent: &str,
    place: &SettingsPlace<'_>,
    program: impl FnOnce() -> Option<PathBuf>,
) -> Option<Advice> {
    // Only here does what is installed depend on the version.
    let is_it = agent == claude_code::install::TARGET.agent;
    is_it
        .then(program)
        .flatten()
        .and_then(|program| claude_code::install::advice_on_running(place, &program))
}

/// Returns the projects of whose settings the hook was put into some, as far as that was noted.
pub fn projects(place: &SettingsPlace<'_>) -> BTreeSet<PathBuf> {
    let memory = Memory::read(place.memory);
    let projects = memory.files().filter_map(|file| {
        let mut above = file.ancestors().skip(1);
        above.find(|directory| is_project_file(file, directory, place))
    });
    projects.map(Path::to_owned).collect()
}

/// Another folder of an agent's settings, which a variable names: people have one for work, and one at home.
pub struct Profile {
    /// The agent.
    pub agent: &'static str,
    /// The variable.
    pub variable: &'static str,
    /// The folder.
    pub folder: PathBuf,
}

/// The variables by which agents have profiles, and the folder without them.
const PROFILES: [(&str, &str, &str); 3] = [
    ("claude-code", "CLAUDE_CONFIG_DIR", ".claude"),
    ("codex", "CODEX_HOME", ".codex"),
    ("copilot-cli", "COPILOT_HOME", ".copilot"),
];

/// Returns the profiles, other than those in use, in which the hook is: where `install` put it, and beside the usual
/// folder.
pub fn profiles(place: &SettingsPlace<'_>) -> Vec<Profile> {
    let memory = Memory::read(place.memory);
    let edited = memory
        .files()
        .flat_map(|file| file.ancestors().skip(1).take(2));
    let edited: BTreeSet<PathBuf> = edited.map(Path::to_owned).collect();
    let mut found = Vec::new();
    for (agent, variable, usual) in PROFILES {
        let entries = std::fs::read_dir(place.home)
            .into_iter()
            .flatten()
            .flatten();
        let beside = entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(usual) && path.is_dir()
        });
        let in_use = place.directory(variable, usual);
        // A folder of that name elsewhere is a project's.
        let is_profile = |folder: &PathBuf| {
            let is_of_project = folder.ends_with(usual) && *folder != place.home.join(usual);
            !is_of_project && !file::is_same(folder, &in_use)
        };
        let folders: BTreeSet<PathBuf> = edited.iter().cloned().chain(beside).collect();
        for folder in folders.into_iter().filter(is_profile) {
            let profile = Profile {
                agent,
                variable,
                folder,
            };
            let looked = profile.with(place, |place| {
                target(agent).map(|target| target.look(SettingsScope::User, place))
            });
            let is_in = looked
                .is_ok_and(|it| !matches!(it.state, Installation::Absent | Installation::Broken));
            found.extend(is_in.then_some(profile));
        }
    }
    found
}

impl Profile {
    /// Does something with the profile in use.
    pub fn with<T>(
        &self,
        place: &SettingsPlace<'_>,
        act: impl FnOnce(&SettingsPlace<'_>) -> T,
    ) -> T {
        let environment = |name: &str| match name == self.variable {
            true => Some(self.folder.clone().into_os_string()),
            false => (place.environment)(name),
        };
        act(&SettingsPlace {
            environment: &environment,
            ..*place
        })
    }
}

/// Returns whether a file holds the settings of an agent for the project in a directory.
fn is_project_file(file: &Path, directory: &Path, place: &SettingsPlace<'_>) -> bool {
    let place = SettingsPlace {
        project: directory,
        ..*place
    };
    let files = TARGETS
        .iter()
        .filter_map(|target| (target.files)(SettingsScope::Project, &place).ok());
    // Claude Code's entries may have been moved into the file beside it since.
    let is_beside = |path: &Path| path.with_file_name("settings.json") == file;
    files
        .flatten()
        .any(|settings| settings.path == file || is_beside(&settings.path))
}

/// Returns every agent whose payloads are understood, and whether its settings call the hook.
pub fn list(place: &SettingsPlace<'_>) -> Vec<AgentState> {
    learn_versions(place, |_| true);
    let known = crate::all().filter(|agent| agent.name != crate::GENERIC);
    known
        .map(|agent| look_at(agent.name, agent.proven_on, place))
        .collect()
}

fn look_at(
    agent: &'static str,
    proven_on: &'static [&'static str],
    place: &SettingsPlace<'_>,
) -> AgentState {
    let target = TARGETS.iter().find(|target| target.agent == agent);
    let scopes = [SettingsScope::User, SettingsScope::Project];
    AgentState {
        agent,
        proven_on,
        version: target.and_then(|target| target.version(place)),
        lowest: target.map(|target| target.versions.lowest),
        advice: target.map_or_else(Vec::new, |target| target.advice_on_version(place)),
        presence: target.map(|target| target.presence(place)),
        package: target.and_then(|target| (target.package)(place)),
        package_advice: target.map_or_else(Vec::new, |target| target.advice_on_our_package(place)),
        managed: target
            .filter(|target| !target.is_too_old(place))
            .and_then(|target| (target.policy)(place).calls_us),
        installed: target.map_or_else(Vec::new, |target| {
            once(scopes.map(|scope| target.look(scope, place)))
        }),
    }
}

/// In the home directory the project's settings are the user's own: one file is one installation.
fn once([user, mut project]: [Installed; 2]) -> Vec<Installed> {
    if file::is_same(&user.file, &project.file) {
        project.state = Installation::Absent;
        project.advice.clear();
    }
    vec![user, project]
}

/// Returns the names of the agents into whose settings we can put our hook.
pub fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.agent)
}

/// Returns the agent that a program is.
pub fn of_program(program: &str) -> Option<&'static str> {
    let target = TARGETS
        .iter()
        .find(|target| target.programs.contains(&program));
    target.map(|target| target.agent)
}

/// The agents into whose settings we can put our hook.
const TARGETS: &[AgentTarget] = &[
    claude_code::install::TARGET,
    codex::install::TARGET,
    gemini_cli::install::TARGET,
    qwen_code::install::TARGET,
    opencode::install::OPENCODE,
    opencode::install::KILO,
    copilot_cli::install::TARGET,
    cline::install::TARGET,
    pi::install::TARGET,
    alike::GROK,
    alike::KIMI_CODE,
    alike::CODEBUDDY,
];

fn target(agent: &str) -> Result<&'static AgentTarget> {
    TARGETS
        .iter()
        .find(|target| target.agent == agent)
        .ok_or_else(|| unknown(agent))
}

fn unknown(agent: &str) -> Error {
    let name = agent.escape_debug();
    if crate::all().any(|known| known.name == agent && agent != crate::GENERIC) {
        let hint = format!("docs/agents/{name}.md has the lines to add by hand");
        return Error::failed(format!(
            "the hook cannot be put into the settings of `{name}`"
        ))
        .hint(hint);
    }
    let known: Vec<_> = TARGETS.iter().map(|target| target.agent).collect();
    Error::usage(format!(
        "`{name}` is not an agent that the hook can be installed into"
    ))
    .hint(format!("it can be installed into {}", known.join(", ")))
}
