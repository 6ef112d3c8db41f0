//! What is found of agents and of the hook in their settings.

use super::*;

/// An agent is on this machine by its program or by its directory.
#[test]
fn agent_is_found_by_program_or_directory() {
    let world = World::new();
    let presence = |agent: &str| world.agent(agent).presence.expect("its settings are known");
    assert!(!presence("qwen-code").found, "there is nothing of it");
    assert!(
        presence("qwen-code").reason.contains("`qwen`"),
        "and it is told what was looked for"
    );
    fs::create_dir(world.path("home/.qwen")).expect("new");
    assert!(presence("qwen-code").found, "its directory is there");

    let program = world.executable("tools/gemini");
    let path = |name: &str| (name == "PATH").then(|| world.path("tools").into_os_string());
    let around = world.with_place(|place| {
        look_around(&SettingsPlace {
            environment: &path,
            ..*place
        })
    });
    let gemini = &around
        .iter()
        .find(|(agent, _)| *agent == "gemini-cli")
        .expect("it is known")
        .1;
    assert!(
        gemini.found && gemini.reason.contains(program.to_str().expect("plain")),
        "its program is on the PATH"
    );
}

/// Every agent is listed and those of documentation alone are marked.
#[test]
fn every_agent_is_listed_and_unproven_ones_marked() {
    let world = World::new();
    let rows = world.with_place(list);
    let names = |proven: bool| -> Vec<&str> {
        rows.iter()
            .filter(|row| row.proven_on.is_empty() != proven)
            .map(|row| row.agent)
            .collect()
    };
    assert_eq!(
        names(false),
        [
            "windsurf",
            "cursor",
            "goose",
            "vscode",
            "qoder",
            "auggie",
            "openhands",
            "kiro",
            "antigravity"
        ],
        "nobody saw them at work"
    );
    assert_eq!(
        names(true).len(),
        TARGETS.len() + 1,
        "the others can be installed, but for `droid exec`"
    );
}

#[test]
fn settings_that_turn_hooks_off_are_told() {
    let world = World::new();
    for (agent, file, off) in [
        (
            "claude-code",
            "home/.claude/settings.json",
            "{\n  \"disableAllHooks\": true\n}\n",
        ),
        (
            "qwen-code",
            "home/.qwen/settings.json",
            "{\n  \"disableAllHooks\": true\n}\n",
        ),
        (
            "gemini-cli",
            "home/.gemini/settings.json",
            "{\n  \"hooksConfig\": { \"enabled\": false }\n}\n",
        ),
    ] {
        world.write(file, off);
        world.install(agent);
        let advice = world.installed(agent, SettingsScope::User).advice;
        assert!(
            advice.iter().any(|advice| advice.message.contains("off")),
            "{agent}: {advice:?}"
        );
    }
}

/// A switch counts in whichever settings file of an agent it is and the last one wins.
#[test]
fn last_switch_of_an_agents_settings_wins() {
    let (off, on) = (
        "{\"disableAllHooks\": true}\n",
        "{\"disableAllHooks\": false}\n",
    );
    let disabled = "{\"hooksConfig\": {\"disabled\": [\"other\", \"ckpt-hook\"]}}\n";
    for (agent, files, told) in [
        (
            "claude-code",
            &[("project/.claude/settings.local.json", off)][..],
            true,
        ),
        (
            "claude-code",
            &[("project/.claude/settings.json", off)],
            true,
        ),
        (
            "claude-code",
            &[
                ("project/.claude/settings.json", off),
                ("project/.claude/settings.local.json", on),
            ],
            false,
        ),
        ("qwen-code", &[("project/.qwen/settings.json", off)], true),
        (
            "gemini-cli",
            &[("home/.gemini/settings.json", disabled)],
            true,
        ),
        (
            "gemini-cli",
            &[("project/.gemini/settings.json", disabled)],
            true,
        ),
        (
            "gemini-cli",
            &[(
                "project/.gemini/settings.json",
                "{\"hooksConfig\": {\"disabled\": [\"other\"]}}\n",
            )],
            false,
        ),
        (
            "claude-code",
            &[("project/.claude/settings.local.json", "{")],
            false,
        ),
    ] {
        let world = World::new();
        world.has_claude_code();
        for (file, text) in files {
            world.write(file, text);
        }
        world.install(agent);
        let advice = world.installed(agent, SettingsScope::User).advice;
        let is_told = advice.iter().any(|advice| advice.message.ends_with("off"));
        assert_eq!(is_told, told, "{agent}, {files:?}: {advice:?}");
    }
}

/// Settings that their agent does not read are told.
///
/// What the real programs do with each: those that do not read a file pass over all of it, or do not start.
#[test]
fn settings_unread_by_their_agent_are_reported() {
    let (plain, comments) = ("{\"a\": 1}\n", "{\n  // mine\n  \"a\": 1\n}\n");
    let (comma, mark) = ("{\n  \"a\": 1,\n}\n", "\u{feff}{\"a\": 1}\n");
    let read: [(&str, &str, &[&str]); 4] = [
        ("claude-code", CLAUDE, &[plain, mark]),
        ("codex", "home/.codex/hooks.json", &[plain]),
        (
            "gemini-cli",
            "home/.gemini/settings.json",
            &[plain, comments],
        ),
        (
            "qwen-code",
            "home/.qwen/settings.json",
            &[plain, comments, mark],
        ),
    ];
    for (agent, file, read) in read {
        for text in [plain, comments, comma, mark] {
            let world = World::new();
            world.write(file, text);
            let changes = world.install(agent);
            let is_told = |text: &str| text.contains("does not read a file like this");
            let noted = changes[0].notes.iter().any(|note| is_told(note));
            assert_eq!(noted, !read.contains(&text), "{agent}: {text}");
            let installed = world.installed(agent, SettingsScope::User);
            // Codex calls no hook before its user trusts it.
            let expected = match noted || agent == "codex" {
                true => Installation::Blocked,
                false => Installation::Installed,
            };
            assert_eq!(installed.state, expected, "{agent}: {text}");
            let told = installed
                .advice
                .iter()
                .any(|advice| is_told(&advice.message));
            assert_eq!(told, noted, "{agent}: {text}");
        }
    }
}

/// A time that is too short and another binary are told.
#[test]
fn short_timeout_and_another_binary_are_reported() {
    let world = World::new();
    for (agent, file) in [
        ("claude-code", "home/.claude/settings.json"),
        ("gemini-cli", "home/.gemini/settings.json"),
    ] {
        world.install(agent);
        let text = world.read(file);
        let hurried = text.replacen("\"timeout\": 30", "\"timeout\": 1", 1);
        world.write(file, &hurried);
        assert_eq!(
            world.state(agent),
            Installation::Hurried,
            "{agent} gives one event less time"
        );
        world.write(
            file,
            &text.replacen("\"timeout\": 30", "\"timeout\": 90", 1),
        );
        assert_eq!(
            world.state(agent),
            Installation::Outdated,
            "{agent}: more time is no harm, and yet not ours"
        );
        let other = world.executable("other/ckpt-hook");
        let here = world.path("bin/ckpt-hook");
        let elsewhere = text.replace(
            here.to_str().expect("plain"),
            other.to_str().expect("plain"),
        );
        world.write(file, &elsewhere);
        assert_eq!(
            world.state(agent),
            Installation::Elsewhere,
            "{agent} calls the other one"
        );
        world.install(agent);
        assert_eq!(
            world.state(agent),
            Installation::Installed,
            "{agent}: installing again mends it"
        );
    }
}

/// A plugin or script that calls what is not there is told.
#[test]
fn plugin_that_calls_a_missing_program_is_reported() {
    for agent in ["opencode", "kilo", "copilot-cli", "cline", "pi"] {
        let world = World::new();
        world.install(agent);
        fs::remove_file(world.path("bin/ckpt-hook")).expect("ours");
        assert_eq!(
            world.state(agent),
            Installation::Moved,
            "{agent} calls nothing"
        );
        let other = world.executable("other/ckpt-hook");
        let (home, project) = (world.path("home"), world.path("project"));
        let elsewhere = list(&place(&home, &project, &other));
        let row = elsewhere
            .iter()
            .find(|row| row.agent == agent)
            .expect("a row");
        assert_eq!(
            row.installed[0].state,
            Installation::Moved,
            "{agent}: also for a binary at another place"
        );
    }
}

/// Copilot is told to run Claude Code's hooks too.
#[test]
fn copilot_that_runs_claude_codes_hooks_is_reported() {
    let world = World::new();
    world.install("copilot-cli");
    assert_eq!(
        world.installed("copilot-cli", SettingsScope::User).advice,
        [],
        "alone it is well"
    );
    let project = |place: &SettingsPlace<'_>| {
        install("claude-code", SettingsScope::Project, place, DryRun::No).map(drop)
    };
    world.with_place(project).expect("it can be installed");
    let advice = world.installed("copilot-cli", SettingsScope::User).advice;
    assert!(
        advice
            .iter()
            .any(|advice| advice.message.contains(".claude")),
        "{advice:?}"
    );
}

/// A project that an agent does not trust is told and one that it trusts is not.
#[test]
fn only_an_untrusted_project_is_reported() {
    let world = World::new();
    let project = fs::canonicalize(world.path("project")).expect("it is there");
    let (project, above) = (
        project.display().to_string(),
        project
            .parent()
            .expect("not the root")
            .display()
            .to_string(),
    );
    let asks = "{\"security\": {\"folderTrust\": {\"enabled\": true}}}";
    let never = asks.replace("true", "false");
    let answer = |folder: &str, answer: &str| format!("{{\"{folder}\": \"{answer}\"}}");
    let both = format!("{{\"{above}\": \"TRUST_FOLDER\", \"{project}\": \"DO_NOT_TRUST\"}}");
    for (agent, file, text, is_told) in [
        (
            "gemini-cli",
            ".gemini/trustedFolders.json",
            "{}".to_owned(),
            true,
        ),
        (
            "gemini-cli",
            ".gemini/trustedFolders.json",
            answer("/elsewhere", "TRUST_FOLDER"),
            true,
        ),
        (
            "gemini-cli",
            ".gemini/trustedFolders.json",
            answer(&project, "TRUST_FOLDER"),
            false,
        ),
        (
            "gemini-cli",
            ".gemini/trustedFolders.json",
            answer(&format!("{above}/other"), "TRUST_PARENT"),
            false,
        ),
        ("gemini-cli", ".gemini/trustedFolders.json", both, true),
        ("gemini-cli", ".gemini/settings.json", never, false),
        ("qwen-code", ".qwen/settings.json", "{}".to_owned(), false),
        ("qwen-code", ".qwen/settings.json", asks.to_owned(), true),
        ("copilot-cli", ".copilot/config.json", "{}".to_owned(), true),
        (
            "copilot-cli",
            ".copilot/config.json",
            format!("{{\"trusted_folders\": [\"{above}\"]}}"),
            false,
        ),
        (
            "copilot-cli",
            ".copilot/config.json",
            format!("{{\"trustedFolders\": [\"{project}\"]}}"),
            false,
        ),
    ] {
        world.write(&format!("home/{file}"), &text);
        let install =
            |place: &SettingsPlace<'_>| install(agent, SettingsScope::Project, place, DryRun::No);
        let changes = world.with_place(install).expect("it can be installed");
        let notes: Vec<&String> = changes.iter().flat_map(|change| &change.notes).collect();
        let is_trust = |text: &str| text.contains("does not trust this project");
        assert_eq!(
            notes.iter().any(|note| is_trust(note)),
            is_told,
            "{agent} with {text}, at once: {notes:?}"
        );
        let advice = world.installed(agent, SettingsScope::Project).advice;
        assert_eq!(
            advice.iter().any(|advice| is_trust(&advice.message)),
            is_told,
            "{agent} with {text}: {advice:?}"
        );
        world
            .with_place(|place| uninstall(agent, SettingsScope::Project, place, DryRun::No))
            .expect("it can be taken out");
        fs::remove_file(world.path(&format!("home/{file}"))).expect("ours");
    }
}

/// The documentation has every agent with the versions that it was proven on.
#[test]
fn documentation_has_every_agents_proven_versions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents");
    let table = fs::read_to_string(folder.join("README.md")).expect("the table of all");
    for agent in World::new().with_place(list) {
        let versions = match agent.proven_on {
            [] => "its documentation only".to_owned(),
            versions => versions.join(", "),
        };
        let row = format!("({0}.md) | `{0}` | {versions} |", agent.agent);
        assert!(table.contains(&row), "the table has a row with `{row}`");
        let page = fs::read_to_string(folder.join(format!("{}.md", agent.agent)))
            .expect("a page for each agent");
        assert!(
            agent.proven_on.iter().all(|version| page.contains(version)),
            "{}: and its page says so",
            agent.agent
        );
        let is_marked = page.contains("**Written from its documentation");
        assert_eq!(
            is_marked,
            agent.proven_on.is_empty(),
            "{}: what nobody has seen is marked",
            agent.agent
        );
    }
}

/// Entries that were moved into the local settings of a project are kept there and found.
#[test]
fn entries_moved_into_local_settings_stay_there() {
    type Act = fn(&str, SettingsScope, &SettingsPlace<'_>, DryRun) -> Result<Vec<SettingsChange>>;
    let world = World::new();
    world.has_claude_code();
    let project = |act: Act| {
        let changes =
            world.with_place(|place| act("claude-code", SettingsScope::Project, place, DryRun::No));
        changes.expect("the settings are as they should be");
    };
    let (shared, local) = (
        world.path("project/.claude/settings.json"),
        world.path("project/.claude/settings.local.json"),
    );
    project(install);
    fs::rename(&shared, &local).expect("writable");
    let found = || world.installed("claude-code", SettingsScope::Project);
    assert_eq!(
        (found().state, found().file),
        (Installation::Installed, local.clone())
    );

    let known = world.with_place(projects);
    let moved = world.path("project");
    assert!(known.contains(&moved), "`uninstall --purge` looks there");

    project(install);
    assert!(!shared.exists(), "a second one would call the hook twice");
    fs::copy(&local, &shared).expect("writable");
    assert_eq!(found().state, Installation::Doubled, "both are called");
    project(install);
    assert_eq!(found().state, Installation::Installed);
    let text = fs::read_to_string(&local).unwrap_or_default();
    assert!(!text.contains("ckpt-hook"), "once is enough: {text}");

    fs::copy(&shared, &local).expect("writable");
    project(uninstall);
    assert!(!shared.exists() && !local.exists(), "both are taken out");
}

/// What may keep the hook from working is said by an install that changes nothing.
#[test]
fn install_that_changes_nothing_reports_obstacles() {
    let world = World::new();
    world.has_claude_code();
    let installed = || {
        let changes = world
            .with_place(|place| install("claude-code", SettingsScope::Project, place, DryRun::No))
            .expect("the settings are as they should be");
        let notes = changes.into_iter().flat_map(|change| change.notes);
        notes.collect::<Vec<String>>()
    };
    assert!(
        !installed().is_empty(),
        "at first, what is to be done is said"
    );
    assert_eq!(
        installed(),
        [""; 0],
        "nothing changed, and nothing is wrong"
    );
    let off = r#"{"disableAllHooks": true}"#;
    let local = world.path("project/.claude/settings.local.json");
    fs::write(local, off).expect("writable");
    let says = installed();
    let is_said = says.iter().any(|note| note.contains("disableAllHooks"));
    assert!(is_said, "hooks are off: {says:?}");
}
