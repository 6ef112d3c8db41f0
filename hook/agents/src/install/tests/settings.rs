//! The table of hooks in settings that others write, too, on the example of Claude Code.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use expect_test::expect;

use super::*;

/// A user without settings gets the table and nothing stays of it.
#[test]
fn settings_that_we_made_go_with_us() {
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

/// An older handler is brought up to date where it stands.
#[test]
fn older_handler_is_updated_in_place() {
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
        Installation::Blocked,
        "it is ours, and not as we want it; Claude Code reads no comments"
    );
    world.install("claude-code");
    assert_eq!(
        world.state("claude-code"),
        Installation::Blocked,
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

/// A handler that stands twice is found and the second one goes.
#[test]
fn second_copy_of_a_handler_goes() {
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
        Installation::Doubled,
        "two calls for one event"
    );
    world.install("claude-code");
    assert_eq!(
        world.state("claude-code"),
        Installation::Installed,
        "one is left"
    );
}

#[test]
fn a_binary_that_is_gone_is_told() {
    let world = World::new();
    world.install("claude-code");
    fs::remove_file(world.path("bin/ckpt-hook")).expect("ours");
    assert_eq!(
        world.state("claude-code"),
        Installation::Moved,
        "the settings call what is not there"
    );
}

#[test]
fn an_empty_file_counts_as_no_settings() {
    let world = World::new();
    world.write(CLAUDE, "\n");
    world.install("claude-code");
    assert_eq!(
        world.state("claude-code"),
        Installation::Installed,
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

/// A dry run shows the change and makes none.
#[test]
fn dry_run_of_install_changes_nothing() {
    let world = World::new();
    let text = "{\n  \"model\": \"opus\"\n}\n";
    world.write(CLAUDE, text);
    let changes = world
        .with_place(|place| install("claude-code", SettingsScope::User, place, DryRun::Yes))
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
        .with_place(|place| install("claude-code", SettingsScope::Project, place, DryRun::No))
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
fn an_agent_may_have_moved_its_settings() {
    for (agent, variable, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("copilot-cli", "COPILOT_HOME", "hooks/ckpt-hook.json"),
        (
            "opencode",
            "XDG_CONFIG_HOME",
            "opencode/plugin/ckpt-hook.js",
        ),
        ("kilo", "XDG_CONFIG_HOME", "kilo/plugin/ckpt-hook.js"),
    ] {
        let world = World::new();
        let moved = world.path("elsewhere");
        let environment = |name: &str| (name == variable).then(|| moved.clone().into_os_string());
        world
            .with_place(|place| {
                install(
                    agent,
                    SettingsScope::User,
                    &SettingsPlace {
                        environment: &environment,
                        ..*place
                    },
                    DryRun::No,
                )
            })
            .expect("it can be installed");
        assert!(moved.join(file).exists(), "where {agent} looks for it");
    }
}
