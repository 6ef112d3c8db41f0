//! Every revert has a way back, exact to the byte.

use ckpt_schema::report::{DifferenceReason, FileResult, MessageState, Outcome};
use ckpt_store::RevertRequest;
use ckpt_store::model::request::OnConflict;

use testing::scenario::{World, paths_with, to_with};

#[test]
fn unrevert_gives_back_created_deleted_modes_and_links() {
    let mut world = World::new();
    world.write("modified", "1\n");
    world.write("deleted", "2\n");
    world.write("script", "#!/bin/sh\n");
    world.link("link", "modified");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("modified", "x\n");
        world.remove("deleted");
        world.chmod("script", 0o755);
        world.remove("link");
        world.link("link", "elsewhere");
        world.write("made", "y");
        world.chmod("made", 0o600);
    });
    let after = world.tree();
    world.revert("m1");
    assert_eq!(world.tree(), before, "reverted");
    let report = world.unrevert();
    assert_eq!(world.tree(), after, "and all back: {report:?}");
}

/// After reverting further and further unrevert goes to before the first revert.
#[test]
fn unrevert_goes_before_the_first_revert() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.write("b", "2\n"));
    let all = world.tree();
    world.revert("m2");
    world.revert("m1");
    world.unrevert();
    assert_eq!(world.tree(), all, "the state before the first of them");
}

#[test]
fn the_point_moves_in_every_direction() {
    let mut world = World::new();
    let mut states = vec![world.tree()];
    for number in 1..=4 {
        world.turn(&format!("m{number}"), |world| {
            world.write("same", format!("{number}\n"));
            world.write(format!("own{number}"), "x");
        });
        states.push(world.tree());
    }
    for number in [3, 1, 4, 2, 2, 1, 3] {
        world.revert(&format!("m{number}"));
        assert_eq!(world.tree(), states[number - 1], "just before m{number}");
    }
    world.unrevert();
    assert_eq!(world.tree(), states[4], "all the way");
}

/// No operation touched an empty folder: what the user put in its place meanwhile is theirs.
#[test]
fn what_replaced_an_empty_folder_survives_unrevert() {
    let replacements: [fn(&World); 3] = [
        |world| world.write("folder", "mine\n"),
        |world| world.link("folder", "kept"),
        |world| world.write("folder/mine", "mine\n"),
    ];
    for replace in replacements {
        let mut world = World::new();
        world.write("kept", "0\n");
        std::fs::create_dir(world.path("folder")).expect("it is new");
        world.turn("m1", |world| world.write("a", "1\n"));
        world.revert("m1");
        std::fs::remove_dir(world.path("folder")).expect("it is empty");
        replace(&world);
        let mut wanted = world.tree();
        let report = world.unrevert();
        wanted.extend(
            world
                .tree()
                .into_iter()
                .filter(|(path, _)| path.as_os_str() == "a"),
        );
        assert_eq!(
            world.tree(),
            wanted,
            "only what was reverted is back: {report:?}"
        );
        assert_eq!(world.read("a"), "1\n", "and all of that");
    }
}

/// An empty folder that the user put where a file was, while something was reverted, is theirs: neither the same revert again
/// nor the way forward touches it.
#[test]
fn folder_instead_of_a_file_stays() {
    let mut world = World::new();
    world.write("file", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    let m0 = world.tree();
    world.revert("m1");
    world.remove("file");
    std::fs::create_dir(world.path("file")).expect("nothing is there");
    let wanted = world.tree();
    let report = world.revert("m1");
    assert_eq!(world.tree(), wanted, "the same again: {report:?}");
    world.unrevert();
    let mut wanted = m0;
    wanted.extend(
        world
            .tree()
            .into_iter()
            .filter(|(path, _)| path.as_os_str() == "file"),
    );
    assert_eq!(world.tree(), wanted, "forward");
    assert!(world.path("file").is_dir(), "and the folder is there");
}

/// Edits of other files while reverted survive the way back.
#[test]
fn edits_of_other_files_survive_unrevert() {
    let mut world = World::new();
    world.write("notes", "old\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    world.write("notes", "edited while reverted\n");
    let stamp = world.stamp("notes");
    world.unrevert();
    assert_eq!(world.read("a"), "1\n", "the agent's is back");
    assert_eq!(
        world.read("notes"),
        "edited while reverted\n",
        "the user's edit stays"
    );
    assert_eq!(world.stamp("notes"), stamp, "and was not touched");
}

/// A new message makes the revert permanent and the operation still has it.
#[test]
fn new_message_makes_the_revert_permanent() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.write("b", "2\n"));
    let report = world.revert("m2");
    world.turn("m3", |world| world.write("c", "3\n"));
    let states: Vec<_> = world
        .log()
        .messages
        .iter()
        .map(|message| (message.agent_id.clone().expect("given"), message.state))
        .collect();
    let expected = [
        ("m3", MessageState::Live),
        ("m2", MessageState::Discarded),
        ("m1", MessageState::Live),
    ];
    assert_eq!(
        states,
        expected.map(|(id, state)| (id.to_owned(), state)),
        "newest first"
    );
    assert_eq!(
        world.unrevert().outcome,
        Outcome::Nothing,
        "there is nothing to redo any more"
    );
    world.restore(&report.operation.expect("something was done"), &["b"]);
    assert_eq!(world.read("b"), "2\n", "and still it can be had back");
}

/// What was undone for good is never undone again.
#[test]
fn permanently_undone_is_never_undone_again() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.write("a", "2\n"));
    world.revert("m2");
    world.turn("m3", |world| world.write("a", "3\n"));
    world.revert("m3");
    assert_eq!(world.read("a"), "1\n", "m2 is not in it");
    world.revert("m1");
    assert_eq!(world.read("a"), "0\n", "nor here");
}

#[test]
fn unrevert_with_nothing_reverted_says_so() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    let report = world.unrevert();
    assert_eq!(report.outcome, Outcome::Nothing, "there is nothing to do");
    assert_eq!(report.notes, ["nothing is reverted"], "in plain words");
}

/// One file alone can be reverted and later the rest.
#[test]
fn one_file_then_the_rest_is_reverted() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("b", "0\n");
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.write("b", "1\n");
    });
    let after = world.tree();
    let only_a = ckpt_store::RevertRequest {
        only: vec!["a".into()],
        ..testing::scenario::to("m1")
    };
    let report = world.try_revert(&only_a).expect("it can be reverted");
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("0\n", "1\n"),
        "only a"
    );
    assert_eq!(
        paths_with(&report, FileResult::Done),
        ["a"],
        "and only a is spoken of"
    );
    world.revert("m1");
    assert_eq!(world.tree(), before, "the rest");
    world.unrevert();
    assert_eq!(world.tree(), after, "and all of it back");
}

/// One step alone can be reverted with later steps kept.
#[test]
fn one_step_is_reverted_without_later_ones() {
    let mut world = World::new();
    world.message("m1");
    let first = world.step(|world| world.write("a", "1\n"));
    world.step(|world| world.write("b", "2\n"));
    let request = RevertRequest {
        step: first.step,
        ..RevertRequest::default()
    };
    world.try_revert(&request).expect("it can be reverted");
    assert!(!world.exists("a"), "step 1 is undone");
    assert_eq!(world.read("b"), "2\n", "step 2 stays");
    world.unrevert();
    assert_eq!(world.read("a"), "1\n", "and there is a way back");
}

#[test]
fn restore_makes_the_workspace_exactly_what_it_was() {
    let mut world = World::new();
    world.write("a", "1\n");
    let snapshot = world.snapshot();
    let then = world.tree();
    world.write("a", "2\n");
    world.write("later/b", "x\n");
    let now = world.tree();
    let report = world.restore(&snapshot, &[]);
    assert_eq!(world.tree(), then, "what was made since is gone");
    world.restore(&report.operation.expect("something was done"), &[]);
    assert_eq!(world.tree(), now, "and is in the operation");
}

/// What was kept for the user's edits can be asked for after the next message.
///
/// Invariant `work/undo-failed-change`.
#[test]
fn kept_file_can_be_asked_for_later() {
    let mut world = World::git(&[("a", "0\n"), ("b", "0\n")]);
    world.turn("m1", |world| {
        ["a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "1\n"))
    });
    world.write("a", "the user's\n");
    assert_eq!(world.revert("m1").outcome, Outcome::Partial, "it is kept");
    world.message("m2");
    let report = world.revert("m1");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["a"],
        "it is still not as it was before: {report:?}"
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("the message `")
                && note.contains("` was discarded: what was left of it goes back, too")),
        "the discarded message that was asked for is named: {report:?}"
    );
    let report = world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("it can be reverted");
    assert_eq!(
        (world.read("a").as_str(), report.outcome),
        ("0\n", Outcome::Restored),
        "{report:?}"
    );
    world.unrevert();
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("the user's\n", "0\n"),
        "with its way back"
    );
}

/// What the agent does while reverted can be reverted after the next message.
#[test]
fn agents_work_while_reverted_can_be_reverted() {
    let mut world = World::git(&[("a", "0\n")]);
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.write("a", "2\n"));
    world.revert("m2");
    world.step(|world| {
        world.write("a", "more\n");
        world.write("b", "more\n");
    });
    world.turn("m3", |world| world.write("c", "3\n"));
    let report = world.revert("m1");
    assert_eq!(
        (world.exists("b"), world.exists("c")),
        (false, false),
        "what it made without a message, too: {report:?}"
    );
    assert_eq!(
        world.read("a"),
        "0\n",
        "and what it changed of a file that had gone back: {report:?}"
    );
}

/// What a message made permanent is not shown as reverted by the next revert.
#[test]
fn permanent_revert_is_not_shown_as_new() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.write("a", "the user's\n");
    let kept = world.revert("m1");
    assert_eq!(kept.files[0].result, FileResult::Conflict, "{kept:?}");
    // Nothing changed, so both reverts begin at the same snapshot.
    world.turn("m2", |_| {});
    world.revert("m2");
    assert_eq!(
        world.status().files,
        [],
        "the conflict was of a revert that is over"
    );
}

/// Undoing a redo leaves alone what the redo found removed.
///
/// Invariant `work/undo-exact`: An undo puts back exactly what the operation changed, leaves
/// alone what that found as it should be, and keeps what was changed since.
#[test]
fn undone_redo_leaves_removed_files_alone() {
    let mut world = World::new();
    let start = world.snapshot();
    world.message("m0");
    world.write("src/a", "1\n");
    world.write("b", "1\n");
    world.turn("m1", |world| {
        world.remove_tree("src");
        world.write("b", "2\n");
    });
    world.revert("m1");
    world.restore(&start, &["src"]);
    let before = world.tree();
    assert!(!world.exists("src"), "the user removed it again");
    let redone = world.redo();
    let operation = redone.operation.expect("something was done");
    let after = world.tree();
    let undo = ckpt_store::UndoRequest {
        operation,
        dry_run: true,
        ..ckpt_store::UndoRequest::default()
    };
    let cwd = world.cwd.clone();
    let planned = world.store.undo(&cwd, &undo).expect("it can be planned");
    let token = planned.plan.expect("a dry run has a plan");
    world
        .store
        .apply(&token, ckpt_store::Force::No)
        .expect("the token says what is undone");
    assert_eq!(world.tree(), before, "only what the redo had changed");
    world.redo();
    assert_eq!(world.tree(), after, "and forward again");
}

/// A revert that kept every file stays in force when the one after it, which had it overwrite one, is taken back.
///
/// Invariant `work/undo-exact`.
#[test]
fn undone_way_out_leaves_the_revert() {
    for only in [true, false] {
        let mut world = World::new();
        world.write("a", "0\n");
        world.turn("m1", |world| world.write("a", "1\n"));
        world.write("a", "mine\n");
        world.revert("m1");
        let only = match only {
            true => vec![world.path("a")],
            false => Vec::new(),
        };
        let way = RevertRequest {
            only,
            ..to_with("m1", OnConflict::Overwrite)
        };
        let report = world.try_revert(&way).expect("it can be asked for");
        assert_eq!(world.read("a"), "0\n", "{report:#?}");
        let undo = ckpt_store::UndoRequest {
            operation: report.operation.expect("something was done"),
            ..ckpt_store::UndoRequest::default()
        };
        let cwd = world.cwd.clone();
        let undone = world.store.undo(&cwd, &undo).expect("it can be undone");
        assert_eq!(world.read("a"), "mine\n", "{undone:#?}");
        assert_eq!(undone.messages_hidden.len(), 1, "it says so");
        assert_eq!(world.status().messages_hidden, undone.messages_hidden);
    }
}

/// Undoing a revert puts back exactly what it overwrote and leaves what came since.
///
/// Invariant `work/undo-exact`.
#[test]
fn undone_revert_puts_back_overwritten_files_only() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.write("c", "0\n");
    world.turn("m1", |world| {
        world.write("a", "1\n");
        world.write("c", "1\n");
    });
    world.turn("m2", |world| world.write("b", "2\n"));
    world.revert("m2");
    world.write("a", "the user's\n");
    world.write("c", "the user's\n");
    let before = world.tree();
    let overwritten = world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("it can be reverted");
    assert_eq!(world.read("a"), "0\n", "as was asked for");
    world.undo(&overwritten.operation.expect("it was done"));
    assert_eq!(world.tree(), before, "with the user's edit");
    let again = world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("it can be reverted again");
    assert_eq!(world.read("c"), "0\n", "as was asked for");
    world.write("a", "newer\n");
    world.undo(&again.operation.expect("it was done"));
    assert_eq!(world.read("a"), "newer\n", "an edit since is never lost");
    assert_eq!(world.read("c"), "the user's\n", "the rest is as it was");
}

/// Undoing a redo takes back a part that came back with it.
#[test]
fn undone_redo_retakes_its_part() {
    let mut world = World::new();
    world.write("part", "0\n");
    for (message, file) in [("m1", "part"), ("m2", "b"), ("m3", "c")] {
        world.turn(message, |world| world.write(file, "1\n"));
    }
    let alone = RevertRequest {
        alone: true,
        ..testing::scenario::to("m1")
    };
    world.try_revert(&alone).expect("it can be undone alone");
    world.revert("m2");
    world.revert("m3");
    let before = world.tree();
    let redone = world.redo();
    let after = world.tree();
    assert_ne!(before, after, "something was done: {redone:?}");
    world.undo(&redone.operation.expect("it was done"));
    assert_eq!(world.tree(), before, "all that the redo had changed");
}

/// What another session made while a message was brought back has a reason once the message is reverted again.
#[test]
fn undo_knows_other_sessions_changes() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    let mut last = world.revert("m1").operation.expect("it was done");
    for _ in 0..2 {
        last = world.undo(&last).operation.expect("it was done");
    }
    world.turn_in("s2", "n1", |world| world.write("other", "2\n"));
    let report = world.undo(&last);
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    let differences = report.receipt.expect("compared").differences;
    let reasons: Vec<_> = differences.iter().map(|found| found.reason).collect();
    assert_eq!(reasons, [DifferenceReason::OtherSession]);
}
