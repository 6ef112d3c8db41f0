//! The hook never gets in the agent's way: exit code 0 and silence, whatever happens.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use serde_json::json;
use testing::skip::is_debug_build;

use testing::binary::{Run, Sandbox, finish};

/// The commands that agents and scripts call.
const HOOKS: [&[&str]; 4] = [
    &["event"],
    &["message", "--session", "s"],
    &["step-start", "--session", "s"],
    &["step-finish", "--session", "s"],
];

fn log(world: &Sandbox) -> String {
    std::fs::read_to_string(world.store().join("log")).unwrap_or_default()
}

/// Invariant `agent/silent`: A hook exits with 0 and prints nothing, whatever its input; a
/// crash leaves a line in the log.
#[test]
fn no_payload_makes_a_hook_speak_or_fail() {
    let world = Sandbox::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let payloads: [&[u8]; 12] = [
        b"",
        b"   ",
        b"{",
        b"null",
        b"[]",
        b"\"text\"",
        b"1e999",
        b"{\"event\":\"user_message\"}",
        b"{\"event\":1,\"session_id\":{}}",
        b"\xef\xbb\xbf\xff\xfe",
        b"{\"event\":\"no_such_event\",\"session_id\":\"s\"}",
        deep.as_bytes(),
    ];
    for payload in payloads {
        world.run(&["event"], payload).ends_silently();
        world
            .run(&["event", "--agent", "claude-code"], payload)
            .ends_silently();
    }
}

/// Arguments that make no sense are no reason to block a tool.
///
/// Invariant `agent/silent`.
#[test]
fn senseless_arguments_block_no_tool() {
    let world = Sandbox::new();
    for arguments in [
        &["event", "--no-such-option"][..],
        &["event", "--agent"],
        &["event", "surplus"],
        &["message"],
        &["step-start", "--session"],
        &["--bogus", "step-finish", "--session", "s"],
        &["--color", "loud", "event"],
        &["event", "--agent", "no-such-agent"],
    ] {
        world.run(arguments, b"{}").ends_silently();
    }
    assert!(
        log(&world).contains("arguments that make no sense"),
        "it is noted: {}",
        log(&world)
    );
}

/// An agent that drops our arguments or has others goes on undisturbed.
#[test]
fn dropped_arguments_disturb_no_agent() {
    let world = Sandbox::new();
    for arguments in [
        &[][..],
        &["--json"],
        &["--bogus"],
        &["hook", "--agent", "claude-code"],
        &["evnt", "--agent", "claude-code", "--event", "Stop"],
        &["--store"],
    ] {
        world
            .run(arguments, b"{\"session_id\":\"s\"}")
            .ends_silently();
    }
    assert!(
        log(&world).contains("arguments that make no sense"),
        "it is noted: {}",
        log(&world)
    );
}

/// Without arguments and without an agent that writes a payload, the help is printed, and nothing is noted.
#[test]
fn script_without_arguments_gets_the_help() {
    let world = Sandbox::new();
    let mut bare = world.command::<&str>(&[]);
    let output = bare.stdin(Stdio::null()).output().expect("it starts");
    let run = Run::from(output).exits(2);
    assert!(run.stderr.contains("Take back:"), "{run}");
    assert_eq!(log(&world), "", "no hook was called");
}

/// Strict says what is wrong and exits with 1.
#[test]
fn strict_says_what_is_wrong() {
    let world = Sandbox::new();
    let run = world.run(&["event", "--strict"], b"{").exits(1);
    assert!(
        run.stderr.starts_with("error: "),
        "a person reads it: {run}"
    );
    assert_eq!(run.stdout, "", "stdout belongs to the agent");
    world.run(&["event", "--strict", "--bogus"], b"{}").exits(1);
}

#[test]
fn json_is_one_line_also_of_a_failure() {
    let world = Sandbox::new();
    for arguments in [&["--json", "event"][..], &["event", "--json", "--bogus"]] {
        let run = world.run(arguments, b"{").exits(0);
        assert_eq!(run.stdout.lines().count(), 1, "one line: {run}");
        let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
        assert!(
            document["error"]["message"].is_string(),
            "it says what went wrong: {run}"
        );
    }
}

/// Invariant `agent/silent`.
#[test]
fn crashes_of_every_kind_end_silently() {
    if !is_debug_build() {
        return;
    }
    for fault in ["panic", "abort", "segv", "overflow", "oom"] {
        let world = Sandbox::new();
        let run = |arguments: &[&str]| {
            finish(
                world.command(arguments).env("CKPT_HOOK_TEST_FAULT", fault),
                b"{}",
            )
        };
        assert_eq!(
            run(&["event"]).ends_silently().code,
            Some(0),
            "after `{fault}`"
        );
        assert_eq!(
            run(&["event", "--strict"]).code,
            Some(1),
            "`--strict` shows that `{fault}` happened"
        );
    }
}

/// A panic is noted by its place and not by its words.
#[test]
fn panic_is_noted_by_place() {
    if !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    finish(
        world
            .command(&["event"])
            .env("CKPT_HOOK_TEST_FAULT", "panic"),
        b"{}",
    )
    .ends_silently();
    let strict = finish(
        world
            .command(&["event", "--strict"])
            .env("CKPT_HOOK_TEST_FAULT", "panic"),
        b"{}",
    )
    .exits(1);
    assert!(
        strict
            .stderr
            .contains("panicked at hook/process/src/fault.rs"),
        "who asks is told where: {strict}"
    );
    let log = log(&world);
    assert!(
        log.contains("panicked at hook/process/src/fault.rs"),
        "where: {log}"
    );
    assert!(
        !log.contains("secret"),
        "a panic's message may quote a prompt: {log}"
    );
}

/// Invariant `agent/deadline`: A hook ends in time.
#[test]
fn a_hook_that_hangs_ends_at_the_deadline() {
    if !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    world.configure("hook_deadline = \"300 ms\"");
    finish(
        world
            .command(&["event"])
            .env("CKPT_HOOK_TEST_FAULT", "hang"),
        b"{}",
    )
    .ends_silently();
    assert!(
        log(&world).contains("deadline"),
        "it is noted: {}",
        log(&world)
    );
}

/// A writer that never closes is not waited for beyond the deadline.
#[test]
fn open_writer_is_waited_for_until_the_deadline() {
    let world = Sandbox::new();
    world.configure("hook_deadline = \"300 ms\"");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let output = world
        .command(&["event"])
        .stdin(reader)
        .output()
        .expect("it ends");
    drop(writer);
    Run::from(output).ends_silently();
}

/// A stream that is full or closed changes nothing.
#[test]
fn full_or_closed_stream_changes_nothing() {
    let world = Sandbox::new();
    let full = || {
        Stdio::from(
            OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .expect("Linux has it"),
        )
    };
    for arguments in [&["event"][..], &["--json", "event"], &["event", "--strict"]] {
        let status = world
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(full())
            .stderr(full())
            .status()
            .expect("it ends");
        let expected = if arguments.contains(&"--strict") {
            1
        } else {
            0
        };
        assert_eq!(
            status.code(),
            Some(expected),
            "of {arguments:?} on a full disk"
        );
    }
    let mut shell = Command::new("/bin/sh");
    shell
        .args([
            "-c",
            "exec \"$0\" event <&- >&- 2>&-",
            testing::binary::binary(),
        ])
        .env_clear()
        .env("HOME", world.home());
    finish(&mut shell, b"").ends_silently();
}

/// Runs a hook with a real payload below a shell that sets the stage.
fn staged(world: &Sandbox, stage: &str) -> Run {
    let event =
        json!({"event": "user_message", "session_id": "s", "cwd": world.workspace()}).to_string();
    let mut shell = world.command::<&str>(&[]);
    let arguments = [
        "-c",
        &format!("{stage}; exec \"$0\" event"),
        testing::binary::binary(),
    ];
    let environment: Vec<_> = shell
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    shell = Command::new("/bin/sh");
    shell
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(world.workspace());
    finish(&mut shell, event.as_bytes())
}

/// A process that is given too little ends silently.
#[test]
fn starved_process_ends_silently() {
    for limit in [
        "-f 0",
        "-n 5",
        "-n 8",
        "-n 16",
        "-n 32",
        "-t 1",
        "-v 80000",
        "-v 300000",
        "-s 64",
    ] {
        let world = Sandbox::new();
        world.write("file", "content");
        let run = staged(&world, &format!("ulimit {limit}"));
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), ""),
            "with `ulimit {limit}`: {run}"
        );
    }
}

/// A current directory that is gone is no reason to speak.
#[test]
fn missing_current_directory_is_silent() {
    let world = Sandbox::new();
    for payload in ["{\"event\":\"user_message\",\"session_id\":\"s\"}", ""] {
        let stage = "mkdir gone && cd gone && rmdir ../gone";
        staged(&world, stage).ends_silently();
        let mut shell = Command::new("/bin/sh");
        shell.args([
            "-c",
            &format!("{stage}; exec \"$0\" event"),
            testing::binary::binary(),
        ]);
        shell
            .env_clear()
            .env("HOME", world.home())
            .env("CKPT_HOOK_HOME", world.store())
            .current_dir(world.workspace());
        finish(&mut shell, payload.as_bytes()).ends_silently();
    }
}

/// A data folder that is not absolute is not heeded.
#[test]
fn relative_data_folder_is_ignored() {
    let world = Sandbox::new();
    let mut hook = world.command(&["message", "--session", "s", "--strict"]);
    hook.env_remove("CKPT_HOOK_HOME")
        .env("XDG_DATA_HOME", "relative")
        .env("XDG_CONFIG_HOME", "relative");
    finish(&mut hook, b"").ends_silently();
    assert!(
        world
            .home()
            .join(".local/share/ckpt-hook/sessions.db")
            .exists(),
        "the specification's default"
    );
    assert!(world.tree().is_empty(), "and nothing in the workspace");
}

#[test]
fn a_hook_reads_nothing_of_git_s_environment() {
    let world = Sandbox::new();
    world.write("file", "content");
    let mut hook = world.command(&["message", "--session", "s", "--strict"]);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_CONFIG_GLOBAL",
    ] {
        hook.env(name, "/nowhere");
    }
    finish(&mut hook, b"").ends_silently();
}

/// Invariant `agent/turned-off`: When it is turned off, it leaves no trace.
#[test]
fn a_disabled_hook_makes_no_files() {
    let event = json!({"event": "user_message", "session_id": "s", "cwd": "/"}).to_string();
    for hook in HOOKS {
        let world = Sandbox::new();
        finish(
            world.command(hook).env("CKPT_HOOK_DISABLE", "1"),
            event.as_bytes(),
        )
        .ends_silently();
        world.configure("enabled = false");
        world.run(hook, event.as_bytes()).ends_silently();
        assert!(!world.store().exists(), "no store is made by {hook:?}");
    }
}

/// A store that cannot be made is no reason to speak.
#[test]
fn impossible_store_is_silent() {
    let world = Sandbox::new();
    std::fs::write(world.store(), "a file stands in its place").expect("writable");
    world
        .event(json!({"event": "user_message", "session_id": "s"}))
        .ends_silently();
    let strict = world
        .run(&["message", "--session", "s", "--strict"], b"")
        .exits(1);
    assert!(
        strict.stderr.contains("error: "),
        "who asks is told: {strict}"
    );
}

/// A damaged database is set aside and recording goes on.
#[test]
fn damaged_database_is_set_aside() {
    let world = Sandbox::new();
    world
        .event(json!({"event": "user_message", "session_id": "s", "message_id": "before"}))
        .ends_silently();
    for beside in ["sessions.db-wal", "sessions.db-shm"] {
        std::fs::remove_file(world.store().join(beside)).expect("SQLite made it");
    }
    let garbage = b"no database any more ".repeat(500);
    std::fs::write(world.store().join("sessions.db"), &garbage).expect("writable");
    world
        .event(json!({"event": "user_message", "session_id": "s", "message_id": "after"}))
        .ends_silently();
    let kept =
        std::fs::read(world.store().join("sessions.db.damaged-1")).expect("it was set aside");
    assert_eq!(kept, garbage, "never deleted");
    let log = world.run(&["--json", "log"], b"").exits(0);
    assert!(
        log.stdout.contains("\"after\""),
        "the message is recorded: {log}"
    );
    let status = world.run(&["status"], b"").exits(0);
    assert!(
        status.stdout.contains("the session store was damaged"),
        "the user is told: {status}"
    );
}

/// Invariant `private/store`.
#[test]
fn the_log_is_nobody_else_s() {
    let world = Sandbox::new();
    world.run(&["event", "--bogus"], b"{}").ends_silently();
    let mode = |name: &str| {
        world
            .store()
            .join(name)
            .metadata()
            .expect("it was made")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (mode("."), mode("log")),
        (0o700, 0o600),
        "of the store and of the log"
    );
}

/// A log that is a link is not written through.
#[test]
fn linked_log_is_not_written_through() {
    let world = Sandbox::new();
    std::fs::create_dir_all(world.store()).expect("writable");
    let target = world.path("target");
    File::create(&target).expect("writable");
    std::os::unix::fs::symlink(&target, world.store().join("log")).expect("writable");
    world.run(&["event", "--bogus"], b"{}").ends_silently();
    assert_eq!(
        target.metadata().expect("it is there").len(),
        0,
        "somebody else's file"
    );
}

/// Settings that hang or make no sense do not stop a hook.
#[test]
fn hanging_settings_stop_no_hook() {
    let world = Sandbox::new();
    world.configure("this is = = not toml");
    world.run(&["event"], b"{").ends_silently();
    let file = world.home().join(".config/ckpt-hook/config.toml");
    std::fs::remove_file(&file).expect("it was written");
    let made = Command::new("/usr/bin/mkfifo")
        .arg(&file)
        .status()
        .expect("coreutils are there");
    assert!(made.success(), "the pipe is made");
    world.run(&["event"], b"{").ends_silently();
}

/// A first snapshot that is late goes on without the hook.
#[test]
fn late_first_snapshot_goes_on_alone() {
    let world = Sandbox::new();
    world.write("file", "x");
    // Half a second is kept for the rows: nothing is left for the snapshot.
    world.configure("hook_deadline = \"500 ms\"\n");
    for _ in 0..500 {
        let event = br#"{"event":"user_message","session_id":"s","message_id":"m"}"#;
        world.run(&["event"], event).ends_silently();
        if has_pack(&world) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the snapshot in the background was never done");
}

/// Status says that the first snapshot goes on until it is done.
#[test]
fn status_reports_a_running_first_snapshot() {
    // A process that takes a snapshot holds the lock of the workspace's folder: the test takes it before the one in the background does.
    let (world, lock) = (0..50)
        .find_map(|_| late_and_locked())
        .expect("the test is once the first");
    let says = || {
        world
            .run(&["status"], b"")
            .exits(0)
            .stdout
            .contains("the first snapshot is still being taken")
    };
    assert!(says(), "it is not done");
    flock(&lock, FlockOperation::Unlock).expect("it was held");
    world.run(&["snapshot"], b"").exits(0);
    flock(&lock, FlockOperation::LockExclusive).expect("it is waited for");
    assert!(
        !says(),
        "it is done: whoever holds the lock now does something else"
    );
    let message = world.json(&["status"])["unprotected"].to_string();
    assert!(
        message.contains("not done in time"),
        "what was not protected is named for good: {message}"
    );
}

/// Returns a world whose first snapshot is late and not done, and the lock for which it waits; `None` if it was done already.
fn late_and_locked() -> Option<(Sandbox, File)> {
    let world = Sandbox::new();
    world.write("file", "x");
    world.configure("hook_deadline = \"500 ms\"\n");
    world
        .run(
            &["event"],
            br#"{"event":"user_message","session_id":"s","message_id":"m"}"#,
        )
        .ends_silently();
    let folder = std::fs::read_dir(world.store().join("snapshots"))
        .expect("the store")
        .next()?
        .expect("an entry");
    let lock = File::open(folder.path().join("lock")).expect("the hook has made it");
    flock(&lock, FlockOperation::LockExclusive).expect("it is waited for");
    (!has_pack(&world)).then_some((world, lock))
}

fn has_pack(world: &Sandbox) -> bool {
    let workspaces = std::fs::read_dir(world.store().join("snapshots"))
        .into_iter()
        .flatten()
        .flatten();
    let packs = workspaces
        .flat_map(|entry| std::fs::read_dir(entry.path().join("repository.git/objects/pack")));
    packs.flatten().flatten().any(|entry| {
        entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "pack")
    })
}
