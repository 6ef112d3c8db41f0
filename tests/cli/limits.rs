//! Limits that leave a process too little (`ulimit`), slow disks, and crashes: nothing is lost without a word.

use serde_json::json;
use testing::nobody::as_nobody;
use testing::skip::{has_strace, is_debug_build};

use testing::binary::{Run, Sandbox, finish};

/// A crash leaves a line in the log of a store that is there.
///
/// Invariant `agent/silent`.
#[test]
fn crash_leaves_a_line_in_the_log() {
    if !is_debug_build() {
        return;
    }
    for fault in ["abort", "segv", "overflow", "oom"] {
        let world = Sandbox::new();
        let crash = || {
            let mut command = world.command(&["event"]);
            finish(command.env("CKPT_HOOK_TEST_FAULT", fault), b"{}").ends_silently();
        };
        crash();
        assert!(!world.store().exists(), "no store is made for it");
        world.run(&["snapshot"], b"").exits(0);
        crash();
        let doctor = world.run(&["doctor"], b"");
        assert!(
            doctor.stdout.contains("] a hook crashed"),
            "after `{fault}`: {doctor}"
        );
    }
}

/// Runs the binary under limits of the shell.
fn limited(world: &Sandbox, limits: &str, arguments: &[&str], stdin: &[u8]) -> Run {
    let inner = world.command(arguments);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &format!("{limits} && exec \"$0\" \"$@\"")]);
    shell.arg(inner.get_program()).args(inner.get_args());
    shell.env_clear().current_dir(world.workspace());
    shell.envs(
        inner
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    finish(&mut shell, stdin)
}

/// A small stack ends no command and a hook that it ends leaves a trace.
///
/// Invariant `truth/file-size-limit`.
#[test]
fn small_stack_ends_no_command() {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| world.write("a", "1\n"));
    for command in [
        &["log"][..],
        &["show", "m1"],
        &["gc"],
        &["doctor"],
        &["revert", "m1"],
    ] {
        limited(&world, "ulimit -s 64", command, b"").exits(0);
    }
    assert_eq!(world.read("a"), b"0\n", "it went back");
    let event = json!({"event": "user_message", "session_id": "s", "message_id": "m2", "cwd": world.workspace()});
    limited(
        &world,
        "ulimit -s 64",
        &["event"],
        event.to_string().as_bytes(),
    )
    .ends_silently();
    let log = world.json(&["log"]);
    let is_recorded = log["messages"].as_array().is_some_and(|all| all.len() == 2);
    let doctor = world.run(&["doctor"], b"");
    assert!(
        is_recorded || doctor.stdout.contains("] a hook crashed"),
        "it is recorded, or it is said that it is not: {log} {doctor}"
    );
}

/// No process and no thread can be made. Shells disagree about the option.
const ALONE: &str = "{ if (ulimit -u 1) 2>/dev/null; then ulimit -u 1; else ulimit -p 1; fi; }";

/// A turn and its revert need no other process and no thread.
///
/// Invariant `agent/silent`.
#[test]
fn turn_and_revert_need_no_thread() {
    // For root, the limit does not count.
    as_nobody("limits::turn_and_revert_need_no_thread", || {
        let world = Sandbox::new();
        let shell = format!("{ALONE}; /bin/true; exit");
        let forked = std::process::Command::new("/bin/sh")
            .args(["-c", &shell])
            .output()
            .expect("it starts");
        assert!(!forked.status.success(), "the limit counts: {forked:?}");
        for number in 0..40 {
            world.write(&format!("d{number}/a"), "0\n");
        }
        for number in 1..=2 {
            let message = format!("m{number}");
            let send = |event: &str| {
                let payload = json!({
                    "event": event, "session_id": "s", "message_id": message, "cwd": world.workspace()
                });
                limited(&world, ALONE, &["event"], payload.to_string().as_bytes()).ends_silently();
            };
            send("session_start");
            send("user_message");
            send("step_start");
            for file in 0..40 {
                world.write(&format!("d{file}/a"), format!("{number}\n"));
            }
            send("step_finish");
            send("turn_end");
            send("session_end");
        }
        let status = world.json(&["status"]);
        assert_eq!(status["diagnostics"], 0, "nothing went wrong: {status}");
        assert_eq!(status["unprotected"], json!([]), "{status}");
        for (command, expected) in [
            (&["log"][..], "2\n"),
            (&["revert", "m2"], "1\n"),
            (&["undo"], "2\n"),
            (&["gc"], "2\n"),
            (&["forget", "--message", "m2", "--yes"], "2\n"),
            (&["doctor", "--all"], "2\n"),
            (&["revert", "m1"], "0\n"),
        ] {
            let run = limited(&world, ALONE, command, b"");
            assert!(matches!(run.code, Some(0 | 3)), "{command:?}: {run}");
            let file = String::from_utf8(world.read("d7/a")).expect("text");
            assert!(
                file == expected || run.code == Some(3),
                "{command:?}: {run}"
            );
        }
    });
}

/// A hook that another program keeps from the rows ends and says so in the log.
///
/// Invariant `agent/silent`.
#[test]
fn hook_kept_from_the_rows_logs_it() {
    let world = Sandbox::new();
    world.play("m1", "go on", |world| world.write("a", "1\n"));
    let send = |event: &str| {
        world
            .event(json!({"event": event, "session_id": "s", "message_id": "m2"}))
            .ends_silently();
    };
    send("user_message");
    send("step_start");
    world.write("a", "2\n");
    let database = world.store().join("sessions.db");
    testing::rows::with_write_lock(&database, || send("step_finish"));
    let log = std::fs::read_to_string(world.store().join("log")).expect("there is a line");
    assert!(log.contains("database is locked"), "it says why: {log}");
    // The next event closes the step, and what it changed is known. What came and went in between is not.
    send("turn_end");
    let run = world.run(&["revert", "m2"], b"").exits(3);
    assert!(run.stdout.contains("was not recorded"), "{run}");
    assert_eq!(world.read("a"), b"1\n");
    world.run(&["doctor", "--all"], b"").exits(0);
}

/// A hook whose disk syncs slowly ends at the deadline and what it could not store is said.
///
/// Invariant `agent/deadline`.
#[test]
fn slow_disk_ends_a_hook_at_the_deadline() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "one", |world| world.write("a", "1\n"));
    let event =
        |event: &str| serde_json::json!({"event": event, "session_id": "s", "message_id": "m2"});
    world.event(event("user_message")).ends_silently();
    world.event(event("step_start")).ends_silently();
    world.write("a", "2\n");
    world.configure("hook_deadline = \"300 ms\"");
    let slow = "inject=fsync,fdatasync,syncfs:delay_enter=400ms";
    let mut finish_step = testing::strace::command(
        &world,
        &[
            "-o",
            "/dev/null",
            "-e",
            "trace=fsync,fdatasync,syncfs",
            "-e",
            slow,
        ],
        &["event"],
    );
    let mut payload = event("step_finish");
    payload["cwd"] = world.workspace().to_string_lossy().into();
    finish(&mut finish_step, payload.to_string().as_bytes()).ends_silently();
    let said = std::fs::read_to_string(world.store().join("log")).expect("it is there");
    assert!(
        said.contains("deadline") || said.contains("not done in time"),
        "{said}"
    );
    world.configure("");
    world.event(event("turn_end")).ends_silently();
    let revert = world.run(&["revert", "m2"], b"");
    if said.contains("deadline") {
        // It ended before it wrote a row, and the next event saw what the step had changed.
        assert_eq!(revert.code, Some(0), "{revert}");
        assert_eq!(world.read("a"), b"1\n", "{revert}");
        return;
    }
    // The next look saw what the step had changed, and may have seen an edit of the user's in it.
    assert_eq!(revert.code, Some(3), "{revert}");
    let says = |words: &str| assert!(revert.stdout.contains(words), "{revert}");
    says("a (unclear whose: read only after the step had ended");
    says("the snapshot was not done in time");
    assert_eq!(world.read("a"), b"2\n", "it is kept");
    let take = ["revert", "m1", "--unclear", "take"];
    world.run(&take, b"").exits(3);
    assert_eq!(world.read("a"), b"0\n", "unless that is asked for");
}
