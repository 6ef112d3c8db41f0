//! The table of hooks in settings that others write, too, on the example of Claude Code.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use expect_test::expect;

use super::*;
use crate::agents::{self, GENERIC};

const CLAUDE: &str = "home/.claude/settings.json";

/// Settings as people have them, each in a layout of its own.
const SETTINGS: [(&str, &str); 14] = [
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
        "a name twice",
        "{\n  \"model\": \"opus\",\n  \"model\": \"sonnet\"\n}\n",
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

#[test]
fn what_was_installed_and_taken_out_again_left_no_byte_changed() {
    for (layout, text) in SETTINGS {
        let world = World::new();
        world.write(CLAUDE, text);
        world.install("claude-code");
        assert_eq!(
            world.state("claude-code"),
            State::Installed,
            "{layout}: it is in"
        );
        world.uninstall("claude-code");
        assert_eq!(world.read(CLAUDE), text, "{layout}: the file is as it was");
        assert_eq!(
            world.state("claude-code"),
            State::Absent,
            "{layout}: it is out"
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

#[test]
fn every_byte_that_was_there_is_still_there_in_its_order() {
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

#[test]
fn a_user_without_settings_gets_the_table_and_nothing_stays_of_it() {
    let world = World::new();
    let changes = world.install("claude-code");
    assert_eq!(changes[0].action, "created", "there was no file");
    let text = world.anonymous(&world.read(CLAUDE));
    let head: Vec<_> = text.lines().take(40).collect();
    expect![[r#"
        {
          "hooks": {
            "SessionStart": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "test -x /bin/ckpt-hook && /bin/ckpt-hook event --agent claude-code --event SessionStart 2>/dev/null || true",
                    "timeout": 30
                  }
                ]
              }
            ],
            "UserPromptSubmit": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "test -x /bin/ckpt-hook && /bin/ckpt-hook event --agent claude-code --event UserPromptSubmit 2>/dev/null || true",
                    "timeout": 30
                  }
                ]
              }
            ],
            "PreToolUse": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "test -x /bin/ckpt-hook && /bin/ckpt-hook event --agent claude-code --event PreToolUse 2>/dev/null || true",
                    "timeout": 30
                  }
                ]
              }
            ],
            "PostToolUse": [
              {
                "hooks": [
                  {
                    "type": "command","#]]
    .assert_eq(&head.join("\n"));
    world.uninstall("claude-code");
    assert!(
        !world.path("home/.claude").exists(),
        "neither file nor directory stays behind"
    );
}

#[test]
fn an_older_handler_is_brought_up_to_date_where_it_stands() {
    let world = World::new();
    let old = world.executable("old/ckpt-hook").display().to_string();
    let text = r#"{
  "hooks": {
    "Stop": [
      // the one that beeps
      { "hooks": [{ "type": "command", "command": "beep" }, { "type": "command", "command": "OLD event --agent claude-code" }] }
    ],
    "Notification": [{ "hooks": [{ "type": "command", "command": "OLD event --agent claude-code" }] }],
    "PreToolUse": [{ "matcher": "Write", "hooks": [{ "type": "command", "command": "OLD event --agent claude-code" }] }]
  }
}
"#;
    world.write(CLAUDE, &text.replace("OLD", &old));
    assert_eq!(
        world.state("claude-code"),
        State::Elsewhere,
        "it is ours, and not as we want it"
    );
    world.install("claude-code");
    assert_eq!(
        world.state("claude-code"),
        State::Installed,
        "all of it is there, and once"
    );
    let text = world.anonymous(&world.read(CLAUDE));
    let head: Vec<_> = text.lines().take(16).collect();
    expect![[r#"
        {
          "hooks": {
            "Stop": [
              // the one that beeps
              { "hooks": [{ "type": "command", "command": "beep" }, {"type":"command","command":"test -x /bin/ckpt-hook && /bin/ckpt-hook event --agent claude-code --event Stop 2>/dev/null || true","timeout":30}] }
            ],
            "SessionStart": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "test -x /bin/ckpt-hook && /bin/ckpt-hook event --agent claude-code --event SessionStart 2>/dev/null || true",
                    "timeout": 30
                  }
                ]
              }"#]]
    .assert_eq(&head.join("\n"));
    assert!(
        !text.contains("Notification"),
        "an event that we do not want any more is gone with its list"
    );
    assert!(
        !text.contains("matcher"),
        "a handler for every tool has no matcher"
    );
}

#[test]
fn a_handler_that_stands_twice_is_found_and_the_second_one_goes() {
    let world = World::new();
    world.install("claude-code");
    let once = world.read(CLAUDE);
    let call =
        r#"{"type": "command", "command": "BIN", "args": ["event", "--agent", "claude-code"]}"#;
    let call = call.replace("BIN", &world.path("bin/ckpt-hook").display().to_string());
    world.write(
        CLAUDE,
        &once.replacen("\"hooks\": [\n", &format!("\"hooks\": [\n{call},\n"), 1),
    );
    assert_eq!(
        world.state("claude-code"),
        State::Doubled,
        "two calls for one event"
    );
    world.install("claude-code");
    assert_eq!(world.state("claude-code"), State::Installed, "one is left");
}

#[test]
fn a_binary_that_is_gone_is_told() {
    let world = World::new();
    world.install("claude-code");
    fs::remove_file(world.path("bin/ckpt-hook")).expect("ours");
    assert_eq!(
        world.state("claude-code"),
        State::Moved,
        "the settings call what is not there"
    );
}

#[test]
fn broken_settings_are_refused_and_left_alone() {
    let deep = "[".repeat(100_000);
    let broken = [
        "{\"a\": ",
        "{'a': 1}",
        "{a: 1}",
        "[]",
        "null",
        "{} {}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"a\" 1}",
        &deep,
    ];
    for text in broken {
        let world = World::new();
        let path = world.write(CLAUDE, text);
        let error = world
            .with_place(|place| install("claude-code", Scope::User, place, false))
            .expect_err("refused");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "the error names the file: {error}"
        );
        assert_eq!(world.read(CLAUDE), text, "and the file is as it was");
        assert_eq!(
            fs::read_dir(world.path("home/.claude"))
                .expect("there")
                .count(),
            1,
            "nothing lies beside it"
        );
    }
}

#[test]
fn what_is_no_text_is_refused_and_left_alone() {
    let world = World::new();
    let path = world.write(CLAUDE, "");
    fs::write(&path, b"{\"a\": \"\xff\"}").expect("ours");
    let cause = || {
        let result = world.with_place(|place| install("claude-code", Scope::User, place, false));
        result.expect_err("it is refused").causes().join(": ")
    };
    assert_eq!(cause(), "it is not UTF-8", "what is wrong, in words");
    fs::remove_file(&path).expect("ours");
    fs::create_dir(&path).expect("ours");
    assert_eq!(
        cause(),
        "it is a directory, where the agent has its settings",
        "what is wrong, in words"
    );
    assert_eq!(
        world.state("claude-code"),
        State::Broken,
        "and the list says so"
    );
}

#[test]
fn an_empty_file_counts_as_no_settings() {
    let world = World::new();
    world.write(CLAUDE, "\n");
    world.install("claude-code");
    assert_eq!(
        world.state("claude-code"),
        State::Installed,
        "there was nothing to lose"
    );
}

#[test]
fn a_symlinked_settings_file_stays_a_symlink() {
    let world = World::new();
    let real = world.write("dotfiles/claude.json", "{\n  \"model\": \"opus\"\n}\n");
    fs::create_dir(world.path("home/.claude")).expect("new");
    symlink("../../dotfiles/claude.json", world.path(CLAUDE)).expect("new");
    world.install("claude-code");
    assert!(world.path(CLAUDE).is_symlink(), "the link is where it was");
    assert!(
        world.read("dotfiles/claude.json").contains("SubagentStop"),
        "its target was written"
    );
    world.uninstall("claude-code");
    assert_eq!(
        fs::read_to_string(real).expect("there"),
        "{\n  \"model\": \"opus\"\n}\n",
        "and is as it was"
    );
}

#[test]
fn a_symlink_to_nothing_is_refused() {
    let world = World::new();
    fs::create_dir(world.path("home/.claude")).expect("new");
    symlink("/nowhere/settings.json", world.path(CLAUDE)).expect("new");
    let result = world.with_place(|place| install("claude-code", Scope::User, place, false));
    assert!(result.is_err(), "we cannot know what the user means by it");
    assert!(world.path(CLAUDE).is_symlink(), "and it stays");
}

#[test]
fn the_mode_of_the_file_is_kept() {
    let world = World::new();
    let path = world.write(CLAUDE, "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
    world.install("claude-code");
    assert_eq!(
        fs::metadata(&path).expect("there").permissions().mode() & 0o7777,
        0o640,
        "as it was"
    );
    fs::remove_file(&path).expect("ours");
    world.install("claude-code");
    assert_eq!(
        fs::metadata(&path).expect("there").permissions().mode() & 0o7777,
        0o600,
        "the user's own"
    );
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let world = World::new();
    let text = "{\n  \"model\": \"opus\"\n}\n";
    world.write(CLAUDE, text);
    let changes = world
        .with_place(|place| install("claude-code", Scope::User, place, true))
        .expect("it can be installed");
    let diff = world.anonymous(changes[0].diff.as_deref().expect("there is a change"));
    let head: Vec<_> = diff.lines().take(14).collect();
    expect![[r#"
        --- a/home/.claude/settings.json
        +++ b/home/.claude/settings.json
        @@ -1,3 +1,82 @@
         {
        -  "model": "opus"
        +  "model": "opus",
        +  "hooks": {
        +    "SessionStart": [
        +      {
        +        "hooks": [
        +          {
        +            "type": "command",
        +            "command": "test -x /bin/ckpt-hook && /bin/ckpt-hook event --agent claude-code --event SessionStart 2>/dev/null || true",
        +            "timeout": 30"#]]
    .assert_eq(&head.join("\n"));
    assert_eq!(
        (changes[0].action.as_str(), changes[0].dry_run),
        ("updated", true),
        "what would be done"
    );
    assert_eq!(world.read(CLAUDE), text, "nothing was done");
}

#[test]
fn the_project_has_settings_of_its_own() {
    let world = World::new();
    world
        .with_place(|place| install("claude-code", Scope::Project, place, false))
        .expect("it can be installed");
    assert!(
        world.path("project/.claude/settings.json").exists(),
        "the project's file"
    );
    assert!(!world.path(CLAUDE).exists(), "not the user's");
    let mode = fs::metadata(world.path("project/.claude/settings.json"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o777,
        0o644,
        "everybody who may read the project may read it"
    );
}

#[test]
fn without_tool_events_the_single_tools_are_left_out() {
    let world = World::new();
    world
        .with_place(|place| {
            install(
                "claude-code",
                Scope::User,
                &Place {
                    tool_events: false,
                    ..*place
                },
                false,
            )
        })
        .expect("it can be installed");
    let text = world.read(CLAUDE);
    assert!(
        !text.contains("PreToolUse") && !text.contains("\"PostToolUse"),
        "a process less for every tool"
    );
    assert!(text.contains("SubagentStop"), "turns are still seen");
}

#[test]
fn an_agent_may_have_moved_its_settings() {
    let world = World::new();
    let moved = world.path("elsewhere");
    let environment =
        |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| moved.clone().into_os_string());
    world
        .with_place(|place| {
            install(
                "claude-code",
                Scope::User,
                &Place {
                    environment: &environment,
                    ..*place
                },
                false,
            )
        })
        .expect("it can be installed");
    assert!(
        world.path("elsewhere/settings.json").exists(),
        "where the agent looks for it"
    );
}

#[test]
fn an_agent_that_we_do_not_know_is_an_error_that_names_those_that_we_know() {
    let world = World::new();
    let error = world
        .with_place(|place| install("\u{1b}[31mx", Scope::User, place, false))
        .expect_err("unknown");
    assert!(
        !error.to_string().contains('\u{1b}'),
        "its name cannot colour a terminal"
    );
    assert!(
        error
            .hint_text()
            .is_some_and(|hint| hint.contains("claude-code")),
        "the hint helps"
    );
    for agent in agents::all()
        .iter()
        .map(|agent| agent.name())
        .filter(|name| *name != GENERIC)
    {
        let Err(error) = check_known(&[agent.to_owned()]) else {
            continue;
        };
        let page = format!("docs/agents/{agent}.md");
        assert!(
            error.hint_text().is_some_and(|hint| hint.contains(&page)),
            "{agent}: the hint names its page: {error}"
        );
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(
            manifest.join("..").join(page).exists(),
            "{agent}: and there is one"
        );
    }
}

/// Returns a directory whose path is so long that a file beside its only one has no name.
fn narrow(within: &Path) -> PathBuf {
    const LONGEST: usize = 4095;
    let mut directory = within.canonicalize().expect("it is there");
    while directory.as_os_str().len() < LONGEST - "/s".len() {
        let left = LONGEST - "/s".len() - directory.as_os_str().len() - "/".len();
        directory.push("d".repeat(if left > 250 { 200 } else { left }));
    }
    fs::create_dir_all(&directory).expect("short enough");
    directory
}

#[test]
fn where_one_file_cannot_be_written_none_is() {
    let world = World::new();
    let settings = narrow(&world.path("home")).join("s");
    fs::write(&settings, "{}\n").expect("short enough");
    fs::create_dir(world.path("home/.claude")).expect("new");
    symlink(&settings, world.path(CLAUDE)).expect("new");
    let before = files_below(&world.path("home"));
    assert!(
        world
            .with_place(|place| install("claude-code", Scope::User, place, false))
            .is_err(),
        "nothing fits beside"
    );
    assert_eq!(
        files_below(&world.path("home")),
        before,
        "the commands that were written before are gone again"
    );
    assert_eq!(
        fs::read_to_string(&settings).expect("it is there"),
        "{}\n",
        "and it is as it was"
    );
}

#[test]
fn a_project_cannot_lead_the_installer_out_of_itself() {
    for link in ["project/.claude", "project/.claude/settings.json"] {
        let world = World::new();
        let outside = world.write("outside/settings.json", "{}\n");
        let target = if link.ends_with("json") {
            outside.clone()
        } else {
            world.path("outside")
        };
        fs::create_dir_all(world.path(link).parent().expect("below the project"))
            .expect("a directory");
        symlink(target, world.path(link)).expect("new");
        let result = world.with_place(|place| install("claude-code", Scope::Project, place, false));
        assert!(
            result.is_err(),
            "{link}: whoever made the project would choose the file"
        );
        assert_eq!(
            world.read("outside/settings.json"),
            "{}\n",
            "{link}: it is as it was"
        );
    }
}

/// The events of Claude Code that its settings hold handlers for, sorted.
fn events(world: &World) -> Vec<String> {
    let text = world.read(CLAUDE);
    let settings: serde_json::Value = serde_json::from_str(&text).expect("plain JSON");
    let hooks = settings["hooks"].as_object().expect("a table").clone();
    hooks.into_iter().map(|(event, _)| event).collect()
}

#[test]
fn only_events_that_the_installed_version_knows_are_written() {
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
        assert_eq!(world.state("claude-code"), State::Installed, "{version:?}");
    }
}

#[test]
fn no_line_of_ours_needs_what_an_older_version_passes_over() {
    let world = World::new();
    world.has_claude_code();
    world.install("claude-code");
    let text = world.read(CLAUDE);
    assert!(!text.contains("\"args\""), "the line holds all: {text}");
}

#[test]
fn an_older_version_that_comes_later_is_written_for_anew_and_an_unknown_one_keeps_what_is_there() {
    let world = World::new();
    world.has_claude_code();
    world.install("claude-code");
    let newest = world.read(CLAUDE);
    fs::remove_file(world.path("programs/claude")).expect("ours");
    assert_eq!(world.state("claude-code"), State::Installed, "who knows");
    world.install("claude-code");
    assert_eq!(world.read(CLAUDE), newest, "nothing says that it is wrong");
    world.has("claude", "@anthropic-ai/claude-code", "2.1.100");
    assert_eq!(
        world.state("claude-code"),
        State::Outdated,
        "it would refuse the whole file"
    );
    world.install("claude-code");
    assert!(
        !events(&world).contains(&"PostToolBatch".to_owned()),
        "what it does not know is gone"
    );
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
fn expect_as_before(world: &World, agent: &str, scope: Scope, what: &str) {
    let before = all(world);
    world.with_place(|place| {
        let place = Place {
            trust: true,
            ..*place
        };
        for _ in 0..2 {
            // A file of somebody else's is a reason to refuse; then nothing may have changed, either.
            let installed = install(agent, scope, &place, false);
            let is_in = installed.is_ok();
            assert!(!is_in || all(world) != before, "{agent}: {what}: it is in");
        }
        uninstall(agent, scope, &place, false).expect("it can be taken out");
    });
    assert_eq!(all(world), before, "{agent}: {what}");
}

#[test]
fn whatever_little_was_there_is_there_again_byte_for_byte_for_every_agent() {
    for target in TARGETS {
        for scope in [Scope::User, Scope::Project] {
            let paths = World::new().with_place(|place| {
                let files = (target.files)(scope, place).expect("UTF-8").into_iter();
                let below = |path: PathBuf| {
                    let root = place.home.parent().expect("it is below the scratch folder");
                    path.strip_prefix(root).expect("below").to_owned()
                };
                files.map(|file| below(file.path)).collect::<Vec<_>>()
            });
            let first = paths[0].to_str().expect("UTF-8");
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

#[test]
fn codexs_configuration_is_as_it_was_whatever_it_lacked() {
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
        expect_as_before(&world, "codex", Scope::User, text);
    }
}

#[test]
fn what_was_edited_since_keeps_the_edit_and_an_empty_table_of_before() {
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
