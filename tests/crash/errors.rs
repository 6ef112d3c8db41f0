//! An error in any system call of a whole operation: what it says of itself is true, and the next try ends it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use testing::skip::has_strace;

use super::forward::{CASES, Case, cases};
use super::{REVERT, Sandbox, Tree, assert_sound, assert_whole, leftovers, played};
use testing::binary::{Run, finish};
use testing::strace::{self, Call, Point, at_each, fail_all, fail_at, points, sample};

/// The errors that a system call may give at any time.
pub const ERRORS: [&str; 16] = [
    "ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM", "EINTR",
    "EAGAIN", "ENOLCK", "ESTALE", "ETXTBSY", "EXDEV", "ELOOP",
];

/// Without memory or random numbers the process itself ends, and some calls cannot fail.
pub fn touches_files((name, _): &Point) -> bool {
    let begins = [
        "open", "read", "pread", "write", "pwrite", "rename", "unlink", "link", "mkdir", "symlink",
        "fsync",
    ];
    let others = [
        "fdatasync",
        "syncfs",
        "ftruncate",
        "fchmod",
        "fchown",
        "flock",
        "fcntl",
        "lseek",
        "statx",
        "fstat",
    ];
    begins.iter().any(|begin| name.starts_with(begin))
        || others.contains(&name.as_str())
        || [
            "newfstatat",
            "getdents64",
            "fallocate",
            "utimensat",
            "faccessat2",
            "fstatfs",
        ]
        .contains(&name.as_str())
}

/// Calls that need room on the disk, now or when what was written before is put there.
pub fn takes_room((name, _): &Point) -> bool {
    let begins = [
        "open", "write", "pwrite", "rename", "link", "mkdir", "symlink", "fsync",
    ];
    let others = ["fdatasync", "syncfs", "ftruncate", "fallocate", "close"];
    begins.iter().any(|begin| name.starts_with(begin)) || others.contains(&name.as_str())
}

/// What a panic is called, which scarce memory is not.
pub const OUR_BUG: &str = "this is a bug in ckpt-hook";

/// What was reported as done is done, and a failure to begin left everything as it was.
pub fn assert_honest(world: &Sandbox, run: &Run, before: &Tree, after: &Tree, what: &str) {
    assert_whole(world, before, after, what);
    assert!(!run.stderr.contains(OUR_BUG), "{what}\n{run}");
    match run.code {
        Some(0) => assert_eq!(
            &world.tree(),
            after,
            "{what}: it said that it was done\n{run}"
        ),
        Some(1 | 4 | 5) => {
            let said = run.stdout.len() + run.stderr.len();
            assert!(said > 0, "{what}: a failure says why\n{run}");
            let moved = |tree: &Tree| {
                let is_ours = |path: &Path| path.to_string_lossy().contains(".ckpt-hook-");
                let mut tree = tree.clone();
                tree.retain(|path, _| !is_ours(path));
                tree
            };
            assert_eq!(
                moved(&world.tree()),
                moved(before),
                "{what}: it said that it failed, and so it changed nothing\n{run}"
            );
        }
        Some(3) => assert!(
            !run.stdout.is_empty() || run.stderr.contains("note: "),
            "{what}: what was left is named\n{run}"
        ),
        other => panic!("{what}: it ended with {other:?}\n{run}"),
    }
    let silent: Vec<_> = leftovers(world)
        .into_iter()
        .filter(|path| !run.stdout.contains(&name(path)))
        .collect();
    assert!(
        silent.is_empty() || run.code == Some(1) || run.stderr.contains("finishes the rest"),
        "{what}: {silent:?} is left without a word\n{run}"
    );
}

fn name(path: &Path) -> String {
    path.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

/// The calls of an operation, without those of its first fifth: a loader that cannot read a library begins no program.
fn calls_of(case: &Case) -> Vec<Point> {
    let all = points(&(case.ready)(), case.command, b"");
    let begun = all.len() / 5;
    all.into_iter().skip(begun).collect()
}

fn each_error(case: &Case, quick: usize) {
    let (before, after) = case.trees();
    let calls: Vec<Point> = calls_of(case).into_iter().filter(touches_files).collect();
    // In turns, so that each error is met at many calls; all of them at every call of the hand: `tests/apply`.
    let tasks = calls
        .into_iter()
        .enumerate()
        .map(|(number, point)| (point, ERRORS[number % ERRORS.len()]))
        .filter(|task| !is_answer(task))
        .collect();
    each_of(case, sample(tasks, quick), &before, &after);
}

/// Asked for a lease, the kernel says with this error that a program writes to the file: it is kept, and named, and no later try
/// ends it.
fn is_answer(((call, _), error): &(Point, &str)) -> bool {
    call == "fcntl" && *error == "EAGAIN"
}

fn each_of(case: &Case, tasks: Vec<(Point, &str)>, before: &Tree, after: &Tree) {
    at_each(tasks, |(point, error)| {
        let world = (case.ready)();
        let run = fail_at(&world, &point, error, case.command, b"");
        let what = format!("{} with {error} at {point:?}", case.name);
        assert_honest(&world, &run, before, after, &what);
        world.run(case.again, b"").exits(0);
        case.assert_ended(
            &world,
            before,
            after,
            &format!("{what}, which said:\n{run}"),
        );
    });
}

/// An error in any system call of an operation is told and the next try ends it.
///
/// Invariant `work/crash-operation`.
#[test]
fn operations_system_call_error_is_reported() {
    if !has_strace() {
        return;
    }
    for case in cases() {
        each_error(case, 24);
    }
}

/// Commands that leave the workspace as it is: they may fail, and say so, and never claim what is not so.
const OTHERS: [&[&str]; 16] = [
    &["snapshot"],
    &["status"],
    &["log"],
    &["show", "m1"],
    &["diff", "m1"],
    &["doctor"],
    &["revert", "--message", "m1", "--dry-run"],
    &["log", "--operations"],
    &["sessions"],
    &["blame", "edited"],
    &["cat", "m1:edited"],
    &["recover"],
    &["label", "m1", "tests pass"],
    &["gc"],
    &["du"],
    &["doctor", "--all", "--repair"],
];

/// The calls in a trace that release a lock on the log by which others are kept out.
fn releases(trace: &str) -> Vec<Point> {
    let (mut number, mut held) = (0, BTreeSet::new());
    let mut releases = Vec::new();
    for call in trace.lines().filter_map(Call::read) {
        if call.name != "fcntl" {
            continue;
        }
        number += 1;
        let Some((_, place)) = call.rest.split_once("l_whence") else {
            continue;
        };
        let place = place.split('}').next().expect("a part");
        // The bytes of SQLite's eight locks (its `wal.c`): 120 is the writer's, 121 and 122 are for a checkpoint and a recovery.
        let is_of_log = (120..128).any(|byte| place.contains(&format!("l_start={byte},")));
        if call.rest.contains("F_WRLCK") && is_of_log {
            held.insert(place);
        } else if call.rest.contains("F_UNLCK") && held.remove(place) {
            releases.push(("fcntl".to_owned(), number));
        }
    }
    releases
}

/// A connection whose lock the system did not release waits for itself, a hundred times in each statement. It is closed after
/// the first one. No time passes here: the calls that wait return at once.
///
/// Invariant `agent/stuck-lock`: If the system fails to release a lock of the session store, a
/// command waits for it once, and not in each statement.
#[test]
fn lock_that_stays_is_waited_for_once() {
    // To begin a transaction that writes, SQLite waits twice.
    const MOST: usize = 200;
    if !has_strace() {
        return;
    }
    let commands: [(&[&str], bool); 8] = [
        (&["doctor", "--repair"], true),
        (&["doctor"], false),
        (&["status"], false),
        (&["log"], false),
        (&["snapshot"], false),
        (&["label", "m1", "tests pass"], false),
        (&["gc"], false),
        (&REVERT, false),
    ];
    for (command, is_gone) in commands {
        let ready = || {
            let world = played();
            for ending in ["", "-wal", "-shm"].iter().filter(|_| is_gone) {
                let file = world.store().join(format!("sessions.db{ending}"));
                std::fs::remove_file(file).expect("it is there");
            }
            world
        };
        let traced = |world: &Sandbox, inject: &[&str]| {
            let trace = world.path("trace");
            let to = ["-o", trace.to_str().expect("plain")];
            let waits = [
                "-e",
                "trace=fcntl,clock_nanosleep",
                "-e",
                "inject=clock_nanosleep:retval=0",
            ];
            let options = [&to[..], &waits, inject].concat();
            let run = finish(&mut strace::command(world, &options, command), b"");
            (run, std::fs::read_to_string(trace).expect("a trace"))
        };
        let all = releases(&traced(&ready(), &[]).1);
        assert!(all.len() > 3, "{command:?}: {all:?}");
        at_each(all, |(_, number)| {
            let world = ready();
            let inject = format!("inject=fcntl:error=EIO:when={number}");
            let (run, trace) = traced(&world, &["-e", &inject]);
            let waits = trace.matches("clock_nanosleep(").count();
            assert!(waits <= MOST, "{command:?} at {number}: {waits}\n{run}");
            world.run(&["log"], b"").exits(0);
        });
    }
}

/// An error in any system call of a command that reverts nothing is told and changes nothing.
///
/// Invariant `truth/error-or-answer`: A command that reverts nothing either fails with an
/// error, or prints all that it usually prints.
#[test]
fn readers_system_call_error_changes_nothing() {
    if !has_strace() {
        return;
    }
    let quick = if std::env::var_os("CKPT_FULL").is_some() {
        usize::MAX
    } else {
        10
    };
    for command in OTHERS {
        let world = played();
        let before = world.tree();
        let sound = world.run(command, b"").exits(0);
        let calls: Vec<Point> = points(&world, command, b"");
        let begun = calls.len() / 5;
        let calls: Vec<_> = calls
            .into_iter()
            .skip(begun)
            .filter(touches_files)
            .collect();
        let step = (calls.len() / quick).max(1);
        let tasks = calls.into_iter().step_by(step).enumerate();
        let tasks = tasks.map(|(number, point)| (point, ERRORS[number % ERRORS.len()]));
        at_each(tasks.collect(), |(point, error)| {
            let world = played();
            let run = fail_at(&world, &point, error, command, b"");
            let what = format!("{command:?} with {error} at {point:?}");
            assert_eq!(world.tree(), before, "{what}: nothing is touched\n{run}");
            match run.code {
                // What it prints is as long as in peace, but for times and ids.
                Some(0) => assert!(
                    command[0] == "doctor"
                        || run.stdout.lines().count() >= sound.stdout.lines().count(),
                    "{what}: it said that all is well, and left out a part\n{run}\nin peace:\n{sound}"
                ),
                Some(1..=5) => assert!(
                    run.stdout.len() + run.stderr.len() > 0,
                    "{what}: a failure says why\n{run}"
                ),
                other => panic!("{what}: it ended with {other:?}\n{run}"),
            }
            world.run(&REVERT, b"").exits(0);
            assert_sound(&world, &what);
        });
    }
}

/// A call that fails by chance as if a file were busy or a file system mounted leaves nothing
/// out.
///
/// Invariant `work/chance-failure`: A call that fails by chance is repeated before its file is
/// left out.
#[test]
fn chance_failure_leaves_nothing_out() {
    if !has_strace() {
        return;
    }
    let case = &CASES[1];
    let (before, after) = case.trees();
    let points = calls_of(case);
    for (name, error, quick) in [
        ("fstat", "ETXTBSY", 10),
        ("openat2", "EXDEV", 10),
        ("read", "EIO", 5),
        ("getdents64", "EIO", 10),
    ] {
        let calls = points
            .iter()
            .filter(|point| point.0 == name)
            .map(|point| (point.clone(), error))
            .collect();
        each_of(case, sample(calls, quick), &before, &after);
    }
}

/// An unrevert of which files failed keeps its way and the next one ends it.
///
/// Invariant `work/undo-failed-change`.
#[test]
fn failed_unrevert_keeps_its_way() {
    if !has_strace() {
        return;
    }
    let case = &CASES[1];
    let (before, after) = case.trees();
    let world = (case.ready)();
    let failed = fail_all(&world, "renameat2", "EACCES", case.command).exits(3);
    assert!(
        failed
            .stdout
            .contains("the next command or message tries again"),
        "what is next is said: {failed}"
    );
    assert_eq!(
        world.tree()[Path::new("edited")],
        before[Path::new("edited")],
        "no rename, no file"
    );
    let status = world.json(&["status"]);
    assert_eq!(
        (&status["interrupted"][1], &status["redo"]),
        (&Value::Null, &Value::Bool(true)),
        "one: {status}"
    );
    assert!(
        status["interrupted"][0]
            .as_str()
            .is_some_and(|told| told.contains("could not write all")),
        "{status}"
    );
    world.run(&["redo"], b"").exits(0);
    case.assert_ended(&world, &before, &after, "the next try");
}

/// What was written and could not be synced is told as done.
///
/// Invariant `truth/error-after-changes`.
#[test]
fn written_and_unsynced_is_told_as_done() {
    if !has_strace() {
        return;
    }
    let mut told = 0;
    for number in 1..=10 {
        let world = played();
        let point = ("fsync".to_owned(), number);
        let command = ["--json", "revert", "--message", "m1"];
        let run = fail_at(&world, &point, "EIO", &command, b"");
        let report: Value = serde_json::from_str(&run.stdout).expect("one document");
        let files = report["files"].as_array().into_iter().flatten();
        for file in files.filter(|file| file["reason_code"] == "not_synced") {
            told += 1;
            assert_eq!(run.code, Some(3), "something is left to know: {run}");
            assert_eq!(file["result"], "done", "{run}");
            let reason = file["reason"].as_str().expect("a sentence");
            assert!(reason.contains("a power cut may undo it"), "{run}");
        }
        if told > 0 {
            assert_eq!(world.read("edited"), b"one\ntwo\n", "{run}");
            return;
        }
    }
    panic!("a directory is synced by one of the first calls");
}
