//! The further directories in which an agent works, as its settings and its command line name them.
//!
//! What a payload names is in its events. What a user adds in the middle of a session shows where a tool names a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::settings::advice;
use crate::settings::file;
use crate::settings::place::SettingsPlace;

/// Where an agent keeps further directories.
struct RootSource {
    agent: &'static str,
    /// The variable that moves the user's settings, and the directory in which they are, in the home and in a project.
    settings: (&'static str, &'static str),
    files: &'static [&'static str],
    /// Where the list is in a file.
    keys: &'static [&'static str],
    /// The option, and whether all words after it are directories, up to the next option.
    option: (&'static str, bool),
}

const GEMINI: RootSource = RootSource {
    agent: "gemini-cli",
    settings: ("", ".gemini"),
    files: &["settings.json"],
    keys: &["/context/includeDirectories", "/includeDirectories"],
    option: ("--include-directories", false),
};

const SOURCES: [RootSource; 5] = [
    RootSource {
        agent: "claude-code",
        settings: ("CLAUDE_CONFIG_DIR", ".claude"),
        files: &["settings.json", "settings.local.json"],
        keys: &["/permissions/additionalDirectories"],
        option: ("--add-dir", true),
    },
    RootSource {
        agent: "codex",
        settings: ("CODEX_HOME", ".codex"),
        files: &["config.toml"],
        keys: &["/sandbox_workspace_write/writable_roots"],
        option: ("--add-dir", false),
    },
    GEMINI,
    RootSource {
        agent: "qwen-code",
        settings: ("", ".qwen"),
        ..GEMINI
    },
    RootSource {
        agent: "copilot-cli",
        settings: ("COPILOT_HOME", ".copilot"),
        files: &[],
        keys: &[],
        option: ("--add-dir", false),
    },
];

/// Returns the directories that an agent's settings and command line add to a session, absolute. `arguments` are the words
/// with which the agent was started.
pub fn declared(
    agent: &str,
    place: &SettingsPlace<'_>,
    arguments: &dyn Fn() -> Vec<OsString>,
) -> Vec<PathBuf> {
    let Some(source) = SOURCES.iter().find(|source| source.agent == agent) else {
        return Vec::new();
    };
    let (variable, directory) = source.settings;
    let folders = [
        place.directory(variable, directory),
        place.start.join(directory),
    ];
    let files = folders
        .iter()
        .flat_map(|folder| source.files.iter().map(|name| folder.join(name)));
    let mut named: Vec<String> = files.flat_map(|file| in_file(source, &file)).collect();
    named.extend(in_words(source, &arguments()));
    let absolute = |name: String| match name.strip_prefix("~/") {
        Some(rest) => place.home.join(rest),
        None => place.start.join(name),
    };
    named.into_iter().map(absolute).collect()
}

/// A file that is not there, or that the agent could not read either, names nothing.
fn in_file(source: &RootSource, path: &Path) -> Vec<String> {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let document: Value = match is_toml {
        true => {
            let text = file::read(path).ok().flatten().unwrap_or_default();
            toml::from_str(&text).unwrap_or_default()
        }
        false => advice::settings(path).unwrap_or_default(),
    };
    let lists = source.keys.iter().filter_map(|key| document.pointer(key));
    let names = lists.filter_map(Value::as_array).flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The directories of a command line: `--option DIRECTORY`, `--option=DIRECTORY`, several with commas.
fn in_words(source: &RootSource, words: &[OsString]) -> Vec<String> {
    let (option, takes_all) = source.option;
    let mut named = Vec::new();
    let mut is_open = false;
    for word in words.iter().filter_map(|word| word.to_str()) {
        if let Some(value) = word.strip_prefix(option) {
            is_open = value.is_empty();
            named.extend(value.strip_prefix('=').map(str::to_owned));
        } else if word.starts_with('-') {
            is_open = false;
        } else if is_open {
            named.push(word.to_owned());
            is_open = takes_all;
        }
    }
    let divided = named.iter().flat_map(|names| names.split(','));
    divided
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn declared_in(agent: &str, home: &Path, words: &str) -> Vec<String> {
        let place = SettingsPlace {
            home,
            project: &home.join("code"),
            start: &home.join("code"),
            machine: home,
            binary: home,
            trust: false,
            memory: home,
            environment: &|_| None,
        };
        let words = || words.split(' ').map(OsString::from).collect();
        let found = declared(agent, &place, &words).into_iter();
        let relative = |path: PathBuf| path.strip_prefix(home).unwrap_or(&path).to_owned();
        found
            .map(|path| relative(path).display().to_string())
            .collect()
    }

    /// Directories of settings and of the command line are found for each agent.
    #[test]
    fn settings_and_command_lines_name_directories() {
        let home = tempfile::tempdir().expect("a scratch directory");
        let home = home.path().canonicalize().expect("it is there");
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
            fs::write(path, text).expect("writable");
        };
        let list = r#"{"permissions": {"additionalDirectories": ["~/docs", "../lib"]}}"#;
        write("code/.claude/settings.local.json", list);
        write(
            ".codex/config.toml",
            "[sandbox_workspace_write]\nwritable_roots = [\"/w\"]\n",
        );
        write(
            ".gemini/settings.json",
            r#"{"context": {"includeDirectories": ["/g"]}}"#,
        );
        write(".qwen/settings.json", "not JSON");
        for (agent, words, expected) in [
            (
                "claude-code",
                "claude --add-dir ../a ../b -p hi",
                &["docs", "code/../lib", "code/../a", "code/../b"][..],
            ),
            ("codex", "codex --add-dir /c exec", &["/w", "/c"]),
            (
                "gemini-cli",
                "node gemini --include-directories=/a,/b x",
                &["/g", "/a", "/b"],
            ),
            (
                "qwen-code",
                "qwen --include-directories /a,/b",
                &["/a", "/b"],
            ),
            (
                "copilot-cli",
                "copilot --add-dir /a --add-dir /b",
                &["/a", "/b"],
            ),
            ("generic", "sh --add-dir /a", &[]),
        ] {
            assert_eq!(declared_in(agent, &home, words), expected, "{agent}");
        }
    }
}
