//! What an earlier revert decided binds nobody who asks again: what is said on the command line holds, and what is there
//! now is asked anew.

use ckpt_schema::report::{FileResult, Outcome};
use ckpt_store::model::request::OnConflict;
use ckpt_store::{ErrorKind, RedoRequest, RevertRequest, Unclear};

use testing::scenario::{World, paths_with, to, to_with};

fn forward(all: bool, on_conflict: Option<OnConflict>) -> RedoRequest {
    RedoRequest {
        all,
        on_conflict,
        ..RedoRequest::default()
    }
}

/// Going forward merges whatever the revert was told about conflicts.
#[test]
fn redo_merges_whatever_the_revert_was_told() {
    for said in [None, Some(OnConflict::Merge), Some(OnConflict::Keep)] {
        for all in [true, false] {
            let mut world = World::new();
            world.write("a", "0\n1\n2\n3\n4\n");
            world.turn("m1", |world| world.write("a", "agent\n1\n2\n3\n4\n"));
            world
                .try_revert(&to_with("m1", OnConflict::Overwrite))
                .expect("it can be reverted");
            world.write("a", "mine\n1\n2\n3\n4\n");
            let cwd = world.cwd.clone();
            let report = world
                .store
                .redo(&cwd, &forward(all, said))
                .expect("it can be redone");
            assert_eq!(
                world.read("a"),
                "mine\n1\n2\n3\n4\n",
                "an edit made while reverted is not overwritten unless that is asked for ({said:?}): {report:?}"
            );
            assert_eq!(
                paths_with(&report, FileResult::Conflict),
                ["a"],
                "and is named"
            );
        }
    }
}

#[test]
fn going_forward_overwrites_where_that_is_asked_for() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.revert("m1");
    world.write("a", "mine\n");
    let cwd = world.cwd.clone();
    let request = forward(true, Some(OnConflict::Overwrite));
    world.store.redo(&cwd, &request).expect("it can be redone");
    assert_eq!(world.read("a"), "agent\n", "it was said");
}

/// One redo of several does not bring back what was overwritten.
#[test]
fn one_redo_brings_back_no_overwritten_file() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("b", "1\n"));
    world.turn("m2", |world| world.write("a", "agent\n"));
    world.write("a", "mine\n");
    world
        .try_revert(&to_with("m1", OnConflict::Overwrite))
        .expect("it can be reverted");
    world.redo();
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("0\n", "1\n"),
        "m2 is reverted still"
    );
    world.unrevert();
    assert_eq!(world.read("a"), "mine\n", "the way back");
}

/// A file that was put back after a conflict is asked again.
#[test]
fn file_put_back_after_a_conflict_asks_again() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| {
        world.write("a", "agent\n");
        world.write("b", "agent\n");
    });
    world.write("a", "mine\n");
    assert_eq!(
        paths_with(&world.revert("m1"), FileResult::Conflict),
        ["a"],
        "it is kept"
    );
    world.write("a", "agent\n");
    let report = world.revert("m1");
    assert_eq!(
        (world.read("a").as_str(), report.outcome),
        ("0\n", Outcome::Restored),
        "it is as the agent left it: {report:?}"
    );
    world.unrevert();
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("agent\n", "agent\n"),
        "as they were before each went back"
    );
}

/// A file that was edited again after a conflict is merged where it can be.
#[test]
fn file_edited_after_a_conflict_is_merged() {
    let mut world = World::new();
    world.write("a", "0\n1\n2\n3\n4\n");
    world.turn("m1", |world| world.write("a", "agent\n1\n2\n3\n4\n"));
    world.write("a", "mine\n1\n2\n3\n4\n");
    world.revert("m1");
    world.write("a", "agent\n1\n2\n3\nmine\n");
    let report = world.revert("m1");
    assert_eq!(
        world.read("a"),
        "0\n1\n2\n3\nmine\n",
        "what is there now counts: {report:?}"
    );
    world.unrevert();
    assert_eq!(world.read("a"), "agent\n1\n2\n3\nmine\n", "and back");
}

/// A file that the user wrote anew after a conflict is still kept.
#[test]
fn file_rewritten_after_a_conflict_is_kept() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("a", "mine\n");
    world.revert("m1");
    world.write("a", "mine again\n");
    let report = world.revert("m1");
    assert_eq!(
        (
            world.read("a").as_str(),
            paths_with(&report, FileResult::Conflict)
        ),
        ("mine again\n", vec!["a"]),
        "{report:?}"
    );
    world.unrevert();
    assert_eq!(world.read("a"), "mine again\n", "it never moved");
}

fn forced(message: &str) -> RevertRequest {
    RevertRequest {
        force: ckpt_store::Force::Yes,
        ..to(message)
    }
}

/// What is written after a forced revert, while its tool still runs, may be that tool's or the user's: it stays and is named,
/// until it is asked for.
#[test]
fn tools_change_after_a_forced_revert_asks_again() {
    let mut world = World::new();
    world.write("a", "0\n");
    let before = world.tree();
    world.message("m1");
    world.start();
    world.tool_start_in("s1", "t1", &[]);
    world.write("a", "1\n");
    world.try_revert(&forced("m1")).expect("it is forced");
    assert_eq!(world.tree(), before, "what there was");
    world.write("a", "2\n");
    world.write("b", "2\n");
    world.tool_finish_in("s1", "t1");
    world.finish();
    let with_more = world.tree();
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
    let unclear = report.files.iter().filter(|file| file.unclear);
    let unclear: Vec<&str> = unclear.map(|file| file.path.path.as_str()).collect();
    assert_eq!(unclear, ["a", "b"], "{report:?}");
    assert_eq!(world.tree(), with_more, "nothing is taken in silence");
    let taken = RevertRequest {
        unclear: Some(Unclear::Take),
        ..to("m1")
    };
    let report = world.try_revert(&taken).expect("it is known");
    assert_eq!(world.tree(), before, "and what came since: {report:?}");
    world.unrevert();
    assert_eq!(world.tree(), with_more, "with its way back");
}

/// The user's edits made while reverted are not asked again.
#[test]
fn edits_made_while_reverted_ask_once() {
    let mut world = World::new();
    world.write("a", "0\n");
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    world.write("a", "mine\n");
    world.write("b", "mine\n");
    let report = world.revert("m1");
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("mine\n", "mine\n"),
        "they are the user's: {report:?}"
    );
}

/// A discarded message is unavailable and restore is the hint.
#[test]
fn discarded_message_is_unavailable_with_a_hint() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.revert("m1");
    world.turn("m2", |world| world.write("b", "2\n"));
    let before = world.tree();
    for request in [
        to("m1"),
        RevertRequest {
            only: vec!["b".into()],
            ..to("m1")
        },
    ] {
        let error = world.try_revert(&request).expect_err("it is discarded");
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        let hint = error.hint_text().unwrap_or_default();
        assert!(hint.contains("`ckpt-hook restore "), "{hint}");
        assert_eq!(world.tree(), before, "m2 was not asked for");
    }
}
