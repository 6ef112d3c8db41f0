//! Settings files before and after, byte for byte, in a temporary home directory.

mod agents;
mod chat;
mod codex_trust;
mod extension;
mod installed;
mod packages;
mod plugin;
mod policy;
mod refused;
mod round_trip;
mod settings;
mod versions;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testing::executable;

use super::*;

/// The settings of Claude Code.
const CLAUDE: &str = "home/.claude/settings.json";

/// A home directory and a project, with a binary to install.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            directory: TempDir::new().expect("a scratch directory"),
        };
        for directory in ["home", "project", "bin"] {
            fs::create_dir(world.path(directory)).expect("new");
        }
        world.executable("bin/ckpt-hook");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn executable(&self, name: &str) -> PathBuf {
        let path = self.write(name, "");
        let says = match name.ends_with("ckpt-hook") {
            true => "#!/bin/sh\n[ \"$1\" != --version ] || echo ckpt-hook\n",
            false => "#!/bin/sh\n",
        };
        executable::write(&path, says);
        path
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below the scratch directory"))
            .expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn with_place<T>(&self, act: impl FnOnce(&SettingsPlace<'_>) -> T) -> T {
        let (home, project, binary) = (
            self.path("home"),
            self.path("project"),
            self.path("bin/ckpt-hook"),
        );
        let (programs, memory) = (self.path("programs"), self.path("store/installed.json"));
        let machine = self.path("machine");
        let environment = |name: &str| (name == "PATH").then(|| programs.clone().into_os_string());
        act(&SettingsPlace {
            memory: &memory,
            machine: &machine,
            environment: &environment,
            ..place(&home, &project, &binary)
        })
    }

    /// Puts an agent's npm package on this machine, in a version, in the place of any other.
    fn has(&self, program: &str, package: &str, version: &str) {
        let folder = format!("packages/{version}/{package}");
        let manifest = format!(r#"{{"name": "{package}", "version": "{version}"}}"#);
        self.write(&format!("{folder}/package.json"), &manifest);
        let real = self.executable(&format!("{folder}/bin/{program}"));
        let link = self.path("programs").join(program);
        fs::create_dir_all(self.path("programs")).expect("a directory");
        let _ = fs::remove_file(&link);
        symlink(real, link).expect("new");
    }

    /// Puts a Claude Code on this machine that knows every event.
    fn has_claude_code(&self) {
        self.has("claude", "@anthropic-ai/claude-code", "2.1.329");
    }

    fn install_trusted(&self) -> Vec<SettingsChange> {
        let trusted = |place: &SettingsPlace<'_>| {
            install(
                "codex",
                SettingsScope::User,
                &SettingsPlace {
                    trust: true,
                    ..*place
                },
                DryRun::No,
            )
        };
        self.with_place(trusted).expect("it can be installed")
    }

    fn install(&self, agent: &str) -> Vec<SettingsChange> {
        self.with_place(|place| install(agent, SettingsScope::User, place, DryRun::No))
            .expect("it can be installed")
    }

    fn uninstall(&self, agent: &str) -> Vec<SettingsChange> {
        self.with_place(|place| uninstall(agent, SettingsScope::User, place, DryRun::No))
            .expect("it can be taken out")
    }

    fn agent(&self, agent: &str) -> AgentState {
        let rows = self.with_place(list);
        rows.into_iter()
            .find(|row| row.agent == agent)
            .expect("every agent has a row")
    }

    fn installed(&self, agent: &str, scope: SettingsScope) -> Installed {
        let rows = self.agent(agent).installed;
        rows.into_iter()
            .find(|row| row.scope == scope)
            .expect("it has settings of both kinds")
    }

    fn state(&self, agent: &str) -> Installation {
        self.installed(agent, SettingsScope::User).state
    }

    /// Returns a text with the scratch directory's name taken out.
    fn anonymous(&self, text: &str) -> String {
        text.replace(&self.directory.path().display().to_string(), "")
    }
}

fn place<'a>(home: &'a Path, project: &'a Path, binary: &'a Path) -> SettingsPlace<'a> {
    SettingsPlace {
        home,
        project,
        start: project,
        machine: Path::new("/nowhere"),
        binary,
        trust: false,
        memory: Path::new("/nowhere/installed.json"),
        environment: &no_environment,
    }
}

fn no_environment(_: &str) -> Option<OsString> {
    None
}

/// Returns every file below a directory, by its path relative to it.
fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next)
            .expect("a directory")
            .map(|entry| entry.expect("readable"))
        {
            if entry.file_type().expect("known").is_dir() {
                waiting.push(entry.path());
            } else {
                found.push(
                    entry
                        .path()
                        .strip_prefix(directory)
                        .expect("below")
                        .display()
                        .to_string(),
                );
            }
        }
    }
    found.sort();
    found
}
