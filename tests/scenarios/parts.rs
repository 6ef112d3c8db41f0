//! `restore OPERATION` as the way back of a part (`--only`, `--step`) in a session that is reverted already: no other command
//! takes just the part back.

use ckpt_schema::report::{DifferenceReason, OperationReport, Outcome};
use ckpt_store::RevertRequest;

use testing::scenario::{World, to};

/// Three messages that each write a line of `a` and of `b`, and a workspace that is back before the third.
fn reverted() -> World {
    let mut world = World::git(&[("a", "0\n"), ("b", "0\n")]);
    for number in 1..=3 {
        world.turn(&format!("m{number}"), |world| {
            ["a", "b"]
                .into_iter()
                .for_each(|path| world.write(path, format!("{number}\n")));
        });
    }
    world.revert("m3");
    assert_eq!(
        contents(&world),
        ("2\n".into(), "2\n".into()),
        "before the third"
    );
    world
}

fn contents(world: &World) -> (String, String) {
    (world.read("a"), world.read("b"))
}

fn only(world: &mut World, message: &str, paths: &[&str]) -> OperationReport {
    let request = RevertRequest {
        only: paths.iter().map(Into::into).collect(),
        ..to(message)
    };
    world.try_revert(&request).expect("the agent changed it")
}

/// Takes the part back, and says which paths of it.
fn take_back(world: &mut World, part: &OperationReport, paths: &[&str]) {
    let operation = part
        .operation
        .as_deref()
        .expect("something was done")
        .to_owned();
    let report = world.restore(&operation, paths);
    assert_eq!(report.outcome, Outcome::Restored, "all of it: {report:?}");
}

/// A part that was taken back goes forward with the rest.
///
/// Invariant `work/partial-taken-back`: A partial revert that was taken back leaves no trace.
#[test]
fn retaken_part_goes_forward_with_the_rest() {
    let mut world = reverted();
    let part = only(&mut world, "m1", &["a"]);
    assert_eq!(
        contents(&world),
        ("0\n".into(), "2\n".into()),
        "the part alone"
    );
    take_back(&mut world, &part, &[]);
    assert_eq!(
        contents(&world),
        ("2\n".into(), "2\n".into()),
        "as if nobody had asked for it"
    );
    let report = world.revert("m2");
    assert_eq!(
        (contents(&world), report.outcome),
        (("1\n".into(), "1\n".into()), Outcome::Restored),
        "{report:?}"
    );
    let report = world.redo();
    assert_eq!(
        (contents(&world), report.outcome),
        (("2\n".into(), "2\n".into()), Outcome::Restored),
        "{report:?}"
    );
    let report = world.unrevert();
    assert_eq!(
        (contents(&world), report.outcome),
        (("3\n".into(), "3\n".into()), Outcome::Restored),
        "{report:?}"
    );
}

/// A part that was taken back is not undone for good by the next message.
///
/// Invariant `work/partial-taken-back`.
#[test]
fn retaken_part_is_not_undone_for_good() {
    let mut world = reverted();
    let part = only(&mut world, "m1", &["a"]);
    take_back(&mut world, &part, &[]);
    world.turn("m4", |world| world.write("c", "4\n"));
    let report = world.revert("m1");
    assert_eq!(
        contents(&world),
        ("0\n".into(), "0\n".into()),
        "what the agent did to `a` was still there: {report:?}"
    );
    world.unrevert();
    assert_eq!(
        contents(&world),
        ("2\n".into(), "2\n".into()),
        "and comes again"
    );
}

/// Of a part some paths can be taken back.
#[test]
fn some_paths_of_a_part_are_retaken() {
    let mut world = reverted();
    let part = only(&mut world, "m1", &["a", "b"]);
    assert_eq!(contents(&world), ("0\n".into(), "0\n".into()), "both");
    take_back(&mut world, &part, &["a"]);
    assert_eq!(
        contents(&world),
        ("2\n".into(), "0\n".into()),
        "one of them"
    );
    world.turn("m4", |world| world.write("c", "4\n"));
    world.revert("m1");
    assert_eq!(
        contents(&world),
        ("0\n".into(), "0\n".into()),
        "each is as it was before the first"
    );
    world.unrevert();
    assert_eq!(contents(&world), ("2\n".into(), "0\n".into()), "and back");
}

/// A part can be asked for again after it was taken back.
#[test]
fn retaken_part_can_be_asked_for_again() {
    let mut world = reverted();
    let part = only(&mut world, "m2", &["a"]);
    take_back(&mut world, &part, &[]);
    let report = only(&mut world, "m1", &["a"]);
    assert_eq!(
        (contents(&world), report.outcome),
        (("0\n".into(), "2\n".into()), Outcome::Restored),
        "{report:?}"
    );
    let report = world.unrevert();
    assert_eq!(
        (contents(&world), report.outcome),
        (("3\n".into(), "3\n".into()), Outcome::Restored),
        "{report:?}"
    );
}

/// A step that was taken back goes forward with the rest.
#[test]
fn retaken_step_goes_forward_with_the_rest() {
    let mut world = World::git(&[("a", "0\n"), ("b", "0\n")]);
    let step = world
        .turn("m1", |world| world.write("a", "1\n"))
        .step
        .expect("a step");
    world.turn("m2", |world| world.write("b", "2\n"));
    world.revert("m2");
    let request = RevertRequest {
        step: Some(step),
        ..RevertRequest::default()
    };
    let part = world.try_revert(&request).expect("it can be undone");
    assert_eq!(
        contents(&world),
        ("0\n".into(), "0\n".into()),
        "the step alone"
    );
    take_back(&mut world, &part, &[]);
    let report = world.unrevert();
    assert_eq!(
        (contents(&world), report.outcome),
        (("1\n".into(), "2\n".into()), Outcome::Restored),
        "{report:?}"
    );
    let report = world.revert("m1");
    assert_eq!(
        (contents(&world), report.outcome),
        (("0\n".into(), "0\n".into()), Outcome::Restored),
        "{report:?}"
    );
}

/// An edit made between a part and its way back is in the operation.
#[test]
fn edit_before_a_parts_way_back_is_kept() {
    let mut world = reverted();
    let part = only(&mut world, "m1", &["a"]);
    world.write("a", "the user's\n");
    let operation = part
        .operation
        .as_deref()
        .expect("something was done")
        .to_owned();
    let back = world.restore(&operation, &["a"]);
    assert_eq!(world.read("a"), "2\n", "what was asked for");
    let back = back.operation.expect("something was done");
    world.restore(&back, &["a"]);
    assert_eq!(world.read("a"), "the user's\n", "nothing is lost");
    world.unrevert();
    assert_eq!(
        world.read("a"),
        "the user's\n",
        "and an edit is kept on the way back"
    );
}

/// What a part put back has that as its reason at every later point.
#[test]
fn part_that_holds_is_the_reason() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("d/a", "1\n"));
    world.turn("m2", |world| world.remove_tree("d"));
    world.turn("m3", |world| {
        world.write("d/a", "1\n");
        world.write("d/b", "1\n");
    });
    let part = RevertRequest {
        only: vec![world.path("d")],
        ..to("m2")
    };
    world.try_revert(&part).expect("it can be undone");
    let report = world.try_revert(&to("m3")).expect("it can be undone");
    assert_eq!(world.read("d/a"), "1\n", "its removal stays undone");
    let receipt = report.receipt.expect("it is compared");
    let reasons = receipt.differences.iter();
    let reasons: Vec<_> = reasons
        .map(|one| (&one.path.path[..], one.reason))
        .collect();
    assert_eq!(reasons, [("d/a", DifferenceReason::Operation)]);
}

/// A part that is asked for twice stays as it went back, also where the first time took the link above along.
#[test]
fn part_below_a_former_link_stays() {
    let mut world = World::new();
    world.write("folder/file", "0\n");
    world.turn("m1", |world| {
        world.remove_tree("folder");
        world.link("folder", "folder");
    });
    let report = only(&mut world, "m1", &["folder/file"]);
    assert_eq!(world.read("folder/file"), "0\n", "{report:?}");
    let report = only(&mut world, "m1", &["folder/file"]);
    assert_eq!(world.read("folder/file"), "0\n", "{report:?}");
    assert_eq!(report.outcome, Outcome::Nothing, "{report:?}");
}
