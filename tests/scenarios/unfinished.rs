//! An operation that was interrupted, or could not write a file, is finished later.

use ckpt_schema::report::{FileResult, MessageState, OperationReport, Outcome};
use ckpt_store::RevertRequest;

use testing::scenario::{World, paths_with, to};

/// As a crash leaves it that comes after the last file and before the operation is closed.
fn interrupt_the_last_operation(world: &World) {
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    connection
        .execute_batch(
            "UPDATE operations SET state = 'open', outcome = NULL, after_snapshot_id = NULL, finished_at = NULL
              WHERE seq = (SELECT max(seq) FROM operations);
             UPDATE sessions SET revert_message_id = NULL, revert_base_id = NULL;
             UPDATE messages SET state = 'live' WHERE state <> 'discarded';",
        )
        .expect("its tables");
}

/// As a crash leaves it that comes before the first file; the caller writes the files as they were.
pub fn interrupt_before_the_first_file(world: &World) {
    interrupt_the_last_operation(world);
    let path = world.base().join("store/sessions.db");
    let connection = rusqlite::Connection::open(path).expect("the session store");
    connection
        .execute(
            "UPDATE operation_files SET result = 'planned'
              WHERE result = 'done' AND operation_id = (SELECT id FROM operations ORDER BY seq DESC LIMIT 1)",
            [],
        )
        .expect("its tables");
}

/// An interrupted revert is finished before the next revert or redo looks where the point is.
#[test]
fn interrupted_revert_is_finished_before_the_next() {
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

/// A dry run leaves an interrupted revert alone and says so.
#[test]
fn dry_run_leaves_an_interrupted_revert_alone() {
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

/// A message after an interrupted revert makes it permanent.
#[test]
fn message_makes_an_interrupted_revert_permanent() {
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

/// A step after an interrupted revert belongs to the message that is in effect then.
#[test]
fn step_after_an_interrupted_revert_has_its_message() {
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

/// What could not be put back is not undone for good by the next message.
///
/// Invariant `work/undo-failed-change`: A change that could not be undone is named, and stays
/// the agent's until it is undone.
#[test]
fn failed_undoing_is_not_permanent() {
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

/// An operation of which files failed stays open and the next command finishes it.
///
/// Invariant `work/undo-failed-change`.
#[test]
fn failed_operation_is_finished_by_the_next_command() {
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

/// An edit of what an unfinished operation did put back is one made while reverted.
///
/// Invariant `work/undo-failed-change`.
#[test]
fn edit_of_an_unfinished_operations_file_is_kept() {
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

/// What an interrupted operation did is nobody's change: no look had seen it when the next command finishes it.
///
/// Invariant `truth/own-changes`: What an operation did to files counts as nobody's change, whichever command finishes it.
#[test]
fn interrupted_operations_changes_are_nobodys() {
    let mut world = World::git(&[("a", "0\n")]);
    world.turn("m1", |world| world.write("a", "1\n"));
    let after = world.tree();
    world.revert("m1");
    interrupt_the_last_operation(&world);
    let path = world.base().join("store/sessions.db");
    rusqlite::Connection::open(&path)
        .and_then(|connection| {
            connection.execute_batch(
                "PRAGMA foreign_keys = OFF;
                 DELETE FROM snapshots WHERE id = (SELECT max(id) FROM snapshots);
                 UPDATE workspaces SET last_snapshot_id = (SELECT max(id) FROM snapshots);",
            )
        })
        .expect("its tables");
    world.capture();
    let sql = "SELECT attribution FROM changes WHERE attribution <> 'agent'";
    assert_eq!(testing::rows::texts(&path, sql), [""; 0]);
    world.unrevert();
    assert_eq!(world.tree(), after);
}

/// What cannot be written the second time either is named and keeps nothing from being done.
///
/// Invariant `work/undo-failed-change`.
#[test]
fn second_failed_write_is_named_and_left() {
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

/// What goes is known to be good when an operation is finished later too.
///
/// Invariant `work/way-back-first`.
#[test]
fn late_finish_checks_its_way_back() {
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

/// A revert that could put back none of these files, and whose way back is gone since: the packs of its step.
fn stuck(pinned: &[&str]) -> Option<World> {
    let mut world = World::git(&[("d/a", "0\n"), ("b", "0\n")]);
    world.message("m1");
    let earlier = packs(&world);
    world.step(|world| {
        ["d/a", "b"]
            .into_iter()
            .for_each(|path| world.write(path, "the agent's\n"))
    });
    if !pinned.iter().all(|path| pin(&world, path)) {
        return None;
    }
    let report = world.revert("m1");
    pinned.iter().for_each(|path| unpin(&world, path));
    assert_eq!(report.outcome, Outcome::Partial, "it is not over");
    for pack in packs(&world) {
        if !earlier.contains(&pack) {
            std::fs::remove_file(&pack).expect("ours");
            std::fs::remove_file(pack.with_extension("idx")).expect("ours");
        }
    }
    world.reopen(ckpt_store::Settings::default());
    Some(world)
}

/// Trees of the way back that were lost are stored anew before an operation is finished.
///
/// Invariant `work/way-back-first`.
#[test]
fn late_finish_stores_lost_trees_anew() {
    let Some(mut world) = stuck(&["d/a", "b"]) else {
        return;
    };
    let new = world.tree();
    world.capture();
    assert_eq!(world.read("d/a"), "0\n", "it is finished");
    world.reopen(ckpt_store::Settings::default());
    world.unrevert();
    assert_eq!(world.tree(), new, "and there is a way back");
}

/// What has no way back any more is left alone and named when an operation is finished.
///
/// Invariant `work/way-back-first`.
#[test]
fn file_without_way_back_is_left_alone() {
    let Some(mut world) = stuck(&["d/a"]) else {
        return;
    };
    let report = world.capture();
    assert_eq!(
        world.read("d/a"),
        "the agent's\n",
        "the tree that names it cannot be made again: `b` is another one by now"
    );
    let told = report.notes.join("\n");
    assert!(
        told.contains("`d/a`") && told.contains("leads back"),
        "{told}"
    );
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

/// An undo that is finished later is compared with the same state as one that was not interrupted.
#[test]
fn interrupted_undo_is_compared_as_undo() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.write("b", "2\n"));
    world.revert("m2");
    let further = world.revert("m1").operation.expect("files moved");
    world.write("mine", "1\n");
    let undone = world.undo(&further);
    let told = undone.receipt.expect("it is compared");
    interrupt_before_the_first_file(&world);
    world.remove("a");
    let finished = world.capture().finished.pop().expect("it was open");
    assert_eq!(finished.receipt, Some(told));
}
