//! What every agent gets, and what stays of it.

use expect_test::expect;

use super::*;

/// Every agent gets its files where it looks for them.
#[test]
fn every_agent_gets_its_files_in_place() {
    let world = World::new();
    TARGETS
        .iter()
        .for_each(|target| drop(world.install(target.agent)));
    expect![[r#"
        .claude/commands/ckpt-redo.md
        .claude/commands/ckpt-revert.md
        .claude/commands/ckpt-status.md
        .claude/settings.json
        .codebuddy/settings.json
        .codex/hooks.json
        .codex/skills/ckpt-redo/SKILL.md
        .codex/skills/ckpt-redo/agents/openai.yaml
        .codex/skills/ckpt-revert/SKILL.md
        .codex/skills/ckpt-revert/agents/openai.yaml
        .codex/skills/ckpt-status/SKILL.md
        .codex/skills/ckpt-status/agents/openai.yaml
        .config/kilo/command/ckpt-redo.md
        .config/kilo/command/ckpt-revert.md
        .config/kilo/command/ckpt-status.md
        .config/kilo/plugin/ckpt-hook.js
        .config/opencode/command/ckpt-redo.md
        .config/opencode/command/ckpt-revert.md
        .config/opencode/command/ckpt-status.md
        .config/opencode/plugin/ckpt-hook.js
        .copilot/hooks/ckpt-hook.json
        .gemini/commands/ckpt-redo.toml
        .gemini/commands/ckpt-revert.toml
        .gemini/commands/ckpt-status.toml
        .gemini/settings.json
        .grok/hooks/ckpt-hook.json
        .kimi-code/config.toml
        .pi/agent/extensions/ckpt-hook.ts
        .qwen/commands/ckpt-redo.md
        .qwen/commands/ckpt-revert.md
        .qwen/commands/ckpt-status.md
        .qwen/settings.json
        Documents/Cline/Hooks/PostToolUse
        Documents/Cline/Hooks/PreToolUse
        Documents/Cline/Hooks/SessionShutdown
        Documents/Cline/Hooks/TaskCancel
        Documents/Cline/Hooks/TaskComplete
        Documents/Cline/Hooks/TaskError
        Documents/Cline/Hooks/TaskResume
        Documents/Cline/Hooks/TaskStart
        Documents/Cline/Hooks/UserPromptSubmit"#]]
    .assert_eq(&files_below(&world.path("home")).join("\n"));
    for target in TARGETS.iter().filter(|target| target.agent != "kimi-code") {
        let place = |place: &SettingsPlace<'_>| {
            install(target.agent, SettingsScope::Project, place, DryRun::No).map(drop)
        };
        world.with_place(place).expect("it can be installed");
    }
    expect![[r#"
        .claude/commands/ckpt-redo.md
        .claude/commands/ckpt-revert.md
        .claude/commands/ckpt-status.md
        .claude/settings.json
        .clinerules/hooks/PostToolUse
        .clinerules/hooks/PreToolUse
        .clinerules/hooks/SessionShutdown
        .clinerules/hooks/TaskCancel
        .clinerules/hooks/TaskComplete
        .clinerules/hooks/TaskError
        .clinerules/hooks/TaskResume
        .clinerules/hooks/TaskStart
        .clinerules/hooks/UserPromptSubmit
        .codebuddy/settings.json
        .codex/hooks.json
        .gemini/commands/ckpt-redo.toml
        .gemini/commands/ckpt-revert.toml
        .gemini/commands/ckpt-status.toml
        .gemini/settings.json
        .github/hooks/ckpt-hook.json
        .grok/hooks/ckpt-hook.json
        .kilo/command/ckpt-redo.md
        .kilo/command/ckpt-revert.md
        .kilo/command/ckpt-status.md
        .kilo/plugin/ckpt-hook.js
        .opencode/command/ckpt-redo.md
        .opencode/command/ckpt-revert.md
        .opencode/command/ckpt-status.md
        .opencode/plugin/ckpt-hook.js
        .pi/extensions/ckpt-hook.ts
        .qwen/commands/ckpt-redo.md
        .qwen/commands/ckpt-revert.md
        .qwen/commands/ckpt-status.md
        .qwen/settings.json"#]]
    .assert_eq(&files_below(&world.path("project")).join("\n"));
}

/// Every agent is installed once and leaves nothing behind.
#[test]
fn every_agent_is_installed_once_without_leftovers() {
    for target in TARGETS {
        let world = World::new();
        let agent = target.agent;
        assert_eq!(
            world.state(agent),
            Installation::Absent,
            "{agent} begins without us"
        );
        world.install(agent);
        let expected = match agent {
            "codex" => Installation::Blocked,
            _ => Installation::Installed,
        };
        assert_eq!(world.state(agent), expected, "{agent} has the hook");
        assert!(
            world
                .install(agent)
                .iter()
                .all(|change| change.action == "unchanged"),
            "{agent}: once is enough"
        );
        world.uninstall(agent);
        assert_eq!(
            files_below(&world.path("home")),
            Vec::<String>::new(),
            "{agent}: all is gone"
        );
        assert!(
            world
                .uninstall(agent)
                .iter()
                .all(|change| change.action == "unchanged"),
            "{agent}: nothing to do"
        );
    }
}

#[test]
fn every_agent_that_can_be_installed_is_understood() {
    for target in TARGETS {
        let agent = crate::find(target.agent).expect("an adapter of that name");
        assert!(
            !agent.proven_on.is_empty(),
            "{}: only what was seen at work is installed",
            target.agent
        );
    }
}

/// A shell line of every agent reaches the binary and says nothing.
#[test]
fn shell_lines_reach_the_binary_in_silence() {
    for agent in ["codex", "gemini-cli", "qwen-code"] {
        let world = World::new();
        let log = world.path("log");
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> '{}'\necho noise >&2\nexit 7\n",
            log.display()
        );
        executable::write(&world.path("bin/ckpt-hook"), &script);
        world.install(agent);
        for line in shell_lines(&world) {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &line])
                .output()
                .expect("a shell");
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{agent}: nothing can go wrong for the agent"
            );
        }
        let calls = fs::read_to_string(log).expect("it was called");
        assert!(
            calls
                .lines()
                .all(|call| call.starts_with(&format!("event --agent {agent} --event "))),
            "{calls}"
        );
    }
}

/// Returns the command lines in the only settings file of the world's user.
fn shell_lines(world: &World) -> Vec<String> {
    let files = files_below(&world.path("home"));
    let settings = files
        .iter()
        .find(|file| file.ends_with(".json"))
        .expect("the settings");
    let text = world.read(&format!("home/{settings}"));
    let settings: serde_json::Value = serde_json::from_str(&text).expect("plain JSON");
    let events = settings["hooks"]
        .as_object()
        .expect("a table of hooks")
        .values();
    events
        .map(|groups| {
            groups[0]["hooks"][0]["command"]
                .as_str()
                .expect("a line")
                .to_owned()
        })
        .collect()
}

/// Nothing that could refuse a tool is put before Copilot's tools.
#[test]
fn nothing_before_copilots_tools_could_refuse_them() {
    let world = World::new();
    world.install("copilot-cli");
    let text = world.read("home/.copilot/hooks/ckpt-hook.json");
    assert!(
        !text.contains("preToolUse") && !text.contains("permissionRequest"),
        "they fail closed"
    );
}

/// A file of somebody else is not replaced and not removed.
#[test]
fn foreign_file_is_neither_replaced_nor_removed() {
    let world = World::new();
    let theirs = "#!/bin/sh\necho mine\n";
    world.write("home/Documents/Cline/Hooks/PostToolUse", theirs);
    let error = world
        .with_place(|place| install("cline", SettingsScope::User, place, DryRun::No))
        .expect_err("refused");
    assert!(
        error.to_string().contains("PostToolUse"),
        "the error names the file: {error}"
    );
    assert_eq!(
        files_below(&world.path("home")).len(),
        1,
        "none of the other files was made"
    );
    world.uninstall("cline");
    assert_eq!(
        world.read("home/Documents/Cline/Hooks/PostToolUse"),
        theirs,
        "it is as it was"
    );
}

#[test]
fn a_plugin_calls_the_binary_by_its_path() {
    let world = World::new();
    for (agent, file) in [
        ("opencode", "home/.config/opencode/plugin/ckpt-hook.js"),
        ("kilo", "home/.config/kilo/plugin/ckpt-hook.js"),
        ("pi", "home/.pi/agent/extensions/ckpt-hook.ts"),
    ] {
        world.install(agent);
        let text = world.anonymous(&world.read(file));
        assert!(
            text.contains("const binary = \"/bin/ckpt-hook\""),
            "{agent}: the path"
        );
        assert!(
            text.contains(&format!("event --agent {agent}`")),
            "{agent}: what it is known by"
        );
    }
    assert!(
        world
            .read("home/.config/kilo/plugin/ckpt-hook.js")
            .contains("const agent = \"kilo\""),
        "its own name"
    );
}

/// A script that is missing makes the installation outdated.
#[test]
fn missing_script_makes_the_installation_outdated() {
    let world = World::new();
    world.install("cline");
    fs::remove_file(world.path("home/Documents/Cline/Hooks/PostToolUse")).expect("ours");
    assert_eq!(
        world.state("cline"),
        Installation::Outdated,
        "not all of it is there"
    );
}

/// A command of the user's own stays and the hook works without ours.
#[test]
fn users_own_command_stays() {
    let world = World::new();
    world.write("home/.claude/commands/ckpt-revert.md", "mine\n");
    let changes = world.install("claude-code");
    let theirs = changes
        .iter()
        .find(|change| change.file.ends_with("ckpt-revert.md"))
        .expect("it is told of");
    assert_eq!(
        (theirs.action.as_str(), theirs.notes.len()),
        ("unchanged", 1),
        "and why: {:?}",
        theirs.notes
    );
    assert_eq!(
        world.state("claude-code"),
        Installation::Installed,
        "nothing is missing"
    );
    world.uninstall("claude-code");
    assert_eq!(
        world.read("home/.claude/commands/ckpt-revert.md"),
        "mine\n",
        "it is as it was"
    );
    assert_eq!(
        files_below(&world.path("home")).len(),
        1,
        "and all else is gone"
    );
}

/// Gemini CLI is given a name to show instead of each shell line.
#[test]
fn gemini_cli_shows_a_name_for_each_line() {
    let world = World::new();
    world.install("gemini-cli");
    let settings: serde_json::Value =
        serde_json::from_str(&world.read("home/.gemini/settings.json")).expect("it is JSON");
    let events = settings["hooks"].as_object().expect("a table of events");
    assert_eq!(events.len(), 7, "every event that we know: {events:?}");
    for (event, groups) in events {
        let name = &groups[0]["hooks"][0]["name"];
        assert_eq!(name, "ckpt-hook", "{event} has its own: {groups}");
    }
}

#[test]
fn commands_read_like_this() {
    let world = World::new();
    for agent in [
        "claude-code",
        "codex",
        "gemini-cli",
        "qwen-code",
        "opencode",
    ] {
        world.install(agent);
    }
    let revert = |file: &str| world.anonymous(&world.read(&format!("home/{file}")));
    expect![[r#"
        ---
        description: Put the workspace back to how it was just before your last message, or MESSAGE
        argument-hint: "[MESSAGE] [--dry-run]"
        allowed-tools: Bash(/bin/ckpt-hook inside:*)
        disable-model-invocation: true
        ---

        This is a command of ckpt-hook, not a task. It printed:

        !`/bin/ckpt-hook inside revert --session ${CLAUDE_SESSION_ID} $ARGUMENTS 2>&1`

        Tell the user in a sentence or two what it says, and do nothing else. What you remember of files that it names is out of date.
    "#]].assert_eq(&revert(".claude/commands/ckpt-revert.md"));
    expect![[r#"
        ---
        description: Put the workspace back to how it was just before your last message, or MESSAGE
        ---

        This is a command of ckpt-hook, not a task. It printed:

        (nothing: the plugin of ckpt-hook did not answer) $ARGUMENTS

        Tell the user in a sentence or two what it says, and do nothing else. What you remember of files that it names is out of date.
    "#]].assert_eq(&revert(".config/opencode/command/ckpt-revert.md"));
    expect![[r#"
        ---
        description: Go one message forward again after a revert
        ---

        This is a command of ckpt-hook, not a task. It printed:

        !{/bin/ckpt-hook inside redo {{args}} ${QWEN_CODE_SESSION_ID:+--session "$QWEN_CODE_SESSION_ID"} 2>&1}

        Tell the user in a sentence or two what it says, and do nothing else. What you remember of files that it names is out of date.
    "#]].assert_eq(&revert(".qwen/commands/ckpt-redo.md"));
    expect![[r#"
        description = "Show what is reverted, and whether all is well"
        prompt = '''
        This is a command of ckpt-hook, not a task. It printed:

        !{/bin/ckpt-hook inside status {{args}} 2>&1}

        Tell the user in a sentence or two what it says, and do nothing else. What you remember of files that it names is out of date.
        '''
    "#]].assert_eq(&revert(".gemini/commands/ckpt-status.toml"));
    expect![[r#"
        ---
        name: ckpt-revert
        description: Put the workspace back to how it was just before your last message, or MESSAGE
        ---

        This is a command of ckpt-hook, not a task. Run exactly this command, outside the sandbox, since it writes to a store of its own; what the user wrote behind the command's name belongs at its end:

            /bin/ckpt-hook inside revert --force ${CODEX_THREAD_ID:+--session "$CODEX_THREAD_ID"}

        Tell the user in a sentence or two what it says, and do nothing else. What you remember of files that it names is out of date.
    "#]].assert_eq(&revert(".codex/skills/ckpt-revert/SKILL.md"));
    let parsed: toml::Table = revert(".gemini/commands/ckpt-revert.toml")
        .parse()
        .expect("it is TOML");
    assert!(
        parsed["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.contains("!{/bin/ckpt-hook inside revert")),
        "{parsed}"
    );
}

/// Qwen Code waits for the hook in either of its units.
///
/// Up to 0.23 it counts in milliseconds, later in seconds below 1,000.
#[test]
fn qwen_code_waits_in_either_unit() {
    let world = World::new();
    world.install("qwen-code");
    let text = fs::read_to_string(world.path("home/.qwen/settings.json")).expect("written");
    let settings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (event, groups) in settings["hooks"].as_object().expect("a table") {
        assert_eq!(groups[0]["hooks"][0]["timeout"], 30_000, "{event}");
    }
}

/// Each agent waits for the hook as long as its page says.
///
/// Codex clamps what stands at two events, and asks its user again whenever an entry changes.
#[test]
fn agents_wait_as_long_as_their_pages_say() {
    let world = World::new();
    for (agent, file, name, time) in [
        ("claude-code", "home/.claude/settings.json", "timeout", 30),
        ("codex", "home/.codex/hooks.json", "timeout", 30),
        (
            "gemini-cli",
            "home/.gemini/settings.json",
            "timeout",
            30_000,
        ),
        (
            "copilot-cli",
            "home/.copilot/hooks/ckpt-hook.json",
            "timeoutSec",
            30,
        ),
    ] {
        world.install(agent);
        let settings: serde_json::Value = serde_json::from_str(&world.read(file)).expect("JSON");
        for (event, entries) in settings["hooks"].as_object().expect("a table") {
            let first = &entries[0];
            let handler = first.pointer("/hooks/0").unwrap_or(first);
            let is_short =
                agent == "codex" && ["Interrupt", "SessionEnd"].contains(&event.as_str());
            let expected = if is_short { 3 } else { time };
            assert_eq!(handler[name], expected, "{agent}: {event}");
        }
    }
}

/// The documents name the oldest version that records something.
#[test]
fn documents_name_the_oldest_version_that_records() {
    for target in TARGETS {
        let page = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs/agents")
            .join(format!("{}.md", target.agent));
        let text = fs::read_to_string(&page).expect("every agent has a page");
        let versions = text.split("## Versions").nth(1).expect("it says so");
        let lowest = target.versions.lowest.to_string();
        let short = lowest.strip_suffix(".0").unwrap_or(&lowest);
        let row = |line: &str| {
            let cell = line
                .strip_prefix("| ")
                .and_then(|line| line.split(" |").next());
            cell.is_some_and(|cell| cell.starts_with(&format!("{short} ")))
        };
        assert!(
            versions.lines().any(row),
            "{} is a row of {}",
            lowest,
            page.display()
        );
    }
}

/// Returns the rows of a list that the recipe of the real agents reads.
fn rows(list: &'static str) -> Vec<Vec<&'static str>> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

/// The recipe tries each agent from the oldest version that records to the proven one.
#[test]
fn recipe_tries_agents_from_oldest_to_proven_version() {
    let packages = rows(include_str!("../../../../../tests/agents/packages"));
    let tried = rows(include_str!("../../../../../tests/agents/versions"));
    for target in TARGETS {
        let agent = target.agent;
        let of_agent = |row: &&Vec<&str>| row[0] == agent;
        let package = packages.iter().find(of_agent).expect("it is installed");
        let proven = crate::find(agent).expect("known").proven_on;
        assert_eq!(proven, [package[2]], "{agent}: the one that the tests run");
        let records = tried
            .iter()
            .filter(of_agent)
            .filter(|row| row[2] != "nothing");
        let versions: Vec<&str> = records.map(|row| row[1]).collect();
        // Of Kilo, there is no fourth one with its program.
        let is_new = ["grok", "kimi-code", "codebuddy"].contains(&agent);
        let least = if is_new {
            1
        } else {
            3 + usize::from(agent != "kilo")
        };
        let count = tried.iter().filter(of_agent).count();
        assert!(count >= least, "{agent}: with those that record nothing");
        let lowest = target.versions.lowest.to_string();
        assert_eq!(
            (versions[0], versions[versions.len() - 1]),
            (&*lowest, package[2]),
            "{agent}: oldest to newest"
        );
        let oldest = tried.iter().filter(of_agent).find(|row| row[1] == lowest);
        let stories = oldest.and_then(|row| row.get(4));
        assert_eq!(
            stories,
            (!is_new).then_some(&"terminal,esc"),
            "{agent}: somebody sits down with the oldest of several"
        );
    }
}

/// Where an agent reads no hooks from a project, an installation there is refused.
#[test]
fn project_without_hooks_is_refused() {
    let world = World::new();
    let refused = world.with_place(|place| {
        install("kimi-code", SettingsScope::Project, place, DryRun::No).expect_err("none is read")
    });
    assert!(refused.to_string().contains("Kimi Code"), "{refused}");
    let removed = world.with_place(|place| {
        uninstall("kimi-code", SettingsScope::Project, place, DryRun::No).expect("none is there")
    });
    assert!(removed.is_empty(), "{removed:?}");
    assert_eq!(files_below(&world.path("project")), Vec::<String>::new());
}

/// A list of hooks in TOML keeps every byte of the user's.
#[test]
fn toml_list_keeps_the_users_bytes() {
    let world = World::new();
    let file = "home/.kimi-code/config.toml";
    for text in [
        "",
        "theme = \"dark\" # mine\n",
        "no_line_end = true",
        "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n\n[providers.x]\ntype = \"kimi\"\n",
    ] {
        world.write(file, text);
        world.install("kimi-code");
        let installed = world.read(file);
        assert!(
            installed.starts_with(text),
            "ours stand at the end: {installed}"
        );
        assert_eq!(world.state("kimi-code"), Installation::Installed);
        world.uninstall("kimi-code");
        assert_eq!(world.read(file), text, "every byte is as it was");
    }
    for text in ["hooks = []\nx = [\n", "hooks = \"none\"\n"] {
        world.write(file, text);
        let refused = world.with_place(|place| {
            install("kimi-code", SettingsScope::User, place, DryRun::No).expect_err("no such list")
        });
        assert!(refused.to_string().contains("config.toml"), "{refused}");
        assert_eq!(world.read(file), text, "it is left as it was");
    }
}
