//! `doctor`: whether the store, its database, the settings and the installed hooks are as they should be.

mod bug_report;
mod hooks;

use std::path::Path;

use ckpt_agents::settings::command::quoted;
use ckpt_command::config::of_directory;
use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_command::writable;
use ckpt_output::doctor;
use ckpt_output::progress::ProgressLine;
use ckpt_output::time::utc;
use ckpt_process::failure::{DONE, FAILED, Failure};
use ckpt_process::surroundings;
use ckpt_schema::protocol::DoctorParameters;
use ckpt_schema::report::{
    self, DiagnosticReport, DoctorReport, Finding, FindingLevel, WorkspaceReport,
};
use ckpt_store::Store;
use ckpt_store::exchange::Remote;
use ckpt_store::model::number::count;

use crate::cli::arguments::DoctorArguments;
use crate::cli::commands::{store_place, unrecorded};
use crate::log_file::LogFile;

/// Checks everything, and shows what it found. Exits with 1 if something is broken.
pub fn run(invocation: &Invocation, arguments: &DoctorArguments) -> Result<u8, Failure> {
    let report = examined(invocation, arguments)?;
    if let Some(file) = &arguments.report {
        bug_report::write(invocation, &report, file)?;
    }
    paged(invocation, &report, |view| doctor::render(&report, view))?;
    let is_broken = report
        .findings
        .iter()
        .any(|finding| finding.level == FindingLevel::Error.name());
    Ok(if is_broken { FAILED } else { DONE })
}

/// Answers `doctor` of a front end.
pub fn answer(invocation: &Invocation, asked: &DoctorParameters) -> Result<DoctorReport, Failure> {
    let arguments = DoctorArguments {
        all: asked.all,
        repair: false,
        report: None,
    };
    examined(invocation, &arguments)
}

fn examined(invocation: &Invocation, arguments: &DoctorArguments) -> Result<DoctorReport, Failure> {
    let directory = invocation.store_directory()?;
    let mut findings = settings(invocation);
    findings.extend(store(invocation, &directory, arguments));
    findings.extend(place(invocation, &directory));
    findings.extend(log(invocation, &directory));
    findings.extend(hooks::look(invocation));
    Ok(DoctorReport {
        version: report::VERSION,
        findings,
    })
}

fn settings(invocation: &Invocation) -> Vec<Finding> {
    const SUBJECT: &str = "settings";
    let config = &invocation.config;
    let mut findings: Vec<Finding> = config
        .problems
        .iter()
        .map(|problem| Finding::error(SUBJECT, problem).hint("the default applies"))
        .collect();
    findings.extend(config.unknown.iter().map(|unknown| {
        let mut command = format!("ckpt-hook config unset {}", quoted(&unknown.key));
        if let Some(workspace) = &unknown.workspace {
            command += &format!(" --workspace {}", quoted(&workspace.to_string_lossy()));
        }
        let hint = format!("it does nothing; `{command}` removes it");
        Finding::warning(SUBJECT, &unknown.text).hint(hint)
    }));
    let directory = invocation.directory().ok();
    let here = directory.map(|directory| of_directory(&config.settings, &directory).1);
    let what = match here {
        _ if !config.settings.enabled => Some("`enabled = false`: nothing is recorded"),
        Some(here) if !here.enabled => {
            Some("`enabled = false` for this directory: nothing is recorded here")
        }
        _ => None,
    };
    findings.extend(what.map(|what| Finding::warning(SUBJECT, what)));
    if findings.is_empty() {
        let file = invocation.surroundings.config_file();
        let message = match file.filter(|file| file.exists()) {
            Some(file) => format!("`{}` is understood", file.display()),
            None => "defaults".to_owned(),
        };
        findings.push(Finding::ok(SUBJECT, message));
    }
    findings
}

fn store(invocation: &Invocation, directory: &Path, arguments: &DoctorArguments) -> Vec<Finding> {
    let mut store = match invocation.open() {
        Ok(store) => store,
        Err(failure) => {
            return vec![Finding {
                hint: failure.hint(),
                ..Finding::error("store", failure.with_causes())
            }];
        }
    };
    let obstacle = writable::look(directory)
        .map(|obstacle| Finding::error("store", obstacle.message).hint(obstacle.hint));
    if store.is_missing() {
        let message = format!(
            "there is none yet: the first event creates `{}`",
            directory.display()
        );
        return vec![obstacle.unwrap_or_else(|| Finding::ok("store", message))];
    }
    let mut findings: Vec<Finding> = obstacle.into_iter().collect();
    if arguments.repair {
        // First, so that the check finds what is left.
        findings.extend(store.repair());
    }
    findings.extend(check(invocation, &mut store, arguments.all));
    findings.extend(machines(&mut store));
    findings.extend(behind_forget(invocation, &store));
    findings.extend(recent(invocation, &mut store));
    findings
}

/// The histories that came from other machines.
fn machines(store: &mut Store) -> Vec<Finding> {
    let listed = store.workspaces(None).map(|report| report.workspaces);
    let of_machine = |one: WorkspaceReport| {
        let machine = one.machine?;
        let messages = count(one.messages, "message");
        let message = format!("{messages} of `{}` came from `{machine}`", one.path);
        Some(Finding::ok("machines", message))
    };
    let listed = listed.unwrap_or_default().into_iter();
    listed.filter_map(of_machine).collect()
}

/// The repositories that still have what was forgotten.
fn behind_forget(invocation: &Invocation, store: &Store) -> Vec<Finding> {
    let directory = invocation.directory().ok();
    let behind = directory.and_then(|directory| store.behind_forget(&directory).ok());
    let finding = |remote: Remote| {
        let shown = remote.shown();
        let hint = format!("`ckpt-hook push {}` replaces it", quoted(&shown));
        let message = format!("`{shown}` still has what was forgotten here");
        Finding::warning("machines", message).hint(hint)
    };
    behind.into_iter().flatten().map(finding).collect()
}

/// What the place of the store means, and what is not in it.
fn place(invocation: &Invocation, directory: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut warn = |subject, message: String, hint: &str| {
        findings.push(Finding::warning(subject, message).hint(hint));
    };
    if store_place::goes_with_a_container(directory) {
        let message = store_place::ON_A_LAYER.to_owned();
        warn("store", message, store_place::TO_A_VOLUME);
    }
    for other in store_place::others(invocation) {
        let hint = format!(
            "`ckpt-hook --store {} log` shows it; `$XDG_DATA_HOME` differs between the two",
            other.display()
        );
        let message = format!("there is another one in `{}`", other.display());
        warn("store", message, &hint);
    }
    if let (Ok(mut store), Ok(workspace)) = (invocation.open(), invocation.directory()) {
        let unrecorded = unrecorded::look(invocation, &mut store, &workspace);
        let sentences = unrecorded::sentences(&unrecorded, invocation.output.view());
        for (one, sentence) in unrecorded.iter().zip(sentences) {
            let hint = "see what is said of it below; an open session may call the hook only after a restart";
            warn(&one.agent, sentence.trim_end_matches('.').to_owned(), hint);
        }
    }
    findings
}

/// A large database takes a while.
fn check(invocation: &Invocation, store: &mut Store, all: bool) -> Vec<Finding> {
    let time = (!all).then_some(ckpt_store::CHECK_TIME);
    if !invocation.output.shows_progress() {
        return store.check(time);
    }
    let line = ProgressLine::start();
    let findings = line.during("checking the session store", || store.check(time));
    line.end();
    findings
}

/// The last diagnostics of the workspace's hooks.
fn recent(invocation: &Invocation, store: &mut Store) -> Vec<Finding> {
    let Ok(directory) = invocation.directory() else {
        return Vec::new();
    };
    match store.status(&directory, None) {
        Ok(status) => {
            // What only informs is among the findings of the check.
            let is_problem = |diagnostic: &&DiagnosticReport| diagnostic.level != "info";
            let problems = status.latest_diagnostics.iter().filter(is_problem);
            let problems: Vec<Finding> = problems.map(noted).collect();
            match problems.is_empty() {
                true => vec![Finding::ok("hooks", "no problems were recorded")],
                false => problems,
            }
        }
        Err(error) => vec![Finding {
            hint: error.hint_text().map(str::to_owned),
            ..Finding::warning("workspace", error.to_string())
        }],
    }
}

fn noted(diagnostic: &DiagnosticReport) -> Finding {
    let detail = diagnostic
        .detail
        .as_deref()
        .map(|detail| format!(": {detail}"))
        .unwrap_or_default();
    Finding::warning(
        "hooks",
        format!("{} {}{detail}", utc(diagnostic.time), diagnostic.message),
    )
}

/// What could not be written to the database is only in the log file.
fn log(invocation: &Invocation, directory: &Path) -> Vec<Finding> {
    let log = LogFile::new(
        directory,
        invocation.surroundings.log_level.as_deref(),
        surroundings::now,
    );
    let subject = format!("log file `{}`", log.path().display());
    log.last_failures(LOGGED)
        .iter()
        .map(|line| Finding::warning(&subject, line))
        .collect()
}

/// How many lines of the log file are shown.
const LOGGED: usize = 3;
