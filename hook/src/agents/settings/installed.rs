//! What is installed where, and whether it can work. Reads settings; changes nothing.

use std::path::{Path, PathBuf};

use ckpt_store::error::Result;

use super::advice::Advice;
use super::content::{Found, SettingsFile};
use super::file;
use super::place::{Place, Scope};
use super::target::{Presence, Target};
use super::version::Version;

/// How much of our hook is in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Absent,
    /// All of it, as [`install`](crate::agents::install::install) would write it.
    Installed,
    /// Something else than [`install`](crate::agents::install::install) would write: of another version, or changed by hand.
    Outdated,
    /// An agent waits for it for less long than it may take.
    Hurried,
    /// It calls another copy of our binary.
    Elsewhere,
    /// An event calls us more than once.
    Doubled,
    /// It calls a binary that is not there.
    Moved,
    /// The file is not readable as what it should be.
    Broken,
}

impl State {
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

/// What there is of our hook in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Whose settings.
    pub scope: Scope,
    /// The settings file.
    pub file: PathBuf,
    /// The state of the installation.
    pub state: State,
    /// Why it may not work although it is there; why the file cannot be read.
    pub advice: Vec<Advice>,
}

/// An agent, and what there is of our hook in its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentState {
    /// The agent.
    pub agent: &'static str,
    /// Versions of the agent that were seen at work with the hook; none: written from documentation.
    pub proven_on: &'static [&'static str],
    /// The version on this machine, if known.
    pub version: Option<Version>,
    /// The lowest in which something is recorded.
    pub lowest: Option<Version>,
    /// What a user of the version should know.
    pub advice: Vec<Advice>,
    /// Whether the agent is on this machine, or `None` for an agent whose settings we do not know.
    pub presence: Option<Presence>,
    /// The file that says that our package is installed in the agent.
    pub package: Option<PathBuf>,
    /// The user's settings and the project's; empty for an agent whose settings we do not know.
    pub installed: Vec<Installed>,
}

impl AgentState {
    /// Returns whether there is anything of the hook.
    pub fn is_installed(&self) -> bool {
        self.installed
            .iter()
            .any(|installed| installed.state != State::Absent)
    }
}

impl Target {
    /// Returns what is installed in the settings of a scope.
    pub fn look(&self, scope: Scope, place: &Place<'_>) -> Installed {
        let files = (self.files)(scope, place);
        let path = files
            .as_ref()
            .ok()
            .and_then(|files| files.first())
            .map(|file| file.path.clone())
            .unwrap_or_default();
        match files.and_then(|files| state_of(&files, place)) {
            Ok(State::Absent) => Installed {
                scope,
                file: path,
                state: State::Absent,
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
                let hint = "fix the file; the agent cannot read it, either".to_owned();
                Installed {
                    scope,
                    file: path,
                    state: State::Broken,
                    advice: vec![Advice {
                        message: causes,
                        hint,
                    }],
                }
            }
        }
    }

    fn advice_on(&self, scope: Scope, place: &Place<'_>, path: &Path) -> Vec<Advice> {
        let text = file::read(path).ok().flatten().unwrap_or_default();
        self.advice(scope, place, path, &text)
    }
}

/// Returns the state of all of an agent's files: one that is missing makes it outdated.
fn state_of(files: &[SettingsFile], place: &Place<'_>) -> Result<State> {
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
        states.push(found.map_or(State::Absent, |found| judge(&found, place.binary)));
    }
    let first = states.first().copied().unwrap_or(State::Absent);
    let worst = [
        State::Doubled,
        State::Moved,
        State::Elsewhere,
        State::Hurried,
    ]
    .into_iter()
    .find(|state| states.contains(state));
    Ok(if states.iter().all(|state| *state == first) {
        first
    } else {
        worst.unwrap_or(State::Outdated)
    })
}

fn judge(found: &Found, binary: &Path) -> State {
    if found.binaries.is_empty() {
        State::Absent
    } else if found.doubled {
        State::Doubled
    } else if found
        .binaries
        .iter()
        .any(|binary| !file::is_executable(Path::new(binary)))
    {
        State::Moved
    } else if found.exact {
        State::Installed
    } else if found
        .binaries
        .iter()
        .any(|called| Path::new(called) != binary)
    {
        State::Elsewhere
    } else if found.hurried {
        State::Hurried
    } else {
        State::Outdated
    }
}
