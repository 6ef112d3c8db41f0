//! A migration that is killed, or fails: the store is the old one or the new one, and the next command goes on.

use std::path::PathBuf;
use std::sync::LazyLock;

use ckpt_schema::migration::VERSION;
use serde_json::json;
use tempfile::TempDir;

use testing::binary::{Sandbox, next_binary};
use testing::rows::{damage, put_older_build, values, version};
use testing::skip::{has_strace, is_debug_build};
use testing::strace::{Point, at_each, fail_at, kill_at, points, sample};

use crate::points_that_write;

const READ: [&str; 2] = ["sessions", "--everywhere"];

/// A store of this version, and a world in which the next version takes it over.
fn old() -> Sandbox {
    static NEXT: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let program = next_binary(directory.path());
        (directory, program)
    });
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "of the older one", |world| world.write("a", "1\n"));
    world.upgrade(NEXT.1.clone());
    world
}

/// Breaks the migration at each of some points: it is whole or not begun, and the next command does all of it.
fn broken_at_each(points: Vec<Point>, act: impl Fn(&Sandbox, &Point) + Sync) {
    at_each(points, |point| {
        let world = old();
        let database = world.store().join("sessions.db");
        let expected = values(&database);
        act(&world, &point);
        let what = format!("at {point:?}");
        let then = version(&database);
        assert!(
            [VERSION, VERSION + 1].contains(&then),
            "{what}: version {then} is in between"
        );
        assert_eq!(values(&database), expected, "{what}: every value is there");
        world.run(&READ, b"").exits(0);
        assert_eq!(
            version(&database),
            VERSION + 1,
            "{what}: the next command does it"
        );
        assert_eq!(values(&database), expected, "{what}: with every value");
        assert_eq!(damage(&database), [] as [&str; 0], "{what}: it is sound");
        let copy = world.store().join(format!("sessions.db.version-{VERSION}"));
        assert_eq!(version(&copy), VERSION, "{what}: what it was is kept");
        assert_eq!(values(&copy), expected, "{what}: with every value");
        assert_eq!(damage(&copy), [] as [&str; 0], "{what}: the copy is sound");
        let unfinished = world
            .store()
            .join(format!("sessions.db.version-{VERSION}.new"));
        assert!(!unfinished.exists(), "{what}: no copy is left unfinished");
    });
}

/// A migration that is killed at any system call is done by the next command.
///
/// Invariant `work/migration`: A migration is done completely or not at all, and the old file
/// is kept.
#[test]
fn killed_migration_is_done_next() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let all = points(&old(), &READ, b"");
    broken_at_each(sample(all, 60), |world, point| {
        kill_at(world, point, &READ, b"")
    });
}

/// A migration in which a system call fails is done by the next command.
#[test]
fn failing_migration_is_done_next() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let all = points_that_write(&old(), &READ);
    broken_at_each(sample(all, 40), |world, point| {
        let _ = fail_at(world, point, "ENOSPC", &READ, b"");
    });
}

/// An unreleased build's store is set aside whole.
///
/// Killed in between, the store of a build before the first release is where it was, or set aside whole.
///
/// Invariant `work/older-build`.
#[test]
fn unreleased_store_is_set_aside_whole() {
    if !has_strace() {
        return;
    }
    let older = || {
        let world = Sandbox::new();
        put_older_build(&world.store());
        world
    };
    at_each(sample(points(&older(), &READ, b""), 40), |point| {
        let world = older();
        let [current, aside] =
            ["sessions.db", "sessions.db.older-1"].map(|name| world.store().join(name));
        let expected = values(&current);
        kill_at(&world, &point, &READ, b"");
        let then = if aside.exists() { &aside } else { &current };
        assert_eq!(values(then), expected, "at {point:?}");
        let event = json!({"event": "user_message", "session_id": "s", "message_id": "m"});
        world.event(event).ends_silently();
        assert_eq!(
            values(&aside),
            expected,
            "at {point:?}: by the next command"
        );
        let backup = world.store().join("sessions.db.older-1.backup-3");
        assert_eq!(values(&backup), expected, "at {point:?}: with its backup");
        assert_eq!(
            version(&current),
            VERSION,
            "at {point:?}: a new one is begun"
        );
    });
}
