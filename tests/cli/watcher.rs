//! The watcher as a process of its own, beside hooks: stopped, behind, killed, and idle.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testing::binary::{Sandbox, finish};

/// A watcher at work, and the world that it watches.
struct Watched {
    world: Sandbox,
    watcher: Child,
}

impl Watched {
    /// Starts a session in a workspace, and a watcher, and waits until the workspace is watched.
    fn new() -> Self {
        Self::started_by(start)
    }

    fn started_by(start: impl FnOnce(&Sandbox) -> Child) -> Self {
        let world = Sandbox::new();
        for number in 0..30 {
            world.write(&format!("d{number}/file"), "before\n");
        }
        world.grow_old();
        world
            .event(json!({"event": "user_message", "session_id": "s"}))
            .ends_silently();
        let watched = Self {
            watcher: start(&world),
            world,
        };
        watched.wait_until_watched(None);
        watched
    }

    /// Waits until there is another watch of the workspace than before.
    fn wait_until_watched(&self, before: Option<String>) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.token() == before {
            self.step(|_| {});
            assert!(Instant::now() < end, "the workspace is watched");
        }
    }

    /// Returns what is noted of the watch.
    fn token(&self) -> Option<String> {
        let folders = fs::read_dir(self.world.store().join("snapshots")).expect("the store");
        let note = |folder: fs::DirEntry| fs::read_to_string(folder.path().join("watched")).ok();
        let token = folders.flatten().find_map(note)?;
        token.split(' ').next().map(str::to_owned)
    }

    /// Plays a step, and returns how many changes it has.
    fn step(&self, work: impl FnOnce(&Sandbox)) -> u64 {
        let event = |name| {
            let cwd = self.world.workspace();
            let payload = json!({"event": name, "session_id": "s", "cwd": cwd}).to_string();
            let mut command = self.world.command(&["event", "--json", "--strict"]);
            let run = finish(&mut command, payload.as_bytes()).exits(0);
            serde_json::from_str::<serde_json::Value>(&run.stdout).expect("a report")
        };
        event("step_start");
        work(&self.world);
        event("step_finish")["changes"].as_u64().expect("a number")
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.watcher)
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    /// Stops it, and waits until it stands.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let status = self.proc("status");
        let end = Instant::now() + Duration::from_secs(60);
        while !fs::read_to_string(&status)
            .expect("it is there")
            .contains("(stopped)")
        {
            assert!(Instant::now() < end, "it stops");
        }
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.watcher.id()))
    }

    /// Returns how often it went to sleep.
    fn sleeps(&self) -> String {
        let status = fs::read_to_string(self.proc("status")).expect("it is there");
        let line = status
            .lines()
            .find(|line| line.starts_with("voluntary_ctxt_switches"));
        line.expect("the kernel counts").to_owned()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
    }
}

fn start(world: &Sandbox) -> Child {
    silent(&mut world.command(&["watch"]))
}

fn silent(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// A watcher that is stopped behind or killed hides no change.
#[test]
fn stopped_watcher_hides_no_change() {
    let mut watched = Watched::new();
    let edit = |text: &'static str| move |world: &Sandbox| world.write("d7/file", text);
    assert_eq!(watched.step(edit("watched\n")), 1, "while it works");
    watched.stop();
    assert_eq!(watched.step(edit("stopped\n")), 1, "while it stands");

    // More happens than the kernel keeps for it.
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    let most: usize = most.trim().parse().unwrap_or(16_384);
    if most <= 1 << 16 {
        let files = ["d1/file", "d2/file"].map(|path| watched.world.workspace().join(path));
        let append = |path| fs::File::options().append(true).open(path);
        let mut files = files.map(|path| append(path).expect("it is there"));
        for number in 0..most + 100 {
            files[number % 2].write_all(b"x").expect("there is room");
        }
        drop(files);
    }
    let lost = edit("told by no event\n");
    assert_eq!(watched.step(lost), 1, "what the step changed, and no more");
    let before = watched.token();
    watched.signal(Signal::CONT);
    assert_eq!(watched.step(edit("behind\n")), 1, "once it goes on");
    watched.wait_until_watched(before);
    assert_eq!(watched.step(edit("again\n")), 1, "once it watches again");

    watched.signal(Signal::KILL);
    watched.watcher.wait().expect("it ended");
    assert_eq!(watched.step(edit("killed\n")), 1, "without it");
    let before = watched.token();
    watched.watcher = start(&watched.world);
    watched.wait_until_watched(before);
    assert_eq!(watched.step(edit("new\n")), 1, "with another one");
    let doctor = watched.world.json(&["doctor"]).to_string();
    assert!(!doctor.contains("did not report"), "it missed nothing");
}

/// The words between two marks, in each line that has both.
fn words_between(text: &str, before: &str, after: &str) -> Vec<String> {
    let between = |line: &str| Some(line.split_once(before)?.1.split_once(after)?.0.to_owned());
    text.lines().filter_map(between).collect()
}

#[test]
fn shipped_services_start_a_watcher() {
    let packaging = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../packaging");
    let read = |file: &str| fs::read_to_string(packaging.join(file)).expect("it is shipped");
    let unit = read("systemd/ckpt-hook-watch.service");
    let command = words_between(&format!("{unit}\n"), "ExecStart=", "watch");
    assert_eq!(
        command,
        ["/usr/bin/ckpt-hook "],
        "where the package puts it"
    );
    let plist = read("launchd/ckpt-hook.watch.plist");
    let words = words_between(&plist, "<string>", "</string>");
    assert_eq!(words[1..], ["/usr/local/bin/ckpt-hook", "watch"]);
    // The command that both give.
    let watched = Watched::started_by(start);
    assert_eq!(watched.step(|world| world.write("d7/file", "seen\n")), 1);
}

#[test]
fn a_watcher_does_nothing_while_nothing_happens() {
    let watched = Watched::new();
    // What came with the last question is taken in when it sleeps again.
    watched.step(|_| {});
    let end = Instant::now() + Duration::from_secs(60);
    let mut before = watched.sleeps();
    loop {
        // None of these asks it, or changes a file of the workspace.
        for _ in 0..5 {
            watched.world.run(&["log"], b"").exits(0);
        }
        let now = watched.sleeps();
        if now == before {
            return;
        }
        assert!(Instant::now() < end, "it comes to rest: {now}");
        before = now;
    }
}

/// What a program at the watcher's socket answers to each question: now and then the truth, which is that anything may have
/// changed, and else that nothing has.
fn lie(world: &Sandbox, truth: impl Fn(usize) -> bool + Send + 'static) {
    let listener = UnixListener::bind(world.store().join("watch.sock")).expect("a socket");
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.expect("it calls");
            let _ = stream.read_to_end(&mut Vec::new());
            let what = if truth(number) { "all" } else { "some" };
            let token = "0123456789abcdef0123456789abcdef 7";
            let _ = stream.write_all(format!("ckpt-hook 1\0{token}\0{what}\0end\0").as_bytes());
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// What a watcher that lies at random hid goes back with its message.
    ///
    /// Invariant `agent/watcher`.
    #[test]
    fn lying_watchers_changes_go_with_their_message(
        messages in prop::collection::vec(prop::collection::vec((0..8_usize, any::<bool>()), 1..4), 1..5),
        to in any::<prop::sample::Index>(),
        truths in any::<u32>(),
    ) {
        let world = Sandbox::new();
        for number in 0..4 {
            world.write(&format!("d{number}/file"), "before\n");
        }
        world.grow_old();
        let event = |name: &str, message: usize| {
            let message = format!("m{message}");
            world
                .event(json!({"event": name, "session_id": "s", "message_id": message}))
                .ends_silently();
        };
        for name in ["user_message", "step_start", "step_finish", "turn_end"] {
            event(name, 99);
        }
        lie(&world, move |number| truths >> (number % 32) & 1 == 1);
        let mut trees = Vec::new();
        for (message, steps) in messages.iter().enumerate() {
            trees.push(world.tree());
            event("user_message", message);
            for (step, (file, is_removed)) in steps.iter().enumerate() {
                event("step_start", message);
                let name = if *file < 4 { "file" } else { "new" };
                let path = format!("d{}/{name}", file % 4);
                if *is_removed && world.workspace().join(&path).exists() {
                    world.remove(&path);
                } else {
                    world.write(&path, format!("{message} {step}\n"));
                }
                event("step_finish", message);
            }
            event("turn_end", message);
        }
        let to = to.index(messages.len());
        world.run(&["revert", "--message", &format!("m{to}")], b"").exits(0);
        prop_assert_eq!(world.tree(), trees.swap_remove(to), "as it was before the message");
    }
}

/// A pipe in the place of the lock is no other watcher.
#[test]
fn pipe_for_the_lock_is_no_watcher() {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("file", "1\n"));
    let lock = world.store().join("watch.lock");
    let _ = fs::remove_file(&lock);
    rustix::fs::mkfifoat(rustix::fs::CWD, &lock, rustix::fs::Mode::RWXU).expect("a pipe");
    let run = world.run(&["watch"], b"").exits(1);
    assert!(!run.stderr.contains("another watcher"), "{run}");
    assert!(
        run.stderr.contains("not a regular file"),
        "it says what is there: {run}"
    );
}
