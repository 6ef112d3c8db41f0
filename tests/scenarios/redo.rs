//! Every revert has a way back, exact to the byte.

use ckpt_schema::report::{FileResult, MessageState, OperationReport, Outcome};
use ckpt_store::RevertRequest;
use ckpt_store::model::request::OnConflict;

use testing::scenario::{World, paths_with, to, to_with};

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

#[test]
fn after_reverting_further_and_further_unrevert_goes_to_before_the_first_revert() {
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

#[test]
fn edits_of_other_files_while_reverted_survive_the_way_back() {
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

#[test]
fn a_new_message_makes_the_revert_permanent_and_the_operation_still_has_it() {
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

#[test]
fn what_was_undone_for_good_is_never_undone_again() {
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

#[test]
fn one_file_alone_can_be_reverted_and_later_the_rest() {
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

#[test]
fn one_step_alone_can_be_reverted_with_later_steps_kept() {
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

/// As a crash leaves it that comes after the last file and before the operation is closed.
fn interrupt_the_last_operation(world: &World) {
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    connection
        .execute_batch(
            "UPDATE operations SET state = 'open', outcome = NULL, after_snapshot_id = NULL, finished_at = NULL
              WHERE seq = (SELECT max(seq) FROM operations);
             UPDATE sessions SET revert_message_id = NULL, revert_base_id = NULL;
             UPDATE messages SET state = 'live';",
        )
        .expect("its tables");
}

#[test]
fn an_interrupted_revert_is_finished_before_the_next_revert_or_redo_looks_where_the_point_is() {
    let unrevert = |world: &mut World| world.unrevert();
    let revert = |world: &mut World| world.revert("m1");
    for next in [&unrevert as &dyn Fn(&mut World) -> OperationReport, &revert] {
        let mut world = World::new();
        world.turn("m1", |world| world.write("a", "1\n"));
        let after = world.tree();
        world.revert("m1");
        interrupt_the_last_operation(&world);
        let report = next(&mut world);
        assert!(
            report
                .notes
                .iter()
                .any(|note| note.contains("not done yet")),
            "it says so: {report:?}"
        );
        world.unrevert();
        assert_eq!(
            world.tree(),
            after,
            "the way back of the interrupted one is not forgotten"
        );
    }
}

#[test]
fn a_dry_run_leaves_an_interrupted_revert_alone_and_says_so() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    interrupt_the_last_operation(&world);
    let plan = world
        .try_revert(&RevertRequest {
            dry_run: true,
            ..to("m1")
        })
        .expect("a plan");
    assert!(
        plan.notes
            .iter()
            .any(|note| note.contains("is finished first")),
        "it is named: {plan:?}"
    );
    let report = world.unrevert();
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("finished the revert")),
        "it was still open: {report:?}"
    );
}

#[test]
fn a_message_after_an_interrupted_revert_makes_it_permanent() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    interrupt_the_last_operation(&world);
    world.message("m2");
    let states: Vec<MessageState> = world
        .log()
        .messages
        .iter()
        .map(|message| message.state)
        .collect();
    assert_eq!(
        states,
        [MessageState::Live, MessageState::Discarded],
        "newest first: what was undone stays undone"
    );
    assert_eq!(
        world.unrevert().outcome,
        Outcome::Nothing,
        "there is no way forward any more"
    );
}

#[test]
fn a_step_after_an_interrupted_revert_belongs_to_the_message_that_is_in_effect_then() {
    let told = |interrupt: fn(&World)| {
        let mut world = World::new();
        world.turn("m1", |world| world.write("a", "1\n"));
        world.turn("m2", |world| world.write("a", "2\n"));
        world.revert("m2");
        interrupt(&world);
        world.step(|world| world.write("b", "1\n"));
        assert_eq!(
            world.read("a"),
            "1\n",
            "the revert is done when the step begins"
        );
        let messages = world.log().messages.into_iter();
        messages
            .map(|message| {
                (
                    message.agent_id,
                    message.state,
                    message.steps,
                    message.files,
                )
            })
            .collect::<Vec<_>>()
    };
    let in_peace = told(|_| {});
    assert_eq!(
        told(interrupt_the_last_operation),
        in_peace,
        "nobody can tell that it was interrupted"
    );
}

/// Makes a file one that nobody can replace, which is found only when it is tried. Returns whether that works here.
fn pin(world: &World, path: &str) -> bool {
    let works = chattr("+i", world, path);
    if !works {
        testing::skip::skip("`chattr +i` does not work here");
    }
    works
}

fn unpin(world: &World, path: &str) {
    assert!(chattr("-i", world, path), "what was made can be taken back");
}

fn chattr(flag: &str, world: &World, path: &str) -> bool {
    let output = std::process::Command::new("chattr")
        .arg(flag)
        .arg(world.path(path))
        .output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn what_could_not_be_put_back_is_not_undone_for_good_by_the_next_message() {
    let mut world = World::git(&[("d/a", "0\n"), ("b", "0\n")]);
    world.turn("m1", |world| {
        ["d/a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "1\n"))
    });
    if !pin(&world, "d/a") {
        return;
    }
    let report = world.revert("m1");
    assert_eq!(
        paths_with(&report, FileResult::Failed),
        ["d/a"],
        "one of the two: {report:?}"
    );
    world.turn("m2", |world| world.write("c", "2\n"));
    unpin(&world, "d/a");
    let before = world.tree();
    let report = world.revert("m1");
    assert_eq!(
        paths_with(&report, FileResult::Done),
        ["c", "d/a"],
        "what was left, and what came since: {report:?}"
    );
    assert_eq!(
        (world.read("d/a").as_str(), world.exists("c")),
        ("0\n", false),
        "all of it"
    );
    world.unrevert();
    assert_eq!(world.tree(), before, "and back");
    world.revert("m1");
    world.turn("m3", |world| world.write("d/a", "1\n"));
    let report = world.revert("m3");
    assert_eq!(
        world.read("d/a"),
        "0\n",
        "the new change, and not the old one once more: {report:?}"
    );
    assert_eq!(world.read("b"), "0\n", "what was undone stays so");
}

#[test]
fn an_operation_of_which_files_failed_stays_open_and_the_next_command_finishes_it() {
    let mut world = World::git(&[("d/a", "0\n"), ("b", "0\n")]);
    let old = world.tree();
    world.turn("m1", |world| {
        ["d/a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "1\n"))
    });
    let new = world.tree();
    if !pin(&world, "d/a") {
        return;
    }
    let report = world.revert("m1");
    let status = world.status();
    unpin(&world, "d/a");
    assert_eq!(
        (report.outcome, paths_with(&report, FileResult::Failed)),
        (Outcome::Partial, vec!["d/a"])
    );
    assert_eq!(
        (status.interrupted.len(), &status.revert_point),
        (1, &None),
        "it is not over: {status:?}"
    );
    let notes = world.capture().notes;
    assert!(
        notes[0].starts_with("finished the revert") && !notes[0].contains("could not"),
        "which is said: {notes:?}"
    );
    assert_eq!(
        world.tree(),
        old,
        "all of it, by the command that came next"
    );
    assert!(
        world.status().revert_point.is_some(),
        "and the point is where it was to go"
    );
    world.unrevert();
    assert_eq!(world.tree(), new, "with its way back");
}

#[test]
fn an_edit_of_what_an_unfinished_operation_did_put_back_is_one_made_while_reverted() {
    let mut world = World::git(&[("d/a", "0\n"), ("b", "0\n1\n2\n3\n4\n")]);
    world.turn("m1", |world| {
        world.write("d/a", "agent\n");
        world.write("b", "agent\n1\n2\n3\n4\n");
    });
    if !pin(&world, "d/a") {
        return;
    }
    world.revert("m1");
    unpin(&world, "d/a");
    world.write("b", "0\n1\n2\n3\nuser\n");
    world.capture();
    assert_eq!(
        (world.read("d/a").as_str(), world.read("b").as_str()),
        ("0\n", "0\n1\n2\n3\nuser\n")
    );
    let report = world.unrevert();
    assert_eq!(
        world.read("b"),
        "agent\n1\n2\n3\nuser\n",
        "both edits: {report:?}"
    );
    assert_eq!(world.read("d/a"), "agent\n");
}

#[test]
fn what_cannot_be_written_the_second_time_either_is_named_and_keeps_nothing_from_being_done() {
    let mut world = World::git(&[("d/a", "0\n"), ("b", "0\n")]);
    world.turn("m1", |world| {
        ["d/a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "1\n"))
    });
    if !pin(&world, "d/a") {
        return;
    }
    world.revert("m1");
    let notes = world.capture().notes;
    let report = world.unrevert();
    unpin(&world, "d/a");
    assert!(
        notes[0].contains("1 of them could not be written, as `d/a`"),
        "it is said: {notes:?}"
    );
    assert!(world.status().interrupted.is_empty(), "it is over");
    assert_eq!(
        (world.read("d/a").as_str(), world.read("b").as_str()),
        ("1\n", "1\n"),
        "and back: {report:?}"
    );
}

#[test]
fn what_was_kept_for_the_users_edits_can_be_asked_for_after_the_next_message() {
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

#[test]
fn what_the_agent_does_while_reverted_can_be_reverted_after_the_next_message() {
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

#[test]
fn what_a_message_made_permanent_is_not_shown_as_reverted_by_the_next_revert() {
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

#[test]
fn what_goes_is_known_to_be_good_when_an_operation_is_finished_later_too() {
    let mut world = World::git(&[("d/a", "0\n"), ("b", "0\n")]);
    let old = world.tree();
    world.message("m1");
    let earlier = packs(&world);
    world.step(|world| {
        ["d/a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "the agent's\n"))
    });
    let new = world.tree();
    if !pin(&world, "d/a") {
        return;
    }
    let report = world.revert("m1");
    unpin(&world, "d/a");
    assert_eq!(report.outcome, Outcome::Partial, "it is not over");
    // The blob is the first entry of the step's pack: behind the header of the pack, and its own.
    for pack in packs(&world) {
        if earlier.contains(&pack) {
            continue;
        }
        let mut bytes = std::fs::read(&pack).expect("ours");
        bytes[15] ^= 0x55;
        std::fs::remove_file(&pack).expect("ours");
        std::fs::write(&pack, bytes).expect("ours");
    }
    world.reopen(ckpt_store::Settings::default());
    world.capture();
    assert_eq!(world.tree(), old, "it is finished");
    world.reopen(ckpt_store::Settings::default());
    world.unrevert();
    assert_eq!(
        world.read("d/a"),
        "the agent's\n",
        "what was replaced later was stored anew before"
    );
    assert_eq!(world.tree(), new, "and so there is a way back");
}

/// The packs of the only workspace.
fn packs(world: &World) -> Vec<std::path::PathBuf> {
    let workspaces = std::fs::read_dir(world.base().join("store/snapshots"));
    let workspace = workspaces.expect("there").next().expect("one workspace");
    let folder = workspace.expect("readable").path();
    let entries = std::fs::read_dir(folder.join("repository.git/objects/pack"));
    let paths = entries
        .expect("there")
        .map(|entry| entry.expect("readable").path());
    paths
        .filter(|path| path.extension().is_some_and(|name| name == "pack"))
        .collect()
}
