//! Puts our hook into the settings of agents and takes it out again, leaving every other byte of them alone.
//!
//! Deciding is pure: a file's text becomes another text .

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ckpt_schema::report::SettingsChange;
use ckpt_store::error::{Error, Result};

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

/// How much of our hook is in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Absent,
    /// All of it, as [`install`] would write it.
    Installed,
    /// Something else than [`install`] would write: of another version, or changed by hand.
    Outdated,
    /// An event calls us more than once.
    Doubled,
    /// It calls a binary that is not there.
    Moved,
    /// The file is not readable as what it should be.
    Broken,
}

/// What [`list`] found in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The agent.
    pub agent: &'static str,
    /// Whose settings.
    pub scope: Scope,
    /// The settings file.
    pub file: PathBuf,
    /// What is there.
    pub state: State,
    /// Versions of the agent that were seen at work with the hook; none: written from documentation.
    pub proven_on: &'static [&'static str],
    /// What else the user should know.
    pub notes: Vec<String>,
}

/// Puts our hook into an agent's settings, and returns what was done (or would be, where `dry_run`), file by file.
///
/// # Errors
///
/// An unknown agent, or a settings file that cannot be read, understood or written; it is left as it was.
pub fn install(agent: &str, scope: Scope, place: &Place<'_>, dry_run: bool) -> Result<Vec<SettingsChange>> {
    let _ = (scope, place, dry_run);
    Err(unknown(agent))
}

/// Takes our hook out of an agent's settings, and returns what was done, file by file.
///
/// # Errors
///
/// As for [`install`].
pub fn uninstall(agent: &str, scope: Scope, place: &Place<'_>, dry_run: bool) -> Result<Vec<SettingsChange>> {
    let _ = (scope, place, dry_run);
    Err(unknown(agent))
}

/// Returns what is installed: a row for each agent and scope.
pub fn list(place: &Place<'_>) -> Vec<Installed> {
    let _ = place;
    Vec::new()
}

fn unknown(agent: &str) -> Error {
    Error::failed(format!("the agent `{}` is not one that we can install into", agent.escape_debug()))
}
