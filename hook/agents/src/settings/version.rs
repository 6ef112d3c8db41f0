//! Which version of an agent is installed, and what the hook can do in it.
//!
//! No model is called for this: an npm package states its version; any other program is run with `--version`.

use ckpt_store::model::instruction::Instruction;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ckpt_process::locks;
use ckpt_process::{printed, programs};
use serde_json::Value;

use super::advice::Advice;
use super::file;

/// A version: three numbers, without what may follow them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentVersion(pub u32, pub u32, pub u32);

/// What is known of an agent's versions.
#[derive(Debug)]
pub struct AgentVersions {
    /// What people call the agent.
    pub agent: &'static str,
    /// The npm package that it comes in.
    pub package: &'static str,
    /// The lowest version in which something is recorded.
    pub lowest: AgentVersion,
    /// Whether lower versions were tried and record nothing; if not, they were never tried.
    pub lower_were_tried: bool,
    /// What older versions do not report, each with the first version that does.
    pub lacks: &'static [(AgentVersion, &'static str)],
}

impl AgentVersions {
    /// Of an agent in which something is recorded since a version; lower ones were never tried.
    pub const fn since(agent: &'static str, package: &'static str, lowest: AgentVersion) -> Self {
        Self {
            agent,
            package,
            lowest,
            lower_were_tried: false,
            lacks: &[],
        }
    }
}

impl fmt::Display for AgentVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl AgentVersion {
    /// Returns the version that a program says is its own: `2.1.100 (Claude Code)`, `codex-cli 0.129.0`.
    ///
    /// If it speaks of several, as of an update or of Node.js, its own is alone at the beginning of a line. If none is,
    /// or more than one, it is not known.
    fn said_in(text: &str) -> Option<Self> {
        let in_line = |line: &str| -> BTreeSet<Self> {
            line.split_whitespace().filter_map(Self::parse).collect()
        };
        let all: BTreeSet<Self> = text.lines().flat_map(in_line).collect();
        let is_own = |line: &&str| {
            let first = line.split_whitespace().next();
            first.and_then(Self::parse).is_some() && in_line(line).len() == 1
        };
        let own: BTreeSet<Self> = text.lines().filter(is_own).flat_map(in_line).collect();
        let only = |versions: &BTreeSet<Self>| match versions.len() {
            1 => versions.first().copied(),
            _ => None,
        };
        only(&all).or_else(|| only(&own))
    }

    /// Returns the version that a word holds, ignoring a `v`, a bracket or a name before it and whatever follows the
    /// third number.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.rsplit(['(', '/', '@']).next()?;
        let mut numbers = word.trim_start_matches('v').splitn(3, '.');
        let mut number = || {
            let digits = numbers.next()?;
            let end = digits.find(|character: char| !character.is_ascii_digit());
            digits[..end.unwrap_or(digits.len())].parse().ok()
        };
        Some(Self(number()?, number()?, number()?))
    }
}

impl AgentVersions {
    /// Advice for a user of a version: the events that are not recorded, and the version from which on they are.
    pub fn advice(&self, version: AgentVersion) -> Vec<Advice> {
        let Self { agent, lowest, .. } = self;
        if version < *lowest && !self.lower_were_tried {
            return vec![Advice::remark(
                format!("{agent} {version} was not tried with this hook"),
                format!(
                    "{agent} {lowest} is the oldest version that was; {} shows whether messages are recorded",
                    Instruction::Messages
                ),
            )];
        }
        if version < *lowest {
            return vec![Advice::stop(
                format!("{agent} {version} records nothing: it does not call our hooks"),
                format!("{agent} {lowest} is the oldest version that does"),
            )];
        }
        let lacks = self.lacks.iter().filter(|(since, _)| version < *since);
        lacks
            .map(|(since, what)| {
                let message = format!("{agent} {version} {what}");
                Advice::remark(message, format!("{agent} {since} does better"))
            })
            .collect()
    }

    /// Returns the version of a program.
    pub fn of(&self, program: &Path) -> Option<AgentVersion> {
        static KNOWN: Mutex<BTreeMap<[PathBuf; 2], Option<AgentVersion>>> =
            Mutex::new(BTreeMap::new());
        let real = file::real(program);
        let key = [program.to_owned(), real.clone()];
        let known = || locks::lock(&KNOWN);
        if let Some(version) = known().get(&key) {
            return *version;
        }
        // Asked by the name that it has here: one program that stands for many, as version managers have it, goes by
        // that.
        let version = self.told_by_file(&real).or_else(|| asked(program));
        known().insert(key, version);
        version
    }

    /// Returns the version that a program's own file tells, with which nothing is run.
    pub fn told_by_file(&self, program: &Path) -> Option<AgentVersion> {
        in_package(program, self.package).or_else(|| in_name(program))
    }
}

/// Learns the versions of several programs at once, so that those that hang take their time together.
pub fn learn(programs: impl Iterator<Item = (&'static AgentVersions, PathBuf)>) {
    std::thread::scope(|scope| {
        for (versions, program) in programs {
            let learned = move || {
                let _ = versions.of(&program);
            };
            // Without a thread, it is asked when its version is needed.
            let _ = std::thread::Builder::new().spawn_scoped(scope, learned);
        }
    });
}

/// Returns the version in the `package.json` above a program, if it is the agent's.
fn in_package(program: &Path, package: &str) -> Option<AgentVersion> {
    let manifest = |folder: &Path| {
        let text = file::read(&folder.join("package.json")).ok().flatten()?;
        serde_json::from_str::<Value>(&text).ok()
    };
    let manifests = program.ancestors().skip(1).filter_map(manifest);
    let mut ours = manifests.filter(|manifest| {
        let name = manifest.get("name").and_then(Value::as_str);
        name.is_some_and(|name| name.starts_with(package))
    });
    AgentVersion::parse(ours.next()?.get("version")?.as_str()?)
}

/// Returns the version that is the program's own name, as in `~/.local/share/claude/versions/2.1.100`.
fn in_name(program: &Path) -> Option<AgentVersion> {
    AgentVersion::parse(program.file_name()?.to_str()?)
}

/// Returns the version that a program prints; one that does not end in time is killed.
fn asked(program: &Path) -> Option<AgentVersion> {
    let mut command = programs::named(program);
    // A question must not make Claude Code update itself.
    command.arg("--version").env("DISABLE_AUTOUPDATER", "1");
    AgentVersion::said_in(&printed(&mut command)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    const VERSIONS: AgentVersions = AgentVersions {
        agent: "Agent",
        package: "@maker/agent",
        lowest: AgentVersion(1, 2, 0),
        lower_were_tried: true,
        lacks: &[(AgentVersion(1, 10, 0), "does not tell of steps")],
    };

    /// Makes a program that prints a text, and returns its path.
    fn program(folder: &Path, name: &str, says: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("writable");
        path
    }

    /// A package says its version and no program is run.
    #[test]
    fn package_tells_its_version_without_running() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = scratch.path().join("node_modules/@maker/agent");
        let real = program(&folder, "bin/agent.js", "9.9.9");
        let manifest = r#"{"name": "@maker/agent", "version": "2.1.100"}"#;
        fs::write(folder.join("package.json"), manifest).expect("writable");
        let link = scratch.path().join("agent");
        symlink(real, &link).expect("writable");
        assert_eq!(
            VERSIONS.of(&link),
            Some(AgentVersion(2, 1, 100)),
            "by its file"
        );
    }

    /// Another program is known by its name or asked.
    #[test]
    fn another_program_is_known_by_name_or_asked() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let named = program(scratch.path(), "versions/2.1.7", "9.9.9");
        assert_eq!(
            VERSIONS.of(&named),
            Some(AgentVersion(2, 1, 7)),
            "by its name"
        );
        for (name, says, version) in [
            ("one", "codex-cli 0.129.0", Some(AgentVersion(0, 129, 0))),
            (
                "two",
                "2.1.100 (Claude Code)",
                Some(AgentVersion(2, 1, 100)),
            ),
            ("three", "v1.2.3-beta.4", Some(AgentVersion(1, 2, 3))),
            ("four", "an agent", None),
            (
                "five",
                "claude/2.1.90 (linux)",
                Some(AgentVersion(2, 1, 90)),
            ),
            (
                "six",
                "Update available: 2.1.329 -> 2.2.0\n2.1.90 (Claude Code)",
                Some(AgentVersion(2, 1, 90)),
            ),
            (
                "seven",
                "Node.js v18.0.0 is too old\n2.1.90",
                Some(AgentVersion(2, 1, 90)),
            ),
            ("eight", "agent 2.1.90 with library 9.9.9", None),
            ("nine", "1.0.80.\nCommit: abc", Some(AgentVersion(1, 0, 80))),
        ] {
            let program = program(scratch.path(), name, says);
            assert_eq!(VERSIONS.of(&program), version, "of `{says}`");
        }
        let leaves = scratch.path().join("leaves");
        fs::write(
            &leaves,
            "#!/bin/sh\nsleep 600 &\necho $! > \"$0.pid\"\necho 2.1.90\n",
        )
        .expect("writable");
        fs::set_permissions(&leaves, fs::Permissions::from_mode(0o755)).expect("writable");
        assert_eq!(
            VERSIONS.of(&leaves),
            Some(AgentVersion(2, 1, 90)),
            "although a process that it left holds its output open"
        );
        let left = fs::read_to_string(scratch.path().join("leaves.pid")).expect("written");
        let kill = format!("kill {}", left.trim());
        let killed = Command::new("sh").args(["-c", &kill]).status();
        assert!(
            killed.is_ok_and(|status| status.success()),
            "and was not waited for"
        );
        let gone = scratch.path().join("gone");
        assert_eq!(VERSIONS.of(&gone), None, "and none of what is not there");
    }

    /// A program that stands for many is asked by the agent's name.
    #[test]
    fn program_for_many_is_asked_by_agents_name() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let manager = scratch.path().join("manager");
        let text = "#!/bin/sh\ncase $0 in */agent) echo 2.1.90 ;; *) echo 2026.11.5 ;; esac\n";
        fs::write(&manager, text).expect("writable");
        fs::set_permissions(&manager, fs::Permissions::from_mode(0o755)).expect("writable");
        let shim = scratch.path().join("agent");
        symlink(manager, &shim).expect("writable");
        assert_eq!(
            VERSIONS.of(&shim),
            Some(AgentVersion(2, 1, 90)),
            "not the manager's own"
        );
    }

    /// What a version does not record is said with the one that does.
    #[test]
    fn unrecorded_version_is_reported_with_the_recorded_one() {
        let messages = |version: AgentVersion| {
            let advice = VERSIONS.advice(version).into_iter();
            advice.map(|advice| advice.message).collect::<Vec<_>>()
        };
        assert_eq!(
            messages(AgentVersion(1, 1, 9)),
            ["Agent 1.1.9 records nothing: it does not call our hooks"],
            "numbers are compared, and nothing else is to be said"
        );
        assert_eq!(
            messages(AgentVersion(1, 2, 0)),
            ["Agent 1.2.0 does not tell of steps"]
        );
        assert!(messages(AgentVersion(1, 10, 0)).is_empty(), "all is well");
        let untried = AgentVersions {
            lower_were_tried: false,
            ..VERSIONS
        };
        assert_eq!(
            untried.advice(AgentVersion(1, 1, 9))[0].message,
            "Agent 1.1.9 was not tried with this hook",
            "what nobody knows is not said"
        );
    }
}
