//! `run`: any command as a message with a step around it.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testing::binary::Sandbox;

fn sh(script: &str) -> [&str; 5] {
    ["run", "--", "/bin/sh", "-c", script]
}

/// A command is a message that can be reverted.
#[test]
fn command_is_a_message() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    let run = world
        .run(&sh("echo 2 > a; echo done; echo trouble >&2"), b"")
        .exits(0);
    assert_eq!(run.stdout, "done\n", "its own output, and nothing else");
    assert_eq!(run.stderr, "trouble\n", "on both streams");
    let log = world.json(&["log"]);
    let message = &log["messages"][0];
    assert_eq!(message["agent"], "run", "{log}");
    assert_eq!(message["files"], 1, "{log}");
    assert_eq!(
        message["prompt"], "/bin/sh -c echo 2 > a; echo done; echo trouble >&2",
        "{log}"
    );
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert_eq!(world.read("a"), b"1\n", "taken back");
}

#[test]
fn a_directory_that_the_command_moved_goes_back() {
    let world = Sandbox::new();
    world.write("one/deep/a", "1\n");
    world.write("one/b", "2\n");
    world.run(&sh("mv one two"), b"").exits(0);
    assert_eq!(world.read("two/deep/a"), b"1\n", "it moved");
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert_eq!(world.read("one/deep/a"), b"1\n", "it is back");
    assert_eq!(world.read("one/b"), b"2\n");
    let left = world.workspace().join("two").symlink_metadata();
    assert!(left.is_err(), "and nowhere else");
}

#[test]
fn the_exit_code_is_the_commands() {
    let world = Sandbox::new();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("kill -TERM $$", 143),
        ("kill -INT $$", 130),
    ] {
        world.run(&sh(script), b"").exits(code);
    }
    world
        .run(&["run", "--", "/no/such/command"], b"")
        .exits(127);
    world.write("plain", "x");
    world.run(&["run", "--", "./plain"], b"").exits(126);
    world.write("script", "#!/no/such/interpreter -u\n");
    let script = world.workspace().join("script");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let run = world.run(&["run", "--", "./script"], b"").exits(127);
    let why = "there is no `/no/such/interpreter`, which its first line names";
    assert!(run.stderr.contains(why), "{run}");
    world.run(&["run"], b"").exits(2);
    let status = world.json(&["status"]);
    assert_eq!(status["open_steps"], 0, "every step is finished: {status}");
    let log = world.json(&["log"]);
    let prompts = log["messages"].as_array().map(Vec::len);
    assert_eq!(prompts, Some(4), "what never started is no message: {log}");
}

/// It has a prompt an agent and the streams that are given.
#[test]
fn run_has_the_given_prompt_and_streams() {
    let world = Sandbox::new();
    let arguments = [
        "run", "--prompt", "copy it", "--agent", "make", "--", "/bin/sh", "-c", "cat > b",
    ];
    world.run(&arguments, b"from stdin").exits(0);
    assert_eq!(world.read("b"), b"from stdin", "stdin is passed through");
    let log = world.json(&["log"]);
    assert_eq!(log["messages"][0]["prompt"], "copy it", "{log}");
    assert_eq!(log["messages"][0]["agent"], "make", "{log}");
    let run = world
        .run(&["--json", "run", "--", "/bin/sh", "-c", "echo x > c"], b"")
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_eq!(report["changes"], 1, "{report}");
}

#[test]
fn an_interrupted_command_leaves_a_finished_step() {
    let world = Sandbox::new();
    // The shell, the command and we are one group, as at a terminal.
    let script = "echo half > a; kill -INT 0; sleep 60";
    let mut command = world.command(&sh(script));
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let status = command.status().expect("it starts");
    assert_eq!(
        status.code(),
        Some(130),
        "it says how the command ended, and lives to say it"
    );
    let status = world.json(&["status"]);
    assert_eq!(status["open_steps"], 0, "{status}");
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert!(
        !world.workspace().join("a").exists(),
        "what it did can be taken back"
    );
}

/// Signals from outside reach the command and the step is finished.
#[test]
fn signals_reach_the_command_and_finish_the_step() {
    for (signal, name, code) in [(Signal::TERM, "TERM", 43), (Signal::HUP, "HUP", 44)] {
        let world = Sandbox::new();
        let script = format!(
            "trap 'echo caught > caught; exit {code}' {name}; echo half > a; while :; do sleep 0.1; done"
        );
        let mut run = world.command(&sh(&script)).spawn().expect("it starts");
        let deadline = Instant::now() + Duration::from_secs(60);
        let has_begun =
            || std::fs::read(world.workspace().join("a")).is_ok_and(|text| text == b"half\n");
        while !has_begun() {
            assert!(
                Instant::now() < deadline,
                "the command was waited for in vain"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = Pid::from_raw(run.id().cast_signed()).expect("a process");
        // To us alone, as `kill`, `timeout` and service managers do it.
        kill_process(pid, signal).expect("ours");
        let status = run.wait().expect("it ends");
        assert_eq!(status.code(), Some(code), "the command decides");
        assert_eq!(world.read("caught"), b"caught\n");
        assert_eq!(world.json(&["status"])["open_steps"], 0, "it is finished");
    }
}

#[test]
fn nothing_is_started_where_nothing_can_be_recorded() {
    let world = Sandbox::new();
    std::fs::write(world.store(), "no directory").expect("writable");
    world.run(&sh("echo 2 > a"), b"").exits(125);
    assert!(
        !world.workspace().join("a").exists(),
        "it could not be taken back"
    );
}

/// Where recording is turned off the command is not started.
#[test]
fn disabled_recording_starts_no_command() {
    for of_workspace in [false, true] {
        let world = Sandbox::new();
        world.configure(&match of_workspace {
            true => format!("[workspaces.{:?}]\nenabled = false\n", world.workspace()),
            false => "enabled = false\n".to_owned(),
        });
        let run = world.run(&sh("echo 2 > a"), b"").exits(125);
        assert!(
            run.stderr.contains("`enabled = false`") && run.stderr.contains("hint: "),
            "it says why: {run}"
        );
        let made = world.workspace().join("a").exists();
        assert!(!made, "nothing ran that could not be taken back");
    }
}
