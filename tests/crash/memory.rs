//! Memory runs out, wherever: what a command says is so, and the next one ends what was begun.
//!
//! `ulimit -v` bounds the addresses of a process. What Rust cannot get ends it at once, as a kill does; what a thread or a map cannot
//! get is an error.

use std::process::Command;

use serde_json::json;

use super::errors::assert_honest;
use super::forward::cases;
use super::{Sandbox, assert_sound, assert_whole, played};
use testing::binary::{Run, finish};

/// How many limits are tried of each command.
fn limits() -> u64 {
    if std::env::var_os("CKPT_FULL").is_some() {
        150
    } else {
        10
    }
}

/// Runs the binary with so many kilobytes of addresses.
fn run_within(world: &Sandbox, kilobytes: u64, arguments: &[&str], stdin: &[u8]) -> Run {
    let binary = world.command(arguments);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v \"$0\" && ulimit -c 0 && exec \"$@\""])
        .arg(kilobytes.to_string())
        .arg(binary.get_program())
        .args(binary.get_args())
        .env_clear();
    for (name, value) in binary.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    if let Some(directory) = binary.get_current_dir() {
        command.current_dir(directory);
    }
    finish(&mut command, stdin)
}

/// Returns limits between what the program needs to begin at all and what it needs to end well.
fn between(ready: impl Fn() -> Sandbox, arguments: &[&str], stdin: &[u8]) -> Vec<u64> {
    let ends_well =
        |kilobytes: &u64| run_within(&ready(), *kilobytes, arguments, stdin).code == Some(0);
    let begins = |kilobytes: &u64| {
        let run = run_within(&ready(), *kilobytes, &["--version"], b"");
        run.code == Some(0)
    };
    let sizes = || (0..12).map(|power| (8 << 10) << power);
    let least = sizes().find(begins).expect("it begins with some memory") / 2;
    let enough = sizes().find(ends_well).expect("it ends with enough memory");
    let step = (enough - least) / limits();
    (1..limits()).map(|number| least + number * step).collect()
}

/// An operation that runs out of memory is ended by the next command.
///
/// Invariant `work/crash-out-of-memory`: If memory runs out, every message is still true, and
/// the next command finishes the operation.
#[test]
fn operation_out_of_memory_is_ended_next() {
    for case in cases() {
        let (before, after) = case.trees();
        for kilobytes in between(case.ready, case.command, b"") {
            let world = (case.ready)();
            let run = run_within(&world, kilobytes, case.command, b"");
            let what = format!("{} within {kilobytes} kB", case.name);
            match run.code {
                // The loader could not begin.
                Some(126 | 127) | None => assert_whole(&world, &before, &after, &what),
                // Killed by an allocation that failed; a shell reports signals so.
                Some(128..) => assert_whole(&world, &before, &after, &what),
                Some(_) => assert_honest(&world, &run, &before, &after, &what),
            }
            world.run(case.again, b"").exits(0);
            case.assert_ended(
                &world,
                &before,
                &after,
                &format!("{what}, which said:\n{run}"),
            );
        }
    }
}

/// A hook that runs out of memory touches nothing and the next one records.
///
/// Invariant `work/crash-out-of-memory`.
#[test]
fn hook_out_of_memory_touches_nothing() {
    let ready = || {
        let world = played();
        world
            .event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"}))
            .ends_silently();
        world
            .event(json!({"event": "step_start", "session_id": "s"}))
            .ends_silently();
        world.write("edited", "second\n");
        world
    };
    let payload = |world: &Sandbox| {
        json!({"event": "step_finish", "session_id": "s", "cwd": world.workspace()}).to_string()
    };
    let first = ready();
    // Each world has a directory of its own, so that the event is of none of them; what it takes is about the same.
    let limits = between(ready, &["event"], payload(&first).as_bytes());
    for kilobytes in limits {
        let world = ready();
        let before = world.tree();
        let run = run_within(&world, kilobytes, &["event"], payload(&world).as_bytes());
        let what = format!("within {kilobytes} kB: {run}");
        assert_eq!(
            world.tree(),
            before,
            "{what}: a hook does not act on the workspace"
        );
        assert!(
            run.stdout.is_empty(),
            "{what}: nothing for the agent to read"
        );
        world
            .event(json!({"event": "turn_end", "session_id": "s"}))
            .ends_silently();
        assert_sound(&world, &what);
        let revert = world.run(&["revert", "--message", "m2"], b"");
        // A library that panics without memory costs the file that was looked at, not the step: then it is named, and stays.
        if revert.code == Some(3) && revert.stdout.contains("`edited` (unreadable") {
            assert_eq!(
                world.read("edited"),
                b"second\n",
                "{what}: what is not known is left alone"
            );
            continue;
        }
        // Nor can anything be taken back where no change of the step could be recorded: then that is told.
        if revert.code == Some(4) && revert.stderr.contains("was not recorded") {
            assert_eq!(world.read("edited"), b"second\n", "{what}: it is left");
            continue;
        }
        // The next look saw what changed, but not before whom: that is named as unclear, and stays.
        if revert.code == Some(3) && revert.stdout.contains("edited (unclear whose") {
            assert!(
                revert.stdout.contains("was not recorded"),
                "{what}: {revert}"
            );
            assert_eq!(world.read("edited"), b"second\n", "{what}: it is left");
            continue;
        }
        // A hook that had enough memory left to note that it had too little is told of, though the next one saw what it missed.
        let is_told = revert.code == Some(3) && revert.stdout.contains("was not recorded");
        assert!(revert.code == Some(0) || is_told, "{what}: {revert}");
        assert_eq!(
            world.read("edited"),
            b"one\n2\n",
            "{what}: the step was recorded"
        );
    }
}
