//! The owner and the location of settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

ckpt_schema::words! {
    /// The owner of settings.
    #[derive(Default)]
    pub enum SettingsScope {
        /// The user's, for every project.
        #[default]
        User = "user",
        /// One project's.
        Project = "project",
    }
}

/// Where settings are, and what is written into them.
pub struct SettingsPlace<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The top of the project.
    pub project: &'a Path,
    /// The directory, in the project, in which an agent is started.
    pub start: &'a Path,
    /// The directory that holds the machine's settings: `/`.
    pub machine: &'a Path,
    /// The binary that agents are to call, absolute.
    pub binary: &'a Path,
    /// Whether to make Codex trust the hook (`--trust`), without the review that it asks the user for.
    pub trust: bool,
    /// The file that records what was there before the hook.
    pub memory: &'a Path,
    /// The environment, by name: some agents let it move their settings.
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
}

impl SettingsScope {
    /// Returns the mode of a new settings file: the user's own may hold keys, the project's is for everybody.
    pub fn mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Project => 0o644,
        }
    }
}

impl SettingsPlace<'_> {
    /// Returns the directory below which the settings of a scope are.
    pub fn root(&self, scope: SettingsScope) -> &Path {
        match scope {
            SettingsScope::User => self.home,
            SettingsScope::Project => self.project,
        }
    }

    /// Returns the directory that an environment variable names, else the one of that name below the home directory.
    pub fn directory(&self, variable: &str, name: &str) -> PathBuf {
        let named = (self.environment)(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(name))
    }
}
