//! After an operation, every path that is not as it was then has a reason.

use ckpt_schema::report::{DifferenceReason, OperationReport, Outcome};
use ckpt_store::{RestoreRequest, RevertRequest};

use testing::scenario::{World, to};

fn differences(report: &OperationReport) -> Vec<(&str, DifferenceReason)> {
    let receipt = report
        .receipt
        .as_ref()
        .expect("there is a snapshot of then");
    let differences = receipt.differences.iter();
    differences
        .map(|difference| (difference.path.path.as_str(), difference.reason))
        .collect()
}

/// A workspace that is as it was then has an empty receipt.
#[test]
fn unchanged_workspace_has_an_empty_receipt() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("new/b", "b\n");
    });
    assert_eq!(differences(&world.revert("m1")), [], "nothing differs");
    assert_eq!(differences(&world.unrevert()), [], "nor on the way back");
}

/// What differs from then is named with whose it is.
#[test]
fn difference_is_named_with_its_owner() {
    let mut world = World::new();
    world.write("mine", "1\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("mine", "2\n");
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.write("theirs", "s2\n");
    world.finish_in("s2");
    world.write("yours", "new\n");
    let report = world.revert("m1");
    assert_eq!(
        differences(&report),
        [
            ("mine", DifferenceReason::Yours),
            ("theirs", DifferenceReason::OtherSession),
            ("yours", DifferenceReason::Yours),
        ],
        "each path once, with its reason"
    );
    assert_eq!(
        report.outcome,
        Outcome::Restored,
        "what is not the agent's was not asked to go"
    );
}

/// A dry run has the receipt that the revert will have.
#[test]
fn dry_run_has_the_reverts_receipt() {
    let mut world = World::new();
    world.write("both", "1\n2\n3\n4\n5\n");
    world.turn("m1", |world| {
        world.write("both", "agent\n2\n3\n4\n5\n");
        world.write("out/made", "agent\n");
    });
    world.write("both", "agent\n2\n3\n4\nmine\n");
    world.write("out/mine", "mine\n");
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let planned = world.try_revert(&request).expect("it can be planned");
    let done = world.revert("m1");
    assert_eq!(
        planned.receipt, done.receipt,
        "what is told is what happens"
    );
    assert_eq!(
        differences(&done),
        [
            ("both", DifferenceReason::Yours),
            ("out/mine", DifferenceReason::Yours)
        ],
        "the user's lines and the user's file"
    );
}

/// What an ignore rule hid and shows again is told as such.
#[test]
fn path_hidden_and_shown_again_is_ignored() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write(".gitignore", "*.log\n"));
    world.write("x.log", "not captured\n");
    let report = world.revert("m1");
    assert_eq!(
        differences(&report),
        [("x.log", DifferenceReason::Ignored)],
        "it came into view with the rule that went"
    );
}

/// What an earlier restore left is told as such.
#[test]
fn path_left_by_a_restore_is_operation() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.write("b", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    world.turn("m2", |world| world.write("b", "2\n"));
    world.restore("m1", &["a"]);
    let report = world.revert("m2");
    assert_eq!(
        differences(&report),
        [("a", DifferenceReason::Operation)],
        "it was changed by nobody but the restore"
    );
}

/// What an operation put beside a file and could not remove is no file of the user's.
#[test]
fn own_temporary_file_is_not_called_the_users() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.turn("m1", |world| world.write("a", "2\n"));
    let own = format!("{}0123456789abcdef-0123456789abcdef", ckpt_store::TEMPORARY);
    world.write(&own, "1\n");
    let report = world.revert("m1");
    let expected = [(&own[..], DifferenceReason::Operation)];
    assert_eq!(differences(&report), expected);
}

/// One step alone has nothing to be compared with.
#[test]
fn single_step_has_nothing_to_compare() {
    let mut world = World::new();
    world.write("a", "1\n");
    let turn = world.turn("m1", |world| world.write("a", "2\n"));
    let request = RevertRequest {
        step: turn.step,
        ..RevertRequest::default()
    };
    let report = world.try_revert(&request).expect("the step is known");
    assert_eq!(report.receipt, None, "the workspace never was so");
}

/// What an undone step had to keep goes with the later step that held it.
#[test]
fn kept_work_goes_with_its_later_step() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "0\n"));
    let made = world.turn("m2", |world| {
        world.write("b", "1\n");
        world.write("a", "1\n");
    });
    world.turn("m3", |world| world.write("b", "2\n"));
    let report = world
        .try_revert(&RevertRequest {
            step: made.step,
            ..RevertRequest::default()
        })
        .expect("the step is known");
    assert_eq!(
        world.read("b"),
        "2\n",
        "a later step edited it: {report:#?}"
    );
    let report = world.revert("m3");
    assert!(!world.exists("b"), "both steps are undone: {report:#?}");
    assert_eq!(
        differences(&report),
        [
            ("a", DifferenceReason::Operation),
            ("b", DifferenceReason::Operation),
        ],
        "before m3 both were as the step, undone since, had left them"
    );
    assert_eq!(report.outcome, Outcome::Restored, "nothing stays");
}

/// What is reverted further back already is told as such.
#[test]
fn path_reverted_further_back_is_operation() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.write("a", "2\n"));
    world.revert("m1");
    let report = world
        .try_revert(&RevertRequest {
            only: vec!["a".into()],
            ..to("m2")
        })
        .expect("the message is known");
    assert_eq!(world.read("a"), "0\n", "m1 stays undone: {report:#?}");
    assert_eq!(
        differences(&report),
        [("a", DifferenceReason::Operation)],
        "before m2 it was as m1 had left it"
    );
    assert_eq!(report.outcome, Outcome::Nothing, "there is nothing to do");
}

/// What a revert hides again by ignore rules is named as in its plan.
///
/// Invariant `truth/dry-run`.
#[test]
fn path_hidden_by_a_revert_is_planned() {
    let mut world = World::new();
    world.write(".gitignore", "build/\n");
    world.write("build/old", "of the user\n");
    world.turn("m1", |world| {
        world.write(".gitignore", "");
        world.write("build/new", "of the agent\n");
    });
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let planned = world.try_revert(&request).expect("it can be planned");
    let report = world.revert("m1");
    let hidden = [
        ("build/new", DifferenceReason::Ignored),
        ("build/old", DifferenceReason::Ignored),
    ];
    assert_eq!(differences(&planned), hidden);
    assert_eq!(
        differences(&report),
        hidden,
        "the rules are back: {report:#?}"
    );
    assert_eq!(world.read("build/old"), "of the user\n");
    assert_eq!(differences(&world.unrevert()), [], "the state before");
}

/// Asks what a revert will do, does it, and holds the two receipts against each other. Returns what differs.
fn foreseen(world: &mut World, message: &str) -> Vec<(String, DifferenceReason)> {
    let request = RevertRequest {
        dry_run: true,
        ..to(message)
    };
    let planned = world.try_revert(&request).expect("it can be planned");
    let done = world.revert(message);
    assert_eq!(
        planned.receipt, done.receipt,
        "what is told is what happens: {done:#?}"
    );
    let owned = |(path, reason): &(&str, DifferenceReason)| ((*path).to_owned(), *reason);
    differences(&done).iter().map(owned).collect()
}

/// A dry run that takes an ignore rule away knows what comes into view.
#[test]
fn dry_run_knows_what_comes_into_view() {
    for is_git in [false, true] {
        let mut world = if is_git {
            World::git(&[("a", "1\n")])
        } else {
            World::new()
        };
        world.write("out/same.log", "as then\n");
        world.turn("m1", |world| {
            world.write(".gitignore", "*.log\n");
            world.write("out/made.log", "while hidden\n");
        });
        world.write("out/edited.log", "since\n");
        world.write("out/below/edited.log", "since\n");
        let ignored = |path: &str| (path.to_owned(), DifferenceReason::Ignored);
        assert_eq!(
            foreseen(&mut world, "m1"),
            [
                ignored("out/below/edited.log"),
                ignored("out/edited.log"),
                ignored("out/made.log"),
            ],
            "what is as it was then is not told, and what nobody captured is"
        );
        assert_eq!(world.read("out/same.log"), "as then\n");
    }
}

/// A dry run that puts an ignore rule back knows what goes out of view.
#[test]
fn dry_run_knows_what_goes_out_of_view() {
    let mut world = World::new();
    world.write("d/x.log", "mine\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("d/.gitignore", "*.log\n");
    world.turn("m2", |world| world.remove("d/.gitignore"));
    assert_eq!(
        foreseen(&mut world, "m1"),
        [
            ("d/.gitignore".to_owned(), DifferenceReason::Yours),
            ("d/x.log".to_owned(), DifferenceReason::Ignored),
        ],
        "the user's rule is back, and hides what it hid"
    );
    assert_eq!(world.read("d/x.log"), "mine\n");
}

/// A folder that a plan fills is not told to be empty.
#[test]
fn folder_filled_by_a_plan_is_not_empty() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("d/mine", "mine\n");
    world.turn("m2", |world| world.remove("d/mine"));
    assert_eq!(
        foreseen(&mut world, "m1"),
        [("d/mine".to_owned(), DifferenceReason::Yours)],
        "the folder comes with its file"
    );
}

/// What a dry run foresees is not taken for what is there.
///
/// Invariant `truth/dry-run`.
#[test]
fn foreseen_path_is_not_taken_for_present() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write("x.log", "mine\n");
    world.turn("m1", |world| world.write(".gitignore", "*.log\n"));
    world.write("y.log", "since\n");
    let before = world.capture();
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    world.try_revert(&request).expect("it can be planned");
    let after = world.capture();
    assert_eq!(before.snapshot, after.snapshot, "the rule is still there");
    let report = world.turn("m2", |_| {});
    assert_eq!(report.changes, Some(0), "and nothing came into view");
}

/// What a step removed itself and is reverted further back is told as such.
#[test]
fn steps_own_removal_further_back_is_operation() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("d/a", "agent\n"));
    world.turn("m2", |world| world.write("b", "agent\n"));
    world.turn("m3", |world| world.remove_tree("d"));
    world.revert("m1");
    let request = RevertRequest {
        only: vec![world.path("d")],
        ..to("m2")
    };
    let report = world.try_revert(&request).expect("it can be reverted");
    assert_eq!(
        differences(&report),
        [("d/a", DifferenceReason::Operation)],
        "the first revert went back to before it was made, and had nothing to do for that"
    );
    assert_ne!(report.outcome, Outcome::Partial);
}

/// What a restore removed before is told as such by every revert after it.
#[test]
fn restores_removal_is_in_every_later_receipt() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.turn("m2", |world| world.write("d/a", "agent\n"));
    world.turn("m3", |world| world.write("d/b", "agent\n"));
    let cwd = world.cwd.clone();
    let request = RestoreRequest {
        id: "m1".to_owned(),
        ..RestoreRequest::default()
    };
    world.store.restore(&cwd, &request).expect("it goes");
    let missing = [
        ("a", DifferenceReason::Operation),
        ("d/a", DifferenceReason::Operation),
    ];
    assert_eq!(differences(&world.revert("m3")), missing);
    let request = RevertRequest {
        only: vec![world.path("d")],
        ..to("m3")
    };
    let report = world.try_revert(&request).expect("it can be reverted");
    assert_eq!(differences(&report), [("d/a", DifferenceReason::Operation)]);
}

/// A revert that is asked for twice gives the same reasons both times, also for what an earlier revert of a part left.
#[test]
fn second_time_gives_the_same_reasons() {
    let mut world = World::new();
    world.write("a", "1\n");
    let step = world.turn("m1", |world| {
        world.write("a", "2\n");
        world.write("made", "1\n");
    });
    world.turn("m2", |world| {
        std::fs::rename(world.path("made"), world.path("moved")).expect("it is there")
    });
    world
        .try_revert(&RevertRequest {
            step: step.step,
            ..to("m1")
        })
        .expect("the step is recorded");
    let first = world.revert("m2");
    let second = world.revert("m2");
    assert_eq!(differences(&second), differences(&first), "{first:#?}");
    assert!(!differences(&first).is_empty(), "the part stays undone");
}
