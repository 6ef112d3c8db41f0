//! A store on a disk that has hardly any room, or hardly any inodes, from its first event on.

use std::fs;

use serde_json::json;

use testing::binary::Sandbox;
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
