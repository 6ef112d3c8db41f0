//! Whole commands killed at their system calls: the next command that acts ends what was begun, or it never began.
//!
//! `strace` injects the signal, or an error, into the k-th call of a name; the pairs are read from a trace of a run in peace. A
//! quick run takes a sample of them, `CKPT_FULL=1` all (`just crash`); `CKPT_CASE=undo` takes those of one operation alone.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests are scaled by the environment"
)]

mod again;
mod allocations;
mod damage;
mod errors;
mod forget;
mod forward;
mod git;
mod hook;
mod memory;
mod migration;
mod power;
mod rebuilt;
mod refused;
mod reorder;
mod revert;
mod roots;
mod served;
mod servers;
mod upkeep;

use std::path::PathBuf;

use testing::binary::Sandbox;
use testing::strace::{Point, points};
use testing::tree::Tree;

/// A session whose agent did everything that can be done to files.
fn played() -> Sandbox {
    let world = Sandbox::new();
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

const REVERT: [&str; 3] = ["revert", "--message", "m1"];

/// A name that is only there between two system calls.
fn leftovers(world: &Sandbox) -> Vec<PathBuf> {
    let is_ours = |path: &&PathBuf| path.to_string_lossy().contains(".ckpt-hook-");
    world.tree().keys().filter(is_ours).cloned().collect()
}

/// The database is whole, and `doctor` finds nothing broken.
fn assert_sound(world: &Sandbox, what: &str) {
    assert_eq!(
        testing::rows::damage(&world.store().join("sessions.db")),
        [] as [&str; 0],
        "{what}: the database is sound"
    );
    let doctor = world.run(&["doctor"], b"");
    assert_eq!(doctor.code, Some(0), "{what}: {doctor}");
}

/// The calls of a command by which it writes, or on which what it writes rests.
fn points_that_write(world: &Sandbox, command: &[&str]) -> Vec<Point> {
    let calls = [
        "pwrite64",
        "write",
        "fsync",
        "fdatasync",
        "ftruncate",
        "rename",
        "unlink",
        "openat",
        "pread64",
    ];
    let mut all = points(world, command, b"");
    all.retain(|(name, _)| calls.contains(&name.as_str()));
    all
}

/// Every file is wholly the one or wholly the other; in between a name may be empty.
fn assert_whole(world: &Sandbox, before: &Tree, after: &Tree, what: &str) {
    for (path, found) in world.tree() {
        let is_ours = path.to_string_lossy().contains(".ckpt-hook-");
        let is_directory = world.workspace().join(&path).is_dir();
        let whole = [before.get(&path), after.get(&path)].contains(&Some(&found));
        assert!(
            whole || is_ours || is_directory,
            "{what}: `{}` is torn: {found:?}",
            path.display()
        );
    }
}
