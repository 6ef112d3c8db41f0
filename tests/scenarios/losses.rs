//! Rows that a damaged log, or one that did not reach the disk, lost: noticed, and what they knew is nobody's.

use std::fs;

use ckpt_schema::report::Outcome;
use ckpt_store::{RevertRequest, Settings};

use testing::scenario::{World, to};

/// Lets something be recorded of which the rows are lost afterwards, as if the log of the database ended before them.
fn losing_its_rows(world: &mut World, work: impl FnOnce(&mut World)) {
    let store = world.base().join("store");
    let files = ["sessions.db", "sessions.db-wal"].map(|name| store.join(name));
    let before = files.clone().map(|path| fs::read(path).unwrap_or_default());
    work(world);
    for (path, bytes) in files.iter().zip(before) {
        // Under another name, for it is open still.
        fs::rename(path, path.with_extension("lost")).expect("it is there");
        fs::write(path, bytes).expect("writable");
    }
    fs::rename(store.join("sessions.db-shm"), store.join("shm.lost")).expect("it is there");
    world.reopen(Settings::default());
}

fn says_so(world: &mut World) -> bool {
    let status = world.status();
    let mut latest = status.latest_diagnostics.iter();
    latest.any(|diagnostic| {
        diagnostic
            .message
            .contains("rows of the session store were lost")
    })
}

/// Rows that were lost are noticed and what they knew is neither the user's nor the agent's.
///
/// Invariant `truth/lost-rows`: Lost rows are noticed, and the changes that they held belong to
/// nobody.
#[test]
fn lost_rows_leave_their_changes_unowned() {
    for is_open in [false, true] {
        let mut world = World::new();
        world.write("agents", "0\n");
        world.write("lost", "0\n");
        world.write("users", "0\n");
        world.message("m1");
        world.step(|world| world.write("agents", "1\n"));
        if is_open {
            // Its finish is lost.
            world.start();
        }
        losing_its_rows(&mut world, |world| {
            if is_open {
                world.finish();
            }
            world.turn("m2", |world| world.write("lost", "1\n"));
            world.write("users", "1\n");
            world.message("m3");
        });
        world.message("m4");
        assert!(says_so(&mut world), "it is noticed (open: {is_open})");
        world.step(|world| world.write("agents", "2\n"));
        let report = world.revert("m1");
        assert_eq!(
            (world.read("lost"), world.read("users")),
            ("1\n".to_owned(), "1\n".to_owned()),
            "nobody knows whose it is (open: {is_open}): {report:?}"
        );
        assert_eq!(world.read("agents"), "0\n", "what is known goes back");
        assert_eq!(
            report.outcome,
            Outcome::Partial,
            "not all of it is known (open: {is_open}): {report:?}"
        );
        assert!(
            report.notes.iter().any(|note| note.contains("were lost")),
            "which is reported: {:?}",
            report.notes
        );
    }
}

/// A revert that comes first notices it too and no loss is seen where there is none.
///
/// Invariant `truth/lost-rows`.
#[test]
fn revert_notices_lost_rows() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    world.unrevert();
    world.turn("m2", |world| world.write("a", "2\n"));
    world.reopen(Settings::default());
    world.revert("m2");
    assert!(!says_so(&mut world), "nothing was lost");
    world.unrevert();
    losing_its_rows(&mut world, |world| {
        world.turn("m3", |world| world.write("b", "1\n"));
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    assert!(world.exists("b"), "nobody knows who made it");
    assert!(says_so(&mut world), "and that is reported");
}

/// Takes away what the store noted in the locks of its workspaces.
fn without_notes(world: &World) {
    for folder in fs::read_dir(world.base().join("store/snapshots")).expect("there") {
        let lock = folder.expect("readable").path().join("lock");
        fs::write(lock, "").expect("writable");
    }
}

/// Rows that were lost together with the note of them are noticed by the snapshots themselves.
///
/// Invariant `truth/lost-rows`.
#[test]
fn rows_lost_with_their_note_are_noticed() {
    for is_revert_first in [false, true] {
        let mut world = World::new();
        world.write("agents", "0\n");
        world.write("lost", "0\n");
        world.turn("m1", |world| world.write("agents", "1\n"));
        losing_its_rows(&mut world, |world| {
            world.turn("m2", |world| world.write("lost", "1\n"));
        });
        without_notes(&world);
        assert!(
            says_so(&mut world),
            "it is told before anything is recorded again"
        );
        if !is_revert_first {
            world.turn("m3", |world| world.write("agents", "2\n"));
            assert!(says_so(&mut world), "it is noticed");
        }
        let report = world.revert("m1");
        assert!(says_so(&mut world), "it is noticed");
        let told = report
            .notes
            .iter()
            .filter(|note| note.contains("were lost"));
        assert_eq!(told.count(), 1, "once: {:?}", report.notes);
        assert_eq!(world.read("lost"), "1\n", "nobody knows whose it is");
        assert_eq!(world.read("agents"), "0\n", "what is known goes back");
        assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    }
}

/// A note that is missing is no loss where the rows know every snapshot.
///
/// Invariant `truth/lost-rows`.
#[test]
fn missing_note_with_all_rows_is_no_loss() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    without_notes(&world);
    world.turn("m2", |world| world.write("a", "2\n"));
    without_notes(&world);
    // What a look stores has no row either.
    world.write("of the user", "1\n");
    let plan = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let cwd = world.cwd.clone();
    world.store.revert(&cwd, &plan).expect("it is planned");
    assert!(!says_so(&mut world), "nothing was lost");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert!(!says_so(&mut world), "nothing was lost");
}
