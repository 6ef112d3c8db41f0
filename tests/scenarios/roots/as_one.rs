//! The parts of an operation on several roots stay one: after a crash, in what is known of it, and in what is kept.

use std::fs;

use ckpt_schema::EventKind;
use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::query::LogFilter;
use ckpt_store::revert::RequestKey;
use ckpt_store::{DryRun, Force, OnConflict, RevertRequest};
use testing::scenario::{World, to, wait_ms};

use super::{message, read, with_two};

/// As a crash leaves it that comes after the last file and before an operation is closed in any root.
fn interrupt_the_last_operation(world: &World) {
    let connection = rusqlite::Connection::open(world.base().join("store/sessions.db"));
    connection
        .expect("it is there")
        .execute_batch(
            "UPDATE operations SET state = 'open', outcome = NULL, after_snapshot_id = NULL, finished_at = NULL
              WHERE ifnull(part_of, id) = (SELECT ifnull(part_of, id) FROM operations ORDER BY seq DESC LIMIT 1);
             UPDATE sessions SET revert_message_id = NULL, revert_base_id = NULL;
             UPDATE messages SET state = 'live' WHERE state <> 'discarded';",
        )
        .expect("its tables");
}

/// What a crash left is finished in all roots before it is known where the next command goes.
#[test]
fn interrupted_revert_goes_forward_in_all_roots() {
    let unrevert = |world: &mut World| world.unrevert();
    let redo = |world: &mut World| world.redo();
    for next in [&unrevert as &dyn Fn(&mut World) -> OperationReport, &redo] {
        for from_other in [false, true] {
            let (mut world, other) = with_two();
            message(&mut world, "m1", &[&other]);
            world.step(|world| {
                world.write("a", "2\n");
                fs::write(other.join("b"), "2\n").expect("writable");
            });
            world.revert("m1");
            interrupt_the_last_operation(&world);
            if from_other {
                world.cwd.clone_from(&other);
            }
            let report = next(&mut world);
            assert_eq!(report.finished.len(), 2, "{report:#?}");
            assert_eq!(
                (world.read("a"), read(&other.join("b"))),
                ("2\n".into(), "2\n".into()),
                "{report:#?}"
            );
        }
    }
}

/// What is asked for in a root is known there, even if it has nothing to do in that root.
#[test]
fn operation_is_known_where_it_was_asked() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| world.write("a", "2\n"));
    message(&mut world, "m2", &[]);
    world.step(|_| fs::write(other.join("b"), "2\n").expect("writable"));
    let mut older = to("m1");
    older.only = vec![world.path("a")];
    world.try_revert(&older).expect("it is known");
    let mut alone = to("m2");
    alone.alone = true;
    let report = world.try_revert(&alone).expect("it is known");
    assert_eq!(read(&other.join("b")), "1\n", "{report:#?}");
    let asked = report.operation.expect("it has an id where it was asked");
    let cwd = world.cwd.clone();
    let log = world
        .store
        .operations(&cwd, &LogFilter::default())
        .expect("readable");
    assert_eq!(log.operations[0].id, asked);
    world.undo(&asked);
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "2\n".into()),
        "only the newest one is taken back"
    );
}

/// A label keeps what its message was in every root.
#[test]
fn label_keeps_snapshots_of_all_roots() {
    for in_other in [false, true] {
        let (mut world, other) = with_two();
        message(&mut world, "m1", &[&other]);
        world.step(|world| {
            world.write("a", "2\n");
            fs::write(other.join("b"), "2\n").expect("writable");
        });
        let cwd = if in_other {
            other.clone()
        } else {
            world.cwd.clone()
        };
        let id = world.log().messages[0].id.clone();
        world.store.label(&cwd, &id, "good").expect("it is known");
        let end = world.event(EventKind::SessionEnd, "s1");
        world.send(&end);
        wait_ms(40 * 86_400_000);
        let report = world.store.gc(DryRun::No).expect("it is idle");
        assert!(
            report.sessions.iter().all(|session| !session.goes),
            "{report:#?}"
        );
        world.revert("m1");
        assert_eq!(
            (world.read("a"), read(&other.join("b"))),
            ("1\n".into(), "1\n".into())
        );
    }
}

/// What is reverted in a root that the request leaves out is named, and is not called forward.
#[test]
fn root_that_stays_reverted_is_named() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    world.revert("m1");
    world.store.limit_to_workspace();
    let is_named = |report: &OperationReport| {
        let root = other.to_str().expect("a plain path");
        let notes = report.notes.iter();
        let mut named = notes.filter(|note| note.contains("still reverted"));
        named.any(|note| note.contains(root))
    };
    let report = world.unrevert();
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("2\n".into(), "1\n".into())
    );
    assert!(is_named(&report), "{:?}", report.notes);
    let report = world.unrevert();
    assert!(
        is_named(&report),
        "nothing is left here: {:?}",
        report.notes
    );
}

/// A root that was away goes forward by the same command once it is back.
#[test]
fn root_that_was_away_goes_forward_later() {
    let unrevert = |world: &mut World| world.unrevert();
    let redo = |world: &mut World| world.redo();
    for next in [&unrevert as &dyn Fn(&mut World) -> OperationReport, &redo] {
        let (mut world, other) = with_two();
        message(&mut world, "m1", &[&other]);
        world.step(|world| {
            world.write("a", "2\n");
            fs::write(other.join("b"), "2\n").expect("writable");
        });
        world.revert("m1");
        let away = world.base().join("away");
        fs::rename(&other, &away).expect("writable");
        next(&mut world);
        let report = next(&mut world);
        assert_eq!(
            report.operation, None,
            "there is nothing to do: {report:#?}"
        );
        fs::rename(&away, &other).expect("writable");
        let report = next(&mut world);
        assert_eq!(
            (world.read("a"), read(&other.join("b"))),
            ("2\n".into(), "2\n".into()),
            "{report:#?}"
        );
        let undone = report.operation.expect("it did something");
        world.undo(&undone);
        assert_eq!(
            (world.read("a"), read(&other.join("b"))),
            ("2\n".into(), "1\n".into())
        );
        next(&mut world);
        assert_eq!(read(&other.join("b")), "2\n");
    }
}

/// The answer to a key that was used has all roots, with what stayed in each.
#[test]
fn used_key_is_answered_for_all_roots() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    fs::write(other.join("b"), "the user's\n").expect("writable");
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let planned = world.try_revert(&request).expect("it is known");
    let token = planned.plan.expect("there is something to do");
    let mut apply = || {
        let key = RequestKey::of("once", &token);
        world
            .store
            .apply_once(&token, Force::No, Some(key))
            .expect("nothing is in the way")
    };
    let (first, again) = (apply(), apply());
    let told = |report: &OperationReport| {
        let roots = report.roots.iter();
        let kept: Vec<_> = roots.map(|root| root.report.kept.clone()).collect();
        (report.outcome, report.messages_hidden.clone(), kept)
    };
    assert_eq!(first.outcome, Outcome::Partial);
    assert!(!told(&first).2[0].is_empty(), "{first:#?}");
    assert_eq!(told(&again), told(&first));
}

/// The way out of a file that stays in another root is a request about that root.
#[test]
fn way_out_is_about_its_root() {
    let (mut world, other) = with_two();
    world.write("b", "1\n");
    message(&mut world, "m1", &[&other]);
    world.step(|world| {
        world.write("b", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    for file in [world.path("b"), other.join("b")] {
        fs::write(file, "the user's\n").expect("writable");
    }
    let report = world.revert("m1");
    let way = |report: &OperationReport| {
        let way = report.kept[0].way.clone().expect("there is one");
        way.parameters
    };
    assert_eq!(way(&report).workspace, None);
    let there = way(&report.roots[0].report);
    assert_eq!(there.workspace.as_deref(), other.to_str());
    let request = RevertRequest {
        message: there.message.expect("it is a revert"),
        only: there
            .only
            .iter()
            .map(|path| path.path.clone().into())
            .collect(),
        on_conflict: OnConflict::Overwrite,
        ..RevertRequest::default()
    };
    world.store.revert(&other, &request).expect("it is known");
    assert_eq!(
        (world.read("b"), read(&other.join("b"))),
        ("the user's\n".into(), "1\n".into())
    );
}

/// A root that joined the session later says which of its states a revert to before that went to.
#[test]
fn root_that_joined_later_says_where_it_went() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[]);
    world.step(|world| {
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
    });
    message(&mut world, "m2", &[&other]);
    world.step(|_| fs::write(other.join("b"), "3\n").expect("writable"));
    let is_told = |report: &OperationReport| {
        let notes = &report.roots[0].report.notes;
        notes
            .iter()
            .any(|note| note.contains("earlier is not recorded"))
    };
    let report = world.revert("m2");
    assert!(!is_told(&report), "{report:#?}");
    let report = world.revert("m1");
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "2\n".into())
    );
    assert!(is_told(&report), "{report:#?}");
}
