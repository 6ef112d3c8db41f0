//! Memory that cannot be had, at each allocation of a command in turn, of Rust and of the libraries in C: once, or from there
//! on. What a command says of itself is true, and the next one ends what was begun.
//!
//! The allocator that counts is loaded into the binary by the dynamic linker (`allocations.c`): nothing of it is in any build.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::json;
use tempfile::TempDir;

use super::damage::{HARMS, assert_whole, harmed};
use super::errors::{OUR_BUG, assert_honest};
use super::forget::{FORGET, is_anywhere, ready};
use super::forward::cases;
use super::git::{REVERT_GIT, assert_git_ended, files_after, git_state, played_with_git};
use super::{Sandbox, assert_sound, played};
use testing::binary::{Run, finish};
use testing::skip::skip;
use testing::strace::{at_each, sample};
use testing::tree::files_below;

/// The allocator, where a C compiler for the GNU C library is there.
static ALLOCATOR: LazyLock<Option<(TempDir, PathBuf)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let library = folder.path().join("allocations.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/crash/allocations.c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source);
    let is_made = compiler
        .output()
        .is_ok_and(|output| output.status.success());
    is_made.then_some((folder, library))
});

/// Which allocation fails, and whether all after it do.
#[derive(Clone, Copy, Debug)]
struct Scarcity {
    at: u64,
    lasts: bool,
}

fn run(world: &Sandbox, scarcity: Scarcity, arguments: &[&str], stdin: &[u8]) -> Run {
    let (_, library) = ALLOCATOR.as_ref().expect("it was asked for before");
    let mut command = world.command(arguments);
    command
        .env("LD_PRELOAD", library)
        .env("FAIL_AT", scarcity.at.to_string())
        .env("FAIL_REPORT", world.path("allocations"));
    if scarcity.lasts {
        command.env("FAIL_ON", "1");
    }
    finish(&mut command, stdin)
}

/// Returns how each allocation of a command fails in turn, or a sample of them; those before `main` are the loader's.
fn scarcities(world: &Sandbox, arguments: &[&str], stdin: &[u8], quick: usize) -> Vec<Scarcity> {
    if ALLOCATOR.is_none() {
        skip("no C compiler makes a library to load into the binary");
        return Vec::new();
    }
    let none = Scarcity {
        at: 0,
        lasts: false,
    };
    run(world, none, arguments, stdin);
    let counted = std::fs::read_to_string(world.path("allocations"));
    let number: u64 = counted.expect("it is counted").parse().expect("a number");
    assert!(number > 1000, "{number} allocations are counted");
    let all = (BEFORE_MAIN..number).map(|at| Scarcity {
        at,
        lasts: at % 2 == 0,
    });
    sample(all.collect(), quick)
}

/// How many allocations the standard library makes before `main`: without them, no program begins.
const BEFORE_MAIN: u64 = 20;

/// Invariant `work/crash-out-of-memory`.
#[test]
fn an_operation_without_an_allocation_is_honest() {
    for case in cases() {
        let (before, after) = case.trees();
        at_each(
            scarcities(&(case.ready)(), case.command, b"", 12),
            |scarcity| {
                let world = (case.ready)();
                let run = run(&world, scarcity, case.command, b"");
                let what = format!("{} with {scarcity:?}", case.name);
                assert_honest(&world, &run, &before, &after, &what);
                world.run(case.again, b"").exits(0);
                case.assert_ended(
                    &world,
                    &before,
                    &after,
                    &format!("{what}, which said:\n{run}"),
                );
            },
        );
    }
}

/// Invariant `work/crash-out-of-memory`.
#[test]
fn a_revert_of_git_without_memory_is_honest() {
    let after = files_after();
    at_each(
        scarcities(&played_with_git(), &REVERT_GIT, b"", 12),
        |scarcity| {
            let world = played_with_git();
            let before = git_state(&world);
            let run = run(&world, scarcity, &REVERT_GIT, b"");
            let what = format!("{scarcity:?}: {run}");
            assert!(!run.stderr.contains(OUR_BUG), "{what}");
            match run.code {
                Some(0) => assert_eq!(git_state(&world).1, after, "{what}"),
                Some(1 | 4 | 5) => assert_eq!(git_state(&world), before, "{what}"),
                Some(3) => assert!(run.stdout.len() + run.stderr.len() > 0, "{what}"),
                _ => panic!("{what}"),
            }
            assert_git_ended(&world, &before, &after, &what);
        },
    );
}

/// Invariant `work/crash-out-of-memory`.
#[test]
fn a_hook_without_an_allocation_is_silent() {
    let ready = || {
        let world = played();
        for event in [
            json!({"event": "user_message", "session_id": "s", "message_id": "m2"}),
            json!({"event": "step_start", "session_id": "s"}),
        ] {
            world.event(event).ends_silently();
        }
        world.write("edited", "second\n");
        world
    };
    let payload = |world: &Sandbox| {
        json!({"event": "step_finish", "session_id": "s", "cwd": world.workspace()}).to_string()
    };
    let first = ready();
    let all = scarcities(&first, &["event"], payload(&first).as_bytes(), 24);
    at_each(all, |scarcity| {
        let world = ready();
        let before = world.tree();
        let run = run(&world, scarcity, &["event"], payload(&world).as_bytes());
        let what = format!("{scarcity:?}: {run}");
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{what}");
        assert_eq!(world.tree(), before, "{what}");
        world
            .event(json!({"event": "turn_end", "session_id": "s"}))
            .ends_silently();
        assert_sound(&world, &what);
    });
}

/// A question without an allocation is answered or refused.
///
/// Invariant `work/crash-out-of-memory`.
#[test]
fn question_without_an_allocation_is_honest() {
    let questions: [&[&str]; 5] = [
        &["log"],
        &["status"],
        &["diff", "m1"],
        &["show", "m1"],
        &["doctor"],
    ];
    for question in questions {
        let first = played();
        let before = first.tree();
        let answer = first.run(question, b"");
        at_each(scarcities(&first, question, b"", 8), |scarcity| {
            let world = played();
            let run = run(&world, scarcity, question, b"");
            let what = format!("{question:?} with {scarcity:?}: {run}");
            match run.code {
                Some(0) if question[0] != "doctor" && question[0] != "status" => {
                    let lines = |text: &str| text.lines().count();
                    assert_eq!(lines(&run.stdout), lines(&answer.stdout), "{what}");
                }
                Some(0) => {}
                Some(1 | 3 | 4) => assert!(
                    run.stderr.contains("error: ") || question[0] == "doctor",
                    "{what}: it says why"
                ),
                _ => panic!("{what}"),
            }
            assert_eq!(world.tree(), before, "{what}");
            assert_sound(&world, &what);
        });
    }
}

/// Work elsewhere without an allocation is done or refused, and can be asked for again.
///
/// Invariant `work/crash-out-of-memory`.
#[test]
fn work_elsewhere_without_an_allocation_is_honest() {
    let ready = || {
        let world = played();
        world.run_git(&["init", "-q", "--bare", "../server.git"]);
        world
    };
    let files = |world: &Sandbox, place: &str| {
        let place = world.workspace().join(place);
        if place.exists() {
            files_below(&place)
        } else {
            Vec::new()
        }
    };
    let commands: [(&[&str], &str); 4] = [
        (
            &["push", "../server.git", "--yes"],
            "../server.git/refs/ckpt-hook",
        ),
        (&["fetch", "../server.git"], "../server.git/refs/ckpt-hook"),
        (&["branch", "m1", "../other"], "../other"),
        (&["bisect", "--", "false"], "../nothing"),
    ];
    for (command, place) in commands {
        let peace = ready();
        let code = peace.run(command, b"").code;
        let made = files(&peace, place).len();
        at_each(scarcities(&ready(), command, b"", 8), |scarcity| {
            let world = ready();
            let before = world.tree();
            let run = run(&world, scarcity, command, b"");
            let what = format!("{command:?} with {scarcity:?}: {run}");
            match run.code {
                done if done == code => assert_eq!(files(&world, place).len(), made, "{what}"),
                Some(1 | 3 | 4) => assert!(run.stderr.contains("error: "), "{what}: it says why"),
                _ => panic!("{what}"),
            }
            assert_eq!(world.tree(), before, "{what}");
            assert_sound(&world, &what);
            if run.code != code {
                world.run(command, b"").exits(code.expect("it ends"));
                assert_eq!(files(&world, place).len(), made, "{what}: then");
            }
        });
    }
}

/// Upkeep without an allocation loses nothing, and the next run does the rest.
///
/// Invariant `work/crash-out-of-memory`.
#[test]
fn upkeep_without_an_allocation_is_honest() {
    for command in [&["gc"][..], &FORGET, &["doctor", "--repair"]] {
        at_each(scarcities(&ready(), command, b"", 8), |scarcity| {
            let world = ready();
            let before = world.tree();
            let run = run(&world, scarcity, command, b"");
            let what = format!("{command:?} with {scarcity:?}: {run}");
            assert!(
                matches!(run.code, Some(0)) || run.stdout.len() + run.stderr.len() > 0,
                "{what}: it says why"
            );
            assert_eq!(world.tree(), before, "{what}");
            let again = world.run(command, b"");
            assert!(matches!(again.code, Some(0 | 4)), "{what}: then {again}");
            assert!(command != FORGET || !is_anywhere(&world), "{what}");
            assert_sound(&world, &what);
            world.run(&["revert", "m2"], b"");
            assert_eq!(world.read("a"), b"1\n", "{what}");
        });
    }
}

/// Memory that cannot be had while a damaged store is replaced costs no row.
///
/// Invariant `work/rows-not-given-up`.
#[test]
fn damage_without_an_allocation_costs_no_row() {
    for (name, harm) in HARMS {
        at_each(scarcities(&harmed(harm), &["status"], b"", 5), |scarcity| {
            let world = harmed(harm);
            let run = run(&world, scarcity, &["status"], b"");
            assert_whole(&world, &format!("{name} with {scarcity:?}: {run}"));
        });
    }
}
