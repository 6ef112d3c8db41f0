//! The facts about one agent: where its settings are, and what we want in them. Nothing here is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ckpt_store::error::Result;
use serde_json::Value;

use super::advice::Advice;
use super::content::SettingsFile;
use super::edit::Edit;
use super::jsonc::JsonDialect;
use super::place::{SettingsPlace, SettingsScope};
use super::policy::Policy;
use super::version::{AgentVersion, AgentVersions};
use super::{file, hook_table};

/// Returns a settings file that depends on the change of another one.
pub type Follow = fn(&SettingsPlace<'_>, &Edit) -> Result<Option<SettingsFile>>;

/// The reason that an installed hook may still not be called, from its settings file and that file's text.
pub type HookCheck = fn(SettingsScope, &SettingsPlace<'_>, &Path, &str) -> Result<Vec<Advice>>;

/// What older versions of an agent do with our package.
pub struct PackageGap {
    /// The first version in which it works.
    pub since: AgentVersion,
    /// What older ones do.
    pub what: &'static str,
    /// Whether they do so with what is in the file that says that it is installed.
    pub holds: fn(&Value) -> bool,
}

/// An agent's settings.
pub struct AgentTarget {
    /// The agent's name.
    pub agent: &'static str,
    /// The programs by which the agent is found on this machine.
    pub programs: &'static [&'static str],
    /// What is known of its versions.
    pub versions: &'static AgentVersions,
    /// Returns the directory that the agent keeps for its user.
    pub home: fn(&SettingsPlace<'_>) -> PathBuf,
    /// Returns the file that says that our package is installed in the agent, by the agent's own command.
    pub package: fn(&SettingsPlace<'_>) -> Option<PathBuf>,
    /// Where our package does not work.
    pub package_lacks: Option<PackageGap>,
    /// Returns the settings files, and what we want in them; none where a project has no settings.
    pub files: fn(SettingsScope, &SettingsPlace<'_>) -> Result<Vec<SettingsFile>>,
    /// Returns a file that depends on the change of the first one.
    pub follow: Option<Follow>,
    /// What it accepts in its settings; `None` if the file is ours alone.
    pub dialect: Option<JsonDialect>,
    /// The reason that an existing installation may not work.
    pub check: Option<HookCheck>,
    /// The policy of administrators about its hooks.
    pub policy: fn(&SettingsPlace<'_>) -> Policy,
    /// Whether a session that is started below the top of a project reads the project's settings.
    pub reads_above: bool,
    /// What the user should know once it is installed.
    pub notes: &'static [&'static str],
    /// What the user should also know once it is installed in a project.
    pub project_notes: &'static [&'static str],
}

/// An agent without peculiarities, of which nothing is installed.
pub const PLAIN: AgentTarget = AgentTarget {
    agent: "",
    programs: &[],
    versions: &AgentVersions::since("", "", AgentVersion(0, 0, 0)),
    home: |place| place.home.to_owned(),
    package: |_| None,
    package_lacks: None,
    files: |_, _| Ok(Vec::new()),
    follow: None,
    dialect: None,
    check: None,
    policy: |_| Policy::default(),
    reads_above: true,
    notes: &[],
    project_notes: &[],
};

/// What applies to every file of a project.
const PROJECT_NOTE: &str =
    "the file names the binary by the path that it has on this machine: do not share it";

/// Whether an agent is on this machine, and how we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPresence {
    /// Whether its program or its directory was found.
    pub found: bool,
    /// What was found, or what was looked for.
    pub reason: String,
}

impl AgentTarget {
    /// Advice for the user once it is installed.
    pub fn notes_for(&self, scope: SettingsScope) -> Vec<String> {
        let project = match scope {
            SettingsScope::User => &[][..],
            SettingsScope::Project => &[self.project_notes, &[PROJECT_NOTE]].concat(),
        };
        self.notes
            .iter()
            .chain(project)
            .map(|note| (*note).to_owned())
            .collect()
    }

    /// The reason that an installation may not work, from the text of its first file.
    pub fn advice(
        &self,
        scope: SettingsScope,
        place: &SettingsPlace<'_>,
        file: &Path,
        text: &str,
    ) -> Vec<Advice> {
        let checked = self
            .check
            .and_then(|check| check(scope, place, file, text).ok());
        let mut advice = checked.unwrap_or_default();
        advice.extend(self.advice_on_dialect(file, text));
        advice.extend((self.policy)(place).against);
        advice.extend(self.advice_on_start(scope, place));
        advice
    }

    /// An agent that reads a project's settings only where it is started finds none of them in a folder below.
    fn advice_on_start(&self, scope: SettingsScope, place: &SettingsPlace<'_>) -> Option<Advice> {
        let is_below = !file::is_same(place.start, place.project);
        let agent = self.versions.agent;
        (scope == SettingsScope::Project && is_below && !self.reads_above).then(|| {
            Advice::stop(
                format!(
                    "{agent} reads a project's settings only in the folder in which it is started, and not from `{}`",
                    place.start.display()
                ),
                format!(
                    "start {agent} in `{}`, or run `ckpt-hook install {}`",
                    place.project.display(),
                    self.agent
                ),
            )
        })
    }

    /// The obstacles to calls of our package in the agent; none if it is not there.
    pub fn advice_on_our_package(&self, place: &SettingsPlace<'_>) -> Vec<Advice> {
        if (self.package)(place).is_none() {
            return Vec::new();
        }
        let file = (self.home)(place).join("settings.json");
        let checked = self
            .check
            .and_then(|check| check(SettingsScope::User, place, &file, "").ok());
        let mut advice = checked.unwrap_or_default();
        let version = self.version(place);
        advice.extend(version.and_then(|version| self.advice_on_package(version, place)));
        advice.extend(
            version
                .into_iter()
                .flat_map(|version| self.versions.advice(version)),
        );
        advice.extend((self.policy)(place).against_packages);
        advice.retain(|advice| advice.stops);
        advice
    }

    /// Returns whether the version that the agent's name runs calls no hooks at all.
    pub fn is_too_old(&self, place: &SettingsPlace<'_>) -> bool {
        let advice = self
            .version(place)
            .map(|version| self.versions.advice(version));
        advice.iter().flatten().any(|advice| advice.stops)
    }

    /// An agent that cannot read its settings ignores all of them, including our hook, or does not start.
    fn advice_on_dialect(&self, file: &Path, text: &str) -> Option<Advice> {
        let refused = self.dialect?.refuses(text)?;
        Some(Advice::stop(
            format!("{} does not read a file like this", self.versions.agent),
            format!("remove {refused} from `{}`", file.display()),
        ))
    }

    /// Advice for a user of the versions on this machine.
    pub fn advice_on_version(&self, place: &SettingsPlace<'_>) -> Vec<Advice> {
        let advice = self.all_versions(place).into_iter().flat_map(|version| {
            let of_package = self.advice_on_package(version, place);
            self.versions.advice(version).into_iter().chain(of_package)
        });
        advice.collect()
    }

    fn advice_on_package(
        &self,
        version: AgentVersion,
        place: &SettingsPlace<'_>,
    ) -> Option<Advice> {
        let gap = self.package_lacks.as_ref();
        let PackageGap { since, what, holds } = gap.filter(|gap| version < gap.since)?;
        let manifest = file::read(&(self.package)(place)?).ok().flatten();
        let manifest = manifest.and_then(|text| serde_json::from_str(&text).ok());
        if !holds(&manifest.unwrap_or_default()) {
            return None;
        }
        let agent = self.versions.agent;
        Some(Advice::stop(
            format!("{agent} {version} {what}"),
            format!(
                "take the package out, and run `ckpt-hook install {}` or install the package from its folder, or use {agent} {since}",
                self.agent
            ),
        ))
    }

    /// Returns the agent's programs on the `PATH`: the first one is what its name runs.
    pub fn programs_on(&self, place: &SettingsPlace<'_>) -> Vec<PathBuf> {
        let path = (place.environment)("PATH").unwrap_or_default();
        let mut programs: Vec<PathBuf> = Vec::new();
        // A relative folder is one of wherever a person stands, and a question for the version starts what is in it.
        for program in std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| self.programs.iter().map(move |name| folder.join(name)))
            .filter(|program| file::is_executable(program))
        {
            if !programs.iter().any(|one| file::is_same(one, &program)) {
                programs.push(program);
            }
        }
        programs
    }

    /// Returns the version of the agent on this machine, if known.
    pub fn version(&self, place: &SettingsPlace<'_>) -> Option<AgentVersion> {
        self.versions.of(self.programs_on(place).first()?)
    }

    /// Returns the lowest version of those on this machine, if that of the first one is known: an editor or another
    /// shell may run another one than the first, with the same settings.
    pub fn lowest_version(&self, place: &SettingsPlace<'_>) -> Option<AgentVersion> {
        self.version(place)?;
        self.all_versions(place).first().copied()
    }

    fn all_versions(&self, place: &SettingsPlace<'_>) -> BTreeSet<AgentVersion> {
        let programs = self.programs_on(place).into_iter();
        programs
            .filter_map(|program| self.versions.of(&program))
            .collect()
    }

    /// Looks for the agent: its program, else the directory that it keeps for its user.
    pub fn presence(&self, place: &SettingsPlace<'_>) -> AgentPresence {
        if let Some(program) = self.programs_on(place).first() {
            return AgentPresence {
                found: true,
                reason: format!("`{}`", program.display()),
            };
        }
        let home = (self.home)(place);
        let programs = self
            .programs
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(" or ");
        if home.is_dir() {
            return AgentPresence {
                found: true,
                reason: format!("`{}`", home.display()),
            };
        }
        AgentPresence {
            found: false,
            reason: format!("no program {programs}, no directory `{}`", home.display()),
        }
    }
}

/// Returns the manifest of our extension below an agent's folder in the home directory, if it is installed.
pub fn extension(place: &SettingsPlace<'_>, folder: &str, manifest: &str) -> Option<PathBuf> {
    let extensions = place.home.join(folder).join("extensions");
    let manifest = extensions.join("ckpt-hook").join(manifest);
    manifest.exists().then_some(manifest)
}

/// Returns a settings file if it names our package: a key of an object, or an element of a list.
pub fn names_package(file: PathBuf, names: impl Fn(&Value) -> bool) -> Option<PathBuf> {
    let text = file::read(&file).ok().flatten()?;
    names(&hook_table::settings(&text).ok()?).then_some(file)
}

/// Returns whether an object of plugins holds ours, and does not switch it off.
pub fn enables_package(plugins: Option<&Value>) -> bool {
    let mut plugins = plugins.and_then(Value::as_object).into_iter().flatten();
    plugins.any(|(name, enabled)| is_package(name) && *enabled != Value::Bool(false))
}

/// Returns whether a name is our package's in any marketplace.
pub fn is_package(name: &str) -> bool {
    name.split('@').next() == Some("ckpt-hook")
}
