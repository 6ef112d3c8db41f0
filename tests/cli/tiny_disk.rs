//! A store on a disk that has hardly any room, or hardly any inodes, from its first event on.

use std::fs;
use std::process::Command;

use serde_json::json;

use testing::binary::{Run, Sandbox, binary};
use testing::mount::Mount;

/// Plays a turn of an agent whose hooks may find no room.
fn turn(world: &Sandbox, number: u32) {
    let message = format!("m{number}");
    world
        .event(json!({"event": "user_message", "session_id": "s", "message_id": message}))
        .ends_silently();
    world
        .event(json!({"event": "step_start", "session_id": "s"}))
        .ends_silently();
    world.write(&format!("a{number}"), noise(number));
    world
        .event(json!({"event": "step_finish", "session_id": "s"}))
        .ends_silently();
    world
        .event(json!({"event": "turn_end", "session_id": "s"}))
        .ends_silently();
}

/// Bytes that cannot be compressed.
fn noise(seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next)
        .take(15_000)
        .flatten()
        .collect()
}

#[test]
fn a_store_without_room_disturbs_nobody_says_so_and_works_when_there_is_room() {
    for options in ["size=64k", "size=1m", "nr_inodes=20"] {
        let world = Sandbox::new();
        fs::create_dir_all(world.store()).expect("writable");
        let Some(mount) = Mount::new(&world.store(), &format!("{options},mode=700")) else {
            return;
        };
        world.write("before", "0\n");
        for number in 1..=6 {
            turn(&world, number);
        }
        let status = world.run(&["status"], b"");
        let said = format!("{}{}", status.stdout, status.stderr);
        assert!(
            said.contains("No space left on device") || said.contains("disk is full"),
            "{options}: it says why: {status}"
        );
        for command in [&["log"][..], &["doctor", "--repair"], &["gc"]] {
            let run = world.run(command, b"");
            let code = run.code.expect("no signal ends it");
            assert!([0, 1, 3].contains(&code), "{options}: {run}");
        }
        mount.remount("size=100m,nr_inodes=100k");
        turn(&world, 7);
        world.run(&["revert", "m7"], b"").exits(0);
        assert!(!world.workspace().join("a7").exists(), "{options}");
        assert_eq!(world.read("a6"), noise(6), "{options}: the rest stays");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(world.read("a7"), noise(7), "{options}");
        world.run(&["gc"], b"").exits(0);
        world.run(&["doctor", "--all"], b"").exits(0);
        drop(mount);
    }
}

/// Runs a command that may write `blocks` blocks of 512 or 1024 bytes, as the shell counts, to each file.
fn limited(world: &Sandbox, blocks: u32, arguments: &[&str]) -> Run {
    let plain = world.command(arguments);
    let mut limited = Command::new("sh");
    limited
        .args([
            "-c",
            &format!("ulimit -f {blocks}; exec \"$@\""),
            "sh",
            binary(),
        ])
        .args(arguments)
        .env_clear()
        .current_dir(world.workspace());
    for (name, value) in plain.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    Run::of(&mut limited)
}

#[test]
fn a_limit_on_the_size_of_files_ends_no_command_and_nothing_is_torn() {
    for blocks in [0, 8, 100, 1_000] {
        let world = Sandbox::new();
        world.write("a0", noise(0));
        world.play("m1", "first", |world| world.write("a1", noise(1)));
        world.play("m2", "second", |world| world.write("a0", noise(2)));
        for command in [
            &["gc"][..],
            &["revert", "m1"],
            &["forget", "--path", "a1", "--yes"],
        ] {
            let run = limited(&world, blocks, command);
            let code = run
                .code
                .unwrap_or_else(|| panic!("{blocks}: a signal ends it: {run}"));
            assert!([0, 1, 3].contains(&code), "{blocks}: {command:?}: {run}");
        }
        let a0 = world.read("a0");
        assert!(a0 == noise(0) || a0 == noise(2), "{blocks}: it is whole");
        world.run(&["gc"], b"").exits(0);
        world.run(&["doctor", "--all"], b"").exits(0);
    }
}
