//! Whole commands killed at their system calls: the next command that acts ends what was begun, or it never began.
//!
//! `strace` injects the signal into the k-th call of a name; the pairs are read from a trace of a run in peace. A quick run
//! takes a sample of them, `CKPT_FULL=1` all.

#![expect(clippy::print_stdout, reason = "what was skipped or counted is told to who runs the tests")]
#![expect(clippy::disallowed_methods, reason = "the tests are scaled by the environment")]

#[path = "../common/mod.rs"]
mod common;

mod strace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use common::World;
use serde_json::json;

use strace::{Point, at_each, kill_at, points};

type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// A session whose agent did everything that can be done to files.
fn played() -> World {
    let world = World::new();
    world.write("edited", "one\ntwo\n");
    world.write("removed/deep", "before\n");
    world.write("mode", "same\n");
    world.write("was a file", "before\n");
    world.write("of the user", "mine\n");
    world.play("m1", "everything", |world| {
        world.write("edited", "one\n2\n");
        world.remove("removed/deep");
        world.write("made/by/agent", "agent\n");
        world.remove("was a file");
        world.write("was a file/below", "agent\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(world.workspace().join("mode"), mode).expect("it is ours");
        std::os::unix::fs::symlink("edited", world.workspace().join("link")).expect("writable");
    });
    world
}

/// The tree that a revert in peace gives.
fn reverted() -> Tree {
    let world = played();
    world.run(&REVERT, b"").exits(0);
    world.tree()
}

const REVERT: [&str; 3] = ["revert", "--message", "m1"];

/// A name that is only there between two system calls.
fn leftovers(world: &World) -> Vec<PathBuf> {
    let is_ours = |path: &&PathBuf| path.to_string_lossy().contains(".ckpt-hook-");
    world.tree().keys().filter(is_ours).cloned().collect()
}

/// The database is whole, and `doctor` finds nothing broken.
fn assert_sound(world: &World, what: &str) {
    let mut check = Command::new("sqlite3");
    check.arg(world.store().join("sessions.db")).arg("pragma integrity_check; pragma foreign_key_check;");
    match check.output() {
        Ok(output) => {
            assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{what}: the database is sound: {output:?}");
        }
        Err(_) => println!("SKIPPED: without `sqlite3` only `doctor` looks at the database"),
    }
    let doctor = world.run(&["doctor"], b"");
    assert_eq!(doctor.code, Some(0), "{what}: {doctor}");
}

/// Every file is wholly the one or wholly the other; in between a name may be empty.
fn assert_whole(world: &World, before: &Tree, after: &Tree, what: &str) {
    for (path, found) in world.tree() {
        let is_ours = path.to_string_lossy().contains(".ckpt-hook-");
        let is_directory = world.workspace().join(&path).is_dir();
        let whole = [before.get(&path), after.get(&path)].contains(&Some(&found));
        assert!(whole || is_ours || is_directory, "{what}: `{}` is torn: {found:?}", path.display());
    }
}

fn skipped() -> bool {
    let skipped = !strace::works();
    if skipped {
        println!("SKIPPED: `strace` does not run here, so no command was killed");
    }
    skipped
}

/// Kills a revert at each of its calls and lets another command end it.
fn each_killed_revert(quick: usize, end: impl Fn(&World, &Tree, &Tree, &str) + Sync) {
    let (before, after) = (played().tree(), reverted());
    let all: Vec<Point> = points(&played(), &REVERT, b"");
    at_each(strace::sample(all, quick), |point| {
        let world = played();
        kill_at(&world, &point, &REVERT, b"");
        let what = format!("killed at {point:?}");
        assert_whole(&world, &before, &after, &what);
        let killed = world.tree();
        world.run(&["status"], b"").exits(0);
        assert_eq!(world.tree(), killed, "{what}: `status` looks and does not act");
        end(&world, &before, &after, &what);
        assert_eq!(leftovers(&world), Vec::<PathBuf>::new(), "{what}: nothing is left beside");
        assert_sound(&world, &what);
    });
}

#[test]
fn a_killed_revert_is_ended_by_the_next_revert_and_has_its_way_back() {
    if skipped() {
        return;
    }
    each_killed_revert(40, |world, before, after, what| {
        world.run(&REVERT, b"").exits(0);
        assert_eq!(&world.tree(), after, "{what}: just before the message");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(&world.tree(), before, "{what}: and back to the byte");
    });
}

#[test]
fn a_killed_revert_that_is_redone_is_as_if_it_had_not_been() {
    if skipped() {
        return;
    }
    each_killed_revert(30, |world, before, _, what| {
        world.run(&["redo"], b"").exits(0);
        assert_eq!(&world.tree(), before, "{what}: back to the byte");
    });
}

#[test]
fn after_a_killed_revert_a_hook_finds_the_tree_before_or_after_it() {
    if skipped() {
        return;
    }
    each_killed_revert(30, |world, before, after, what| {
        world.event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"})).ends_silently();
        let found = world.tree();
        assert!(found == *before || found == *after, "{what}: nothing between: {found:?}");
        world.write("edited", "of the next message\n");
        world.event(json!({"event": "turn_end", "session_id": "s"})).ends_silently();
        let log = world.json(&["log"]);
        assert_eq!(log["messages"][0]["agent_id"], "m2", "{what}: the message is recorded: {log}");
        let state = if found == *after { "discarded" } else { "live" };
        assert_eq!(log["messages"][1]["state"], state, "{what}: and makes the revert permanent: {log}");
    });
}

/// Runs git in the workspace, without the user's settings.
fn git(world: &World, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "--no-optional-locks"]).args(arguments);
    command.current_dir(world.workspace()).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", world.home());
    let output = command.output().expect("git is there for the tests");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A session whose agent committed, went to a branch of its own and committed there.
fn played_with_git() -> World {
    let world = World::new();
    git(&world, &["init", "-q", "-b", "main"]);
    world.write("a", "1\n");
    git(&world, &["add", "a"]);
    git(&world, &["commit", "-qm", "first"]);
    world.write("a", "staged\n");
    git(&world, &["add", "a"]);
    world.play("m1", "commit it", |world| {
        git(world, &["commit", "-qm", "second"]);
    });
    world.play("m2", "go on elsewhere", |world| {
        git(world, &["checkout", "-qb", "agents"]);
        world.write("a", "third\n");
        git(world, &["commit", "-qam", "third"]);
    });
    world
}

/// HEAD, the branches, what is staged, the files, and what is left of ours.
fn git_state(world: &World) -> (String, Tree, Vec<PathBuf>) {
    let said = [
        git(world, &["status", "--porcelain=v2", "--branch"]),
        git(world, &["for-each-ref"]),
        git(world, &["ls-files", "--stage"]),
        git(world, &["fsck", "--strict", "--no-dangling"]),
    ];
    let mut left = Vec::new();
    for folder in [".git", ".git/refs/heads"] {
        for entry in std::fs::read_dir(world.workspace().join(folder)).expect("readable") {
            let name = entry.expect("readable").file_name();
            let is_ours = name.to_string_lossy().contains("ckpt-hook") || name.to_string_lossy().ends_with(".lock");
            left.extend(is_ours.then(|| PathBuf::from(name)));
        }
    }
    (said.concat(), world.tree(), left)
}

#[test]
fn a_killed_revert_of_git_is_ended_by_the_next_revert_and_leaves_no_lock() {
    if skipped() {
        return;
    }
    const REVERT_GIT: [&str; 4] = ["revert", "--git", "--message", "m1"];
    let in_peace = |arguments: &[&str]| {
        let world = played_with_git();
        world.run(arguments, b"").exits(0);
        // The second commit has another id each second.
        git_state(&world).1
    };
    let after = in_peace(&REVERT_GIT);
    let all = points(&played_with_git(), &REVERT_GIT, b"");
    at_each(strace::sample(all, 60), |point| {
        let world = played_with_git();
        let before = git_state(&world);
        kill_at(&world, &point, &REVERT_GIT, b"");
        let what = format!("killed at {point:?}");
        world.run(&REVERT_GIT, b"").exits(0);
        let (said, tree, left) = git_state(&world);
        assert_eq!((tree, left), (after.clone(), Vec::new()), "{what}: the files, and nothing of ours is left");
        assert!(said.contains("# branch.head main\n1 M. "), "{what}: on main, with `a` staged: {said}");
        assert_eq!(git(&world, &["rev-list", "--count", "main"]), "1\n", "{what}: with the first commit alone");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(git_state(&world), before, "{what}: and the way back");
        assert_sound(&world, &what);
    });
}

#[test]
fn after_a_killed_hook_the_next_snapshot_works() {
    if skipped() {
        return;
    }
    let event = json!({"event": "step_finish", "session_id": "s"});
    let ready = || {
        let world = played();
        world.event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"})).ends_silently();
        world.event(json!({"event": "step_start", "session_id": "s"})).ends_silently();
        world.write("edited", "second\n");
        world.write("new", "second\n");
        world
    };
    let payload = |world: &World| {
        let mut event = event.clone();
        event["cwd"] = world.workspace().to_str().expect("a plain path").into();
        event.to_string()
    };
    let first = ready();
    let all = points(&first, &["event"], payload(&first).as_bytes());
    at_each(strace::sample(all, 60), |point| {
        let world = ready();
        let before = world.tree();
        kill_at(&world, &point, &["event"], payload(&world).as_bytes());
        let what = format!("killed at {point:?}");
        assert_eq!(world.tree(), before, "{what}: a hook does not act on the workspace");
        world.event(json!({"event": "turn_end", "session_id": "s"})).ends_silently();
        assert_sound(&world, &what);
        world.run(&["revert", "--message", "m2"], b"").exits(0);
        assert_eq!(world.read("edited"), b"one\n2\n", "{what}: the step was recorded all the same");
        assert!(!world.workspace().join("new").exists(), "{what}: all of it");
        world.run(&["unrevert"], b"").exits(0);
        assert_eq!(world.tree(), before, "{what}: and there is a way back");
    });
}
