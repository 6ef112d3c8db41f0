//! A revert over three roots that is killed: the next command, in any of them, ends it in all.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use testing::binary::Sandbox;
use testing::skip::has_strace;
use testing::strace::{Point, at_each, kill_at, points, sample};
use testing::tree::{self, Tree};

use super::{REVERT, assert_sound};

/// A session that worked in three roots: one in git, one in none, and one below the first, which ignores it.
fn played() -> (Sandbox, [PathBuf; 2]) {
    let world = Sandbox::new();
    world.run_git(&["init", "-q"]);
    world.write(".gitignore", "inner\n");
    let others = [world.path("other"), world.workspace().join("inner")];
    for other in &others {
        fs::create_dir_all(other).expect("writable");
        for name in ["b", "gone"] {
            fs::write(other.join(name), "before\n").expect("writable");
        }
    }
    world.write("a", "before\n");
    let event = |kind: &str| json!({"event": kind, "session_id": "s"});
    let message =
        json!({"event": "user_message", "session_id": "s", "message_id": "m1", "roots": others});
    world.event(message).ends_silently();
    world.event(event("step_start")).ends_silently();
    world.write("a", "after\n");
    world.write("made/by/agent", "after\n");
    // The one below is ignored, and no root of its own: what changed there would stay, and be told.
    fs::write(others[0].join("b"), "after\n").expect("writable");
    fs::remove_file(others[0].join("gone")).expect("writable");
    world.event(event("step_finish")).ends_silently();
    world.event(event("turn_end")).ends_silently();
    (world, others)
}

/// The first root with the one below it, and the other one.
fn both((world, [other, _]): &(Sandbox, [PathBuf; 2])) -> [Tree; 2] {
    [world.tree(), tree::read(other)]
}

/// Invariant `work/roots-after-a-crash`: A killed revert over several roots is ended in all of them by the next command
/// in any.
#[test]
fn killed_revert_is_ended_in_all_roots() {
    if !has_strace() {
        return;
    }
    let peaceful = played();
    let before = both(&peaceful);
    peaceful.0.run(&REVERT, b"").exits(0);
    let after = both(&peaceful);
    assert_ne!(before[1], after[1], "it goes back in the second root, too");
    let all: Vec<Point> = points(&played().0, &REVERT, b"");
    at_each(sample(all, 40), |point| {
        let played = played();
        let (world, others) = &played;
        kill_at(world, &point, &REVERT, b"");
        // In turn: a command in each of the roots.
        let what = format!("killed at {point:?}");
        let mut command = world.command(&["snapshot"]);
        if let Some(other) = others.get(point.1 % 3) {
            command.current_dir(other);
        }
        testing::binary::Run::of(&mut command).exits(0);
        let ended = both(&played);
        assert!(
            ended == before || ended == after,
            "{what}: one root went back and the other did not: {ended:#?}"
        );
        world.run(&REVERT, b"").exits(0);
        assert_eq!(both(&played), after, "{what}: just before the message");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(both(&played), before, "{what}: and back to the byte");
        assert_sound(world, &what);
    });
}

/// An operation, after which commands it is given, and what is typed.
type Operation<'a> = (&'a [&'a [&'a str]], &'a [&'a str], &'a [u8]);

/// Whatever else goes over several roots is ended in all of them as well.
#[test]
fn killed_operations_are_ended_in_all_roots() {
    if !has_strace() {
        return;
    }
    let operations: [Operation<'_>; 6] = [
        (&[&REVERT], &["undo"], b""),
        (&[&REVERT], &["redo"], b""),
        (&[&REVERT], &["unrevert"], b""),
        (&[], &["restore", "m1"], b""),
        (&[], &["revert", "last", "-p"], b"y\ny\ny\ny\ny\ny\ny\n"),
        (&[], &["recover", "../other/gone"], b""),
    ];
    for (first, command, typed) in operations {
        let prepared = || {
            let played = played();
            for command in first {
                played.0.run(command, b"").exits(0);
            }
            played
        };
        let peaceful = prepared();
        let before = both(&peaceful);
        peaceful.0.run(command, typed).exits(0);
        let after = both(&peaceful);
        assert_ne!(before[1], after[1], "{command:?}: in the second root, too");
        let all: Vec<Point> = points(&prepared().0, command, typed);
        at_each(sample(all, 8), |point| {
            let played = prepared();
            let (world, others) = &played;
            kill_at(world, &point, command, typed);
            let what = format!("{command:?} killed at {point:?}");
            let mut next = world.command(&["snapshot"]);
            if let Some(other) = others.get(point.1 % 3) {
                next.current_dir(other);
            }
            testing::binary::Run::of(&mut next).exits(0);
            let ended = both(&played);
            assert!(
                ended == before || ended == after,
                "{what}: one root went and the other did not: {ended:#?}"
            );
            assert_sound(world, &what);
        });
    }
}
