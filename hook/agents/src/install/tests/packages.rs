//! The packages of `hook/packages` are generated from the same tables as the settings: compared here, and rewritten
//! with `UPDATE_PACKAGES=1` (`just packages`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::*;
use crate::own_command::COMMANDS;
use crate::settings::command;
use crate::settings::commands::{Form, texts};
use crate::{
    claude_code::install as claude_code, codex::install as codex,
    gemini_cli::install as gemini_cli, opencode::install as opencode,
    qwen_code::install as qwen_code,
};

/// What the packages call: what is on the PATH, since they go from machine to machine, else what came along with them.
const PROGRAM: &str = "ckpt-hook";

/// Is found behind what is on the PATH; `packaging/release` puts programs beside it.
const LAUNCHER: &str = include_str!("../../../plugins/launcher.sh");

/// The folder of the plugin, in the words of Claude Code, Qwen Code and Copilot CLI, and of Codex. Qwen Code replaces
/// just these letters in the line, the others set variables.
const PLUGIN_ROOTS: [&str; 2] = ["${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}"];

/// The folder of the extension, in Gemini CLI's words.
const EXTENSION_ROOT: &str = "${extensionPath}";

const ABOUT: &str = "Put the workspace back to how it was just before a message, and forward again";

const ABOUT_COMMANDS: &str =
    "Commands of ckpt-hook inside Claude Code: /ckpt-revert, /ckpt-redo, /ckpt-status";

/// Texts by path.
type Files = BTreeMap<String, String>;

fn packages() -> Files {
    let mut files = Files::new();
    shared_plugin(&mut files);
    gemini_extension(&mut files);
    for agent in ["opencode", "kilo"] {
        npm_package(agent, &mut files);
    }
    files
}

/// One directory that Claude Code, Codex, Qwen Code and Copilot CLI install, each with its own command; and one with
/// the commands inside, which only Claude Code runs: Copilot CLI shows them and runs nothing, Qwen Code sends them to
/// the model.
fn shared_plugin(files: &mut Files) {
    let owner = json!({"name": "ckpt-hook"});
    add(
        files,
        "plugin/.claude-plugin/marketplace.json",
        &marketplace("."),
    );
    let manifest = json!({"name": "ckpt-hook", "version": version(), "description": ABOUT, "author": owner,
                          "license": "MIT OR Apache-2.0"});
    add(
        files,
        "plugin/ckpt-hook/.claude-plugin/plugin.json",
        &manifest,
    );
    let claude = claude_code::EVENTS
        .iter()
        .map(|event| (*event, claude_code::TIMEOUT));
    add(files, "plugin/ckpt-hook/hooks/hooks.json", &hooks(claude));
    // Installed from its folder, Qwen Code reads this one, with a time that means the same in all of its versions.
    let qwen = claude_code::EVENTS
        .iter()
        .map(|event| (*event, qwen_code::TIMEOUT));
    let mut qwen = hooks(qwen);
    qwen["name"] = json!("ckpt-hook");
    qwen["version"] = json!(version());
    add(files, "plugin/ckpt-hook/qwen-extension.json", &qwen);
    // Claude Code drops a file of hooks with an event that it does not know, so Codex's own ones are in another.
    let codex = codex::EVENTS
        .iter()
        .map(|event| (*event, codex::timeout(event)));
    add(files, "plugin/ckpt-hook/hooks/codex.json", &hooks(codex));
    let codex = json!({"name": "ckpt-hook", "version": version(), "description": ABOUT, "hooks": "./hooks/codex.json"});
    add(files, "plugin/ckpt-hook/.codex-plugin/plugin.json", &codex);
    let manifest = json!({"name": "ckpt-hook-commands", "version": version(), "description": ABOUT_COMMANDS,
                          "author": owner, "license": "MIT OR Apache-2.0"});
    add(
        files,
        "plugin/ckpt-hook-commands/.claude-plugin/plugin.json",
        &manifest,
    );
    commands(Form::Shared, "plugin/ckpt-hook-commands/commands", files);
    let readme = "# ckpt-hook\n\nTells the program `ckpt-hook` what the agent does, so that it can put your workspace back to \
                  how it was just before any of your messages, and forward again. The plugin of a release brings the \
                  program along; where one is on the PATH, that one is called. If there is neither, the first message \
                  says once that nothing is recorded. Install either this plugin or the hook by `ckpt-hook install`, \
                  not both.\n\nThe plugin `ckpt-hook-commands` adds \
                  `/ckpt-revert`, `/ckpt-redo` and `/ckpt-status` to Claude Code, and to no other agent.\n";
    files.insert("plugin/ckpt-hook/README.md".to_owned(), readme.to_owned());
    launcher("plugin/ckpt-hook", files);
}

/// Returns the list of the plugins, for a file from which they are in a folder.
fn marketplace(folder: &str) -> Value {
    let plugin =
        json!({"name": "ckpt-hook", "source": format!("{folder}/ckpt-hook"), "description": ABOUT});
    let with_commands = json!({"name": "ckpt-hook-commands", "source": format!("{folder}/ckpt-hook-commands"),
                               "description": ABOUT_COMMANDS});
    json!({"name": "ckpt-hook", "description": ABOUT, "owner": {"name": "ckpt-hook"},
           "plugins": [plugin, with_commands]})
}

fn hooks(events: impl Iterator<Item = (&'static str, u32)>) -> Value {
    let hooks: Map<String, Value> = events
        .map(|(event, timeout)| (event.to_owned(), handler(&shared_line(event), timeout)))
        .collect();
    json!({"description": ABOUT, "hooks": hooks})
}

/// Copilot CLI refuses a tool if a hook before it, or one that is asked for permission, fails in any way, so none of
/// ours runs there.
fn shared_line(event: &str) -> String {
    let unless = if ["PreToolUse", "PermissionRequest"].contains(&event) {
        "test -z \"$COPILOT_CLI\" && "
    } else {
        ""
    };
    format!("{unless}{}", line("plugin", event, &PLUGIN_ROOTS))
}

fn line(agent: &str, event: &str, roots: &[&str]) -> String {
    let arguments = command::arguments(agent, event).join(" ");
    let folders: String = roots.iter().map(|root| format!(":{root}/bin")).collect();
    format!(
        "PATH=\"$PATH{folders}\" && command -v {PROGRAM} >/dev/null && {PROGRAM} {arguments} 2>/dev/null || true"
    )
}

fn launcher(folder: &str, files: &mut Files) {
    files.insert(format!("{folder}/bin/{PROGRAM}"), LAUNCHER.to_owned());
}

fn handler(line: &str, timeout: u32) -> Value {
    json!([{"hooks": [{"type": "command", "command": line, "timeout": timeout}]}])
}

fn named(mut groups: Value) -> Value {
    groups[0]["hooks"][0]["name"] = json!(gemini_cli::NAME);
    groups
}

fn gemini_extension(files: &mut Files) {
    let manifest = json!({"name": "ckpt-hook", "version": version(), "description": ABOUT});
    add(files, "gemini-extension/gemini-extension.json", &manifest);
    let hooks: Map<String, Value> = gemini_cli::EVENTS
        .iter()
        .map(|event| {
            (
                (*event).to_owned(),
                named(handler(
                    &line("gemini-cli", event, &[EXTENSION_ROOT]),
                    gemini_cli::TIMEOUT,
                )),
            )
        })
        .collect();
    add(
        files,
        "gemini-extension/hooks/hooks.json",
        &json!({"hooks": hooks}),
    );
    commands(Form::Toml, "gemini-extension/commands", files);
    launcher("gemini-extension", files);
}

fn npm_package(agent: &str, files: &mut Files) {
    let folder = format!("{agent}-plugin");
    let package = json!({"name": format!("ckpt-hook-{agent}"), "version": version(), "description": ABOUT,
                         "license": "MIT OR Apache-2.0", "type": "module", "main": "index.js", "files": ["index.js"]});
    add(files, &format!("{folder}/package.json"), &package);
    files.insert(
        format!("{folder}/index.js"),
        opencode::plugin_of_1(agent, PROGRAM),
    );
}

fn commands(form: Form, folder: &str, files: &mut Files) {
    for (name, text) in COMMANDS
        .iter()
        .flat_map(|command| texts(form, command, PROGRAM))
    {
        files.insert(format!("{folder}/{name}"), text);
    }
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn add(files: &mut Files, path: &str, value: &Value) {
    files.insert(path.to_owned(), format!("{value:#}\n"));
}

fn packages_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packages")
}

#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn update() -> bool {
    std::env::var_os("UPDATE_PACKAGES").is_some_and(|value| value == "1")
}

/// The packages are made of the same tables as the settings and of nothing else.
#[test]
fn packages_come_from_the_settings_tables_alone() {
    for (path, text) in packages() {
        let file = packages_folder().join(path);
        if update() {
            fs::create_dir_all(file.parent().expect("below the folder")).expect("writable");
            fs::write(&file, &text).expect("writable");
            if text == LAUNCHER {
                let everybody = fs::Permissions::from_mode(0o755);
                fs::set_permissions(&file, everybody).expect("it is ours");
            }
        }
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == text,
            "{} is not what the tables say: run `just packages`",
            file.display()
        );
    }
    let made: Vec<String> = packages().into_keys().collect();
    assert_eq!(
        files_below(&packages_folder()),
        made,
        "a file that no table makes would be believed, and never change"
    );
}

/// The repository is a marketplace of the same plugins.
#[test]
fn repository_is_a_marketplace_of_the_plugins() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join(".claude-plugin/marketplace.json");
    let text = format!("{:#}\n", marketplace("./hook/packages/plugin"));
    if update() {
        fs::create_dir_all(root.join(".claude-plugin")).expect("writable");
        fs::write(&file, &text).expect("writable");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == text,
        "it is not what the tables say: run `just packages`"
    );
}

/// A package is found in the agent that installed it.
#[test]
fn package_is_found_in_its_agent() {
    for (agent, file, text) in [
        (
            "claude-code",
            ".claude/settings.json",
            "{\"enabledPlugins\": {\"ckpt-hook@ckpt-hook\": true}}",
        ),
        (
            "copilot-cli",
            ".copilot/settings.json",
            "{\"enabledPlugins\": {\"ckpt-hook@ckpt-hook\": true}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[plugins.\"ckpt-hook@ckpt-hook\"]\nenabled = true\n",
        ),
        (
            "gemini-cli",
            ".gemini/extensions/ckpt-hook/gemini-extension.json",
            "{}",
        ),
        (
            "qwen-code",
            ".qwen/extensions/ckpt-hook/qwen-extension.json",
            "{}",
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"plugin\": [\"ckpt-hook-opencode\"]}",
        ),
        (
            "opencode",
            ".config/opencode/config.json",
            "{\"plugin\": [[\"ckpt-hook-opencode@0.1.0\", {}]]}",
        ),
        (
            "opencode",
            "../project/.opencode/opencode.jsonc",
            "{\"plugin\": [\"/copied/to/opencode-plugin/index.js\"],}",
        ),
        (
            "kilo",
            "../project/kilo.json",
            "{\"plugin\": [\"file:///copied/to/kilo-plugin/\"]}",
        ),
        (
            "claude-code",
            "../project/.claude/settings.local.json",
            "{\"enabledPlugins\": {\"ckpt-hook@ckpt-hook\": true}}",
        ),
        (
            "kilo",
            ".config/kilo/kilo.json",
            "{\"plugin\": [\"file:///src/hook/packages/kilo-plugin\"]}",
        ),
    ] {
        let world = World::new();
        assert_eq!(world.agent(agent).package, None, "{agent} has none yet");
        world.write(&format!("home/{file}"), text);
        assert!(world.agent(agent).package.is_some(), "{agent} has it now");
        let notes: Vec<String> = world
            .install(agent)
            .into_iter()
            .flat_map(|change| change.notes)
            .collect();
        assert!(
            notes.iter().any(|note| note.contains("as a package, too")),
            "{agent}: one is enough: {notes:?}"
        );
        world.uninstall(agent);
        if text.contains("true") {
            world.write(&format!("home/{file}"), &text.replace("true", "false"));
            assert_eq!(
                world.agent(agent).package,
                None,
                "{agent} has it switched off"
            );
        }
    }
}

/// No package that other agents install too offers a command.
#[test]
fn shared_package_offers_no_command() {
    let commands: Vec<String> = packages()
        .into_keys()
        .filter(|path| path.contains("/commands/"))
        .collect();
    let is_of_one = |path: &String| {
        path.starts_with("plugin/ckpt-hook-commands/") || path.starts_with("gemini-")
    };
    assert!(commands.iter().all(is_of_one), "{commands:?}");
    assert!(commands.len() == 6, "those that run them have them");
}

/// Runs the line of an event as an agent does, with a home and without the program on the PATH.
fn run_line(line: &str, folder: &Path, home: &Path) -> std::process::Output {
    let line = line.replace(EXTENSION_ROOT, &folder.display().to_string());
    std::process::Command::new("/bin/sh")
        .args(["-c", &line])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home)
        .env("CLAUDE_PLUGIN_ROOT", folder)
        .output()
        .expect("a shell")
}

/// Returns the lines of each package's hooks, by event.
fn lines() -> Vec<(&'static str, String, String)> {
    let mut found = Vec::new();
    for (folder, file) in [
        ("plugin/ckpt-hook", "hooks/hooks.json"),
        ("plugin/ckpt-hook", "hooks/codex.json"),
        ("gemini-extension", "hooks/hooks.json"),
    ] {
        let text = packages()[&format!("{folder}/{file}")].clone();
        let document: Value = serde_json::from_str(&text).expect("JSON");
        for (event, groups) in document["hooks"].as_object().expect("a table") {
            let line = groups[0]["hooks"][0]["command"].as_str().expect("a line");
            found.push((folder, event.clone(), line.to_owned()));
        }
    }
    found
}

/// A package without the program says so once at the first message and else nothing.
#[test]
fn package_without_the_program_reports_it_once() {
    for folder in ["plugin/ckpt-hook", "gemini-extension"] {
        let home = tempfile::tempdir().expect("a folder");
        let mut said = Vec::new();
        for (_, event, line) in lines().iter().filter(|(of, _, _)| *of == folder) {
            assert!(
                command::is_ours(line),
                "{folder}: {event} is known for ours"
            );
            for _ in 0..2 {
                let output = run_line(line, &packages_folder().join(folder), home.path());
                assert!(
                    output.status.success() && output.stderr.is_empty(),
                    "{folder}: {event} disturbs nobody: {output:?}"
                );
                if !output.stdout.is_empty() {
                    said.push((event.clone(), output.stdout));
                }
            }
        }
        let [(event, text)] = said.as_slice() else {
            panic!("{folder}: said once: {said:?}");
        };
        assert!(["UserPromptSubmit", "BeforeAgent"].contains(&event.as_str()));
        let told: Value = serde_json::from_slice(text).expect("JSON, as the agents read it");
        let message = told["systemMessage"].as_str().expect("a text for the user");
        assert!(
            message.contains("nothing is recorded") && message.contains("Install it"),
            "{message}"
        );
    }
}

/// A package calls the program that came along unless one is on the path.
#[test]
fn package_prefers_the_program_on_the_path() {
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("macos", "aarch64") => "darwin-arm64",
        ("macos", _) => "darwin-x64",
        (_, "aarch64") => "linux-arm64",
        _ => "linux-x64",
    };
    for (folder, event, line) in lines() {
        let world = tempfile::tempdir().expect("a folder");
        let program = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("below the folder")).expect("writable");
            executable::write(&path, text);
        };
        let package = world.path().join("a package");
        program(package.join("bin/ckpt-hook"), LAUNCHER);
        let along = format!("platforms/{platform}/ckpt-hook");
        program(package.join(along), "#!/bin/sh\necho along \"$@\"\n");
        let output = run_line(&line, &package, world.path());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            said.starts_with("along event --agent ") && said.contains(&event),
            "{folder}: {event}: {output:?}"
        );
        let own = world.path().join("path/ckpt-hook");
        program(own, "#!/bin/sh\necho path \"$@\"\n");
        let first = format!("PATH={}:$PATH; {line}", world.path().join("path").display());
        let output = run_line(&first, &package, world.path());
        assert!(
            output.stdout.starts_with(b"path event "),
            "{folder}: {event}: what the user installed goes first: {output:?}"
        );
    }
}

/// A package without a single program on the path does nothing and says nothing.
#[test]
fn package_with_two_programs_does_nothing() {
    for (folder, event, line) in lines() {
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &line.replace(EXTENSION_ROOT, "")])
            .env_clear()
            .env("PATH", "/nowhere")
            .output()
            .expect("a shell");
        let silent = output.stdout.is_empty() && output.stderr.is_empty();
        assert!(
            output.status.success() && silent,
            "{folder}: {event}: {output:?}"
        );
    }
}
