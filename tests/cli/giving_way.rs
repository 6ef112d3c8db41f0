//! Upkeep that stands still in the middle of its work: whoever wants the workspace has it at once, and upkeep in the background ends.
//!
//! A pack's file is read while the workspace's lock is free; `strace` stops the process at such a read. So nothing here depends on how
//! fast anything is: what waited for upkeep would wait for ever.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testing::binary::{Run, Sandbox};
use testing::skip::has_strace;
use testing::strace;

/// How often upkeep in the background asks whether the workspace is wanted.
const ASKS_EVERY: Duration = Duration::from_millis(5);

const SECRET: &str = "hunter2-hunter2";

/// A workspace with ten messages, in as many packs and more; the first of them wrote a secret.
fn with_history() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    for number in 0..10 {
        world.play(&format!("m{number}"), "go on", |world| {
            world.write("a", format!("{number}\n"));
            if number == 0 {
                world.write("key", SECRET);
            }
        });
    }
    world
}

/// The folder of the world's only workspace in the store.
fn folder(world: &Sandbox) -> PathBuf {
    let mut folders = world.store().join("snapshots").read_dir().expect("made");
    folders.next().expect("one").expect("readable").path()
}

/// The names of the workspace's packs, indexes and temporary files, the oldest pack first.
fn packs(world: &Sandbox) -> Vec<PathBuf> {
    let packs = folder(world).join("repository.git/objects/pack");
    let files = packs.read_dir().expect("made").flatten();
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.retain(|path| {
        path.file_name()
            .is_some_and(|name| name != "multi-pack-index")
    });
    files.sort_by_cached_key(|path| path.metadata().and_then(|found| found.modified()).ok());
    files
}

/// The options with which `strace` sees the reads of all packs, and nothing else.
fn traced(world: &Sandbox) -> Vec<String> {
    let mut packs = packs(world);
    packs.retain(|path| path.extension().is_some_and(|ending| ending == "pack"));
    let text = |path: PathBuf| path.to_str().expect("a plain path").to_owned();
    let paths = packs
        .into_iter()
        .flat_map(|path| ["-P".to_owned(), text(path)]);
    let calls = ["-e", "trace=pread64"].map(str::to_owned);
    calls.into_iter().chain(paths).collect()
}

fn reads(trace: &str) -> usize {
    trace
        .lines()
        .filter(|line| line.contains("pread64("))
        .count()
}

/// A command that stands still.
struct Stopped {
    strace: Child,
    process: Pid,
    trace: PathBuf,
}

impl Stopped {
    /// Starts a command, and returns once it stands still at its so-manieth read of a pack.
    fn at_read(number: usize, world: &Sandbox, arguments: &[&str]) -> Self {
        let stop = format!("inject=pread64:signal=SIGSTOP:when={number}");
        Self::at(&stop, &traced(world), world, arguments)
    }

    /// The same where it has put its so-manieth file in its place, which has this name.
    fn at_rename(number: usize, name: &str, world: &Sandbox, arguments: &[&str]) -> Self {
        let calls = ["-e", "trace=rename"].map(str::to_owned);
        let stop = format!("inject=rename:signal=SIGSTOP:when={number}");
        let stopped = Self::at(&stop, &calls, world, arguments);
        let trace = std::fs::read_to_string(&stopped.trace).expect("the trace");
        assert!(trace.contains(&format!("/{name}\")")), "{name}: {trace}");
        stopped
    }

    fn at(stop: &str, traced: &[String], world: &Sandbox, arguments: &[&str]) -> Self {
        let trace = world.path("trace");
        let _ = std::fs::remove_file(&trace);
        let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
        let out = text(&trace);
        let mut options = vec!["-e", stop, "-o", &out];
        options.extend(traced.iter().map(String::as_str));
        let mut command = strace::command(world, &options, arguments);
        let streams = command.stdin(Stdio::null()).stderr(Stdio::piped());
        let strace = streams.stdout(Stdio::piped()).spawn();
        let mut stopped = Self {
            strace: strace.expect("it starts"),
            process: Pid::INIT,
            trace,
        };
        loop {
            let ended = stopped.strace.try_wait().expect("it is our child");
            let trace = std::fs::read_to_string(&stopped.trace).unwrap_or_default();
            if let Some(line) = trace
                .lines()
                .find(|line| line.contains("stopped by SIGSTOP"))
            {
                let number = line.split(' ').next().and_then(|word| word.parse().ok());
                stopped.process = Pid::from_raw(number.expect("a number")).expect("a process");
                return stopped;
            }
            assert!(ended.is_none(), "it never came there: {ended:?}\n{trace}");
            std::thread::yield_now();
        }
    }

    /// Lets it go on to its end. Returns that, and the reads of packs that it made from then on.
    fn goes_on(self) -> (Run, usize) {
        kill_process(self.process, Signal::CONT).expect("it is there");
        let output = self.strace.wait_with_output().expect("it ends");
        let trace = std::fs::read_to_string(&self.trace).expect("the trace");
        let (_, after) = trace.split_once("stopped by SIGSTOP").expect("it stood");
        (Run::from(output), reads(after))
    }
}

/// A message, a step, a revert and back again, and questions: all that an agent and its user do.
fn work(world: &Sandbox) {
    world.play("meanwhile", "go on", |world| {
        world.write("a", "meanwhile\n");
        world.write("key", SECRET);
    });
    world.run(&["-q", "revert", "meanwhile"], b"").exits(0);
    assert_eq!(world.read("a"), b"9\n", "the revert had the workspace");
    world.run(&["-q", "unrevert"], b"").exits(0);
    assert_eq!(world.read("a"), b"meanwhile\n", "and so had the way back");
    for command in ["log", "status", "sessions", "du"] {
        world.run(&[command], b"").exits(0);
    }
    world.run(&["diff", "m3"], b"").exits(0);
}

fn is_whole(world: &Sandbox) {
    let doctor = world.run(&["doctor", "--all"], b"").exits(0);
    assert!(!doctor.stdout.contains('✗'), "nothing is missing: {doctor}");
    let status = world.json(&["status"]);
    assert_eq!(status["diagnostics"], 0, "no hook failed: {status}");
}

/// What stands still in the middle of gc or forget keeps nobody from work.
///
/// Invariant `agent/upkeep-waits`: Upkeep keeps nobody waiting: what takes long is done without
/// the workspace's lock, `gc` in the background stops after the object at hand, packs that
/// hooks write are joined in a pause, deltas are made once a day, and a reader of the session
/// store keeps nobody from writing while `forget` empties its log.
#[test]
fn standing_gc_or_forget_blocks_no_work() {
    if !has_strace() {
        return;
    }
    for (read, arguments) in [
        (20, &["gc"][..]),
        // Where it reads the trees; later it packs, as `gc` does.
        (1, &["forget", "--path", "key", "--yes"]),
        (1, &["forget", "--path", "key", "--dry-run"]),
    ] {
        let world = with_history();
        let upkeep = Stopped::at_read(read, &world, arguments);
        work(&world);
        let (run, _) = upkeep.goes_on();
        assert_eq!(run.code, Some(0), "{arguments:?}: it ends as well: {run}");
        is_whole(&world);
        let plan = world.run(&["forget", "--path", "key", "--dry-run"], b"");
        let is_forgotten = !plan.stdout.contains("  key\n");
        assert_eq!(
            is_forgotten,
            arguments.contains(&"--yes"),
            "{arguments:?}: also what came meanwhile: {plan}"
        );
        world.run(&["-q", "revert", "m5"], b"").exits(0);
        assert_eq!(world.read("a"), b"4\n", "{arguments:?}: nothing is missing");
    }
}

/// What gc notes of a long history is written while others work.
///
/// Invariant `agent/upkeep-waits`.
#[test]
fn gc_notes_a_long_history_beside_others() {
    if !has_strace() {
        return;
    }
    // After a pack and its index.
    for (number, name) in [(3, "packed-refs"), (4, "snapshots")] {
        let world = with_history();
        let gc = Stopped::at_rename(number, name, &world, &["gc"]);
        work(&world);
        let (run, _) = gc.goes_on();
        assert_eq!(run.code, Some(0), "{name}: {run}");
        is_whole(&world);
        // All is in the note or in packs that stayed.
        let before = world.json(&["log", "--snapshots"])["snapshots"].clone();
        for ending in ["", "-wal", "-shm"] {
            let file = world.store().join(format!("sessions.db{ending}"));
            let _ = std::fs::remove_file(file);
        }
        world.run(&["doctor", "--repair"], b"").exits(0);
        let after = world.json(&["log", "--snapshots"])["snapshots"].clone();
        let ids = |all: &serde_json::Value| -> Vec<String> {
            let all = all.as_array().expect("a list").iter();
            all.map(|one| one["snapshot"].to_string()).collect()
        };
        assert_eq!(ids(&after), ids(&before), "{name}: every snapshot is known");
    }
}

/// Gc in the background stops at once where somebody has the workspace and the next does it
/// all.
///
/// Invariant `agent/upkeep-waits`.
#[test]
fn background_gc_stops_for_others() {
    if !has_strace() {
        return;
    }
    let due = || {
        let world = with_history();
        std::fs::write(world.store().join("gc"), "0\n").expect("ours");
        world
    };
    let all = reads_of_gc(&due());
    let world = due();
    let before = packs(&world);
    let gc = Stopped::at_read(all * 3 / 4, &world, &["settle"]);
    let workspace = File::open(folder(&world).join("lock")).expect("it was made");
    flock(&workspace, FlockOperation::NonBlockingLockExclusive).expect("it was free at once");
    // It asks every few milliseconds. If it stood still for less, it would read on until then, which may be to the end.
    std::thread::sleep(ASKS_EVERY * 2);
    let (run, rest) = gc.goes_on();
    assert!(
        rest <= 4 && all > 8 * 4,
        "one object is read to its end at most: {rest} reads more of {all}"
    );
    assert_eq!(
        packs(&world),
        before,
        "nothing went, nothing was left: {run}"
    );
    let note = world.store().join("gc");
    let noted = std::fs::read_to_string(&note).expect("ours");
    assert!(
        noted.ends_with(" unfinished\n"),
        "the next is due soon: {noted}"
    );
    drop(workspace);
    std::fs::write(&note, "0 unfinished\n").expect("ours");
    world.run(&["settle"], b"").exits(0);
    assert_eq!(packs(&world).len(), 2, "one pack with its index");
    let noted = std::fs::read_to_string(&note).expect("ours");
    assert!(!noted.contains("unfinished"), "{noted}");
    is_whole(&world);
}

/// Copies a pack of the workspace so many times, with its index. Returns the indexes.
fn copy_pack(world: &Sandbox, times: usize) -> Vec<PathBuf> {
    let all = packs(world);
    let mut all = all.iter();
    let pack = all.find(|path| path.extension().is_some_and(|ending| ending == "pack"));
    let pack = pack.expect("one at least");
    let copy = |number: usize| {
        let name = pack.with_file_name(format!("pack-{number:040x}"));
        // The pack comes last, as when one is written.
        for ending in ["idx", "pack"] {
            let copy = name.with_extension(ending);
            std::fs::copy(pack.with_extension(ending), copy).expect("there is room");
        }
        name.with_extension("idx")
    };
    (0..times).map(copy).collect()
}

/// Waits for a workspace, and returns once this process is in the queue of its lock. The thread returns the lock.
fn wait_for(workspace: File) -> std::thread::JoinHandle<File> {
    let own = std::process::id().to_string();
    let waits = |locks: &str| {
        let mut waiting = locks.lines().filter(|line| line.contains("->"));
        waiting.any(|line| line.split_whitespace().any(|word| word == own))
    };
    let waiting = std::thread::spawn(move || {
        flock(&workspace, FlockOperation::LockExclusive).expect("it comes to be free");
        workspace
    });
    while !waits(&std::fs::read_to_string("/proc/locks").expect("Linux has it")) {
        assert!(!waiting.is_finished(), "somebody has it");
        std::thread::yield_now();
    }
    waiting
}

/// Gc in the background leaves the rest of many packs to the next where somebody waits.
///
/// Invariant `agent/upkeep-waits`.
#[test]
fn background_gc_leaves_packs_to_the_next() {
    if !has_strace() {
        return;
    }
    let world = with_history();
    let copies = copy_pack(&world, 300);
    let left = || copies.iter().filter(|path| path.exists()).count();
    std::fs::write(world.store().join("gc"), "0\n").expect("ours");
    // It stops where it removes the first of them, and has the workspace.
    let paths = copies.iter().flat_map(|path| {
        let path = path.to_str().expect("a plain path").to_owned();
        ["-P".to_owned(), path]
    });
    let traced: Vec<String> = ["-e".to_owned(), "trace=unlink".to_owned()]
        .into_iter()
        .chain(paths)
        .collect();
    let stop = "inject=unlink:signal=SIGSTOP:when=1";
    let gc = Stopped::at(stop, &traced, &world, &["settle"]);
    let workspace = File::open(folder(&world).join("lock")).expect("it was made");
    let waiting = wait_for(workspace);
    let _ = gc.goes_on();
    let workspace = waiting.join().expect("it had its turn");
    let (rest, all) = (left(), copies.len());
    assert!(0 < rest && rest < all, "it gave way: {rest} of {all}");
    let is_pack = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "pack");
    let packs_left = packs(&world).iter().filter(is_pack).count();
    assert_eq!(packs_left, 1, "no pack is left that another replaces");
    let note = world.store().join("gc");
    let noted = std::fs::read_to_string(&note).expect("ours");
    assert!(
        noted.ends_with(" unfinished\n"),
        "the next is due soon: {noted}"
    );
    drop(workspace);
    work(&world);
    is_whole(&world);
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let is_left = |path: &PathBuf| !path.with_extension("pack").exists();
    for path in packs(&world).into_iter().filter(is_left) {
        let index = File::open(path).expect("ours");
        index.set_modified(long_ago).expect("ours");
    }
    std::fs::write(&note, "0 unfinished\n").expect("ours");
    world.run(&["settle"], b"").exits(0);
    assert_eq!(left(), 0, "nothing is left for good");
    assert_eq!(packs(&world).len(), 2, "one pack with its index");
    is_whole(&world);
}

/// What one process read first does not stay in the refs that another wrote meanwhile.
#[test]
fn early_reader_spoils_no_later_refs() {
    if !has_strace() {
        return;
    }
    let world = with_history();
    world.run(&["settle"], b"").exits(0);
    world.play("m10", "go on", |world| world.write("a", "ten\n"));
    let refs = folder(&world).join("repository.git/packed-refs");
    let traced = ["-e", "trace=openat", "-P", refs.to_str().expect("plain")];
    let stop = "inject=openat:signal=SIGSTOP:when=1";
    let settle = Stopped::at(stop, &traced.map(str::to_owned), &world, &["settle"]);
    world.write("a", "later\n");
    let snapshot = world.json(&["snapshot"])["snapshot"].clone();
    let newest = snapshot.as_str().expect("an id");
    let names_it = || {
        let refs = std::fs::read_to_string(&refs).expect("ours");
        refs.contains(newest)
    };
    assert!(names_it(), "who came later wrote it");
    let (run, _) = settle.goes_on();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(names_it(), "and it stays");
}

/// Runs `gc` in the background, and returns how often it reads one of the packs that are there now.
fn reads_of_gc(world: &Sandbox) -> usize {
    let trace = world.path("trace");
    let mut options = traced(world);
    options.extend(["-o".to_owned(), trace.to_str().expect("plain").to_owned()]);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Run::of(&mut strace::command(world, &options, &["settle"])).exits(0);
    reads(&std::fs::read_to_string(&trace).expect("the trace"))
}

/// Packs that hooks write are joined by hooks although no session ends.
///
/// Invariant `agent/upkeep-waits`.
#[test]
fn hooks_join_packs_without_a_sessions_end() {
    let world = Sandbox::new();
    world.write("a", "0\n");
    let send = |event: &str| {
        let event =
            json!({"event": event, "session_id": "s", "message_id": "m", "prompt": "go on"});
        world.event(event).ends_silently();
    };
    send("user_message");
    let step = |number: usize| {
        send("step_start");
        world.write("a", format!("{number}\n"));
        send("step_finish");
    };
    // Every step writes a pack, and an index. The first hook that finds too many starts what joins them.
    (0..80).for_each(step);
    let patience = Instant::now() + Duration::from_secs(120);
    let are_many = || packs(&world).len() > 2 * 70;
    let mut number = 80;
    while are_many() {
        assert!(Instant::now() < patience, "nobody joined them");
        // What gave way to a hook is tried again once more packs came, in the pause after the hook that finds them.
        step(number);
        number += 1;
        let pause = Instant::now() + Duration::from_secs(1);
        while are_many() && Instant::now() < pause {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    world.run(&["-q", "revert", "m"], b"").exits(0);
    assert_eq!(world.read("a"), b"0\n", "none is missing");
    is_whole(&world);
}
