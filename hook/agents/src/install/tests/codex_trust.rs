//! Codex's trust in the hook.

use expect_test::expect;

use super::*;
use crate::settings::content::SettingsContent;
use crate::settings::hook_table;

const CODEX: &str = "# mine\nmodel = 'gpt' # the good one\n\n[hooks.state.\"/other/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n\n[projects.\"/w\"]\ntrust_level   =  \"trusted\"\n";

/// Codex is told to trust the hook only where that is asked for.
#[test]
fn codex_trusts_the_hook_only_on_request() {
    let world = World::new();
    world.write("home/.codex/config.toml", CODEX);
    let changes = world.install("codex");
    assert!(
        changes
            .iter()
            .all(|change| !change.file.ends_with("config.toml")),
        "only the table of hooks"
    );
    assert!(
        changes[0].notes[0].contains("--trust"),
        "the user is told what is missing: {:?}",
        changes[0].notes
    );
    assert_eq!(
        world.read("home/.codex/config.toml"),
        CODEX,
        "nobody's trust is touched"
    );
    let changes = world.install_trusted();
    let changed: Vec<&str> = changes
        .iter()
        .filter(|change| change.action != "unchanged")
        .map(|change| change.file.as_str())
        .collect();
    assert!(
        changed.len() == 1 && changed[0].ends_with("config.toml"),
        "now the trust, too: {changed:?}"
    );
    assert_eq!(
        world.installed("codex", SettingsScope::User).advice,
        [],
        "nothing is missing any more"
    );
}

/// Only a trust that is there is called one.
#[test]
fn only_a_present_trust_is_called_one() {
    let world = World::new();
    world.write("home/.codex/config.toml", CODEX);
    world.install("codex");
    let notes =
        |changes: &[SettingsChange]| changes.last().expect("the trust comes last").notes.clone();
    let plan = |place: &SettingsPlace<'_>| {
        install(
            "codex",
            SettingsScope::User,
            &SettingsPlace {
                trust: true,
                ..*place
            },
            DryRun::Yes,
        )
    };
    let planned = world.with_place(plan).expect("it can be installed");
    assert_eq!(
        notes(&planned),
        ["Codex would trust the hook without a review"],
        "a plan"
    );
    assert_eq!(
        notes(&world.install_trusted()),
        ["Codex trusts the hook now without a review"],
        "done"
    );
    assert_eq!(
        notes(&world.uninstall("codex")),
        [""; 0],
        "and taken out again"
    );
}

/// Codex's settings keep every byte when the trust goes.
#[test]
fn codexs_settings_keep_every_byte_without_the_trust() {
    for text in [
        CODEX,
        &CODEX.replace('\n', "\r\n"),
        &format!("\u{feff}{CODEX}"),
        "",
        "model = \"gpt\"\n",
        "[hooks]\n\n[features]\nhooks = true\n",
    ] {
        let world = World::new();
        world.write("home/.codex/config.toml", text);
        world.install_trusted();
        let after = world.read("home/.codex/config.toml");
        assert!(
            after
                .replace('\r', "")
                .contains("pre_model_request:0:0\"]\ntrusted_hash = \"sha256:"),
            "{after}"
        );
        assert_eq!(
            after.starts_with('\u{feff}'),
            text.starts_with('\u{feff}'),
            "nor while it is there"
        );
        world.uninstall("codex");
        let rest = fs::read_to_string(world.path("home/.codex/config.toml")).unwrap_or_default();
        assert_eq!(rest, text, "as it was");
    }
}

/// Settings of Codex that cannot be kept as they are are left alone.
#[test]
fn unkeepable_settings_of_codex_are_left_alone() {
    for text in [
        "a = 1\r\nb = 2\n",
        "a = ",
        "hooks = 1\n",
        "[hooks]\nstate = []\n",
    ] {
        let world = World::new();
        world.write("home/.codex/config.toml", text);
        let trusted = |place: &SettingsPlace<'_>| {
            install(
                "codex",
                SettingsScope::User,
                &SettingsPlace {
                    trust: true,
                    ..*place
                },
                DryRun::No,
            )
        };
        let error = world.with_place(trusted).expect_err("refused");
        assert!(
            error.to_string().contains("config.toml"),
            "the error names the file: {error}"
        );
        assert!(
            error.causes().iter().all(|cause| !cause.contains('\n')),
            "in one line: {error:?}"
        );
        assert_eq!(
            files_below(&world.path("home")),
            [".codex/config.toml"],
            "neither of the two files was written"
        );
        assert_eq!(
            world.read("home/.codex/config.toml"),
            text,
            "it is as it was"
        );
    }
}

#[test]
fn the_hash_is_the_one_that_codex_makes() {
    let line = "test -x /usr/local/bin/ckpt-hook && /usr/local/bin/ckpt-hook event --agent codex --event PreModelRequest 2>/dev/null || true";
    let hooks = serde_json::json!({"hooks": {"PreModelRequest": [{"hooks": [{"type": "command", "command": line, "timeout": 30}]}]}});
    let positions = hook_table::positions(&hooks.to_string()).expect("a table of hooks");
    let trust = crate::codex::trust::Trust::in_handlers(Path::new("/h/hooks.json"), &positions);
    let text = trust.insert("").expect("TOML");
    expect![[r#"
        [hooks.state."/h/hooks.json:pre_model_request:0:0"]
        trusted_hash = "sha256:26ce82bd357e958ed0a3adb3d420331e20b8ad816d6e74be24e97ff8f756e562"
    "#]]
    .assert_eq(&text);
    assert!(
        text.contains("sha256:26ce82bd357e958ed0a3adb3d420331e20b8ad816d6e74be24e97ff8f756e562"),
        "as Codex 0.169.0 lists it"
    );
}

/// A project that Codex does not trust is told.
#[test]
fn untrusted_project_of_codex_is_reported() {
    let world = World::new();
    let trusting = |place: &SettingsPlace<'_>| {
        install(
            "codex",
            SettingsScope::Project,
            &SettingsPlace {
                trust: true,
                ..*place
            },
            DryRun::No,
        )
    };
    world.with_place(trusting).expect("it can be installed");
    let messages = || {
        world
            .installed("codex", SettingsScope::Project)
            .advice
            .into_iter()
            .map(|advice| advice.message)
    };
    assert!(
        messages().any(|message| message.contains("this project")),
        "its hooks are passed over"
    );
    let config = world.read("home/.codex/config.toml");
    let trusted = format!(
        "{config}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        world.path("project").display()
    );
    world.write("home/.codex/config.toml", &trusted);
    assert_eq!(messages().count(), 0, "now they are not");
}

/// Hooks that are switched off in Codex's settings are told and stay so.
#[test]
fn switched_off_hooks_of_codex_are_reported() {
    let config = "home/.codex/config.toml";
    let messages = |world: &World| -> Vec<String> {
        let advice = world.installed("codex", SettingsScope::User).advice;
        advice.into_iter().map(|advice| advice.message).collect()
    };
    for name in ["hooks", "codex_hooks"] {
        let world = World::new();
        world.write(config, &format!("[features]\n{name} = false\n"));
        world.install_trusted();
        assert_eq!(
            messages(&world),
            [format!("`features.{name}` turns every hook off")],
            "what is installed is never called"
        );
    }
    let world = World::new();
    world.install_trusted();
    let text = world.read(config);
    let off = text.replacen("trusted_hash", "enabled = false\ntrusted_hash", 1);
    world.write(config, &off);
    let told = ["Codex skips hooks of ours that are switched off"];
    assert_eq!(messages(&world), told, "one of them is not called");
    world.install_trusted();
    assert_eq!(world.read(config), off, "the user's switch stays");
    assert_eq!(messages(&world), told, "and is told");
}

/// A trust that is there is not written again.
#[test]
fn present_trust_is_not_written_again() {
    for text in [
        "hooks = { state = { } }\n",
        "[hooks]\nstate = {}\n",
        "model = \"gpt\"\n",
    ] {
        let world = World::new();
        world.write("home/.codex/config.toml", text);
        world.install_trusted();
        let once = world.read("home/.codex/config.toml");
        let again = world.install_trusted();
        let action = |change: &SettingsChange| change.action == "unchanged";
        assert!(again.iter().all(action), "{text}: {again:?}");
        assert_eq!(world.read("home/.codex/config.toml"), once, "{text}");
    }
}
