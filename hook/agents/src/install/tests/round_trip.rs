//! Installing and uninstalling leaves every byte as it was.

use std::fs;

use super::*;

/// Settings as people have them, in various layouts.
const SETTINGS: [(&str, &str); 20] = [
    (
        "two spaces",
        "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\"]\n  }\n}\n",
    ),
    (
        "four spaces",
        "{\n    \"model\": \"opus\",\n    \"env\": {\"A\": \"b\"}\n}\n",
    ),
    ("tabs", "{\n\t\"model\": \"opus\"\n}\n"),
    ("no newline at the end", "{\n  \"model\": \"opus\"\n}"),
    ("Windows line ends", "{\r\n  \"model\": \"opus\"\r\n}\r\n"),
    ("one line", "{\"model\":\"opus\",\"theme\":\"dark\"}"),
    (
        "hooks on one line",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]},"a":1}"#,
    ),
    (
        "hooks on one line of many",
        "{\n  \"a\": 1,\n  \"hooks\": { \"Stop\": [ { \"hooks\": [ { \"command\": \"say done\" } ] } ] },\n  \"b\": 2\n}\n",
    ),
    (
        "odd spacing and escapes",
        "{ \"model\" :\"op\\u0075s\" ,\n\n\n   \"n\": 1.50e+01 }\n\n",
    ),
    (
        "comments",
        "// mine\n{\n  // why\n  \"model\": \"opus\", /* or sonnet */\n  \"theme\": \"dark\" // at night\n}\n// end\n",
    ),
    (
        "a trailing comma",
        "{\n  \"model\": \"opus\",\n  \"theme\": \"dark\",\n}\n",
    ),
    (
        "a byte order mark",
        "\u{feff}{\r\n  \"model\": \"opus\"\r\n}\r\n",
    ),
    ("a byte order mark alone", "\u{feff}"),
    (
        "a name twice",
        "{\n  \"model\": \"opus\",\n  \"model\": \"sonnet\"\n}\n",
    ),
    (
        "hooks and an event twice",
        "{\"hooks\":{},\"a\":1,\"hooks\":{\"Stop\":[{\"hooks\":[]}],\"Stop\":[]}}\n",
    ),
    (
        "a comment where hooks would be",
        "{\"hooks\":{ /* none yet */ }}\n",
    ),
    (
        "a comment where a handler would be",
        "{\"hooks\":{\"Stop\":[ /* none yet */ ], /* nor here */}}\n",
    ),
    (
        "a comment after a trailing comma",
        "{\"model\":\"opus\", /* or sonnet */ }\n",
    ),
    (
        "hooks of others",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"notify-send done\" }\n        ]\n      }\n    ],\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\", \"args\": [\"event\", \"--agent\", \"x\"]}]}]\n  },\n  \"model\": \"opus\"\n}\n",
    ),
    (
        "hooks with comments and trailing commas",
        "{\n  \"hooks\": {\n    // when it is done\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"say done\", // loud\n          },\n        ],\n      },\n    ],\n  },\n}\n",
    ),
];

/// What was installed and taken out again left no byte changed.
///
/// Invariant `agent/settings`.
#[test]
fn installing_and_uninstalling_leaves_every_byte() {
    for (layout, text) in SETTINGS {
        let world = World::new();
        world.write(CLAUDE, text);
        world.install("claude-code");
        let state = world.state("claude-code");
        let is_read = matches!(state, Installation::Installed | Installation::Blocked);
        assert!(is_read, "{layout}: it is in: {state:?}");
        world.uninstall("claude-code");
        assert_eq!(world.read(CLAUDE), text, "{layout}: the file is as it was");
        assert_eq!(
            world.state("claude-code"),
            Installation::Absent,
            "{layout}: it is out"
        );
    }
}

/// Of members with one name the one that agents read gets the hook.
///
/// Agents read JSON as JavaScript does: the last member of a name counts.
#[test]
fn hook_goes_into_the_member_that_agents_read() {
    let world = World::new();
    let text = "{\"hooks\":{},\"hooks\":{\"Stop\":[],\"Stop\":[{\"hooks\":[]}]}}\n";
    world.write(CLAUDE, text);
    world.install("claude-code");
    let read: serde_json::Value = serde_json::from_str(&world.read(CLAUDE)).expect("JSON");
    for event in ["SessionStart", "Stop"] {
        let line = read["hooks"][event].to_string();
        assert!(
            line.contains("event --agent claude-code"),
            "{event}: {read}"
        );
    }
}

#[test]
fn a_second_install_changes_nothing() {
    for (layout, text) in SETTINGS {
        let world = World::new();
        world.write(CLAUDE, text);
        world.install("claude-code");
        let once = world.read(CLAUDE);
        let changes = world.install("claude-code");
        assert_eq!(world.read(CLAUDE), once, "{layout}: not a byte");
        assert_eq!(changes[0].action, "unchanged", "{layout}: and it says so");
    }
}

/// Every byte that was there is still there in its order.
///
/// Invariant `agent/settings`: Settings of an agent keep every byte that is not ours.
#[test]
fn every_byte_is_still_there_in_order() {
    for (layout, text) in SETTINGS {
        let world = World::new();
        world.write(CLAUDE, text);
        world.install("claude-code");
        let after = world.read(CLAUDE);
        let mut rest = after.chars();
        assert!(
            text.chars()
                .all(|byte| rest.any(|candidate| candidate == byte)),
            "{layout}: something is missing in\n{after}"
        );
    }
}

/// What may stand in a settings file before we come, and is not much.
const LITTLE: [&str; 11] = [
    "",
    "\n",
    "{}",
    "{}\n",
    "{ }",
    "{\"hooks\":{}}",
    "{\n  \"hooks\": {}\n}",
    "{\n  \"hooks\": {\"Stop\": []},\n}",
    "{\"model\": \"opus\",}",
    "{\n  \"model\": \"opus\",\n}",
    "{\n\t\"model\": \"opus\"}",
];

/// Returns everything below the home and the project: modes, and texts of files.
fn all(world: &World) -> Vec<(PathBuf, u32, Option<String>)> {
    let mut found = Vec::new();
    let mut waiting = vec![world.path("home"), world.path("project")];
    while let Some(path) = waiting.pop() {
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("readable");
            waiting.extend(entries.map(|entry| entry.expect("readable").path()));
            found.push((path, mode, None));
        } else {
            let text = fs::read_to_string(&path).expect("a text");
            found.push((path, mode, Some(text)));
        }
    }
    found.sort();
    found
}

/// Installs and takes out again, and compares.
fn expect_as_before(world: &World, agent: &str, scope: SettingsScope, what: &str) {
    let before = all(world);
    world.with_place(|place| {
        let place = SettingsPlace {
            trust: true,
            ..*place
        };
        for _ in 0..2 {
            // A file of somebody else's is a reason to refuse; then nothing may have changed, either.
            let installed = install(agent, scope, &place, DryRun::No);
            let is_in = installed.is_ok();
            assert!(!is_in || all(world) != before, "{agent}: {what}: it is in");
        }
        uninstall(agent, scope, &place, DryRun::No).expect("it can be taken out");
    });
    assert_eq!(all(world), before, "{agent}: {what}");
}

/// Whatever little was there is there again byte for byte for every agent.
#[test]
fn smallest_settings_come_back_byte_for_byte() {
    for target in TARGETS {
        for scope in [SettingsScope::User, SettingsScope::Project] {
            let paths = World::new().with_place(|place| {
                let files = (target.files)(scope, place).expect("UTF-8").into_iter();
                let below = |path: PathBuf| {
                    let root = place.home.parent().expect("it is below the scratch folder");
                    path.strip_prefix(root).expect("below").to_owned()
                };
                files.map(|file| below(file.path)).collect::<Vec<_>>()
            });
            let Some(first) = paths.first() else { continue };
            let first = first.to_str().expect("UTF-8");
            let writable = LITTLE.iter().map(|text| (text, 0o644));
            for (text, mode) in writable.chain([(&LITTLE[3], 0o400)]) {
                let world = World::new();
                let path = world.write(first, text);
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
                expect_as_before(&world, target.agent, scope, &format!("{text:?} {mode:o}"));
            }
            for path in &paths {
                for folder in path.ancestors().skip(1).take(3) {
                    let world = World::new();
                    fs::create_dir_all(world.directory.path().join(folder)).expect("new");
                    let what = format!("an empty `{}`", folder.display());
                    expect_as_before(&world, target.agent, scope, &what);
                }
                let world = World::new();
                world.write(path.to_str().expect("UTF-8"), "");
                let what = format!("an empty file `{}`", path.display());
                expect_as_before(&world, target.agent, scope, &what);
            }
        }
    }
}

/// Codex's configuration is as it was whatever it lacked.
#[test]
fn codexs_configuration_comes_back_whatever_it_lacked() {
    for text in [
        "",
        "\n",
        "# mine",
        "[hooks]\n",
        "[hooks.state]",
        "model = \"x\"",
    ] {
        let world = World::new();
        world.write("home/.codex/config.toml", text);
        expect_as_before(&world, "codex", SettingsScope::User, text);
    }
}

/// What was edited since keeps the edit and an empty table of before.
#[test]
fn edits_since_the_installation_stay() {
    let world = World::new();
    world.write(CLAUDE, "{}");
    world.install("claude-code");
    let edited = world
        .read(CLAUDE)
        .replacen('{', "{\n  \"model\": \"opus\",", 1);
    world.write(CLAUDE, &edited);
    world.install("claude-code");
    world.uninstall("claude-code");
    let settings: serde_json::Value =
        serde_json::from_str(&world.read(CLAUDE)).expect("plain JSON");
    assert_eq!(settings, serde_json::json!({"model": "opus"}), "the edit");

    let world = World::new();
    world.write(CLAUDE, "{}");
    world.install("claude-code");
    world.write(CLAUDE, &format!("{}\n\n", world.read(CLAUDE)));
    world.uninstall("claude-code");
    assert_eq!(world.read(CLAUDE), "{}", "nothing of the edit is left");
}

#[test]
fn settings_that_need_no_memory_are_not_copied() {
    let world = World::new();
    world.write(CLAUDE, "{\n  \"env\": {\"KEY\": \"secret\"}\n}\n");
    world.install("claude-code");
    let memory = world.read("store/installed.json");
    assert!(!memory.contains("secret"), "{memory}");
    let mode = |name: &str| fs::metadata(world.path(name)).expect("there").permissions();
    assert_eq!(mode("store/installed.json").mode() & 0o777, 0o600);
    assert_eq!(mode("store").mode() & 0o777, 0o700);
}
