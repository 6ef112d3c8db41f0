//! `watch --install`: the watcher as a service, with a `systemctl` that notes what it is asked.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use testing::binary::{Run, Sandbox, binary};

/// Where the unit is in a world's home.
const UNIT: &str = ".config/systemd/user/ckpt-hook-watch.service";

/// Makes a `systemctl` that notes its arguments, and fails at those with a word.
fn systemctl(world: &Sandbox, fails_at: &str) {
    let folder = world.path("fake");
    std::fs::create_dir_all(&folder).expect("writable");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>{}\ncase \"$*\" in *{fails_at}*) echo 'no bus' >&2; exit 1;; esac\n",
        noted(world).display()
    );
    let file = folder.join("systemctl");
    std::fs::write(&file, script).expect("writable");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("it is ours");
}

fn noted(world: &Sandbox) -> PathBuf {
    world.path("noted")
}

/// Returns what systemd was asked since the last call.
fn asked(world: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(noted(world)).unwrap_or_default();
    let _ = std::fs::remove_file(noted(world));
    text.lines().map(str::to_owned).collect()
}

fn watch(world: &Sandbox, argument: &str) -> Run {
    let mut command: Command = world.command(&["watch", argument]);
    let path = format!("{}:/usr/bin:/bin", world.path("fake").display());
    Run::of(command.env("PATH", path))
}

#[test]
fn the_service_is_installed_again_and_removed_without_a_trace() {
    let world = Sandbox::new();
    systemctl(&world, "nothing-of-this");
    for _ in 0..2 {
        watch(&world, "--install").exits(0);
        assert_eq!(
            asked(&world),
            [
                "--user show-environment",
                "--user daemon-reload",
                "--user enable ckpt-hook-watch.service",
                "--user restart ckpt-hook-watch.service",
            ]
        );
        let unit = std::fs::read_to_string(world.home().join(UNIT)).expect("it is there");
        let line = format!(
            "ExecStart=\"{}\" \"--store\" \"{}\" \"watch\"",
            binary(),
            world.store().display()
        );
        assert!(unit.lines().any(|own| own == line), "{line}:\n{unit}");
    }
    watch(&world, "--uninstall").exits(0);
    assert_eq!(
        asked(&world),
        [
            "--user disable --now ckpt-hook-watch.service",
            "--user daemon-reload",
        ]
    );
    assert!(!world.home().join(UNIT).exists());
    let again = watch(&world, "--uninstall").exits(0);
    assert!(again.stdout.contains("not installed"), "{again}");
    assert_eq!(asked(&world), [""; 0]);
}

#[test]
fn where_systemd_does_not_run_nothing_is_installed() {
    let world = Sandbox::new();
    for fails_at in ["show-environment", "daemon-reload", "enable", "restart"] {
        systemctl(&world, fails_at);
        let run = watch(&world, "--install").exits(1);
        assert!(
            run.stderr.contains("no bus") && run.stderr.contains("ckpt-hook watch &"),
            "it says what failed, and what to do: {run}"
        );
        assert!(!world.home().join(UNIT).exists(), "{fails_at}");
    }
}

#[test]
fn a_unit_of_somebody_else_stays_as_it_is() {
    let world = Sandbox::new();
    systemctl(&world, "nothing-of-this");
    let unit = world.home().join(UNIT);
    std::fs::create_dir_all(unit.parent().expect("a folder")).expect("writable");
    std::fs::write(&unit, "[Service]\nExecStart=mine\n").expect("writable");
    for argument in ["--install", "--uninstall"] {
        watch(&world, argument).exits(1);
        let text = std::fs::read_to_string(&unit).expect("it is there");
        assert_eq!(text, "[Service]\nExecStart=mine\n");
    }
    assert_eq!(asked(&world), [""; 0]);
}

#[test]
fn a_service_whose_systemd_is_gone_is_removed_all_the_same() {
    let world = Sandbox::new();
    systemctl(&world, "nothing-of-this");
    watch(&world, "--install").exits(0);
    let wants = world
        .home()
        .join(".config/systemd/user/default.target.wants");
    std::fs::create_dir_all(&wants).expect("writable");
    let link = wants.join("ckpt-hook-watch.service");
    std::os::unix::fs::symlink("../ckpt-hook-watch.service", &link).expect("writable");
    systemctl(&world, "disable");
    watch(&world, "--uninstall").exits(0);
    assert!(!world.home().join(UNIT).exists() && link.symlink_metadata().is_err());
}
