//! Only what the installed version of Claude Code understands is written.

use std::fs;

use super::*;

/// The events of Claude Code that its settings hold handlers for, sorted.
fn events(world: &World) -> Vec<String> {
    let text = world.read(CLAUDE);
    let settings: serde_json::Value = serde_json::from_str(&text).expect("plain JSON");
    let hooks = settings["hooks"].as_object().expect("a table").clone();
    hooks.into_iter().map(|(event, _)| event).collect()
}

/// Only events that the installed version knows are written.
#[test]
fn only_events_of_the_installed_version_are_written() {
    let old = [
        "PostToolUse",
        "PreToolUse",
        "SessionEnd",
        "SessionStart",
        "Stop",
        "SubagentStop",
        "UserPromptSubmit",
    ];
    let with = |more: &[&'static str]| {
        let mut events = [&old, more].concat();
        events.sort_unstable();
        events
    };
    let all = [
        "PostToolBatch",
        "PermissionRequest",
        "PostToolUseFailure",
        "SubagentStart",
    ];
    for (version, expected) in [
        (None, with(&[])),
        (Some("2.0.0"), with(&[])),
        (Some("2.1.99"), with(&[])),
        (Some("2.1.100"), with(&all[1..])),
        (Some("2.1.101"), with(&all)),
        (Some("2.1.329"), with(&all)),
    ] {
        let world = World::new();
        if let Some(version) = version {
            world.has("claude", "@anthropic-ai/claude-code", version);
        }
        world.install("claude-code");
        assert_eq!(events(&world), expected, "of {version:?}");
        assert_eq!(
            world.state("claude-code"),
            Installation::Installed,
            "{version:?}"
        );
    }
}

/// The oldest of several installations can read what is written.
#[test]
fn oldest_installation_can_read_what_is_written() {
    let world = World::new();
    world.has("claude", "@anthropic-ai/claude-code", "2.1.90");
    fs::rename(world.path("programs"), world.path("old")).expect("writable");
    world.has("claude", "@anthropic-ai/claude-code", "2.1.329");
    let folders = [world.path("programs"), world.path("old")];
    let path = std::env::join_paths(folders).expect("plain names");
    let environment = |name: &str| (name == "PATH").then(|| path.clone());
    let row = world.with_place(|place| {
        let place = SettingsPlace {
            environment: &environment,
            ..*place
        };
        install("claude-code", SettingsScope::User, &place, DryRun::No)
            .expect("it can be installed");
        list(&place)
            .into_iter()
            .find(|row| row.agent == "claude-code")
    });
    assert!(
        !events(&world).contains(&"PostToolBatch".to_owned()),
        "it would refuse the whole file"
    );
    let row = row.expect("it is known");
    assert_eq!(row.version.expect("of the first").to_string(), "2.1.329");
    let advice: Vec<_> = row.advice.iter().map(|advice| &advice.message).collect();
    assert!(
        advice
            .iter()
            .any(|message| message.contains("Claude Code 2.1.90 ")),
        "and the other one is told of: {advice:?}"
    );
}

/// That the version is unknown is told where that leaves steps out.
#[test]
fn unknown_version_is_reported_if_steps_are_missed() {
    let world = World::new();
    let is_told = |world: &World| {
        let advice = world.installed("claude-code", SettingsScope::User).advice;
        advice.iter().any(|advice| {
            advice
                .message
                .contains("the version of Claude Code is unknown")
                && advice.hint.contains("install claude-code")
        })
    };
    let changes = world.install("claude-code");
    let noted = changes[0].notes.iter();
    assert!(
        noted.into_iter().any(|note| note.contains("is unknown")),
        "{:?}",
        changes[0].notes
    );
    assert!(is_told(&world), "and by whoever looks later");
    world.has_claude_code();
    world.install("claude-code");
    assert!(!is_told(&world), "now it is known");
    fs::remove_file(world.path("programs/claude")).expect("ours");
    assert!(!is_told(&world), "steps are still recorded");
}

/// No line of ours needs what an older version passes over.
#[test]
fn no_line_needs_what_older_versions_ignore() {
    let world = World::new();
    world.has_claude_code();
    world.install("claude-code");
    let text = world.read(CLAUDE);
    assert!(!text.contains("\"args\""), "the line holds all: {text}");
}

/// An older version that comes later is written for anew and an unknown one keeps what is
/// there.
#[test]
fn older_version_that_comes_later_is_written_for() {
    let world = World::new();
    world.has_claude_code();
    world.install("claude-code");
    let newest = world.read(CLAUDE);
    fs::remove_file(world.path("programs/claude")).expect("ours");
    assert_eq!(
        world.state("claude-code"),
        Installation::Installed,
        "who knows"
    );
    world.install("claude-code");
    assert_eq!(world.read(CLAUDE), newest, "nothing says that it is wrong");
    world.has("claude", "@anthropic-ai/claude-code", "2.1.100");
    assert_eq!(
        world.state("claude-code"),
        Installation::Outdated,
        "it would refuse the whole file"
    );
    world.install("claude-code");
    assert!(
        !events(&world).contains(&"PostToolBatch".to_owned()),
        "what it does not know is gone"
    );
}

/// A package that a version does not run is told.
#[test]
fn package_that_a_version_ignores_is_reported() {
    let world = World::new();
    let told = || {
        let rows = world.with_place(list);
        let row = rows.into_iter().find(|row| row.agent == "qwen-code");
        row.expect("known").advice
    };
    world.has("qwen", "@qwen-code/qwen-code", "0.23.0");
    assert_eq!(told(), [], "there is no package");
    world.write("home/.qwen/extensions/ckpt-hook/qwen-extension.json", "{}");
    let [advice] = &told()[..] else {
        panic!("one advice: {:?}", told());
    };
    assert!(
        advice
            .message
            .starts_with("Qwen Code 0.23.0 ends a hook of the package"),
        "{advice:?}"
    );
    assert!(
        advice.hint.contains("ckpt-hook install qwen-code"),
        "{advice:?}"
    );
    world.has("qwen", "@qwen-code/qwen-code", "0.24.4");
    assert_eq!(told(), [], "this one counts in seconds");
    world.has("qwen", "@qwen-code/qwen-code", "0.23.0");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../packages/plugin/ckpt-hook/qwen-extension.json");
    world.write(
        "home/.qwen/extensions/ckpt-hook/qwen-extension.json",
        &fs::read_to_string(manifest).expect("it is in the package"),
    );
    assert_eq!(told(), [], "its own manifest counts as it does");
}

/// The hook was installed while the version was not known; the program that runs tells it.
#[test]
fn running_program_shows_which_events_are_missing() {
    let world = World::new();
    world.install("claude-code");
    let program = world.path("share/claude/versions/2.1.329");
    let advice = |program: std::path::PathBuf| {
        world.with_place(|place| {
            super::super::advice_on_running("claude-code", place, || Some(program))
        })
    };
    let told = advice(program.clone()).expect("something is missing");
    for event in ["`PostToolBatch`", "`PermissionRequest`", "2.1.329"] {
        assert!(told.message.contains(event), "{told:?}");
    }
    assert!(
        told.hint.contains("share/claude/versions:$PATH"),
        "{told:?}"
    );
    let old = world.path("share/claude/versions/2.0.5");
    assert_eq!(advice(old), None, "it reports nothing else");
    world.has("claude", "@anthropic-ai/claude-code", "2.1.329");
    world.install("claude-code");
    assert_eq!(advice(program), None, "all of it is there");
}
