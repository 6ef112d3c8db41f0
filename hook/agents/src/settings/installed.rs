//! What is installed where, and whether it works. Reads settings; changes nothing.

use std::path::{Path, PathBuf};

use ckpt_process::{printed, programs};
use ckpt_store::error::Result;

use super::advice::Advice;
use super::content::{OwnHandlers, SettingsFile};
use super::file;
use super::lasting;
use super::place::{SettingsPlace, SettingsScope};
use super::target::{AgentPresence, AgentTarget};
use super::version::AgentVersion;

ckpt_schema::words! {
    /// How much of our hook is in a settings file.
    pub enum Installation {
        /// The file does not call it.
        Absent = "absent",
        /// All of it, as [`install`](crate::install::install) would write it.
        Installed = "installed",
        /// Not what [`install`](crate::install::install) would write: another version wrote it, or it was edited.
        Outdated = "outdated",
        /// The agent's timeout is shorter than the time that the hook may take.
        Hurried = "hurried",
        /// It calls another copy of our binary.
        Elsewhere = "elsewhere",
        /// An event calls us more than once.
        Doubled = "doubled",
        /// It calls a binary that is not there, or that cannot be executed.
        Moved = "moved",
        /// It is there, and the agent does not call it: the advice says why.
        Blocked = "blocked",
        /// The file cannot be read, or is not valid.
        Broken = "broken",
    }
}

impl Installation {
    /// Returns whether events arrive, perhaps not all of them or not in time.
    pub fn works(self) -> bool {
        match self {
            Self::Installed | Self::Outdated | Self::Hurried | Self::Elsewhere | Self::Doubled => {
                true
            }
            Self::Absent | Self::Moved | Self::Blocked | Self::Broken => false,
        }
    }
}

/// How our hook is installed in one settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Whose settings.
    pub scope: SettingsScope,
    /// The settings file.
    pub file: PathBuf,
    /// The state of the installation.
    pub state: Installation,
    /// Why it may not work although it is there; why the file cannot be read.
    pub advice: Vec<Advice>,
}

/// An agent, and whether its settings call our hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentState {
    /// The agent.
    pub agent: &'static str,
    /// Versions of the agent that were seen to work with the hook; empty if the adapter was written from documentation.
    pub proven_on: &'static [&'static str],
    /// The version on this machine, if known.
    pub version: Option<AgentVersion>,
    /// The lowest version in which something is recorded.
    pub lowest: Option<AgentVersion>,
    /// What a user of that version should know.
    pub advice: Vec<Advice>,
    /// Whether the agent is on this machine, or `None` for an agent whose settings we do not know.
    pub presence: Option<AgentPresence>,
    /// The file that says that our package is installed in the agent.
    pub package: Option<PathBuf>,
    /// What keeps the package from being called.
    pub package_advice: Vec<Advice>,
    /// The administrator's file that calls the hook.
    pub managed: Option<PathBuf>,
    /// The user's settings and the project's; empty for an agent whose settings we do not know.
    pub installed: Vec<Installed>,
}

impl AgentState {
    /// Returns whether any part of the hook is there.
    pub fn is_installed(&self) -> bool {
        self.installed
            .iter()
            .any(|installed| installed.state != Installation::Absent)
    }

    /// Returns whether an event would arrive.
    pub fn works(&self) -> bool {
        let by_package = self.package.is_some() && !self.package_advice.iter().any(|it| it.stops);
        let mut settings = self.installed.iter();
        by_package || self.managed.is_some() || settings.any(|settings| settings.state.works())
    }

    /// The reason that no event arrives although the hook is there, if so.
    pub fn obstacle(&self) -> Option<String> {
        let is_there = self.is_installed() || self.package.is_some();
        if !is_there || self.works() {
            return None;
        }
        let advice = self.installed.iter().flat_map(|settings| &settings.advice);
        let mut advice = advice.chain(&self.package_advice).chain(&self.advice);
        let stop = advice.find(|advice| advice.stops);
        let mut moved = self.installed.iter();
        let moved = moved.find(|settings| settings.state == Installation::Moved);
        match (stop, moved) {
            (Some(advice), _) => Some(advice.message.clone()),
            (None, Some(settings)) => Some(format!(
                "`{}` calls a program that does not exist or cannot be executed",
                settings.file.display()
            )),
            (None, None) => Some("no event arrives".to_owned()),
        }
    }
}

impl AgentTarget {
    /// The installation in the settings of a scope.
    pub fn look(&self, scope: SettingsScope, place: &SettingsPlace<'_>) -> Installed {
        let called = self.called(scope, place);
        let binary = called.as_deref().unwrap_or(place.binary);
        let place = &SettingsPlace { binary, ..*place };
        let files = (self.files)(scope, place);
        let path = files
            .as_ref()
            .ok()
            .and_then(|files| files.first())
            .map(|file| file.path.clone())
            .unwrap_or_default();
        let (state, advice) = match files.and_then(|files| state_of(&files, place, scope)) {
            Ok(Installation::Absent) => (Installation::Absent, Vec::new()),
            Ok(state) => {
                let advice = self.advice_on(scope, place, &path);
                let is_blocked = advice.iter().any(|it| it.stops) || self.is_too_old(place);
                match state.works() && is_blocked {
                    true => (Installation::Blocked, advice),
                    false => (state, advice),
                }
            }
            Err(error) => {
                let hint = "correct the file: as it is, nothing can be put into it";
                let advice = Advice::stop(error.with_causes(), hint);
                (Installation::Broken, vec![advice])
            }
        };
        Installed {
            scope,
            file: path,
            state,
            advice,
        }
    }

    /// Returns the path by which the settings call the binary, if it is another than would be written now, leads to the
    /// same binary, and does so after an upgrade, too.
    fn called(&self, scope: SettingsScope, place: &SettingsPlace<'_>) -> Option<PathBuf> {
        let files = (self.files)(scope, place).ok()?;
        let first = files.first()?;
        let text = file::read(&first.path).ok().flatten()?;
        let found = first.content.find(&text).ok()?;
        let mut binaries = found.binaries.iter().map(PathBuf::from);
        let called = binaries.next().filter(|called| called != place.binary)?;
        let is_same = file::is_same(&called, place.binary) && !lasting::is_passing(&called);
        (is_same && binaries.all(|other| other == called)).then_some(called)
    }

    fn advice_on(
        &self,
        scope: SettingsScope,
        place: &SettingsPlace<'_>,
        path: &Path,
    ) -> Vec<Advice> {
        let text = file::read(path).ok().flatten().unwrap_or_default();
        self.advice(scope, place, path, &text)
    }
}

/// Returns the state of all of an agent's files: one that is missing makes it outdated.
fn state_of(
    files: &[SettingsFile],
    place: &SettingsPlace<'_>,
    scope: SettingsScope,
) -> Result<Installation> {
    let mut states = Vec::new();
    for file in files {
        let text = file::read(&file.path)?;
        if text
            .as_deref()
            .is_some_and(|text| file.content.gives_way_to(text))
        {
            continue;
        }
        let found = text.map(|text| file.content.find(&text)).transpose()?;
        states.push(found.map_or(Installation::Absent, |found| {
            judge(&found, place.binary, scope)
        }));
    }
    let first = states.first().copied().unwrap_or(Installation::Absent);
    let worst = [
        Installation::Doubled,
        Installation::Moved,
        Installation::Elsewhere,
        Installation::Hurried,
    ]
    .into_iter()
    .find(|state| states.contains(state));
    Ok(if states.iter().all(|state| *state == first) {
        first
    } else {
        worst.unwrap_or(Installation::Outdated)
    })
}

fn judge(found: &OwnHandlers, binary: &Path, scope: SettingsScope) -> Installation {
    if found.binaries.is_empty() {
        Installation::Absent
    } else if found.doubled {
        Installation::Doubled
    } else if found
        .binaries
        .iter()
        .any(|binary| !is_ours(Path::new(binary), scope))
    {
        Installation::Moved
    } else if found.exact {
        Installation::Installed
    } else if found
        .binaries
        .iter()
        .any(|called| Path::new(called) != binary)
    {
        Installation::Elsewhere
    } else if found.hurried {
        Installation::Hurried
    } else {
        Installation::Outdated
    }
}

/// Returns whether a path leads to a program of ours. The script or link of a version manager stays when the program is
/// gone, so that it has to be asked. A project's settings could name any program, also one of a clone: that is not run.
fn is_ours(called: &Path, scope: SettingsScope) -> bool {
    let is_asked = scope == SettingsScope::User && !lasting::is_direct(called);
    let answers = || {
        let said = printed(programs::named(called).arg("--version"));
        said.is_some_and(|said| said.contains("ckpt-hook"))
    };
    file::is_executable(called) && (!is_asked || answers())
}
