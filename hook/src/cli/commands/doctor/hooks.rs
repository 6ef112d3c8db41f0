//! The hook in agents' settings: missing, doubled, outdated, moved, not trusted, or with too short a timeout; and what
//! to do about each.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ckpt_agents::codex::listed;
use ckpt_agents::install::{
    self, Advice, AgentState, HOOK_TIMEOUT, Installation, Installed, SettingsScope,
};
use ckpt_agents::settings::file::is_executable;
use ckpt_command::invocation::Invocation;
use ckpt_process::surroundings;
use ckpt_schema::report::{Finding, FindingLevel};

use crate::cli::commands::install::InstallPaths;

/// The findings, agent by agent.
pub fn look(invocation: &Invocation) -> Vec<Finding> {
    let Ok(paths) = InstallPaths::of(invocation) else {
        return Vec::new();
    };
    let place = paths.place();
    let mut agents = install::list(&place);
    listed::correct(&mut agents, &place);
    let mut findings: Vec<Finding> = agents.iter().flat_map(agent).collect();
    if agents
        .iter()
        .any(|agent| agent.is_installed() || agent.package.is_some() || agent.managed.is_some())
    {
        if !agents.iter().any(AgentState::works) {
            let message = "no event arrives from any agent: what keeps them is said for each";
            findings.insert(0, Finding::warning("hook", message));
        }
        findings.extend(deadline(invocation.config.settings.hook_deadline));
        findings.extend(on_one_path(&agents));
    } else {
        let message = "it is not installed in any agent's settings";
        let hint = "`ckpt-hook install --all` puts it into the settings of your agents";
        findings.insert(0, Finding::warning("hook", message).hint(hint));
    }
    findings
}

fn agent(agent: &AgentState) -> Vec<Finding> {
    let managed = managed(agent);
    if !agent.is_installed() {
        let there: Vec<Finding> = package(agent).into_iter().chain(managed).collect();
        return match there.is_empty() {
            true => missing(agent).into_iter().collect(),
            false => [there, advised(agent.agent, &agent.advice)].concat(),
        };
    }
    let there: Vec<&Installed> = agent
        .installed
        .iter()
        .filter(|installed| installed.state != Installation::Absent)
        .collect();
    let mut findings: Vec<Finding> = there
        .iter()
        .flat_map(|installed| installation(agent.agent, installed))
        .collect();
    findings.extend(advised(agent.agent, &agent.advice));
    findings.extend(managed);
    if there.len() > 1 {
        let hint = format!(
            "`ckpt-hook uninstall {} --project` leaves the one for every project",
            agent.agent
        );
        let message =
            "both your own and the project's settings call it: every event may come twice";
        findings.push(Finding::warning(agent.agent, message).hint(hint));
    }
    if let Some(file) = &agent.package {
        let hint = format!(
            "`ckpt-hook uninstall {}`, or take the package out of the agent",
            agent.agent
        );
        let message = format!(
            "it is installed as a package, too (`{}`): every event comes twice",
            file.display()
        );
        findings.push(Finding::warning(agent.agent, message).hint(hint));
    }
    findings
}

fn advised(name: &str, advice: &[Advice]) -> Vec<Finding> {
    let advice = advice.iter();
    advice
        .map(|it| Finding::warning(name, &it.message).hint(&it.hint))
        .collect()
}

fn package(agent: &AgentState) -> Vec<Finding> {
    let Some(file) = &agent.package else {
        return Vec::new();
    };
    let file = file.display();
    let name = agent.agent;
    if agent.package_advice.is_empty() {
        let message = format!("installed as a package, according to `{file}`");
        return vec![Finding::ok(name, message)];
    }
    let message = format!("a package is there, according to `{file}`, but no event arrives");
    let advice = advised(name, &agent.package_advice);
    [vec![Finding::warning(name, message)], advice].concat()
}

/// What an administrator has installed.
fn managed(agent: &AgentState) -> Option<Finding> {
    let file = agent.managed.as_ref()?.display();
    let message = format!("installed by the administrator, in `{file}`");
    Some(Finding::ok(agent.agent, message))
}

/// Not everybody wants the hook in each of their agents.
fn missing(agent: &AgentState) -> Option<Finding> {
    let presence = agent.presence.as_ref().filter(|presence| presence.found)?;
    let message = format!(
        "it is on this machine ({}), and the hook is not in its settings",
        presence.reason
    );
    Some(Finding::note(agent.agent, message).hint(format!("`ckpt-hook install {}`", agent.agent)))
}

fn installation(agent: &str, installed: &Installed) -> Vec<Finding> {
    use FindingLevel::{Error, Ok, Warning};
    let scope = match installed.scope {
        SettingsScope::User => "",
        SettingsScope::Project => " --project",
    };
    let again = format!("`ckpt-hook install {agent}{scope}` rewrites it");
    let (level, what, helps) = match installed.state {
        Installation::Absent => return Vec::new(),
        Installation::Installed => (Ok, "installed", false),
        Installation::Outdated => (Warning, "not what would be installed now", true),
        Installation::Hurried => (
            Warning,
            "the agent's timeout is shorter than the hook may take",
            true,
        ),
        Installation::Elsewhere => (Warning, "it calls a different ckpt-hook", true),
        Installation::Doubled => (Warning, "an event calls it more than once", true),
        Installation::Moved => (
            Error,
            "it calls a program that does not exist or cannot be executed",
            true,
        ),
        // The switch may be on purpose.
        Installation::Blocked => (Warning, "no event arrives from the hook", false),
        Installation::Broken => (Error, "the settings cannot be read", false),
    };
    let message = format!("{what} in `{}`", installed.file.display());
    let state = Finding {
        hint: helps.then_some(again),
        ..Finding::new(level, agent, message)
    };
    let level = match installed.state {
        Installation::Broken => Error,
        _ => Warning,
    };
    let advice = installed.advice.iter();
    let advice = advice.map(|it| Finding::new(level, agent, &it.message).hint(&it.hint));
    [state].into_iter().chain(advice).collect()
}

/// Where the name of the program leads to it: in a terminal, and for programs that the desktop starts, if its `PATH` is
/// known. Settings say the whole path, but packages of an agent the name alone.
fn on_one_path(agents: &[AgentState]) -> Option<Finding> {
    let here = surroundings::search_path().and_then(folder_of);
    let desktop = ckpt_process::desktop_path()?;
    let there = folder_of(desktop);
    let message = match (&here, &there) {
        (None, None) => return None,
        (Some(here), Some(there)) if here == there => {
            let message = format!("`ckpt-hook` is found in `{}`", here.display());
            return Some(Finding::ok("hook", message));
        }
        (Some(here), Some(there)) => format!(
            "`ckpt-hook` is found in `{}` here, and in `{}` by what the desktop starts",
            here.display(),
            there.display()
        ),
        (Some(here), None) => format!(
            "`ckpt-hook` is found in `{}`, which is on the PATH here, but not on that of what the desktop starts",
            here.display()
        ),
        (None, Some(there)) => format!(
            "`ckpt-hook` is found in `{}` by what the desktop starts, but is not on the PATH here",
            there.display()
        ),
    };
    let hint = "settings that `ckpt-hook install` writes name it by its whole path, wherever an agent is started";
    let is_by_name = agents.iter().any(|agent| agent.package.is_some());
    let finding = match is_by_name {
        true => Finding::warning("hook", message),
        false => Finding::note("hook", message),
    };
    Some(finding.hint(hint))
}

/// Returns the first folder of a `PATH` that has the program.
fn folder_of(path: OsString) -> Option<PathBuf> {
    let mut folders = std::env::split_paths(&path);
    folders.find(|folder| is_executable(&folder.join("ckpt-hook")))
}

/// A hook that takes longer than its agent waits is killed in the middle of its work.
fn deadline(hook_deadline: Duration) -> Option<Finding> {
    let message = format!(
        "`hook_deadline` is {} s, but agents wait for at most {} s",
        hook_deadline.as_secs(),
        HOOK_TIMEOUT.as_secs()
    );
    let hint = "make it shorter, so that a hook ends by itself and says what it could not do";
    (hook_deadline >= HOOK_TIMEOUT).then(|| Finding::warning("hook", message).hint(hint))
}
