//! Killed at every system call, and every error at every system call: whole files, no traces, and the next try ends it.
//!
//! This binary plays the part of the process that dies, under `strace`, which injects the signal or the error into the k-th
//! call of a name; the pairs are read from a trace of a run in peace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ckpt_store::TEMPORARY;
use ckpt_store::revert::carry_out::apply::{Abilities, Found, state_at};
use tempfile::TempDir;
use testing::skip::has_strace;
use testing::strace::Call;

use crate::parts::{self, Part};
use testing::apply::{PlannedWorkspace, Thing, assert_done, executable, file, link, path};

/// The errors that a system call may give at any time.
const ERRORS: [&str; 16] = [
    "ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM", "EINTR",
    "EAGAIN", "ELOOP", "ENOLCK", "ESTALE", "ETXTBSY", "EXDEV",
];

/// What is injected into a system call.
#[derive(Clone, Debug)]
enum Fault {
    Kill,
    Error(&'static str),
}

/// A system call: its name and the how-manieth of the thread it is.
type Point = (String, usize);

fn full() -> bool {
    std::env::var_os("CKPT_FULL").is_some()
}

/// Every kind of item; `put` also makes what the plan expects.
fn plan(world: &mut PlannedWorkspace, put: bool) {
    let nothing = Thing::Nothing;
    let long = |byte: u8| Thing::File(vec![byte; 40_000], 0o640);
    let mut add = |name: &str, expected: Thing, target: Thing| {
        if put {
            world.put_and_plan(name, &expected, &target);
        } else {
            world.plan(name, &expected, &target);
        }
    };
    add("d/edited", long(b'a'), long(b'b'));
    add("d/removed", file("agent\n"), nothing.clone());
    add("new/deep/back", nothing.clone(), file("before\n"));
    add("made/by/agent", file("agent\n"), nothing.clone());
    add("foo/bar", file("agent\n"), nothing.clone());
    add("foo", nothing.clone(), file("before\n"));
    add("was", file("agent\n"), nothing.clone());
    add("was/below", nothing.clone(), executable("before\n"));
    add("mode", file("same\n"), executable("same\n"));
    add("to link", file("agent\n"), link("before"));
    add("to file", link("agent"), file("before\n"));
    add("to directory", file("agent\n"), Thing::Directory(0o750));
    add("from directory", Thing::Directory(0o755), file("before\n"));
    add("empty/agent", file("agent\n"), nothing.clone());
    add("empty", nothing.clone(), Thing::Directory(0o700));
    add("agent's", Thing::Directory(0o755), nothing);
    if many(&world.root) {
        for number in 0..20 {
            let name = format!("many/{number}");
            world.plan(&name, &file("agent\n"), &file("before\n"));
            if put {
                world.put(&name, &file("agent\n"));
            }
        }
    }
    world.directories = vec![path("made"), path("made/by")];
}

/// Folders whose name says so get enough files for the way with one sync for all; others go the ways of a weak system.
fn many(root: &Path) -> bool {
    root.to_string_lossy().contains("many")
}

/// What the process does that is killed. The calls between the two marks are the ones that count.
pub fn act(world: &mut PlannedWorkspace) {
    plan(world, false);
    let mut root = world.open();
    if world.root.to_string_lossy().contains("weak") {
        root = root.with_abilities(Abilities {
            openat2: false,
            rename_flags: false,
            leases: false,
        });
    }
    outnumber_the_loader();
    let mark = |name: &str| fs::symlink_metadata(name).is_err();
    assert!(mark("/ckpt begins"), "there is no such file");
    let results = world.apply_with(&root);
    assert!(mark("/ckpt ends"), "there is no such file");
    let lines: Vec<String> = results
        .iter()
        .map(|done| {
            format!(
                "{} {}\n",
                done.result.name(),
                done.reason.as_deref().unwrap_or("")
            )
        })
        .collect();
    hand_in(&world.outside.join("results"), &lines.concat());
}

/// Two threads share the work, so the call that is hit may be made by the other one, and the call of this one that is as many
/// is then one of these. Only one of them is.
fn hand_in(path: &Path, results: &str) {
    fs::write(path, results)
        .or_else(|_| fs::write(path, results))
        .expect("a second try is never hit");
}

/// `strace` counts the calls of each thread from its own beginning, and injects into whichever comes to k first. The main
/// thread has loaded this binary with some calls of the common names; this one has to be ahead of it.
fn outnumber_the_loader() {
    for _ in 0..16 {
        let null = fs::File::open("/dev/null").expect("every system has it");
        rustix::fs::fstat(&null).expect("an open file");
        rustix::fs::statat(rustix::fs::CWD, "/", rustix::fs::AtFlags::empty()).expect("the root");
        rustix::io::read(&null, &mut [0; 1]).expect("nothing to read");
    }
}

/// A folder with the workspace as the agent left it.
fn fresh(kind: &str) -> (TempDir, PlannedWorkspace) {
    let folder = TempDir::with_prefix(format!("ckpt-{kind}-")).expect("a temporary folder");
    let mut world = PlannedWorkspace::at(&folder.path().canonicalize().expect("it exists"));
    plan(&mut world, true);
    (folder, world)
}

fn run(folder: &Path, options: &[&str]) {
    let mut words = vec!["strace".to_owned(), "-f".to_owned(), "-qq".to_owned()];
    words.extend(options.iter().map(|option| (*option).to_owned()));
    let mut command = parts::command(&words, &Part::Crash, folder);
    command
        .env("PATH", "/usr/bin:/bin")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().expect("`strace` starts");
}

/// Returns the calls between the marks of a run in peace.
fn points(kind: &str) -> Vec<Point> {
    let (folder, world) = fresh(kind);
    let trace = world.outside.join("trace");
    run(
        &world.root.join(".."),
        &["-o", trace.to_str().expect("text")],
    );
    let trace = fs::read_to_string(trace).expect("the trace");
    let thread = trace
        .lines()
        .find(|line| line.contains("\"/ckpt begins\""))
        .expect("the mark");
    let thread = thread.split(' ').next().expect("a number").to_owned();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut points = Vec::new();
    let mut inside = false;
    for line in trace.lines() {
        let Some(Call {
            thread: of, name, ..
        }) = Call::read(line)
        else {
            continue;
        };
        let count = *counts
            .entry((of, name))
            .and_modify(|count| *count += 1)
            .or_insert(1);
        inside = (inside || line.contains("\"/ckpt begins\"")) && !line.contains("\"/ckpt ends\"");
        let ahead = counts
            .iter()
            .all(|((other, same), theirs)| *same != name || *other == of || *theirs < count);
        if inside && of == thread && ahead {
            points.push((name.to_owned(), count));
        }
    }
    drop(folder);
    assert!(points.len() > 100, "the trace was read: {points:?}");
    points
}

fn inject(world: &PlannedWorkspace, (name, count): &Point, fault: &Fault) {
    let what = match fault {
        Fault::Kill => "signal=KILL".to_owned(),
        Fault::Error(error) => format!("error={error}"),
    };
    let (trace, inject) = (
        format!("trace={name}"),
        format!("inject={name}:{what}:when={count}"),
    );
    run(
        &world.root.join(".."),
        &["-o", "/dev/null", "-e", &trace, "-e", &inject],
    );
}

fn state(world: &PlannedWorkspace, index: usize) -> Found {
    state_at(&world.open(), &world.items[index].path).expect("it can be read")
}

/// Every item is wholly what it was or wholly what it shall be; on the way from one to the other its name may be empty, if
/// what was there stands whole beside it.
fn assert_whole(world: &PlannedWorkspace, what: &str) {
    for (index, item) in world.items.iter().enumerate() {
        let found = state(world, index);
        let whole = match (found, item.expected, item.target) {
            (found, expected, target) if found.is(expected) || found.is(target) => true,
            (Found::Directory { .. }, None, _) | (Found::Directory { .. }, _, None) => true,
            _ => false,
        };
        assert!(
            whole || found == Found::Nothing,
            "{what}: {:?} is torn: {found:?}",
            item.path
        );
    }
}

fn assert_ended(world: &PlannedWorkspace, wanted: &BTreeMap<String, String>, what: &str) {
    assert_done(&world.apply());
    assert_eq!(
        &world.listing(),
        wanted,
        "{what}: the next try ends it, and leaves nothing else"
    );
}

/// Returns what the workspace looks like afterwards.
fn wanted(kind: &str) -> BTreeMap<String, String> {
    let (_folder, world) = fresh(kind);
    assert_done(&world.apply());
    world.listing()
}

/// Does something at each of some points, on two threads.
fn at_each<T: Send>(points: Vec<T>, act: impl Fn(T) + Sync) {
    let queue = Mutex::new(points.into_iter());
    let next = || queue.lock().expect("no thread panicked here").next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(point) = next() {
                    act(point);
                }
            });
        }
    });
}

/// Without memory or random numbers the process itself ends, and some calls cannot fail.
fn touches_files((name, _): &Point) -> bool {
    let others = [
        "mmap",
        "munmap",
        "mremap",
        "mprotect",
        "brk",
        "madvise",
        "getrandom",
        "futex",
        "geteuid",
        "getegid",
        "prlimit64",
        "clone3",
        "rt_sigprocmask",
        "set_robust_list",
        "sigaltstack",
        "sched_yield",
        "exit",
        "gettid",
        "rseq",
    ];
    !others.contains(&name.as_str())
}

/// The kinds of folders, each with how far apart the points are that are tried.
fn kinds() -> &'static [(&'static str, usize)] {
    if full() {
        &[("few", 1), ("many", 1), ("weak", 1)]
    } else {
        &[("few", 1), ("weak", 7)]
    }
}

/// Killed at any system call the next try ends it.
///
/// Invariant `work/crash-one-file`: After a crash at any point, a file is the old one or the
/// new one.
#[test]
fn kill_at_any_system_call_is_repaired() {
    if !has_strace() {
        return;
    }
    for (kind, step) in kinds() {
        let wanted = wanted(kind);
        let points: Vec<Point> = points(kind).into_iter().step_by(*step).collect();
        let count = points.len();
        println!("{kind}: killed at {count} system calls");
        let survived = AtomicUsize::new(0);
        at_each(points, |point| {
            let (_folder, world) = fresh(kind);
            inject(&world, &point, &Fault::Kill);
            let what = format!("killed at {point:?}");
            if world.outside.join("results").exists() {
                println!("{what}: it was not");
                survived.fetch_add(1, Ordering::Relaxed);
            }
            assert_whole(&world, &what);
            assert_ended(&world, &wanted, &what);
        });
        // The allocator's calls are not the same in every run; nor is how two threads share what there is to do.
        let spread = if *kind == "many" { count / 4 } else { 20 };
        assert!(survived.into_inner() < spread, "nearly all were killed");
    }
}

/// Killed again in the try that should end it.
#[test]
fn kill_in_the_repair_is_repaired() {
    if !has_strace() {
        return;
    }
    let wanted = wanted("twice");
    let all = points("twice");
    let step = if full() { 1 } else { 25 };
    at_each((0..all.len()).step_by(step).collect(), |number| {
        let (_folder, world) = fresh("twice");
        let mut what = "killed".to_owned();
        // Two more kills, each at another call than the one before.
        for (index, stride) in [(number, 0), (number, 31), (number, 67)] {
            let point = &all[(index + stride) % all.len()];
            inject(&world, point, &Fault::Kill);
            what = format!("{what} at {point:?}");
            assert_whole(&world, &what);
        }
        assert_ended(&world, &wanted, &what);
    });
}

/// An error in any system call leaves the file whole and no trace.
///
/// Invariant `work/crash-one-file`.
#[test]
fn system_call_error_leaves_the_file_whole() {
    if !has_strace() {
        return;
    }
    for (kind, step) in kinds() {
        let wanted = wanted(kind);
        let mut tasks = Vec::new();
        let step = if full() { 1 } else { 2 * step };
        // In turns, so that each error is met at many calls; all of them at every call once.
        let (each, turns) = match (full(), *kind) {
            (true, "few") => (ERRORS.len(), 1),
            (true, _) => (2, ERRORS.len() / 2),
            (false, _) => (1, 1),
        };
        for (number, point) in points(kind)
            .into_iter()
            .filter(touches_files)
            .enumerate()
            .step_by(step)
        {
            let error = |turn: usize| ERRORS[(number / step + turn * turns) % ERRORS.len()];
            tasks.extend((0..each).map(|turn| (point.clone(), error(turn))));
        }
        println!("{kind}: {} errors", tasks.len());
        at_each(tasks, |(point, error)| {
            let (_folder, world) = fresh(kind);
            inject(&world, &point, &Fault::Error(error));
            let what = format!("{error} at {point:?}");
            assert_whole(&world, &what);
            assert_honest(&world, &what);
            assert_ended(&world, &wanted, &what);
        });
    }
}

/// What is reported as done is done, and what is not leaves nothing beside it, unless it says so.
fn assert_honest(world: &PlannedWorkspace, what: &str) {
    let Ok(results) = fs::read_to_string(world.outside.join("results")) else {
        panic!("{what}: it ended without a report");
    };
    for (index, line) in results.lines().enumerate() {
        let found = state(world, index);
        let item = &world.items[index];
        let done = found.is(item.target)
            || matches!((found, item.target), (Found::Directory { .. }, None));
        assert!(
            done || !line.starts_with("done"),
            "{what}: {:?} is said to be done and is {found:?}",
            item.path
        );
    }
    let names_it = |name: &String| results.contains(&name[name.find(TEMPORARY).unwrap_or(0)..]);
    let silent: Vec<String> = world
        .temporaries()
        .into_iter()
        .filter(|name| !names_it(name))
        .collect();
    assert_eq!(
        silent, [""; 0],
        "{what}: nothing is left without a word:\n{results}"
    );
}
