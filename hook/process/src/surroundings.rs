//! The outside world, read once: environment, current directory, clock. No other module reads them.
//!
//! Git's variables (`GIT_*`) are not read, except `$GIT_EDITOR`: a hook may run inside a git hook.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place where the environment and the clock are read"
)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ckpt_store::error::{Context, Error, Result};
use ckpt_store::model::conversation::Conversations;
use ckpt_store::model::instruction::Instruction;
use ckpt_store::{FileTime, Milliseconds, Settings};

/// The environment of the process.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The current directory, if it exists.
    pub current_directory: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if it is absolute.
    pub config_home: Option<PathBuf>,
    /// `$XDG_DATA_HOME`, if it is absolute.
    pub data_home: Option<PathBuf>,
    /// `$CKPT_HOOK_HOME`: the store's directory.
    pub store: Option<PathBuf>,
    /// `$CKPT_HOOK_CONFIG`: the settings file.
    pub config: Option<PathBuf>,
    /// `$CKPT_HOOK_LOG`: a level.
    pub log_level: Option<OsString>,
    /// Whether `$NO_COLOR` is set and not empty (no-color.org), or the terminal is dumb.
    pub no_color: bool,
}

impl Environment {
    /// Reads the environment.
    pub fn read() -> Self {
        Self {
            current_directory: std::env::current_dir().ok(),
            home: std::env::home_dir().filter(|path| path.is_absolute()),
            config_home: absolute("XDG_CONFIG_HOME"),
            data_home: absolute("XDG_DATA_HOME"),
            store: variable("CKPT_HOOK_HOME").map(PathBuf::from),
            config: variable("CKPT_HOOK_CONFIG").map(PathBuf::from),
            log_level: variable("CKPT_HOOK_LOG"),
            no_color: variable("NO_COLOR").is_some() || is_dumb_terminal(),
        }
    }

    /// Returns the environment of a server that an agent starts: the agent says which project it is for, and may start it
    /// elsewhere.
    pub fn in_project(self) -> Self {
        let project = absolute("CLAUDE_PROJECT_DIR").filter(|project| project.is_dir());
        Self {
            current_directory: project.or(self.current_directory),
            ..self
        }
    }

    /// Returns the store's directory: the one that is given, else `$CKPT_HOOK_HOME`, else the user's data folder.
    pub fn store_directory(&self, given: Option<&Path>) -> Result<PathBuf> {
        if let Some(path) = given.or(self.store.as_deref()) {
            return self.absolute(path);
        }
        let data = self
            .data_home
            .clone()
            .or_else(|| Some(self.home.as_ref()?.join(DATA_FOLDER)));
        data.map(|data| data.join("ckpt-hook")).ok_or_else(|| {
            Error::failed("cannot find a place for the store: the home directory is unknown")
                .hint("set $HOME, or set --store or $CKPT_HOOK_HOME to a directory")
        })
    }

    /// Returns the path of the settings file, which need not exist.
    pub fn config_file(&self) -> Option<PathBuf> {
        if let Some(path) = &self.config {
            return self.absolute(path).ok();
        }
        let config = self
            .config_home
            .clone()
            .or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(config.join("ckpt-hook/config.toml"))
    }

    /// Returns the directory that a command works in: the one that is given, else the current one.
    pub fn directory(&self, given: Option<&Path>) -> Result<PathBuf> {
        match given {
            Some(path) => self.absolute(path),
            None => self.current_directory.clone().ok_or_else(|| {
                Error::failed("the current directory no longer exists")
                    .hint(Instruction::OtherDirectory.to_string())
            }),
        }
    }

    /// Returns a path relative to the current directory as an absolute one.
    pub fn absolute(&self, path: &Path) -> Result<PathBuf> {
        match &self.current_directory {
            _ if path.is_absolute() => Ok(path.to_owned()),
            Some(directory) => Ok(directory.join(path)),
            None => Err(Error::failed(format!(
                "`{}` is not absolute, and there is no current directory",
                path.display()
            ))),
        }
    }

    /// Returns the library's environment.
    pub fn for_store(
        &self,
        directory: PathBuf,
        settings: Settings,
        conversations: &'static dyn Conversations,
    ) -> ckpt_store::Surroundings {
        ckpt_store::Surroundings {
            directory,
            settings,
            home: self.home.clone(),
            config_home: self.config_home.clone(),
            clock: now,
            file_clock,
            file_times: ckpt_store::same_time,
            agent_process: ckpt_store::agent_process,
            conversations,
        }
    }
}

/// The folder for programs' data in the home directory.
pub const DATA_FOLDER: &str = if cfg!(target_os = "macos") {
    "Library/Application Support"
} else {
    ".local/share"
};

/// Returns whether `$CKPT_HOOK_DISABLE` turns the hooks off: the only variable that an idle hook reads.
pub fn is_disabled() -> bool {
    variable("CKPT_HOOK_DISABLE").is_some_and(|value| value != "0" && value != "false")
}

/// Returns the names in a folder that are text; none if it cannot be read.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

/// Returns the file of the program that a process runs, or of the script, if an engine runs one; `None` where the system
/// does not tell.
pub fn program_of(process: u32) -> Option<PathBuf> {
    let program = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let engines = ["node", "bun", "deno"].map(Path::new);
    if !engines.iter().any(|engine| program.ends_with(engine)) {
        return Some(program);
    }
    let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).skip(1);
    let script = words
        .map(OsStr::from_bytes)
        .find(|word| !word.as_bytes().starts_with(b"-"))?;
    Path::new(script).canonicalize().ok()
}

/// Returns the words with which a process was started, where the system tells.
pub fn arguments_of(process: u32) -> Vec<OsString> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0);
    words
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect()
}

/// Returns the path of this program.
pub fn program() -> Result<PathBuf> {
    std::env::current_exe().context(|| "cannot find the path of this program")
}

/// Returns the directory that holds the machine's own files; `$CKPT_HOOK_TEST_MACHINE` of a debug build says so, because
/// a test does not write into `/etc`.
pub fn machine() -> PathBuf {
    let given = match cfg!(debug_assertions) {
        true => variable("CKPT_HOOK_TEST_MACHINE"),
        false => None,
    };
    given.map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// Returns an environment variable if it is set and not empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the absolute folders of `$PATH`, or those of the system if there are none; `None` if it is not set.
pub fn search_path() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let path = std::env::join_paths(folders).unwrap_or_default();
    Some(
        Some(path)
            .filter(|path| !path.is_empty())
            .unwrap_or("/usr/bin:/bin".into()),
    )
}

/// Returns the names of git's variables that are set, except those that name the files of the user and of the system.
pub fn git_variables() -> Vec<OsString> {
    const OF_USER: [&str; 3] = [
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
    ];
    let names = std::env::vars_os().map(|(name, _)| name);
    let is_gits = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
    names
        .filter(|name| is_gits(name) && !OF_USER.iter().any(|kept| name == kept))
        .collect()
}

/// Returns the pager that a variable names; an empty one means no pager.
pub fn pager(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Variables that agents set for commands that they run.
const OF_AGENTS: [&str; 8] = [
    "CLAUDECODE",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "CURSOR_AGENT",
    "COPILOT_CLI",
    "AI_AGENT",
];

/// Returns whether an agent or a program reads the terminal: then a pager has no use.
pub fn is_read_by_no_person() -> bool {
    OF_AGENTS.iter().any(|name| variable(name).is_some()) || is_dumb_terminal()
}

/// Returns whether the terminal only supports plain lines of text.
fn is_dumb_terminal() -> bool {
    variable("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// Returns the time in milliseconds since the Unix epoch; `$CKPT_HOOK_TEST_CLOCK` of a debug build says it, so that a
/// test can compare what is said about times.
pub fn now() -> Milliseconds {
    let given = match cfg!(debug_assertions) {
        true => variable("CKPT_HOOK_TEST_CLOCK"),
        false => None,
    };
    if let Some(given) = given.and_then(|given| given.to_str()?.parse().ok()) {
        return given;
    }
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the moment by the clock of file times; `$CKPT_HOOK_TEST_FILE_CLOCK` of a debug build says how many seconds
/// it is ahead, so that a test need not wait until files are old.
fn file_clock() -> FileTime {
    let now = ckpt_store::file_clock();
    if !cfg!(debug_assertions) {
        return now;
    }
    let ahead = variable("CKPT_HOOK_TEST_FILE_CLOCK")
        .and_then(|seconds| seconds.to_str()?.parse::<FileTime>().ok());
    now + ahead.unwrap_or_default() * 1_000_000_000
}

/// The shortest part of an id that is shown; `$CKPT_HOOK_TEST_ID_LENGTH` of a debug build says so, because random
/// ids that begin alike would change a text that a test compares.
pub fn least_of_an_id() -> usize {
    let asked = match cfg!(debug_assertions) {
        true => variable("CKPT_HOOK_TEST_ID_LENGTH"),
        false => None,
    };
    asked
        .and_then(|length| length.to_str()?.parse().ok())
        .unwrap_or(ckpt_store::MIN_ID_LENGTH)
}

/// The XDG base directory specification: "If an implementation encounters a relative path … ignore it".
fn absolute(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Environment {
        Environment {
            current_directory: Some("/somewhere".into()),
            home: Some("/home/u".into()),
            config_home: None,
            data_home: None,
            store: None,
            config: None,
            log_level: None,
            no_color: false,
        }
    }

    /// The store is where it is asked for else in the data folder.
    #[test]
    fn store_is_as_asked_or_in_data_folder() {
        let mut surroundings = nothing();
        let home = Path::new("/home/u").join(DATA_FOLDER).join("ckpt-hook");
        assert_eq!(
            surroundings.store_directory(None).expect("a home"),
            home,
            "the default"
        );
        surroundings.data_home = Some("/data".into());
        assert_eq!(
            surroundings.store_directory(None).expect("a home"),
            Path::new("/data/ckpt-hook"),
            "the XDG folder"
        );
        surroundings.store = Some("/mine".into());
        assert_eq!(
            surroundings.store_directory(None).expect("given"),
            Path::new("/mine"),
            "the variable"
        );
        let given = surroundings
            .store_directory(Some(Path::new("here")))
            .expect("given");
        assert_eq!(
            given,
            Path::new("/somewhere/here"),
            "the option comes first, and may be relative"
        );
    }

    /// Without a home there is a reason instead of a store somewhere.
    #[test]
    fn without_a_home_there_is_a_reason() {
        let surroundings = Environment {
            home: None,
            ..nothing()
        };
        let error = surroundings
            .store_directory(None)
            .expect_err("nowhere to put it");
        assert!(
            error
                .hint_text()
                .is_some_and(|hint| hint.contains("--store")),
            "it says what to do"
        );
        assert_eq!(
            surroundings.config_file(),
            None,
            "and there are no settings"
        );
    }
}
