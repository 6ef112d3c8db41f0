//! Puts our hook into the settings of agents and takes it out again, leaving every other byte of them alone.
//!
//! Deciding is pure: a file's text becomes another text ([`hook_table`]). Touching the disk is in [`mod@file`] alone.
//! An agent is a file that names its settings files and what we want in them.

mod claude_code;
mod cline;
mod codex;
mod codex_trust;
mod command;
mod copilot_cli;
mod diff;
mod file;
mod gemini_cli;
mod hook_table;
mod opencode;
mod own_file;
mod pi;
mod qwen_code;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ckpt_schema::report::SettingsChange;
use ckpt_store::error::{Error, Result};

use codex_trust::Trust;
use hook_table::{Found, HookTable};
use own_file::OwnFile;

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
    change(agent, scope, place, dry_run, |content, text| content.insert(text).map(Some))
}

/// Takes our hook out of an agent's settings, and returns what was done, file by file.
///
/// # Errors
///
/// As for [`install`].
pub fn uninstall(agent: &str, scope: Scope, place: &Place<'_>, dry_run: bool) -> Result<Vec<SettingsChange>> {
    change(agent, scope, place, dry_run, |content, text| text.map_or(Ok(None), |text| content.remove(text)))
}

/// Returns what is installed: a row for each agent and scope.
pub fn list(place: &Place<'_>) -> Vec<Installed> {
    let scopes = [Scope::User, Scope::Project];
    TARGETS.iter().flat_map(|target| scopes.map(|scope| target.look(scope, place))).collect()
}

/// The agents into whose settings we can put our hook.
const TARGETS: &[Target] = &[
    claude_code::TARGET,
    codex::TARGET,
    gemini_cli::TARGET,
    qwen_code::TARGET,
    opencode::OPENCODE,
    opencode::KILO,
    copilot_cli::TARGET,
    cline::TARGET,
    pi::TARGET,
];

/// Returns a settings file that depends on what becomes of another one.
type Follow = fn(&Place<'_>, &Edit) -> Result<Option<SettingsFile>>;

/// Returns what the user should know of an installation, from a settings file and its text.
type Check = fn(&Place<'_>, &Path, &str) -> Result<Vec<String>>;

/// An agent's settings.
struct Target {
    /// The agent's name.
    agent: &'static str,
    /// Returns the settings files, and what we want in them.
    files: fn(Scope, &Place<'_>) -> Result<Vec<SettingsFile>>,
    /// Returns a file that depends on what becomes of the first one.
    follow: Option<Follow>,
    /// Returns what the user should know of an installation that is there, from the first file's text.
    check: Option<Check>,
    /// What the user should know once it is installed.
    notes: &'static [&'static str],
    /// What the user should know, too, once it is installed in a project.
    project_notes: &'static [&'static str],
}

/// What is true of every file of a project.
const PROJECT_NOTE: &str = "the file names the binary by the path that it has on this machine: do not share it";

/// A settings file, and what we want in it.
struct SettingsFile {
    path: PathBuf,
    /// The mode where the file is new.
    mode: u32,
    content: Content,
}

/// What we want in a settings file.
enum Content {
    /// Our handlers in a table of hooks that others use, too.
    Table(HookTable),
    /// A file of our own.
    Own(OwnFile),
    /// Codex's trust in our handlers.
    Trust(Trust),
}

/// What a settings file becomes.
struct Edit {
    file: SettingsFile,
    before: Option<String>,
    after: Option<String>,
}

/// Plans the change of all files of an agent, and carries it out where none of them was refused.
fn change(
    agent: &str,
    scope: Scope,
    place: &Place<'_>,
    dry_run: bool,
    edit: fn(&Content, Option<&str>) -> Result<Option<String>>,
) -> Result<Vec<SettingsChange>> {
    let target = TARGETS.iter().find(|target| target.agent == agent).ok_or_else(|| unknown(agent))?;
    let files = (target.files)(scope, place)?;
    if scope == Scope::Project {
        files.iter().try_for_each(|file| file::check_inside(&file.path, place.project))?;
    }
    let mut edits = files.into_iter().map(|file| Edit::plan(file, edit)).collect::<Result<Vec<_>>>()?;
    if let (Some(follow), Some(first)) = (target.follow, edits.first()) {
        let file = follow(place, first)?;
        edits.extend(file.map(|file| Edit::plan(file, edit)).transpose()?);
    }
    if !dry_run {
        edits.iter().try_for_each(|edit| edit.carry_out(place))?;
    }
    Ok(edits.iter().map(|edit| edit.report(target, place, scope, dry_run)).collect())
}

impl Edit {
    fn plan(file: SettingsFile, edit: fn(&Content, Option<&str>) -> Result<Option<String>>) -> Result<Self> {
        let before = file::read(&file.path)?;
        let after = edit(&file.content, before.as_deref()).map_err(|error| {
            let hint = "the file was left as it was; correct it and try again";
            Error::failed(format!("cannot edit `{}`", file.path.display())).because(error).hint(hint)
        })?;
        Ok(Self { file, before, after })
    }

    fn carry_out(&self, place: &Place<'_>) -> Result<()> {
        let path = &self.file.path;
        match (&self.before, &self.after) {
            (before, after) if before == after => Ok(()),
            (before, Some(after)) => file::replace(path, before.as_deref(), after, self.file.mode),
            // A symlink is not ours to remove.
            (before, None) if file::is_symlink(path) => {
                file::replace(path, before.as_deref(), self.file.content.empty(), self.file.mode)
            }
            (before, None) => file::remove(path, before.as_deref(), &[place.home, place.project]),
        }
    }

    fn report(&self, target: &Target, place: &Place<'_>, scope: Scope, dry_run: bool) -> SettingsChange {
        let action = match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (Some(_), Some(_)) => "updated",
            (Some(_), None) => "removed",
        };
        let changed = action != "unchanged";
        let after = self.after.as_deref().filter(|_| changed);
        let notes = after.map(|after| self.notes(target, place, scope, after)).unwrap_or_default();
        SettingsChange {
            agent: target.agent.to_owned(),
            file: self.file.path.display().to_string(),
            action: action.to_owned(),
            dry_run,
            diff: changed.then(|| diff::unified(&self.file.path, self.before.as_deref(), self.after.as_deref())),
            notes,
        }
    }
}

impl Edit {
    fn notes(&self, target: &Target, place: &Place<'_>, scope: Scope, after: &str) -> Vec<String> {
        if let Content::Trust(_) = self.file.content {
            return vec!["Codex trusts the hook now without a review".to_owned()];
        }
        let mut notes = target.notes_for(scope);
        notes.extend(target.check.and_then(|check| check(place, &self.file.path, after).ok()).unwrap_or_default());
        notes
    }
}

impl Target {
    fn notes_for(&self, scope: Scope) -> Vec<String> {
        let project = match scope {
            Scope::User => &[][..],
            Scope::Project => &[self.project_notes, &[PROJECT_NOTE]].concat(),
        };
        self.notes.iter().chain(project).map(|note| (*note).to_owned()).collect()
    }

    fn look(&self, scope: Scope, place: &Place<'_>) -> Installed {
        let proven_on = crate::agents::find(self.agent).map_or(&[][..], |agent| agent.proven_on());
        let mut row = Installed {
            agent: self.agent,
            scope,
            file: PathBuf::new(),
            state: State::Absent,
            proven_on,
            notes: Vec::new(),
        };
        match (self.files)(scope, place).and_then(|files| Self::look_at(&files)) {
            Ok((file, state)) => Installed { notes: self.notes_on(place, &file), file, state, ..row },
            Err(error) => {
                row.state = State::Broken;
                row.notes.push(error.to_string());
                row
            }
        }
    }

    fn notes_on(&self, place: &Place<'_>, file: &Path) -> Vec<String> {
        let text = file::read(file).ok().flatten();
        let check = |text: String| self.check.map(|check| check(place, file, &text));
        text.and_then(check).and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the first of an agent's files, and the state of all of them: one that is missing makes it outdated.
    fn look_at(files: &[SettingsFile]) -> Result<(PathBuf, State)> {
        let mut states = Vec::new();
        for file in files {
            let found = file::read(&file.path)?.map(|text| file.content.find(&text)).transpose()?;
            states.push(found.map_or(State::Absent, |found| judge(&found)));
        }
        let first = states.first().copied().unwrap_or(State::Absent);
        let worst = [State::Doubled, State::Moved].into_iter().find(|state| states.contains(state));
        let state = if states.iter().all(|state| *state == first) { first } else { worst.unwrap_or(State::Outdated) };
        Ok((files.first().map(|file| file.path.clone()).unwrap_or_default(), state))
    }
}

fn judge(found: &Found) -> State {
    if found.binaries.is_empty() {
        State::Absent
    } else if found.doubled {
        State::Doubled
    } else if found.binaries.iter().any(|binary| !file::is_executable(Path::new(binary))) {
        State::Moved
    } else if found.exact {
        State::Installed
    } else {
        State::Outdated
    }
}

impl Content {
    fn insert(&self, text: Option<&str>) -> Result<String> {
        match self {
            Self::Table(table) => table.insert(text.unwrap_or_default()),
            Self::Own(file) => file.insert(text.unwrap_or_default()),
            Self::Trust(trust) => trust.insert(text.unwrap_or_default()),
        }
    }

    fn remove(&self, text: &str) -> Result<Option<String>> {
        match self {
            Self::Table(table) => table.remove(text),
            Self::Own(file) => Ok(file.remove(text)),
            Self::Trust(trust) => trust.remove(text),
        }
    }

    fn find(&self, text: &str) -> Result<Found> {
        match self {
            Self::Table(table) => table.find(text),
            Self::Own(file) => Ok(file.find(text)),
            Self::Trust(trust) => Ok(Found { exact: trust.is_in(text), ..Found::default() }),
        }
    }

    /// Returns the text of a file that must stay although nothing is in it.
    fn empty(&self) -> &'static str {
        match self {
            Self::Table(_) => "{}\n",
            Self::Own(_) | Self::Trust(_) => "",
        }
    }
}

impl Scope {
    /// Returns the mode of a new settings file: the user's own may hold keys, the project's is for everybody.
    fn mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Project => 0o644,
        }
    }
}

impl Place<'_> {
    /// Returns the directory that an environment variable names, else the one of that name below the home directory.
    fn directory(&self, variable: &str, name: &str) -> PathBuf {
        let named = (self.environment)(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(name))
    }
}

fn unknown(agent: &str) -> Error {
    let known: Vec<_> = TARGETS.iter().map(|target| target.agent).collect();
    Error::failed(format!("`{}` is not an agent that the hook can be installed into", agent.escape_debug()))
        .hint(format!("known are: {}", known.join(", ")))
}
