//! `config`: what is set, where that comes from, and changing it.

use ckpt_schema::report::{ConfigReport, SettingReport, SettingSource};

use testing::binary::Sandbox;

fn setting(world: &Sandbox, key: &str) -> SettingReport {
    let report: ConfigReport =
        serde_json::from_value(world.json(&["config"])).expect("the document's shape");
    let found = report
        .settings
        .into_iter()
        .find(|setting| setting.key == key);
    found.expect("every setting is listed")
}

fn file(world: &Sandbox) -> String {
    let path = world.home().join(".config/ckpt-hook/config.toml");
    std::fs::read_to_string(path).expect("the settings")
}

#[test]
fn every_setting_says_where_its_value_comes_from() {
    let world = Sandbox::new();
    let here = world.workspace().display().to_string();
    world.configure(&format!(
        "tell_agent = false\nkeep = \"10 days\"\n[workspaces.\"{here}\"]\nkeep = \"20 days\"\n"
    ));
    let found = |key: &str| {
        let setting = setting(&world, key);
        (setting.value, setting.source, setting.place)
    };
    assert_eq!(
        found("durability"),
        ("\"objects\"".into(), SettingSource::Default, None)
    );
    assert_eq!(
        found("tell_agent"),
        ("false".into(), SettingSource::File, None)
    );
    assert_eq!(
        found("keep"),
        ("\"20 days\"".into(), SettingSource::Workspace, Some(here))
    );
    let place = Some("CKPT_HOOK_HOME".to_owned());
    let store = found("(store)");
    assert_eq!((store.1, store.2), (SettingSource::Environment, place));
    let mut disabled = world.command(&["config", "get", "enabled"]);
    let run = testing::binary::finish(disabled.env("CKPT_HOOK_DISABLE", "1"), b"").exits(0);
    assert_eq!(run.stdout, "false\n", "the environment comes first");
    let option = world.run(&["config", "--store", "elsewhere"], b"").exits(0);
    assert!(
        option.stdout.contains("--store"),
        "and an option before it: {option}"
    );
}

/// A setting is set got and unset and what else is in the file stays.
#[test]
fn setting_is_set_got_and_unset() {
    let world = Sandbox::new();
    let text = "# mine\ntell_agent = false # slow disk\n";
    world.configure(text);
    let run = world
        .run(&["config", "set", "tell_agent", "true"], b"")
        .exits(0);
    assert!(
        run.stdout.contains("tell_agent is now true, and was false"),
        "{run}"
    );
    assert_eq!(file(&world), text.replace("false", "true"), "comments stay");
    world
        .run(&["config", "set", "record_prompts", "title"], b"")
        .exits(0);
    let got = world
        .run(&["config", "get", "record_prompts"], b"")
        .exits(0);
    assert_eq!(got.stdout, "title\n", "bare, for scripts");
    let change = world.json(&["config", "unset", "record_prompts"]);
    assert_eq!(
        (change["former"].as_str(), change["value"].as_str()),
        (Some("\"title\""), None),
        "{change}"
    );
    world
        .run(&["config", "set", "tell_agent", "false"], b"")
        .exits(0);
    assert_eq!(file(&world), text, "nothing is left of it");
}

/// A key that is no setting any more can be taken out of the file, and `doctor` says how.
#[test]
fn unknown_key_in_the_file_is_unset() {
    let world = Sandbox::new();
    let here = world.workspace().display().to_string();
    let text = format!(
        "scope = \"turn\"\n# mine\nkeep = \"9 days\"\n[seed]\nfrom = 1\n[workspaces.\"{here}\"]\ntool_events = false\n"
    );
    world.configure(&text);
    let doctor = world.run(&["doctor"], b"");
    for command in [
        "`ckpt-hook config unset scope` removes it".to_owned(),
        format!("`ckpt-hook config unset tool_events --workspace {here}` removes it"),
    ] {
        let told = doctor.stdout.split_whitespace().collect::<Vec<_>>();
        assert!(told.join(" ").contains(&command), "{command}: {doctor}");
    }
    let change = world.json(&["config", "unset", "scope"]);
    assert_eq!(change["former"].as_str(), Some("\"turn\""), "{change}");
    let change = world.json(&["config", "unset", "seed"]);
    assert_eq!(change["former"].as_str(), Some("{ from = 1 }"), "{change}");
    let place = ["config", "unset", "tool_events", "--workspace", &here];
    world.run(&place, b"").exits(0);
    let left = format!("# mine\nkeep = \"9 days\"\n[workspaces.\"{here}\"]\n");
    assert_eq!(file(&world), left, "what else is in the file stays");
    world.run(&["config", "unset", "scope"], b"").exits(2);
    let sections = world.run(&["config", "unset", "workspaces"], b"").exits(2);
    assert_eq!(file(&world), left, "not all sections at once: {sections}");
}

#[test]
fn a_workspaces_setting_is_for_it_alone() {
    let world = Sandbox::new();
    let secret = world.path("secret");
    std::fs::create_dir(&secret).expect("writable");
    let place = secret.to_str().expect("a plain path");
    world
        .run(
            &["config", "set", "enabled", "false", "--workspace", place],
            b"",
        )
        .exits(0);
    let there = world.run(&["config", "get", "enabled", "--workspace", place], b"");
    assert_eq!(there.exits(0).stdout, "false\n");
    assert_eq!(setting(&world, "enabled").value, "true", "and not here");
    world
        .run(&["config", "unset", "enabled", "--workspace", place], b"")
        .exits(0);
    let there = world.run(&["config", "get", "enabled", "--workspace", place], b"");
    assert_eq!(there.exits(0).stdout, "true\n");
}

/// A setting or a value that is none ends with 2 and says what there is.
#[test]
fn unknown_setting_or_value_exits_with_2() {
    let world = Sandbox::new();
    for (arguments, hint) in [
        (
            &["config", "set", "colour", "red"][..],
            "the settings are enabled, include,",
        ),
        (
            &["config", "get", "colour"],
            "the settings are enabled, include,",
        ),
        (
            &["config", "unset", "colour"],
            "the settings are enabled, include,",
        ),
        (
            &["config", "set", "durability", "all"],
            "`\"objects\"` or `\"full\"`",
        ),
        (&["config", "set", "max_file_size", "much"], "a size like"),
        (&["config", "set", "tell_agent", "1"], "`true` or `false`"),
    ] {
        let run = world.run(arguments, b"").exits(2);
        assert!(run.stderr.contains(hint), "{arguments:?}: {run}");
    }
    assert!(
        !world.home().join(".config").exists(),
        "and nothing is written"
    );
}

/// A file that is no toml is left alone.
#[test]
fn file_without_toml_is_left_alone() {
    let world = Sandbox::new();
    world.configure("secret words\n");
    let run = world
        .run(&["config", "set", "tell_agent", "true"], b"")
        .exits(1);
    assert!(!run.stderr.contains("secret"), "and not quoted: {run}");
    assert_eq!(file(&world), "secret words\n");
    let list = world.run(&["config"], b"").exits(0);
    assert!(
        list.stdout.contains("cannot understand the settings"),
        "{list}"
    );
}

/// A settings file behind a link stays behind it.
#[test]
fn linked_settings_file_stays_linked() {
    let world = Sandbox::new();
    world.configure("tell_agent = false\n");
    let link = world.home().join(".config/ckpt-hook/config.toml");
    let dotfiles = world.home().join("dotfiles.toml");
    std::fs::rename(&link, &dotfiles).expect("writable");
    std::os::unix::fs::symlink(&dotfiles, &link).expect("writable");
    world
        .run(&["config", "set", "tell_agent", "true"], b"")
        .exits(0);
    assert!(link.is_symlink(), "people keep their settings elsewhere");
    assert_eq!(
        std::fs::read_to_string(dotfiles).expect("there"),
        "tell_agent = true\n"
    );
}

/// Settings behind a link that leads nowhere are no defaults in silence.
#[test]
fn dangling_link_to_settings_is_reported() {
    for is_folder in [false, true] {
        let world = Sandbox::new();
        let folder = world.home().join(".config/ckpt-hook");
        let link = if is_folder {
            std::fs::create_dir_all(world.home().join(".config")).expect("ours");
            folder
        } else {
            std::fs::create_dir_all(&folder).expect("ours");
            folder.join("config.toml")
        };
        std::os::unix::fs::symlink("/nowhere/dotfiles", &link).expect("ours");
        let config = world.json(&["config"]);
        let problems = config["problems"].to_string();
        assert!(
            problems.contains("symlink to something that is not there"),
            "{problems}"
        );
        let doctor = world.run(&["doctor"], b"");
        assert!(
            doctor.stdout.contains("cannot read the settings"),
            "{doctor}"
        );
        let event = serde_json::json!({"event": "user_message", "session_id": "s", "prompt": "p"});
        world.event(event).ends_silently();
    }
}
