//! What a store takes after months, on disk and of time: the figures of docs/store.md.
//!
//! The days are played through the library, so that months go by in minutes; what is measured is the binary.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use testing::binary::binary;
use testing::rows;
use testing::scenario::{World, file_time, wait_ms};

use crate::work::{Work, measure};

const HOUR: i64 = 3_600_000;
/// How many files the workspace has, and how many bytes each.
const FILES: usize = 300;
const LINES: usize = 100;
/// How many steps a message has.
const STEPS: usize = 8;

/// A file of 4 KB that is about as compressible as a program's source.
fn text(file: usize, version: u64) -> String {
    let mut state = file as u64 * 7919;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut lines: Vec<String> = (0..LINES)
        .map(|line| {
            format!(
                "    let value_{line} = compute({}, {});",
                next() % 997,
                next() % 13
            )
        })
        .collect();
    // An edit replaces a line, and stays there.
    for edit in 1..=version {
        let at = (edit * 31 + file as u64) as usize % LINES;
        lines[at] = format!("    let value_{at} = edited({edit}, {file});");
    }
    lines.join("\n")
}

/// Plays months of work.
struct Months {
    world: World,
    versions: Vec<u64>,
    steps: usize,
}

impl Months {
    fn new() -> Self {
        let world = World::new();
        for file in 0..FILES {
            world.write(name(file), text(file, 0));
        }
        Self {
            world,
            versions: vec![0; FILES],
            steps: 0,
        }
    }

    /// A session with so many steps, each of which edits two files.
    fn session(&mut self, number: usize, steps: usize) {
        let session = format!("s{number}");
        for step in 0..steps {
            if step.is_multiple_of(STEPS) {
                self.world
                    .message_in(&session, &format!("{session}-{step}"));
            }
            self.world.start_in(&session);
            for file in [self.steps * 2 % FILES, (self.steps * 17 + 1) % FILES] {
                self.versions[file] += 1;
                self.world
                    .write(name(file), text(file, self.versions[file]));
            }
            self.world.finish_in(&session);
            self.steps += 1;
        }
        let end = self
            .world
            .event(ckpt_schema::EventKind::SessionEnd, &session);
        self.world.send(&end);
        let now = self.newest();
        // What was written just now has the time of the real clock, which is years later.
        stamp(&self.store().join("snapshots"), &|time| {
            if time > now + 400 * 24 * HOUR {
                now
            } else {
                time
            }
        });
    }

    /// When the last event was, in milliseconds.
    fn newest(&self) -> i64 {
        let database = self.store().join("sessions.db");
        let query = "SELECT CAST(max(last_event_at) AS TEXT) FROM sessions";
        rows::texts(&database, query)[0].parse().expect("a number")
    }

    /// Moves all that was written down so that it ends now, by the clock of the binary.
    fn ends_now(&mut self) {
        self.world.reopen(ckpt_store::Settings::default());
        let distance = file_time() - self.newest();
        rows::age(&self.store().join("sessions.db"), -distance);
        stamp(&self.store().join("snapshots"), &|time| time + distance);
    }

    fn store(&self) -> PathBuf {
        self.world.base().join("store")
    }

    /// The binary in this world.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.world.base().join("home"))
            .env("CKPT_HOOK_HOME", self.store())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(&self.world.root);
        command
    }

    fn run(&self, arguments: &[&str]) -> Work {
        measure(self.command(arguments), "")
    }

    /// The most frequent things, several times each: the least processor time of each, in seconds.
    fn everyday(&mut self) -> [(&'static str, f64); 4] {
        let event = |name: &str| {
            let cwd = self.world.root.to_str();
            let payload = serde_json::json!({"event": name, "session_id": "everyday", "message_id": "everyday", "cwd": cwd});
            measure(self.command(&["event", "--strict"]), &payload.to_string()).processor
        };
        event("user_message");
        let mut least = [f64::MAX; 4];
        for round in 0..10 {
            let start = event("step_start");
            let path = self.world.root.join(name(round));
            std::fs::write(path, format!("round {round}\n")).expect("ours");
            let finish = event("step_finish");
            let log = self.run(&["log", "--limit", "20"]).processor;
            let revert = self.run(&["-q", "revert", "last"]).processor;
            self.run(&["-q", "unrevert"]);
            for (least, now) in least.iter_mut().zip([start, finish, log, revert]) {
                *least = least.min(now);
            }
        }
        let names = ["step_start", "step_finish", "log", "revert"];
        [0, 1, 2, 3].map(|number| (names[number], least[number]))
    }
}

fn name(file: usize) -> String {
    format!("src/d{}/f{file}.rs", file / 20)
}

/// The bytes and the number of the files below a directory.
fn size(directory: &Path) -> (u64, usize) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let metadata = entry.metadata().expect("ours");
        let (bytes, files) = match metadata.is_dir() {
            true => size(&entry.path()),
            false => (metadata.len(), 1),
        };
        sum = (sum.0 + bytes, sum.1 + files);
    }
    sum
}

/// Sets the times of all packs below a directory, in milliseconds.
fn stamp(directory: &Path, to: &dyn Fn(i64) -> i64) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().expect("ours"));
        let is_pack = path
            .extension()
            .is_some_and(|name| name == "pack" || name == "idx");
        if metadata.is_dir() {
            stamp(&path, to);
        } else if is_pack {
            let time = metadata.modified().expect("it has one");
            let time = time.duration_since(UNIX_EPOCH).expect("after 1970");
            let time = i64::try_from(time.as_millis()).expect("a small number");
            if to(time) != time {
                let new = UNIX_EPOCH + Duration::from_millis(to(time).unsigned_abs());
                let file = File::open(path).expect("ours");
                file.set_modified(new).expect("ours");
            }
        }
    }
}

fn tell(what: &str, (bytes, files): (u64, usize)) {
    println!("{what}: {:.2} MB in {files} files", bytes as f64 / 1e6);
}

/// Three hundred small steps take little room after gc.
#[test]
#[ignore = "minutes: `just scale`"]
fn three_hundred_small_steps_take_little_room() {
    let mut months = Months::new();
    months.session(0, 300);
    months.ends_now();
    tell("300 steps", size(&months.store()));
    months.run(&["gc"]);
    let (bytes, files) = size(&months.store());
    tell("300 steps, after gc", (bytes, files));
    assert!(
        bytes <= 6_000_000 && files <= 100,
        "{bytes} bytes, {files} files"
    );
}

/// How many steps a year has; fewer where `CKPT_STEPS` says so.
fn steps_of_a_year() -> usize {
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let steps = std::env::var("CKPT_STEPS").ok();
    steps.map_or(20_000, |steps| steps.parse().expect("a number"))
}

/// The store of a year is packed in little memory and what asking it takes is printed.
#[test]
#[ignore = "a quarter of an hour: `just year`"]
fn years_store_is_packed_in_little_memory() {
    let begin = Instant::now();
    let mut year = Months::new();
    let sessions = 200;
    let steps = steps_of_a_year() / sessions;
    for number in 0..sessions {
        year.session(number, steps);
        wait_ms(365 * 24 * HOUR / sessions as i64);
    }
    year.ends_now();
    println!(
        "{} steps in {sessions} sessions were played in {:.0} s",
        year.steps,
        begin.elapsed().as_secs_f64()
    );
    tell("a year", size(&year.store()));
    // As many messages as a list shows.
    let mut new = Months::new();
    new.session(0, 20 * STEPS);
    new.ends_now();
    let mut compare = |year: &mut Months| {
        for ((what, old), (_, new)) in year.everyday().into_iter().zip(new.everyday()) {
            println!(
                "{what}: {:.1} ms, in a new store {:.1} ms: {:.2} times",
                old * 1e3,
                new * 1e3,
                old / new
            );
        }
    };
    println!("with one pack a step:");
    compare(&mut year);
    // All of it is kept, and then what the settings say.
    let config = year.world.base().join("home/.config/ckpt-hook");
    std::fs::create_dir_all(&config).expect("ours");
    for keep in ["1000 days", "30 days"] {
        std::fs::write(config.join("config.toml"), format!("keep = \"{keep}\"\n")).expect("ours");
        for what in ["gc", "gc, again"] {
            let begin = Instant::now();
            let gc = year.run(&["gc"]);
            println!(
                "{what}, keep = {keep}: {:.1} s, {gc}",
                begin.elapsed().as_secs_f64()
            );
            assert!(gc.peak < 500_000_000, "{gc}");
        }
        tell("a year, after gc", size(&year.store()));
        compare(&mut year);
    }
    let begin = Instant::now();
    let du = year.run(&["du"]);
    println!("du: {:.1} s, {du}", begin.elapsed().as_secs_f64());
}

/// How many days are played; fewer where `CKPT_DAYS` says so.
fn days() -> usize {
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let days = std::env::var("CKPT_DAYS").ok();
    days.map_or(365, |days| days.parse().expect("a number"))
}

/// The store of ordinary days stops growing when old sessions go.
#[test]
#[ignore = "an hour: `just year`"]
fn store_stops_growing_when_sessions_go() {
    let mut days_of_work = Months::new();
    for day in 0..days() {
        // 300 steps of two files each, in five sessions.
        for session in 0..5 {
            days_of_work.session(day * 5 + session, 60);
            wait_ms(2 * HOUR);
        }
        wait_ms(14 * HOUR);
        days_of_work
            .world
            .store
            .gc(ckpt_store::DryRun::No)
            .expect("ours");
        if (day + 1).is_multiple_of(10) {
            tell(&format!("day {}", day + 1), size(&days_of_work.store()));
        }
    }
}
