//! The parts of an operation on several roots stay one: after a crash, in what is known of it, and in what is kept.

use std::fs;
use std::path::{Path, PathBuf};

use ckpt_schema::EventKind;
use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::query::LogFilter;
use ckpt_store::revert::RequestKey;
use ckpt_store::{DryRun, Force, OnConflict, RevertRequest};
use testing::scenario::{World, to, wait_ms};
use testing::tree;

use super::{message, read, run_git, with_two};

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

/// Two messages, each of which changes a file in both roots.
fn twice() -> (World, PathBuf) {
    let (mut world, other) = with_two();
    for (id, text) in [("m1", "2\n"), ("m2", "3\n")] {
        message(&mut world, id, &[&other]);
        world.step(|world| {
            world.write("a", text);
            fs::write(other.join("b"), text).expect("writable");
        });
    }
    (world, other)
}

/// A restore goes to one state in all roots, by a message, by paths, and by an operation, and is undone in all.
#[test]
fn restore_goes_to_a_state_everywhere() {
    let (mut world, other) = twice();
    let both = |world: &World| (world.read("a"), read(&other.join("b")));
    let state = |text: &str| (format!("{text}\n"), format!("{text}\n"));
    let first = world.restore("m1", &[]);
    assert_eq!(both(&world), state("1"), "{first:#?}");
    let second = world.restore("m2", &[]);
    assert_eq!(both(&world), state("2"), "{second:#?}");
    let id = second.operation.as_deref().expect("it was carried out");
    world.restore(id, &[]);
    assert_eq!(both(&world), state("1"), "as it was before an operation");
    let undone = world.restore("m2", &["a", other.join("b").to_str().expect("plain")]);
    assert_eq!(both(&world), state("2"), "by paths");
    world.undo(undone.operation.as_deref().expect("it was carried out"));
    assert_eq!(both(&world), state("1"), "undone in both");
    world.store.limit_to_workspace();
    world.restore("m2", &[]);
    let limited = ("2\n".to_owned(), "1\n".to_owned());
    assert_eq!(both(&world), limited, "here alone");
}

/// A root that joined later goes to where it did.
#[test]
fn restore_says_where_a_root_joined() {
    let (mut world, other) = with_two();
    message(&mut world, "m1", &[]);
    world.step(|world| world.write("a", "2\n"));
    message(&mut world, "m2", &[&other]);
    world.step(|_| fs::write(other.join("b"), "2\n").expect("writable"));
    let report = world.restore("m1", &[]);
    assert_eq!(
        (world.read("a"), read(&other.join("b"))),
        ("1\n".into(), "1\n".into())
    );
    let notes = &report.roots[0].report.notes;
    assert!(
        notes.iter().any(|note| note.contains("worked here from")),
        "{notes:?}"
    );
}

/// After the history of one root is forgotten, the others say that what was done there stays.
#[test]
fn forgotten_root_is_told() {
    for of_first in [true, false] {
        let (mut world, other) = twice();
        let end = world.event(EventKind::SessionEnd, "s1");
        world.send(&end);
        let (gone, left) = match of_first {
            true => (world.root.clone(), other.clone()),
            false => (other.clone(), world.root.clone()),
        };
        let what = ckpt_store::Forget::Workspace;
        let forgotten = world.store.forget(&gone, &what, DryRun::No);
        forgotten.expect("it is idle");
        world.cwd = left;
        let report = world.revert("m1");
        let is_told = report
            .notes
            .iter()
            .any(|note| note.contains("was forgotten"));
        assert!(is_told, "{of_first}: {report:#?}");
        let stays = match of_first {
            true => world.read("a"),
            false => read(&other.join("b")),
        };
        assert_eq!(stays, "3\n");
    }
}

/// A root that was removed goes back once a new directory has taken its history over.
#[test]
fn removed_root_goes_back_after_adoption() {
    let (mut world, other) = twice();
    let aside = world.base().join("aside");
    fs::rename(&other, &aside).expect("writable");
    fs::create_dir(&other).expect("writable");
    fs::write(other.join("b"), "3\n").expect("writable");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    let hints = |note: &String| note.contains("`ckpt-hook workspace adopt`");
    assert!(report.notes.iter().any(hints), "{report:#?}");
    world
        .store
        .adopt(&other, None, DryRun::No)
        .expect("it was there");
    let report = world.revert("m1");
    assert_eq!(read(&other.join("b")), "1\n", "{report:#?}");
}

/// A step that removes or replaces a whole root leaves no change in it, and a revert does not claim that all is back. An
/// empty directory is one where nothing is mounted.
#[test]
fn root_that_a_step_removed_is_missed() {
    let (removed, replaced, unmounted) = (0, 1, 2);
    for how in [removed, replaced, unmounted] {
        let (mut world, other) = with_two();
        message(&mut world, "m1", &[&other]);
        world.step(|world| {
            world.write("a", "2\n");
            fs::rename(&other, world.base().join("aside")).expect("writable");
            if how != removed {
                fs::create_dir(&other).expect("writable");
            }
            if how == replaced {
                fs::write(other.join("c"), "2\n").expect("writable");
            }
        });
        let report = world.revert("m1");
        assert_eq!(world.read("a"), "1\n");
        let expected = match how == unmounted {
            true => Outcome::Restored,
            false => Outcome::Partial,
        };
        assert_eq!(report.outcome, expected, "{how}: {report:#?}");
        let is_told = report
            .notes
            .iter()
            .any(|note| note.contains("not there now"));
        assert!(is_told, "{how}: {report:#?}");
    }
}

/// Random work in three roots, one in git, one in none and one below another, goes back and forward as one. What the user
/// made meanwhile stays in each, and an undo is the way back. A crash may come before an operation is closed: the next one
/// ends it in all roots first.
#[test]
fn random_work_in_three_roots_goes_back() {
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let asked = std::env::var("CKPT_FULL").ok();
    let asked = asked.map(|asked| asked.parse().unwrap_or_default());
    let seeds = asked.map_or(4, |asked: u64| asked.max(12));
    for seed in 1..=seeds {
        let mut world = World::git(&[("f0", "0\n"), (".gitignore", "inner\n")]);
        let (inner, plain) = (world.path("inner"), world.base().join("plain"));
        for root in [&inner, &plain] {
            fs::create_dir(root).expect("writable");
            fs::write(root.join("f1"), "0\n").expect("writable");
        }
        run_git(&inner, &["init", "-q"]);
        let roots = [world.root.clone(), inner, plain];
        let is_users = |path: &Path| path.to_string_lossy().ends_with(".mine");
        let of = |users: bool| {
            let read = |root: &PathBuf| -> tree::Tree {
                let all = tree::read(root).into_iter();
                all.filter(|(path, _)| is_users(path) == users).collect()
            };
            roots.each_ref().map(read)
        };
        let states = || of(false);
        let mut random = seed;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        let mut before = Vec::new();
        for number in 0..5 {
            before.push(states());
            let further: Vec<&Path> = roots[1..].iter().map(PathBuf::as_path).collect();
            message(&mut world, &format!("m{number}"), &further);
            world.start();
            for _ in 0..next(6) {
                let root = &roots[usize::try_from(next(3)).expect("small")];
                let file = root.join(format!("f{}", next(4)));
                match next(3) {
                    0 if file.exists() => fs::remove_file(file).expect("writable"),
                    _ => fs::write(file, format!("{number} {}\n", next(9))).expect("writable"),
                }
            }
            world.finish();
            let root = &roots[usize::try_from(next(3)).expect("small")];
            fs::write(root.join(format!("f{number}.mine")), "mine\n").expect("writable");
        }
        before.push(states());
        let users = of(true);
        for _ in 0..4 {
            let to = usize::try_from(next(5)).expect("small");
            world.revert(&format!("m{to}"));
            assert_eq!(states(), before[to], "seed {seed}: back to m{to}");
            assert_eq!(of(true), users, "seed {seed}: the user's files at m{to}");
            if next(3) == 0 {
                interrupt_the_last_operation(&world);
            }
            world.redo();
            assert_eq!(
                states(),
                before[to + 1],
                "seed {seed}: one forward of m{to}"
            );
            if to < 4 {
                world.unrevert();
            }
            assert_eq!(states(), before[5], "seed {seed}: all forward");
            let report = world.revert(&format!("m{to}"));
            if next(3) == 0 {
                interrupt_the_last_operation(&world);
            }
            world.undo(report.operation.as_deref().expect("it was carried out"));
            assert_eq!(states(), before[5], "seed {seed}: undone");
            assert_eq!(of(true), users, "seed {seed}: the user's files");
        }
    }
}
