//! A store on a disk that has hardly any room, or hardly any inodes, from its first event on.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use testing::binary::{Run, Sandbox, binary, finish};
use testing::chat::{Chat, OLD};
use testing::mount::Mount;
use testing::skip::has_strace;
use testing::strace;

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

/// A store without room disturbs nobody says so and works when there is room.
#[test]
fn store_without_room_recovers() {
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
        let doctor = world.run(&["doctor"], b"");
        let says = ["free some space", "disk is full", "No space left on device"];
        let is_said = says.iter().any(|text| doctor.stdout.contains(text));
        assert!(is_said, "{options}: {doctor}");
        for command in [&["log"][..], &["doctor", "--repair"], &["gc"]] {
            let run = world.run(command, b"");
            let code = run.code.expect("no signal ends it");
            assert!([0, 1, 3].contains(&code), "{options}: {run}");
        }
        mount.remount("size=100m,nr_inodes=100k");
        turn(&world, 7);
        // What was lost before is told with the newest message.
        let run = world.run(&["revert", "m7"], b"");
        let is_told = run.code == Some(3) && run.stdout.contains("was not recorded");
        assert!(run.code == Some(0) || is_told, "{options}: {run}");
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

/// A limit on the size of files ends no command and nothing is torn.
///
/// Invariant `truth/file-size-limit`: A limit on the size of files counts as a full disk, and
/// ends no command by a signal; neither does one on the stack.
#[test]
fn file_size_limit_tears_nothing() {
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

/// The bytes in use on the disk of a world's store.
fn used(world: &Sandbox) -> u64 {
    let disk = rustix::fs::statvfs(world.store()).expect("it is mounted");
    (disk.f_blocks - disk.f_bfree) * disk.f_frsize
}

/// The bytes of all files of a store whose names begin or end like this.
fn bytes(directory: &Path, is_meant: &dyn Fn(&str) -> bool) -> u64 {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    let sizes = entries.map(|entry| match entry.path().is_dir() {
        true => bytes(&entry.path(), is_meant),
        false if is_meant(&entry.file_name().to_string_lossy()) => {
            entry.metadata().map_or(0, |file| file.len())
        }
        false => 0,
    });
    sizes.sum()
}

/// What a few files beside packs and rows take, in bytes: refs, notes, indexes, blocks that are not full.
const BESIDE: u64 = 400 << 10;

/// What is left free on the disk whatever is rewritten, in bytes.
const SPARE: u64 = 16 << 20;

/// Gc and forget take at most the space of what they rewrite and without it they say so.
///
/// Invariant `work/upkeep-space`: `gc` and `forget` take at most the space of what they
/// rewrite, and without it they say so and leave nothing behind.
#[test]
fn upkeep_without_room_leaves_nothing_behind() {
    let forget = ["forget", "--path", "a3", "--yes"];
    for command in [&["gc"][..], &forget] {
        let world = Sandbox::new();
        fs::create_dir_all(world.store()).expect("writable");
        let Some(mount) = Mount::new(&world.store(), "size=100m,mode=700") else {
            return;
        };
        for round in 0..4 {
            (1..=6).for_each(|number| turn(&world, number + 6 * round));
        }
        let packs = bytes(&world.store(), &|name| name.ends_with(".pack"));
        assert!(packs > 1 << 20, "there is something to rewrite: {packs}");
        // SQLite copies the database, and then its log holds it.
        let rows = match command {
            ["gc"] => 0,
            _ => 2 * bytes(&world.store(), &|name| name == "sessions.db"),
        };
        let before = used(&world);
        mount.remount(&format!("size={}", before + rows + packs / 3));
        let run = world.run(command, b"").exits(3);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(
            ["No space left on device", "disk is full", "too little room"]
                .iter()
                .any(|why| said.contains(why)),
            "{command:?}: it says why: {run}"
        );
        let after = used(&world);
        assert!(
            after <= before + rows / 2 + BESIDE / 4,
            "{command:?}: nothing half-done is left: {before} {after}"
        );
        mount.remount(&format!("size={}", before + rows + packs + SPARE + BESIDE));
        world.run(command, b"").exits(0);
        assert!(used(&world) <= before + BESIDE / 4, "{command:?}");
        world.run(&["doctor", "--all"], b"").exits(0);
        drop(mount);
    }
}

/// Does harm to the first page, or to the one with the newest prompt, which the table does not begin with.
fn harm(database: &[u8], is_first: bool) -> Vec<u8> {
    let mut bytes = database.to_vec();
    let prompt = b"the last prompt";
    let mut windows = bytes.windows(prompt.len());
    let at = windows.rposition(|window| window == prompt);
    let page = match is_first {
        true => 0,
        false => at.expect("it is there") / 4096 * 4096,
    };
    bytes[page..page + 4096].fill(0xa5);
    bytes
}

/// A damaged session store stays as it is while there is no room for another one.
///
/// Invariant `work/rows-first-page`.
#[test]
fn damaged_store_waits_for_room() {
    for is_first in [true, false] {
        let world = Sandbox::new();
        fs::create_dir_all(world.store()).expect("writable");
        let Some(mount) = Mount::new(&world.store(), "size=100m,mode=700") else {
            return;
        };
        world.write("a", "0\n");
        // More than a page of prompts.
        for number in 0..30 {
            let prompt = format!("{number} {}", "long ".repeat(100));
            world.play(&format!("m{number}"), &prompt, |world| {
                world.write("a", number.to_string());
            });
        }
        world.play("last", "the last prompt", |world| {
            world.write("a", "last\n")
        });
        let database = world.store().join("sessions.db");
        testing::rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
        let bytes = harm(&fs::read(&database).expect("ours"), is_first);
        fs::write(&database, &bytes).expect("ours");
        mount.remount(&format!("size={}", used(&world)));
        if is_first {
            let event = serde_json::json!({"event": "user_message", "session_id": "s"});
            world.event(event).ends_silently();
            world.run(&["log"], b"").exits(1);
        }
        world.run(&["doctor", "--repair"], b"").exits(1);
        let files: Vec<_> = fs::read_dir(world.store())
            .expect("ours")
            .flatten()
            .collect();
        let is_other = |entry: &fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.contains("damaged") || name.contains("repaired")
        };
        assert!(!files.iter().any(is_other), "{files:?}");
        assert!(
            fs::read(&database).expect("ours") == bytes,
            "nothing is changed"
        );
        mount.remount("size=100m");
        world.run(&["doctor", "--repair"], b"").exits(0);
        let log = world.run(&["log"], b"").exits(0);
        assert!(log.stdout.contains("5 long"), "{log}");
        assert_eq!(log.stdout.contains("the last prompt"), is_first, "{log}");
        drop(mount);
    }
}

/// SQLite's own error says "disk I/O" where it cannot make its index longer, or sync, because a disk or a quota is full.
///
/// Invariant `truth/full-disk`: A full disk or quota is called that, also where SQLite only
/// says that the disk failed.
#[test]
fn full_disk_or_quota_is_no_failed_disk() {
    if !has_strace() {
        return;
    }
    let world = Sandbox::new();
    turn(&world, 1);
    let says = [
        ("ENOSPC", "No space left on device"),
        ("EDQUOT", "quota exceeded"),
        ("EIO", "nput/output error"),
    ];
    for call in ["pwrite64", "ftruncate", "fsync"] {
        for (errno, why) in says {
            let trace = format!("trace={call}");
            let inject = format!("inject={call}:error={errno}:when=1+");
            let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
            let run = finish(
                &mut strace::command(&world, &options, &["revert", "m1"]),
                b"",
            );
            let case = format!("{call} {errno}: {run}");
            assert_eq!(run.code, Some(1), "nothing was changed: {case}");
            let is_full = run.stderr.contains("disk is full, or your disk quota");
            let is_failed = run.stderr.contains("the disk failed");
            let expected = errno != "EIO";
            assert_eq!((is_full, is_failed), (expected, !expected), "{case}");
            assert!(run.stderr.contains(why), "{case}");
        }
    }
}

/// A full disk under the conversations leaves everything as it was.
#[test]
fn full_disk_forks_nothing() {
    let chat = Chat::new();
    let Some(_mount) = Mount::new(&chat.folder, "size=64k,mode=700") else {
        return;
    };
    (1..=3).for_each(|number| chat.say(OLD, number));
    let filler = chat.folder.join("filler");
    fs::write(&filler, [b'x'; 64 << 10]).expect_err("that fills it");
    let words = ["revert", "last", "--conversation", "fork"];
    let run = chat.world.run(&words, b"");
    assert_ne!(run.code, Some(0), "{run}");
    assert_eq!(chat.states(), ["live", "live", "live"], "{run}");
    assert!(
        chat.is_made(3) && chat.transcripts() == 2,
        "nothing is left beside: {run}"
    );
    fs::remove_file(filler).expect("it is there");
    chat.fork("last");
    assert!(!chat.is_made(3), "once there is room");
}
