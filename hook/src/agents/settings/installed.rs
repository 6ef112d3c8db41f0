//! What is installed where, and whether it works. Reads settings; changes nothing.

use std::path::{Path, PathBuf};

use ckpt_store::error::Result;

use super::advice::Advice;
use super::content::{OwnHandlers, SettingsFile};
use super::file;
use super::place::{SettingsPlace, SettingsScope};
use super::target::{AgentPresence, AgentTarget};
use super::version::AgentVersion;

/// How much of our hook is in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// The file does not call it.
    Absent,
    /// All of it, as [`install`](crate::agents::install::install) would write it.
    Installed,
    /// Not what [`install`](crate::agents::install::install) would write: another version wrote it, or it was edited.
    Outdated,
    /// The agent's timeout is shorter than the time that the hook may take.
    Hurried,
    /// It calls another copy of our binary.
    Elsewhere,
    /// An event calls us more than once.
    Doubled,
    /// It calls a binary that is not there.
    Moved,
    /// The file cannot be read, or is not valid.
    Broken,
}

impl Installation {
    /// Returns the name that the state has in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Hurried => "hurried",
            Self::Elsewhere => "elsewhere",
            Self::Doubled => "doubled",
            Self::Moved => "moved",
            Self::Broken => "broken",
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
}

impl AgentTarget {
    /// Returns what is installed in the settings of a scope.
    pub fn look(&self, scope: SettingsScope, place: &SettingsPlace<'_>) -> Installed {
        let files = (self.files)(scope, place);
        let path = files
            .as_ref()
            .ok()
            .and_then(|files| files.first())
            .map(|file| file.path.clone())
            .unwrap_or_default();
        match files.and_then(|files| state_of(&files, place)) {
            Ok(Installation::Absent) => Installed {
                scope,
                file: path,
                state: Installation::Absent,
                advice: Vec::new(),
            },
            Ok(state) => Installed {
                scope,
                advice: self.advice_on(scope, place, &path),
                file: path,
                state,
            },
            Err(error) => {
                let causes = error.with_causes();
                let hint = "correct the file: as it is, nothing can be put into it".to_owned();
                Installed {
                    scope,
                    file: path,
                    state: Installation::Broken,
                    advice: vec![Advice {
                        message: causes,
                        hint,
                    }],
                }
            }
        }
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
fn state_of(files: &[SettingsFile], place: &SettingsPlace<'_>) -> Result<Installation> {
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
        states.push(found.map_or(Installation::Absent, |found| judge(&found, place.binary)));
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

fn judge(found: &OwnHandlers, binary: &Path) -> Installation {
    if found.binaries.is_empty() {
        Installation::Absent
    } else if found.doubled {
        Installation::Doubled
    } else if found
        .binaries
        .iter()
        .any(|binary| !file::is_executable(Path::new(binary)))
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
