//! opencode, and Kilo, which grew out of it: the same settings in folders of their own.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{Agent, CLEAR, ESC, Message, Rewind, Screen, all, our_package};
use testing::machine::Machine;

/// opencode.
pub const OPENCODE: Agent = Agent {
    name: "opencode",
    install: &[],
    settle: |world, url| settle(world, url, "opencode"),
    say: |command, message| say(command, message, "OPENCODE"),
    tells_prompts: true,
    goes_on: true,
    tells_edits_before: true,
    tells_background: false,
    is_told: true,
    revert: Some("/ckpt-revert"),
    knows_session: true,
    package: Some(|world| add_package(world, "opencode")),
    serve: None,
    counts: all,
    screen: Some(screen(|command, _| environment(command, "OPENCODE"))),
};

/// Kilo.
pub const KILO: Agent = Agent {
    name: "kilo",
    settle: |world, url| settle(world, url, "kilo"),
    say: |command, message| say(command, message, "KILO"),
    package: Some(|world| add_package(world, "kilo")),
    screen: Some(screen(|command, _| environment(command, "KILO"))),
    ..OPENCODE
};

fn settle(world: &Machine, url: &str, name: &str) {
    let options = json!({"baseURL": format!("{url}/v1"), "apiKey": "dummy"});
    let limits = json!({"context": 200_000, "output": 8_000});
    let models = json!({"scripted": {"name": "scripted", "tool_call": true, "attachment": true, "limit": limits,
        "modalities": {"input": ["text", "image"], "output": ["text"]}}});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": models});
    let settings = json!({
        "autoupdate": false,
        "share": "disabled",
        // On a busy machine Kilo asks whether to go on with snapshots of its own, and waits for the answer. The story that
        // needs them answers.
        "snapshot": name != "kilo",
        "model": "fake/scripted",
        "small_model": "fake/scripted",
        "permission": {"edit": "allow", "bash": "allow", "task": "allow", "external_directory": "allow"},
        "provider": {"fake": provider},
    });
    world.write_home(&file_of(name), &format!("{settings:#}\n"));
}

/// Their undo puts back files from their snapshots.
fn settle_rewind(world: &Machine) {
    change(world, name_in(world), "snapshot", true.into());
}

/// Returns which of the two has its settings in a world.
fn name_in(world: &Machine) -> &'static str {
    let is_there = |name: &&str| world.home().join(file_of(name)).exists();
    let mut names = ["kilo", "opencode"].into_iter();
    names.find(is_there).expect("they were written")
}

fn add_package(world: &Machine, name: &str) {
    // Where npm puts what a package depends on.
    let program = "node_modules/ckpt-hook-PLATFORM/bin/ckpt-hook";
    let folder = our_package(world, &format!("{name}-plugin"), program);
    change(world, name, "plugin", json!([format!("file://{folder}")]));
}

/// Sets one of the settings that were written.
fn change(world: &Machine, name: &str, key: &str, value: Value) {
    let file = file_of(name);
    let text = fs::read_to_string(world.home().join(&file)).expect("it was written");
    let mut settings: Value = serde_json::from_str(&text).expect("it is JSON");
    settings[key] = value;
    world.write_home(&file, &settings.to_string());
}

fn file_of(name: &str) -> String {
    format!(".config/{name}/{name}.json")
}

fn say(command: &mut Command, message: &Message<'_>, prefix: &str) {
    command.arg("run").args(message.goes_on(&["--continue"]));
    let (picture, prompt) = message.picture();
    command.args(picture.map(|picture| format!("--file={picture}")));
    match prompt.strip_prefix('/') {
        Some(name) => command.args(["--command", name]),
        // An argument with a space in it is sent with quotes around it.
        None => command.arg("--").args(prompt.split(' ')),
    };
    environment(command, prefix);
}

/// Its undo of a message without snapshots puts back no file.
const ALONE: Rewind = Rewind {
    may_ask: "",
    settle: |world| change(world, name_in(world), "snapshot", false.into()),
    steps: UNDO,
    is_done: |_| true,
    mixes: &[],
    alone: None,
};

/// The keys of its undo.
const UNDO: &[(&str, &[&str])] = &[
    ("ctrl+p commands", &["/undo"]),
    ("Undo previous message", &["\r"]),
    ("1 message reverted", &[CLEAR]),
];

/// One Esc asks, the second one interrupts.
const fn screen(start: fn(&mut Command, &str)) -> Screen {
    Screen {
        settle: |_| (),
        start,
        questions: &[],
        ready: "Ask anything",
        taken: "QUEUED",
        at_once: "",
        sends_at_once: |_| true,
        interrupt: &[ESC, ESC],
        asks: "again to interrupt",
        interrupted: |screen| {
            screen.contains("interrupted") || screen.contains("The operation was aborted")
        },
        anew: "/new",
        compact: ("/compact", "Compaction · scripted"),
        asks_anew: &[],
        resume: &["--continue"],
        resumed: "ctrl+p commands",
        rewind: Rewind {
            may_ask: "Continue with snapshots",
            settle: settle_rewind,
            steps: UNDO,
            is_done: |workspace| !workspace.join("again.txt").exists(),
            mixes: &[],
            alone: Some(&ALONE),
        },
    }
}

fn environment(command: &mut Command, prefix: &str) {
    for name in [
        "AUTOUPDATE",
        "MODELS_FETCH",
        "LSP_DOWNLOAD",
        "DEFAULT_PLUGINS",
        "SHARE",
    ] {
        command.env(format!("{prefix}_DISABLE_{name}"), "1");
    }
    // Kilo 7.0 does not end while its telemetry finds no network.
    command.env(format!("{prefix}_TELEMETRY_LEVEL"), "off");
}
