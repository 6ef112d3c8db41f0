//! `install`, `uninstall` and what `doctor` says about them, as people meet them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;

use testing::binary::{Sandbox, finish};

/// All installs into the agents that are there and says which are not.
#[test]
fn all_installs_into_present_agents() {
    let world = Sandbox::new();
    fs::create_dir_all(world.home().join(".claude")).expect("writable");
    fs::create_dir_all(world.home().join(".qwen")).expect("writable");
    let run = world.run(&["install", "--all"], b"").exits(0);
    for there in [".claude/settings.json", ".qwen/settings.json"] {
        assert!(
            world.home().join(there).exists(),
            "{there} is written: {run}"
        );
    }
    assert!(
        !world.home().join(".gemini").exists(),
        "what is not there is not made: {run}"
    );
    assert!(
        run.stdout
            .contains("left out (-v says why): codex, gemini-cli, "),
        "and it is reported: {run}"
    );
    let run = world.run(&["uninstall", "--all"], b"").exits(0);
    assert!(
        !world.home().join(".claude/settings.json").exists(),
        "it was ours alone: {run}"
    );
    assert!(
        run.stdout.contains("left out (-v says why): codex, "),
        "and the rest: {run}"
    );
}

/// Where no agent is found all says what to do.
#[test]
fn all_without_agents_says_what_to_do() {
    let world = Sandbox::new();
    let run = world.run(&["install", "--all"], b"").exits(0);
    assert!(
        run.stdout.ends_with(
            "hint: no agent was found that needs the hook: name one to install it in advance\n"
        ),
        "{run}"
    );
    let run = world.run(&["uninstall", "--all"], b"").exits(0);
    assert!(
        !run.stdout.contains("hint: "),
        "there is nothing to do: {run}"
    );
    let run = world.run(&["install", "cursor"], b"").exits(1);
    assert!(
        run.stderr
            .contains("hint: docs/agents/cursor.md has the lines to add by hand"),
        "{run}"
    );
}

/// Settings that cannot be edited do not keep the other agents from theirs.
#[test]
fn uneditable_settings_stop_no_other_agent() {
    let world = Sandbox::new();
    fs::create_dir_all(world.home().join(".claude")).expect("writable");
    fs::write(world.home().join(".claude/settings.json"), "{ broken").expect("writable");
    let run = world
        .run(&["install", "claude-code", "gemini-cli"], b"")
        .exits(3);
    assert!(
        world.home().join(".gemini/settings.json").exists(),
        "the other one is done: {run}"
    );
    assert!(
        run.stdout.contains("claude-code: failed"),
        "and this one is reported: {run}"
    );
    let text = fs::read_to_string(world.home().join(".claude/settings.json")).expect("it is there");
    assert_eq!(text, "{ broken", "it was left alone");
    world.run(&["install", "claude-code"], b"").exits(1);
    let run = world
        .run(&["install", "gemini-cli", "nobody"], b"")
        .exits(2);
    assert!(
        run.stderr.contains("nobody") && run.stderr.contains("it can be installed into"),
        "before anything is touched: {run}"
    );
}

/// A program of another name is refused for its hooks would not be found again.
#[test]
fn program_of_another_name_is_refused() {
    let world = Sandbox::new();
    let program = world.path("ckpt-hook-linux");
    testing::executable::copy(testing::binary::binary().as_ref(), &program);
    let mut command = std::process::Command::new(&program);
    command
        .args(["install", "claude-code"])
        .env_clear()
        .env("HOME", world.home())
        .env("CKPT_HOOK_HOME", world.store())
        .current_dir(world.workspace());
    let run = testing::binary::finish(&mut command, b"").exits(1);
    assert!(
        run.stderr.contains("hint: rename it to `ckpt-hook`"),
        "it says what to do: {run}"
    );
    assert!(!world.home().join(".claude").exists(), "nothing was done");
}

/// Uninstall of all says where else the hook is.
#[test]
fn uninstall_of_all_names_other_places() {
    let world = Sandbox::new();
    world
        .run(&["install", "claude-code", "--project"], b"")
        .exits(0);
    let run = world.run(&["uninstall", "--all"], b"").exits(0);
    let told = "claude-code: left out: the hook is in this project's settings alone\n  hint: `ckpt-hook uninstall claude-code --project` removes it there";
    assert!(run.stdout.contains(told), "{run}");
    world.run(&["install", "gemini-cli"], b"").exits(0);
    let run = world
        .run(&["uninstall", "--all", "--project"], b"")
        .exits(0);
    let told = "gemini-cli: left out: the hook is not in this project's settings, but in your own\n  hint: `ckpt-hook uninstall gemini-cli` removes it there";
    assert!(run.stdout.contains(told), "{run}");
}

#[test]
fn uninstall_says_where_the_hook_still_is() {
    let world = Sandbox::new();
    let settings = world.home().join(".copilot/settings.json");
    fs::create_dir_all(world.home().join(".copilot")).expect("writable");
    for scope in ["--user", "--project"] {
        world.run(&["install", "claude-code", scope], b"").exits(0);
        world.run(&["install", "copilot-cli", scope], b"").exits(0);
    }
    fs::write(&settings, "{\"enabledPlugins\": {\"ckpt-hook@x\": true}}\n").expect("writable");
    let package = format!(
        "note: the hook is still installed as a package, according to `{}`",
        settings.display()
    );
    let project = |agent: &str| {
        format!(
            "note: the hook is still in this project's settings: `ckpt-hook uninstall {agent} --project`"
        )
    };
    // In a plan, when it is done, and where nothing had to be done any more.
    for option in [&["--dry-run"][..], &[], &[]] {
        let agents = ["uninstall", "claude-code", "copilot-cli"];
        let run = world.run(&[&agents[..], option].concat(), b"").exits(0);
        for told in [&project("claude-code"), &project("copilot-cli"), &package] {
            assert!(run.stdout.contains(told), "{told}: {run}");
        }
    }
    let run = world
        .run(&["uninstall", "claude-code", "--project"], b"")
        .exits(0);
    assert!(!run.stdout.contains("still"), "now it is gone: {run}");
    world.run(&["install", "claude-code"], b"").exits(0);
    let run = world
        .run(&["uninstall", "--all", "--purge", "--yes"], b"")
        .exits(0);
    let told = run.stdout.contains("still in");
    assert!(!told, "all of them are taken out: {run}");
}

#[test]
fn the_list_shows_every_agent_in_one_table() {
    let world = Sandbox::new();
    fs::create_dir_all(world.home().join(".claude")).expect("writable");
    world.run(&["install", "claude-code"], b"").exits(0);
    world
        .run(&["install", "gemini-cli", "--project"], b"")
        .exits(0);
    expect![[r#"
        agent        on this machine  user       project  proven on
        claude-code  yes              installed  -        2.1.332
        codex        no               -          -        0.171.0
        gemini-cli   no               -          blocked  0.61.0
        qwen-code    no               -          -        0.24.4
        copilot-cli  no               -          -        1.0.102
        opencode     no               -          -        1.18.33
        kilo         no               -          -        7.7.7
        cline        no               -          -        3.0.65
        pi           no               -          -        1.6.0
        windsurf     -                by hand    by hand  its documentation only
        grok         no               -          -        1.0.41
        kimi-code    no               -          -        2.1.0
        codebuddy    no               -          -        2.163.0
        cursor       -                by hand    by hand  its documentation only
        droid        -                by hand    by hand  0.225.2
        goose        -                by hand    by hand  its documentation only
        vscode       -                by hand    by hand  its documentation only
        qoder        -                by hand    by hand  its documentation only
        auggie       -                by hand    by hand  its documentation only
        openhands    -                by hand    by hand  its documentation only
        kiro         -                by hand    by hand  its documentation only
        antigravity  -                by hand    by hand  its documentation only
        note: claude-code: the version of Claude Code is unknown, so each message is recorded as one step: put `claude` on the PATH, and run `ckpt-hook install claude-code` again
        note: gemini-cli: Gemini CLI does not trust this project, and skips its hooks: run `gemini` in the project and trust it, or install with `--user`
    "#]]
    .assert_eq(&world.run(&["install", "--list"], b"").exits(0).stdout);
}

/// Doctor says what is missing and doubled and what to do.
#[test]
fn doctor_names_missing_and_doubled_hooks() {
    let world = Sandbox::new();
    fs::create_dir_all(world.home().join(".gemini")).expect("writable");
    world.run(&["install", "claude-code"], b"").exits(0);
    world
        .run(&["install", "claude-code", "--project"], b"")
        .exits(0);
    world.configure("hook_deadline = \"1 minute\"\n");
    let run = world.run(&["doctor"], b"").exits(0);
    for line in [
        "! claude-code: both your own and the project's settings call it: every event may come twice",
        "hint: `ckpt-hook uninstall claude-code --project` leaves the one for every project",
        "- gemini-cli: it is on this machine (`",
        "hint: `ckpt-hook install gemini-cli`",
        "! hook: `hook_deadline` is 60 s, but agents wait for at most 30 s",
    ] {
        assert!(run.stdout.contains(line), "`{line}` is reported: {run}");
    }
    let settings = world.home().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).expect("it is there");
    fs::write(&settings, text.replace("/ckpt-hook ", "/gone/ckpt-hook ")).expect("writable");
    let run = world.run(&["doctor"], b"").exits(1);
    assert!(
        run.stdout
            .contains("✗ claude-code: it calls a program that does not exist"),
        "an error: {run}"
    );
}

/// Doctor tells each way in which a hook is not called as it should be and what to do.
#[test]
fn doctor_names_each_broken_hook() {
    let world = Sandbox::new();
    std::fs::create_dir_all(world.workspace().join(".git")).expect("writable");
    let settings = world.home().join(".claude/settings.json");
    let install = |arguments: &[&str]| world.run(&[&["install"], arguments].concat(), b"").exits(0);
    let told = |lines: &[&str], code: i32| {
        let run = world.run(&["doctor"], b"").exits(code);
        for line in lines {
            assert!(run.stdout.contains(line), "`{line}` is reported: {run}");
        }
    };
    told(
        &[
            "! hook: it is not installed in any agent's settings",
            "hint: `ckpt-hook install --all`",
        ],
        0,
    );

    install(&["claude-code"]);
    let text = fs::read_to_string(&settings).expect("it is there");
    let again = "hint: `ckpt-hook install claude-code` rewrites it";
    let change =
        |from: &str, to: &str| fs::write(&settings, text.replacen(from, to, 1)).expect("writable");
    change("\"SessionStart\"", "\"SessionBegin\"");
    told(
        &["! claude-code: not what would be installed now in `", again],
        0,
    );
    change("\"timeout\": 30", "\"timeout\": 1");
    told(
        &[
            "! claude-code: the agent's timeout is shorter than the hook may take in `",
            again,
        ],
        0,
    );
    change("\"hooks\": {", "\"disableAllHooks\": true,\n  \"hooks\": {");
    told(
        &[
            "! claude-code: `disableAllHooks` turns every hook off",
            "hint: remove it from `",
        ],
        0,
    );
    let group = &text[text.find("{\n        \"hooks\"").expect("a group")
        ..text.find("\n    ],").expect("its end")];
    change(group, &format!("{group},\n      {group}"));
    told(
        &[
            "! claude-code: an event calls it more than once in `",
            again,
        ],
        0,
    );
    fs::copy(testing::binary::binary(), world.path("ckpt-hook")).expect("writable");
    let other = text.replace(
        testing::binary::binary(),
        world.path("ckpt-hook").to_str().expect("a plain path"),
    );
    fs::write(&settings, &other).expect("writable");
    told(
        &["! claude-code: it calls a different ckpt-hook in `", again],
        0,
    );
    fs::remove_file(world.path("ckpt-hook")).expect("ours");
    told(
        &[
            "✗ claude-code: it calls a program that does not exist or cannot be executed in `",
            again,
        ],
        1,
    );
    fs::write(&settings, "{ broken").expect("writable");
    told(
        &[
            "✗ claude-code: the settings cannot be read in `",
            "hint: correct the file: as it is, nothing can be put into it",
        ],
        1,
    );
    fs::remove_file(&settings).expect("ours");

    install(&["claude-code", "--project"]);
    install(&["copilot-cli", "codex"]);
    install(&["gemini-cli", "--project"]);
    told(
        &[
            "! copilot-cli: Copilot CLI also runs the hooks of `",
            "hint: `ckpt-hook uninstall claude-code --project`, and `ckpt-hook install claude-code` instead",
            "! codex: Codex skips a hook until you trust it",
            "hint: run `/hooks` in Codex, or `ckpt-hook install codex --trust`",
            "! gemini-cli: Gemini CLI does not trust this project, and skips its hooks",
            "hint: run `gemini` in the project and trust it, or install with `--user`",
        ],
        0,
    );
}

/// Puts a program on the PATH that says its version, and returns that PATH.
fn with_program(world: &Sandbox, name: &str, says: &str) -> String {
    let folder = world.path("programs");
    fs::create_dir_all(&folder).expect("writable");
    let program = folder.join(name);
    fs::write(&program, format!("#!/bin/sh\necho '{says}'\n")).expect("writable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("writable");
    format!("{}:/usr/bin:/bin", folder.display())
}

/// A version that records nothing is named when it is installed and by doctor and in the list.
#[test]
fn version_that_records_nothing_is_named_everywhere() {
    let world = Sandbox::new();
    for (agent, program, says, told) in [
        (
            "codex",
            "codex",
            "codex-cli 0.100.0",
            "Codex 0.100.0 records nothing: it does not call our hooks",
        ),
        (
            "gemini-cli",
            "gemini",
            "0.25.0",
            "Gemini CLI 0.25.0 records nothing: it does not call our hooks",
        ),
        (
            "claude-code",
            "claude",
            "2.1.100 (Claude Code)",
            "Claude Code 2.1.100 does not report where a step ends",
        ),
    ] {
        let path = with_program(&world, program, says);
        for arguments in [&["install", agent][..], &["doctor"], &["install", "--list"]] {
            let run = finish(world.command(arguments).env("PATH", &path), b"").exits(0);
            assert!(run.stdout.contains(told), "{arguments:?} says so: {run}");
        }
    }
}

/// The versions of all agents are asked for at once.
///
/// Each of two programs says its version only while the other one is being asked: one after the other, the first would say nothing.
#[test]
fn agents_versions_are_asked_at_once() {
    let world = Sandbox::new();
    let folder = world.path("asked");
    let asked = |name: &str| folder.join(name).display().to_string();
    let waits = |name: &str, other: &str| {
        let (own, other) = (asked(name), asked(other));
        format!("' && : >'{own}' && until [ -e '{other}' ]; do sleep .1; done && echo '0.25.0")
    };
    with_program(&world, "codex", &waits("codex", "gemini"));
    let path = with_program(&world, "gemini", &waits("gemini", "codex"));
    for arguments in [
        &["install", "--all"][..],
        &["doctor"],
        &["install", "--list"],
    ] {
        fs::create_dir_all(&folder).expect("writable");
        for name in ["codex", "gemini"] {
            let _ = fs::remove_file(folder.join(name));
        }
        let run = finish(world.command(arguments).env("PATH", &path), b"").exits(0);
        for told in ["Codex 0.25.0 records nothing", "Gemini CLI 0.25.0 records"] {
            assert!(run.stdout.contains(told), "{arguments:?}: {run}");
        }
    }
}

/// A quiet install says nothing unless something is wrong.
#[test]
fn quiet_install_speaks_only_of_trouble() {
    let world = Sandbox::new();
    for command in ["install", "uninstall"] {
        for arguments in [
            &["-q", command, "claude-code"][..],
            &[command, "-q", "claude-code"],
        ] {
            world.run(arguments, b"").ends_silently();
        }
    }
    fs::create_dir_all(world.home().join(".claude")).expect("writable");
    fs::write(world.home().join(".claude/settings.json"), "{ broken").expect("writable");
    let run = world
        .run(&["-q", "install", "claude-code", "gemini-cli"], b"")
        .exits(3);
    assert!(run.stdout.contains("claude-code: failed"), "{run}");
}

/// Uninstall leaves an empty table and an empty folder that were there.
#[test]
fn uninstall_leaves_earlier_empty_tables() {
    let world = Sandbox::new();
    fs::create_dir_all(world.home().join(".claude")).expect("writable");
    fs::create_dir_all(world.home().join(".gemini")).expect("writable");
    fs::write(world.home().join(".claude/settings.json"), "{}").expect("writable");
    for command in ["install", "uninstall"] {
        world
            .run(&[command, "claude-code", "gemini-cli"], b"")
            .exits(0);
    }
    let text = fs::read_to_string(world.home().join(".claude/settings.json"));
    assert_eq!(text.expect("it stays"), "{}", "byte for byte");
    let left = fs::read_dir(world.home().join(".gemini")).expect("it stays");
    assert_eq!(left.count(), 0, "as empty as it was");
}

/// In the home directory one settings file is one installation.
#[test]
fn home_directory_has_one_installation() {
    let world = Sandbox::new();
    world.run(&["install", "--all", "--dry-run"], b"").exits(0);
    for agent in ["claude-code", "gemini-cli"] {
        world.run(&["install", agent], b"").exits(0);
    }
    let linked = world.path("linked");
    std::os::unix::fs::symlink(world.home(), &linked).expect("writable");
    for home in [world.home(), linked] {
        for arguments in [&["doctor"][..], &["install", "--list"]] {
            let mut command = world.command(arguments);
            let run = finish(command.current_dir(&home), b"").exits(0);
            assert!(
                !run.stdout.contains("--project") && !run.stdout.contains("twice"),
                "nothing is there twice: {run}"
            );
        }
    }
}

/// What install keeps in the store is no reason not to begin one.
#[test]
fn installs_notes_do_not_make_a_store() {
    let world = Sandbox::new();
    world.run(&["install", "claude-code"], b"").exits(0);
    fs::write(world.store().join(".ckpt-hook-x1"), "killed").expect("writable");
    world.play("m1", "first", |world| world.write("one", "x\n"));
    let log = world.json(&["log"]);
    assert_eq!(
        log["messages"][0]["prompt"], "first",
        "it is recorded: {log}"
    );
}

/// `ck` is made beside the program where nothing of that name is, and goes with the hook.
#[test]
fn short_name_is_made_and_removed() {
    let world = Sandbox::new();
    let folder = world.path("own-programs");
    let others = world.path("others");
    for folder in [&folder, &others, &world.home().join(".claude")] {
        std::fs::create_dir_all(folder).expect("writable");
    }
    let program = folder.join("ckpt-hook");
    std::os::unix::fs::symlink(testing::binary::binary(), program).expect("writable");
    let link = folder.join("ck");
    let run = |arguments: &[&str], folders: &[&std::path::Path]| {
        let usual = ["/usr/bin", "/bin"].map(std::path::Path::new);
        let path = std::env::join_paths(folders.iter().chain(&usual)).expect("a path");
        let mut command = world.command(arguments);
        command.env("PATH", path);
        testing::binary::finish(&mut command, b"").exits(0).stdout
    };
    let taken = others.join("ck");
    std::fs::write(&taken, "").expect("writable");
    run(&["install", "claude-code"], &[&folder, &others]);
    assert!(
        link.symlink_metadata().is_err(),
        "another program has the name"
    );
    let told = run(&["install", "claude-code", "--dry-run"], &[&folder]);
    assert!(told.contains("`ck` would become short for"), "{told}");
    assert!(link.symlink_metadata().is_err(), "a plan makes nothing");
    let told = run(&["install", "claude-code"], &[&folder]);
    assert!(told.contains("`ck` is short for `ckpt-hook`"), "{told}");
    let target = std::fs::read_link(&link).expect("it was made");
    assert_eq!(target, std::path::Path::new("ckpt-hook"));
    let told = run(&["install", "claude-code"], &[&folder]);
    assert!(!told.contains("`ck` is short"), "it is there: {told}");
    run(&["install", "codex"], &[&folder]);
    let told = run(&["uninstall", "codex", "--dry-run"], &[&folder]);
    assert!(
        !told.contains(&format!("would remove {}", link.display())),
        "{told}"
    );
    run(&["uninstall", "codex"], &[&folder]);
    assert!(
        link.symlink_metadata().is_ok(),
        "another agent has the hook"
    );
    let told = run(&["uninstall", "claude-code", "--dry-run"], &[&folder]);
    assert!(told.contains("would remove "), "the last one: {told}");
    assert!(link.symlink_metadata().is_ok(), "a plan removes nothing");
    run(&["uninstall", "claude-code"], &[&folder]);
    assert!(link.symlink_metadata().is_err(), "none has");
    run(&["install", "claude-code"], &[&folder]);
    let told = run(&["uninstall", "--all"], &[&folder]);
    assert!(link.symlink_metadata().is_err(), "it went");
    assert!(
        !told.contains("Next: ") && !told.contains("from now on"),
        "{told}"
    );
    assert!(
        told.contains("removed ") && told.contains("/ck\n"),
        "{told}"
    );
    assert!(taken.exists(), "another's stays");
}

/// A version manager starts what it is called by, so that another name leads nowhere.
#[test]
fn short_name_is_not_made_beside_a_shim() {
    let world = Sandbox::new();
    let program = world.path("mise/installs/tool/1.2.0/bin/ckpt-hook");
    let shims = world.path("mise/shims");
    for folder in [program.parent().expect("a folder"), &shims] {
        std::fs::create_dir_all(folder).expect("writable");
    }
    testing::executable::copy(std::path::Path::new(testing::binary::binary()), &program);
    let manager = world.path("mise/mise");
    testing::executable::write(&manager, "#!/bin/sh\n");
    std::os::unix::fs::symlink(manager, shims.join("ckpt-hook")).expect("new");
    let mut command = world.command_by(&program, &["install", "claude-code"]);
    command.env("PATH", std::env::join_paths([&shims]).expect("a path"));
    let run = testing::binary::finish(&mut command, b"").exits(0);
    let settings = world.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(settings).expect("written");
    assert!(text.contains("mise/shims/ckpt-hook "), "{text}");
    assert!(!shims.join("ck").is_symlink(), "{run}");
}
