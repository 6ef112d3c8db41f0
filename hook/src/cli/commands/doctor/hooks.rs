//! The hook in agents' settings: missing, doubled, outdated, moved, not trusted, or with too short a timeout; and what
//! to do about each.

use std::time::Duration;

use ckpt_schema::report::{Finding, FindingLevel};

use super::finding;
use crate::agents::install::{
    self, AgentState, Installation, Installed, PATIENCE, SettingsPlace, SettingsScope,
};
use crate::cli::commands::install::InstallPaths;
use crate::cli::invocation::Invocation;

/// Returns what was found, agent by agent.
pub fn look(invocation: &Invocation) -> Vec<Finding> {
    let Ok(paths) = InstallPaths::of(invocation) else {
        return Vec::new();
    };
    let place = paths.place(invocation);
    let agents = install::list(&place);
    let mut findings: Vec<Finding> = agents.iter().flat_map(agent).collect();
    if agents
        .iter()
        .any(|agent| is_any(agent, Installation::Outdated))
    {
        let otherwise = install::list(&SettingsPlace {
            tool_events: !place.tool_events,
            ..place
        });
        findings.extend(of_another_setting(&agents, &otherwise, place.tool_events));
    }
    if agents
        .iter()
        .any(|agent| agent.is_installed() || agent.package.is_some())
    {
        findings.extend(deadline(invocation.config.settings.hook_deadline));
    } else {
        let hint = Some("`ckpt-hook install AGENT` puts it into an agent's settings");
        findings.insert(
            0,
            finding(
                FindingLevel::Warning,
                "hook",
                "it is not installed in any agent's settings",
                hint,
            ),
        );
    }
    findings
}

fn agent(agent: &AgentState) -> Vec<Finding> {
    if !agent.is_installed() {
        let findings = package(agent).map(|package| [vec![package], version(agent)].concat());
        return findings.unwrap_or_else(|| missing(agent).into_iter().collect());
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
    findings.extend(version(agent));
    if there.len() > 1 {
        let hint = format!(
            "`ckpt-hook uninstall {} --project` leaves the one for every project",
            agent.agent
        );
        let message =
            "both your own and the project's settings call it: every event may come twice";
        findings.push(finding(
            FindingLevel::Warning,
            agent.agent,
            message,
            Some(&hint),
        ));
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
        findings.push(finding(
            FindingLevel::Warning,
            agent.agent,
            message,
            Some(&hint),
        ));
    }
    findings
}

fn is_any(agent: &AgentState, state: Installation) -> bool {
    let mut installed = agent.installed.iter();
    installed.any(|installed| installed.state == state)
}

/// Hooks that were installed with the other value of `tool_events`. An agent's hooks are written once, but the setting
/// is read at each event.
fn of_another_setting(
    agents: &[AgentState],
    otherwise: &[AgentState],
    tool_events: bool,
) -> Vec<Finding> {
    let message = if tool_events {
        "`tool_events` is on, but the hooks for single tools are not installed: what changes in a step is recorded as unclear"
    } else {
        "`tool_events` is off: the hooks for single tools are called for nothing, and what changes in a step counts as the agent's"
    };
    let outdated = agents
        .iter()
        .filter(|agent| is_any(agent, Installation::Outdated));
    let by_setting = outdated.filter(|agent| {
        let other = otherwise.iter().find(|other| other.agent == agent.agent);
        other.is_some_and(|other| !is_any(other, Installation::Outdated))
    });
    by_setting
        .map(|agent| {
            let hint = format!("`ckpt-hook install {}` rewrites them", agent.agent);
            finding(FindingLevel::Warning, agent.agent, message, Some(&hint))
        })
        .collect()
}

/// What is not recorded in the version that is on this machine.
fn version(agent: &AgentState) -> Vec<Finding> {
    let advice = agent.advice.iter();
    advice
        .map(|advice| {
            finding(
                FindingLevel::Warning,
                agent.agent,
                &advice.message,
                Some(&advice.hint),
            )
        })
        .collect()
}

fn package(agent: &AgentState) -> Option<Finding> {
    let file = agent.package.as_ref()?;
    Some(finding(
        FindingLevel::Ok,
        agent.agent,
        format!("installed as a package, according to `{}`", file.display()),
        None,
    ))
}

/// Not everybody wants the hook in each of their agents.
fn missing(agent: &AgentState) -> Option<Finding> {
    let presence = agent.presence.as_ref().filter(|presence| presence.found)?;
    let message = format!(
        "it is on this machine ({}), and the hook is not in its settings",
        presence.reason
    );
    Some(finding(
        FindingLevel::Note,
        agent.agent,
        message,
        Some(&format!("`ckpt-hook install {}`", agent.agent)),
    ))
}

fn installation(agent: &str, installed: &Installed) -> Vec<Finding> {
    let file = installed.file.display();
    let advice = installed.advice.iter().map(|advice| {
        (
            FindingLevel::Warning,
            advice.message.as_str(),
            Some(advice.hint.as_str()),
        )
    });
    let scope = match installed.scope {
        SettingsScope::User => "",
        SettingsScope::Project => " --project",
    };
    let again = format!("`ckpt-hook install {agent}{scope}` rewrites it");
    let state = match installed.state {
        Installation::Absent => None,
        Installation::Installed => Some((FindingLevel::Ok, "installed", None)),
        Installation::Outdated => Some((
            FindingLevel::Warning,
            "not what would be installed now",
            Some(again.as_str()),
        )),
        Installation::Hurried => Some((
            FindingLevel::Warning,
            "the agent's timeout is shorter than the hook may take",
            Some(again.as_str()),
        )),
        Installation::Elsewhere => Some((
            FindingLevel::Warning,
            "it calls a different ckpt-hook",
            Some(again.as_str()),
        )),
        Installation::Doubled => Some((
            FindingLevel::Warning,
            "an event calls it more than once",
            Some(again.as_str()),
        )),
        Installation::Moved => Some((
            FindingLevel::Error,
            "it calls a program that does not exist",
            Some(again.as_str()),
        )),
        Installation::Broken => Some((FindingLevel::Error, "the settings cannot be read", None)),
    };
    let is_broken = installed.state == Installation::Broken;
    let state =
        state.map(|(level, what, hint)| finding(level, agent, format!("{what} in `{file}`"), hint));
    state
        .into_iter()
        .chain(advice.map(|(usual, what, hint)| {
            let level = if is_broken {
                FindingLevel::Error
            } else {
                usual
            };
            finding(level, agent, what, hint)
        }))
        .collect()
}

/// A hook that takes longer than its agent waits is killed in the middle of its work.
fn deadline(hook_deadline: Duration) -> Option<Finding> {
    let message = format!(
        "`hook_deadline` is {} s, but agents wait for at most {} s",
        hook_deadline.as_secs(),
        PATIENCE.as_secs()
    );
    let hint = "make it shorter, so that a hook ends by itself and says what it could not do";
    (hook_deadline >= PATIENCE).then(|| finding(FindingLevel::Warning, "hook", message, Some(hint)))
}
