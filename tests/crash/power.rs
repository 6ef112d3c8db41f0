//! The power goes at any time: what the device holds at that moment is mounted again, and life goes on from there.
//!
//! The workspace and the store are on ext4, in an image that is a file of a btrfs. A clone of that file, taken while the agent
//! works, is what a device holds that keeps what it was told, in the order in which it was told: atomic, and without the
//! kernel knowing. The agent's own files are not synced by anybody, so they may be torn; what was recorded may not be.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use testing::skip::skip;

use super::{Sandbox, Tree, assert_sound, leftovers};
use testing::namespace::{MountCall, in_namespace};

/// How long a device is waited for, and how often it is asked.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// How many files the agent works on.
const FILES: usize = 30;

/// How often the power goes: two hundred times in full.
fn cuts() -> u64 {
    if std::env::var_os("CKPT_FULL").is_some() {
        200
    } else {
        5
    }
}

/// A file system of which a picture can be taken.
struct Device {
    folder: TempDir,
    mount: MountCall,
}

impl Device {
    /// Makes it; returns `None` if it cannot be made here.
    fn new(mount: MountCall) -> Option<Self> {
        let device = Self {
            folder: tempfile::tempdir().expect("a scratch directory"),
            mount,
        };
        let outer = device.path("outer.img");
        for directory in ["outer", "disk"] {
            std::fs::create_dir(device.path(directory)).expect("writable");
        }
        let works = make_image(&outer, 1 << 30, &["mkfs.btrfs", "-q"])
            && tried("mount", &["-o", "loop"], &[&outer, &device.path("outer")])
            && make_image(&device.image(), 200 << 20, &["mkfs.ext4", "-q", "-F"]);
        if works {
            mount(&["-o", "loop"], &device.image(), &device.place());
        }
        works.then_some(device)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn image(&self) -> PathBuf {
        self.path("outer/disk.img")
    }

    /// Where it is mounted.
    fn place(&self) -> PathBuf {
        self.path("disk")
    }

    /// Takes a picture of what it holds at this moment.
    fn take_picture(&self) {
        clone(&self.image(), &self.path("outer/picture.img"));
    }

    /// Goes on with the picture.
    fn restart(&self) {
        // Upkeep of the store goes on for a moment after the call that began it; the power cut has ended it already.
        let patience = Instant::now() + PATIENCE;
        while !tried("umount", &[], &[&self.place()]) {
            assert!(Instant::now() < patience, "nobody is at work there");
            std::thread::sleep(PAUSE);
        }
        std::fs::remove_file(self.image()).expect("it is there");
        clone(&self.path("outer/picture.img"), &self.image());
        (self.mount)(&["-o", "loop"], &self.image(), &self.place());
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        tried("umount", &[], &[&self.place()]);
        tried("umount", &[], &[&self.path("outer")]);
    }
}

fn clone(from: &Path, to: &Path) {
    assert!(
        tried("cp", &["--reflink=always"], &[from, to]),
        "a clone of `{}`",
        from.display()
    );
}

fn make_image(path: &Path, bytes: u64, format: &[&str]) -> bool {
    let made = std::fs::File::create(path).and_then(|image| image.set_len(bytes));
    made.is_ok() && tried(format[0], &format[1..], &[path])
}

/// Returns whether a program was there, and ended well.
fn tried(program: &str, options: &[&str], paths: &[&Path]) -> bool {
    let status = Command::new(program)
        .args(options)
        .args(paths)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// One message whose agent edits some files, makes one and removes one; every third is reverted, every sixth gets back.
/// Says when the step is acknowledged.
fn round(world: &Sandbox, number: usize, acknowledged: impl Fn()) {
    let event = |event: &str| {
        let message = format!("m{number}");
        let payload = json!({"event": event, "session_id": "s", "message_id": message, "cwd": world.workspace()});
        world
            .run(&["event", "--strict"], payload.to_string().as_bytes())
            .exits(0);
    };
    event("user_message");
    event("step_start");
    for file in [number, number * 7, number * 13].map(|file| format!("f{}", file % FILES)) {
        let old = std::fs::read(world.workspace().join(&file)).unwrap_or_default();
        world.write(
            &file,
            [old, format!("edit {number}\n").into_bytes()].concat(),
        );
    }
    world.write(
        &format!("made/{}", number % 5),
        format!("{number}\n").repeat(100),
    );
    let _ = std::fs::remove_file(
        world
            .workspace()
            .join(format!("f{}", (number * 11 + 1) % FILES)),
    );
    event("step_finish");
    acknowledged();
    event("turn_end");
    if number.is_multiple_of(3) {
        world
            .run(&["revert", "--message", &format!("m{number}")], b"")
            .exits(0);
        if number.is_multiple_of(2) {
            world.run(&["unrevert"], b"").exits(0);
        }
    }
}

/// Works until the power goes, after some milliseconds. Returns the number of the last message whose step was acknowledged
/// before that; the very first one's was.
fn work_until_the_power_goes(
    world: &Sandbox,
    device: &Device,
    from: usize,
    milliseconds: u64,
) -> usize {
    let (last, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let rounds = (from..).take_while(|_| !is_over.load(Ordering::SeqCst));
            rounds.for_each(|number| round(world, number, || last.store(number, Ordering::SeqCst)));
        });
        std::thread::sleep(Duration::from_millis(milliseconds));
        let acknowledged = last.load(Ordering::SeqCst);
        device.take_picture();
        is_over.store(true, Ordering::SeqCst);
        acknowledged
    })
}

/// Every object of every pack is whole, and git finds its way about.
fn assert_packs_whole(world: &Sandbox, what: &str) {
    for folder in std::fs::read_dir(world.store().join("snapshots")).expect("the store") {
        let repository = folder.expect("an entry").path().join("repository.git");
        let mut git = world.git_command(&["--git-dir"]);
        let checked = testing::git::output(git.arg(&repository).args(["fsck", "--full"]));
        assert!(checked.status.success(), "{what}: {checked:?}");
    }
}

fn messages(world: &Sandbox) -> Vec<String> {
    let log = world.json(&["log"]);
    let rows = log["messages"]
        .as_array()
        .unwrap_or_else(|| panic!("messages: {log}"));
    rows.iter()
        .map(|row| row["agent_id"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn powerless(test: &str, durability: &str, check: impl Fn(&Sandbox, &Tree, usize, &str)) {
    in_namespace(test, |mount| {
        let Some(device) = Device::new(mount) else {
            return skip("it needs root, loop devices, `mkfs.ext4` and `mkfs.btrfs`");
        };
        let world = Sandbox::new_in(&device.place());
        world.configure(&format!("durability = \"{durability}\"\n"));
        for number in 0..FILES {
            world.write(&format!("f{number}"), format!("line {number}\n").repeat(20));
        }
        let before = world.tree();
        round(&world, 0, || {});
        assert!(tried("sync", &[], &[]), "the first message is on the disk");
        for (cut, from) in (0..cuts()).zip((1000..).step_by(1000)) {
            let milliseconds = 50 + cut * 7919 % 1500;
            let last = work_until_the_power_goes(&world, &device, from, milliseconds);
            device.restart();
            let what = format!("cut {cut}, after {milliseconds} ms and message {last}");
            assert_sound(&world, &what);
            assert_packs_whole(&world, &what);
            check(&world, &before, last, &what);
            // What was done to check it did not happen.
            device.restart();
        }
    });
}

/// The paths at which two trees differ.
fn differences<'a>(left: &'a Tree, right: &'a Tree) -> Vec<&'a Path> {
    let mut all: Vec<&Path> = left
        .keys()
        .chain(right.keys())
        .map(PathBuf::as_path)
        .collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|path| left.get(*path) != right.get(*path));
    all
}

/// Goes all the way back, and to what the power cut left. Returns the outcome, and the tree in between.
fn back_and_forth(world: &Sandbox, what: &str) -> (String, Tree) {
    // Whatever comes next ends an operation that was cut off.
    world
        .event(json!({"event": "turn_end", "session_id": "s"}))
        .ends_silently();
    assert_eq!(
        leftovers(world),
        Vec::<PathBuf>::new(),
        "{what}: nothing is left beside"
    );
    let found = world.tree();
    let revert = world.json(&["revert", "--message", "m0", "--on-conflict", "overwrite"]);
    let reverted = world.tree();
    if let Some(operation) = revert["operation"].as_str() {
        world.run(&["restore", operation], b"").exits(0);
    }
    assert_eq!(
        differences(&world.tree(), &found),
        [] as [&Path; 0],
        "{what}: what was found comes back"
    );
    (
        revert["outcome"]
            .as_str()
            .unwrap_or_else(|| panic!("{what}: {revert}"))
            .to_owned(),
        reverted,
    )
}

/// A power cut at any time leaves every acknowledged step where rows are synced.
///
/// Invariant `work/crash-power`.
#[test]
fn power_cut_keeps_acknowledged_steps_if_synced() {
    let test = "power::power_cut_keeps_acknowledged_steps_if_synced";
    powerless(test, "full", |world, before, last, what| {
        let messages = messages(world);
        assert!(
            messages.contains(&format!("m{last}")),
            "{what}: its message is there: {messages:?}"
        );
        let (outcome, reverted) = back_and_forth(world, what);
        assert_eq!(
            differences(&reverted, before),
            [] as [&Path; 0],
            "{what}: all the way back ({outcome})"
        );
    });
}

/// A power cut at any time leaves no row without its objects.
///
/// Invariant `work/crash-power`: Rows never name objects that a power cut took, and an
/// operation that it cut off is finished.
#[test]
fn power_cut_leaves_no_row_without_objects() {
    let test = "power::power_cut_leaves_no_row_without_objects";
    powerless(test, "objects", |world, _, _, what| {
        let (outcome, _) = back_and_forth(world, what);
        assert!(
            ["restored", "partial", "nothing"].contains(&outcome.as_str()),
            "{what}: nothing is missing: {outcome}"
        );
    });
}
