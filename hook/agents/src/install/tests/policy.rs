//! What keeps a hook from being called although it is in the settings: rules of administrators, and sandboxes.

use super::*;

const OURS: &str = "/usr/bin/ckpt-hook event --agent claude-code --event Stop";

impl World {
    /// Returns the state of a trusted installation for the user, and what is said of it.
    fn judged(&self, agent: &str) -> (Installation, String) {
        match agent {
            "codex" => drop(self.install_trusted()),
            agent => drop(self.install(agent)),
        }
        let installed = self.installed(agent, SettingsScope::User);
        let advice = installed.advice.iter().filter(|advice| advice.stops);
        let messages: Vec<&str> = advice.map(|advice| advice.message.as_str()).collect();
        (installed.state, messages.join("; "))
    }
}

/// Invariant `agent/installed`.
#[test]
fn administrators_rule_or_sandbox_blocks_the_hook() {
    let cases = [
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"allowManagedHooksOnly": true}"#,
            "allowManagedHooksOnly",
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.d/10-x.json",
            r#"{"disableAllHooks": true}"#,
            "disableAllHooks",
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"strictPluginOnlyCustomization": true}"#,
            "strictPlugin",
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"strictPluginOnlyCustomization": ["skills", "hooks"]}"#,
            "strictPlugin",
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"strictPluginOnlyCustomization": "yes"}"#,
            "strictPlugin",
        ),
        (
            "claude-code",
            "home/.claude/remote-settings.json",
            r#"{"allowManagedHooksOnly": true}"#,
            "remote-settings.json",
        ),
        (
            "gemini-cli",
            "machine/etc/gemini-cli/settings.json",
            "{hooksConfig",
            "settings.json",
        ),
        (
            "codex",
            "machine/etc/codex/requirements.toml",
            "allow_managed_hooks_only = true\n",
            "allow_managed_hooks_only",
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"allowManagedHooksOnly": true"#,
            "managed-settings.json",
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.d/10-x.json",
            "allowManagedHooksOnly",
            "10-x.json",
        ),
        (
            "codex",
            "machine/etc/codex/requirements.toml",
            "[features]\nhooks = false\n",
            "features.hooks",
        ),
        (
            "codex",
            "machine/etc/codex/managed_config.toml",
            "[features]\ncodex_hooks = false\n",
            "features.codex_hooks",
        ),
        (
            "gemini-cli",
            "machine/etc/gemini-cli/settings.json",
            r#"{"hooksConfig": {"enabled": false}}"#,
            "hooksConfig.enabled",
        ),
        (
            "codex",
            "machine/etc/codex/requirements.toml",
            "not toml",
            "cannot be read",
        ),
        (
            "codex",
            "machine/etc/codex/managed_config.toml",
            "[features\n",
            "cannot be read",
        ),
        (
            "gemini-cli",
            "machine/etc/gemini-cli/system-defaults.json",
            r#"{"tools": {"sandbox": "docker"}}"#,
            "in a container",
        ),
        (
            "gemini-cli",
            "project/.gemini/settings.json",
            r#"{"tools": {"sandbox": {"enabled": true, "command": "podman"}}}"#,
            "in a container",
        ),
        (
            "qwen-code",
            "machine/etc/qwen-code/settings.json",
            r#"{"disableAllHooks": true}"#,
            "disableAllHooks",
        ),
        (
            "qwen-code",
            "project/.qwen/settings.json",
            r#"{"tools": {"sandbox": "docker"}}"#,
            "in a container",
        ),
        (
            "qwen-code",
            "machine/etc/qwen-code/settings.json",
            r#"{"tools": {"executionSandbox": {"filesystem": "read-only", "network": "open"}}}"#,
            "executionSandbox",
        ),
        (
            "copilot-cli",
            "project/.github/copilot/settings.json",
            r#"{"disableAllHooks": true}"#,
            "disableAllHooks",
        ),
        (
            "copilot-cli",
            "home/.copilot/settings.json",
            r#"{"disableAllHooks": true}"#,
            "disableAllHooks",
        ),
    ];
    for (agent, file, text, rule) in cases {
        let world = World::new();
        assert_eq!(world.judged(agent).0, Installation::Installed, "{agent}");
        world.write(file, text);
        let (state, said) = world.judged(agent);
        assert_eq!(state, Installation::Blocked, "{agent}: {file}: {text}");
        assert!(said.contains(rule), "{rule} is named: {said}");
        assert!(!world.agent(agent).works(), "{agent}: no event arrives");
    }
}

/// A rule that is not in force blocks nothing.
#[test]
fn rule_out_of_force_blocks_nothing() {
    let cases = [
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"allowManagedHooksOnly": false}"#,
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.json",
            r#"{"strictPluginOnlyCustomization": ["skills"]}"#,
        ),
        (
            "claude-code",
            "machine/etc/claude-code/managed-settings.d/.hidden.json",
            r#"{"disableAllHooks": true}"#,
        ),
        (
            "claude-code",
            "home/.claude/settings.json",
            r#"{"allowManagedHooksOnly": true}"#,
        ),
        (
            "codex",
            "machine/etc/codex/config.toml",
            "[features]\nhooks = true\n",
        ),
        (
            "gemini-cli",
            "project/.gemini/settings.json",
            r#"{"tools": {"sandbox": false}}"#,
        ),
        (
            "qwen-code",
            "project/.qwen/settings.json",
            r#"{"tools": {"executionSandbox": {"filesystem": "read-only"}}}"#,
        ),
    ];
    for (agent, file, text) in cases {
        let world = World::new();
        world.write(file, text);
        let judged = world.judged(agent);
        assert_eq!(
            judged.0,
            Installation::Installed,
            "{agent}: {text}: {judged:?}"
        );
    }
}

#[test]
fn the_file_that_wins_decides() {
    let world = World::new();
    world.write(
        "machine/etc/claude-code/managed-settings.json",
        r#"{"allowManagedHooksOnly": true}"#,
    );
    world.write(
        "machine/etc/claude-code/managed-settings.d/20-b.json",
        r#"{"allowManagedHooksOnly": false}"#,
    );
    assert_eq!(
        world.judged("claude-code").0,
        Installation::Installed,
        "a drop-in is later"
    );
    world.write(
        "machine/etc/claude-code/managed-settings.d/30-c.json",
        r#"{"disableAllHooks": true}"#,
    );
    assert_eq!(world.judged("claude-code").0, Installation::Blocked);
    world.write("home/.claude/remote-settings.json", r#"{"model": "x"}"#);
    assert_eq!(
        world.judged("claude-code").0,
        Installation::Installed,
        "the server's alone count"
    );
    world.write(
        "home/.claude/remote-settings.json",
        r#"{"managedSourcesBehavior": "merge"}"#,
    );
    assert_eq!(
        world.judged("claude-code").0,
        Installation::Blocked,
        "all count"
    );
    let project = "project/.codex/config.toml";
    world.write(project, "[features]\nhooks = false\n");
    let judged = |world: &World| world.judged("codex").0;
    assert_eq!(judged(&world), Installation::Installed, "not trusted");
    let config = world.read("home/.codex/config.toml");
    let trusted = world.path("project").display().to_string();
    let trusted = format!("{config}\n[projects.\"{trusted}\"]\ntrust_level = \"trusted\"\n");
    world.write("home/.codex/config.toml", &trusted);
    assert_eq!(judged(&world), Installation::Blocked, "a project's own");
    world.write(
        "machine/etc/codex/managed_config.toml",
        "[features]\nhooks = true\n",
    );
    assert_eq!(judged(&world), Installation::Installed, "managed");
    world.write("home/.qwen/settings.json", r#"{"disableAllHooks": true}"#);
    world.write(
        "machine/etc/qwen-code/settings.json",
        r#"{"disableAllHooks": false}"#,
    );
    assert_eq!(
        world.judged("qwen-code").0,
        Installation::Installed,
        "the administrator's wins"
    );
}

#[test]
fn what_an_administrator_installed_works_by_itself() {
    let hooks =
        format!(r#"{{"Stop": [{{"hooks": [{{"type": "command", "command": "{OURS}"}}]}}]}}"#);
    let cases = [
        (
            "claude-code",
            "etc/claude-code/managed-settings.json",
            format!(r#"{{"allowManagedHooksOnly": true, "hooks": {hooks}}}"#),
        ),
        (
            "claude-code",
            "etc/claude-code/managed-settings.json",
            r#"{"allowManagedHooksOnly": true, "enabledPlugins": {"ckpt-hook@ours": true}}"#
                .to_owned(),
        ),
        (
            "gemini-cli",
            "etc/gemini-cli/settings.json",
            format!(r#"{{"hooks": {hooks}}}"#),
        ),
        (
            "qwen-code",
            "etc/qwen-code/system-defaults.json",
            format!(r#"{{"hooks": {hooks}}}"#),
        ),
        (
            "copilot-cli",
            "etc/github-copilot/policy.d/ckpt-hook.json",
            format!(
                r#"{{"version": 1, "hooks": {{"agentStop": [{{"type": "command", "bash": "{OURS}"}}]}}}}"#
            ),
        ),
        (
            "codex",
            "etc/codex/requirements.toml",
            format!(
                "allow_managed_hooks_only = true\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"{OURS}\"\n"
            ),
        ),
    ];
    for (agent, file, text) in cases {
        let world = World::new();
        assert!(!world.agent(agent).works(), "{agent} has nothing yet");
        let file = world.write(&format!("machine/{file}"), &text);
        let state = world.agent(agent);
        assert_eq!(state.managed.as_deref(), Some(&*file), "{agent}");
        assert!(state.works() && state.obstacle().is_none(), "{agent}");
    }
    let world = World::new();
    let text = format!(r#"{{"disableAllHooks": true, "hooks": {hooks}}}"#);
    world.write("machine/etc/claude-code/managed-settings.json", &text);
    assert!(
        !world.agent("claude-code").works(),
        "its own switch turns it off"
    );
}

#[test]
fn a_package_is_blocked_as_the_settings_are() {
    let world = World::new();
    world.write(
        "home/.claude/settings.json",
        r#"{"enabledPlugins": {"ckpt-hook@x": true}}"#,
    );
    let managed = "machine/etc/claude-code/managed-settings.json";
    assert!(world.agent("claude-code").works());
    world.write(managed, r#"{"strictPluginOnlyCustomization": true}"#);
    assert!(world.agent("claude-code").works(), "a plugin may");
    world.write(managed, r#"{"allowManagedHooksOnly": true}"#);
    assert!(
        !world.agent("claude-code").works(),
        "only the administrator's"
    );
    fs::remove_file(world.path(managed)).expect("it was there");
    world.write(
        "home/.claude/settings.json",
        r#"{"disableAllHooks": true, "enabledPlugins": {"ckpt-hook@x": true}}"#,
    );
    assert!(!world.agent("claude-code").works(), "the user's switch");
}

/// A project's settings work only where the agent reads them.
#[test]
fn project_settings_work_only_where_they_are_read() {
    let world = World::new();
    let below = world.path("project/src");
    fs::create_dir(&below).expect("new");
    for (agent, reads_above) in [
        ("claude-code", false),
        ("gemini-cli", false),
        ("copilot-cli", true),
    ] {
        world.write(
            "home/.gemini/trustedFolders.json",
            &format!(
                r#"{{"{}": "TRUST_FOLDER"}}"#,
                world.path("project").display()
            ),
        );
        world.write(
            "home/.copilot/config.json",
            &format!(
                r#"{{"trusted_folders": ["{}"]}}"#,
                world.path("project").display()
            ),
        );
        world.with_place(|place| {
            install(agent, SettingsScope::Project, place, DryRun::No).expect("it can be");
            let state = |start| {
                let rows = list(&SettingsPlace { start, ..*place });
                let row = rows.into_iter().find(|row| row.agent == agent);
                row.expect("a row").installed[1].state
            };
            assert_eq!(state(place.project), Installation::Installed, "{agent}");
            let there = state(&below);
            assert_eq!(there.works(), reads_above, "{agent}: {there:?}");
        });
    }
}

/// Another profile is found and the one in use is none.
#[test]
fn another_profile_is_found() {
    let world = World::new();
    world.install("claude-code");
    let profiles = || world.with_place(profiles);
    assert!(profiles().is_empty(), "only the usual one");
    let text = world.read(CLAUDE);
    world.write("home/.claude-work/settings.json", &text);
    world.write("home/.claude-empty/settings.json", "{}");
    let found = profiles();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].folder, world.path("home/.claude-work"));
    world
        .with_place(|place| {
            found[0].with(place, |place| {
                uninstall("claude-code", SettingsScope::User, place, DryRun::No)
            })
        })
        .expect("it can be");
    assert!(profiles().is_empty(), "it is gone from there");
    assert_eq!(world.read(CLAUDE), text, "and nowhere else");
}
