//! What an operation says of itself when something fails after the files went back.

use std::fs::OpenOptions;
use std::process::Stdio;

use serde_json::json;

use testing::binary::{Run, Sandbox};

fn run_into_a_full_disk(world: &Sandbox, arguments: &[&str]) -> Run {
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a device of every Linux");
    let output = world
        .command(arguments)
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("the binary was built");
    Run::from(output)
}

/// A revert of which the report cannot be written is not one that changed nothing.
///
/// Invariant `truth/error-after-changes`.
#[test]
fn failed_report_is_no_unchanged_revert() {
    for json in [&[][..], &["--json"]] {
        let world = Sandbox::new();
        world.write("a", "1\n");
        world.play("m", "prompt", |world| world.write("a", "2\n"));
        let plan = [json, &["revert", "--message", "last", "--dry-run"]].concat();
        run_into_a_full_disk(&world, &plan).exits(1);
        assert_eq!(world.read("a"), b"2\n", "that was a plan");
        let command = [json, &["revert", "--message", "last"]].concat();
        let run = run_into_a_full_disk(&world, &command).exits(3);
        assert_eq!(world.read("a"), b"1\n", "it went back");
        assert!(
            !json.is_empty() || run.stderr.contains("the revert was carried out"),
            "and says so where it can: {run}"
        );
    }
}

/// A command of which the report cannot be written says what it changed.
///
/// Invariant `truth/error-after-changes`.
#[test]
fn failed_report_says_what_changed() {
    let commands: [(&[&str], &str); 10] = [
        (&["label", "m", "before lunch"], "the label was added"),
        (
            &["label", "--delete", "before lunch"],
            "the label was deleted",
        ),
        (
            &["config", "set", "keep", "90 days"],
            "the setting was changed",
        ),
        (&["config", "unset", "keep"], "the setting was changed"),
        (&["snapshot"], "the snapshot was taken"),
        (&["recover", "a"], "the restore was carried out"),
        (&["gc"], "the store was packed"),
        (&["forget", "--path", "a", "--yes"], "it was forgotten"),
        (&["install", "claude-code"], "settings were changed"),
        (&["uninstall", "claude-code"], "settings were changed"),
    ];
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m", "prompt", |world| world.remove("a"));
    for (command, told) in commands {
        let run = run_into_a_full_disk(&world, command).exits(3);
        assert!(run.stderr.contains(told), "{command:?}: {run}");
    }
    for command in [
        &["label", "--list"][..],
        &["config", "unset", "keep"],
        &["gc", "--dry-run"],
        &["uninstall", "claude-code"],
    ] {
        let run = run_into_a_full_disk(&world, command).exits(1);
        assert!(
            run.stderr.contains("cannot write the output"),
            "{command:?}: nothing was to be changed: {run}"
        );
    }
}

/// A panic after files went back is no failure that changed nothing.
#[test]
fn late_panic_is_no_unchanged_revert() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m", "prompt", |world| world.write("a", "2\n"));
    let fails = |arguments: &[&str]| {
        Run::of(
            world
                .command(arguments)
                .env("CKPT_HOOK_TEST_FAULT", "panic"),
        )
    };
    let plan = fails(&["revert", "last", "--dry-run"]).exits(1);
    assert!(!plan.stderr.contains("were changed"), "nothing was: {plan}");
    assert_eq!(world.read("a"), b"2\n");
    let run = fails(&["revert", "last"]).exits(3);
    assert!(
        run.stderr.contains("this is a bug") && run.stderr.contains("note: files were changed"),
        "{run}"
    );
    assert_eq!(world.read("a"), b"1\n", "they were");
    world.run(&["undo"], b"").exits(0);
    assert_eq!(world.read("a"), b"2\n", "and there is a way back");
}

/// A file that was renamed and edited is one row in plans, outcomes, `status` and `show`.
#[test]
fn edited_rename_is_one_row() {
    let world = Sandbox::new();
    let lines: String = (0..20).map(|number| format!("line {number}\n")).collect();
    world.write("tools/a.sh", &lines);
    world.play("m1", "Move it", |world| {
        world.remove("tools/a.sh");
        world.write("scripts/b.sh", format!("{lines}one more\n"));
    });
    let (back, there) = ("scripts/b.sh → tools/a.sh", "tools/a.sh → scripts/b.sh");
    let operation = |world: &Sandbox| {
        let all = world.json(&["log", "--operations"]);
        let id = all["operations"][0]["id"].as_str();
        id.unwrap_or_default().to_owned()
    };
    for (command, row, lines) in [
        ("revert m1 --dry-run", back, "move    -1  "),
        ("revert m1", back, "moved    -1  "),
        ("status", back, "moved    -1  "),
        ("show OPERATION", back, "moved    -1  "),
        ("undo", there, "moved  +1    "),
    ] {
        let command = command.replace("OPERATION", &operation(&world));
        let words: Vec<&str> = command.split(' ').collect();
        let shown = world.run(&words, b"").exits(0).stdout;
        assert!(
            shown.contains(&format!("{lines}{row}")),
            "{command}: {shown}"
        );
        assert!(!shown.contains("remove"), "{command}: {shown}");
    }
    let plan = world.json(&["revert", "m1", "--dry-run"]);
    let origins = plan["files"].as_array().expect("files").iter();
    let origins = origins.filter(|file| file["moved_from"]["path"] == "scripts/b.sh");
    assert_eq!(origins.count(), 1, "for programs, too: {plan}");
}

/// The commands that an outcome prints work from the directory that it says to go to.
#[test]
fn removed_current_directory_is_to_be_left() {
    let world = Sandbox::new();
    world.run_git(&["init", "-q"]);
    world.write("k", "1\n");
    world.play("m1", "make sub", |world| {
        world.write("k", "2\n");
        world.write("sub/deep/x", "x\n");
    });
    world.write("k", "mine\n");
    let below = world.path("workspace/sub/deep");
    let revert = |more: &[&str]| {
        let mut command = world.command(&[&["revert", "m1"], more].concat());
        Run::of(command.current_dir(&below)).exits(3).stdout
    };
    let planned = revert(&["--dry-run"]);
    assert!(planned.contains("--only ../../k "), "{planned}");
    assert!(!planned.contains("is gone"), "{planned}");
    let done = revert(&[]);
    for part in [
        "just before “make sub”",
        "\nThe current directory is gone. Leave it first: cd ../..\n",
        "--only k --on-conflict",
    ] {
        assert!(done.contains(part), "{part}: {done}");
    }
    assert!(!below.exists(), "{done}");
}

/// A kept file without a way out is said to have none, to people and to programs.
#[test]
fn kept_file_without_a_way_says_so() {
    let never_captured = || {
        let world = Sandbox::new();
        world.configure("max_file_size = \"1 KiB\"\n");
        world.write("x", "1".repeat(2000));
        world.play("m1", "shrink it", |world| world.write("x", "2\n"));
        world
    };
    let forgotten = || {
        let world = Sandbox::new();
        world.write("x", "1\n");
        world.play("m1", "change it", |world| world.write("x", "2\n"));
        world.run(&["forget", "--path", "x", "--yes"], b"").exits(0);
        world
    };
    let cases = [
        (
            "not_captured",
            "no snapshot holds its state before",
            never_captured(),
        ),
        (
            "forgotten",
            "the content was removed from the store",
            forgotten(),
        ),
    ];
    for (kind, why, world) in cases {
        let run = world.run(&["revert", "m1"], b"");
        let line = run.stdout.lines().find(|line| line.contains(" kept: "));
        let line = line.unwrap_or_else(|| panic!("{kind}: {run}"));
        assert!(line.contains(why), "{kind}: {run}");
        assert!(
            line.ends_with("; nothing takes that back."),
            "{kind}: {run}"
        );
        world.run(&["undo"], b"");
        let report = world.json(&["revert", "m1", "--dry-run"]);
        assert_eq!(report["kept"][0]["kind"], kind, "{report:#}");
        assert!(report["kept"][0]["way"].is_null(), "{report:#}");
        assert_eq!(world.read("x"), b"2\n", "{kind}");
    }
}

/// Many files of another message are taken back with that message: a command could not name them.
#[test]
fn many_files_of_another_message_have_a_way() {
    let world = Sandbox::new();
    world.play("m1", "make one", |world| world.write("made", "1\n"));
    let tell = |event: &str| {
        let event = json!({"event": event, "session_id": "s2", "message_id": "n1"});
        world.event(event).ends_silently();
    };
    tell("user_message");
    tell("step_start");
    (0..25).for_each(|number| world.write(&format!("theirs/{number}"), "2\n"));
    tell("step_finish");
    tell("turn_end");
    let run = world.run(&["revert", "m1"], b"").exits(0);
    let line = run.stdout.lines().find(|line| line.contains("theirs"));
    let line = line.unwrap_or_else(|| panic!("they are named: {run}"));
    assert!(line.ends_with(" --alone takes that message back."), "{run}");
    assert!(world.workspace().join("theirs/24").exists(), "they stay");
    world.run(&["revert", "n1", "--alone"], b"").exits(0);
    assert!(!world.workspace().join("theirs").exists(), "and go with it");
}
