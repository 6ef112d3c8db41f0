//! What is told of an operation is told where it belongs: by every move of which it is true.

use std::fs;

use ckpt_schema::EventKind;
use ckpt_schema::report::Outcome;

use testing::scenario::{World, to};

fn has(notes: &[String], text: &str) -> bool {
    notes.iter().any(|note| note.contains(text))
}

/// Lets a step begin of which no snapshot can be taken.
fn begin_unrecorded(world: &mut World) {
    let folders = fs::read_dir(world.base().join("store/snapshots")).expect("it was captured");
    let folder = folders
        .map(|entry| entry.expect("readable").path())
        .next()
        .expect("one workspace");
    let (repository, aside) = (folder.join("repository.git"), folder.join("aside"));
    fs::rename(&repository, &aside).expect("it is there");
    fs::write(&repository, "no repository").expect("writable");
    let start = world.event(EventKind::StepStart, "s1");
    world
        .store
        .record(&start)
        .expect_err("there is nothing to capture into");
    fs::remove_file(&repository).expect("it was not touched");
    fs::rename(&aside, &repository).expect("it is there");
}

/// What was not recorded is told by the revert and not by the way forward.
#[test]
fn unrecorded_is_told_by_the_revert_only() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    begin_unrecorded(&mut world);
    world.finish();
    let report = world.revert("m1");
    assert!(has(&report.notes, "was not recorded"), "{:?}", report.notes);
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "something may have stayed"
    );
    let report = world.unrevert();
    assert!(
        !has(&report.notes, "was not recorded"),
        "it has nothing to do with it: {:?}",
        report.notes
    );
    assert_eq!(
        report.outcome,
        Outcome::Restored,
        "all that was moved is back"
    );
}

/// A message without a single step names the files that differ and are taken for yours.
#[test]
fn message_without_steps_names_differing_files() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.write("same", "1\n");
    world.message("m1");
    world.write("a", "2\n");
    world.write("new", "x\n");
    world.write("same", "2\n");
    world.turn("m2", |world| world.write("b", "agent\n"));
    world.write("same", "1\n");
    let plan = world
        .try_revert(&ckpt_store::RevertRequest {
            dry_run: true,
            ..to("m1")
        })
        .expect("a plan");
    let report = world.revert("m1");
    assert_eq!(plan.notes, report.notes, "a plan says the same");
    let note = report
        .notes
        .iter()
        .find(|note| note.contains("no step was recorded"))
        .unwrap_or_else(|| panic!("it is reported: {:?}", report.notes));
    assert!(
        note.contains(
            "these files have changed since and count as yours: `a`, `new`; `ckpt-hook restore "
        ),
        "neither the agent\u{2019}s nor what is as it was then: {note}"
    );
    assert_eq!(world.read("a"), "2\n", "they stay");
    assert!(!world.exists("b"), "what is the agent\u{2019}s goes");
    let again = world.unrevert();
    assert!(
        !has(&again.notes, "no step"),
        "what was kept is no concern of the way forward: {:?}",
        again.notes
    );
}

/// Message without step is told of by the revert that hides it.
#[test]
fn message_without_step_is_told_when_hidden() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("b", "1\n"));
    world.message("m2");
    world.write("a", "2\n");
    let report = world.revert("m2");
    assert!(
        has(&report.notes, "no step was recorded"),
        "{:?}",
        report.notes
    );
    let report = world.revert("m1");
    assert!(
        !has(&report.notes, "no step was recorded"),
        "it was hidden before: {:?}",
        report.notes
    );
}

/// A question after which nothing changed is nothing to tell.
#[test]
fn unchanged_question_tells_nothing() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.message("m1");
    world.turn("m2", |world| world.write("a", "2\n"));
    let report = world.revert("m1");
    assert_eq!(
        report.notes,
        Vec::<String>::new(),
        "all is said by the files"
    );
}
