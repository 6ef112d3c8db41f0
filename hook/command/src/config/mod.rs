//! Reads the settings from `config.toml`. An invalid key costs that key only, never the file, and never a hook.
//!
//! Only the user's own file is read; nothing in a workspace can change what is captured or where it is stored.

pub mod edit;
pub mod keys;

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ckpt_store::Settings;
pub use humantime::parse_duration as parse_age;
use toml::{Table, Value};

/// The key of the sections of workspaces.
const WORKSPACES: &str = "workspaces";

/// What is wrong where that is no table.
const NO_WORKSPACES: &str = "the setting `workspaces` must be a table of directories";

/// The longest settings file, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The settings, and what is wrong with their file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The settings, with defaults for what the file does not set or sets to an invalid value.
    pub settings: Settings,
    /// Invalid values, for which the defaults apply. Every hook records them as a diagnostic.
    pub problems: Vec<String>,
    /// Unknown keys. `doctor` warns of them.
    pub unknown: Vec<UnknownKey>,
    /// The settings in the file, each with the workspace's directory if it is in a section.
    pub given: Vec<(Option<PathBuf>, &'static str)>,
}

/// A key in the file that is no setting, or is none any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key.
    pub key: String,
    /// The workspace's directory if it is in a section.
    pub workspace: Option<PathBuf>,
    /// What to tell of it.
    pub text: String,
}

/// Reads a settings file; a missing one gives the defaults.
pub fn read(file: Option<&Path>, home: Option<&Path>) -> Config {
    match file.map(read_text) {
        None => Config::default(),
        Some(Ok(text)) => parse(&text, home),
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Config::default(),
        Some(Err(error)) => unreadable(error),
    }
}

/// Like [`read`], but a missing file must not be one that a link promises. Hooks do not spend system calls on that.
pub fn read_or_tell(file: Option<&Path>, home: Option<&Path>) -> Config {
    let is_promised = |file: &Path| matches!(file.try_exists(), Ok(false)) && leads_nowhere(file);
    match file.is_some_and(is_promised) {
        false => read(file, home),
        true => unreadable("it is a symlink to something that is not there"),
    }
}

/// Returns whether a file that is not there, or its folder, is a symlink: its user has settings, and they are
/// elsewhere.
fn leads_nowhere(file: &Path) -> bool {
    let mut places = file.ancestors().take(2);
    places.any(Path::is_symlink)
}

fn unreadable(why: impl std::fmt::Display) -> Config {
    Config {
        problems: vec![format!("cannot read the settings: {why}")],
        ..Config::default()
    }
}

/// A pipe in the file's place must not block a hook: it is opened without waiting, and refused.
fn read_text(file: &Path) -> io::Result<String> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut text = String::new();
    file.take(LONGEST_FILE).read_to_string(&mut text)?;
    Ok(text)
}

/// Says that a settings file is no TOML. The parser's message is enough: the rest of its error quotes the file.
fn not_understood(message: &str) -> String {
    format!("cannot understand the settings: {message}")
}

/// Parses a settings file.
pub fn parse(text: &str, home: Option<&Path>) -> Config {
    let mut config = Config::default();
    let mut table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            config.problems.push(not_understood(error.message()));
            return config;
        }
    };
    let workspaces = table.remove(WORKSPACES);
    let mut settings = Settings::default();
    config.take(&mut settings, &table, "", None);
    if let Some(workspaces) = workspaces {
        settings.workspaces = config.workspaces(&settings, &workspaces, home);
    }
    config.settings = settings;
    config
}

impl Config {
    fn take(
        &mut self,
        settings: &mut Settings,
        table: &Table,
        place: &str,
        workspace: Option<&Path>,
    ) {
        for (key, value) in table {
            let Some(known) = keys::find(key) else {
                self.unknown.push(UnknownKey {
                    key: key.clone(),
                    workspace: workspace.map(Path::to_owned),
                    text: format!("the setting `{place}{}` is unknown", key.escape_debug()),
                });
                continue;
            };
            if (known.set)(settings, value).is_none() {
                let expected = known.expected;
                self.problems
                    .push(format!("the setting `{place}{key}` must be {expected}"));
            } else {
                self.given.push((workspace.map(Path::to_owned), known.name));
            }
        }
    }

    fn workspaces(
        &mut self,
        base: &Settings,
        value: &Value,
        home: Option<&Path>,
    ) -> Vec<(PathBuf, Box<Settings>)> {
        let Value::Table(table) = value else {
            self.problems.push(NO_WORKSPACES.to_owned());
            return Vec::new();
        };
        let mut workspaces = Vec::new();
        for (name, value) in table {
            let place = format!("workspaces.{}.", name.escape_debug());
            match (directory(name, home), value) {
                (Some(path), Value::Table(table)) => {
                    let mut settings = base.clone();
                    self.take(&mut settings, table, &place, Some(&path));
                    workspaces.push((path, Box::new(settings)));
                }
                _ => self.problems.push(format!(
                    "the setting `{place}` must be an absolute path with a table"
                )),
            }
        }
        workspaces
    }
}

/// Returns the settings for a directory, and the directory of their section; like [`Settings::for_directory`].
pub fn of_directory<'s>(
    settings: &'s Settings,
    directory: &Path,
) -> (Option<&'s Path>, &'s Settings) {
    let here = settings.for_directory(directory);
    let section = settings
        .workspaces
        .iter()
        .find(|(_, section)| std::ptr::eq(&raw const **section, here));
    (section.map(|(path, _)| path.as_path()), here)
}

/// A workspace's root is canonical when it is looked up, so the section's directory must be, too.
pub fn directory(name: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match name.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(name),
    };
    path.is_absolute()
        .then(|| path.canonicalize().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ckpt_store::Unclear;
    use ckpt_store::settings::{Durability, RecordPrompts};

    use super::*;

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(
            parse("", None),
            Config::default(),
            "nothing is odd about it"
        );
        assert_eq!(
            read(Some(Path::new("/nowhere/config.toml")), None),
            Config::default(),
            "nor about none"
        );
    }

    #[test]
    fn every_documented_key_is_understood() {
        let text = r#"
            enabled = false
            include = [".env"]
            exclude = ["*.iso"]
            keep_ignored = ["*.conf"]
            max_file_size = "1 MiB"
            hook_deadline = "2 s"
            durability = "full"
            tell_agent = false
            record_prompts = "title"
            keep = "30 days"
            max_store_size = "5 GiB"
            unclear = "take"
        "#;
        let config = parse(text, None);
        assert_eq!(
            (&config.problems, &config.unknown),
            (&vec![], &vec![]),
            "all of it is in docs/settings.md"
        );
        let expected = Settings {
            enabled: false,
            include: vec![".env".to_owned()],
            exclude: vec!["*.iso".to_owned()],
            keep_ignored: vec!["*.conf".to_owned()],
            max_file_size: 1 << 20,
            hook_deadline: Duration::from_secs(2),
            durability: Durability::Full,
            tell_agent: false,
            record_prompts: RecordPrompts::Title,
            keep: Duration::from_secs(30 * 24 * 3600),
            max_store_size: 5 << 30,
            unclear: Unclear::Take,
            ..Settings::default()
        };
        assert_eq!(config.settings, expected, "each key has its place");
    }

    /// A key in a wrong shape costs that key and an unknown one is a warning.
    #[test]
    fn wrong_value_costs_only_its_key() {
        let config = parse(
            "max_file_size = \"much\"\ntell_agent = false\ncolour = 1\n",
            None,
        );
        assert_eq!(
            config.settings,
            Settings {
                tell_agent: false,
                ..Settings::default()
            },
            "the good key holds"
        );
        assert_eq!(
            config.problems.len(),
            1,
            "the size is a problem: {:?}",
            config.problems
        );
        let unknown: Vec<&str> = config.unknown.iter().map(|one| &one.text[..]).collect();
        assert_eq!(unknown, ["the setting `colour` is unknown"], "for doctor");
    }

    /// A broken file gives the defaults and is not quoted.
    #[test]
    fn broken_settings_file_gives_the_defaults() {
        let config = parse("prompt = secret words", None);
        assert_eq!(config.settings, Settings::default(), "a hook works on");
        assert_eq!(config.problems.len(), 1, "and says so");
        assert!(
            !config.problems[0].contains("secret"),
            "without the file's content: {:?}",
            config.problems
        );
    }

    /// A directory starts from the other settings wherever they stand.
    #[test]
    fn directory_starts_from_the_other_settings() {
        let text = "[workspaces.\"~/big\"]\ndurability = \"full\"\nallow = true\n[workspaces.relative]\ntell_agent = true\n";
        let config = parse(
            &format!("tell_agent = false\n{text}"),
            Some(Path::new("/home/u")),
        );
        let here = config.settings.for_directory(Path::new("/home/u/big/sub"));
        assert_eq!(
            (here.durability, here.allow, here.tell_agent),
            (Durability::Full, true, false),
            "its own keys over the common ones"
        );
        assert!(
            !config.settings.for_directory(Path::new("/home/u")).allow,
            "elsewhere nothing changes"
        );
        assert_eq!(
            config.problems.len(),
            1,
            "a relative path says nothing: {:?}",
            config.problems
        );
    }
}
