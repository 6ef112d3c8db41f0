//! No work grows with the square of anything, and no memory with the size of a file.
//!
//! What is compared is work, never seconds: processor time of one call in a workspace and in one twice as large, system calls,
//! and peak memory. `just scale` runs them on a release build; they take minutes and 12 GB of disk.

#![expect(
    clippy::print_stdout,
    reason = "the numbers are told, so that somebody can look at them"
)]

mod lists;
mod work;
mod year;

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Command;

use ckpt_store::snapshot::Snapshots;
use rustix::fs::{Mode, OFlags};

use testing::binary::{Sandbox, finish};
use work::{Work, begin, calls, calls_of_event, event, run};

/// Twice the files may take this much more processor time: twice, with what noise and caches add. The square would be 4.
const LINEAR: f64 = 2.9;

/// System calls that 5,000 packs may add: fewer than 80 stand alone, and four calls open an index.
const ALONE: u64 = 4 * 80 + 50;

/// The most memory that a call may use, whatever the size of a file: bytes.
const MEMORY: u64 = 300_000_000;

fn assert_linear(what: &str, half: &Work, whole: &Work) {
    let ratio = whole.processor / half.processor;
    println!("{what}: {half} with half of it, {whole}: {ratio:.2} times");
    assert!(
        ratio < LINEAR,
        "{what}: twice of it takes {ratio:.2} times the work: {half}, {whole}"
    );
}

fn assert_calls(what: &str, half: u64, whole: u64) {
    println!("{what}: {half} system calls with half of it, {whole}");
    assert!(
        (whole as f64) < LINEAR * half as f64,
        "{what}: {half} and {whole} system calls"
    );
}

fn many(world: &Sandbox, count: usize, content: &str) {
    for number in 0..count {
        world.write(
            &format!("d{}/{}/f{number}", number / 10_000, number / 100),
            format!("{number} {content}\n"),
        );
    }
}

#[test]
#[ignore = "minutes: `just scale`"]
fn a_hundred_thousand_changed_files_in_one_step() {
    let measure = |count: usize| {
        let world = Sandbox::new();
        many(&world, count, "before");
        begin(&world);
        many(&world, count, "the agent was here");
        let finish = event(&world, "step_finish");
        event(&world, "turn_end");
        let [status, revert, redo] = [
            &["status"][..],
            &["-q", "revert", "--message", "m"],
            &["-q", "redo"],
        ];
        let work = [status, revert, redo].map(|arguments| run(&world, arguments));
        assert!(
            world.read("d0/0/f1").ends_with(b"the agent was here\n"),
            "it was no empty show"
        );
        (finish, work)
    };
    let (half, whole) = (measure(50_000), measure(100_000));
    assert_linear("100,000 changed files, step_finish", &half.0, &whole.0);
    for (number, command) in ["status", "revert", "redo"].into_iter().enumerate() {
        assert_linear(
            &format!("100,000 changed files, {command}"),
            &half.1[number],
            &whole.1[number],
        );
    }
}

#[test]
#[ignore = "minutes: `just scale`"]
fn two_hundred_thousand_files_in_one_directory() {
    let measure = |count: usize| {
        let world = Sandbox::new();
        for number in 0..count {
            world.write(&format!("many/f{number}"), number.to_string());
        }
        world.configure("hook_deadline = \"30 min\"\n");
        let first = event(&world, "user_message");
        let same = event(&world, "step_start");
        world.write("many/f7", "edited");
        let one = event(&world, "step_finish");
        [first, same, one]
    };
    let (half, whole) = (measure(100_000), measure(200_000));
    for (number, what) in ["the first snapshot", "no change", "one edit"]
        .into_iter()
        .enumerate()
    {
        assert_linear(
            &format!("200,000 files in one directory, {what}"),
            &half[number],
            &whole[number],
        );
    }
}

/// Makes directories in one another, and a file in each of them.
fn dig(world: &Sandbox, depth: usize) {
    let open = |at: &OwnedFd| {
        rustix::fs::openat(at, "d", OFlags::DIRECTORY, Mode::empty()).expect("it was made")
    };
    let mut directory = rustix::fs::open(world.workspace(), OFlags::DIRECTORY, Mode::empty())
        .expect("the workspace");
    for _ in 0..depth {
        rustix::fs::mkdirat(&directory, "d", Mode::from(0o755)).expect("writable");
        directory = open(&directory);
        let flags = OFlags::CREATE | OFlags::WRONLY;
        let file = rustix::fs::openat(&directory, "f", flags, Mode::from(0o644)).expect("writable");
        rustix::io::write(&file, b"x").expect("writable");
    }
}

/// What `tempfile` does would need a descriptor for each level.
fn fill_in(world: &Sandbox) {
    let removed = Command::new("rm")
        .args(["-rf", "d"])
        .current_dir(world.workspace())
        .status()
        .expect("rm");
    assert!(removed.success(), "the test cleans up");
}

#[test]
#[ignore = "minutes: `just scale`"]
fn two_thousand_directories_deep() {
    let measure = |depth: usize| {
        let world = Sandbox::new();
        dig(&world, depth);
        world.configure("hook_deadline = \"30 min\"\n");
        let calls = ["user_message", "step_start"].map(|event| calls_of_event(&world, event));
        let other = world.path("other");
        fs::rename(world.store(), &other).expect("the same disk");
        let work = ["user_message", "step_start"].map(|name| event(&world, name));
        let snapshot = world.json(&["snapshot"]);
        assert_eq!(
            snapshot["gaps"],
            serde_json::json!([]),
            "{depth} directories are not too many"
        );
        fill_in(&world);
        (calls, work)
    };
    let (half, whole) = (measure(1000), measure(2000));
    for (number, what) in ["the first snapshot", "no change"].into_iter().enumerate() {
        let what = format!("2,000 directories deep, {what}");
        assert_calls(&what, half.0[number], whole.0[number]);
        println!(
            "{what}: {} with half of it, {}",
            half.1[number], whole.1[number]
        );
    }
    // A call without changes takes some hundredths of a second, in which chance is more than the half.
    assert_linear(
        "2,000 directories deep, the first snapshot",
        &half.1[0],
        &whole.1[0],
    );
}

#[test]
#[ignore = "minutes: `just scale`"]
fn twenty_thousand_directories_deep_with_few_descriptors() {
    let world = Sandbox::new();
    world.write("file", "x");
    dig(&world, 20_000);
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "ulimit -n 64; ulimit -s 1024; exec \"$0\" --json snapshot",
            testing::binary::binary(),
        ])
        .env_clear();
    shell
        .env("HOME", world.home())
        .env("CKPT_HOOK_HOME", world.store())
        .current_dir(world.workspace());
    let done = finish(&mut shell, b"");
    fill_in(&world);
    let report: serde_json::Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done}"));
    let gaps = report["gaps"].as_array().expect("gaps");
    println!("20,000 directories deep: {} gaps", gaps.len());
    assert!(gaps.len() <= 1, "all of it, or one gap: {done}");
}

#[test]
#[ignore = "minutes: `just scale`"]
fn five_thousand_packs_in_the_store() {
    let world = Sandbox::new();
    for number in 0..50 {
        world.write(&format!("f{number}"), number.to_string());
    }
    begin(&world);
    let key = fs::read_dir(world.store().join("snapshots"))
        .expect("the store")
        .next()
        .expect("a workspace");
    let snapshots = Snapshots::open(&key.expect("an entry").path()).expect("its snapshots");
    let measure = |packs: std::ops::Range<usize>| {
        packs.for_each(|number| {
            drop(
                snapshots
                    .write_blobs(&[number.to_string().as_bytes()])
                    .expect("a pack"),
            )
        });
        // The first snapshot looks whether other packs are there; what is measured is the next one.
        let _ = ["step_finish", "step_start", "step_finish"].map(|name| event(&world, name));
        let same = calls_of_event(&world, "step_start");
        world.write("f7", same.to_string());
        [
            same,
            calls_of_event(&world, "step_finish"),
            calls(&world, &["diff", "m"], ""),
        ]
    };
    let (few, whole) = (measure(0..100), measure(100..5000));
    for (number, what) in ["no change", "one edit", "diff"].into_iter().enumerate() {
        println!(
            "5,000 packs, {what}: {} system calls with a hundred, {}",
            few[number], whole[number]
        );
        // What is left are the names of the packs' folder, a thousand a call, and the few packs that stand alone.
        assert!(
            whole[number] < few[number] + ALONE,
            "{what}: {} and {}",
            few[number],
            whole[number]
        );
    }
}

#[test]
#[ignore = "minutes, and 12 GB of disk: `just scale`"]
fn four_gigabytes_in_one_file() {
    let world = Sandbox::new();
    world.configure("max_file_size = \"8 GiB\"\nhook_deadline = \"30 min\"\n");
    world.write("small", "x");
    begin(&world);
    fs::File::create(world.workspace().join("sparse"))
        .expect("writable")
        .set_len(4 << 30)
        .expect("a sparse file");
    random(&world, "random", 1 << 30);
    let mut works = vec![("step_finish", event(&world, "step_finish"))];
    event(&world, "turn_end");
    for command in [&["-q", "revert", "--message", "m"][..], &["-q", "redo"]] {
        works.push((command[1], run(&world, command)));
    }
    let length = |name: &str| {
        world
            .workspace()
            .join(name)
            .metadata()
            .expect("it is back")
            .len()
    };
    assert_eq!(
        (length("sparse"), length("random")),
        (4 << 30, 1 << 30),
        "and it was no empty show"
    );
    for (what, work) in works {
        println!("4 GiB in one file, {what}: {work}");
        assert!(work.peak < MEMORY, "{what}: {work}");
    }
}

/// Writes a file of bytes that cannot be compressed.
fn random(world: &Sandbox, name: &str, length: usize) {
    let mut file = fs::File::create(world.workspace().join(name)).expect("writable");
    let mut state = 1_u64;
    let mut piece = vec![0_u8; 1 << 20];
    for _ in 0..length / piece.len() {
        for bytes in piece.chunks_exact_mut(8) {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            bytes.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes());
        }
        file.write_all(&piece).expect("writable");
    }
}
