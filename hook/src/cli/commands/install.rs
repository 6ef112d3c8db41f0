//! `install` and `uninstall`: the hook into agents' settings, and out again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ckpt_agents::install::{
    self, Advice, AgentState, Installation, Installed, SettingsPlace, SettingsScope,
};
use ckpt_agents::settings::lasting::Lasting;
use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::{agents, text};
use ckpt_process::failure::{DONE, FAILED, Failure, PARTIAL};
use ckpt_process::surroundings;
use ckpt_schema::protocol::InstallParameters;
use ckpt_schema::report::{
    self, AgentReport, AgentSettings, AgentsReport, InstallReport, SettingsChange, SkippedAgent,
};
use ckpt_store::{DryRun, Error, Forget};

use super::{ask, meant, short_name, store_place};
use crate::cli::arguments::{InstallArguments, UninstallArguments};

/// What is done to settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Install,
    Uninstall,
}

type Installer =
    fn(&str, SettingsScope, &SettingsPlace<'_>, DryRun) -> ckpt_store::Result<Vec<SettingsChange>>;

impl Verb {
    fn work(self) -> Installer {
        match self {
            Self::Install => install::install,
            Self::Uninstall => install::uninstall,
        }
    }
}

/// What is done with the settings of one agent after the other.
#[derive(Clone, Copy)]
struct InstallTask {
    verb: Verb,
    scope: SettingsScope,
    dry_run: DryRun,
}

impl InstallTask {
    fn of(verb: Verb, arguments: &InstallArguments) -> Self {
        Self {
            verb,
            scope: scope(arguments),
            dry_run: DryRun::asked(arguments.dry_run),
        }
    }

    fn carry_out(
        self,
        agent: &str,
        place: &SettingsPlace<'_>,
    ) -> ckpt_store::Result<Vec<SettingsChange>> {
        self.verb.work()(agent, self.scope, place, self.dry_run)
    }
}

/// Puts the hook in.
pub fn install(invocation: &Invocation, arguments: &InstallArguments) -> Result<u8, Failure> {
    run(invocation, arguments, Verb::Install, &BTreeSet::new())
}

/// Takes the hook out, and with `--purge` the store with it.
pub fn uninstall(invocation: &Invocation, arguments: &UninstallArguments) -> Result<u8, Failure> {
    let store = invocation.store_directory()?;
    if arguments.purge && !arguments.dry_run {
        ckpt_store::check_purge(&store)?;
        // Do not disturb a running agent.
        let directory = invocation.directory()?;
        invocation.open()?.check_forget(&directory, &Forget::All)?;
        let question = format!(
            "Remove `{}` and everything in it, for good? [y/n]",
            store.display()
        );
        if !arguments.yes && !ask::agrees(invocation, &question, "removed")? {
            return Ok(DONE);
        }
    }
    let taken_out = InstallArguments {
        agents: arguments.agents.clone(),
        all: arguments.all || arguments.purge,
        list: arguments.list,
        project: arguments.project,
        user: arguments.user,
        dry_run: arguments.dry_run,
        trust: false,
    };
    // So would an agent in a project with its own settings.
    let projects = if arguments.purge {
        projects(invocation)?
    } else {
        BTreeSet::new()
    };
    let code = run(invocation, &taken_out, Verb::Uninstall, &projects)?;
    // An agent that still called the hook would create a new store.
    if !arguments.purge || arguments.dry_run || code != DONE {
        return Ok(code);
    }
    let is_gone = ckpt_store::purge(&store)?;
    if is_gone && !invocation.output.is_quiet() && !invocation.common.json {
        let line = format!("removed {}\n", text::safe(&store.to_string_lossy()));
        invocation
            .output
            .text(&line)
            .map_err(|failure| failure.after([line.trim_end().to_owned()]))?;
    }
    Ok(DONE)
}

/// Returns the projects in whose settings the hook may be: the workspaces that are there, and whatever `install`
/// edited.
fn projects(invocation: &Invocation) -> Result<BTreeSet<PathBuf>, Failure> {
    let paths = InstallPaths::of(invocation)?;
    let mut projects = install::projects(&paths.place());
    let directory = invocation.directory().ok();
    let workspaces = invocation
        .open()?
        .workspaces(directory.as_deref())?
        .workspaces;
    projects.extend(workspaces.into_iter().map(|row| PathBuf::from(row.path)));
    projects.insert(paths.project);
    // In the home directory the project's settings are the user's own.
    projects.retain(|project| project.is_dir() && *project != paths.home);
    Ok(projects)
}

fn run(
    invocation: &Invocation,
    arguments: &InstallArguments,
    verb: Verb,
    also: &BTreeSet<PathBuf>,
) -> Result<u8, Failure> {
    let paths = InstallPaths::of(invocation)?;
    let place = SettingsPlace {
        trust: arguments.trust,
        ..paths.place()
    };
    if arguments.list {
        return list(invocation, &place);
    }
    let report = changed(invocation, arguments, verb, also, &place)?;
    let found_none = verb == Verb::Install && report.changes.is_empty() && !has_failed(&report);
    let code = code(&report);
    if !(code == DONE && invocation.output.is_quiet()) {
        let mut changes = report.changes.iter();
        let is_changed = !arguments.dry_run && changes.any(|change| change.action != "unchanged");
        let done = is_changed.then_some("settings were changed");
        invocation.output.report_done(&report, done, |view| {
            agents::changes(&report, verb == Verb::Install, found_none, view)
        })?;
    }
    Ok(code)
}

/// Answers `install` of a front end.
pub fn answer(
    invocation: &Invocation,
    asked: &InstallParameters,
) -> Result<InstallReport, Failure> {
    let arguments = InstallArguments {
        agents: asked.agents.clone(),
        all: asked.all,
        list: false,
        project: asked.project,
        user: !asked.project,
        dry_run: asked.dry_run,
        trust: false,
    };
    let paths = InstallPaths::of(invocation)?;
    let place = paths.place();
    changed(
        invocation,
        &arguments,
        Verb::Install,
        &BTreeSet::new(),
        &place,
    )
}

/// Changes settings, and returns what was changed.
fn changed(
    invocation: &Invocation,
    arguments: &InstallArguments,
    verb: Verb,
    also: &BTreeSet<PathBuf>,
    place: &SettingsPlace<'_>,
) -> Result<InstallReport, Failure> {
    let arguments = &InstallArguments {
        agents: agents_meant(verb, arguments)?,
        ..arguments.clone()
    };
    // All at once: an agent that does not answer keeps this waiting for seconds.
    install::learn_versions(place, |agent| {
        arguments.all || arguments.agents.iter().any(|name| name == agent)
    });
    let mut report = if arguments.all {
        change_all(verb, arguments, place, also)
    } else {
        change_named(verb, arguments, place)?
    };
    if verb == Verb::Uninstall && also.is_empty() {
        note_what_remains(scope(arguments), place, &mut report);
    }
    if verb == Verb::Install
        && store_place::goes_with_a_container(&invocation.store_directory()?)
        && let Some(change) = report.changes.last_mut()
    {
        let (what, hint) = (store_place::ON_A_LAYER, store_place::TO_A_VOLUME);
        change.notes.push(format!("{what}: {hint}"));
    }
    let is_wanted = verb == Verb::Install;
    let is_due = is_wanted || arguments.all || !is_installed_for_any(place, &report);
    let mut link = short_name::due(place.binary, is_wanted);
    link = link.filter(|_| is_due && !has_failed(&report));
    let is_done =
        |link: &PathBuf| arguments.dry_run || short_name::change(link, place.binary, is_wanted);
    let link = link.filter(is_done);
    report.dry_run = arguments.dry_run;
    report.short_name = link.map(|path| path.display().to_string());
    Ok(report)
}

/// Returns the agents that are named; the beginning of a name is enough.
fn agents_meant(verb: Verb, arguments: &InstallArguments) -> Result<Vec<String>, Failure> {
    if arguments.agents.is_empty() && !arguments.all {
        let name = match verb {
            Verb::Install => "install",
            Verb::Uninstall => "uninstall",
        };
        return Err(Failure::usage(
            "no agent was named",
            format!(
                "`ckpt-hook {name} --all` takes every agent on this machine, `ckpt-hook {name} --list` shows them"
            ),
        ));
    }
    let full = |name: &String| {
        meant::only_one(name, install::names())
            .unwrap_or(name)
            .to_owned()
    };
    Ok(arguments.agents.iter().map(full).collect())
}

/// Changes the settings of every agent, and those settings of projects that hold something of ours.
fn change_all(
    verb: Verb,
    arguments: &InstallArguments,
    place: &SettingsPlace<'_>,
    projects: &BTreeSet<PathBuf>,
) -> InstallReport {
    let task = InstallTask::of(verb, arguments);
    let mut report = empty_report();
    for (agent, presence) in install::look_around(place) {
        match verb {
            Verb::Install if !presence.found => {
                report.skipped.push(skipped(agent, presence.reason));
            }
            Verb::Install | Verb::Uninstall => {
                change(task, agent, place, &mut report);
            }
        }
    }
    for project in projects {
        let place = SettingsPlace {
            project,
            start: project,
            ..*place
        };
        let in_project = InstallTask {
            scope: SettingsScope::Project,
            ..task
        };
        let mut of_it = empty_report();
        for (agent, _) in install::look_around(&place) {
            change(in_project, agent, &place, &mut of_it);
        }
        of_it.changes.retain(|change| change.action != "unchanged");
        report.changes.extend(of_it.changes);
        report.skipped.extend(of_it.skipped);
    }
    if verb == Verb::Uninstall {
        if task.scope == SettingsScope::User {
            change_profiles(task, place, &mut report);
        }
        leave_out_unchanged(task.scope, place, &mut report);
    }
    report
}

/// Takes the hook out of an agent's other profiles, too.
fn change_profiles(task: InstallTask, place: &SettingsPlace<'_>, report: &mut InstallReport) {
    for profile in install::profiles(place) {
        profile.with(place, |place| change(task, profile.agent, place, report));
    }
}

/// Changes the settings of the agents that are named. If it is only one, its failure is the command's.
fn change_named(
    verb: Verb,
    arguments: &InstallArguments,
    place: &SettingsPlace<'_>,
) -> ckpt_store::Result<InstallReport> {
    let task = InstallTask::of(verb, arguments);
    install::check_known(&arguments.agents)?;
    let mut report = empty_report();
    match arguments.agents.as_slice() {
        [agent] => report.changes = task.carry_out(agent, place)?,
        agents => {
            for agent in agents {
                change(task, agent, place, &mut report);
            }
        }
    }
    Ok(report)
}

fn scope(arguments: &InstallArguments) -> SettingsScope {
    if arguments.project {
        SettingsScope::Project
    } else {
        SettingsScope::User
    }
}

fn empty_report() -> InstallReport {
    InstallReport {
        version: report::VERSION,
        changes: Vec::new(),
        skipped: Vec::new(),
        dry_run: false,
        short_name: None,
    }
}

/// If the settings of one agent cannot be edited, the others are changed all the same.
fn change(task: InstallTask, agent: &str, place: &SettingsPlace<'_>, report: &mut InstallReport) {
    match task.carry_out(agent, place) {
        Ok(changes) => report.changes.extend(changes),
        Err(error) => {
            let reason = error.with_causes();
            let hint = error.hint_text().map(str::to_owned);
            report.skipped.push(SkippedAgent {
                agent: agent.to_owned(),
                failed: true,
                reason,
                hint,
            });
        }
    }
}

/// If the hook was never installed, one line says that there is nothing to remove.
fn leave_out_unchanged(
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
    report: &mut InstallReport,
) {
    let changed: BTreeSet<String> = report
        .changes
        .iter()
        .filter(|change| change.action != "unchanged")
        .map(|change| change.agent.clone())
        .collect();
    let mut untouched = BTreeSet::new();
    for change in report
        .changes
        .extract_if(.., |change| !changed.contains(&change.agent))
    {
        if untouched.insert(change.agent.clone()) {
            report.skipped.push(left_out(&change.agent, scope, place));
        }
    }
}

/// An agent that was named may go on calling the hook: from the settings of the other kind, or as a package.
fn note_what_remains(scope: SettingsScope, place: &SettingsPlace<'_>, report: &mut InstallReport) {
    for row in install::list(place) {
        let mut changes = report.changes.iter_mut().rev();
        let Some(change) = changes.find(|change| change.agent == row.agent) else {
            continue;
        };
        if is_elsewhere(&row, scope) {
            let (whose, option) = match scope {
                SettingsScope::User => ("this project's settings", " --project"),
                SettingsScope::Project => ("your own settings", ""),
            };
            change.notes.push(format!(
                "the hook is still in {whose}: `ckpt-hook uninstall {}{option}`",
                row.agent
            ));
        }
        let profiles = install::profiles(place);
        for profile in profiles.iter().filter(|it| it.agent == row.agent) {
            change.notes.push(format!(
                "the hook is still in the profile `{folder}`: `{variable}={folder} ckpt-hook uninstall {}`",
                row.agent,
                folder = profile.folder.display(),
                variable = profile.variable,
            ));
        }
        if let Some(file) = row.package {
            change.notes.push(format!(
                "the hook is still installed as a package, according to `{}`",
                file.display()
            ));
        }
    }
}

/// Whether any agent calls the hook once an uninstall is done, by what can be seen from here.
fn is_installed_for_any(place: &SettingsPlace<'_>, uninstall: &InstallReport) -> bool {
    let is_taken_out = |file: &Path| {
        let mut changes = uninstall.changes.iter();
        let file = file.to_string_lossy();
        changes.any(|change| change.action != "unchanged" && change.file == file)
    };
    let is_called = |row: &AgentState| {
        let mut settings = row.installed.iter();
        let is_in = |settings: &Installed| {
            settings.state != Installation::Absent && !is_taken_out(&settings.file)
        };
        row.package.is_some() || row.managed.is_some() || settings.any(is_in)
    };
    install::list(place).iter().any(is_called) || !install::profiles(place).is_empty()
}

/// Returns whether the hook is in settings of the other kind.
fn is_elsewhere(row: &AgentState, scope: SettingsScope) -> bool {
    let mut settings = row.installed.iter();
    settings.any(|settings| settings.scope != scope && settings.state != Installation::Absent)
}

/// Only settings of one kind were checked; the hook may be in those of the other.
fn left_out(agent: &str, scope: SettingsScope, place: &SettingsPlace<'_>) -> SkippedAgent {
    let rows = install::list(place);
    let of_agent = rows.iter().find(|row| row.agent == agent);
    let is_elsewhere = of_agent.is_some_and(|row| is_elsewhere(row, scope));
    let (reason, option) = match scope {
        _ if !is_elsewhere => return skipped(agent, "the hook is not in its settings"),
        SettingsScope::User => ("the hook is in this project's settings alone", " --project"),
        SettingsScope::Project => (
            "the hook is not in this project's settings, but in your own",
            "",
        ),
    };
    SkippedAgent {
        hint: Some(format!(
            "`ckpt-hook uninstall {agent}{option}` removes it there"
        )),
        ..skipped(agent, reason)
    }
}

fn skipped(agent: &str, reason: impl Into<String>) -> SkippedAgent {
    SkippedAgent {
        agent: agent.to_owned(),
        failed: false,
        reason: reason.into(),
        hint: None,
    }
}

fn has_failed(report: &InstallReport) -> bool {
    report.skipped.iter().any(|skipped| skipped.failed)
}

fn code(report: &InstallReport) -> u8 {
    match (has_failed(report), report.changes.is_empty()) {
        (false, _) => DONE,
        (true, false) => PARTIAL,
        (true, true) => FAILED,
    }
}

fn list(invocation: &Invocation, place: &SettingsPlace<'_>) -> Result<u8, Failure> {
    let agents = install::list(place).iter().map(agent).collect();
    let report = AgentsReport {
        version: report::VERSION,
        agents,
    };
    paged(invocation, &report, |view| agents::list(&report, view))
}

fn agent(agent: &AgentState) -> AgentReport {
    AgentReport {
        agent: agent.agent.to_owned(),
        proven_on: agent
            .proven_on
            .iter()
            .map(|version| (*version).to_owned())
            .collect(),
        version: agent.version.map(|version| version.to_string()),
        lowest_version: agent.lowest.map(|version| version.to_string()),
        notes: notes(&agent.advice),
        found: agent.presence.as_ref().map(|presence| presence.found),
        reason: agent
            .presence
            .as_ref()
            .map(|presence| presence.reason.clone()),
        package: agent
            .package
            .as_ref()
            .map(|file| file.display().to_string()),
        managed: agent
            .managed
            .as_ref()
            .map(|file| file.display().to_string()),
        works: agent.works(),
        settings: agent.installed.iter().map(settings).collect(),
    }
}

fn settings(installed: &Installed) -> AgentSettings {
    AgentSettings {
        scope: installed.scope.name().to_owned(),
        file: installed.file.display().to_string(),
        state: installed.state.name().to_owned(),
        notes: notes(&installed.advice),
    }
}

fn notes(advice: &[Advice]) -> Vec<String> {
    let notes = advice
        .iter()
        .map(|advice| format!("{}: {}", advice.message, advice.hint));
    notes.collect()
}

/// Where settings are, and what they are to call.
pub struct InstallPaths {
    home: PathBuf,
    project: PathBuf,
    start: PathBuf,
    machine: PathBuf,
    binary: PathBuf,
    memory: PathBuf,
}

impl InstallPaths {
    /// Finds the home, the project around the directory, this program and the file of remembered settings.
    pub fn of(invocation: &Invocation) -> Result<Self, Failure> {
        let home = invocation.surroundings.home.clone().ok_or_else(|| {
            Error::failed("the home directory is unknown")
                .hint("set $HOME to where the agent's settings are")
        })?;
        let directory = invocation.directory()?;
        let project = directory
            .ancestors()
            .find(|path| is_project(path))
            .unwrap_or(&directory)
            .to_owned();
        let lasting = Lasting {
            home: &home,
            environment: &surroundings::variable,
        };
        let binary = lasting.path(&surroundings::program()?);
        Ok(Self {
            home,
            project,
            start: directory,
            machine: surroundings::machine(),
            binary,
            memory: invocation.store_directory()?.join(ckpt_store::INSTALLED),
        })
    }

    /// Returns them as the installer wants them, to trust nothing.
    pub fn place(&self) -> SettingsPlace<'_> {
        SettingsPlace {
            home: &self.home,
            project: &self.project,
            start: &self.start,
            machine: &self.machine,
            binary: &self.binary,
            trust: false,
            memory: &self.memory,
            environment: &surroundings::variable,
        }
    }
}

fn is_project(directory: &Path) -> bool {
    directory.join(".git").symlink_metadata().is_ok()
}
