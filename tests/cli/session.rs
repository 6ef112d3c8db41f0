//! A session from outside: what the commands print, their documents and their exit codes.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use ckpt_schema::report;
use expect_test::expect;
use serde_json::json;

use testing::binary::{Sandbox, finish};

/// Two messages: one edits and creates, the other removes.
pub fn two_messages() -> Sandbox {
    let world = Sandbox::new();
    world.write("menu", "bread\nrolls\n");
    world.write("notes", "mine\n");
    world.play("m1", "add cakes", |world| {
        world.write("menu", "bread\nrolls\ncakes\n");
        world.write("recipes/cake", "flour\n");
    });
    world.play("m2", "tidy up\nall of it", |world| world.remove("notes"));
    world
}

#[test]
fn the_log_is_a_table_of_messages() {
    let world = two_messages();
    let run = world.run(&["log"], b"").exits(0);
    expect![[r#"
        message   when      agent     took  files   +   -  prompt
        12345678  just now  generic  0.1 s      1      -1  tidy up
        12345678  just now  generic  0.1 s      2  +2      add cakes
        2 messages, +2 -1
    "#]]
    .assert_eq(&world.redact(&run.stdout));
}

#[test]
fn all_is_well_in_one_line() {
    let world = two_messages();
    expect![[r#"
        Workspace  WORKSPACE
        Session    12345678 (generic)

        ✓ Nothing is reverted.
    "#]]
    .assert_eq(&world.redact(&world.run(&["status"], b"").exits(0).stdout));
}

/// An id that nothing has is exit code 4.
#[test]
fn unknown_id_exits_with_4() {
    let world = two_messages();
    for arguments in [
        ["revert", "--message", "../../x"],
        ["restore", "no-such-id", "menu"],
        ["redo", "--session", "x"],
    ] {
        let run = world.run(&arguments, b"").exits(4);
        assert!(run.stderr.starts_with("error: "), "it says which: {run}");
    }
    world
        .run(
            &["show", "no\u{0}such"].map(|word| word.replace('\0', "\u{1b}")),
            b"",
        )
        .exits(4);
}

#[test]
fn every_document_has_the_shape_of_its_schema() {
    fn read<T: serde::de::DeserializeOwned>(world: &Sandbox, arguments: &[&str]) -> T {
        let document = world.json(arguments);
        serde_json::from_value(document.clone())
            .unwrap_or_else(|error| panic!("{arguments:?}: {error} in {document}"))
    }
    let world = two_messages();
    let _: report::StatusReport = read(&world, &["status"]);
    let _: report::LogReport = read(&world, &["log"]);
    let _: report::SessionsReport = read(&world, &["sessions"]);
    let _: report::DiffReport = read(&world, &["diff"]);
    let _: report::SnapshotReport = read(&world, &["snapshot", "--label", "x"]);
    let _: report::LabelsReport = read(&world, &["label", "m1", "first"]);
    let _: report::LabelsReport = read(&world, &["label", "--list"]);
    let _: report::OperationReport = read(&world, &["revert", "--message", "m2"]);
    let _: report::OperationReport = read(&world, &["redo"]);
    let _: report::OperationsReport = read(&world, &["log", "--operations"]);
    let _: report::DoctorReport = read(&world, &["doctor"]);
    for id in ["m1", "s"] {
        let _: report::ShowReport = read(&world, &["show", id]);
    }
    let _: report::InstallReport = read(&world, &["install", "claude-code", "--dry-run"]);
    let _: report::InstallReport = read(&world, &["install", "--all", "--dry-run"]);
    let _: report::AgentsReport = read(&world, &["install", "--list"]);
    let _: report::ErrorReport = read(&world, &["show", "nothing-of-that-name"]);
}

#[test]
fn a_recorded_event_is_one_line_of_json() {
    let world = Sandbox::new();
    let run = world
        .run(
            &["--json", "message", "--session", "s", "--message", "m"],
            b"",
        )
        .exits(0);
    let report: report::EventReport = serde_json::from_str(&run.stdout).expect("a document");
    assert_eq!(run.stdout.lines().count(), 1, "one line: {run}");
    assert_eq!(
        report.event.as_deref(),
        Some("user_message"),
        "what was recorded: {run}"
    );
    assert!(report.snapshot.is_some(), "and the snapshot: {run}");
}

#[test]
fn git_apply_takes_a_diff() {
    let world = Sandbox::new();
    let directory = world.workspace();
    for (name, content) in [
        ("changed", "one\ntwo\n"),
        ("gone", "x\n"),
        ("linked", "text\n"),
        ("emptied", "x"),
        ("run", ""),
    ] {
        world.write(name, content);
    }
    let copy = world.path("copy");
    let copied = Command::new("/bin/cp")
        .arg("-a")
        .arg(&directory)
        .arg(&copy)
        .status()
        .expect("coreutils are there");
    assert!(copied.success(), "the tree before is kept");
    world.play("m", "everything", |world| {
        world.write("changed", "one\n2\nthree");
        world.remove("gone");
        world.remove("linked");
        std::os::unix::fs::symlink("changed", directory.join("linked")).expect("writable");
        world.write("emptied", "");
        world.write("new dir/é \"quoted\" \u{1b}", "new\n");
        std::fs::write(
            directory.join(std::ffi::OsStr::from_bytes(b"\xff")),
            b"bytes \xff\n",
        )
        .expect("writable");
        std::fs::set_permissions(
            directory.join("run"),
            std::fs::Permissions::from_mode(0o755),
        )
        .expect("writable");
    });
    let diff = world.command(&["diff"]).output().expect("it ends");
    let mut apply = testing::git::command(&copy, &world.home());
    apply
        .args(["apply", "-"])
        .env("GIT_CEILING_DIRECTORIES", world.path(""));
    finish(&mut apply, &diff.stdout).exits(0);
    let differ = Command::new("/usr/bin/diff")
        .args(["-r", "--no-dereference"])
        .arg(&directory)
        .arg(&copy)
        .output();
    let differ = differ.expect("diffutils are there");
    assert!(
        differ.status.success(),
        "the same tree: {}",
        String::from_utf8_lossy(&differ.stdout)
    );
}

/// No name or prompt acts on a terminal wherever it is shown.
#[test]
fn no_name_or_prompt_acts_on_a_terminal() {
    let world = Sandbox::new();
    let evil = "\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\n.txt";
    world.play("m\u{1b}[2J", "prompt \u{1b}[2J\u{7}", |world| {
        world.write(evil, "x\n")
    });
    let commands: [&[&str]; 10] = [
        &["log"],
        &["status"],
        &["sessions"],
        &["show", "last"],
        &["show", "s"],
        &["diff", "--stat"],
        &["diff", "--name-only"],
        &["diff"],
        &["revert", "--message", "last"],
        &["status"],
    ];
    for command in commands {
        let run = world.run(command, b"");
        let acts = |character: char| {
            (character.is_control() && character != '\n') || character == '\u{202e}'
        };
        let output = format!("{}{}", run.stdout, run.stderr);
        assert!(!output.chars().any(acts), "{command:?} shows {output:?}");
        assert!(
            serde_json::from_str::<serde_json::Value>(
                &world.run(&[&["--json"], command].concat(), b"").stdout
            )
            .is_ok()
        );
    }
}

/// What went wrong in a hook is shown by status and doctor.
#[test]
fn hooks_trouble_is_shown_by_status_and_doctor() {
    let world = two_messages();
    world.configure("max_file_size = \"much\"\ncolour = 1\n");
    world.run(&["event"], b"{").ends_silently();
    world
        .event(json!({"event": "user_message", "session_id": "s"}))
        .ends_silently();
    let status = world.run(&["status"], b"").exits(0);
    assert!(
        status.stdout.contains("hooks: something went wrong")
            && status.stdout.contains("max_file_size"),
        "both: {status}"
    );
    let doctor = world.run(&["doctor"], b"").exits(1);
    assert!(
        doctor.stdout.contains("the setting `colour` is unknown"),
        "a warning: {doctor}"
    );
    assert!(
        doctor.stdout.contains("`max_file_size` must be a size"),
        "an error: {doctor}"
    );
}

/// A workspace that is switched off is not recorded.
#[test]
fn switched_off_workspace_is_not_recorded() {
    let world = Sandbox::new();
    world.configure(&format!(
        "[workspaces.{:?}]\nenabled = false\n",
        world.workspace()
    ));
    world
        .run(&["message", "--session", "s"], b"")
        .ends_silently();
    assert!(!world.store().exists(), "there is nothing to keep");
    let doctor = world.run(&["doctor"], b"").exits(0);
    assert!(
        doctor
            .stdout
            .contains("`enabled = false` for this directory"),
        "and somebody who asks is told: {doctor}"
    );
}

/// A home directory goes back once its user allows that it is recorded.
#[test]
fn allowed_home_directory_goes_back() {
    let world = Sandbox::new();
    let file = world.home().join(".profile");
    let home = world.home();
    let cwd = home.to_str().expect("a plain path");
    let turn = |message: &str| {
        fs::write(&file, "mine\n").expect("ours");
        let event = |kind: &str| {
            let event =
                json!({"event": kind, "session_id": "s", "message_id": message, "cwd": cwd});
            world.event(event).ends_silently();
        };
        event("user_message");
        event("step_start");
        fs::write(&file, "agent\n").expect("ours");
        event("step_finish");
    };
    turn("m1");
    let run = world.run(&["log", "--workspace", cwd], b"").exits(1);
    assert!(run.stderr.contains("`allow = true`"), "{run}");
    world.configure(&format!("[workspaces.{cwd:?}]\nallow = true\n"));
    turn("m2");
    let revert = ["revert", "m2", "--workspace", cwd];
    world.run(&revert, b"").exits(0);
    assert_eq!(fs::read(&file).expect("ours"), b"mine\n");
}

/// A revert for which no file had to change names its way back.
#[test]
fn revert_without_files_names_its_way_back() {
    let world = Sandbox::new();
    world.play("m1", "only ask", |_| ());
    let revert = world.run(&["revert", "last"], b"").exits(0);
    assert!(
        revert.stdout.contains("no file had to change")
            && revert.stdout.ends_with("To undo this: ckpt-hook undo\n"),
        "the message is hidden all the same: {revert}"
    );
    let undo = world.run(&["undo"], b"").exits(0);
    assert!(
        undo.stdout.starts_with("✓ Undid the revert ")
            && undo.stdout.contains("no file had to change"),
        "{undo}"
    );
}

/// The demo plays to its end and leaves nothing behind.
#[test]
fn demo_plays_and_leaves_nothing() {
    let world = Sandbox::new();
    let temporary = world.path("temporary");
    std::fs::create_dir(&temporary).expect("writable");
    let run = finish(world.command(&["demo"]).env("TMPDIR", &temporary), b"").exits(0);
    assert!(
        run.stdout
            .contains("✓ Everything is as it was before the first revert"),
        "it says so: {run}"
    );
    assert_eq!(
        temporary.read_dir().expect("readable").count(),
        0,
        "its scratch folder is gone"
    );
    assert!(
        !world.store().exists(),
        "and the user's own store was not touched"
    );
}
