//! `install` and `uninstall`: the hook into agents' settings, and out again.

use std::path::{Path, PathBuf};

use ckpt_schema::report::{self, InstallReport, SettingsChange};
use ckpt_store::Error;
use ckpt_store::error::{Context, Result};

use super::Invocation;
use crate::arguments::InstallArguments;
use crate::failure::{DONE, Failure};
use crate::install::{self, Place, Scope};
use crate::output::doctor;
use crate::surroundings;

type Work = fn(&str, Scope, &Place<'_>, bool) -> Result<Vec<SettingsChange>>;

/// Puts the hook in.
pub fn install(invocation: &Invocation, arguments: &InstallArguments) -> std::result::Result<u8, Failure> {
    run(invocation, arguments, install::install)
}

/// Takes the hook out.
pub fn uninstall(invocation: &Invocation, arguments: &InstallArguments) -> std::result::Result<u8, Failure> {
    run(invocation, arguments, install::uninstall)
}

fn run(invocation: &Invocation, arguments: &InstallArguments, work: Work) -> std::result::Result<u8, Failure> {
    let scope = if arguments.project { Scope::Project } else { Scope::User };
    let paths = Paths::of(invocation)?;
    let place = paths.place(invocation, arguments.trust);
    let mut report = InstallReport { version: report::VERSION, changes: Vec::new() };
    for agent in &arguments.agents {
        report.changes.extend(work(agent, scope, &place, arguments.dry_run)?);
    }
    invocation.output.report(&report, |view| doctor::install(&report, view))?;
    Ok(DONE)
}

/// Where settings are, and what they are to call.
pub struct Paths {
    home: PathBuf,
    project: PathBuf,
    binary: PathBuf,
}

impl Paths {
    /// Looks for them.
    pub fn of(invocation: &Invocation) -> std::result::Result<Self, Failure> {
        let home = invocation.surroundings.home.clone().ok_or_else(|| {
            Error::failed("the home directory is unknown").hint("set $HOME to where the agent's settings are")
        })?;
        let directory = invocation.directory()?;
        let project = directory.ancestors().find(|path| is_project(path)).unwrap_or(&directory).to_owned();
        let binary = std::env::current_exe().context(|| "cannot find the path of this program")?;
        Ok(Self { home, project, binary })
    }

    /// Returns them as the installer wants them.
    pub fn place<'a>(&'a self, invocation: &Invocation, trust: bool) -> Place<'a> {
        Place {
            home: &self.home,
            project: &self.project,
            binary: &self.binary,
            tool_events: invocation.config.settings.for_directory(&self.project).tool_events,
            trust,
            environment: &surroundings::variable,
        }
    }
}

fn is_project(directory: &Path) -> bool {
    directory.join(".git").symlink_metadata().is_ok()
}
