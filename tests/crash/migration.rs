//! A migration that is killed, or fails: the store is the old one or the new one, and the next command goes on.

use ckpt_schema::migration::VERSION;

use testing::binary::Sandbox;
use testing::rows::{damage, put_version_2, values_of_version_2, version};
use testing::skip::has_strace;
use testing::strace::{Point, at_each, fail_at, kill_at, points, sample};

use crate::points_that_write;

const READ: [&str; 2] = ["sessions", "--everywhere"];

fn old() -> Sandbox {
    let world = Sandbox::new();
    put_version_2(&world.store());
    world
}

/// Breaks the migration at each of some points: it is whole or not begun, and the next command does all of it.
fn broken_at_each(points: Vec<Point>, act: impl Fn(&Sandbox, &Point) + Sync) {
    let expected = values_of_version_2(&old().store().join("sessions.db"));
    at_each(points, |point| {
        let world = old();
        let database = world.store().join("sessions.db");
        act(&world, &point);
        let what = format!("at {point:?}");
        let then = version(&database);
        assert!(
            [2, VERSION].contains(&then),
            "{what}: version {then} is in between"
        );
        assert_eq!(
            values_of_version_2(&database),
            expected,
            "{what}: every value is there"
        );
        world.run(&READ, b"").exits(0);
        assert_eq!(
            version(&database),
            VERSION,
            "{what}: the next command does it"
        );
        assert_eq!(
            values_of_version_2(&database),
            expected,
            "{what}: with every value"
        );
        assert_eq!(damage(&database), [] as [&str; 0], "{what}: it is sound");
        let copy = world.store().join("sessions.db.version-2");
        assert_eq!(version(&copy), 2, "{what}: what it was is kept");
        assert_eq!(
            values_of_version_2(&copy),
            expected,
            "{what}: with every value"
        );
        assert_eq!(damage(&copy), [] as [&str; 0], "{what}: the copy is sound");
        let unfinished = world.store().join("sessions.db.version-2.new");
        assert!(!unfinished.exists(), "{what}: no copy is left unfinished");
    });
}

/// Invariant `work/migration`: A migration is done completely or not at all, and the old file
/// is kept.
#[test]
fn a_migration_that_is_killed_at_any_system_call_is_done_by_the_next_command() {
    if !has_strace() {
        return;
    }
    let all = points(&old(), &READ, b"");
    broken_at_each(sample(all, 60), |world, point| {
        kill_at(world, point, &READ, b"")
    });
}

#[test]
fn a_migration_in_which_a_system_call_fails_is_done_by_the_next_command() {
    if !has_strace() {
        return;
    }
    let all = points_that_write(&old(), &READ);
    broken_at_each(sample(all, 40), |world, point| {
        let _ = fail_at(world, point, "ENOSPC", &READ, b"");
    });
}
