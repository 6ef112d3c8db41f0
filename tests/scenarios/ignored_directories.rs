//! Directories of which no snapshot holds anything, because all that is in them is ignored: they are nobody's change, and
//! they stay.

use ckpt_schema::report::{DifferenceReason, Outcome};
use ckpt_store::RestoreRequest;

use testing::clock::await_tick;
use testing::scenario::{World, explained, set_clock_from_files};
use testing::tree::Node;

/// A workspace in which `*.log` is ignored, and `logs` holds nothing else.
fn world() -> World {
    let world = World::git(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    world.write("logs/a.log", "the user's");
    world
}

/// Invariant `truth/empty-directories`.
#[test]
fn one_that_the_agent_emptied_stays() {
    let mut world = world();
    let report = world.turn("m1", |world| {
        world.remove("logs/a.log");
        world.write("a", "agent\n");
    });
    assert_eq!(report.changes, Some(1), "the file that is captured");
    world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "it is back");
    assert!(
        world.exists("logs"),
        "it was the user's, and nobody made it"
    );
    world.unrevert();
    assert!(world.exists("logs"), "on the way back, too");
}

#[test]
fn one_that_the_agent_used_and_emptied_stays() {
    let mut world = world();
    world.turn("m1", |world| world.write("logs/report.txt", "agent\n"));
    world.turn("m2", |world| world.remove("logs/a.log"));
    world.revert("m1");
    assert!(!world.exists("logs/report.txt"), "the agent's file goes");
    assert!(
        world.exists("logs"),
        "the user's directory does not, though nothing is left in it"
    );
}

/// One that the agent emptied and then removed comes back.
#[test]
fn emptied_then_removed_comes_back() {
    let mut world = world();
    world.turn("m1", |world| world.remove("logs/a.log"));
    world.turn("m2", |world| world.remove_directory("logs"));
    world.revert("m2");
    assert!(
        matches!(
            world.tree().get(std::path::Path::new("logs")),
            Some(Node::Directory(_))
        ),
        "empty, as it was"
    );
    world.unrevert();
    assert!(!world.exists("logs"), "and it is gone again");
}

/// One that the agent removed as a whole is not made up.
#[test]
fn removed_as_a_whole_is_not_made_up() {
    let mut world = world();
    let report = world.turn("m1", |world| {
        world.remove("logs/a.log");
        world.remove_directory("logs");
    });
    assert_eq!(report.changes, Some(0), "nothing of it was captured");
    let report = world.revert("m1");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "nothing of it can come back: {report:?}"
    );
}

/// One that a build makes and removes is no change: it stays, which makes the outcome partial.
///
/// Invariant `truth/empty-directories`.
#[test]
fn folder_of_a_build_is_no_change() {
    let mut world = world();
    let made = world.turn("m1", |world| {
        world.write("src/cache/x.log", "build");
        world.write("src/code", "agent\n");
    });
    assert_eq!(made.changes, Some(1), "the code alone");
    let report = world.revert("m1");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "it came since: {report:?}"
    );
    assert_eq!(report.files.len(), 1, "it is no change: {report:?}");
    assert!(
        world.exists("src/cache/x.log") && !world.exists("src/code"),
        "what is ignored stays"
    );
    let removed = world.turn("m2", |world| {
        world.remove("src/cache/x.log");
        world.remove_directory("src/cache");
    });
    assert_eq!(removed.changes, Some(0), "nor is it when it goes");
    world.revert("m2");
    assert!(
        !world.exists("src/cache"),
        "what nobody captured does not come back"
    );
}

/// One that the agent made and emptied in one step goes.
#[test]
fn made_and_emptied_in_one_step_goes() {
    let mut world = world();
    let before = world.tree();
    world.turn("m1", |world| {
        world.write("new/x.log", "agent");
        world.remove("new/x.log");
    });
    world.revert("m1");
    assert_eq!(world.tree(), before, "it was not there, and it is empty");
}

/// One that the user makes or empties meanwhile stays.
#[test]
fn made_or_emptied_by_the_user_stays() {
    let mut world = world();
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.remove("logs/a.log");
    world.write("mine/b.log", "the user's");
    world.turn("m2", |world| world.remove("mine/b.log"));
    let report = world.revert("m1");
    assert_eq!(
        report.files.len(),
        1,
        "`a` alone is the agent's: {report:?}"
    );
    assert!(
        world.exists("logs") && world.exists("mine"),
        "both are the user's"
    );
}

/// An empty one that comes into view with its rule gone stays.
///
/// Invariant `truth/empty-directories`.
#[test]
fn empty_and_no_longer_ignored_stays() {
    let mut world = World::new();
    world.write(".gitignore", "out/\n");
    world.make_directory("out");
    let report = world.turn("m1", |world| world.remove(".gitignore"));
    assert_eq!(report.changes, Some(1), "the ignore file alone");
    let report = world.revert("m1");
    assert!(world.exists("out"), "it is the user's: {report:#?}");
    assert_eq!(report.files.len(), 1, "nothing else is spoken of");
}

/// An empty one that a restore brings into view is no change of the user's.
#[test]
fn restored_into_view_is_no_users_change() {
    let mut world = World::new();
    world.write(".gitignore", "\n");
    world.turn("m1", |world| {
        world.write(".gitignore", "out/\n");
        world.make_directory("out");
    });
    let cwd = world.cwd.clone();
    let request = |dry_run| RestoreRequest {
        id: "m1".to_owned(),
        dry_run,
        ..RestoreRequest::default()
    };
    let planned = world.store.restore(&cwd, &request(true)).map(explained);
    let done = world.store.restore(&cwd, &request(false)).map(explained);
    let (planned, done) = (planned.expect("a plan"), done.expect("it goes"));
    let receipt = done.receipt.expect("there is something to compare with");
    assert_eq!(planned.receipt.as_ref(), Some(&receipt), "as foreseen");
    let reasons: Vec<_> = receipt.differences.iter().map(|one| one.reason).collect();
    assert_eq!(
        reasons,
        [DifferenceReason::Ignored],
        "nobody changed it since: {receipt:?}"
    );
}

/// Within one tick of files' times, nobody knows whether it was before the step or the look.
fn make_build(world: &World) {
    await_tick();
    world.make_directory("build");
    await_tick();
}

/// An empty one that only the agent made goes and comes back.
///
/// Invariant `truth/empty-directories`.
#[test]
fn agents_empty_one_goes_and_comes() {
    let mut world = World::git(&[(".gitignore", "/build/\n/mine/\n/later/\n"), ("a", "1\n")]);
    set_clock_from_files(0);
    world.make_directory("mine");
    await_tick();
    world.turn("m1", |world| world.write("a", "2\n"));
    await_tick();
    world.make_directory("later");
    await_tick();
    world.turn("m2", make_build);
    let after = world.tree();
    let report = world.revert("m1");
    assert!(!world.exists("build"), "nothing is lost: {report:#?}");
    assert!(
        world.exists("mine") && world.exists("later"),
        "these are the user's: {report:#?}"
    );
    assert_eq!(report.outcome, Outcome::Restored);
    let notes = &report.notes;
    assert!(
        !notes.iter().any(|note| note.contains("build")),
        "{notes:?}"
    );
    world.unrevert();
    assert_eq!(world.tree(), after, "with its way back");
    world.revert("m1");
    assert!(!world.exists("build"), "and once more");
    world.unrevert();
    assert_eq!(world.tree(), after);
}

/// An empty one that only the agent made stays away while a revert goes further back.
#[test]
fn agents_empty_one_stays_away_further_back() {
    let mut world = World::git(&[(".gitignore", "/build/\n"), ("a", "1\n")]);
    set_clock_from_files(0);
    world.turn("m1", |world| world.write("a", "2\n"));
    world.turn("m2", make_build);
    let after = world.tree();
    world.revert("m2");
    assert!(!world.exists("build"));
    world.revert("m1");
    assert!(!world.exists("build"), "it is not made up");
    world.unrevert();
    assert_eq!(world.tree(), after, "and the way back is one");
}
